package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/planmode-dev/planmode/sandbox/internal/stage"
)

// A setupError says why a level could not be set up. Nothing was started.
type setupError struct {
	level Level
	step  string
	err   error
}

func (e *setupError) Error() string {
	return fmt.Sprintf("sandbox: %s: %s: %v", e.level, e.step, e.err)
}
func (e *setupError) Unwrap() error { return e.err }

// runHelped runs the job under the helper at one level. A *setupError says that this level does
// not work and another one may.
func (j *job) runHelped(ctx context.Context, level Level, have Report, f faults) (Result, error) {
	path, err := j.lookPath()
	if err != nil {
		return Result{}, err
	}
	v := &view{job: j, level: level, abi: have.LandlockABI, dir: j.Dir, env: setEnv(j.Env, "PWD="+j.Dir), faults: f}
	if level == None {
		v.abi = 0
		return v.run(ctx, path)
	}
	if level == Mounts {
		v.abi = 0
	}
	base, err := os.MkdirTemp("", "planmode-run-")
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: private TMPDIR: %w", err)
	}
	defer removeAll(base)
	if v.base, err = filepath.EvalSymlinks(base); err != nil {
		return Result{}, fmt.Errorf("sandbox: private TMPDIR: %w", err)
	}
	tmp := filepath.Join(v.base, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return Result{}, fmt.Errorf("sandbox: private TMPDIR: %w", err)
	}
	v.env = setEnv(v.env, "TMPDIR="+tmp, "TMP="+tmp, "TEMP="+tmp)
	v.covered = v.mounted() && j.View != ReadOnly && within(j.Root, v.base)
	if j.View != Scratch {
		return v.run(ctx, path)
	}
	return v.runScratch(ctx, path, have.Overlay)
}

// runScratch finds out what the program changed, besides running it.
func (v *view) runScratch(ctx context.Context, path string, overlay bool) (Result, error) {
	original, err := os.OpenRoot(v.job.Root)
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: workspace: %w", err)
	}
	defer func() { _ = original.Close() }() // a handle for reading
	if v.mounted() && overlay {
		v.home = v.homeToCover()
		r, err := v.runOverlay(ctx, path, original)
		if s := (*setupError)(nil); errors.As(err, &s) && s.step == homeStep {
			v.home = ""
			v.redirectCaches()
			r, err = v.runOverlay(ctx, path, original)
		}
		return r, err
	}
	v.copy = filepath.Join(v.base, "copy")
	skip := append(slices.Clone(v.job.hidden), v.base)
	if err := copyTree(v.job.Root, v.copy, skip, v.job.Limits.Scratch); err != nil {
		return Result{}, fmt.Errorf("sandbox: copy of the workspace: %w", err)
	}
	v.redirectCaches()
	if !v.mounted() { // the copy has a path of its own, and the program starts there
		if rel, err := filepath.Rel(v.job.Root, v.dir); err == nil && within(v.job.Root, v.dir) {
			v.dir = filepath.Join(v.copy, rel)
			v.env = setEnv(v.env, "PWD="+v.dir)
		}
	}
	copied, err := os.OpenRoot(v.copy)
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: copy of the workspace: %w", err)
	}
	defer func() { _ = copied.Close() }() // a handle for reading
	r, err := v.run(ctx, path)
	if err != nil {
		return r, err
	}
	never := func(p string) bool { return slices.Contains(skip, filepath.Join(v.job.Root, p)) }
	changed, err := changedInCopy(original, copied)
	gone, err2 := deleted(original, copied, never)
	if err := errors.Join(err, err2); err != nil {
		return r, fmt.Errorf("sandbox: %w", err)
	}
	r.Changed = sortedSet(append(changed, gone...))
	return r, nil
}

func (v *view) runOverlay(ctx context.Context, path string, original *os.Root) (Result, error) {
	link := &link{}
	defer link.close()
	r, err := v.runLinked(ctx, path, link)
	if err != nil || link.upper == nil {
		return r, err
	}
	upper, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", link.upper.Fd()))
	if err != nil {
		return r, fmt.Errorf("sandbox: list changes: %w", err)
	}
	defer func() { _ = upper.Close() }() // a handle for reading
	changed, err := changedInUpper(original, upper)
	if err != nil {
		return r, fmt.Errorf("sandbox: %w", err)
	}
	r.Changed = sortedSet(changed)
	return r, nil
}

