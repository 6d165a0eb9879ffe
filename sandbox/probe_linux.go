package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// engine is what [Run] and [Probe] work on. There is one for the program; tests make others, with
// faults. Its methods may be called from many goroutines at once.
type engine struct {
	faults faults

	mu    sync.Mutex // guards what follows; held while a rung is tried, so that it is tried once
	tried map[Level]*rung
	over  *Step // the overlay's; nil before it was tried
}

// A rung is what trying a level found.
type rung struct {
	holds bool
	steps []Step
}

var std = &engine{}

// descending are the levels of this system, strongest first.
var descending = []Level{Namespaces, Landlock, Mounts}

func (e *engine) run(ctx context.Context, spec Spec) (Result, error) {
	j, err := newJob(spec)
	if err != nil {
		return Result{}, err
	}
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	if j.View == Full {
		return e.runFree(ctx, j)
	}
	var why []error
	held := false
	for _, level := range descending {
		if j.Require && !level.Enforces() {
			continue
		}
		r, ok := e.holding(ctx, level)
		if err := context.Cause(ctx); err != nil {
			return Result{}, err
		}
		if !ok {
			continue
		}
		held = true
		result, err := j.runHelped(ctx, level, r, e.faults)
		var setup *setupError
		if !errors.As(err, &setup) {
			return result, err
		}
		why = append(why, err)
	}
	switch {
	case held:
		// The machine can, but not for this run: running it unconfined would be a way out.
		return Result{ExitCode: -1}, errors.Join(why...)
	case j.Require:
		return Result{ExitCode: -1}, fmt.Errorf("%w: %s", ErrUnavailable, e.probe(ctx))
	}
	return e.runFree(ctx, j)
}

// runFree runs with nothing enforced, under the helper when it can be had: only the helper finds
// daemons again.
func (e *engine) runFree(ctx context.Context, j *job) (Result, error) {
	r, err := j.runHelped(ctx, None, Report{}, e.faults)
	var setup *setupError
	if errors.As(err, &setup) {
		return j.runPlain(ctx)
	}
	return r, err
}

// probe tries the levels from the strongest down until one holds.
func (e *engine) probe(ctx context.Context) Report {
	r := e.machine()
	for _, level := range descending {
		found, ok := e.try(ctx, level)
		if context.Cause(ctx) != nil {
			return e.machine()
		}
		r.Steps = append(r.Steps, found.steps...)
		if !ok {
			continue
		}
		r.Level = level
		o := e.tryOverlay(ctx, level)
		r.Overlay = o.OK
		r.Steps = append(r.Steps, o)
		break
	}
	return r
}

func (e *engine) machine() Report {
	r := Report{OS: runtime.GOOS, LandlockABI: landlockABI(e.faults)}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		r.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	return r
}

// holding returns what a run at level needs to know, when the level holds.
func (e *engine) holding(ctx context.Context, level Level) (Report, bool) {
	if _, ok := e.try(ctx, level); !ok {
		return Report{}, false
	}
	r := e.machine()
	r.Overlay = e.tryOverlay(ctx, level).OK
	return r, true
}

// try finds out whether level holds, once.
func (e *engine) try(ctx context.Context, level Level) (*rung, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.tried[level]; r != nil {
		return r, r.holds
	}
	r := &rung{}
	r.steps, r.holds = e.attack(ctx, level)
	if context.Cause(ctx) != nil {
		return &rung{}, false // what was cut short says nothing
	}
	if e.tried == nil {
		e.tried = map[Level]*rung{}
	}
	e.tried[level] = r
	return r, r.holds
}

func (e *engine) attack(ctx context.Context, level Level) ([]Step, bool) {
	abi := landlockABI(e.faults)
	if abi == 0 && level != Mounts {
		return []Step{{level, "landlock", false, "the kernel has no Landlock, or it is switched off"}}, false
	}
	through, err := e.breakOut(ctx, level, Report{LandlockABI: abi}, false)
	if err != nil {
		name, why := "set-up", err
		if s := (*setupError)(nil); errors.As(err, &s) {
			name, why = s.step, s.err
		}
		return []Step{{level, name, false, explain(name, why)}}, false
	}
	if level == Mounts {
		// The one way out that the level's definition names.
		through = slices.DeleteFunc(through, func(name string) bool { return name == fifoWritten })
	}
	if len(through) > 0 {
		return []Step{{level, "break-out", false, "got through: " + strings.Join(through, ", ")}}, false
	}
	return []Step{{Level: level, Name: "break-out", OK: true}}, true
}

// explain adds what a reader can do about the commonest reasons.
func explain(name string, err error) string {
	text := err.Error()
	if name == startStep && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EACCES)) {
		text += " (user namespaces are refused: in a container, or by user.max_user_namespaces, kernel.unprivileged_userns_clone or AppArmor)"
	}
	return text
}

