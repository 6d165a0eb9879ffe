package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// daemon double-forks into a session of its own, keeps the streams open and prints its number as
// the machine sees it, which inside a pid namespace only the parent can tell.
const daemon = `(setsid bash -c 'echo up; exec sleep 4321' &) ; (setsid setsid sleep 4321 &) ; sleep 0.1`

// everywhere are all views at all levels of this machine, by either helper.
func everywhere(t *testing.T, run func(t *testing.T, e *engine, view View)) {
	t.Helper()
	none := &engine{faults: faults{NoUserNS: true, NoLandlock: true}}
	levels := map[string]*engine{"none": none, "none re-executed": reExecuted(none)}
	for level, e := range backends(t) {
		levels[level.String()] = e
		levels[level.String()+" re-executed"] = reExecuted(e)
	}
	for name, e := range levels {
		for _, view := range []View{ReadOnly, Scratch, Workspace, Full} {
			t.Run(name+"/"+view.String(), func(t *testing.T) { run(t, e, view) })
		}
	}
}

// sleepers are the daemons of this test that live: they have a variable of their own.
func sleepers(t *testing.T, tag string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	must(t, err)
	var alive []string
	for _, e := range entries {
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		stat, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err == nil && bytes.Contains(env, []byte("TAG="+tag+"\x00")) && !bytes.Contains(stat, []byte(") Z ")) {
			alive = append(alive, e.Name())
		}
	}
	return alive
}

func gone(t *testing.T, tag string) {
	t.Helper()
	for range 300 {
		if len(sleepers(t, tag)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("still alive: %q", sleepers(t, tag))
}

func tagged(t *testing.T) (tag string, env []string) {
	tag = strings.ReplaceAll(t.Name(), "/", "-") + fmt.Sprint(os.Getpid())
	return tag, []string{"PATH=" + os.Getenv("PATH"), "TAG=" + tag}
}

func TestCancelKillsDaemons(t *testing.T) {
	everywhere(t, func(t *testing.T, e *engine, view View) {
		tag, env := tagged(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		out := &tail{}
		done := make(chan error, 1)
		go func() {
			_, err := e.run(ctx, Spec{
				Argv: []string{"bash", "-c", daemon + "; echo ready; sleep 4321"}, Dir: t.TempDir(), Env: env, View: view, Stdout: out,
			})
			done <- err
		}()
		for out.line(t) != "ready" {
		}
		for range 1000 {
			if len(sleepers(t, tag)) >= 3 { // the daemons and the program
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := len(sleepers(t, tag)); n < 3 {
			t.Errorf("only %d processes are there to be killed", n)
		}
		cancel(why)
		if err := <-done; !errors.Is(err, why) {
			t.Errorf("error %v, want the cause", err)
		}
		gone(t, tag)
	})
}

func TestEndKillsDaemons(t *testing.T) {
	everywhere(t, func(t *testing.T, e *engine, view View) {
		tag, env := tagged(t)
		var out bytes.Buffer
		r, err := e.run(t.Context(), Spec{
			Argv: []string{"bash", "-c", daemon + "; exit 3"}, Dir: t.TempDir(), Env: env, View: view, Stdout: &out, Stderr: &out,
		})
		if err != nil || r.ExitCode != 3 || !strings.Contains(out.String(), "up") {
			t.Errorf("%+v, %v, %q", r, err, &out)
		}
		gone(t, tag)
	})
}

func TestTimeoutEverywhere(t *testing.T) {
	everywhere(t, func(t *testing.T, e *engine, view View) {
		t.Parallel() // they mostly wait
		tag, env := tagged(t)
		var out bytes.Buffer
		r, err := e.run(t.Context(), Spec{
			Argv: []string{"bash", "-c", "trap '' TERM INT HUP; echo said; " + daemon + "; while :; do sleep 1; done"},
			Dir:  t.TempDir(), Env: env, View: view, Stdout: &out, Limits: Limits{Timeout: 2 * time.Second},
		})
		if err != nil || !r.TimedOut || !strings.HasPrefix(out.String(), "said\n") {
			t.Errorf("%+v, %v, %q", r, err, &out)
		}
		gone(t, tag)
	})
}

// TestNoEnder has nothing to end orphans with: that the program has ended is not the whole truth then.
func TestNoEnder(t *testing.T) {
	self := openSelf
	defer func() { openSelf = self }()
	openSelf = func() (*os.File, error) { return os.Open(os.DevNull) }
	e := &engine{faults: faults{NoUserNS: true, NoLandlock: true}}
	tag, env := tagged(t)
	for script, want := range map[string]string{
		"true":          "",
		"exit 3":        "",
		"sleep 4321 & ": "left behind may still run",
	} {
		_, err := e.run(t.Context(), Spec{Argv: []string{"bash", "-c", script}, Dir: t.TempDir(), Env: env, View: Full})
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%q: %v", script, err)
		}
	}
	for _, pid := range sleepers(t, tag) {
		n, err := strconv.Atoi(pid)
		must(t, err)
		must(t, unix.Kill(n, unix.SIGKILL))
	}
	gone(t, tag)
}

// TestInheritedPipe has the program hand its output to a process that outlives it.
func TestInheritedPipe(t *testing.T) {
	everywhere(t, func(t *testing.T, e *engine, view View) {
		_, env := tagged(t)
		var out bytes.Buffer
		ended := make(chan error, 1)
		go func() {
			_, err := e.run(t.Context(), Spec{Argv: []string{"bash", "-c", "sleep 4321 & echo out"}, Dir: t.TempDir(), Env: env, View: view, Stdout: &out})
			ended <- err
		}()
		select {
		case err := <-ended:
			if err != nil || out.String() != "out\n" {
				t.Errorf("%v, %q", err, &out)
			}
		case <-time.After(time.Minute):
			t.Fatal("Run hangs on an inherited pipe")
		}
	})
}

func TestEndings(t *testing.T) {
	everywhere(t, func(t *testing.T, e *engine, view View) {
		for script, want := range map[string]Result{
			"exit 41":       {ExitCode: 41},
			"kill -KILL $$": {ExitCode: -1, Signal: "SIGKILL"},
			"kill -TERM $$": {ExitCode: -1, Signal: "SIGTERM"},
			"kill -SEGV $$": {ExitCode: -1, Signal: "SIGSEGV"},
			"kill -PIPE $$": {ExitCode: -1, Signal: "SIGPIPE"},
			"(exit 5) & wait $!; (kill -9 $BASHPID) ; exit 6": {ExitCode: 6},
			"yes | head -1 >/dev/null; exit ${PIPESTATUS[0]}": {ExitCode: 128 + int(unix.SIGPIPE)},
		} {
			r, err := e.run(t.Context(), Spec{Argv: []string{"bash", "-c", script}, Dir: t.TempDir(), View: view})
			if err != nil || r.ExitCode != want.ExitCode || r.Signal != want.Signal {
				t.Errorf("%q: %+v, %v", script, r, err)
			}
		}
	})
}

// TestProgramErrors tells a program that cannot be executed from one that fails.
func TestProgramErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, e *engine, view View) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "broken"), []byte("\x7fELF"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "text"), []byte("text"), 0o644))
		for _, program := range []string{"./broken", "./text", "./none", "no-such-program", "/"} {
			if r, err := e.run(t.Context(), Spec{Argv: []string{program}, Dir: dir, View: view}); err == nil || !strings.HasPrefix(err.Error(), "sandbox: ") {
				t.Errorf("%s: %+v, %v", program, r, err)
			}
		}
	})
}

func TestForkBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for level, e := range backends(t) {
		tag, env := tagged(t)
		_, err := e.run(t.Context(), Spec{
			Argv: []string{"bash", "-c", `bomb() { bomb & bomb; }; bomb`}, Dir: t.TempDir(), Env: env,
			Limits: Limits{Processes: 40, Timeout: 2 * time.Second},
		})
		if err != nil && !strings.Contains(err.Error(), "processes, more than the limit") {
			t.Errorf("%s: %v", level, err)
		}
		gone(t, tag)
	}
}

func TestFills(t *testing.T) {
	for level, e := range backends(t) {
		for _, tt := range []struct {
			name, script string
			view         View
			limits       Limits
		}{
			{"one file", `head -c 8M /dev/zero > $TMPDIR/f && exit 42`, ReadOnly, Limits{FileSize: 1 << 20}},
			{"many files", `for i in $(seq 30); do head -c 1M /dev/zero > $TMPDIR/f$i || exit 1; sleep 0.02; done; exit 42`, ReadOnly, Limits{Scratch: 8 << 20}},
			{"a throw-away workspace", `for i in $(seq 30); do head -c 1M /dev/zero > f$i || exit 1; sleep 0.02; done; exit 42`, Scratch, Limits{Scratch: 8 << 20}},
			{"memory", `x=$(head -c 60M /dev/zero | tr '\0' x); [ ${#x} -gt 50000000 ] && exit 42`, ReadOnly, Limits{Memory: 50 << 20}},
		} {
			tt.limits.Timeout = time.Minute
			r, err := e.run(t.Context(), Spec{Argv: []string{"bash", "-c", tt.script}, Dir: t.TempDir(), View: tt.view, Limits: tt.limits})
			switch {
			case err != nil && strings.Contains(err.Error(), "sandbox: stopped: more than"):
			case err != nil || r.ExitCode == 42 || r.TimedOut:
				t.Errorf("%s: %s: %+v, %v", level, tt.name, r, err)
			}
		}
	}
}
