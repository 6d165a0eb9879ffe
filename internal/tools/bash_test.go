//go:build unix

package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

type bashDetails struct {
	ExitCode  int `json:"exit_code"`
	Signal    string
	TimedOut  bool `json:"timed_out"`
	Cancelled bool
	Bytes     int64
	Kept      string
	Sandbox   string
	Scratch   bool
	Changed   []string
}

func (w *world) details(res tool.Result) bashDetails {
	w.Helper()
	var d bashDetails
	w.must(json.Unmarshal(res.Details, &d))
	return d
}

func TestBash(t *testing.T) {
	tests := []struct {
		command, want string
		fails         bool
	}{
		{"echo hi", "hi\n", false},
		{"printf hi", "hi", false},
		{"true", "[exit code 0, no output]", false},
		{"false", "[exit code 1]", true},
		{"echo a; echo b >&2; exit 3", "a\nb\n[exit code 3]", true},
		{"kill -9 $$", "[ended by SIGKILL after ", true},
		{"printf 'a\\tb\\r\\nc\\n'", "a\tb\nc\n", false},
		{`printf '\033[1;31mred\033[0m \033]0;title\007x\n'`, "red x\n", false},
		{`printf '10%%\r50%%\r100%%\ndone\n'`, "100%\ndone\n", false},
		{`printf 'a\377b\000c\n'`, "a\ufffdb\ufffdc\n", false},
		{"pwd", "", false},
		{"cat", "[exit code 0, no output]", false}, // no input
		{"echo héllo | tr a-z A-Z", "", false},
		{"( exit 7 )", "[exit code 7]", true},
		{"if", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			w := newWorld(t, setup{mode: plan.Off})
			res := w.run("bash", m{"command": tt.command})
			if res.IsError != tt.fails || !strings.HasPrefix(res.Text, tt.want) {
				t.Errorf("got %q, want %q", res.Text, tt.want)
			}
		})
	}
}

func TestBashFolder(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Off, hidden: []string{"secret"}})
	w.file("sub/x", "")
	w.equal(w.ok("bash", m{"command": "pwd"}), w.ws+"\n")
	w.equal(w.ok("bash", m{"command": "pwd; ls", "dir": "sub"}), w.ws+"/sub\nx\n")
	w.fails("bash", m{"command": "pwd", "dir": "none"}, "none")
	w.fails("bash", m{"command": "pwd", "dir": "sub/x"}, "sub/x")
	w.refused("bash", m{"command": "pwd", "dir": ".."}, tool.PolicyDenied)
	w.refused("bash", m{"command": "pwd", "dir": "secret"}, tool.PolicyDenied)
	w.refused("bash", m{"command": " \n"}, tool.InvalidInput)
	w.fails("bash", m{"command": "true", "timeout_seconds": 601}, "above the limit of 600; nothing was run")
	w.fails("bash", m{"command": "true", "timeout_seconds": -1}, "below 1")
}

// TestBashBounds runs a command that writes 50 MB: a little is shown, all is kept.
func TestBashBounds(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Off})
	res := w.run("bash", m{"command": "echo first; yes 0123456789abcdef | head -c 50000000; echo; echo last"})
	d := w.details(res)
	if res.IsError || len(res.Text) > 40<<10 || !strings.HasPrefix(res.Text, "first\n0123") || !strings.HasSuffix(res.Text, "\nlast\n") {
		t.Errorf("%d bytes shown: %.200s … %.200s", len(res.Text), res.Text, res.Text[max(0, len(res.Text)-200):])
	}
	w.holds(res.Text, "not shown; all of it is in "+d.Kept+", for read and grep …]")
	info, err := os.Stat(d.Kept)
	w.must(err)
	if info.Size() != 50_000_012 || d.Bytes != info.Size() || filepath.Dir(d.Kept) != w.keep {
		t.Errorf("%d bytes kept of %d in %s", info.Size(), d.Bytes, d.Kept)
	}
	w.holds(w.ok("read", m{"path": d.Kept, "offset": 2_900_000, "limit": 2}), "2900000\t0123456789abcdef")
	w.holds(w.ok("grep", m{"path": d.Kept, "pattern": "^(first|last)$"}), "1:first")
	if w.progress.Len() > 4<<20 || w.progress.Len() == 0 {
		t.Errorf("%d bytes of progress", w.progress.Len())
	}
}

