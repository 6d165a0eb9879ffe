package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
)

// TestDeclared: a grant does what the call declared and nothing else.
func TestDeclared(t *testing.T) {
	ctx := context.Background()
	reaches := map[string]func(g *Grant) error{
		"read a.go":     func(g *Grant) error { _, err := g.Open("a.go"); return err },
		"stat a.go":     func(g *Grant) error { _, err := g.Stat("a.go"); return err },
		"read docs":     func(g *Grant) error { _, err := g.OpenDir("docs"); return err },
		"read b.md":     func(g *Grant) error { _, err := g.Open("docs/b.md"); return err },
		"read all":      func(g *Grant) error { _, err := g.OpenDir("."); return err },
		"write a.go":    func(g *Grant) error { return g.WriteFile("a.go", nil, []byte("x")) },
		"write ./a.go":  func(g *Grant) error { return g.WriteFile("docs/../a.go", nil, []byte("x")) },
		"write b.md":    func(g *Grant) error { return g.WriteFile("docs/b.md", nil, []byte("x")) },
		"shell":         func(g *Grant) error { _, err := g.Shell(ctx, Output{}); return err },
		"get":           func(g *Grant) error { _, err := g.Get(ctx, "http://127.0.0.1:1/x"); return err },
		"submit a plan": func(g *Grant) error { _, err := g.SubmitPlan(ctx, "x"); return err },
		"write todos":   func(g *Grant) error { _, err := g.WriteTodos(ctx, nil); return err },
		"ask the user":  func(g *Grant) error { _, err := g.AskUser(ctx, nil); return err },
		"spawn":         func(g *Grant) error { _, err := g.Spawn(ctx, Assignment{}); return err },
	}
	host := Host{
		SubmitPlan: func(context.Context, string) (plan.Revision, error) { return plan.Revision{}, nil },
		WriteTodos: func(context.Context, []tasks.Item) (tasks.List, error) { return tasks.List{}, nil },
		AskUser:    func(context.Context, []Question) ([]Answer, error) { return nil, nil },
		Spawn:      func(context.Context, Assignment) (string, error) { return "", nil },
	}
	tests := []struct {
		access Access
		mode   plan.Mode
		may    []string
	}{
		{Access{Nothing{}}, plan.Off, nil},
		{Access{Opaque{}}, plan.Off, nil},
		{Access{Claimed{}}, plan.Off, nil},
		{Access{ReadFile{"a.go"}}, plan.Off, []string{"read a.go", "stat a.go"}},
		{Access{ReadFile{"docs"}}, plan.Off, []string{"read docs", "read b.md"}},
		{Access{ReadFile{"."}}, plan.Planning, []string{"read a.go", "stat a.go", "read docs", "read b.md", "read all"}},
		{Access{WriteFile{"a.go"}}, plan.Off, []string{"read a.go", "stat a.go", "write a.go", "write ./a.go"}},
		{Access{Shell{Command: "true"}}, plan.Off, []string{"shell"}},
		{Access{SubmitPlan{}}, plan.Planning, []string{"submit a plan"}},
		{Access{WriteTodos{}}, plan.Planning, []string{"write todos"}},
		{Access{AskUser{}, Spawn{}}, plan.Planning, []string{"ask the user", "spawn"}},
	}
	for _, tt := range tests {
		for name, reach := range reaches {
			w := newWorld(t, func(c *Config) { c.Host = host }).to(tt.mode)
			var leaked *Grant
			w.inTool(tt.access, func(_ context.Context, g *Grant) error {
				leaked = g
				err := reach(g)
				if slices.Contains(tt.may, name) {
					if err != nil {
						t.Errorf("%v: %s: %v", tt.access, name, err)
					}
				} else {
					isRefusal(t, err, NotGranted)
				}
				return nil
			})
			isRefusal(t, reach(leaked), NotGranted) // the call is over
		}
	}
}

