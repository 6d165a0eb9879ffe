package tool

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/planmode-dev/planmode/plan"
)

// ErrChanged: the file is not what it was when it was read.
var ErrChanged = errors.New("the file has changed since it was read")

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
	done, err := g.begin()
	if err != nil {
		return err
	}
	defer done()
	if g.p.gate.isPlanFile(abs) {
		return g.writePlanFile(abs, old, data)
	}
	if g.PlanMode() {
		return g.refused("plan mode is active")
	}
	real, base, err := g.writeTarget(abs)
	if err != nil {
		return err
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
	return plainPathError(abs, replace(root, rel, old, data, 0o666))
}

// writeTarget follows symbolic links and makes sure that they lead to nothing that asks for more
// permission than the path that the user or the rules saw. base is the real folder in which the write
// must stay: the workspace, or the nearest one that is there.
func (g *Grant) writeTarget(abs string) (real, base string, err error) {
	there := abs
	if _, err := os.Lstat(abs); err != nil {
		there = existingParent(abs)
	}
	real, err = filepath.EvalSymlinks(there)
	if err != nil {
		return "", "", plainPathError(abs, err)
	}
	if rest, err := filepath.Rel(there, abs); err == nil && rest != "." {
		real = filepath.Join(real, rest)
	}
	workspace, err := filepath.EvalSymlinks(g.Workspace())
	if err != nil {
		return "", "", plainPathError(abs, err)
	}
	base, known := filepath.Dir(real), real
	if there != abs {
		base = existingParent(real)
	}
	if rel, err := filepath.Rel(workspace, real); err == nil && within(workspace, real) {
		base, known = workspace, filepath.Join(g.Workspace(), rel)
	}
	if entry, hidden := g.p.gate.cfg.Roots.hiddenOnDisk(real); hidden {
		return "", "", g.named(isHidden(abs, entry))
	}
	if known == abs {
		return real, base, nil
	}
	if r := g.p.gate.freelyWritten(g.p, known); r != nil {
		r.Reason = fmt.Sprintf("%s leads through a symbolic link to %s: %s", abs, known, r.Reason)
		return "", "", g.named(r)
	}
	return real, base, nil
}

// freelyWritten says why the tool may not write a path that it reaches through another without the
// user being asked for that path itself.
func (g *Gate) freelyWritten(by *permit, known string) *Refusal {
	p := &permit{
		gate: g, revoked: by.revoked, state: by.state, call: by.call, tool: by.tool, access: Access{WriteFile{Path: known}},
	}
	if r := g.underCeiling(p); r != nil {
		return r
	}
	switch d := g.byRules(p).(type) {
	case Allow:
		return nil
	case Deny:
		return &d.Refusal
	}
	return &Refusal{
		Code: NotGranted, Reason: "the user would have to be asked for it", Hint: "name that path itself, so that the user can be asked",
	}
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
// link in its place is refused, and so is one on the way to it from the workspace, which may hold what
// others wrote.
func (g *Grant) writePlanFile(abs string, old, data []byte) error {
	if now := g.p.gate.ceiling.state.Load(); now.ReadOnly() && now.Mode() != plan.Planning {
		r := g.refused("the plan is with the user")
		r.Hint = "answer in text"
		return r
	}
	dir := filepath.Dir(abs)
	for d := dir; d != g.Workspace() && within(g.Workspace(), d); d = filepath.Dir(d) {
		if info, err := os.Lstat(d); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return plainPathError(d, notRegular(info))
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return plainPathError(abs, err)
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Lstat(filepath.Base(abs)); err == nil && !info.Mode().IsRegular() {
		return plainPathError(abs, notRegular(info))
	}
	return plainPathError(abs, replace(root, filepath.Base(abs), old, data, 0o600))
}

// replace writes beside the file, syncs, and renames. mode is that of a new file, less the umask.
func replace(root *os.Root, rel string, old, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(rel)
	if dir != "." {
		if err := root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	info, err := root.Lstat(rel)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return notRegular(info)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	temp := filepath.Join(dir, ".planmode-"+randomName())
	err = writeNew(root, temp, data, mode, info != nil)
	if err == nil {
		err = swap(root, temp, rel, old)
	}
	if err != nil {
		_ = root.Remove(temp)
		return err
	}
	if d, err := root.Open(dir); err == nil { // the new name is durable where folders can be synced
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

// swapping lets no two writes of this program look at a file before either has replaced it, so that of
// two calls that change one file at once neither loses the other's change. Other programs are not kept
// out: against them the file is looked at as late as can be.
var swapping sync.Mutex

// swap puts the written file in the place of the old one, if that still holds what old says.
func swap(root *os.Root, temp, rel string, old []byte) error {
	swapping.Lock()
	defer swapping.Unlock()
	if old != nil {
		now, err := root.ReadFile(rel)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !bytes.Equal(now, old) {
			return ErrChanged
		}
	}
	return root.Rename(temp, rel)
}

// writeNew writes a new file. With exact set, its mode is the given one, whatever the umask.
func writeNew(root *os.Root, name string, data []byte, mode fs.FileMode, exact bool) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if exact {
		err = errors.Join(err, f.Chmod(mode))
	}
	return errors.Join(err, f.Sync(), f.Close())
}

func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}

// Keep creates a file for output that is too long for the model, in a folder of the program that the
// model may read, and returns it with its path. It is closed when the call ends, if not before.
func (g *Grant) Keep(suffix string) (*os.File, error) {
	dir := g.p.gate.cfg.Roots.Keep
	if dir == "" || g.ended.Load() {
		return nil, errNoService
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "output-*"+strings.NewReplacer("/", "", `\`, "", "*", "").Replace(suffix))
	if err != nil {
		return nil, err
	}
	g.keepOpen(f)
	return f, nil
}
