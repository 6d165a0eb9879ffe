package tools

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"sync/atomic"

	"github.com/planmode-dev/planmode/tool"
)

// A walker goes through a folder in the order of names. It follows no link, enters no ".git", and
// leaves out what .gitignore files say: those in the folders that it visits, those above (as far out
// as the session may read), and ".git/info/exclude". It does not know the user's global excludes,
// which lie outside of the workspace.
type walker struct {
	dir     *tool.Dir
	all     bool // do not leave out what is ignored
	above   []aboveRules
	ignored int // entries left out, each folder as one
	broken  int // folders that could not be read
}

// aboveRules are the rules of a folder above the walked one.
type aboveRules struct {
	below string // the walked folder as that one sees it
	rules *ignoreFile
}

// A rulesList holds the rules for the entries of one folder, nearest first.
type rulesList struct {
	folder string // "." is the walked folder
	rules  *ignoreFile
	outer  *rulesList
}

// An entry is what a walk meets. Its path is relative to the walked folder.
type entry struct {
	path    string
	ignored bool // only in a walk that leaves nothing out
	in      *folder
	fs.DirEntry
}

// A folder is an open one, for whoever opens its files. It is closed when the last holder releases it.
type folder struct {
	dir     *tool.Dir
	holders atomic.Int32
}

func (f *folder) hold() *folder {
	f.holders.Add(1)
	return f
}

func (f *folder) release() {
	if f.holders.Add(-1) == 0 {
		_ = f.dir.Close() // it was only read
	}
}

// newWalker prepares a walk through a folder that the call declared to read.
func newWalker(g *tool.Grant, p string, all bool) (*walker, error) {
	dir, err := g.OpenDir(p)
	if err != nil {
		return nil, err
	}
	w := &walker{dir: dir, all: all}
	for _, name := range []string{".git/info/exclude", ".gitignore"} { // the second outranks the first
		files, err := g.Above(p, name)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			w.above = append(w.above, aboveRules{f.Below, parseIgnore(f.Data)})
		}
	}
	return w, nil
}

// errStop ends a walk early.
var errStop = errors.New("stop")

// walk calls visit for each entry, a folder before what is in it. An error of visit ends the walk,
// except fs.SkipDir, which leaves out the folder.
func (w *walker) walk(ctx context.Context, visit func(entry) error) error {
	top := (&folder{dir: w.dir}).hold()
	defer top.release()
	err := w.folder(ctx, top, ".", nil, visit)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (w *walker) folder(ctx context.Context, in *folder, name string, rules *rulesList, visit func(entry) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	entries, err := in.dir.ReadDir(".")
	if err != nil {
		if name == "." {
			return err
		}
		w.broken++
	}
	rules = w.rulesIn(in, name, entries, rules)
	for _, d := range entries {
		if d.Name() == ".git" {
			continue
		}
		e := entry{path: path.Join(name, d.Name()), in: in, DirEntry: d}
		if w.ignores(rules, e.path, d.IsDir()) {
			if !w.all {
				w.ignored++
				continue
			}
			e.ignored = true
		}
		if err := visit(e); err != nil {
			if d.IsDir() && errors.Is(err, fs.SkipDir) {
				continue
			}
			return err
		}
		if !d.IsDir() {
			continue
		}
		if err := w.below(ctx, e, rules, visit); err != nil {
			return err
		}
	}
	return nil
}

// below walks through a folder that the walk has met.
func (w *walker) below(ctx context.Context, e entry, rules *rulesList, visit func(entry) error) error {
	dir, err := e.in.dir.OpenDir(e.Name())
	if err != nil {
		w.broken++
		return nil // the walk goes on without it
	}
	in := (&folder{dir: dir}).hold()
	defer in.release()
	return w.folder(ctx, in, e.path, rules, visit)
}

// rulesIn adds what the folder itself says to the rules from outside. A repository in a repository is
// not governed by the outer one.
func (w *walker) rulesIn(in *folder, name string, entries []fs.DirEntry, rules *rulesList) *rulesList {
	has := func(file string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == file })
	}
	if has(".git") {
		rules = nil
		if name == "." {
			w.above = nil
		}
		rules = rulesOf(in, name, ".git/info/exclude", rules)
	}
	if has(".gitignore") {
		rules = rulesOf(in, name, ".gitignore", rules)
	}
	return rules
}

func rulesOf(in *folder, name, file string, outer *rulesList) *rulesList {
	const limit = 1 << 20 // far above any list that a person wrote
	f, err := in.dir.Open(file)
	if err != nil {
		return outer
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil || len(data) > limit {
		return outer
	}
	return &rulesList{folder: name, rules: parseIgnore(data), outer: outer}
}

// ignores asks the rules, those of the nearest folder first: the first that mentions the path decides.
func (w *walker) ignores(rules *rulesList, rel string, isDir bool) bool {
	for r := rules; r != nil; r = r.outer {
		name := rel
		if r.folder != "." {
			name = rel[len(r.folder)+1:]
		}
		if ignored, mentioned := r.rules.ignores(name, isDir); mentioned {
			return ignored
		}
	}
	for i := len(w.above) - 1; i >= 0; i-- {
		a := w.above[i]
		if ignored, mentioned := a.rules.ignores(path.Join(a.below, rel), isDir); mentioned {
			return ignored
		}
	}
	return false
}
