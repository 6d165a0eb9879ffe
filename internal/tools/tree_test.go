//go:build unix

package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/tool"
)

// sample is a small project with what makes walking hard.
func sample(t testing.TB, s setup) *world {
	w := newWorld(t, s)
	w.file(".gitignore", "*.log\n/dist/\nnode_modules/\n")
	w.file(".git/config", "[core]\n")
	w.file(".git/info/exclude", "private.txt\n")
	w.file("main.go", "package main\n\nfunc main() {\n\tserve()\n}\n")
	w.file("srv/serve.go", "package srv\n\n// Serve serves.\nfunc Serve() {}\n")
	w.file("srv/.gitignore", "!keep.log\ngen_*\n")
	w.file("srv/keep.log", "kept serve\n")
	w.file("srv/drop.log", "dropped serve\n")
	w.file("srv/gen_a.go", "package srv // serve\n")
	w.file("dist/bundle.js", "serve()\n")
	w.file("node_modules/x/index.js", "serve()\n")
	w.file("private.txt", "serve\n")
	w.file(".github/ci.yml", "run: serve\n")
	w.file("bin/prog", "\x7fELF\x00serve\n")
	w.file(".env", "SERVE=secret\n")
	w.must(os.Symlink("srv", filepath.Join(w.ws, "link")))
	w.must(os.Symlink("/etc", filepath.Join(w.ws, "out")))
	w.must(syscall.Mkfifo(filepath.Join(w.ws, "fifo"), 0o644))
	return w
}

func TestLs(t *testing.T) {
	w := sample(t, setup{hidden: []string{".env"}})
	w.equal(w.ok("ls", m{}), strings.Join([]string{
		".github/", ".gitignore  27 B", "bin/", "dist/  (ignored)", "fifo  (pipe)", "link  (link)", "main.go  39 B",
		"node_modules/  (ignored)", "out  (link)", "private.txt  6 B  (ignored)", "srv/", "",
	}, "\n"))
	w.equal(w.ok("ls", m{"path": "srv"}), strings.Join([]string{
		".gitignore  16 B", "drop.log  14 B  (ignored)", "gen_a.go  21 B  (ignored)", "keep.log  11 B", "serve.go  46 B", "",
	}, "\n"))
	w.holds(w.ok("ls", m{"depth": 2}), "\nsrv/\nsrv/.gitignore", "dist/  (ignored)\nfifo")
	w.holds(w.ok("ls", m{"path": "dist"}), "bundle.js")
	w.holds(w.ok("ls", m{"path": "link"}), "serve.go") // named by the call itself, a link inside is followed
	w.must(os.Mkdir(filepath.Join(w.ws, "none"), 0o755))
	w.equal(w.ok("ls", m{"path": "none"}), "[none is empty]\n")

	w.fails("ls", m{"path": "main.go"}, "main.go is a file of 39 B, not a folder; use read")
	w.fails("ls", m{"path": "fifo"}, "fifo is a pipe")
	w.fails("ls", m{"path": "srw"}, "did you mean srv/?")
	w.fails("ls", m{"path": "out"}, "outside the folders")
	w.fails("ls", m{"depth": 6}, "depth: 6 is not 1 to 5")
	w.refused("ls", m{"path": ".."}, tool.PolicyDenied, "outside")
	w.refused("ls", m{"path": "~"}, tool.PolicyDenied, "outside")
}

func TestLsLimit(t *testing.T) {
	w := newWorld(t, setup{})
	for i := range 1100 {
		w.file(fmt.Sprintf("f%04d", i), "")
	}
	text := w.ok("ls", m{})
	w.holds(text, "[100 more of 1100;")
	if n := strings.Count(text, "\n"); n != 1001 {
		t.Errorf("%d lines", n)
	}
}

