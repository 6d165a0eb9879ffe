package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// drain is how long output is still read after the process has ended and everything that it
// started was killed. It only matters when something outside our reach holds a stream open.
const drain = 2 * time.Second

// Run starts the process and waits until it and everything it started has ended: when the process
// itself ends, what it left running is killed, daemons in their own session included. Cancelling
// ctx or reaching Limits.Timeout kills all of it at once.
//
// The error is nil whenever the process was started and ended, whatever its exit code, also after
// a time-out. It is the cause of ctx when that was cancelled, wraps [ErrUnavailable] when the
// view was required and cannot be enforced, and otherwise says why nothing could be started.
// Run may be called from many goroutines at once.
func Run(ctx context.Context, spec Spec) (Result, error) { return std.run(ctx, spec) }

// job is a checked Spec with the defaults filled in.
type job struct {
	Spec
	hidden  []string // existing, resolved
	program string   // the file to execute, when Argv[0] is not its name
}

func newJob(spec Spec) (*job, error) {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return nil, errors.New("sandbox: Spec.Argv is empty")
	}
	if spec.View > Full {
		return nil, fmt.Errorf("sandbox: unknown view %d", spec.View)
	}
	if spec.Root == "" {
		spec.Root = spec.Dir
	}
	for _, dir := range []*string{&spec.Dir, &spec.Root} {
		if !filepath.IsAbs(*dir) {
			return nil, fmt.Errorf("sandbox: %q is not an absolute directory", *dir)
		}
		// Mounts and Landlock rules are laid on real paths, so links are resolved once, here.
		real, err := filepath.EvalSymlinks(*dir)
		if err != nil {
			return nil, fmt.Errorf("sandbox: directory: %w", err)
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("sandbox: %q is not a directory", *dir)
		}
		*dir = real
	}
	if spec.Env == nil {
		spec.Env = CleanEnv(os.Environ())
	}
	if spec.Root == "/" && (spec.View == Scratch || spec.View == Workspace) {
		return nil, errors.New("sandbox: the root directory cannot be the workspace")
	}
	j := &job{Spec: spec}
	if spec.View == Full {
		return j, nil
	}
	j.Env = CleanEnv(j.Env)
	if j.Hidden == nil {
		j.Hidden = defaultHidden()
	}
	j.hidden = existingHidden(j.Hidden)
	for _, h := range j.hidden {
		if within(h, j.Dir) || within(h, j.Root) {
			return nil, fmt.Errorf("sandbox: directory %q lies in the hidden %q", j.Dir, h)
		}
	}
	setDefault(&j.Limits.Processes, defaultProcesses)
	setDefault(&j.Limits.FileSize, defaultFileSize)
	setDefault(&j.Limits.Scratch, defaultScratch)
	return j, nil
}

func setDefault[T int | int64](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// lookPath finds the program as execvp would in the process's own environment and directory.
func (j *job) lookPath() (string, error) {
	if j.program != "" {
		return j.program, nil
	}
	name := j.Argv[0]
	if filepath.Base(name) != name {
		if filepath.IsAbs(name) {
			return name, nil
		}
		return filepath.Join(j.Dir, name), nil
	}
	for _, dir := range filepath.SplitList(getEnv(j.Env, "PATH")) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(j.Dir, dir)
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("sandbox: program %q: %w", name, exec.ErrNotFound)
}

// connect gives cmd the streams of the job. In the confined views writers are hidden behind pipes,
// so that the process never holds a descriptor of a file or terminal of ours.
func (j *job) connect(cmd *exec.Cmd) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = j.Stdin, j.Stdout, j.Stderr
	if j.View == Full {
		return
	}
	if f, ok := j.Stdin.(*os.File); ok && !readsOnly(f) {
		cmd.Stdin = struct{ io.Reader }{f} // copied through a pipe
	}
	same := sameWriter(j.Stdout, j.Stderr)
	if j.Stdout != nil {
		cmd.Stdout = &onlyWriter{j.Stdout}
	}
	switch {
	case same:
		cmd.Stderr = cmd.Stdout
	case j.Stderr != nil:
		cmd.Stderr = &onlyWriter{j.Stderr}
	}
}

type onlyWriter struct{ io.Writer }

// sameWriter compares as os/exec does: writers of a type that cannot be compared are different.
func sameWriter(a, b io.Writer) bool {
	defer func() { _ = recover() }()
	return a == b
}

var errTimeout = errors.New("sandbox: time limit reached")

// supervise starts cmd and waits for it. When ctx ends or the time limit is reached, it calls kill
// once, and stopped says which of the two it was: errTimeout or the cause of ctx.
func (j *job) supervise(ctx context.Context, argv0 string, args []string, prepare, started, kill func(*exec.Cmd)) (state *os.ProcessState, stopped, err error) {
	if j.Limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, j.Limits.Timeout, errTimeout)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, argv0)
	cmd.Args = args
	prepare(cmd)
	j.connect(cmd)
	cmd.WaitDelay = drain
	cmd.Cancel = func() error { // called from a goroutine that Wait joins
		stopped = context.Cause(ctx)
		kill(cmd)
		return nil
	}
	if err := cmd.Start(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause, nil
		}
		return nil, nil, fmt.Errorf("sandbox: start %q: %w", j.Argv[0], err)
	}
	started(cmd)
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) || stopped != nil {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("sandbox: run %q: %w", j.Argv[0], err)
	}
	return cmd.ProcessState, stopped, err
}

// finish turns the way the run was stopped into what Run returns.
func (r Result) finish(stopped error) (Result, error) {
	if errors.Is(stopped, errTimeout) {
		r.TimedOut = true
		return r, nil
	}
	return r, stopped
}
