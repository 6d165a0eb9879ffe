package sandbox

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A call is one system call that the child makes between fork and exec. Between the two only
// system calls are possible: the child is a copy of one thread of a Go process, without scheduler,
// collector or growing stacks. So everything it does is prepared as a list.
type call struct {
	nr       uintptr
	args     [6]uintptr
	optional bool // an error is passed over
	name     string
}

// calls is that list, with the memory that the addresses in it point to.
type calls struct {
	list []call
	keep []any
}

func (c *calls) add(name string, nr uintptr, args ...uintptr) {
	c.list = append(c.list, call{nr: nr, name: name, args: pad(args)})
}

func (c *calls) try(name string, nr uintptr, args ...uintptr) {
	c.list = append(c.list, call{nr: nr, name: name, args: pad(args), optional: true})
}

func pad(args []uintptr) (six [6]uintptr) {
	copy(six[:], args)
	return six
}

// pin returns the address of p, which stays valid as long as c lives: Go's collector does not move
// what is on the heap, and keep makes p escape to it.
func pin[T any](c *calls, p *T) uintptr {
	c.keep = append(c.keep, p)
	return uintptr(unsafe.Pointer(p))
}

func (c *calls) text(s string) (uintptr, error) {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		return 0, err
	}
	return pin(c, p), nil
}

func (c *calls) texts(ss []string) (uintptr, error) {
	list := make([]*byte, len(ss)+1) // ends with nil
	for i, s := range ss {
		p, err := unix.BytePtrFromString(s)
		if err != nil {
			return 0, err
		}
		list[i] = p
	}
	c.keep = append(c.keep, list)
	return pin(c, &list[0]), nil
}

// exec appends the last call.
func (c *calls) exec(path string, argv, env []string) error {
	p, err1 := c.text(path)
	a, err2 := c.texts(argv)
	e, err3 := c.texts(env)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	c.add(execStep, unix.SYS_EXECVE, p, a, e)
	return nil
}

const execStep = "exec"

// start forks and has the child make the calls. It returns when the child has made the last one,
// execve, or with the step that failed.
func (c *calls) start() (pid int, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, step("pipe", err)
	}
	defer r.Close()
	child, errno := forkAndCall(0, c.list, w.Fd())
	runtime.KeepAlive(c)
	closeAll(w)
	if errno != 0 {
		return 0, step("fork", errno)
	}
	var report [16]byte
	if n, _ := r.Read(report[:]); n < len(report) {
		return int(child), nil
	}
	_, _ = unix.Wait4(int(child), nil, 0, nil)
	at := binary.NativeEndian.Uint64(report[:])
	return 0, step(c.list[at].name, syscall.Errno(binary.NativeEndian.Uint64(report[8:])))
}

// forkAndCall returns in the parent only. It must not grow its stack, allocate, or be preempted in
// the child, hence the directives and the bare loop.
//
//go:nosplit
//go:noinline
//go:norace
func forkAndCall(flags uintptr, list []call, report uintptr) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, flags|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	for i := range list {
		c := &list[i]
		_, _, errno = syscall.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if errno != 0 && !c.optional {
			failure := [2]uint64{uint64(i), uint64(errno)}
			syscall.RawSyscall(unix.SYS_WRITE, report, uintptr(unsafe.Pointer(&failure)), 16)
			break
		}
	}
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 127, 0, 0)
	}
}
