package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/tool"
)

func TestEnvironment(t *testing.T) {
	const loose = `{"autonomy":"loose","model":"u/m","plan":{"default":true}}`
	tests := []struct {
		name, user string
		env        map[string]string
		field      string
		want       string
		fault      bool
		kind       string
	}{
		{"on", `{}`, map[string]string{EnvDefault: "1"}, "plan.default", "true", false, "environment"},
		{"true", `{}`, map[string]string{EnvDefault: " True "}, "plan.default", "true", false, "environment"},
		{"yes", `{}`, map[string]string{EnvDefault: "yes"}, "plan.default", "true", false, "environment"},
		{"on by word", `{}`, map[string]string{EnvDefault: "ON"}, "plan.default", "true", false, "environment"},
		{"unset", `{}`, nil, "plan.default", "false", false, "default"},
		{"off says nothing", `{}`, map[string]string{EnvDefault: "0"}, "plan.default", "false", false, "user"},
		{"off does not loosen", loose, map[string]string{EnvDefault: "off"}, "plan.default", "true", false, "user"},
		{"anything else is on", `{}`, map[string]string{EnvDefault: "2"}, "plan.default", "true", true, "environment"},
		{"a typing slip is on", `{}`, map[string]string{EnvDefault: "ture"}, "plan.default", "true", true, "environment"},
		{"model", loose, map[string]string{EnvModel: "e/m"}, "model", `"e/m"`, false, "environment"},
		{"bad model", loose, map[string]string{EnvModel: "sonnet"}, "model", `"u/m"`, true, "user"},
		{"odd model", loose, map[string]string{EnvModel: "a/b\x1b[2J"}, "model", `"u/m"`, true, "user"},
		{"autonomy up", loose, map[string]string{EnvAutonomy: "strict"}, "autonomy", `"strict"`, false, "environment"},
		{"autonomy down", `{"autonomy":"strict"}`, map[string]string{EnvAutonomy: "loose"}, "autonomy", `"loose"`, false, "environment"},
		{"bad autonomy is strict", loose, map[string]string{EnvAutonomy: "yolo"}, "autonomy", `"strict"`, true, "environment"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, strings.Replace(tt.user, "{}", `{"plan":{"default":false}}`, 1), "", tt.env)
			c, diags := Load(w.o)
			if got := settings(c)[tt.field]; got != tt.want {
				t.Errorf("%s is %s, want %s", tt.field, got, tt.want)
			}
			if fault := len(diags) == 1 && diags[0].Severity == Fault && diags[0].Field == tt.field && tt.env[diags[0].Path] != ""; fault != tt.fault || !fault && len(diags) > 0 {
				t.Errorf("diagnostics %v", diags)
			}
			if tt.kind != "default" && c.Sources[tt.field][0].Kind != tt.kind {
				t.Errorf("source %v, want %s", c.Sources[tt.field], tt.kind)
			}
			for _, d := range diags {
				if strings.ContainsFunc(d.String(), hiddenRune) {
					t.Errorf("the diagnostic cannot be shown: %q", d)
				}
			}
		})
	}
	// A project's restriction holds against the environment.
	w := newWorld(t, "", `{"autonomy":"strict"}`, map[string]string{EnvAutonomy: "loose"})
	if c, _ := Load(w.o); c.Autonomy != tool.Strict {
		t.Errorf("the environment loosened the project's restriction: %v", c.Autonomy)
	}
}

func TestUnusableFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links mean something else on Windows")
	}
	const open = `{"autonomy":"loose"}`
	tests := []struct {
		name string
		make func(w world) error
		want string
	}{
		{"shared", func(w world) error { return os.Chmod(w.user, 0o666) }, "chmod o-w"},
		{"folder", func(w world) error { return swap(w.user, func() error { return os.Mkdir(w.user, 0o700) }) }, "not a regular file"},
		{"dangling link", func(w world) error { return swap(w.user, func() error { return os.Symlink("/nowhere", w.user) }) }, "leads nowhere"},
		{"huge", func(w world) error { return os.WriteFile(w.user, make([]byte, maxFile+1), 0o600) }, "larger than"},
		{"link out of the project", func(w world) error {
			if err := os.MkdirAll(filepath.Dir(w.project), 0o700); err != nil {
				return err
			}
			return os.Symlink(w.user, w.project)
		}, "escapes"},
		{"file for the folder", func(w world) error {
			return swap(filepath.Dir(w.project), func() error { return os.WriteFile(filepath.Dir(w.project), nil, 0o600) })
		}, "not a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, open, "", nil)
			if err := tt.make(w); err != nil {
				t.Fatal(err)
			}
			c, diags := Load(w.o)
			if len(diags) != 1 || diags[0].Severity != Fault || !strings.Contains(diags[0].Reason, tt.want) {
				t.Errorf("diagnostics %v, want %q", diags, tt.want)
			}
			if c.Autonomy != tool.Strict || !c.Plan.Default {
				t.Errorf("got %v", settings(c))
			}
		})
	}
	// A link to a real file is how many people keep theirs.
	w := newWorld(t, "", "", nil)
	real := filepath.Join(t.TempDir(), "dotfile")
	if err := os.WriteFile(real, []byte(open), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, w.user); err != nil {
		t.Fatal(err)
	}
	c, diags := Load(w.o)
	noDiags(t, diags)
	if c.Autonomy != tool.Loose {
		t.Errorf("a linked file does not count: %v", c.Autonomy)
	}
}

func swap(path string, with func() error) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return with()
}
