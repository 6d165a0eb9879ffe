package sandbox

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/planmode-dev/planmode/sandbox/internal/stage"
)

// script is the list of system calls that make one view, in the making. Package stage performs it
// in the helper, from the first operation on; forked and spawned processes go on at later ones.
type script struct {
	stage.Script
	steps []string // names of the operations
	slots uint16
	step  string
	err   *stepError // the first one; a path with a NUL, or too many slots
}

// An arg is an argument of a call.
type arg struct {
	kind  uint8
	value uint64
}

func imm[T ~int | ~uint | ~int32 | ~uint32 | ~int64 | ~uint64 | ~uintptr](v T) arg {
	return arg{stage.Imm, uint64(v)}
}

// atCWD is AT_FDCWD.
var atCWD = imm(unix.AT_FDCWD)

// A stepError is a step that cannot even be written down.
type stepError struct {
	step string
	err  error
}

// begin names the step that the following calls belong to.
func (s *script) begin(step string) { s.step = step }

// call adds a call that must succeed, and returns its operation for flags. The pointer is good
// until the next one is added.
func (s *script) call(nr uintptr, args ...arg) *stage.Op {
	op := stage.Op{NR: uint32(nr)}
	for i, a := range args {
		op.Kind[i], op.Arg[i] = a.kind, a.value
	}
	s.steps = append(s.steps, s.step)
	s.Ops = append(s.Ops, op)
	return &s.Ops[len(s.Ops)-1]
}

// fork adds a call that starts a process, which goes on where [script.land] says.
func (s *script) fork(flags uintptr) (pid arg, land int) {
	land = len(s.Ops)
	_, pid = s.open(stage.Fork, imm(flags), imm(0))
	return pid, land
}

// spawn is like fork for a process that shares the memory until it has executed a program.
func (s *script) spawn() (pid arg, land int) {
	land = len(s.Ops)
	_, pid = s.open(stage.Spawn, imm(0))
	return pid, land
}

// land has the process that the operation at started go on with what is added next.
func (s *script) land(at int) {
	op := &s.Ops[at]
	target := 0
	if op.NR == stage.Fork {
		target = 1
	}
	op.Arg[target] = uint64(len(s.Ops))
}

// open adds a call whose result, a descriptor, later ones use.
func (s *script) open(nr uintptr, args ...arg) (*stage.Op, arg) {
	s.slots++
	if s.slots > stage.MaxSlots {
		s.fail(fmt.Errorf("more than %d descriptors", stage.MaxSlots))
		s.slots = 1
	}
	op := s.call(nr, args...)
	op.Store = s.slots
	return op, arg{stage.Slot, uint64(s.slots)}
}

// reuse gives the slots from mark on free again, when what they held is closed.
func (s *script) reuse(mark uint16) { s.slots = mark }

func (s *script) close(fd arg) { s.call(unix.SYS_CLOSE, fd) }

func (s *script) fail(err error) {
	if s.err == nil {
		s.err = &stepError{s.step, err}
	}
}

// bytes puts b into the data and returns its address.
func (s *script) bytes(b []byte) arg {
	for len(s.Data)%8 != 0 {
		s.Data = append(s.Data, 0)
	}
	at := uint64(len(s.Data))
	s.Data = append(s.Data, b...)
	if len(b) == 0 {
		s.Data = append(s.Data, 0)
	}
	return arg{stage.Data, at}
}

// text is a C string.
func (s *script) text(t string) arg {
	if strings.IndexByte(t, 0) >= 0 {
		s.fail(fmt.Errorf("%q contains a NUL", t))
	}
	return s.bytes(append([]byte(t), 0))
}

// texts is a list of C strings that ends with a null pointer.
func (s *script) texts(list []string) arg {
	words := make([]byte, 8*(len(list)+1))
	var at []uint64
	for _, t := range list {
		at = append(at, s.text(t).value)
	}
	a := s.bytes(words)
	for i, off := range at {
		s.pointer(a.value+uint64(8*i), off)
	}
	return a
}

// pointer has the word of the data at offset at hold the address of the offset to.
func (s *script) pointer(at, to uint64) {
	binary.NativeEndian.PutUint64(s.Data[at:], to)
	s.Reloc = append(s.Reloc, uint32(at))
}

// object is the memory of one value without pointers.
func object[T any](s *script, v T) arg {
	return s.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
}

// patch writes the descriptor in a slot into the data, 32 bits wide.
func (s *script) patch(at uint64, fd arg) { s.call(stage.Patch, fd, arg{stage.Data, at}) }

// optional runs add, whose first call may fail: then the rest of it is passed over.
func (s *script) optional(flags uint16, add func()) {
	first := len(s.Ops)
	add()
	s.Ops[first].Flags |= flags
	s.Ops[first].Skip = uint16(len(s.Ops) - first - 1)
}

// name tells which step an operation belongs to.
func (s *script) name(index uint32) string {
	if int(index) < len(s.steps) {
		return s.steps[index]
	}
	return "helper"
}