// TestLeakedGrant: what a tool leaves running behind ends with the call, and nothing begins after it.
func TestLeakedGrant(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Autonomy = Loose }).to(plan.Off)
	var leaked *Grant
	var file *File
	var dir *Dir
	shell := make(chan error, 1)
	shellStarted := make(chan bool)
	var pid string
	w.inTool(Access{ReadFile{"."}, WriteFile{"a.go"}, Shell{Command: "echo $$; sleep 600; echo late > late.txt"}}, func(_ context.Context, g *Grant) error {
		var err error
		leaked = g
		if file, err = g.Open("a.go"); err != nil {
			return err
		}
		if dir, err = g.OpenDir("."); err != nil {
			return err
		}
		go func() {
			_, err := g.Shell(context.Background(), Output{Stdout: writerFunc(func(b []byte) { pid = strings.TrimSpace(string(b)); close(shellStarted) })})
			shell <- err
		}()
		<-shellStarted
		return nil
	})
	if n, err := strconv.Atoi(pid); err != nil {
		t.Error(err)
	} else if p, err := os.FindProcess(n); err == nil && p.Signal(syscall.Signal(0)) == nil {
		t.Error("the process runs on after the call")
	}
	if err := <-shell; err == nil {
		t.Error("the process ended by itself")
	}
	if _, err := file.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is open: %v", err)
	}
	_, err := dir.ReadDir(".")
	isRefusal(t, err, NotGranted)
	_, err = dir.Open("a.go")
	isRefusal(t, err, NotGranted)
	isRefusal(t, leaked.WriteFile("a.go", nil, []byte("late")), NotGranted)
	if _, err := leaked.Keep("x"); err == nil {
		t.Error("output is kept after the call")
	}
	leaked.Progress("late")
	if w.read("ws/a.go") != "contents of ws/a.go" || w.read("ws/late.txt") != "" {
		t.Error("something was written after the call")
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

// TestTightenedWhileRunning: a call that runs when plan mode is entered begins no further change.
func TestTightenedWhileRunning(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Autonomy = Loose }).to(plan.Off)
	res := w.inTool(Access{ReadFile{"a.go"}, WriteFile{"a.go"}, Shell{Command: "echo > b.go"}, Fetch{"http://127.0.0.1:1/"}}, func(ctx context.Context, g *Grant) error {
		if err := g.WriteFile("a.go", nil, []byte("one")); err != nil {
			return err
		}
		w.happens(plan.Enter{})
		isRefusal(t, g.WriteFile("a.go", nil, []byte("two")), StalePermission)
		_, err := g.Get(ctx, "http://127.0.0.1:1/")
		isRefusal(t, err, StalePermission)
		_, err = g.Shell(ctx, Output{})
		isRefusal(t, err, StalePermission)
		if text, err := slurp(g, "a.go"); err != nil || text != "one" {
			t.Errorf("reading is not changing: %q %v", text, err)
		}
		return nil
	})
	if res.IsError || w.read("ws/a.go") != "one" || w.read("ws/b.go") != "" {
		t.Errorf("%+v", res)
	}
}