func (e *engine) tryOverlay(ctx context.Context, level Level) Step {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over != nil {
		return *e.over
	}
	s := Step{Level: level, Name: "overlay", OK: true}
	if level == Landlock {
		return Step{level, "overlay", false, "nothing can be mounted: throw-away views are copies"}
	}
	wrong, err := e.breakOut(ctx, level, Report{LandlockABI: landlockABI(e.faults), Overlay: true}, true)
	switch {
	case err != nil:
		s.OK, s.Why = false, err.Error()
		if f := (*setupError)(nil); errors.As(err, &f) {
			s.Why = f.step + ": " + f.err.Error()
		}
	case len(wrong) > 0:
		s.OK, s.Why = false, strings.Join(wrong, ", ")
	}
	if context.Cause(ctx) == nil {
		e.over = &s
	}
	return s
}

// probeTimeout bounds one try; it is only reached on a machine that hangs.
const probeTimeout = 20 * time.Second

// breakOut has a process try to break out of level, and returns what got through, also what only
// shows outside.
func (e *engine) breakOut(ctx context.Context, level Level, r Report, write bool) ([]string, error) {
	arena, err := newArena()
	if err != nil {
		return nil, err
	}
	defer arena.close()
	t := arena.targets
	t.Write = write
	arg, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	spec := Spec{
		Argv: []string{selfInHelper, string(arg)}, Dir: t.Workspace, Env: []string{}, Hidden: []string{t.Secret},
		Stdout: &out, Limits: Limits{Timeout: probeTimeout},
	}
	if write {
		spec.View = Scratch
	}
	j, err := newJob(spec)
	if err != nil {
		return nil, err
	}
	j.Argv[0] = breakoutName
	j.program = selfInHelper
	result, err := j.runHelped(ctx, level, r, e.faults)
	if err != nil {
		return nil, err
	}
	if result.TimedOut || result.ExitCode != 0 {
		return nil, fmt.Errorf("the break-out ended with %+v", result)
	}
	var through []string
	if err := json.Unmarshal(out.Bytes(), &through); err != nil {
		return nil, fmt.Errorf("the break-out printed %q", out.String())
	}
	if want := []string{"dir", "dir/below", "dir/other", "file", "new"}; write && !sameChanges(result.Changed, want) {
		through = append(through, fmt.Sprintf("changes listed as %q", result.Changed))
	}
	return append(through, arena.damage()...), nil
}

// sameChanges passes over "dir", which differs only when its permissions do.
func sameChanges(got, want []string) bool {
	drop := func(s string) bool { return s == "dir" }
	return slices.Equal(slices.DeleteFunc(slices.Clone(got), drop), slices.DeleteFunc(slices.Clone(want), drop))
}

// arena is a small world for one break-out.
type arena struct {
	targets
	dir       string
	before    string
	fifo      int
	unix, tcp net.Listener
}

func newArena() (a *arena, err error) {
	a = &arena{fifo: -1}
	defer func() {
		if err != nil {
			a.close()
			err = fmt.Errorf("sandbox: probe: %w", err)
		}
	}()
	if a.dir, err = os.MkdirTemp("", "planmode-probe-"); err != nil {
		return a, err
	}
	if a.dir, err = filepath.EvalSymlinks(a.dir); err != nil {
		return a, err
	}
	a.targets = targets{
		Workspace: filepath.Join(a.dir, "ws"), Secret: filepath.Join(a.dir, "secret"),
		FIFO: filepath.Join(a.dir, "fifo"), Socket: filepath.Join(a.dir, "sock"), PID: os.Getpid(),
	}
	for _, dir := range []string{a.Workspace, a.Secret, filepath.Join(a.Workspace, "dir")} {
		if err = os.Mkdir(dir, 0o755); err != nil {
			return a, err
		}
	}
	for _, file := range []string{"ws/file", "ws/dir/below", "secret/key"} {
		if err = os.WriteFile(filepath.Join(a.dir, file), []byte("whole"), 0o644); err != nil {
			return a, err
		}
	}
	if err = unix.Mkfifo(a.FIFO, 0o666); err != nil {
		return a, err
	}
	if a.fifo, err = unix.Open(a.FIFO, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		return a, err
	}
	// Where this program itself can open no socket, or has no loopback, there is none to reach.
	a.unix, _ = net.Listen("unix", a.Socket)
	if tcp, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		a.tcp, a.TCP = tcp, tcp.Addr().String()
	}
	a.before = a.state()
	return a, nil
}

func (a *arena) close() {
	if a.fifo >= 0 {
		_ = unix.Close(a.fifo)
	}
	for _, l := range []net.Listener{a.unix, a.tcp} {
		if l != nil {
			_ = l.Close()
		}
	}
	if a.dir != "" {
		removeAll(a.dir)
	}
}

// state describes the workspace with everything that an attempt could change.
func (a *arena) state() string {
	var b strings.Builder
	_ = filepath.WalkDir(a.Workspace, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		err = unix.Lstat(path, &st)
		body, _ := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %v %o %d %d %v %q\n", path, err, st.Mode, st.Uid, st.Size, st.Mtim, body)
		return nil
	})
	return b.String()
}

// damage lists what can be seen outside after a break-out.
func (a *arena) damage() []string {
	var seen []string
	if now := a.state(); now != a.before {
		seen = append(seen, "the workspace changed")
	}
	var buf [16]byte
	if n, _ := unix.Read(a.fifo, buf[:]); n > 0 {
		seen = append(seen, fifoWritten)
	}
	return seen
}

func bytesAddr(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
