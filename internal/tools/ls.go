package tools

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/planmode-dev/planmode/tool"
)

type lsInput struct {
	Path  string `json:"path,omitempty" jsonschema:"folder to list; the workspace by default"`
	Depth int    `json:"depth,omitempty" jsonschema:"how many levels to list, 1 to 5; 1 by default"`
}

const (
	maxLsDepth   = 5
	maxLsEntries = 1000
)

// Ls returns the tool that lists a folder. Entries that git ignores are shown with a mark and not
// entered; ".git" is not shown.
func Ls() tool.Tool {
	return tool.New(tool.Spec{
		Name: "ls",
		Set:  Set,
		Description: "List a folder: one entry a line with its size; folders end in \"/\". Entries that git ignores are " +
			"marked and not entered. To look for names use find, for contents grep.",
		Kinds: []tool.Effect{tool.ReadFile{}},
	}, func(in lsInput) tool.Access {
		return tool.Access{tool.ReadFile{Path: orWorkspace(in.Path)}}
	}, ls)
}

type lsDetails struct {
	Path    string `json:"path"`
	Entries int    `json:"entries"`
	Shown   int    `json:"shown"`
}

func ls(ctx context.Context, g *tool.Grant, in lsInput) (tool.Result, error) {
	if in.Depth == 0 {
		in.Depth = 1
	}
	if in.Depth < 1 || in.Depth > maxLsDepth {
		return failed("depth: %d is not 1 to %d", in.Depth, maxLsDepth)
	}
	folder := orWorkspace(in.Path)
	if err := mustBeFolder(g, folder); err != nil {
		return tool.Result{}, err
	}
	w, err := newWalker(g, folder, true)
	if err != nil {
		return tool.Result{}, missing(g, folder, err)
	}
	var b strings.Builder
	entries, shown := 0, 0
	err = w.walk(ctx, func(e entry) error {
		entries++
		if shown < maxLsEntries && b.Len() < maxText {
			shown++
			fmt.Fprintln(&b, lsLine(e))
		}
		level := strings.Count(e.path, "/") + 1
		if e.IsDir() && (e.ignored || level >= in.Depth) {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return tool.Result{}, err
	}
	switch {
	case entries == 0:
		fmt.Fprintf(&b, "[%s is empty]\n", folder)
	case shown < entries:
		fmt.Fprintf(&b, "[%d more of %d; list a folder in it, or use find]\n", entries-shown, entries)
	}
	if w.broken > 0 {
		fmt.Fprintf(&b, "[%s could not be read]\n", counted(w.broken, "folder"))
	}
	return tool.Result{Text: b.String(), Details: details(lsDetails{folder, entries, shown})}, nil
}

// mustBeFolder explains a path that is not a folder.
func mustBeFolder(g *tool.Grant, p string) error {
	info, err := g.Stat(p)
	if err != nil {
		return missing(g, p, err)
	}
	if info.Mode().IsRegular() {
		return fmt.Errorf("%s is a file of %s, not a folder; use read", p, size(info.Size()))
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a %s, not a folder", p, kindOf(info.Mode()))
	}
	return nil
}

func lsLine(e entry) string {
	line := printable(e.path)
	switch {
	case e.IsDir():
		line += "/"
	case e.Type().IsRegular():
		if info, err := e.Info(); err == nil {
			line += "  " + size(info.Size())
		}
	default:
		line += "  (" + kindOf(e.Type()) + ")"
	}
	if e.ignored {
		line += "  (ignored)"
	}
	return line
}