// TestReadLinks: symbolic links are followed as far as what may be read goes.
func TestReadLinks(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Policy.Deny = []Rule{{"*", "secrets"}}
		c.Roots.Read = []string{filepath.Join(filepath.Dir(c.Roots.Workspace), "linked")}
		c.Roots.Hidden = append(c.Roots.Hidden, filepath.Join(c.Roots.Workspace, "docs/hidden"), filepath.Join(filepath.Dir(c.Roots.Workspace), "aside"))
	})
	w.mkdir("ws/docs/other")
	w.write("ws/docs/other/o", "hidden by another name")
	w.link("ws/docs/other", "aside")
	w.mkdir("really")
	w.write("really/r.txt", "further")
	w.link(w.path("really"), "linked")
	w.mkdir("ws/docs/hidden")
	w.write("ws/docs/hidden/h", "hidden")
	w.link("a.go", "ws/inside")
	w.link("../elsewhere/c.txt", "ws/outside")
	w.link("../home/.ssh/id_rsa", "ws/key")
	w.link("../home/.ssh", "ws/keys")
	w.link(".env", "ws/env")
	w.link("secrets/key", "ws/denied")
	w.link("docs/hidden", "ws/way")
	w.link("nowhere", "ws/dangling")
	w.link("loop", "ws/loop")
	if err := os.Link(w.path("home/.ssh/id_rsa"), w.path("ws/hard")); err != nil {
		t.Fatal(err)
	}
	w.gate.cfg.Roots.Hidden = append(w.gate.cfg.Roots.Hidden, w.path("home/.ssh/id_rsa"))
	w.gate.cfg.Roots = w.gate.cfg.Roots.ready()
	for _, m := range []plan.Mode{plan.Planning, plan.Off} {
		w.to(m)
		for path, want := range map[string]string{
			"inside": "contents of ws/a.go", "outside": "outside the folders", "key": "hidden", "keys/id_rsa": "hidden",
			"env": "hidden", "denied": "denies", "way/h": "hidden", "docs/other/o": "hidden", "dangling": "no such file", "loop": "links",
			"hard": "hidden", filepath.Join(w.dir, "linked/r.txt"): "further", ".git/config": "contents of ws/.git/config",
		} {
			res, err := w.run(w.mustAllow("read", pathInput{path}))
			if err != nil || !strings.Contains(res.Text, want) {
				t.Errorf("%s in %s: %q %v, want %q", path, m, res.Text, err, want)
			}
		}
	}
	res := w.inTool(Access{ReadFile{"."}}, func(_ context.Context, g *Grant) error {
		d, err := g.OpenDir(".")
		if err != nil {
			return err
		}
		entries, err := d.ReadDir(".")
		if err != nil {
			return err
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); strings.Contains(got, ".env") || strings.Contains(got, "secrets") || !strings.Contains(got, "a.go") {
			t.Errorf("listed: %s", got)
		}
		for _, name := range []string{"keys/id_rsa", "way/h", "way", "inside", "key", ".env", "secrets/key", "docs/hidden/h", "docs/other/o", "../elsewhere/c.txt", "/etc/passwd", "docs", "."} {
			if _, err := d.Open(name); err == nil {
				t.Errorf("opened %s", name)
			}
		}
		for _, name := range []string{"way", "keys", "secrets", "docs/hidden", "docs/other", "..", "a.go"} {
			if _, err := d.ReadDir(name); err == nil {
				t.Errorf("listed %s", name)
			}
		}
		f, err := d.Open("docs/b.md")
		if err != nil {
			return err
		}
		_, err = io.ReadAll(f)
		return err
	})
	if res.IsError {
		t.Error(res.Text)
	}
}

// TestNotRegular: opening a device or a pipe can act or wait.
func TestNotRegular(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no devices by path")
	}
	w := newWorld(t, func(c *Config) { c.Roots.Read = []string{"/"} }).to(plan.Planning)
	for path, want := range map[string]string{"/dev/zero": "device", "docs": "folder"} {
		if res, err := w.run(w.mustAllow("read", pathInput{path})); err != nil || !strings.Contains(res.Text, want) {
			t.Errorf("%s: %q %v", path, res.Text, err)
		}
	}
	for _, path := range []string{"/proc/self/environ", "/proc/1/mem"} {
		if r := refusalOf(t, w.decide("read", pathInput{path})); r.Code != PolicyDenied {
			t.Errorf("%+v", r)
		}
	}
}

