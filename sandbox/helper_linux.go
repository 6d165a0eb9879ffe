package sandbox

import (
	"fmt"
	"math"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/planmode-dev/planmode/sandbox/internal/stage"
)

// helper writes what stands between us and the program, and the program itself.
func (s *script) helper(v *view, path string) {
	s.begin("helper")
	s.call(unix.SYS_PRCTL, imm(unix.PR_SET_NAME), s.text(helperName))
	// Ignored, as it may be in the program that uses this package, it leaves no status to wait for.
	s.call(unix.SYS_RT_SIGACTION, imm(int(unix.SIGCHLD)), s.bytes(make([]byte, 32)), imm(0), imm(8))
	if v.mounted() {
		s.namespaces(v, path)
	} else {
		s.reaper(v, path)
	}
}

const (
	helperName = "planmode-run" // in lists of processes; at most 15 bytes

	// startStep begins the names of the steps that only make the namespaces.
	startStep = "start"
)

// namespaces has the helper start process 1 of namespaces of their own, which has all rights in
// them and none outside. The helper stays outside: it gives process 1 its user numbers, which only
// a process of the outer namespace may, and ends when process 1 has, after which the kernel has
// ended every other process of the namespaces.
func (s *script) namespaces(v *view, path string) {
	const in, out = stage.ExeFD + 1, stage.ExeFD + 2 // the lowest that are free, once all others are closed
	s.begin(startStep + ": pipe")
	s.call(unix.SYS_CLOSE_RANGE, imm(in), imm(math.MaxUint32), imm(0))
	ends := s.bytes(make([]byte, 8))
	s.call(unix.SYS_PIPE2, ends, imm(unix.O_CLOEXEC))
	s.begin(startStep + ": clone")
	pid, first := s.fork(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
		unix.CLONE_NEWNET | unix.CLONE_NEWUTS)
	s.mapIDs(pid)
	s.begin("helper")
	s.call(unix.SYS_PRCTL, imm(unix.PR_SET_DUMPABLE), imm(0)) // not before: its /proc files were root's
	s.call(unix.SYS_WRITE, imm(out), ends, imm(1))
	s.call(unix.SYS_CLOSE_RANGE, imm(stage.FD), imm(math.MaxUint32), imm(0))
	s.call(unix.SYS_WAIT4, pid, imm(0), imm(0), imm(0))
	s.call(unix.SYS_EXIT_GROUP, imm(0))

	s.land(first)
	s.call(unix.SYS_PRCTL, imm(unix.PR_SET_PDEATHSIG), imm(int(unix.SIGKILL)))
	s.call(unix.SYS_CLOSE, imm(out))
	s.call(unix.SYS_READ, imm(in), ends, imm(1)).Flags = stage.NotZero | stage.Quiet // or the helper has said why
	s.call(unix.SYS_CLOSE, imm(in))
	s.call(unix.SYS_PRCTL, imm(unix.PR_SET_DUMPABLE), imm(0))
	s.takeCopy(v)
	s.isolate(v)
	domain := s.landlock(v)
	program := s.watchOver()
	s.call(unix.SYS_EXIT_GROUP, imm(0))
	s.land(program)
	s.program(v, path, domain)
}

// mapIDs gives the process its user and group numbers, the same as outside.
func (s *script) mapIDs(pid arg) {
	s.begin(startStep + ": /proc")
	const proc = "/proc/"
	path := s.text(proc + strings.Repeat("0", 20))
	s.call(stage.Decimal, pid, arg{stage.Data, path.value + uint64(len(proc))})
	_, dir := s.open(unix.SYS_OPENAT, atCWD, path, imm(unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC), imm(0))
	write := func(name, text string) {
		s.begin(startStep + ": " + name)
		mark := s.slots
		_, fd := s.open(unix.SYS_OPENAT, dir, s.text(name), imm(unix.O_WRONLY|unix.O_CLOEXEC), imm(0))
		s.call(unix.SYS_WRITE, fd, s.text(text), imm(len(text)))
		s.close(fd)
		s.reuse(mark)
	}
	if os.Geteuid() != 0 {
		write("setgroups", "deny") // or the kernel refuses the next
	}
	write("gid_map", idMap("/proc/self/gid_map", os.Getegid()))
	write("uid_map", idMap("/proc/self/uid_map", os.Geteuid()))
}

