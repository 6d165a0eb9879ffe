package tool

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/planmode-dev/planmode/plan"
)

// ErrChanged: the file is not what it was when it was read.
var ErrChanged = errors.New("the file has changed since it was read")

// Path returns the absolute form of a path as the model wrote it. It does not look at the disk.
func (g *Grant) Path(p string) (string, error) { return g.p.gate.cfg.Roots.abs(p) }

// Open opens a file that the call declared to read. Symbolic links are followed as far as what may be
// read goes. The file is closed when the call ends, if not before.
func (g *Grant) Open(p string) (*os.File, error) {
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
	return &Dir{root: root, real: real, g: g}, nil
}

func (g *Grant) keepOpen(c io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closers = append(g.closers, c)
}

// readable checks a path against the declared access, and returns its absolute form.
func (g *Grant) readable(p string) (string, error) {
	abs, err := g.Path(p)
	if err != nil {
		return "", err
	}
	ok := g.declared(func(e Effect) bool {
		switch e := e.(type) {
		case ReadFile:
			of, err := g.Path(e.Path)
			return err == nil && within(of, abs)
		case WriteFile: // who may replace a file may see what it replaces
			of, err := g.Path(e.Path)
			return err == nil && of == abs
		}
		return false
	})
	if !ok {
		return "", g.refused("the call did not say that it reads %s", abs)
	}
	if r := g.p.gate.mayRead(abs); r != nil {
		return "", r
	}
	return abs, nil
}

// resolve follows the symbolic links of a path and checks where they lead.
func (g *Grant) resolve(abs string) (real, root string, err error) {
	real, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return "", "", plainPathError(abs, err)
	}
	if real != abs {
		if r := g.p.gate.mayRead(real); r != nil && !g.sameBelowWorkspace(real) {
			r.Reason = fmt.Sprintf("%s leads to %s: %s", abs, real, r.Reason)
			return "", "", r
		}
	}
	root, ok := g.p.gate.cfg.Roots.readable(real)
	if !ok {
		root = filepath.Dir(real) // the plan file, or the workspace by its real name
	}
	return real, root, nil
}

// sameBelowWorkspace says whether a real path lies in the workspace when the workspace's own name
// leads through a symbolic link, as /tmp does on macOS.
func (g *Grant) sameBelowWorkspace(real string) bool {
	ws, err := filepath.EvalSymlinks(g.Workspace())
	if err != nil || !within(ws, real) {
		return false
	}
	_, hidden := g.p.gate.cfg.Roots.hidden(real)
	return !hidden
}

// openIn opens a regular file below a root. Through [os.Root] no link that appears meanwhile can lead
// out of it. Devices, pipes and sockets are refused: opening one can act or wait.
func openIn(root, real string) (*os.File, error) {
	rel, err := filepath.Rel(root, real)
	if err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	info, err := r.Lstat(rel)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(info)
	}
	return r.Open(rel)
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

// WriteFile creates or replaces a file that the call declared to write. The change is atomic and
// durable, keeps the mode of a file that is there, and creates missing folders. If old is not nil, the
// file must still hold exactly that, or the error is [ErrChanged] and nothing is changed; an empty
// non-nil old means that there must be no file, or an empty one.
func (g *Grant) WriteFile(p string, old, data []byte) error {
	abs, err := g.Path(p)
	if err != nil {
		return err
	}
	ok := g.declared(func(e Effect) bool {
		w, ok := e.(WriteFile)
		if !ok {
			return false
		}
		of, err := g.Path(w.Path)
		return err == nil && of == abs
	})
	if !ok {
		return g.refused("the call did not say that it writes %s", abs)
	}
	if g.p.gate.isPlanFile(abs) {
		return g.writePlanFile(abs, old, data)
	}
	if g.PlanMode() {
		return g.refused("plan mode is active")
	}
	real, err := g.writeTarget(abs)
	if err != nil {
		return err
	}
	base := g.Workspace()
	if !within(base, real) {
		base = existingParent(real)
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return plainPathError(abs, err)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return plainPathError(abs, err)
	}
	defer func() { _ = root.Close() }()
	rel, err := filepath.Rel(base, real)
	if err != nil {
		return err
	}
	return plainPathError(abs, replace(root, rel, old, data, 0o644))
}