// TestReadFileHasNoWay: the handle on a file that was opened for reading cannot change it.
func TestReadFileHasNoWay(t *testing.T) {
	w := newWorld(t).to(plan.Planning)
	w.inTool(Access{ReadFile{"a.go"}}, func(_ context.Context, g *Grant) error {
		f, err := g.Open("a.go")
		if err != nil {
			t.Fatal(err)
		}
		var v any = f
		_, chmod := v.(interface{ Chmod(fs.FileMode) error })
		_, fd := v.(interface{ Fd() uintptr })
		_, write := v.(io.Writer)
		_, truncate := v.(interface{ Truncate(int64) error })
		if chmod || fd || write || truncate {
			t.Errorf("it has Chmod %t, Fd %t, Write %t, Truncate %t", chmod, fd, write, truncate)
		}
		return nil
	})
}

// TestWriteLinks: a symbolic link gives no more permission than the path that it leads to has.
func TestWriteLinks(t *testing.T) {
	prepare := func(w *world) {
		w.link("a.go", "ws/inside")
		w.link("docs", "ws/dir")
		w.link("../elsewhere/c.txt", "ws/outside")
		w.link("../elsewhere", "ws/outdir")
		w.link(".git/config", "ws/git")
		w.link(".git", "ws/gitdir")
		w.link(".git/hooks/post-commit", "ws/newhook")
		w.link("../home/.ssh/id_rsa", "ws/key")
		w.link("../elsewhere/new.txt", "ws/dangling")
		w.link("../elsewhere/newdir", "ws/danglingdir")
		w.link(".git/newdir", "ws/danglinggit")
		w.link("secrets/key", "ws/denied")
		w.link("a.go", "elsewhere/in")
		w.link("../ws/.git/config", "elsewhere/git")
		w.link("c.txt", "elsewhere/other")
	}
	for path, want := range map[string]string{
		"a.go": "", "new/deep/x.txt": "", "inside": "", "dir/new.md": "", "dir/b.md": "",
		"outside": "asked", "outdir/x": "asked", "git": "asked", "gitdir/config": "asked", "gitdir/hooks/x": "asked",
		"newhook": "no such file", "key": "hidden", "dangling": "no such file", "danglingdir/x": " ", "danglinggit/x": " ",
		"denied": "denies", "../elsewhere/git": "asked", "../elsewhere/other": "asked", "../elsewhere/c.txt": "",
		"../elsewhere/new/x.txt": "", "docs": "folder", "a.go/x": " ",
	} {
		w := newWorld(t, func(c *Config) {
			c.Autonomy = Loose
			c.Policy.Deny = []Rule{{"*", "secrets/**"}}
		})
		prepare(w)
		w.to(plan.Off)
		before := w.snapshot()
		res := w.inTool(Access{WriteFile{path}}, func(_ context.Context, g *Grant) error { return g.WriteFile(path, nil, []byte("NEW")) })
		changed := w.changes(before)
		switch {
		case want == "" && (res.IsError || len(changed) == 0):
			t.Errorf("%s: %q, changed %v", path, res.Text, changed)
		case want != "" && (!res.IsError || !strings.Contains(res.Text, strings.TrimSpace(want)) || len(changed) > 0):
			t.Errorf("%s: %q, want %q; changed %v", path, res.Text, want, changed)
		}
	}
	// In strict mode a yes for one path is none for another, and neither is a rule.
	w := newWorld(t, func(c *Config) { c.Policy.Allow = []Rule{{"*", "dir/**"}, {"*", "inside"}} })
	prepare(w)
	w.to(plan.Off)
	for _, path := range []string{"inside", "dir/b.md"} {
		res := w.inTool(Access{WriteFile{path}}, func(_ context.Context, g *Grant) error { return g.WriteFile(path, nil, []byte("NEW")) })
		if !res.IsError || !strings.Contains(res.Text, "name that path itself") {
			t.Errorf("%s: %q", path, res.Text)
		}
	}
}

