package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// runHelped runs the job under the helper at one level. A *setupError says that the level could not
// be set up and nothing was started.
func (j *job) runHelped(ctx context.Context, level Level, r Report, f faults) (Result, error) {
	if f.NoUserNS && (level == Namespaces || level == Mounts) {
		return Result{}, &setupError{level, "start", fmt.Errorf("clone: %w", unix.EPERM)}
	}
	path, err := j.lookPath()
	if err != nil {
		return Result{}, err
	}
	req := &request{
		Level: level, View: j.View, Path: raw(path), Argv: toRaw(j.Argv), Dir: raw(j.Dir), Root: raw(j.Root),
		Hidden: toRaw(j.hidden), Limits: j.Limits, Copy: !r.Overlay, Faults: f,
	}
	env := j.Env
	if level != None {
		base, err := os.MkdirTemp("", "planmode-run-")
		if err != nil {
			return Result{}, fmt.Errorf("sandbox: private TMPDIR: %w", err)
		}
		defer removeAll(base)
		if base, err = filepath.EvalSymlinks(base); err != nil {
			return Result{}, fmt.Errorf("sandbox: private TMPDIR: %w", err)
		}
		tmp := filepath.Join(base, "tmp")
		if err := os.Mkdir(tmp, 0o700); err != nil {
			return Result{}, fmt.Errorf("sandbox: private TMPDIR: %w", err)
		}
		req.Base = raw(base)
		env = setEnv(env, "TMPDIR="+tmp, "TMP="+tmp, "TEMP="+tmp)
		if home, err := filepath.EvalSymlinks(getEnv(env, "HOME")); err == nil && filepath.IsAbs(home) {
			req.Home = raw(home)
		}
		if level != Mounts {
			req.ABI = r.LandlockABI
		}
	}
	req.Env = toRaw(setEnv(env, "PWD="+j.Dir))
	return j.help(ctx, req)
}

// help starts the helper, hands it the request and reads the reply.
func (j *job) help(ctx context.Context, req *request) (Result, error) {
	r := Result{ExitCode: -1, Level: req.Level}
	ctlR, ctlW, err := os.Pipe()
	if err != nil {
		return r, fmt.Errorf("sandbox: %w", err)
	}
	defer closeAll(ctlR, ctlW)
	repR, repW, err := os.Pipe()
	if err != nil {
		return r, fmt.Errorf("sandbox: %w", err)
	}
	defer closeAll(repR, repW)

	var frame bytes.Buffer
	if err := writeFrame(&frame, req); err != nil {
		return r, fmt.Errorf("sandbox: request: %w", err)
	}
	sent, got := make(chan struct{}), make(chan error, 1)
	var rep reply
	go func() { // larger than a pipe holds, so it is written while the helper reads
		defer close(sent)
		_, _ = ctlW.Write(frame.Bytes())
	}()
	go func() { got <- readFrame(repR, &rep) }()

	attr := helperAttr(req.Level)
	prepare := func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Env = "/", helperEnv
		cmd.ExtraFiles = []*os.File{ctlR, repW}
		cmd.SysProcAttr = attr
	}
	state, stopped, err := j.supervise(ctx, selfExe, []string{helperName}, prepare, func(cmd *exec.Cmd) {
		if attr.Cloneflags != 0 {
			_ = cmd.Process.Kill() // process 1 of its namespace: the kernel ends the others
			return
		}
		closeAll(ctlW) // the helper ends its descendants; after the drain it is killed itself
	})
	closeAll(ctlR, repW, ctlW)
	<-sent
	replyErr := <-got
	switch {
	case stopped != nil:
		r.Signal = "SIGKILL"
		if replyErr == nil && rep.Step == "" {
			r.setWaitStatus(syscall.WaitStatus(rep.Status))
		}
		return r.finish(stopped)
	case err != nil && state == nil: // not started: namespaces refused, or no processes left
		return r, &setupError{req.Level, "start", err}
	case err != nil:
		return r, err
	case replyErr != nil:
		return r, &setupError{req.Level, "helper", fmt.Errorf("it ended early: %s", state)}
	case rep.Exec:
		return r, fmt.Errorf("sandbox: start %q: %s", j.Argv[0], rep.Err)
	case rep.Step != "":
		return r, &setupError{req.Level, rep.Step, fmt.Errorf("%s", rep.Err)}
	}
	r.setWaitStatus(syscall.WaitStatus(rep.Status))
	r.Changed = fromRaw(rep.Changed)
	if len(r.Changed) == 0 {
		r.Changed = nil
	}
	if rep.Limit != "" {
		return r, fmt.Errorf("sandbox: stopped: %s", rep.Limit)
	}
	if rep.Err != "" {
		return r, fmt.Errorf("sandbox: %s", rep.Err)
	}
	return r, nil
}

// A setupError says why a level could not be set up.
type setupError struct {
	level Level
	step  string
	err   error
}

func (e *setupError) Error() string {
	return fmt.Sprintf("sandbox: %s: %s: %v", e.level, e.step, e.err)
}
func (e *setupError) Unwrap() error { return e.err }

const selfExe = "/proc/self/exe"

// helperEnv keeps the helper small and quiet: it lives shortly, so collecting would be a waste.
var helperEnv = []string{"GOGC=off", "GOTRACEBACK=none"}

// helperAttr are the attributes of the helper's process: for the levels with namespaces, all rights
// inside them and the same user and group numbers as outside.
func helperAttr(level Level) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if level != Namespaces && level != Mounts {
		return attr
	}
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
		unix.CLONE_NEWNET | unix.CLONE_NEWUTS
	attr.UidMappings = idMappings("/proc/self/uid_map", os.Geteuid())
	attr.GidMappings = idMappings("/proc/self/gid_map", os.Getegid())
	attr.GidMappingsEnableSetgroups = os.Geteuid() == 0
	if os.Geteuid() != 0 {
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN}
	}
	return attr
}

// idMappings maps every number to itself: for root all that there are, so that files keep their
// owners, for others their own, which is all they may.
func idMappings(file string, own int) []syscall.SysProcIDMap {
	single := []syscall.SysProcIDMap{{ContainerID: own, HostID: own, Size: 1}}
	if os.Geteuid() != 0 {
		return single
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return single
	}
	var all []syscall.SysProcIDMap
	for line := range strings.Lines(string(text)) {
		var inside, outside, size int
		if n, _ := fmt.Sscan(line, &inside, &outside, &size); n == 3 {
			all = append(all, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
		}
	}
	if len(all) == 0 {
		return single
	}
	return all
}

// removeAll removes a private directory, also where the process took its own permissions away.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
