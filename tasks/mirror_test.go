package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestMirrorSurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todos.json")
	s, err := Open(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening wrote a file: %v", err)
	}
	if _, err := s.Seed("2", []string{"читать", "<b>&</b>"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetStatus("1", Completed); err != nil {
		t.Fatal(err)
	}
	again, err := Open(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(again.List().JSON()), string(s.List().JSON()); got != want {
		t.Errorf("after reopening %s, want %s", got, want)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"version":1,"plan":"2","items":[{"id":"1","content":"читать","status":"completed"},{"id":"2","content":"<b>&</b>","status":"pending"}]}` + "\n"
	if string(data) != want {
		t.Errorf("the mirror is %s, want %s", data, want)
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("temporary files are left: %v, %v", entries, err)
	}
}

func TestBadMirrorIsSetAside(t *testing.T) {
	row := func(id, content, status string) string {
		data, err := json.Marshal(State{Version: 1, Items: []Item{{id, content, Status(status)}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	tests := []struct{ name, data, want string }{
		{"empty", "", "unexpected end"},
		{"cut", `{"version":1,"items":[{"id":"a"`, "unexpected end"},
		{"garbage", "\x00\xff\x17", "invalid character"},
		{"another shape", `[1,2]`, "cannot unmarshal"},
		{"trailing text", `{"version":1,"items":[]} x`, "invalid character"},
		{"newer", `{"version":2,"items":[]}`, "version 2"},
		{"no version", `{"items":[]}`, "version 0"},
		{"bad status", row("a", "x", "blocked"), "none of pending"},
		{"no id", row("", "x", "pending"), "is empty"},
		{"no content", row("a", "", "pending"), "no content"},
		{"long content", row("a", strings.Repeat("x", 501), "pending"), "501 characters"},
		{"control character", row("a", "x\x1by", "pending"), "U+001B"},
		{"double id", `{"version":1,"items":[{"id":"a","content":"x","status":"pending"},{"id":"a","content":"y","status":"pending"}]}`, "not the first"},
		{"two in progress", `{"version":1,"items":[{"id":"a","content":"x","status":"in_progress"},{"id":"b","content":"y","status":"in_progress"}]}`, "at most one"},
		{"41 rows", `{"version":1,"items":[` + strings.Repeat(`{},`, 40) + `{}]}`, "is empty"},
		{"bad plan", `{"version":1,"plan":"a b","items":[]}`, "white space"},
		{"huge", strings.Repeat(" ", maxMirror+1), "larger than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "todos.json")
			// The first free number is taken, so that an older one is never overwritten.
			if err := os.WriteFile(path+".corrupt-1", []byte("older"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tt.data), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(Options{Path: path})
			var aside *SetAsideError
			if !errors.As(err, &aside) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want a SetAsideError with %q", err, tt.want)
			}
			if !errors.Is(s.Problem(), err) || aside.Path != path || aside.Kept != path+".corrupt-2" {
				t.Errorf("reported %+v", aside)
			}
			if n := s.Counts().Total; n != 0 {
				t.Errorf("the store starts with %d items", n)
			}
			kept, err := os.ReadFile(path + ".corrupt-2")
			if err != nil || string(kept) != tt.data {
				t.Errorf("kept %.40q, %v", kept, err)
			}
			if _, err := s.Replace(many(2)); err != nil {
				t.Fatal(err)
			}
			again, err := Open(Options{Path: path})
			if err != nil || again.Counts().Total != 2 {
				t.Errorf("after a new write: %v, %v", again.List(), err)
			}
		})
	}
}

func TestMirrorIsNoFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(`{"version":1,"items":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "todos.json")
	if err := os.Symlink(secret, path); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{Path: path})
	if err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a link was read: %v", err)
	}
	if _, err := s.Replace(many(1)); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != `{"version":1,"items":[]}` {
		t.Errorf("the link was written through: %s, %v", data, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Path: filepath.Join(dir, "folder")}); err == nil {
		t.Error("a folder was taken for a mirror")
	}
}

// A write that cannot be made safe changes nothing and says so; it works again when the folder does.
func TestMirrorCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "todos.json")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := NewStore(Options{Path: path})
	if _, err := s.Replace([]Item{{ID: "a", Content: "a"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	list, err := s.Replace(many(3))
	var e *Error
	if err == nil || errors.As(err, &e) || !strings.Contains(err.Error(), "was not changed") {
		t.Errorf("error %v", err)
	}
	if want := []Item{{"a", "a", Pending}}; !slices.Equal(list.Items, want) || !slices.Equal(s.Items(), want) {
		t.Errorf("the list changed: %v", s.Items())
	}
	if _, err := s.SetStatus("a", Completed); err == nil || s.Items()[0].Status != Pending {
		t.Errorf("a status changed without a folder: %v, %v", s.Items(), err)
	}
	if _, err := s.Cancel(); err == nil {
		t.Error("Cancel was acknowledged without a folder")
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Replace(many(3)); err != nil {
		t.Fatal(err)
	}
	if again, err := Open(Options{Path: path}); err != nil || again.Counts().Total != 3 {
		t.Errorf("after the folder came back: %v, %v", again.List(), err)
	}
}

// A mirror that can neither be read nor moved is left alone, and the store lives in memory.
func TestMirrorCannotBeSetAside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// 250 bytes are a legal name; the longer name of the kept file is not, for every user.
	path := filepath.Join(dir, strings.Repeat("n", 250))
	if err := os.WriteFile(path, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{Path: path})
	var aside *SetAsideError
	if !errors.As(err, &aside) || aside.Kept != "" || aside.Path != path || !strings.Contains(err.Error(), "memory only") {
		t.Fatalf("error %v", err)
	}
	if _, err := s.Replace(many(2)); err != nil || s.Counts().Total != 2 {
		t.Errorf("the store cannot be used: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "junk" {
		t.Errorf("the file was touched: %q, %v", data, err)
	}
}

// The mirror is the newest acknowledged list or an error, wherever a crash cuts it.
func TestCutMirror(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "todos.json")
	s := NewStore(Options{Path: path})
	if _, err := s.Seed("1", []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) - 1 { // the newline at the end may be missing
		cut := filepath.Join(dir, fmt.Sprintf("cut%d.json", n))
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Open(Options{Path: cut})
		if err == nil || got.Counts().Total != 0 {
			t.Errorf("cut at %d: %v, %v", n, got.List(), err)
		}
	}
}

func TestStateJSON(t *testing.T) {
	s := NewStore(Options{})
	if _, err := s.Seed("1", []string{"a"}); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s.State())
	if err != nil {
		t.Fatal(err)
	}
	var st State
	if err := json.Unmarshal(data, &st); err != nil {
		t.Fatal(err)
	}
	other := NewStore(Options{})
	if err := other.Load(st); err != nil || other.Plan() != "1" {
		t.Errorf("Load: %v, %s", err, other.List().JSON())
	}
	for _, bad := range []State{{}, {Version: 2}, {Version: 1, Items: []Item{{Content: "x"}}}, {Version: 1, Plan: "\x00"}} {
		if err := other.Load(bad); err == nil || other.Plan() != "1" || other.Counts().Total != 1 {
			t.Errorf("Load(%+v): %v, %s", bad, err, other.List().JSON())
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, s := range []string{"", "{}", `{"version":1,"plan":"p","items":[{"id":"a","content":"b","status":"pending"}]}`, `{"version":1,"items":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "todos.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Options{Path: path})
		if err != nil && s.Counts().Total != 0 {
			t.Errorf("%v, and yet %s", err, s.List().JSON())
		}
		if err := NewStore(Options{}).Load(s.State()); err != nil {
			t.Errorf("the loaded state is not valid: %v", err)
		}
	})
}