// TestWorkspaceBehindLink: the workspace's own name may lead through a symbolic link, as /tmp on macOS.
func TestWorkspaceBehindLink(t *testing.T) {
	w := newWorld(t)
	w.link(w.ws, "alias")
	alias := w.path("alias")
	cfg := w.gate.cfg
	cfg.Roots.Workspace = alias
	cfg.Roots.Hidden = append(cfg.Roots.Hidden, filepath.Join(alias, "docs"))
	cfg.Policy = Policy{Deny: []Rule{{"*", "secrets/**"}}}
	cfg.Autonomy = Hybrid
	w.gate = NewGate(cfg)
	w.to(plan.Off)
	w.link("docs/b.md", "ws/way")
	w.link("secrets/key", "ws/denied")
	for path, want := range map[string]string{"a.go": "contents of ws/a.go", "way": "hidden", "denied": "denies"} {
		if res, err := w.run(w.mustAllow("read", pathInput{path})); err != nil || !strings.Contains(res.Text, want) {
			t.Errorf("%s: %q %v", path, res.Text, err)
		}
	}
	if res, err := w.run(w.mustAllow("write", writeInput{"new.txt", "x"})); err != nil || res.IsError || w.read("ws/new.txt") != "x" {
		t.Errorf("%+v %v", res, err)
	}
	if d := w.decide("write", writeInput{w.path("ws/.git/config"), "x"}); word(d) != "ask" {
		t.Errorf(".git by the real name: %s", word(d))
	}
	w.inTool(Access{ReadFile{"."}}, func(_ context.Context, g *Grant) error {
		d, err := g.OpenDir(".")
		if err != nil {
			t.Error(err)
			return err
		}
		for _, name := range []string{"docs/b.md", "secrets/key"} {
			if _, err := d.Open(name); err == nil {
				t.Errorf("opened %s", name)
			}
		}
		return nil
	})
}

// TestPlanFile: one file, by any spelling, while planning, and never through a link.
func TestPlanFile(t *testing.T) {
	w := newWorld(t).to(plan.Planning)
	file := w.path("state/plans/plan.md")
	spellings := []string{file, "../state/plans/plan.md", "~/../state/plans/plan.md", filepath.Dir(file) + "/./x/../plan.md", "./.././state//plans/plan.md"}
	for i, path := range spellings {
		text := strings.Repeat("x", i+1)
		if res, err := w.run(w.mustAllow("write", writeInput{path, text})); err != nil || res.IsError || w.read("state/plans/plan.md") != text {
			t.Errorf("%s: %+v %v", path, res, err)
		}
	}
	for _, path := range []string{"../state/plans/plan.md/x", "../state/plans", "../state/plans/PLAN.md", "../state/plans/plan.md "} {
		if d := w.decide("write", writeInput{path, "x"}); word(d) != string(PlanModeBlocked) {
			t.Errorf("%s: %s", path, word(d))
		}
	}
	// What was permitted while planning does not write under the user's eyes.
	a := w.mustAllow("write", writeInput{file, "late"})
	w.happens(plan.Submit{Text: planText})
	res, err := w.run(a)
	if err != nil || !res.IsError || w.read("state/plans/plan.md") == "late" {
		t.Errorf("%+v %v", res, err)
	}
	w.happens(plan.Prompt{})
	// A link in its place.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.link(w.path("ws/a.go"), "state/plans/plan.md")
	if res, err := w.run(w.mustAllow("write", writeInput{file, "x"})); err != nil || !res.IsError || !strings.Contains(res.Text, "symbolic link") {
		t.Errorf("%+v %v", res, err)
	}
	if res, err := w.run(w.mustAllow("read", pathInput{w.path("state/plans/plan.md")})); err != nil {
		t.Error(err)
	} else if res.Text != "contents of ws/a.go" { // the workspace may be read anyhow
		t.Errorf("%+v", res)
	}
	if w.read("ws/a.go") != "contents of ws/a.go" {
		t.Error("written through the link")
	}
	// A plan file in the workspace, whose folder the workspace made a link.
	cfg := w.gate.cfg
	cfg.PlanFile = func() string { return filepath.Join(w.ws, "plans/plan.md") }
	w.gate = NewGate(cfg)
	w.to(plan.Planning)
	w.link(".git/hooks", "ws/plans")
	if res, err := w.run(w.mustAllow("write", writeInput{"plans/plan.md", "x"})); err != nil || !res.IsError || w.read("ws/.git/hooks/plan.md") != "" {
		t.Errorf("%+v %v", res, err)
	}
}

