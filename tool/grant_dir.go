package tool

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Dir is a folder opened for walking through it. Names are relative to it, with forward slashes. It
// does not follow symbolic links, and what is hidden is not in it, nor what a rule of the user's
// denies to the tool or asks for.
type Dir struct {
	root   *os.Root
	real   string
	known  string            // the name under which rules know it
	named  string            // as the call declared it
	rel    string            // where root lies below real; "" is real itself
	hidden map[string]string // what is hidden below it by another name
	ruled  bool              // there are rules about paths
	g      *Grant
}

// OpenDir opens a folder that the call declared to read, for walking through it.
func (g *Grant) OpenDir(p string) (*Dir, error) {
	abs, err := g.readable(p)
	if err != nil {
		return nil, err
	}
	real, _, err := g.resolve(abs)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, plainPathError(abs, err)
	}
	g.keepOpen(root)
	known, _ := g.knownAs(real)
	policy := &g.p.gate.cfg.Policy
	return &Dir{
		root: root, real: real, known: known, named: abs, g: g,
		hidden: g.p.gate.cfg.Roots.hiddenBelow(real), ruled: len(policy.Deny)+len(policy.Ask) > 0,
	}, nil
}

// OpenDir opens a folder below, so that a walk does not go the whole way from the top for each name.
// What is hidden in it is what is hidden for the Dir above. The caller closes it.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	local := filepath.FromSlash(name)
	root, err := openFolder(d.root, local)
	if err != nil {
		return nil, err
	}
	below := *d
	below.root, below.rel = root, filepath.Join(d.rel, local)
	return &below, nil
}

// openFolder opens a folder that is the one which was looked at, and not what a link leads to that has
// taken its place.
func openFolder(r *os.Root, rel string) (*os.Root, error) {
	for range openTries {
		info, err := r.Lstat(rel)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, &fs.PathError{Op: "open", Path: filepath.ToSlash(rel), Err: errors.New("it is not a folder")}
		}
		below, err := r.OpenRoot(rel)
		if err != nil {
			return nil, err
		}
		if now, err := below.Stat("."); err == nil && os.SameFile(now, info) {
			return below, nil
		}
		_ = below.Close()
	}
	return nil, &fs.PathError{Op: "open", Path: filepath.ToSlash(rel), Err: errReplaced}
}

// Close closes the folder; what was opened through it stays open.
func (d *Dir) Close() error { return d.root.Close() }

// ReadDir lists a folder in the order of names; "." is the folder itself.
func (d *Dir) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(d.root.FS(), name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return d.unseen(filepath.Join(filepath.FromSlash(name), e.Name())) != nil }), err
}

// Open opens a regular file. The caller closes it.
func (d *Dir) Open(name string) (*File, error) {
	// The file itself is looked at in opening it: a link is no regular file.
	if err := d.checkAbove(name, path.Dir(name)); err != nil {
		return nil, err
	}
	f, err := openRegular(d.root, filepath.FromSlash(name))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

// check says why a name is not in the folder as the call sees it.
func (d *Dir) check(name string) error { return d.checkAbove(name, name) }

// checkAbove is check, but looks for links on the way to links alone.
func (d *Dir) checkAbove(name, links string) error {
	if d.g.ended.Load() {
		return d.g.refused("the call is over")
	}
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return nil
	}
	// A link on the way would lead to a place that is hidden under its own name alone.
	for i, c := range links + "/" {
		if c != '/' || links == "." {
			continue
		}
		info, err := d.root.Lstat(filepath.FromSlash(links[:i]))
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return &fs.PathError{Op: "open", Path: links[:i], Err: notRegular(info)}
		}
	}
	if r := d.unseen(filepath.FromSlash(name)); r != nil {
		return r
	}
	return nil
}

// unseen says why what lies at the relative path is not shown.
func (d *Dir) unseen(rel string) *Refusal {
	gate := d.g.p.gate
	rel = filepath.Join(d.rel, rel)
	known := filepath.Join(d.known, rel)
	entry, hidden := gate.cfg.Roots.hidden(known)
	if !hidden && d.known != d.real {
		entry, hidden = gate.cfg.Roots.hidden(filepath.Join(d.real, rel))
	}
	if !hidden && d.hidden != nil {
		for p := strings.ToLower(filepath.ToSlash(rel)); p != "." && !hidden; p = path.Dir(p) {
			entry, hidden = d.hidden[p]
		}
	}
	if hidden && !gate.kept(known) {
		return d.g.named(isHidden(known, entry))
	}
	if d.ruled {
		return d.g.ruledOut(known, d.named)
	}
	return nil
}
