//go:build linux && (amd64 || arm64)

package stage

import (
	"syscall"
	"unsafe"
)

func init() {
	switch argv0() {
	case Name:
		// Go's handlers must not run in the processes that the script starts; the script unblocks.
		const setMask = 2
		all := ^uint64(0)
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&all)), 0, 8, 0, 0)
		interpret()
	case Ender:
		const dumpable = 4 // PR_SET_DUMPABLE
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, dumpable, 0, 0)
		endChildren()
		exit(0)
	}
}

// interpret reads a script from FD and performs it. It never returns.
func interpret()

// code returns where the interpreter stands in memory; codeEnd follows it.
func code() *[codeMax]byte

const codeMax = 4096

// codeEnd stands behind the last instruction of the interpreter.
const codeEnd = "planmode-code-en"

// argv0 returns argv[0] when it is as long as ours. Package os, which would know it, is not
// initialized yet.
func argv0() string {
	fd, err := syscall.Open("/proc/self/cmdline", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	var head [len(Name) + 1]byte // Ender is as long
	n, _ := syscall.Read(fd, head[:])
	_ = syscall.Close(fd)
	if n < len(head) || head[len(Name)] != 0 {
		return ""
	}
	return string(head[:len(Name)])
}

var (
	_ [len(Name) - len(Ender)]byte
	_ [len(Ender) - len(Name)]byte
)

func exit(code uintptr) {
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, code, 0, 0)
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
