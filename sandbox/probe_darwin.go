package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

const sandboxExec = "/usr/bin/sandbox-exec"

// engine is what [Run] and [Probe] work on. Its methods may be called from many goroutines at once.
type engine struct {
	mu     sync.Mutex // guards what follows
	tried  bool
	report Report
}

var std = &engine{}

func (e *engine) run(ctx context.Context, spec Spec) (Result, error) {
	j, err := newJob(spec)
	if err != nil {
		return Result{}, err
	}
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	if j.View == Full {
		return j.runPlain(ctx)
	}
	r := e.probe(ctx)
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	switch {
	case r.Level == Seatbelt:
		return j.runSeatbelt(ctx)
	case j.Require:
		return Result{ExitCode: -1}, fmt.Errorf("%w: %s", ErrUnavailable, r)
	}
	return j.runPlain(ctx)
}

// probe runs a process that tries to write a file outside its TMPDIR and to read a hidden one.
func (e *engine) probe(ctx context.Context) Report {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tried {
		return e.report
	}
	r := Report{OS: runtime.GOOS}
	if version, err := unix.Sysctl("kern.osrelease"); err == nil {
		r.Kernel = version
	}
	if err := tryWrite(ctx); err != nil {
		r.Steps = []Step{{Seatbelt, "break-out", false, err.Error()}}
	} else {
		r.Level = Seatbelt
		r.Steps = []Step{{Level: Seatbelt, Name: "break-out", OK: true}}
	}
	if context.Cause(ctx) == nil {
		e.tried, e.report = true, r
	}
	return r
}

func tryWrite(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "planmode-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("whole"), 0o600); err != nil {
		return err
	}
	// The exit code counts what got through; the private TMPDIR must work.
	const script = `n=0; (echo broken > out) 2>/dev/null && n=$((n+1)); (cat secret) >/dev/null 2>&1 && n=$((n+2))
(echo fine > "$TMPDIR/own") 2>/dev/null || n=$((n+4)); exit $n`
	j, err := newJob(Spec{Argv: []string{"/bin/sh", "-c", script}, Dir: dir, Hidden: []string{secret}})
	if err != nil {
		return err
	}
	r, err := j.runSeatbelt(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, "out")); err == nil || r.ExitCode != 0 {
		return fmt.Errorf("got through, or TMPDIR is refused: exit code %d", r.ExitCode)
	}
	return nil
}

// runSeatbelt runs the process under sandbox-exec. Scratch is a copy with a path of its own.
func (j *job) runSeatbelt(ctx context.Context) (Result, error) {
	path, err := j.lookPath()
	if err != nil {
		return Result{}, err
	}
	base, err := os.MkdirTemp("", "planmode-run-")
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: private TMPDIR: %w", err)
	}
	defer os.RemoveAll(base)
	if base, err = filepath.EvalSymlinks(base); err != nil { // the kernel judges real paths
		return Result{}, fmt.Errorf("sandbox: private TMPDIR: %w", err)
	}
	tmp := filepath.Join(base, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return Result{}, fmt.Errorf("sandbox: private TMPDIR: %w", err)
	}
	confined := *j
	confined.Env = setEnv(j.Env, "TMPDIR="+tmp, "TMP="+tmp, "TEMP="+tmp)
	writable := []string{tmp}
	var changes func() ([]string, error)
	switch j.View {
	case Workspace:
		writable = append(writable, j.Root)
	case Scratch:
		dir := filepath.Join(base, "copy")
		if changes, err = j.copyForScratch(base, dir); err != nil {
			return Result{}, err
		}
		if rel, err := filepath.Rel(j.Root, j.Dir); err == nil && within(j.Root, j.Dir) {
			confined.Dir = filepath.Join(dir, rel)
		}
		writable = append(writable, dir)
	case ReadOnly, Full:
	}
	confined.Argv = append([]string{sandboxExec, "-p", seatbeltProfile(writable, j.hidden), path}, j.Argv[1:]...)
	confined.program = sandboxExec
	r, err := confined.runPlain(ctx)
	r.Level = Seatbelt
	if err == nil && changes != nil {
		r.Changed, err = changes()
	}
	return r, err
}

// copyForScratch copies the workspace and returns the function that lists what changed in the copy.
func (j *job) copyForScratch(base, dir string) (func() ([]string, error), error) {
	skip := append(slices.Clone(j.hidden), base)
	if err := copyTree(j.Root, dir, skip, j.Limits.Scratch); err != nil {
		return nil, fmt.Errorf("sandbox: copy of the workspace: %w", err)
	}
	return func() ([]string, error) {
		original, err := os.OpenRoot(j.Root)
		if err != nil {
			return nil, fmt.Errorf("sandbox: list changes: %w", err)
		}
		defer original.Close()
		copied, err := os.OpenRoot(dir)
		if err != nil {
			return nil, fmt.Errorf("sandbox: list changes: %w", err)
		}
		defer copied.Close()
		changed, err := changedInCopy(original, copied)
		gone, err2 := deleted(original, copied, func(p string) bool { return slices.Contains(skip, filepath.Join(j.Root, p)) })
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
		changed = append(changed, gone...)
		slices.Sort(changed)
		return slices.Compact(changed), nil
	}, nil
}
