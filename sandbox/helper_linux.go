package sandbox

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// init takes over the processes that Run starts as its helper, before main and before the
// packages that import this one are initialized.
func init() {
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case helperName:
		helperMain()
	case breakoutName:
		breakoutMain()
	default:
		return
	}
	exit(125)
}

// exit ends the process at once, without the exit hooks of coverage and the like, which would write
// to streams that are not ours.
func exit(code int) {
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(code), 0, 0)
	}
}

// helper is the process between Run and the program: it prepares the view, starts the program in
// it, takes over orphans, and ends everything when the program ends or the control pipe does. It
// runs on the process's first thread, which keeps its rights: only the child gives them up. The
// child cannot reach it, because it is not dumpable and stands outside the child's Landlock domain.
type helper struct {
	request
	base, root, dir string
	env             []string
	umask           int

	storeCovered bool     // the workspace is mounted above base
	original     *os.Root // Scratch: the workspace as it was
	written      *os.Root // Scratch: the upper directory or the copy
	upper        bool     // written is an upper directory
}

func helperMain() {
	runtime.LockOSThread()
	syscall.CloseOnExec(helperCtl)
	syscall.CloseOnExec(helperReply)
	ctl, out := os.NewFile(helperCtl, "control"), os.NewFile(helperReply, "reply")
	h := &helper{}
	if err := readFrame(ctl, &h.request); err != nil {
		return
	}
	h.base, h.root, h.dir, h.env = string(h.Base), string(h.Root), string(h.Dir), fromRaw(h.Env)
	h.umask = unix.Umask(0)
	unix.Umask(h.umask)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		_ = writeFrame(out, failed(step("prctl", err)))
		return
	}
	_ = writeFrame(out, h.serve(ctl))
	exit(0)
}

// serve runs the program to its end.
func (h *helper) serve(ctl io.Reader) reply {
	ownNamespace := h.Level == Namespaces || h.Level == Mounts
	if !ownNamespace {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return failed(step("subreaper", err))
		}
	}
	c, err := h.prepare()
	if err != nil {
		return failed(err)
	}
	pid, err := c.start()
	if err != nil {
		r := failed(err)
		r.Exec = r.Step == execStep
		return r
	}
	go func() {
		_, _ = io.Copy(io.Discard, ctl) // until the other end is closed
		if ownNamespace {
			exit(0) // process 1: the kernel ends the others
		}
		killDescendants(os.Getpid())
	}()
	watch := h.watch()
	status := waitFor(pid)
	r := reply{Status: uint32(status), Limit: watch.stop()}
	if !ownNamespace {
		killRest()
	}
	changed, err := h.changes()
	if err != nil {
		r.Err = err.Error()
	}
	r.Changed = toRaw(changed)
	return r
}

// waitFor reaps until the program itself has ended.
func waitFor(pid int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		if got == pid || errors.Is(err, syscall.ECHILD) {
			return status
		}
	}
}

// killRest ends and reaps what the program left behind. A process that may not be killed, because
// it has another user's rights, is left after a while.
func killRest() {
	for deadline := time.Now().Add(drain / 2); time.Now().Before(deadline); {
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) {
				return
			}
			if pid == 0 {
				break
			}
		}
		killDescendants(os.Getpid())
		time.Sleep(time.Millisecond)
	}
}

