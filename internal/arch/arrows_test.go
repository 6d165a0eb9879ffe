package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the module's folder, as seen from this package's tests.
var root = filepath.Join("..", "..")

// TestArrows holds table against the source of every package, whatever its build constraints: a file
// for another operating system obeys the same rules.
func TestArrows(t *testing.T) {
	pkgs := packages(t)
	if len(pkgs) < 3 {
		t.Fatalf("found only %d packages below %s: the search is broken", len(pkgs), root)
	}
	for _, pkg := range slices.Sorted(maps.Keys(pkgs)) {
		r, ok := rowOf(pkg)
		if !ok {
			t.Errorf("%s is not in the table: add a row to internal/arch/table_test.go that says what it may know", pkg)
			continue
		}
		for _, file := range pkgs[pkg] {
			src, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range judge(t, r, file, src) {
				t.Errorf("%s\n\t%s", f, r.why)
			}
		}
	}
}

// TestTable holds the table itself: no package twice, no arrow to a package without a row.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range table {
		if seen[r.pkg] {
			t.Errorf("%s has two rows", r.pkg)
		}
		seen[r.pkg] = true
		if r.why == "" {
			t.Errorf("%s: the row does not say why", r.pkg)
		}
	}
	for _, r := range table {
		for _, u := range r.uses {
			if u != "*" && !seen[u] {
				t.Errorf("%s uses %s, which has no row", r.pkg, u)
			}
		}
	}
}

// TestJudge shows that the check sees what it is there for; without it, a check that sees nothing
// would pass.
func TestJudge(t *testing.T) {
	tests := []struct {
		name, pkg, src string
		want           []string // substrings of the findings, in order; none means allowed
	}{
		{"allowed", "tool", `import "` + module + `/plan"; import "strings"`, nil},
		{"arrow up", "plan", `import "` + module + `/tool"`, []string{"must not import " + module + "/tool"}},
		{"arrow to the root", "tool", `import "` + module + `"`, []string{"must not import " + module}},
		{"root is not a prefix", "internal/session", `import "` + module + `/internal/journal"`, []string{"internal/journal"}},
		{"allowed is not a prefix", "tool", `import "` + module + `/llm/openai"`, []string{"llm/openai"}},
		{"foreign module", "internal/session", `import "github.com/openai/openai-go/v3"`, []string{"openai-go"}},
		{"foreign sub-package", "shellsafe", `import "mvdan.cc/sh/v3/interp"`, []string{"mvdan.cc/sh/v3/interp"}},
		{"longer module name", "llm/catalog", `import "charm.land/catwalker"`, []string{"charm.land/catwalker"}},
		{"standard package", "internal/tools", `import "os"`, []string{"must not import os"}},
		{"below a standard package", "internal/tools", `import x "os/exec"`, []string{"must not import os/exec"}},
		{"exact name only", "internal/tools", `import "net/url"`, nil},
		{"unsafe", "internal/tools", `import _ "unsafe"`, []string{"must not import unsafe"}},
		{"unsafe where it is due", "sandbox", `import _ "unsafe"`, nil},
		{"cgo", "sandbox", `import "C"`, []string{"must not import C"}},
		{"clock", "plan", `import "time"; var now = time.Now`, []string{"must not mention time.Now"}},
		{"clock by another name", "plan", `import t "time"; var _ = t.Since(t.Time{})`, []string{"must not mention time.Since"}},
		{"clock without a name", "plan", `import . "time"; var now = Now`, []string{"must not import time by a dot"}},
		{"time as a type", "plan", `import "time"; type s struct{ at time.Time }`, nil},
		{"a field of that name", "plan", `type s struct{ Now int }; var time s; var x = time.Now`, nil},
		{
			"versioned module", "internal/tools",
			`import "github.com/bmatcuk/doublestar/v4"; var _, _ = doublestar.FilepathGlob("/**")`,
			[]string{"must not mention github.com/bmatcuk/doublestar/v4.FilepathGlob"},
		},
		{
			"module whose package has another name", "internal/tools",
			`import ignore "github.com/sabhiram/go-gitignore"; var _ = ignore.CompileIgnoreFile`,
			[]string{"must not import github.com/sabhiram/go-gitignore", "CompileIgnoreFile"},
		},
		{"looking for a program", "tool", `import "os/exec"; var _, _ = exec.LookPath("bash")`, nil},
		{"starting one", "tool", `import "os/exec"; var _ = exec.Command`, []string{"must not mention os/exec.Command"}},
		{"files by name", "internal/tools", `import "path/filepath"; var _ = filepath.WalkDir`, []string{"path/filepath.WalkDir"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, ok := rowOf(tt.pkg)
			if !ok {
				t.Fatalf("no row for %s", tt.pkg)
			}
			got := judge(t, r, "x.go", []byte("package x; "+tt.src+"\n"))
			if len(got) != len(tt.want) {
				t.Fatalf("findings %q, want %d", got, len(tt.want))
			}
			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("finding %q does not contain %q", got[i], want)
				}
			}
		})
	}
}

