//go:build unix

package sandbox

import (
	"context"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// runPlain runs the process with nothing enforced, as leader of a session of its own.
func (j *job) runPlain(ctx context.Context) (Result, error) {
	path, err := j.lookPath()
	if err != nil {
		return Result{}, err
	}
	r := Result{ExitCode: -1}
	prepare := func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Env = j.Dir, j.Env
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	var leader int
	state, stopped, err := j.supervise(ctx, path, j.Argv, prepare, func(*exec.Cmd) {}, func(cmd *exec.Cmd) {
		leader = cmd.Process.Pid
		killDescendants(leader)
		_ = syscall.Kill(-leader, syscall.SIGKILL)
	})
	if state != nil {
		r.setStatus(state)
		// What is left in the group holds its number, so this reaches it or nobody.
		_ = syscall.Kill(-state.Pid(), syscall.SIGKILL)
	}
	if err != nil {
		return r, err
	}
	return r.finish(stopped)
}

func (r *Result) setStatus(state *os.ProcessState) {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if !ok {
		r.ExitCode = state.ExitCode()
		return
	}
	r.setWaitStatus(ws)
}

func (r *Result) setWaitStatus(ws syscall.WaitStatus) {
	r.ExitCode = -1
	switch {
	case ws.Exited():
		r.ExitCode = ws.ExitStatus()
	case ws.Signaled():
		r.Signal = unix.SignalName(ws.Signal())
	}
}

// readsOnly reports whether a descriptor can be given away without giving a way to write with it.
// A terminal counts as one: nothing can be told from it but its input, because the filters refuse
// every control of it, and copying its input would take what is meant for others.
func readsOnly(f *os.File) bool {
	if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return true
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	flags := -1
	if err := conn.Control(func(fd uintptr) { flags, _ = unix.FcntlInt(fd, unix.F_GETFL, 0) }); err != nil {
		return false
	}
	return flags >= 0 && flags&unix.O_ACCMODE == unix.O_RDONLY
}
