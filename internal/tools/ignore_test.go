package tools

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ignoreTrees are .gitignore texts and paths; git says what is right. A path that ends in "/" is a
// folder.
var ignoreTrees = []struct {
	name, rules string
	paths       string
}{
	{"names", "*.log\nbuild\n!keep.log\n", "a.log keep.log x/a.log x/keep.log build/ x/build builds"},
	{"folders only", "out/\n", "out x/out/ y/out/"},
	{"anchored", "/root.txt\nsub/only.txt\n", "root.txt x/root.txt sub/only.txt x/sub/only.txt"},
	{"deep", "**/gen\nlib/**\na/**/z\n", "gen x/gen x/y/gen lib/ lib/q lib/p/q a/z a/b/z a/b/c/z b/a/z"},
	{"question mark", "?.c\nfile-?.txt\n", "a.c ab.c x/b.c file-1.txt file-12.txt"},
	{"classes", "[ab].x\n[!ab].y\n[^ab].z\n[a-c]?.w\n", "a.x c.x a.y c.y b.z d.z bb.w dd.w"},
	{"odd classes", "[]a].x\n[a-].y\n[-a].z\n[[:digit:]].d\n[a\n[\\]].e\n", "].x a.x b.x -.y a.y b.y -.z a.z 1.d x.d [a a ].e"},
	{"braces are plain", "{a,b}.txt\n", "a.txt b.txt {a,b}.txt"},
	{"escapes", "\\#hash\n\\!bang\ntrail\\ \nspace   \n\\*.md\n", "#hash !bang trail space *.md a.md"},
	{"plus and dots", "a+b.(c)\nx.y\n", "a+b.(c) aab.(c) xzy x.y"},
	{"take back", "*\n!*/\n!*.go\n", "a.go a.txt x/ x/a.go x/a.txt"},
	{"take back below an ignored folder", "dir/\n!dir/keep\n", "dir/ dir/keep"},
	{"crlf", "*.log\r\nb\r\n", "a.log b c"},
	{"blank and comments", "\n# *.go\n   \n*.tmp\n", "a.go a.tmp"},
	{"stars", "***\n", "a b/c"},
	{"middle stars", "a**b\nx*y*z\n", "ab axxb xyz x1y2z xz a/b"},
	{"slash alone", "/\n//\nx//y\n", "a x/y"},
	{"double slash folder", "foo//\n", "foo foo2/"},
	{"trailing stars", "foo/*\n!foo/bar\n", "foo/ foo/a foo/bar foo/x/ foo/x/y"},
	{"leading stars and slash", "/**/end\n**/mid/**\n", "end x/end mid/ mid/a x/mid/ x/mid/b"},
	{"unicode", "ü*\n?é\n", "über aé a/xé"},
	{"escaped slash", "a\\/b\nc\\\\/d\n", "a/b c/d x/a/b"},
	{"backslash at the end", "foo\\\n", "foo foo\\"},
}

// TestIgnoreAgainstGit compares with git itself. github.com/sabhiram/go-gitignore (of 2021-09-23)
// differed from git on 19 of the first 103 of these paths, which is why the package has rules of its own.
func TestIgnoreAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is the oracle and is not installed")
	}
	for _, tt := range ignoreTrees {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			paths := strings.Fields(tt.paths)
			layOut(t, dir, tt.rules, paths)
			want := askGit(t, git, dir, paths)
			rules := parseIgnore([]byte(tt.rules))
			for _, p := range paths {
				if got := ignoredBy(rules, p); got != want[p] {
					t.Errorf("%q: %v, git says %v", p, got, want[p])
				}
			}
		})
	}
}

var bracketSlash = regexp.MustCompile(`\[.*/`)

// TestIgnoreRandom compares with git on patterns and paths over a small alphabet: each folder of one
// repository has rules of its own.
func TestIgnoreRandom(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is the oracle and is not installed")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const alphabet, folders = `aabb**?//.[]!-\c`, 150
	paths := strings.Fields("a b/ b/a b/b b/c/ b/c/a b/c/ab ab c/ c/b/ c/b/a c/a.b a.b")
	dir := t.TempDir()
	rules := make([]string, folders)
	var all []string
	for i := range rules {
		var lines []string
		for range 1 + random.IntN(3) {
			line := make([]byte, 1+random.IntN(7))
			for j := range line {
				line[j] = alphabet[random.IntN(len(alphabet))]
			}
			if bracketSlash.Match(line) {
				continue // the one difference that is known; see parseIgnoreLine
			}
			lines = append(lines, string(line))
		}
		rules[i] = strings.Join(lines, "\n")
		sub := fmt.Sprintf("r%d", i)
		layOut(t, filepath.Join(dir, sub), rules[i], paths)
		for _, p := range paths {
			all = append(all, sub+"/"+p)
		}
	}
	want := askGit(t, git, dir, all)
	for i, text := range rules {
		parsed := parseIgnore([]byte(text))
		for _, p := range paths {
			if got := ignoredBy(parsed, p); got != want[fmt.Sprintf("r%d/%s", i, p)] {
				t.Errorf("rules %q, path %q: %v, git says %v", text, p, got, !got)
			}
		}
	}
}

func layOut(t *testing.T, dir, rules string, paths []string) {
	for _, p := range paths {
		full := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(p, "/") {
			if err := os.MkdirAll(full, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(full, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
}

// askGit returns what git ignores. It is asked without an index and without the user's settings.
func askGit(t *testing.T, git, dir string, paths []string) map[string]bool {
	run := func(stdin string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_TEMPLATE_DIR=")
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); err != nil && !asExit(err, &exit) {
			t.Fatal(err)
		}
		return string(out)
	}
	run("", "init", "-q")
	var names strings.Builder
	for _, p := range paths { // git looks by itself whether it is a folder
		names.WriteString(strings.TrimSuffix(p, "/") + "\x00")
	}
	ignored := map[string]bool{}
	for p := range strings.SplitSeq(run(names.String(), "check-ignore", "-z", "--stdin", "--no-index"), "\x00") {
		ignored[p], ignored[p+"/"] = true, true
	}
	return ignored
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError) //nolint:errorlint // exec returns it bare
	*exit = e
	return ok && e.ExitCode() == 1 // nothing is ignored
}

// ignoredBy does what a walk does: a folder that is ignored hides what is below it.
func ignoredBy(rules *ignoreFile, p string) bool {
	isDir := strings.HasSuffix(p, "/")
	p = strings.TrimSuffix(p, "/")
	var above []string
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		above = append(above, d)
	}
	slices.Reverse(above)
	for _, d := range above {
		if ignored, _ := rules.ignores(d, true); ignored {
			return true
		}
	}
	ignored, _ := rules.ignores(p, isDir)
	return ignored
}

func FuzzIgnore(f *testing.F) {
	for _, tt := range ignoreTrees {
		f.Add(tt.rules, strings.Fields(tt.paths)[0])
	}
	f.Fuzz(func(t *testing.T, rules, p string) {
		p = strings.Trim(path.Clean("/"+p), "/")
		if p == "" || strings.ContainsRune(p, 0) {
			t.Skip("not a path")
		}
		parsed := parseIgnore([]byte(rules))
		one, _ := parsed.ignores(p, true)
		two, _ := parsed.ignores(p, true)
		if one != two {
			t.Errorf("%q, %q: %v and then %v", rules, p, one, two)
		}
		if bytes.Count([]byte(rules), []byte("!")) > 0 {
			return
		}
		if file, _ := parsed.ignores(p, false); file && !one {
			t.Errorf("%q ignores the file %q and not the folder of that name", rules, p)
		}
	})
}
