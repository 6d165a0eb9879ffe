//go:build linux && (amd64 || arm64)

package stage

import (
	"syscall"
	"unsafe"
)

func init() {
	if named() {
		run()
		exit(125)
	}
}

// named reports whether argv[0] is ours. Package os, which would know, is not initialized yet.
func named() bool {
	fd, err := syscall.Open("/proc/self/cmdline", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	var head [len(Name) + 1]byte
	n, _ := syscall.Read(fd, head[:])
	_ = syscall.Close(fd)
	return n == len(head) && string(head[:]) == Name+"\x00"
}

func exit(code uintptr) {
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, code, 0, 0)
	}
}

// interpreter runs on the first thread of the process: init functions do, and nothing else has
// been started. That thread keeps its rights, only the child gives them up. The child cannot reach
// it, because it is not dumpable and stands outside the child's Landlock domain.
type interpreter struct {
	setup, child []Op
	data         []byte
	base         uintptr
	slot         [slots]uintptr
	reaper       bool
}

func run() {
	in := &interpreter{}
	if !in.read() {
		return
	}
	const subreaper, dumpable = 36, 4 // PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE
	if in.reaper {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, subreaper, 1, 0)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, dumpable, 0, 0); errno != 0 {
		reply(Reply{Phase: SetupFailed, Errno: uint32(errno)})
		return
	}
	if at, errno := in.perform(in.setup); errno != 0 {
		reply(Reply{Phase: SetupFailed, Index: uint32(at), Errno: uint32(errno)})
		return
	}
	pid, at, errno := in.start()
	if errno != 0 {
		reply(Reply{Phase: ChildFailed, Index: uint32(at), Errno: uint32(errno)})
		return
	}
	status := wait(pid, in.reaper)
	if in.reaper {
		endChildren()
	}
	reply(Reply{Phase: Ended, Status: uint32(status)})
	exit(0)
}

func reply(r Reply) {
	_, _ = syscall.Write(FD, unsafe.Slice((*byte)(unsafe.Pointer(&r)), ReplySize))
}

// read takes the script from the socket, whole, before anything of it is performed.
func (in *interpreter) read() bool {
	syscall.CloseOnExec(FD)
	var h Header
	if !readFull(unsafe.Slice((*byte)(unsafe.Pointer(&h)), unsafe.Sizeof(h))) || h.Magic != magic {
		return false
	}
	opSize := uint64(unsafe.Sizeof(Op{}))
	ops, reloc := uint64(h.Setup)+uint64(h.Child), uint64(h.Reloc)
	body := make([]uint64, (ops*opSize+reloc*4+uint64(h.Data)+7)/8) // words, for alignment
	all := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(body))), ops*opSize+reloc*4+uint64(h.Data))
	if ops == 0 || h.Data == 0 || !readFull(all) {
		return false
	}
	list := unsafe.Slice((*Op)(unsafe.Pointer(&all[0])), ops)
	in.setup, in.child = list[:h.Setup], list[h.Setup:]
	in.data = all[ops*opSize+reloc*4:]
	in.base = uintptr(unsafe.Pointer(&in.data[0]))
	in.reaper = h.Reaper == 1
	if reloc > 0 {
		for _, off := range unsafe.Slice((*uint32)(unsafe.Pointer(&all[ops*opSize])), reloc) {
			if off&again != 0 {
				continue
			}
			p := (*uint64)(unsafe.Pointer(&in.data[off : off+8][0]))
			*p += uint64(in.base)
		}
	}
	return true
}

func readFull(b []byte) bool {
	for len(b) > 0 {
		n, err := syscall.Read(FD, b)
		if err == syscall.EINTR { // package errors is not at hand here
			continue
		}
		if n <= 0 || err != nil {
			return false
		}
		b = b[n:]
	}
	return true
}

// args resolves the arguments of an operation.
func (in *interpreter) args(op *Op) (a [6]uintptr) {
	for i, kind := range op.Kind {
		switch kind {
		case Data:
			a[i] = in.base + uintptr(op.Arg[i])
		case Slot:
			a[i] = in.slot[op.Arg[i]]
		default:
			a[i] = uintptr(op.Arg[i])
		}
	}
	return a
}

// perform makes the calls in order until one fails that may not.
func (in *interpreter) perform(ops []Op) (at int, errno syscall.Errno) {
	for i := 0; i < len(ops); i++ {
		op := &ops[i]
		if op.NR == Patch {
			*(*int32)(unsafe.Pointer(&in.data[op.Arg[1] : op.Arg[1]+4][0])) = int32(in.slot[op.Arg[0]])
			continue
		}
		a := in.args(op)
		r, _, errno := syscall.RawSyscall6(uintptr(op.NR), a[0], a[1], a[2], a[3], a[4], a[5])
		switch {
		case errno == 0:
			in.slot[op.Store] = r
		case op.Flags&MayFail != 0, op.Flags&MayMiss != 0 && errno == syscall.ENOENT:
			i += int(op.Skip)
		default:
			return i, errno
		}
	}
	return 0, 0
}

