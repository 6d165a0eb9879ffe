package sandbox

import (
	"fmt"
	"math"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/planmode-dev/planmode/sandbox/internal/stage"
)

// faults make a step fail as it would on another machine, for tests.
type faults struct {
	NoUserNS   bool // clone of a user namespace is refused
	NoMounts   bool // a user namespace without rights in it, as Ubuntu's AppArmor gives
	NoProc     bool // a fresh /proc is refused, as in a container that masks parts of it
	NoLandlock bool // a kernel without it
	ABI        int  // a kernel with an older Landlock; 0 is the kernel's own
	NoOverlay  bool
	NoSeccomp  bool
	NoImage    bool // files in memory may not be executed: the helper is this program
}

// view is everything that the calls of one run are written from.
type view struct {
	job      *job
	level    Level
	abi      int    // of Landlock; 0 leaves it out
	base     string // private directory of the run; its "tmp" is the TMPDIR
	home     string // Scratch: gets an overlay, when not ""
	copy     string // Scratch: the copy that stands for the workspace, when not ""
	copyTree arg
	covered  bool // the workspace is mounted above base
	dir      string
	env      []string
	faults   faults
}

// mounted reports whether the level has namespaces of its own.
func (v *view) mounted() bool { return v.level == Namespaces || v.level == Mounts }

// writeScript writes the calls of one run.
func writeScript(v *view, path string) (*script, *stepError) {
	s := &script{}
	s.Ops = make([]stage.Op, 0, 320)
	s.Data = make([]byte, 0, 12<<10)
	s.helper(v, path)
	return s, s.err
}

// program writes what the process does that becomes the program.
func (s *script) program(v *view, path string, domain arg) {
	s.resetSignals()
	s.begin("parent death")
	s.call(unix.SYS_SETSID).Flags = mayFail
	s.call(unix.SYS_PRCTL, imm(unix.PR_SET_PDEATHSIG), imm(int(unix.SIGKILL)))
	if v.level != None {
		s.dropRights(v)
	}
	// After the rights are gone: a directory that only they could enter is refused.
	s.begin("directory")
	s.call(unix.SYS_CHDIR, s.text(v.dir))
	s.limits(v)
	s.begin("descriptors")
	op := s.call(unix.SYS_CLOSE_RANGE, imm(stage.FD), imm(math.MaxUint32), imm(unix.CLOSE_RANGE_CLOEXEC))
	if v.level == None {
		op.Flags = mayFail // before Linux 5.11
	}
	if domain != (arg{}) {
		s.begin("landlock")
		s.call(unix.SYS_LANDLOCK_RESTRICT_SELF, domain, imm(0))
	}
	if v.level != None {
		s.seccomp(v)
	}
	s.begin(execStep)
	s.call(unix.SYS_EXECVE, s.text(path), s.texts(v.job.Argv), s.texts(v.env))
}

const execStep = "exec"

// resetSignals gives the program the default handling of every signal, whatever this program was
// started with. A helper that is this program has blocked them, so that Go's handlers do not run.
func (s *script) resetSignals() {
	s.begin("signals")
	byDefault := s.bytes(make([]byte, 32)) // struct sigaction
	for signal := 1; signal <= 64; signal++ {
		if signal != int(unix.SIGKILL) && signal != int(unix.SIGSTOP) {
			s.call(unix.SYS_RT_SIGACTION, imm(signal), byDefault, imm(0), imm(8))
		}
	}
	s.call(unix.SYS_RT_SIGPROCMASK, imm(unix.SIG_SETMASK), s.bytes(make([]byte, 8)), imm(0), imm(8))
}

// dropRights gives every capability up for good. Without namespaces an ordinary user has none, and
// the bounding set may not be touched.
func (s *script) dropRights(v *view) {
	s.begin("capabilities")
	for c := range lastCapability() + 1 {
		op := s.call(unix.SYS_PRCTL, imm(unix.PR_CAPBSET_DROP), imm(c))
		if !v.mounted() {
			op.Flags = mayFail
		}
	}
	header := object(s, unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3})
	s.call(unix.SYS_CAPSET, header, object(s, [2]unix.CapUserData{}))
	s.call(unix.SYS_PRCTL, imm(unix.PR_CAP_AMBIENT), imm(unix.PR_CAP_AMBIENT_CLEAR_ALL), imm(0), imm(0), imm(0))
	s.call(unix.SYS_PRCTL, imm(unix.PR_SET_NO_NEW_PRIVS), imm(1), imm(0), imm(0), imm(0))
}

