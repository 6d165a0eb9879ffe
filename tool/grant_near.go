package tool

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Near lists what is where a path that the call declared is missing: the nearest folder above it that
// is there, with its entries in the order of names. What is hidden is not listed, and a folder that
// may not be read is an error. It serves errors that say which name may have been meant.
func (g *Grant) Near(p string) (dir string, entries []fs.DirEntry, err error) {
	abs, err := g.readable(p)
	if err != nil {
		return "", nil, err
	}
	dir = existingParent(abs)
	if r := g.p.gate.mayRead(dir); r != nil {
		return "", nil, r
	}
	real, _, err := g.resolve(dir)
	if err != nil {
		return "", nil, err
	}
	entries, err = os.ReadDir(real)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		_, hidden := g.p.gate.cfg.Roots.hidden(filepath.Join(real, e.Name()))
		return hidden
	})
	return dir, entries, plainPathError(dir, err)
}

// A Governing file stands in a folder above the one that a call reads and says something about it.
type Governing struct {
	Below string // the read folder as seen from the file's folder, with forward slashes
	Data  []byte
}

// maxGoverning is far above any list of patterns that a person wrote.
const maxGoverning = 1 << 20

// Above reads the files of that name, such as ".gitignore", in the folders above a path that the call
// declared to read, outermost first, as far out as the root goes that lets the path be read. What is
// missing, hidden, no regular file or larger than 1 MiB is left out.
func (g *Grant) Above(p, name string) ([]Governing, error) {
	abs, err := g.readable(p)
	if err != nil {
		return nil, err
	}
	real, root, err := g.resolve(abs)
	if err != nil {
		return nil, err
	}
	var found []Governing
	for dir := real; dir != root && within(root, dir); {
		dir = filepath.Dir(dir)
		data, ok := g.governing(root, filepath.Join(dir, filepath.FromSlash(name)))
		if !ok {
			continue
		}
		below, err := filepath.Rel(dir, real)
		if err != nil {
			return nil, err
		}
		found = append(found, Governing{Below: filepath.ToSlash(below), Data: data})
	}
	slices.Reverse(found)
	return found, nil
}

func (g *Grant) governing(root, file string) ([]byte, bool) {
	if _, hidden := g.p.gate.cfg.Roots.hidden(file); hidden {
		return nil, false
	}
	f, err := openIn(root, file)
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxGoverning+1))
	return data, err == nil && len(data) <= maxGoverning
}