func TestWriteFile(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Autonomy = Loose }).to(plan.Off)
	if err := os.Chmod(w.path("ws/a.go"), 0o750); err != nil {
		t.Fatal(err)
	}
	write := func(path string, old []byte, data string) string {
		t.Helper()
		return w.inTool(Access{WriteFile{path}}, func(_ context.Context, g *Grant) error { return g.WriteFile(path, old, []byte(data)) }).Text
	}
	if got := write("a.go", []byte("something else"), "x"); !strings.Contains(got, "changed since") {
		t.Error(got)
	}
	if got := write("a.go", []byte("contents of ws/a.go"), "new"); got != "" || w.read("ws/a.go") != "new" {
		t.Error(got)
	}
	if info, err := os.Stat(w.path("ws/a.go")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o750 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if got := write("a.go", []byte{}, "x"); !strings.Contains(got, "changed since") {
		t.Error(got)
	}
	if got := write("fresh", []byte{}, "x"); got != "" || w.read("ws/fresh") != "x" {
		t.Error(got)
	}
	entries, err := os.ReadDir(w.ws)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".planmode-") {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

// TestProtected: what decides what other programs execute is asked for each time, however it is spelled.
func TestProtected(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Autonomy = Loose
		c.Policy.Allow = []Rule{{Tool: "*"}, {"write", ".git/**"}}
	}).to(plan.Off)
	for _, path := range []string{
		".git/config", ".git", ".GIT/config", ".Git", "docs/sub/.git/hooks/x", "docs/../.git/x", "./.git/x", ".git./x", ".git /x",
		".git::$INDEX_ALLOCATION/x", "git~1/x", "GIT~1", ".g\u200cit/x", "\ufeff.git/x", ".envrc", "sub/.envrc", ".vscode/tasks.json", ".idea/x",
		".husky/pre-commit", ".planmode/config.json", filepath.Join(w.ws, ".git/x"), "/etc/passwd", "../elsewhere/x", "~/x",
	} {
		if d := w.decide("write", writeInput{path, "x"}); word(d) != "ask" {
			t.Errorf("%q: %s", path, word(d))
		}
	}
	for _, path := range []string{"a.go", "git/config", ".gitignore", ".github/x", "x.git", "docs/envrc", "...", "..x"} {
		if d := w.decide("write", writeInput{path, "x"}); word(d) != "allow" {
			t.Errorf("%q: %s", path, word(d))
		}
	}
}