// prepare sets the view up and lists what the child has to do.
func (h *helper) prepare() (*calls, error) {
	c := &calls{}
	c.try("setsid", unix.SYS_SETSID)
	c.add("parent death", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	switch h.Level {
	case Namespaces, Mounts:
		if err := h.isolate(); err != nil {
			return nil, err
		}
		if h.View != ReadOnly {
			if err := loopbackUp(); err != nil {
				return nil, step("loopback", err)
			}
		}
	case Landlock:
		if err := h.landlockScratch(); err != nil {
			return nil, err
		}
	case None, Seatbelt:
	}
	dir, err := c.text(h.dir)
	if err != nil {
		return nil, step("directory", err)
	}
	if h.Level == None {
		c.add("directory", unix.SYS_CHDIR, dir)
		h.limits(c)
		c.try("close_range", unix.SYS_CLOSE_RANGE, 3, ^uintptr(0), unix.CLOSE_RANGE_CLOEXEC)
		return c, c.exec(string(h.Path), fromRaw(h.Argv), h.env)
	}
	h.dropRights(c)
	// After the rights are gone: a directory that only they could enter is refused.
	c.add("directory", unix.SYS_CHDIR, dir)
	h.limits(c)
	if err := closeInherited(c); err != nil {
		return nil, step("descriptors", err)
	}
	if err := h.landlock(c); err != nil {
		return nil, step("landlock", err)
	}
	if err := h.seccomp(c); err != nil {
		return nil, step("seccomp", err)
	}
	return c, step(execStep, c.exec(string(h.Path), fromRaw(h.Argv), h.env))
}

// dropRights gives every capability up for good. Without namespaces an ordinary user has none, and
// the bounding set may not be touched.
func (h *helper) dropRights(c *calls) {
	bound := c.add
	if h.Level == Landlock {
		bound = c.try
	}
	for capability := range lastCapability() + 1 {
		bound("bounding set", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, uintptr(capability))
	}
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	c.add("capset", unix.SYS_CAPSET, pin(c, header), pin(c, &[2]unix.CapUserData{}))
	c.add("ambient set", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	c.add("no_new_privs", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
}

// lastCapability asks the running kernel: the header's constant may be older than it.
func lastCapability() int {
	last := 0
	for c := range 64 {
		if v, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0); err != nil || v < 0 {
			break
		}
		last = c
	}
	return last
}

func (h *helper) limits(c *calls) {
	set := func(name string, resource int, soft, hard uint64) {
		limit := &unix.Rlimit{Cur: soft, Max: hard}
		c.add(name, unix.SYS_PRLIMIT64, 0, uintptr(resource), pin(c, limit), 0)
	}
	// Go has raised the soft limit for itself; programs that use select want a small one.
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		set("open files", unix.RLIMIT_NOFILE, min(files.Max, softFiles), files.Max)
	}
	lower := func(name string, resource int, limit int64) {
		var now unix.Rlimit
		if limit <= 0 || unix.Getrlimit(resource, &now) != nil {
			return
		}
		v := min(uint64(limit), now.Max)
		set(name, resource, v, v)
	}
	lower("memory", unix.RLIMIT_AS, h.Limits.Memory)
	lower("file size", unix.RLIMIT_FSIZE, h.Limits.FileSize)
	if h.Limits.Processes > 0 {
		lower("processes", unix.RLIMIT_NPROC, int64(h.Limits.Processes+h.alreadyRunning()))
	}
	if h.View != Full {
		set("core", unix.RLIMIT_CORE, 0, 0)
	}
}

const softFiles = 4096

// alreadyRunning is what counts against RLIMIT_NPROC before the run has started anything: in a user
// namespace of its own nothing does, otherwise all processes of the user, of which there are no
// more than processes in all.
func (h *helper) alreadyRunning() int {
	if h.Level == Namespaces || h.Level == Mounts {
		return 1 // the helper
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int(info.Procs)
}

// closeInherited keeps everything above the standard streams from the program.
func closeInherited(c *calls) error {
	if unix.CloseRange(3, 3, unix.CLOSE_RANGE_CLOEXEC) == nil { // 3 is the control pipe, which is marked anyhow
		c.add("close_range", unix.SYS_CLOSE_RANGE, 3, ^uintptr(0), unix.CLOSE_RANGE_CLOEXEC)
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 2 {
			syscall.CloseOnExec(n)
		}
	}
	return err
}

// landlock prepares the domain of the child.
func (h *helper) landlock(c *calls) error {
	if h.ABI == 0 {
		return nil
	}
	mounted := h.Level == Namespaces
	r, err := newRuleset(h.ABI, mounted && h.View != ReadOnly)
	if err != nil {
		return err
	}
	hidden := fromRaw(h.Hidden)
	if mounted {
		err = r.allow("/", llRead)
	} else {
		err = r.allowReading("/", hidden, h.root)
	}
	writable := []string{filepath.Join(h.base, "tmp")}
	switch {
	case h.View == Workspace, h.View == Scratch && mounted:
		writable = append(writable, h.root)
	case h.View == Scratch:
		writable = append(writable, filepath.Join(h.base, "copy"))
	}
	if mounted {
		writable = append(writable, "/dev/shm")
		if h.View == Scratch && len(h.Home) > 0 {
			writable = append(writable, string(h.Home)) // an overlay, or read-only
		}
	}
	for _, dir := range writable {
		if err == nil {
			err = r.allow(dir, llRead|llWrite)
		}
	}
	if err == nil {
		err = r.allowDevices()
	}
	if err != nil {
		return err
	}
	c.add("landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd))
	return nil
}

// landlockScratch makes the copy that stands for the workspace where nothing can be mounted. Its
// path differs, and the program starts in it.
func (h *helper) landlockScratch() error {
	if h.View != Scratch {
		return nil
	}
	original, err := os.OpenRoot(h.root)
	if err != nil {
		return step("workspace", err)
	}
	h.original = original
	dir := filepath.Join(h.base, "copy")
	if err := h.copyWorkspace(dir); err != nil {
		return err
	}
	if rel, err := filepath.Rel(h.root, h.dir); err == nil && within(h.root, h.dir) {
		h.dir = filepath.Join(dir, rel)
		h.env = setEnv(h.env, "PWD="+h.dir)
	}
	h.redirectCaches()
	return nil
}

// seccomp prepares the filter of the child.
func (h *helper) seccomp(c *calls) error {
	if h.Faults.NoSeccomp {
		return unix.EINVAL
	}
	mounted := h.Level == Namespaces || h.Level == Mounts
	raw, err := buildFilter(filterOptions{
		metadata:  mounted && h.View != ReadOnly,
		loopback:  mounted && h.View != ReadOnly,
		ipc:       mounted,
		signals:   mounted || h.ABI >= 6,
		truncate:  mounted || h.ABI >= 3,
		terminals: h.View != ReadOnly,
	})
	if err != nil {
		return err
	}
	filter := sockFilter(raw)
	c.keep = append(c.keep, filter)
	prog := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	c.add("seccomp", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, pin(c, prog))
	return nil
}

// redirectCaches sends the caches of common tools to the TMPDIR, where the home directory cannot
// be written.
func (h *helper) redirectCaches() {
	cache := filepath.Join(h.base, "tmp", "cache")
	h.env = setEnv(h.env, "XDG_CACHE_HOME="+cache, "GOCACHE="+filepath.Join(cache, "go-build"),
		"npm_config_cache="+filepath.Join(cache, "npm"), "PIP_CACHE_DIR="+filepath.Join(cache, "pip"),
		"PYTHONPYCACHEPREFIX="+filepath.Join(cache, "pycache"))
}