// writeTarget follows symbolic links and makes sure that they lead to nothing that asks for more
// permission than the path that the user or the rules saw.
func (g *Grant) writeTarget(abs string) (string, error) {
	parent, rest := existingParent(abs), ""
	rest = strings.TrimPrefix(strings.TrimPrefix(abs, parent), string(filepath.Separator))
	if info, err := os.Lstat(abs); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		parent, rest = abs, ""
	}
	real, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return "", plainPathError(abs, err)
	}
	real = filepath.Join(real, rest)
	ws, err := filepath.EvalSymlinks(g.Workspace())
	if err != nil {
		return "", plainPathError(abs, err)
	}
	if within(ws, real) { // by the name under which the rules know it
		if rel, err := filepath.Rel(ws, real); err == nil {
			real = filepath.Join(g.Workspace(), rel)
		}
	}
	if real == abs {
		return real, nil
	}
	roots := &g.p.gate.cfg.Roots
	if h, hidden := roots.hidden(real); hidden {
		return "", &Refusal{Code: PolicyDenied, Tool: g.p.call.Tool, Reason: fmt.Sprintf("%s leads to %s, which is hidden (by %q)", abs, real, h)}
	}
	stance, rule := roots.stanceOn(g.p, real)
	switch {
	case stance == denied:
		return "", &Refusal{Code: PolicyDenied, Tool: g.p.call.Tool, Reason: fmt.Sprintf("%s leads to %s, which the rule %q denies", abs, real, rule)}
	case stance == asked,
		!within(g.Workspace(), real) && within(g.Workspace(), abs),
		roots.protected(real) && !roots.protected(abs):
		return "", g.refused("%s leads through a symbolic link to %s; name that path itself, so that the user can be asked", abs, real)
	}
	return real, nil
}

// stanceOn returns what the policy says of writing another path by the same tool.
func (r *Roots) stanceOn(p *permit, real string) (stance, Rule) {
	return p.gate.cfg.Policy.of(r, p.call.Tool, Access{WriteFile{Path: real}})
}

// existingParent returns the nearest folder above the path that is there.
func existingParent(abs string) string {
	for p := filepath.Dir(abs); ; p = filepath.Dir(p) {
		if info, err := os.Stat(p); err == nil && info.IsDir() || filepath.Dir(p) == p {
			return p
		}
	}
}

// writePlanFile writes the one file that is open while planning. Its folder is the program's own; a
// link in its place is refused.
func (g *Grant) writePlanFile(abs string, old, data []byte) error {
	if g.PlanMode() && g.p.state.Mode() != plan.Planning {
		return g.refused("the plan is with the user")
	}
	root, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return plainPathError(abs, err)
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Lstat(filepath.Base(abs)); err == nil && !info.Mode().IsRegular() {
		return plainPathError(abs, notRegular(info))
	}
	return plainPathError(abs, replace(root, filepath.Base(abs), old, data, 0o600))
}

// replace writes beside the file, syncs, and renames.
func replace(root *os.Root, rel string, old, data []byte, mode fs.FileMode) error {
	if dir := filepath.Dir(rel); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	info, err := root.Stat(rel)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return notRegular(info)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if old != nil {
		now, err := root.ReadFile(rel)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !bytes.Equal(now, old) {
			return ErrChanged
		}
	}
	temp := filepath.Join(filepath.Dir(rel), ".planmode-"+randomName())
	if err := writeNew(root, temp, data, mode); err != nil {
		_ = root.Remove(temp)
		return err
	}
	if err := root.Rename(temp, rel); err != nil {
		_ = root.Remove(temp)
		return err
	}
	return nil
}

func writeNew(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}

// Keep creates a file for output that is too long for the model, in a folder of the program that the
// model may read, and returns it with its path. The caller closes it.
func (g *Grant) Keep(suffix string) (*os.File, error) {
	dir := g.p.gate.cfg.Roots.Keep
	if dir == "" || g.ended.Load() {
		return nil, errNoService
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(dir, "output-*"+filepath.Base(suffix))
}

// A Dir is a folder opened for walking through it. Names are relative to it, with forward slashes. It
// does not follow symbolic links, and what is hidden is not in it.
type Dir struct {
	root *os.Root
	real string
	g    *Grant
}

// ReadDir lists a folder in the order of names; "." is the folder itself.
func (d *Dir) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(d.root.FS(), name)
	kept := entries[:0]
	for _, e := range entries {
		if _, hidden := d.g.p.gate.cfg.Roots.hidden(filepath.Join(d.real, filepath.FromSlash(name), e.Name())); !hidden {
			kept = append(kept, e)
		}
	}
	return kept, err
}

// Open opens a regular file.
func (d *Dir) Open(name string) (*os.File, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	info, err := d.root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: notRegular(info)}
	}
	return d.root.Open(filepath.FromSlash(name))
}

func (d *Dir) check(name string) error {
	if d.g.ended.Load() {
		return d.g.refused("the call is over")
	}
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	abs := filepath.Join(d.real, filepath.FromSlash(name))
	if h, hidden := d.g.p.gate.cfg.Roots.hidden(abs); hidden {
		return &Refusal{Code: PolicyDenied, Tool: d.g.p.call.Tool, Reason: fmt.Sprintf("%s is hidden (by the entry %q)", abs, h)}
	}
	return nil
}