func TestHidden(t *testing.T) {
	r := Roots{Workspace: "/ws", Home: "/home/u", Hidden: []string{
		"/abs/dir", "~/.ssh", "/home/u/*.pem", "/home/u/id_*", "/var/*/secret", ".env", "*.key", "rel/dir", "[", "/literal[x]/y",
	}}
	for _, ready := range []bool{false, true} {
		if ready {
			r = r.ready()
		}
		r.Hidden = slices.DeleteFunc(slices.Clone(r.Hidden), func(h string) bool { return h == "[" })
		r = Roots{Workspace: r.Workspace, Home: r.Home, Hidden: r.Hidden}
		if ready {
			r = r.ready()
		}
		for _, p := range []string{
			"/abs/dir", "/abs/dir/x/y", "/ABS/Dir/x", "/home/u/.ssh", "/home/u/.ssh/id", "/home/u/.SSH/id", "/home/u/x.pem",
			"/home/u/id_rsa", "/home/u/id_rsa/below", "/var/a/secret", "/var/a/secret/x", "/ws/.env", "/ws/a/.ENV", "/ws/.env/x", "/x/y.key",
			"/ws/rel/dir", "/ws/rel/dir/x", "/literal[x]/y",
		} {
			if _, hidden := r.hidden(p); !hidden {
				t.Errorf("%s is not hidden", p)
			}
		}
		for _, p := range []string{"/", "/abs", "/abs/directory", "/home/u", "/home/u/deeper/x.pem", "/home/v/.ssh", "/ws/env", "/ws/.env.example", "/rel/dir", "/ws/a.go", "/var/secret"} {
			if h, hidden := r.hidden(p); hidden {
				t.Errorf("%s is hidden by %q", p, h)
			}
		}
	}
	bad := Roots{Workspace: "/ws", Hidden: []string{"["}}.ready()
	if _, hidden := bad.hidden("/ws/a.go"); !hidden {
		t.Error("a pattern that is none hides nothing")
	}
	homeless := Roots{Workspace: "/ws", Hidden: []string{"~/.ssh"}}.ready()
	if _, hidden := homeless.hidden("/anywhere/.ssh/id"); !hidden {
		t.Error("without a home ~/.ssh hides nothing")
	}
}

// TestHiddenInLine: a command line that names something hidden is refused while planning.
func TestHiddenInLine(t *testing.T) {
	w := newWorld(t).to(plan.Planning)
	for _, line := range []string{
		"cat .env", "cat ./.env", `cat ".env"`, `cat .e""nv`, `cat .\env`, "cat <.env", "cat docs/../.env", "grep x --file=.env a.go", "cat ~/.ssh/id_rsa",
		"cat " + filepath.Join(w.dir, "home/.ssh/id_rsa"), "ls | cat $(echo .env)", "cat ~/.SSH/id_rsa", "cat .ENV",
	} {
		if d := w.decide("bash", shellInput{Command: line}); word(d) != string(PolicyDenied) {
			t.Errorf("%q: %s %+v", line, word(d), d)
		}
	}
	if d := w.decide("bash", shellInput{Command: "cat .env.example a.go"}); word(d) != "allow" {
		t.Errorf("%+v", d)
	}
	w.link("../home", "ws/h")
	res := w.inTool(Access{Shell{Command: "ls", Dir: "h/.ssh"}}, func(ctx context.Context, g *Grant) error {
		_, err := g.Shell(ctx, Output{})
		return err
	})
	if !res.IsError || !strings.Contains(res.Text, "hidden") && !strings.Contains(res.Text, "outside") {
		t.Errorf("%+v", res)
	}
}