func sortedSet(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// homeToCover is the home directory, when a copy-on-write view can be laid over it.
func (v *view) homeToCover() string {
	home, err := filepath.EvalSymlinks(getEnv(v.env, "HOME"))
	if err != nil || !filepath.IsAbs(home) || home == "/" || within(v.job.Root, home) || within(home, v.base) {
		return ""
	}
	return home
}

// redirectCaches sends the caches of common tools to the TMPDIR, where the home directory cannot
// be written.
func (v *view) redirectCaches() {
	cache := filepath.Join(v.base, "tmp", "cache")
	v.env = setEnv(v.env, "XDG_CACHE_HOME="+cache, "GOCACHE="+filepath.Join(cache, "go-build"),
		"npm_config_cache="+filepath.Join(cache, "npm"), "PIP_CACHE_DIR="+filepath.Join(cache, "pip"),
		"PYTHONPYCACHEPREFIX="+filepath.Join(cache, "pycache"))
}

func (v *view) run(ctx context.Context, path string) (Result, error) {
	link := &link{}
	defer link.close()
	return v.runLinked(ctx, path, link)
}

// runLinked starts the helper, hands it the script and reads the reply.
func (v *view) runLinked(ctx context.Context, path string, link *link) (Result, error) {
	r := Result{ExitCode: -1, Level: v.level}
	if auditArch == 0 {
		return r, &setupError{v.level, startStep, errArchitecture}
	}
	if v.faults.NoUserNS && v.mounted() {
		return r, &setupError{v.level, startStep, fmt.Errorf("clone: %w", unix.EPERM)}
	}
	s, wrong := writeScript(v, path)
	if wrong != nil {
		return r, &setupError{v.level, wrong.step, wrong.err}
	}
	theirs, err := link.open()
	if err != nil {
		return r, fmt.Errorf("sandbox: %w", err)
	}
	program, err := helperProgram(v.faults)
	if err != nil {
		closeAll(theirs)
		return r, &setupError{v.level, "helper", err}
	}
	link.exchange(s.Encode())
	prepare := func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Env = "/", helperEnv
		cmd.ExtraFiles = append([]*os.File{theirs}, program.files...) // stage.FD and after it
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	var watch *watcher
	started := func(cmd *exec.Cmd) { watch = v.watch(cmd.Process.Pid) }
	state, stopped, err := v.job.supervise(ctx, program.path, []string{stage.Name}, prepare, started, func(cmd *exec.Cmd) {
		if !v.mounted() {
			killDescendants(cmd.Process.Pid)
		}
		link.hangUp() // the helper ends what there is; after the drain it is killed itself
	})
	_ = theirs.Close()
	limit := watch.stop()
	reply, replied := link.wait()
	switch {
	case stopped != nil:
		r.Signal = "SIGKILL"
		if replied && reply.Phase == stage.Ended {
			r.setWaitStatus(syscall.WaitStatus(reply.Status))
		}
		return r.finish(stopped)
	case limit != "":
		return r, fmt.Errorf("sandbox: stopped: %s", limit)
	case err != nil && state == nil: // no process to be had
		return r, &setupError{v.level, startStep, err}
	case err != nil:
		return r, err
	case !replied:
		return r, &setupError{v.level, "helper", fmt.Errorf("it ended early: %s", state)}
	case reply.Phase != stage.Ended:
		return r, v.failed(s.name(reply.Index), syscall.Errno(reply.Errno))
	}
	r.setWaitStatus(syscall.WaitStatus(reply.Status))
	if !state.Success() {
		return r, fmt.Errorf("sandbox: %q has ended, but processes that it left behind may still run: the helper: %s", v.job.Argv[0], state)
	}
	return r, nil
}

// failed says why the program was not executed.
func (v *view) failed(step string, errno syscall.Errno) error {
	if step == execStep {
		return fmt.Errorf("sandbox: start %q: %w", v.job.Argv[0], errno)
	}
	if step, what, ok := strings.Cut(step, ": "); ok {
		return &setupError{v.level, step, fmt.Errorf("%s: %w", what, errno)}
	}
	return &setupError{v.level, step, errno}
}

// removeAll removes a private directory, also where the program took its own permissions away.
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
