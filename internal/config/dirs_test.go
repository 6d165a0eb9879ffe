package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestFindDirs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of this table are not absolute on Windows")
	}
	tests := []struct {
		name   string
		env    map[string]string
		home   string
		want   Dirs
		diags  int
		failed bool
	}{
		{"home", nil, "/home/ann", Dirs{"/home/ann/.config/planmode", "/home/ann/.local/state/planmode"}, 0, false},
		{"both", map[string]string{"XDG_CONFIG_HOME": "/c/", "XDG_STATE_HOME": "/s"}, "", Dirs{"/c/planmode", "/s/planmode"}, 0, false},
		{"relative", map[string]string{"XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "./s"}, "/h", Dirs{"/h/.config/planmode", "/h/.local/state/planmode"}, 2, false},
		{"odd", map[string]string{"XDG_CONFIG_HOME": "/c\x1b", "XDG_STATE_HOME": "/s"}, "/h", Dirs{"/h/.config/planmode", "/s/planmode"}, 1, false},
		{"no home", map[string]string{"XDG_CONFIG_HOME": "/c"}, "", Dirs{}, 0, true},
		{"relative home", nil, "ann", Dirs{}, 0, true},
		{"relative and no home", map[string]string{"XDG_CONFIG_HOME": "c"}, "", Dirs{}, 1, true},
	}
	for _, tt := range tests {
		got, diags, err := FindDirs(func(name string) string { return tt.env[name] }, tt.home)
		if got != tt.want || len(diags) != tt.diags || (err != nil) != tt.failed {
			t.Errorf("%s: %+v, %v, %v", tt.name, got, diags, err)
		}
		for _, d := range diags {
			if d.Severity != Notice || strings.ContainsFunc(d.String(), hiddenRune) {
				t.Errorf("%s: %q", tt.name, d)
			}
		}
	}
}

func TestTrust(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := Dirs{State: filepath.Join(dir, "state", "planmode")}
	project, other := filepath.Join(dir, "project"), filepath.Join(dir, "project2")
	for _, p := range []string{filepath.Join(project, "sub"), other} {
		if err := os.MkdirAll(p, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if d.Trusted(project) {
		t.Error("trusted before anything was said")
	}
	for range 2 {
		if err := d.Trust(project + "/sub/.."); err != nil {
			t.Fatal(err)
		}
	}
	if !d.Trusted(project) || !d.Trusted(project+"/") {
		t.Error("not trusted")
	}
	for _, p := range []string{other, filepath.Join(project, "sub"), dir, "project", "", filepath.Join(dir, "none")} {
		if d.Trusted(p) {
			t.Errorf("%q is trusted", p)
		}
	}
	if list, err := d.TrustedProjects(); err != nil || !slices.Equal(list, []string{project}) {
		t.Errorf("list %v, %v", list, err)
	}
	for _, bad := range []string{"project", filepath.Join(dir, "none"), filepath.Join(dir, "state", "planmode", trustName)} {
		if err := d.Trust(bad); err == nil {
			t.Errorf("%s was trusted", bad)
		}
	}
	if err := d.Trust(other); err != nil {
		t.Fatal(err)
	}
	if err := d.Distrust(project); err != nil {
		t.Fatal(err)
	}
	if d.Trusted(project) || !d.Trusted(other) {
		t.Error("Distrust took the wrong one off")
	}
	if err := os.RemoveAll(other); err != nil {
		t.Fatal(err)
	}
	if err := d.Distrust(other); err != nil {
		t.Fatal(err)
	}
	if list, err := d.TrustedProjects(); err != nil || len(list) != 0 {
		t.Errorf("a folder that is gone stays on the list: %v, %v", list, err)
	}
}

// Trust belongs to the place: a link that is turned elsewhere does not take it along.
func TestTrustFollowsNoName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	dir := t.TempDir()
	d := Dirs{State: filepath.Join(dir, "state")}
	link := filepath.Join(dir, "link")
	for _, name := range []string{"good", "evil", "odd\nname"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "good"), link); err != nil {
		t.Fatal(err)
	}
	if err := d.Trust(link); err != nil {
		t.Fatal(err)
	}
	if !d.Trusted(link) || !d.Trusted(filepath.Join(dir, "good")) {
		t.Error("the linked folder is not trusted")
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "evil"), link); err != nil {
		t.Fatal(err)
	}
	if d.Trusted(link) {
		t.Error("trust went along with the name")
	}
	if err := d.Trust(filepath.Join(dir, "odd\nname")); err == nil {
		t.Error("a name that would be two lines was trusted")
	}
}

// A list that was cut, is writable for others or is no file trusts nobody it does not name whole.
func TestBadTrustList(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := Dirs{State: filepath.Join(dir, "state")}
	list := filepath.Join(d.State, trustName)
	project := filepath.Join(dir, "project")
	for _, p := range []string{d.State, project, project + "-2"} {
		if err := os.Mkdir(p, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]bool{
		project + "\n": true, project: false, "project\n": false, "": false, "\n\x00\n" + project + "\n": true, project + "-2\n" + project: false,
	} {
		if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := d.Trusted(project); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if runtime.GOOS != "windows" {
		if err := os.WriteFile(list, []byte(project+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(list, 0o622); err != nil {
			t.Fatal(err)
		}
		if d.Trusted(project) {
			t.Error("a list that others may write is believed")
		}
		if err := d.Trust(project); err == nil {
			t.Error("a list that others may write was taken over")
		}
	}
	if err := swap(list, func() error { return os.Mkdir(list, 0o700) }); err != nil {
		t.Fatal(err)
	}
	if d.Trusted(project) || d.Trust(project) == nil {
		t.Error("a folder is believed to be a list")
	}
	if (Dirs{}).Trusted(project) || (Dirs{State: "state"}).Trust(project) == nil {
		t.Error("a state folder that is not absolute was used")
	}
}