// start has a child make its calls, the last of which is execve. Everything the child needs is
// resolved before: it is a copy of one thread of a Go process, without scheduler, collector or
// growing stacks, so it only makes system calls.
func (in *interpreter) start() (pid uintptr, at int, errno syscall.Errno) {
	for i := range in.child {
		for n, a := range in.args(&in.child[i]) {
			in.child[i].Arg[n] = uint64(a)
		}
	}
	// A signal would run Go's handler in the child, in our memory: so none comes before the script
	// has reset the handlers.
	const setMask = 2
	all, old := ^uint64(0), uint64(0)
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask,
		uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	var failure [2]uint64
	pid = vforkAndCall(&in.child[0], uintptr(len(in.child)), &failure)
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&old)), 0, 8, 0, 0)
	if int(pid) < 0 {
		return 0, len(in.child), syscall.Errno(-int(pid))
	}
	if failure[1] != 0 {
		_, _ = syscall.Wait4(int(pid), nil, 0, nil)
		return 0, int(failure[0]), syscall.Errno(failure[1])
	}
	return pid, 0, 0
}

// vforkAndCall makes the calls in a child that shares our memory, and returns in the parent when
// the child has executed a program or ended; failure then names the operation and its errno. The
// result is the child's pid or a negative errno.
//
//go:noescape
func vforkAndCall(ops *Op, n uintptr, failure *[2]uint64) (pid uintptr)

// The layout that the assembly knows.
var (
	_ [64 - unsafe.Sizeof(Op{})]byte
	_ [4 - unsafe.Offsetof(Op{}.Flags)]byte
	_ [16 - unsafe.Offsetof(Op{}.Arg)]byte
)

type pollFD struct {
	fd              int32
	events, revents int16
}

// wait reaps until the program has ended, and ends everything when the socket does.
func wait(pid uintptr, reaper bool) syscall.WaitStatus {
	const pidfdOpen, pollIn = 434, 1
	fds := [2]pollFD{{fd: FD, events: pollIn}, {fd: -1, events: pollIn}}
	timeout := syscall.Timespec{Sec: 1} // an orphan's end is told by a signal, which may come between two looks
	if fd, _, errno := syscall.RawSyscall(pidfdOpen, pid, 0, 0); errno == 0 {
		fds[1].fd = int32(fd)
	} else {
		timeout = syscall.Timespec{Nsec: 10e6} // before Linux 5.3
	}
	for {
		for {
			var status syscall.WaitStatus
			got, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
			if uintptr(got) == pid {
				return status
			}
			if got <= 0 || err != nil {
				break
			}
		}
		t := timeout
		// Not a raw call: the scheduler should sleep too.
		_, _, _ = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 2, uintptr(unsafe.Pointer(&t)), 0, 0, 0)
		if fds[0].revents != 0 {
			if !reaper {
				exit(0) // process 1 of the namespace: the kernel ends the others
			}
			endChildren()
			exit(0)
		}
	}
}

// endChildren ends every descendant: the death of a child makes its children ours, until there are
// none. A process of another user, which a program in the full view can start, is left after a
// while.
func endChildren() {
	const rounds = 1000
	for range rounds {
		for {
			got, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err == syscall.ECHILD { // package errors is not at hand here
				return
			}
			if got <= 0 {
				break
			}
		}
		killChildren()
		t := syscall.Timespec{Nsec: 1e6}
		_ = syscall.Nanosleep(&t, nil)
	}
}

// killChildren kills the children of this process, to which orphans are given.
func killChildren() {
	own := syscall.Getpid()
	dir, err := syscall.Open("/proc", syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_DIRECTORY, 0)
	if err != nil {
		return
	}
	defer func() { _ = syscall.Close(dir) }()
	buf := make([]byte, 32<<10)
	for {
		n, err := syscall.ReadDirent(dir, buf)
		if n <= 0 || err != nil {
			return
		}
		_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if pid, all := number(name); all && pid > 1 && parentOf(name) == own {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// parentOf reads the parent from /proc/PID/stat, or 0.
func parentOf(pid string) int {
	fd, err := syscall.Open("/proc/"+pid+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	var buf [256]byte
	n, _ := syscall.Read(fd, buf[:])
	_ = syscall.Close(fd)
	stat := string(buf[:max(n, 0)])
	for i := len(stat) - 1; i >= 0; i-- {
		// "PID (NAME) S PARENT ": the name may itself contain any character.
		if stat[i] == ')' && i+4 < len(stat) {
			parent, _ := number(stat[i+4:])
			return parent
		}
	}
	return 0
}

// number reads the decimal digits at the front of s; all is false when something follows.
func number(s string) (n int, all bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return n, false
		}
		n = 10*n + int(s[i]-'0')
	}
	return n, len(s) > 0
}
