package tools

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/planmode-dev/planmode/tool"
)

type grepInput struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression in RE2 syntax, matched within single lines"`
	Path       string `json:"path,omitempty" jsonschema:"file or folder to search; the workspace by default"`
	Glob       string `json:"glob,omitempty" jsonschema:"only files that match, such as *.go or src/**/*.ts"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"upper and lower case are the same"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"the pattern is plain text"`
	Context    int    `json:"context,omitempty" jsonschema:"lines to show around each match, 0 to 20"`
	Max        int    `json:"max,omitempty" jsonschema:"how many matching lines (or files) to show, 1 to 1000; 200 by default"`
	FilesOnly  bool   `json:"files_only,omitempty" jsonschema:"show only the paths of files that match"`
	Ignored    bool   `json:"ignored,omitempty" jsonschema:"also search what git ignores"`
}

const (
	usualGreps     = 200
	maxGreps       = 1000
	maxGrepContext = 20
	maxGrepLine    = 400 // bytes shown of one line
	maxGrepPattern = 4000
)

// Grep returns the tool that searches the contents of files. It walks and searches itself: no program
// has to be there, and what is hidden from the session stays hidden.
func Grep() tool.Tool {
	return tool.New(tool.Spec{
		Name: "grep",
		Set:  Set,
		Description: "Search the contents of files for a regular expression. Shows each file's path, and below it its matching " +
			"lines as number:line (number-line for context). Binary files, .git and what git ignores are skipped.",
		Kinds: []tool.Effect{tool.ReadFile{}},
	}, func(in grepInput) tool.Access {
		return tool.Access{tool.ReadFile{Path: orWorkspace(in.Path)}}
	}, grep)
}

type grepDetails struct {
	Matches int `json:"matches"` // matching lines; files with files_only
	Files   int `json:"files"`
	Shown   int `json:"shown"`
}

// A query is a checked grepInput.
type query struct {
	re      *regexp.Regexp
	literal []byte // bytes that every match holds; nil if there are none to go by
	match   func(rel string) bool
	context int
	limit   int
	files   bool
}

func (in grepInput) query() (query, error) {
	q := query{context: in.Context, files: in.FilesOnly}
	var err error
	switch {
	case in.Pattern == "":
		return q, errors.New("pattern: it is empty")
	case len(in.Pattern) > maxGrepPattern:
		return q, fmt.Errorf("pattern: %d bytes; the limit is %d", len(in.Pattern), maxGrepPattern)
	case in.Context < 0 || in.Context > maxGrepContext:
		return q, fmt.Errorf("context: %d is not 0 to %d", in.Context, maxGrepContext)
	}
	if q.limit, err = limited("max", in.Max, usualGreps, maxGreps); err != nil {
		return q, err
	}
	if in.Glob != "" {
		if q.match, err = nameMatcher("glob", in.Glob); err != nil {
			return q, err
		}
	}
	expr := in.Pattern
	if in.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if q.re, q.literal, err = compileLines(expr, in.IgnoreCase); err != nil {
		return q, fmt.Errorf("pattern: %w; RE2 has no look-around and no back-references; literal:true takes it as plain text", err)
	}
	return q, nil
}

func grep(ctx context.Context, g *tool.Grant, in grepInput) (tool.Result, error) {
	q, err := in.query()
	if err != nil {
		return tool.Result{}, err
	}
	p := orWorkspace(in.Path)
	info, err := g.Stat(p)
	if err != nil {
		return tool.Result{}, missing(g, p, err)
	}
	r := &report{q: q, in: in}
	switch {
	case info.Mode().IsRegular():
		f, err := g.Open(p)
		if err != nil {
			return tool.Result{}, err
		}
		defer func() { _ = f.Close() }()
		s := newSearcher(q)
		found, err := s.file(ctx, f)
		if err != nil {
			return tool.Result{}, fmt.Errorf("%s: %w", p, err)
		}
		if found.binary {
			return failed("%s is a binary file", p)
		}
		r.add(path.Clean(p), found)
	case info.IsDir():
		w, err := newWalker(g, p, in.Ignored)
		if err != nil {
			return tool.Result{}, err
		}
		if err := searchTree(ctx, w, q, func(rel string, f found) { r.add(under(in.Path, rel), f) }); err != nil {
			return tool.Result{}, err
		}
		r.broken += w.broken
		r.ignored = w.ignored
	default:
		return failed("%s is a %s; only files can be searched", p, kindOf(info.Mode()))
	}
	return r.result(), nil
}

// A report collects what is found, in the order of paths.
type report struct {
	q       query
	in      grepInput
	b       strings.Builder
	files   int
	matches int
	shown   int
	broken  int // files that could not be read
	ignored int
	full    bool
}

func (r *report) add(name string, f found) {
	if f.err != nil {
		r.broken++
		return
	}
	if f.matches == 0 {
		return
	}
	r.files++
	if r.q.files {
		r.matches++
		if r.full = r.full || r.shown >= r.q.limit || r.b.Len() >= maxText; !r.full {
			r.shown++
			fmt.Fprintln(&r.b, printable(name))
		}
		return
	}
	r.matches += f.matches
	if r.full || len(f.lines) == 0 {
		return
	}
	if r.shown > 0 {
		r.b.WriteByte('\n')
	}
	fmt.Fprintln(&r.b, printable(name))
	last := 0
	for _, l := range f.lines {
		if l.match && (r.shown >= r.q.limit || r.b.Len() >= maxText) {
			r.full = true
			return
		}
		if r.q.context > 0 && last > 0 && l.number > last+1 {
			r.b.WriteString("--\n")
		}
		last = l.number
		mark := '-'
		if l.match {
			mark = ':'
			r.shown++
		}
		fmt.Fprintf(&r.b, "%d%c%s\n", l.number, mark, l.text)
	}
	r.full = r.shown >= r.q.limit
}

func (r *report) result() tool.Result {
	noun := "matching line"
	if r.q.files {
		noun = "file"
	}
	switch {
	case r.matches == 0:
		fmt.Fprintf(&r.b, "[no match for %q in %s]\n", r.in.Pattern, orWorkspace(r.in.Path))
		if r.ignored > 0 {
			fmt.Fprintf(&r.b, "[%s that git ignores not searched; ignored:true searches there]\n", counted(r.ignored, "entry"))
		}
	case r.shown < r.matches && r.q.files:
		fmt.Fprintf(&r.b, "[%d more of %s; narrow path or glob]\n", r.matches-r.shown, counted(r.matches, noun))
	case r.shown < r.matches:
		fmt.Fprintf(&r.b, "[%d more of %s in %s; narrow pattern, path or glob, or use files_only]\n",
			r.matches-r.shown, counted(r.matches, noun), counted(r.files, "file"))
	}
	if r.broken > 0 {
		fmt.Fprintf(&r.b, "[%s could not be read]\n", counted(r.broken, "entry"))
	}
	return tool.Result{Text: r.b.String(), Details: details(grepDetails{r.matches, r.files, r.shown})}
}
