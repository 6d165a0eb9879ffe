//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunFull(t *testing.T) {
	t.Setenv("EXAMPLE_API_KEY", "s3cret")
	for _, tt := range []struct {
		name, script string
		want         Result
		out, errOut  string
	}{
		{"output", "echo out; echo err >&2", Result{}, "out\n", "err\n"},
		{"exit code", "exit 7", Result{ExitCode: 7}, "", ""},
		{"signal", "kill -TERM $$; sleep 5", Result{ExitCode: -1, Signal: "SIGTERM"}, "", ""},
		{"secrets are gone", "echo [$EXAMPLE_API_KEY]", Result{}, "[]\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			r, err := Run(t.Context(), Spec{Argv: []string{"bash", "-c", tt.script}, Dir: t.TempDir(), View: Full, Stdout: &out, Stderr: &errOut})
			if err != nil {
				t.Fatal(err)
			}
			if r.ExitCode != tt.want.ExitCode || r.Signal != tt.want.Signal || r.TimedOut || r.Level != None {
				t.Errorf("result %+v, want %+v", r, tt.want)
			}
			if out.String() != tt.out || errOut.String() != tt.errOut {
				t.Errorf("stdout %q, stderr %q; want %q, %q", &out, &errOut, tt.out, tt.errOut)
			}
		})
	}
}

func TestRunStdinAndOneWriter(t *testing.T) {
	var both bytes.Buffer
	_, err := Run(t.Context(), Spec{
		Argv: []string{"bash", "-c", "cat; cat >&2 <<<end"}, Dir: t.TempDir(), View: Full,
		Stdin: strings.NewReader("begin\n"), Stdout: &both, Stderr: &both,
	})
	if err != nil || both.String() != "begin\nend\n" {
		t.Errorf("got %q, %v", &both, err)
	}
}

func TestRunRefusesBadSpecs(t *testing.T) {
	dir := t.TempDir()
	for name, spec := range map[string]Spec{
		"no argv":         {Dir: dir},
		"relative dir":    {Argv: []string{"true"}, Dir: "."},
		"no such dir":     {Argv: []string{"true"}, Dir: dir + "/none"},
		"unknown view":    {Argv: []string{"true"}, Dir: dir, View: 9},
		"no such program": {Argv: []string{"no-such-program-here"}, Dir: dir, View: Full},
		"hidden dir":      {Argv: []string{"true"}, Dir: dir, Hidden: []string{dir}},
	} {
		if r, err := Run(t.Context(), spec); err == nil || !strings.HasPrefix(err.Error(), "sandbox: ") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestRunTimeout(t *testing.T) {
	r, err := Run(t.Context(), Spec{
		Argv: []string{"bash", "-c", "sleep 600 & sleep 600"}, Dir: t.TempDir(), View: Full,
		Limits: Limits{Timeout: 100 * time.Millisecond},
	})
	if err != nil || !r.TimedOut || r.Signal != "SIGKILL" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestRunCancelKillsTheTree(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user pressed escape")
	out := &tail{}
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Spec{
			Argv: []string{"bash", "-c", "sleep 600 & echo $!; wait"}, Dir: t.TempDir(), View: Full, Stdout: out,
		})
		done <- err
	}()
	pid := out.line(t)
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("error %v, want the cause", err)
	}
	waitGone(t, pid)
}

// waitGone fails the test when the process lives on.
func waitGone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		// A zombie waits for whoever took it over, and is as good as gone.
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		if errors.Is(syscall.Kill(n, 0), syscall.ESRCH) || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s survived", pid)
}
