package tools

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/planmode-dev/planmode/tool"
)

type findInput struct {
	Pattern string `json:"pattern" jsonschema:"glob such as *.go, **/testdata/*.json or {Makefile,*.mk}; without a slash it matches names at any depth, with one paths relative to the searched folder"`
	Path    string `json:"path,omitempty" jsonschema:"folder to search; the workspace by default"`
	Kind    string `json:"kind,omitempty" jsonschema:"only a kind of entry: file, folder or link"`
	Ignored bool   `json:"ignored,omitempty" jsonschema:"also look at what git ignores"`
	Max     int    `json:"max,omitempty" jsonschema:"how many paths to show, 1 to 2000; 500 by default"`
}

const (
	usualFinds = 500
	maxFinds   = 2000
)

// Find returns the tool that looks for names. It walks itself: hidden entries are included, ".git" is
// not, what git ignores only on request, and links are listed and not followed.
func Find() tool.Tool {
	return tool.New(tool.Spec{
		Name: "find",
		Set:  Set,
		Description: "Find files and folders by name. Shows paths in order; folders end in \"/\". Hidden files are included; " +
			".git and what git ignores are not.",
		Kinds: []tool.Effect{tool.ReadFile{}},
	}, func(in findInput) tool.Access {
		return tool.Access{tool.ReadFile{Path: orWorkspace(in.Path)}}
	}, find)
}

type findDetails struct {
	Found   int `json:"found"`
	Shown   int `json:"shown"`
	Ignored int `json:"ignored,omitempty"`
}

func find(ctx context.Context, g *tool.Grant, in findInput) (tool.Result, error) {
	match, err := nameMatcher("pattern", in.Pattern)
	if err != nil {
		return tool.Result{}, err
	}
	switch in.Kind {
	case "", "file", "folder", "link":
	default:
		return failed("kind: %q is none of file, folder, link", in.Kind)
	}
	limit, err := limited("max", in.Max, usualFinds, maxFinds)
	if err != nil {
		return tool.Result{}, err
	}
	folder := orWorkspace(in.Path)
	if err := mustBeFolder(g, folder); err != nil {
		return tool.Result{}, err
	}
	w, err := newWalker(g, folder, in.Ignored)
	if err != nil {
		return tool.Result{}, missing(g, folder, err)
	}
	var b strings.Builder
	found, shown := 0, 0
	err = w.walk(ctx, func(e entry) error {
		if in.Kind != "" && kindOf(e.Type()) != in.Kind || !match(e.path) {
			return nil
		}
		found++
		if shown < limit && b.Len() < maxText {
			shown++
			b.WriteString(printable(under(in.Path, e.path)))
			if e.IsDir() {
				b.WriteByte('/')
			}
			b.WriteByte('\n')
		}
		return nil
	})
	if err != nil {
		return tool.Result{}, err
	}
	if found == 0 {
		fmt.Fprintf(&b, "[nothing in %s matches %q]\n", folder, in.Pattern)
	}
	if shown < found {
		fmt.Fprintf(&b, "[%d more of %d; narrow the pattern or the path]\n", found-shown, found)
	}
	if found == 0 && w.ignored > 0 {
		fmt.Fprintf(&b, "[%s that git ignores not looked at; ignored:true looks there]\n", counted(w.ignored, "entry"))
	}
	if w.broken > 0 {
		fmt.Fprintf(&b, "[%s could not be read]\n", counted(w.broken, "folder"))
	}
	return tool.Result{Text: b.String(), Details: details(findDetails{found, shown, w.ignored})}, nil
}

// nameMatcher returns the test of a glob on paths relative to the walked folder.
func nameMatcher(field, pattern string) (func(rel string) bool, error) {
	const maxPattern = 1000
	clean := strings.TrimPrefix(pattern, "./")
	switch {
	case clean == "":
		return nil, fmt.Errorf("%s: it is empty", field)
	case len(pattern) > maxPattern:
		return nil, fmt.Errorf("%s: %d bytes; the limit is %d", field, len(pattern), maxPattern)
	case strings.HasPrefix(clean, "/"):
		return nil, fmt.Errorf("%s: %q begins with a slash; give the folder as path and a pattern relative to it", field, pattern)
	case !doublestar.ValidatePattern(clean):
		return nil, fmt.Errorf("%s: %q is not a valid glob", field, pattern)
	case strings.Count(clean, "**") > 4, strings.Count(clean, "{") > 8:
		return nil, fmt.Errorf("%s: %q has too many wildcards", field, pattern) // the match is exponential in them
	}
	byName := !strings.Contains(clean, "/")
	return func(rel string) bool {
		if byName {
			rel = path.Base(rel)
		}
		return doublestar.MatchUnvalidated(clean, rel)
	}, nil
}

// limited checks a number of things to show.
func limited(field string, n, usual, most int) (int, error) {
	if n == 0 {
		return usual, nil
	}
	if n < 1 || n > most {
		return 0, fmt.Errorf("%s: %d is not 1 to %d", field, n, most)
	}
	return n, nil
}