// idMap maps every number to itself: for root all that there are, so that files keep their owners,
// for others their own, which is all they may.
func idMap(file string, own int) string {
	single := fmt.Sprintln(own, own, 1)
	if os.Geteuid() != 0 {
		return single
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return single
	}
	var all strings.Builder
	for line := range strings.Lines(string(text)) {
		var inside, outside, size int
		if n, _ := fmt.Sscan(line, &inside, &outside, &size); n == 3 {
			fmt.Fprintln(&all, inside, inside, size)
		}
	}
	if all.Len() == 0 {
		return single
	}
	return all.String()
}

// reaper has the helper take over the processes that the program leaves behind, and end them. It
// executes this program for that, only when there are any.
func (s *script) reaper(v *view, path string) {
	for fd := stage.FD; fd <= imageFD; fd++ {
		op := s.call(unix.SYS_FCNTL, imm(fd), imm(unix.F_SETFD), imm(unix.FD_CLOEXEC))
		if fd == imageFD {
			op.Flags = mayFail
		}
	}
	s.call(unix.SYS_PRCTL, imm(unix.PR_SET_CHILD_SUBREAPER), imm(1))
	s.call(unix.SYS_PRCTL, imm(unix.PR_SET_DUMPABLE), imm(0))
	domain := s.landlock(v)
	program := s.watchOver()
	op := s.call(unix.SYS_WAIT4, imm(-1), imm(0), imm(unix.WNOHANG), imm(0))
	op.Flags, op.Skip = mayFail, 1 // no child is left
	s.call(unix.SYS_EXECVEAT, imm(stage.ExeFD), s.text(""), s.texts([]string{stage.Ender}), s.texts(helperEnv),
		imm(unix.AT_EMPTY_PATH)).Flags = stage.Quiet
	s.call(unix.SYS_EXIT_GROUP, imm(0))
	s.land(program)
	s.program(v, path, domain)
}

// takeCopy opens the copy that stands for the workspace, when there is one, before everything
// becomes read-only, so that it stays writable.
func (s *script) takeCopy(v *view) {
	if v.copy == "" {
		return
	}
	s.begin("workspace copy")
	v.copyTree = s.clone(v.copy, 0)
	s.setMount(v.copyTree, "", unix.AT_EMPTY_PATH, unix.MOUNT_ATTR_NOSUID, true)
}

// watchOver starts the program, waits for its end and sends the reply, which is left out when our
// end of the socket is closed first.
func (s *script) watchOver() (program int) {
	s.begin("fork")
	pid, program := s.spawn()
	s.begin("helper")
	watched := object(s, [2]unix.PollFd{{Fd: stage.FD, Events: unix.POLLIN}, {Fd: -1, Events: unix.POLLIN}})
	s.optional(mayFail, func() {
		_, fd := s.open(unix.SYS_PIDFD_OPEN, pid, imm(0))
		s.patch(watched.value+uint64(unsafe.Sizeof(unix.PollFd{})), fd)
	})
	// The program's end is told by its pidfd. That of an orphan is not, and it can wait.
	look := unix.Timespec{Sec: 1}
	if !havePidfd() {
		look = unix.Timespec{Nsec: 10e6}
	}
	reply := object(s, stage.Reply{Phase: stage.Ended})
	status := arg{stage.Data, reply.value + uint64(stage.StatusOffset)}
	s.call(stage.Wait, pid, watched, status, object(s, look), imm(look.Sec), imm(look.Nsec)).Skip = 1
	s.call(unix.SYS_SENDTO, imm(stage.FD), reply, imm(stage.ReplySize), imm(unix.MSG_NOSIGNAL)).Flags = mayFail
	return program
}
