package tool

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/plan"
)

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
