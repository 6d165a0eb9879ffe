package tool

import (
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

// ReadDir lists a folder in the order of names; "." is the folder itself.
func (d *Dir) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(d.root.FS(), name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return d.unseen(filepath.Join(filepath.FromSlash(name), e.Name())) != nil }), err
}

// Open opens a regular file. It is closed when the call ends, if not before.
func (d *Dir) Open(name string) (*File, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	f, err := openRegular(d.root, filepath.FromSlash(name))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

// check says why a name is not in the folder as the call sees it.
func (d *Dir) check(name string) error {
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
	for i, c := range name + "/" {
		if c != '/' {
			continue
		}
		info, err := d.root.Lstat(filepath.FromSlash(name[:i]))
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return &fs.PathError{Op: "open", Path: name[:i], Err: notRegular(info)}
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