func TestFind(t *testing.T) {
	w := sample(t, setup{hidden: []string{".env"}})
	tests := []struct {
		in   m
		want string
	}{
		{m{"pattern": "*.go"}, "main.go srv/serve.go"},
		{m{"pattern": "*.go", "path": "srv"}, "srv/serve.go"},
		{m{"pattern": "*.go", "path": "./srv/"}, "srv/serve.go"},
		{m{"pattern": "srv/*.go"}, "srv/serve.go"},
		{m{"pattern": "./srv/*.go"}, "srv/serve.go"},
		{m{"pattern": "**/*.log"}, "srv/keep.log"},
		{m{"pattern": "{main,serve}.go"}, "main.go srv/serve.go"},
		{m{"pattern": "*.{go,log}", "ignored": true}, "main.go srv/drop.log srv/gen_a.go srv/keep.log srv/serve.go"},
		{m{"pattern": "*", "kind": "link"}, "link out"},
		{m{"pattern": "*r*", "kind": "folder"}, "srv/"},
		{m{"pattern": "s*", "kind": "file"}, "srv/serve.go"},
		{m{"pattern": "*.js", "path": "dist"}, "dist/bundle.js"},
		{m{"pattern": "ci.yml"}, ".github/ci.yml"},
		{m{"pattern": "config"}, `[nothing in . matches "config"] [5 entries that git ignores not looked at; ignored:true looks there]`},
		{m{"pattern": ".env", "ignored": true}, `[nothing in . matches ".env"]`},
		{m{"pattern": "*.go", "max": 1}, "main.go [1 more of 2; narrow the pattern or the path]"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.in), func(t *testing.T) {
			got := strings.ReplaceAll(strings.TrimSuffix(w.ok("find", tt.in), "\n"), "\n", " ")
			if got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
	abs := filepath.Join(w.ws, "srv")
	w.equal(w.ok("find", m{"pattern": "*.go", "path": abs}), abs+"/serve.go\n")

	w.fails("find", m{"pattern": ""}, "pattern: it is empty")
	w.fails("find", m{"pattern": "[a"}, "not a valid glob")
	w.fails("find", m{"pattern": "/etc/*"}, "begins with a slash")
	w.fails("find", m{"pattern": "x", "kind": "socket"}, "kind")
	w.fails("find", m{"pattern": "x", "max": -1}, "max: -1")
	w.fails("find", m{"pattern": strings.Repeat("x", 2000)}, "the limit is 1000")
	w.fails("find", m{"pattern": strings.Repeat("**/", 9)}, "too many wildcards")
	w.fails("find", m{"pattern": "x", "path": "nowhere"}, "nowhere is not there")
	w.fails("find", m{"pattern": "x", "path": "main.go"}, "not a folder")
	w.refused("find", m{"pattern": "x", "path": "../"}, tool.PolicyDenied)
}

func TestGrep(t *testing.T) {
	w := sample(t, setup{hidden: []string{".env"}})
	tests := []struct {
		in   m
		want string
	}{
		{m{"pattern": "serve"}, ".github/ci.yml\n1:run: serve\n\nmain.go\n4:\tserve()\n\nsrv/keep.log\n1:kept serve\n\nsrv/serve.go\n3:// Serve serves.\n"},
		{m{"pattern": "serve", "files_only": true}, ".github/ci.yml\nmain.go\nsrv/keep.log\nsrv/serve.go\n"},
		{m{"pattern": "SERVE\\(", "ignore_case": true}, "main.go\n4:\tserve()\n\nsrv/serve.go\n4:func Serve() {}\n"},
		{m{"pattern": "serve()", "literal": true}, "main.go\n4:\tserve()\n"},
		{m{"pattern": "^func", "context": 1}, "main.go\n2-\n3:func main() {\n4-\tserve()\n\nsrv/serve.go\n3-// Serve serves.\n4:func Serve() {}\n"},
		{m{"pattern": "package|\\}", "context": 1, "path": "main.go"}, "main.go\n1:package main\n2-\n--\n4-\tserve()\n5:}\n"},
		{m{"pattern": "serve", "glob": "*.go"}, "main.go\n4:\tserve()\n\nsrv/serve.go\n3:// Serve serves.\n"},
		{m{"pattern": "serve", "glob": "srv/**"}, "srv/keep.log\n1:kept serve\n\nsrv/serve.go\n3:// Serve serves.\n"},
		{m{"pattern": "serve", "path": "dist"}, "dist/bundle.js\n1:serve()\n"},
		{m{"pattern": "serve", "path": "srv", "ignored": true, "glob": "*.log"}, "srv/drop.log\n1:dropped serve\n\nsrv/keep.log\n1:kept serve\n"},
		{m{"pattern": "secret"}, "[no match for \"secret\" in .]\n[5 entries that git ignores not searched; ignored:true searches there]\n"},
		{m{"pattern": "secret", "ignored": true}, "[no match for \"secret\" in .]\n"},
		{m{"pattern": "core", "ignored": true}, "[no match for \"core\" in .]\n"},
		{m{"pattern": "ELF"}, "[no match for \"ELF\" in .]\n[5 entries that git ignores not searched; ignored:true searches there]\n"},
		{m{"pattern": "e", "max": 2, "glob": "*.go"}, "main.go\n1:package main\n4:\tserve()\n[3 more of 5 matching lines in 2 files; narrow pattern, path or glob, or use files_only]\n"},
		{m{"pattern": "serve", "files_only": true, "max": 1}, ".github/ci.yml\n[3 more of 4 files; narrow path or glob]\n"},
		{m{"pattern": "^$", "path": "main.go"}, "main.go\n2:\n"},
		{m{"pattern": "x*", "path": "srv/keep.log"}, "srv/keep.log\n1:kept serve\n"},
		{m{"pattern": "\\s+$", "path": "main.go"}, "[no match for \"\\\\s+$\" in main.go]\n"},
		{m{"pattern": "main\\W+func", "path": "main.go"}, "[no match for \"main\\\\W+func\" in main.go]\n"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.in), func(t *testing.T) {
			w.TB = t
			w.equal(w.ok("grep", tt.in), tt.want)
		})
	}
	w.TB = t
	w.fails("grep", m{"pattern": ""}, "pattern: it is empty")
	w.fails("grep", m{"pattern": "(?=x)"}, "RE2 has no look-around")
	w.fails("grep", m{"pattern": "a(b"}, "literal:true")
	w.fails("grep", m{"pattern": "a\nb"}, "newline")
	w.fails("grep", m{"pattern": "a\\nb"}, "newline")
	w.fails("grep", m{"pattern": "x", "context": 99}, "context: 99")
	w.fails("grep", m{"pattern": "x", "max": 5000}, "max: 5000")
	w.fails("grep", m{"pattern": "x", "glob": "[a"}, "glob: ")
	w.fails("grep", m{"pattern": strings.Repeat("x", 5000)}, "the limit is 4000")
	w.fails("grep", m{"pattern": "x", "path": "bin/prog"}, "bin/prog is a binary file")
	w.fails("grep", m{"pattern": "x", "path": "fifo"}, "fifo is a pipe")
	w.fails("grep", m{"pattern": "x", "path": "out"}, "outside")
	w.fails("grep", m{"pattern": "x", "path": "mani.go"}, "did you mean main.go?")
	w.refused("grep", m{"pattern": "x", "path": ".env"}, tool.PolicyDenied, "hidden")
	w.refused("grep", m{"pattern": "x", "path": "/etc"}, tool.PolicyDenied)
}

// TestWalkRules holds what no example above shows: repositories in repositories, rules from above a
// searched folder, names that are no text.
func TestWalkRules(t *testing.T) {
	w := newWorld(t, setup{})
	w.file(".gitignore", "*.gen\n/only/here\nvendored/inner/x.txt\n")
	w.file("a/b/x.gen", "needle")
	w.file("a/b/y.txt", "needle")
	w.file("only/here/z.txt", "needle")
	w.file("a/only/here/z.txt", "needle")
	w.file("vendored/inner/.git/HEAD", "")
	w.file("vendored/inner/x.txt", "needle")
	w.file("vendored/inner/y.gen", "needle")
	w.file("odd/new\nline.txt", "needle")
	want := "a/b/y.txt\na/only/here/z.txt\n\"odd/new\\nline.txt\"\nvendored/inner/x.txt\nvendored/inner/y.gen\n"
	w.equal(w.ok("grep", m{"pattern": "needle", "files_only": true}), want)
	w.equal(w.ok("grep", m{"pattern": "needle", "files_only": true, "path": "a/b"}), "a/b/y.txt\n")
	w.equal(w.ok("grep", m{"pattern": "needle", "files_only": true, "path": "only"}),
		"[no match for \"needle\" in only]\n[1 entry that git ignores not searched; ignored:true searches there]\n")
	w.equal(w.ok("grep", m{"pattern": "needle", "files_only": true, "path": "vendored/inner"}),
		"vendored/inner/x.txt\nvendored/inner/y.gen\n")

	s := newWorld(t, setup{symlinks: true})
	s.file(".gitignore", "*.gen\n")
	s.file("a/x.gen", "needle")
	s.file("a/y.txt", "needle")
	s.equal(s.ok("grep", m{"pattern": "needle", "files_only": true}), "a/y.txt\n")
	s.equal(s.ok("find", m{"pattern": "*", "path": "a"}), "a/y.txt\n")
	s.equal(s.ok("read", m{"path": "a/y.txt"}), "     1\tneedle\n")
}

func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	w := newWorld(t, setup{})
	w.file("ok.txt", "needle")
	w.file("no.txt", "needle")
	w.file("dir/in.txt", "needle")
	w.must(os.Chmod(filepath.Join(w.ws, "no.txt"), 0))
	w.must(os.Chmod(filepath.Join(w.ws, "dir"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(w.ws, "dir"), 0o755) })
	w.equal(w.ok("grep", m{"pattern": "needle"}), "ok.txt\n1:needle\n[2 entries could not be read]\n")
	w.equal(w.ok("find", m{"pattern": "*.txt"}), "no.txt\nok.txt\n[1 folder could not be read]\n")
}

