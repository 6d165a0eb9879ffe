package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper starts a command that would run for a minute and leaves its process id.
const sleeper = `=== turn
call: bash {"command": "sh -c 'echo $$ >pid; exec sleep 60'"}

=== turn
text: Slept.
`

// eventually waits for what a process does in its own time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s did not come about", what)
}

// A signal, and a reader that goes away, end the turn with what it runs; the session goes on later.
func TestStopped(t *testing.T) {
	for _, c := range []struct {
		name string
		stop func(p *os.Process) error
		code int
		says string
	}{
		{"SIGINT", func(p *os.Process) error { return p.Signal(os.Interrupt) }, exitInterrupted, "interrupted; the session is kept"},
		{"SIGTERM", func(p *os.Process) error { return p.Signal(syscall.SIGTERM) }, exitInterrupted, "interrupted; the session is kept"},
		{"SIGHUP", func(p *os.Process) error { return p.Signal(syscall.SIGHUP) }, exitInterrupted, "interrupted; the session is kept"},
		{"SIGKILL", func(p *os.Process) error { return p.Kill() }, -1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := bareRig(t, "")
			r.write("sleep.txt", sleeper)
			cmd := r.command(t.Context(), "run", "-p", "sleep", "--model", "scripted/sleep.txt", "--autonomy", "loose")
			var diag bytes.Buffer
			cmd.Stderr = &diag
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := r.pidOf("pid")
			if err := c.stop(cmd.Process); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the exit code says it
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(diag.String(), c.says) {
				t.Errorf("exit code %d: %s", code, diag.String())
			}
			eventually(t, "the end of the sleeping child", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
			if o := r.outcome("run", "--session", r.newestID()); o.ExitCode != exitDone || o.Text != "Slept." {
				t.Errorf("resumed: %+v", o)
			}
		})
	}
}

// pidOf waits until the file holds a process id.
func (r *rig) pidOf(file string) (pid int) {
	r.t.Helper()
	eventually(r.t, file, func() bool {
		data, err := os.ReadFile(filepath.Join(r.workspace, file))
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	})
	return pid
}

