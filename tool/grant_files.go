package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Path returns the absolute form of a path as the model wrote it. It does not look at the disk.
func (g *Grant) Path(p string) (string, error) { return g.p.gate.cfg.Roots.abs(p) }

// A File is a file opened for reading. It has no method that changes one, as an [os.File] has even when
// it was opened for reading.
type File struct{ f *os.File }

// Read reads up to len(b) bytes, as [io.Reader] says.
func (f *File) Read(b []byte) (int, error) { return f.f.Read(b) }

// ReadAt reads from an offset, as [io.ReaderAt] says.
func (f *File) ReadAt(b []byte, off int64) (int, error) { return f.f.ReadAt(b, off) }

// Seek sets where the next Read begins, as [io.Seeker] says.
func (f *File) Seek(offset int64, whence int) (int64, error) { return f.f.Seek(offset, whence) }

// Stat describes the file.
func (f *File) Stat() (fs.FileInfo, error) { return f.f.Stat() }

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// Open opens a file that the call declared to read. Symbolic links are followed as far as what may be
// read goes. The file is closed when the call ends, if not before.
func (g *Grant) Open(p string) (*File, error) {
	abs, err := g.readable(p)
	if err != nil {
		return nil, err
	}
	real, root, err := g.resolve(abs)
	if err != nil {
		return nil, err
	}
	f, err := openIn(root, real)
	if err != nil {
		return nil, plainPathError(abs, err)
	}
	g.keepOpen(f)
	return f, nil
}

// Stat describes a file or folder that the call declared to read. It follows symbolic links.
func (g *Grant) Stat(p string) (fs.FileInfo, error) {
	abs, err := g.readable(p)
	if err != nil {
		return nil, err
	}
	real, _, err := g.resolve(abs)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(real)
	return info, plainPathError(abs, err)
}

// readable checks a path against the declared access, and returns its absolute form.
func (g *Grant) readable(p string) (string, error) {
	abs, err := g.Path(p)
	if err != nil {
		return "", err
	}
	written := false
	ok := g.declared(func(e Effect) bool {
		switch e := e.(type) {
		case ReadFile:
			of, err := g.Path(e.Path)
			return err == nil && within(of, abs)
		case WriteFile: // who may replace a file may see what it replaces, wherever it is
			of, err := g.Path(e.Path)
			written = err == nil && of == abs
			return written
		}
		return false
	})
	if !ok {
		return "", g.refused("the call did not say that it reads %s", abs)
	}
	if _, hidden := g.p.gate.cfg.Roots.hidden(abs); written && !hidden {
		return abs, nil
	}
	if r := g.p.gate.mayRead(abs); r != nil {
		return "", g.named(r)
	}
	return abs, nil
}

// named completes a refusal with whose it is.
func (g *Grant) named(r *Refusal) *Refusal {
	r.Tool, r.Session, r.PlanMode = g.p.call.Tool, g.p.call.Session, g.PlanMode()
	return r
}

// resolve follows the symbolic links of a path and checks where they lead. root is the real folder in
// which the file must stay.
func (g *Grant) resolve(abs string) (real, root string, err error) {
	real, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return "", "", plainPathError(abs, err)
	}
	gate := g.p.gate
	if info, err := os.Lstat(abs); gate.isPlanFile(abs) && err == nil && info.Mode().IsRegular() {
		return real, filepath.Dir(real), nil
	}
	known, root := g.knownAs(real)
	if known != abs {
		if r := gate.mayRead(known); r != nil {
			r.Reason = fmt.Sprintf("%s leads to %s: %s", abs, real, r.Reason)
			return "", "", g.named(r)
		}
		if r := g.ruledOut(known, abs); r != nil {
			return "", "", r
		}
	}
	if entry, hidden := gate.cfg.Roots.hiddenOnDisk(real); hidden && !gate.kept(known) {
		return "", "", g.named(isHidden(abs, entry))
	}
	return real, root, nil
}

// knownAs returns the name under which rules know a real path: a root may itself be reached through a
// symbolic link, as /tmp is on macOS. root is the real folder of that root, or the path's own.
func (g *Grant) knownAs(real string) (known, root string) {
	roots := &g.p.gate.cfg.Roots
	for _, r := range append([]string{roots.Workspace, roots.Keep}, roots.Read...) {
		if r == "" {
			continue
		}
		target, err := filepath.EvalSymlinks(r)
		if err != nil || !within(target, real) {
			continue
		}
		if rel, err := filepath.Rel(target, real); err == nil {
			return filepath.Join(r, rel), target
		}
	}
	return real, filepath.Dir(real)
}

// ruledOut says that a rule of the user's speaks against reading a path that the call did not name, and
// that it reaches through the one that it did: for the name, the user was asked if a rule said so.
func (g *Grant) ruledOut(known, named string) *Refusal {
	policy, roots, tool := &g.p.gate.cfg.Policy, &g.p.gate.cfg.Roots, g.p.call.Tool
	stance, rule := policy.of(roots, tool, Access{ReadFile{Path: known}})
	if stance == asked {
		if of, _ := policy.of(roots, tool, Access{ReadFile{Path: named}}); of == asked {
			return nil
		}
	}
	switch stance {
	case denied:
		return g.named(&Refusal{
			Code: PolicyDenied, Reason: fmt.Sprintf("%s leads to %s, which the rule %q denies", named, known, rule),
			Hint: "do without it, or ask the user to change the rule",
		})
	case asked:
		r := g.refused("%s leads to %s, which the rule %q asks for", named, known, rule)
		r.Hint = "name that path itself, so that the user can be asked"
		return r
	case silent, allowed:
	}
	return nil
}

// openIn opens a regular file below a root. Through [os.Root] no link that appears meanwhile can lead
// out of it. Devices, pipes and sockets are refused: opening one can act or wait.
func openIn(root, real string) (*File, error) {
	rel, err := filepath.Rel(root, real)
	if err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return openRegular(r, rel)
}

// openTries is how often a path is opened again because what was opened is not what was looked at a
// moment ago. Programs that save a file put a new one in its place, so once is ordinary; a path for
// which it goes on is being fought over, and the answer is no.
const openTries = 100

// errReplaced: each time that the path was opened, something else had taken its place.
var errReplaced = errors.New("it is being replaced again and again; try it later")

// openRegular opens a file that is the one which was looked at.
func openRegular(r *os.Root, rel string) (*File, error) {
	for range openTries {
		info, err := r.Lstat(rel)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, notRegular(info)
		}
		f, err := r.Open(rel)
		if err != nil {
			return nil, err
		}
		if now, err := f.Stat(); err == nil && os.SameFile(now, info) {
			return &File{f}, nil
		}
		_ = f.Close()
	}
	return nil, errReplaced
}

func notRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("it is a folder")
	case info.Mode()&fs.ModeSymlink != 0:
		return errors.New("it is a symbolic link")
	}
	return errors.New("it is a device, pipe or socket")
}

// plainPathError leaves of an error about a path the path as it was asked for, and the cause.
func plainPathError(abs string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", abs, err)
}
