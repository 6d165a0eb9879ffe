package sandbox

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// runPlain runs the process with nothing enforced, in a process group of its own. Windows has no
// rung of enforcement; the command's own analysis is the only guard there.
func (j *job) runPlain(ctx context.Context) (Result, error) {
	path, err := j.lookPath()
	if err != nil {
		return Result{}, err
	}
	r := Result{ExitCode: -1}
	prepare := func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Env = j.Dir, j.Env
		cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	}
	state, stopped, err := j.supervise(ctx, path, j.Argv, prepare, func(*exec.Cmd) {}, func(cmd *exec.Cmd) {
		// taskkill walks the tree, which os.Process.Kill does not.
		_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
		_ = cmd.Process.Kill()
	})
	if state != nil {
		r.ExitCode = state.ExitCode()
	}
	if err != nil {
		return r, err
	}
	return r.finish(stopped)
}

// readsOnly reports whether a handle can be given away as it is: nothing is enforced here anyhow.
func readsOnly(*os.File) bool { return true }