func TestReadingCancelled(t *testing.T) {
	names := []string{"read", "ls", "find", "grep"}
	w := sample(t, setup{config: func(c *tool.Config) {
		c.Registry = tool.NewRegistry()
		for _, name := range names {
			if err := c.Registry.Register(tools.Cancelled(name)); err != nil {
				t.Fatal(err)
			}
		}
	}})
	for _, name := range names {
		w.fails(name, m{}, "context canceled")
	}
}

// TestHiddenInWalks: what is hidden stays so however deep a walk comes to it.
func TestHiddenInWalks(t *testing.T) {
	w := newWorld(t, setup{hidden: []string{"*.key", "a/b/vault", "~/x"}})
	w.file("a/b/vault/plans.txt", "needle")
	w.file("a/b/c/server.key", "needle")
	w.file("a/b/c/open.txt", "needle")
	w.must(os.Symlink("b/vault", filepath.Join(w.ws, "a", "door")))
	for _, path := range []string{".", "a", "a/b"} {
		w.equal(w.ok("grep", m{"pattern": "needle", "path": path, "files_only": true, "ignored": true}), "a/b/c/open.txt\n")
		w.equal(w.ok("find", m{"pattern": "*.{txt,key}", "path": path}), "a/b/c/open.txt\n")
	}
	w.fails("ls", m{"path": "a/door"}, "hidden")
	w.refused("ls", m{"path": "a/b/vault"}, tool.PolicyDenied, "hidden")
}