// A reader that is gone, as in "planmode run --output stream-json | head -1", ends the turn and what it runs.
func TestReaderGone(t *testing.T) {
	r := bareRig(t, "")
	r.write("sleep.txt", strings.Replace(sleeper, "exec sleep 60", "seq 1000; exec sleep 60", 1)) // it prints: something is written
	cmd := r.command(t.Context(), "run", "-p", "sleep", "--model", "scripted/sleep.txt", "--autonomy", "loose", "--output", "stream-json")
	var diag bytes.Buffer
	cmd.Stderr = &diag
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReaderSize(out, 16).ReadSlice('\n'); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		t.Fatal(err)
	}
	out.Close()
	_ = cmd.Wait() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != exitError || !strings.Contains(diag.String(), "broken pipe") || !strings.Contains(diag.String(), "The session is kept") {
		t.Errorf("exit code %d: %s", code, diag.String())
	}
	if data, err := os.ReadFile(filepath.Join(r.workspace, "pid")); err == nil {
		pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
		eventually(t, "the end of the sleeping child", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
	if o := r.outcome("run", "--session", r.newestID()); o.ExitCode != exitDone {
		t.Errorf("resumed: %+v", o)
	}
}

// Waiting for input, the program can be interrupted.
func TestInterruptedWaiting(t *testing.T) {
	for _, args := range [][]string{{"run", "--model", "scripted/x"}, {"explain", "--json", "--stdin"}} {
		r := bareRig(t, "")
		cmd := r.command(t.Context(), args...)
		in, err := cmd.StdinPipe() // stays open
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { defer close(done); _ = cmd.Wait() }() // the exit code says it
		eventually(t, "the end of "+args[0], func() bool {
			_ = cmd.Process.Signal(os.Interrupt) // early ones may come before anybody listens, and end it too
			select {
			case <-done:
				return true
			case <-time.After(300 * time.Millisecond):
				return false
			}
		})
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted && code != -1 {
			t.Errorf("planmode %s: exit code %d", args[0], code)
		}
	}
}

// openTerminal returns both ends of a new pseudo-terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("the pseudo-terminal cannot be opened: %v", err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// On a terminal the demo asks; no, Ctrl-C and nothing at all are no approval, and nothing is left behind.
func TestDemoAsks(t *testing.T) {
	for _, c := range []struct {
		typed string
		code  int
		says  string
	}{
		{"n\n", exitDone, "Not approved: nothing was changed."},
		{"\n", exitDone, "Not approved"},
		{"\x03", exitInterrupted, "interrupted"},
		{"\x04", exitDone, "Not approved"},
	} {
		t.Run(strconv.Quote(c.typed), func(t *testing.T) {
			r := bareRig(t, "")
			tmp := t.TempDir()
			r.env = append(r.env, "TMPDIR="+tmp)
			master, slave := openTerminal(t)
			cmd := r.command(t.Context(), "demo")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			slave.Close()
			var screen strings.Builder
			buf := make([]byte, 4096)
			for typed := false; ; {
				n, err := master.Read(buf)
				screen.Write(buf[:n])
				if !typed && strings.Contains(screen.String(), "[y/N]") {
					typed = true
					if _, err := master.WriteString(c.typed); err != nil {
						t.Fatal(err)
					}
				}
				if err != nil {
					break // nobody holds the other end any more
				}
			}
			_ = cmd.Wait() // the exit code says it
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(screen.String(), c.says) || strings.Contains(screen.String(), "Approved:") {
				t.Errorf("exit code %d, screen:\n%s", code, screen.String())
			}
			if left, _ := filepath.Glob(filepath.Join(tmp, "planmode-demo-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// inPrivateMounts runs a shell script with a file system of 96 KiB on $1, in a mount namespace of its own.
func (r *rig) inPrivateMounts(ctx context.Context, script string, args ...string) *exec.Cmd {
	r.t.Helper()
	if os.Getuid() != 0 {
		r.t.Skip("only root can mount a small disk")
	}
	if out, err := exec.CommandContext(ctx, "unshare", "-m", "true").CombinedOutput(); err != nil {
		r.t.Skipf("no private mounts here: %v: %s", err, out)
	}
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"-m", "sh", "-c", script, "sh"}, args...)...)
	cmd.Dir, cmd.Env = r.workspace, r.env
	return cmd
}

// On a disk that is full what was acknowledged is kept, the error says what is wrong, and once there is
// space the session goes on.
func TestFullDisk(t *testing.T) {
	r := bareRig(t, "")
	state := filepath.Join(filepath.Dir(r.workspace), "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	r.write("big.txt", "=== turn\ntext: First.\n\n=== turn\nhuge: 200kB\n\n=== turn\nhuge: 200kB\n")
	const script = `set -u
mount -t tmpfs -o size=96k tmpfs "$1" || exit 99
"$2" run -p one --model scripted/big.txt || exit 98
"$2" run --continue -p two >/dev/null; echo "full: $?"
"$2" sessions list --json
"$2" sessions rm nothing 2>/dev/null
mount -o remount,size=4m "$1" || exit 97
"$2" run --continue >/dev/null; echo "space: $?"
"$2" sessions export 2 | grep -c '"type":"answered"'
`
	out, err := r.inPrivateMounts(t.Context(), script, state, os.Args[0]).CombinedOutput()
	text := string(out)
	if err != nil || !strings.Contains(text, "no space left on device") || !strings.Contains(text, "full: 1\n") ||
		!strings.Contains(text, "planmode run --session") || !strings.Contains(text, "space: 0\n2\n") {
		t.Errorf("%v\n%s", err, text)
	}
	t.Log(text)
}

// A state folder that cannot be written: nothing is done, and the error names it.
func TestReadOnlyState(t *testing.T) {
	r := bareRig(t, "")
	r.write("hi.txt", "=== turn\ntext: Hi.\n")
	state := filepath.Join(filepath.Dir(r.workspace), "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	const script = `"$2" run -p one --model scripted/hi.txt || exit 99
mount -t tmpfs -o ro tmpfs "$1" || exit 98
"$2" run -p two --model scripted/hi.txt; echo "read-only: $?"
`
	out, err := r.inPrivateMounts(t.Context(), script, state, os.Args[0]).CombinedOutput()
	if text := string(out); err != nil || !strings.Contains(text, "read-only file system") || !strings.Contains(text, "nothing was changed") || !strings.HasSuffix(text, "read-only: 1\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

// Two programs on one session: the second is told, and changes nothing.
func TestTwoWriters(t *testing.T) {
	r := bareRig(t, "")
	r.write("sleep.txt", sleeper)
	ctx, cancel := context.WithCancel(t.Context())
	first := r.command(ctx, "run", "-p", "sleep", "--model", "scripted/sleep.txt", "--autonomy", "loose")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = first.Wait() }()
	r.pidOf("pid")
	id := r.newestID()
	before, _ := r.planmode("sessions", "export", id)
	for _, args := range [][]string{{"run", "--session", id, "-p", "x"}, {"sessions", "rm", id}, {"approve", id}} {
		cmd := r.command(t.Context(), args...)
		out, _ := cmd.CombinedOutput() // the exit code says it
		if code := cmd.ProcessState.ExitCode(); code != exitError || !strings.Contains(string(out), "is open in another planmode: close it there, or wait") {
			t.Errorf("planmode %s: exit code %d: %s", strings.Join(args, " "), code, out)
		}
	}
	if after, _ := r.planmode("sessions", "export", id); after != before {
		t.Errorf("the journal changed from\n%s\nto\n%s", before, after)
	}
}
