package tool

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/plan"
)

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