func TestShell(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Autonomy = Loose }).to(plan.Off)
	res, err := w.run(w.mustAllow("bash", shellInput{Command: "echo hello > x.txt; cat x.txt; pwd; exit 3", Dir: "docs"}))
	if err != nil || !res.IsError || res.Text != "hello\n"+w.path("ws/docs")+"\n" || w.read("ws/docs/x.txt") != "hello\n" {
		t.Errorf("%+v %v", res, err)
	}
	// A workspace does not bring the programs that were judged by their names.
	w.mkdir("ws/bin")
	w.write("ws/bin/ls", "#!/bin/sh\necho evil > evil.txt\n")
	w.write("ws/bin/bash", "#!/bin/sh\necho evil > evil.txt\n")
	for _, f := range []string{"ls", "bash"} {
		if err := os.Chmod(w.path("ws/bin/"+f), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", strings.Join([]string{w.path("ws/bin"), "bin", ".", "", os.Getenv("PATH")}, string(os.PathListSeparator)))
	w.write("ws/env.sh", "echo evil > evil.txt\n")
	t.Setenv("BASH_ENV", w.path("ws/env.sh"))
	t.Setenv("BASH_FUNC_ls%%", "() { echo evil > evil.txt; }")
	t.Setenv("GIT_EXTERNAL_DIFF", w.path("ws/bin/ls"))
	w.to(plan.Planning)
	res, err = w.run(w.mustAllow("bash", shellInput{Command: "ls a.go"}))
	if err != nil || res.Text != "a.go\n" || w.read("ws/evil.txt") != "" {
		t.Errorf("%+v %v, %q", res, err, w.read("ws/evil.txt"))
	}
}

// TestSandboxRequired: without a wall nothing runs while planning where the user requires one.
func TestSandboxRequired(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Sandbox = SandboxRequire }).to(plan.Planning)
	res, err := w.run(w.mustAllow("bash", shellInput{Command: "echo hello"}))
	if err != nil {
		t.Fatal(err)
	}
	if !res.IsError { // there is a wall here
		if res.Text != "hello\n" {
			t.Errorf("%+v", res)
		}
		return
	}
	var r Refusal
	if err := json.Unmarshal([]byte(res.Text), &r); err != nil || r.Code != SandboxMissing || r.Hint == "" || !r.PlanMode {
		t.Errorf("%v: %s", err, res.Text)
	}
}

func TestGet(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other host was asked") }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(rw, r, other.URL, http.StatusFound)
		case "/round":
			http.Redirect(rw, r, "/round", http.StatusFound)
		case "/on":
			http.Redirect(rw, r, "/here", http.StatusFound)
		default:
			_, _ = io.WriteString(rw, "hello")
		}
	}))
	defer server.Close()
	w := newWorld(t, func(c *Config) { c.Autonomy = Loose }).to(plan.Off)
	for path, want := range map[string]string{"/here": "hello", "/on": "hello", "/away": "another host", "/round": "too many"} {
		var body io.ReadCloser
		res := w.inTool(Access{Fetch{server.URL + path}}, func(ctx context.Context, g *Grant) error {
			_, err := g.Get(ctx, server.URL+path+"?more")
			isRefusal(t, err, NotGranted)
			resp, err := g.Get(ctx, server.URL+path)
			if err != nil {
				return err
			}
			body = resp.Body
			text, err := io.ReadAll(resp.Body)
			return errors.Join(err, errors.New(string(text)))
		})
		if !strings.Contains(res.Text, want) {
			t.Errorf("%s: %q, want %q", path, res.Text, want)
		}
		if body != nil {
			if _, err := body.Read(make([]byte, 1)); err == nil {
				t.Error("the answer is open after the call")
			}
		}
	}
}

func TestKeep(t *testing.T) {
	w := newWorld(t).to(plan.Planning)
	var name string
	res := w.inTool(Access{Nothing{}}, func(_ context.Context, g *Grant) error {
		f, err := g.Keep("../../x*.txt")
		if err != nil {
			return err
		}
		name = f.Name()
		_, err = f.WriteString("long")
		return err
	})
	if res.IsError || filepath.Dir(name) != w.path("state/keep") {
		t.Fatalf("%s %+v", name, res)
	}
	if res, err := w.run(w.mustAllow("read", pathInput{name})); err != nil || res.Text != "long" {
		t.Errorf("%+v %v", res, err)
	}
}

// snapshot returns what every file of the world holds; a link holds its target.
func (w *world) snapshot() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(w.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(p)
			all[p] = "-> " + target
			return err
		}
		b, err := os.ReadFile(p)
		all[p] = string(b)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// changes returns the files that are not as they were.
func (w *world) changes(before map[string]string) []string {
	w.t.Helper()
	after := w.snapshot()
	var changed []string
	for p, text := range after {
		if was, there := before[p]; !there || was != text {
			changed = append(changed, p)
		}
	}
	for p := range before {
		if _, there := after[p]; !there {
			changed = append(changed, p)
		}
	}
	slices.Sort(changed)
	return changed
}