// packages returns the module's packages with their files that are not tests, by folder. Nested
// modules, testdata and generators that no build includes are left out.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	pkgs := map[string][]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name == "." {
				return nil
			}
			if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(root, name, "go.mod")); err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
			return nil
		}
		dir := path.Dir(name)
		// A folder with tests alone is a package too, and needs its row.
		if strings.HasSuffix(base, "_test.go") {
			if _, ok := pkgs[dir]; !ok {
				pkgs[dir] = nil
			}
			return nil
		}
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if generator.Match(src) {
			return nil
		}
		pkgs[dir] = append(pkgs[dir], name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// generator matches a program that is run by hand with "go run" and is part of no package.
var generator = regexp.MustCompile(`(?m)^//go:build ignore$`)

// judge returns what the row forbids in one file, in the order of the source.
func judge(t *testing.T, r row, name string, src []byte) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	report := func(pos token.Pos, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s must not %s", fset.Position(pos), r.pkg, fmt.Sprintf(format, args...)))
	}
	banned := map[string][]string{} // import path → names that must not be mentioned
	for _, c := range r.calls {
		dot := strings.LastIndexByte(c, '.')
		banned[c[:dot]] = append(banned[c[:dot]], c[dot+1:])
	}
	local := map[string]string{} // name in this file → import path, for the packages in banned
	for _, imp := range file.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if !r.allows(p) {
			report(imp.Pos(), "import %s", p)
		}
		if banned[p] == nil {
			continue
		}
		switch {
		case imp.Name == nil:
			local[packageName(p)] = p
		case imp.Name.Name == ".":
			report(imp.Pos(), "import %s by a dot: that hides what is used of it", p)
		default:
			local[imp.Name.Name] = p
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		if p := local[x.Name]; p != "" && slices.Contains(banned[p], sel.Sel.Name) {
			report(sel.Pos(), "mention %s.%s", p, sel.Sel.Name)
		}
		return true
	})
	return found
}

// allows says whether code of the row's package may import p.
func (r row) allows(p string) bool {
	if p == module || strings.HasPrefix(p, module+"/") {
		pkg := strings.TrimPrefix(strings.TrimPrefix(p, module), "/")
		if pkg == "" {
			pkg = "."
		}
		return slices.Contains(r.uses, "*") || slices.Contains(r.uses, pkg)
	}
	if p == "unsafe" {
		return r.raw
	}
	for _, n := range join(everywhere, r.never...) {
		if covers(n, p) {
			return false
		}
	}
	first, _, _ := strings.Cut(p, "/")
	if !strings.Contains(first, ".") {
		return true // standard library
	}
	for _, m := range r.mods {
		if m == "*" || covers(m+"/...", p) {
			return true
		}
	}
	return false
}

// covers says whether the pattern, as in a row's never list, names p.
func covers(pattern, p string) bool {
	tree, ok := strings.CutSuffix(pattern, "/...")
	return p == tree || ok && strings.HasPrefix(p, tree+"/")
}

// packageName guesses the name that an import without one gets. It is right for the packages in the
// table's calls; TestJudge holds that.
func packageName(p string) string {
	base := path.Base(p)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(p))
	}
	if p == "github.com/sabhiram/go-gitignore" {
		return "ignore"
	}
	return base
}

func rowOf(pkg string) (row, bool) {
	for _, r := range table {
		if r.pkg == pkg {
			return r, true
		}
	}
	return row{}, false
}
