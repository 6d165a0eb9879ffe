package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