func TestBashNothingToKeepIn(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Off, config: func(c *tool.Config) { c.Roots.Keep = "" }})
	res := w.run("bash", m{"command": "yes | head -c 100000"})
	w.holds(res.Text, "it could not be kept")
}

func TestBashProgress(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Off})
	w.ok("bash", m{"command": "echo one; sleep 0.3; printf 'h\\303'; sleep 0.3; printf '\\251\\n'"})
	w.equal(w.progress.String(), "one\nhé\n")
}

func TestBashTimeout(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Off, options: tools.Options{Timeout: 3 * time.Second}})
	pidFile := filepath.Join(w.ws, "pid")
	res := w.run("bash", m{"command": doubleFork(pidFile) + "; echo begun; sleep 600"})
	if d := w.details(res); !d.TimedOut || !res.IsError {
		t.Errorf("%+v", d)
	}
	w.holds(res.Text, "begun\n[timed out after 3s; it and everything it had started was ended]")
	w.gone(pidFile)
}

// doubleFork is a command that leaves a process in a session of its own, whose parent has gone.
func doubleFork(pidFile string) string {
	return fmt.Sprintf(`setsid bash -c '(sleep 600 & echo $! > %[1]s.new; mv %[1]s.new %[1]s) & ' >/dev/null 2>&1; while [ ! -e %[1]s ]; do sleep 0.01; done`, pidFile)
}

// gone waits until the process has ended.
func (w *world) gone(pidFile string) {
	w.Helper()
	data, err := os.ReadFile(pidFile)
	w.must(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	w.must(err)
	for range 500 {
		if syscall.Kill(pid, 0) != nil || zombie(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	w.Errorf("process %d outlived the call", pid)
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestBashCancelled(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Off})
	pidFile := filepath.Join(w.ws, "pid")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			if _, err := os.Stat(pidFile); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	res, refusal := w.try(ctx, "bash", m{"command": "echo begun; " + doubleFork(pidFile) + "; sleep 600"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	if d := w.details(res); !d.Cancelled || !res.IsError {
		t.Errorf("%+v", d)
	}
	w.holds(res.Text, "begun\n[cancelled after ", "everything it had started was ended]")
	w.gone(pidFile)
}

func TestBashLeavesNothingRunning(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Off})
	pidFile := filepath.Join(w.ws, "pid")
	w.ok("bash", m{"command": doubleFork(pidFile)})
	w.gone(pidFile)
}

// TestBashPlanning: what is proven to be read-only runs, the rest does not, and where the user allows
// evidence it runs in a throw-away view that says so.
func TestBashPlanning(t *testing.T) {
	w := newWorld(t, setup{})
	w.file("f.txt", "b\na\n")
	w.equal(w.ok("bash", m{"command": "sort f.txt | head -1"}), "a\n")
	w.refused("bash", m{"command": "sort -o f.txt f.txt"}, tool.PlanModeBlocked, "-o")
	w.refused("bash", m{"command": "echo x > f.txt"}, tool.PlanModeBlocked)
	w.refused("bash", m{"command": "./unknown"}, tool.PlanModeBlocked)
	w.equal(w.content("f.txt"), "b\na\n")
}

func TestBashEvidence(t *testing.T) {
	w := newWorld(t, setup{config: func(c *tool.Config) { c.Evidence = tool.EvidenceOn }})
	w.file("f.txt", "old\n")
	w.file("test.sh", "echo new > f.txt; echo x > made.txt; echo ran\n")
	res, refusal := w.try(context.Background(), "bash", m{"command": "bash test.sh"})
	if refusal != nil {
		t.Fatalf("refused: %v", refusal)
	}
	w.equal(w.content("f.txt"), "old\n")
	if strings.Contains(res.Text, "cannot be enforced") {
		t.Skip("no throw-away view on this machine: " + res.Text)
	}
	d := w.details(res)
	w.holds(res.Text, "ran\n[it ran in a throw-away copy of the workspace; its changes were discarded. It would have changed\n  f.txt\n  made.txt]")
	if !d.Scratch || fmt.Sprint(d.Changed) != "[f.txt made.txt]" || d.Sandbox == "none" || res.IsError {
		t.Errorf("%+v", d)
	}
}