// lastCapability asks the running kernel: the headers' constant may be older than it.
func lastCapability() int {
	last := 0
	for c := range 64 {
		if _, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0); err != nil {
			break
		}
		last = c
	}
	return last
}

// softFiles is the soft limit of open files. Go has raised its own to the hard one, which is too
// many for programs that use select or close every number there could be.
const softFiles = 4096

func (s *script) limits(v *view) {
	set := func(name string, resource int, limit unix.Rlimit) {
		s.begin(name)
		s.call(unix.SYS_PRLIMIT64, imm(0), imm(resource), object(s, limit), imm(0))
	}
	lower := func(name string, resource int, limit int64) {
		var now unix.Rlimit
		if limit > 0 && unix.Getrlimit(resource, &now) == nil {
			n := min(uint64(limit), now.Max)
			set(name, resource, unix.Rlimit{Cur: n, Max: n})
		}
	}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		set("limit of open files", unix.RLIMIT_NOFILE, unix.Rlimit{Cur: min(files.Max, softFiles), Max: files.Max})
	}
	l := v.job.Limits
	lower("limit of memory", unix.RLIMIT_AS, l.Memory)
	lower("limit of file size", unix.RLIMIT_FSIZE, l.FileSize)
	if l.Processes > 0 {
		lower("limit of processes", unix.RLIMIT_NPROC, int64(l.Processes+alreadyRunning(v)))
	}
	if v.job.View != Full {
		set("limit of core files", unix.RLIMIT_CORE, unix.Rlimit{})
	}
}

// alreadyRunning is what counts against RLIMIT_NPROC before the run has started anything: in a user
// namespace of its own only the helper, otherwise all threads of the user, of which there are no
// more than threads in all.
func alreadyRunning(v *view) int {
	const helperThreads = 8
	if v.mounted() {
		return helperThreads
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int(info.Procs) + helperThreads
}

// seccomp adds the filter.
func (s *script) seccomp(v *view) {
	s.begin("seccomp")
	program, err := assembledFilter(filterOptions{
		metadata: v.mounted() && v.job.View != ReadOnly,
		loopback: v.mounted() && v.job.View != ReadOnly,
		ipc:      v.mounted(),
		signals:  v.mounted() || v.abi >= 6,
		truncate: v.mounted() || v.abi >= 3,
		writing:  v.job.View != ReadOnly,
	})
	if err == nil && v.faults.NoSeccomp {
		err = unix.EINVAL
	}
	if err != nil {
		s.fail(err)
		return
	}
	filter := s.bytes(program)
	prog := object(s, [2]uint64{uint64(len(program) / sizeofSockFilter), 0}) // struct sock_fprog: a length of 16 bits, a pointer
	s.pointer(prog.value+8, filter.value)
	s.call(unix.SYS_SECCOMP, imm(unix.SECCOMP_SET_MODE_FILTER), imm(0), prog)
}

// landlock opens the domain of the child, when there is to be one.
func (s *script) landlock(v *view) arg {
	if v.abi == 0 {
		return arg{}
	}
	s.begin("landlock")
	job, r := v.job, s.newRuleset(v.abi, v.mounted() && v.job.View != ReadOnly)
	if v.mounted() {
		r.allow("/", llRead)
	} else {
		r.allowReading("/", job.hidden, job.Root)
	}
	writable := []string{filepath.Join(v.base, "tmp")}
	switch {
	case v.mounted() && job.View == Scratch && v.home != "":
		writable = append(writable, job.Root, v.home)
	case v.mounted() && job.View == Scratch, job.View == Workspace:
		writable = append(writable, job.Root)
	case job.View == Scratch:
		writable = append(writable, v.copy)
	}
	if v.mounted() {
		writable = append(writable, "/dev/shm")
	}
	for _, dir := range writable {
		r.allow(dir, llRead|llWrite)
	}
	r.allowDevices()
	if r.err != nil {
		s.fail(fmt.Errorf("rules: %w", r.err))
	}
	return r.fd
}
