package arch

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNoCompile holds what the compiler must refuse: that is where the gate's promise rests. To add a
// case, add one file testdata/nocompile/NAME.txt; nothing else has to change.
//
// The file is Go source as someone outside the module might write it, with two kinds of mark at the
// end of a line, and one at its start:
//
//	p = mine{}             // bad: mine does not implement llm.Part
//	func (mine) other() {} // bad
//	//good: p = llm.Text{}
//
// It is type-checked twice. In the bad reading the lines are as they stand: each line marked "bad:"
// must have exactly one error, which contains the text, and there must be no error elsewhere. In the
// good reading the lines marked "bad" are blank and the lines that begin with "//good:" are code: that
// must compile. So the two readings differ only in what the case is about, and a case cannot pass
// because of a typing mistake or an API that was renamed.
func TestNoCompile(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "nocompile", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no case in testdata/nocompile")
	}
	cases := map[string]snippet{}
	imports := map[string]bool{}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s := readSnippet(string(src))
		for _, text := range []string{s.bad, s.good} {
			f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				p, err := strconv.Unquote(imp.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				imports[p] = true
			}
		}
		cases[strings.TrimSuffix(filepath.Base(name), ".txt")] = s
	}
	load := exportData(t, slices.Sorted(maps.Keys(imports)))
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			for _, problem := range cases[name].check(load) {
				t.Error(problem)
			}
		})
	}
}

// TestNoCompileJudges shows that a case which proves nothing fails.
func TestNoCompileJudges(t *testing.T) {
	load := exportData(t, []string{"strings"})
	tests := []struct{ name, src, want string }{
		{"right", "package p\nvar x int = \"a\" // bad: cannot use \"a\"\n//good: var x int = 1\n", ""},
		{"only the twin", "package p\n//good: var x int\n", "no line is marked"},
		{"no twin", "package p\nvar x int = \"a\" // bad: cannot use\n", "no line begins with"},
		{"compiles", "package p\nvar x int = 1 // bad: cannot use\n//good: var x int\n", "x.go:2: compiles"},
		{"fails for another reason", "package p\nvar x int = y // bad: cannot use\n//good: var x int\n", "undefined: y"},
		{"fails elsewhere", "package p\nvar x int = \"a\" // bad: cannot use\nvar z = y\n//good: var x int\n", "x.go:3"},
		{"twin fails", "package p\nvar x int = \"a\" // bad: cannot use\n//good: var x int = y\n", "the good reading"},
		{"does not parse", "package p\nvar x int = ( // bad: expected\n//good: var x int\n", "does not parse"},
		{
			"unused import in the twin",
			"package p\nimport \"strings\"\nvar x int = strings.ToUpper(\"a\") // bad: cannot use\n//good: var x int\n",
			"imported and not used",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(readSnippet(tt.src).check(load), "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("problems %q, want %q", got, tt.want)
			}
		})
	}
}

// A snippet is one case, read both ways.
type snippet struct {
	bad, good string
	want      map[int]string // line → text of the error that the bad reading has there
	twin      bool           // a line of the good reading is there
}

const (
	badMark  = "// bad"
	goodMark = "//good:"
)

func readSnippet(src string) snippet {
	s := snippet{want: map[int]string{}}
	var bad, good []string
	for i, line := range strings.Split(src, "\n") {
		code, mark, marked := strings.Cut(line, badMark)
		text, isGood := strings.CutPrefix(strings.TrimSpace(line), goodMark)
		switch {
		case isGood:
			s.twin = true
			bad, good = append(bad, ""), append(good, text)
		case marked:
			if want, ok := strings.CutPrefix(mark, ":"); ok {
				s.want[i+1] = strings.TrimSpace(want)
			}
			bad, good = append(bad, code), append(good, "")
		default:
			bad, good = append(bad, line), append(good, line)
		}
	}
	s.bad, s.good = strings.Join(bad, "\n"), strings.Join(good, "\n")
	return s
}

// check returns what is wrong with the case; nothing means that it holds.
func (s snippet) check(load types.ImporterFrom) []string {
	var problems []string
	if len(s.want) == 0 {
		problems = append(problems, fmt.Sprintf("no line is marked %q", badMark+": TEXT"))
	}
	if !s.twin {
		problems = append(problems, fmt.Sprintf("no line begins with %q: the case has no control", goodMark))
	}
	errs, err := typeCheck(s.bad, load)
	if err != nil {
		problems = append(problems, fmt.Sprintf("the bad reading does not parse, so it says nothing about types: %v", err))
	}
	found := map[int]bool{}
	for _, e := range errs {
		line := e.Fset.Position(e.Pos).Line
		want, expected := s.want[line]
		if !expected || want == "" || !strings.Contains(e.Msg, want) || found[line] {
			problems = append(problems, fmt.Sprintf("the bad reading has another error: %s: %s", e.Fset.Position(e.Pos), e.Msg))
			continue
		}
		found[line] = true
	}
	if err == nil {
		for _, line := range slices.Sorted(maps.Keys(s.want)) {
			if !found[line] {
				problems = append(problems, fmt.Sprintf("x.go:%d: compiles, and must not (%s)", line, s.want[line]))
			}
		}
	}
	errs, err = typeCheck(s.good, load)
	if err != nil {
		problems = append(problems, fmt.Sprintf("the good reading does not parse: %v", err))
	}
	for _, e := range errs {
		problems = append(problems, fmt.Sprintf("the good reading does not compile: %s: %s", e.Fset.Position(e.Pos), e.Msg))
	}
	return problems
}

// typeCheck returns the errors of types in the source, or the error that kept it from being parsed.
func typeCheck(src string, load types.ImporterFrom) ([]types.Error, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var errs []types.Error
	conf := types.Config{
		Importer: load,
		Error: func(err error) {
			var e types.Error
			if !errors.As(err, &e) {
				e = types.Error{Fset: fset, Pos: file.Pos(), Msg: err.Error()}
			}
			// An error in several parts, such as a method that is missing, has indented lines.
			if !strings.HasPrefix(e.Msg, "\t") {
				errs = append(errs, e)
			}
		},
	}
	// The error that Check returns is the first of those that were given to Error.
	_, _ = conf.Check("example.com/outsider", fset, []*ast.File{file}, nil)
	return errs, nil
}

// exportData compiles the packages, and returns an importer that reads what they export, as the
// compiler itself does.
func exportData(t *testing.T, imports []string) types.ImporterFrom {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}", "--"}, imports...)
	cmd := exec.Command("go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	file := map[string]string{}
	for line := range strings.Lines(string(out)) {
		p, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		file[p] = name
	}
	open := func(p string) (io.ReadCloser, error) {
		if file[p] == "" {
			return nil, fmt.Errorf("no export data for %q", p)
		}
		return os.Open(file[p])
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", open).(types.ImporterFrom)
}
