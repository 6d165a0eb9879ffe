// Package stage is the process between package sandbox and the program that it runs: an
// interpreter for a list of system calls. It owns no policy; package sandbox writes the list.
//
// It imports nothing but syscall and unsafe, and a test holds it to that. Go initializes packages
// as soon as what they import is ready, so this package's init runs before that of nearly every
// other package of the program. The helper is the program's own executable started once more, and
// so costs what an empty Go program costs, however large the program is.
package stage

import "unsafe"

// Name is argv[0] of the process that the interpreter takes over.
const Name = "planmode-sandbox-stage"

// FD is the descriptor that the process finds its script on: one end of a stream socket. The
// script is read from it, a [Reply] is written to it, and its end of file means that the run is
// cancelled or that the program that started it is gone.
const FD = 3

// An Op is one system call.
type Op struct {
	NR    uint32
	Flags uint16
	Skip  uint16 // how many of the next operations are passed over when this one fails and may
	Store uint16 // the slot that keeps the result; 0 is none
	Kind  [6]uint8
	Arg   [6]uint64
}

// The kinds of an argument.
const (
	Imm  = 0 // the value itself
	Data = 1 // the address of this offset in the data
	Slot = 2 // what an earlier operation stored
)

// The flags of an operation.
const (
	MayFail = 1 << iota // any error is passed over
	MayMiss             // ENOENT is passed over; not for the child
)

// Patch is the number of a call that is none: it writes the slot Arg[0], as 32 bits, to the offset
// Arg[1] of the data.
const Patch = 1 << 30

const slots = 256

// Header begins a script. After it come the operations of the helper, those of the child between
// fork and exec, the relocations and the data.
type Header struct {
	Magic  uint32
	Setup  uint32
	Child  uint32
	Reloc  uint32
	Data   uint32
	Reaper uint32 // 1: end and reap what the program leaves behind; otherwise the pid namespace does
}

// magic is not a format version: both ends are the same executable.
const magic = 0x706d7378

// A Script is what one run does. Data at each offset of Reloc holds an offset itself, which becomes
// an address.
type Script struct {
	Setup, Child []Op
	Reloc        []uint32
	Data         []byte
	Reaper       bool
}

// Encode returns the script as the helper reads it, in the layout of memory.
func (s *Script) Encode() []byte {
	for len(s.Reloc)%2 != 0 {
		s.Reloc = append(s.Reloc, s.Reloc[0]|again)
	}
	h := Header{
		Magic: magic, Setup: uint32(len(s.Setup)), Child: uint32(len(s.Child)),
		Reloc: uint32(len(s.Reloc)), Data: uint32(len(s.Data)),
	}
	if s.Reaper {
		h.Reaper = 1
	}
	size := int(unsafe.Sizeof(h)) + (len(s.Setup)+len(s.Child))*int(unsafe.Sizeof(Op{})) + 4*len(s.Reloc) + len(s.Data)
	out := append(make([]byte, 0, size), memory(&h, 1)...)
	for _, ops := range [][]Op{s.Setup, s.Child} {
		if len(ops) > 0 {
			out = append(out, memory(&ops[0], len(ops))...)
		}
	}
	if len(s.Reloc) > 0 {
		out = append(out, memory(&s.Reloc[0], len(s.Reloc))...)
	}
	return append(out, s.Data...)
}

// again marks a relocation that only fills up to a whole number of words.
const again = 1 << 31

func memory[T any](p *T, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), n*int(unsafe.Sizeof(*p)))
}

// A Reply is how the run went.
type Reply struct {
	Phase  uint32
	Index  uint32 // of the operation that failed
	Errno  uint32
	Status uint32 // wait status of the program
}

// The phases that a run can end in.
const (
	Ended       = 1 // the program ran and ended
	SetupFailed = 2 // nothing was started
	ChildFailed = 3 // the program was not executed
)

// Decode reads the reply; ok is false when b is not one.
func (r *Reply) Decode(b []byte) (ok bool) {
	if uintptr(len(b)) != unsafe.Sizeof(*r) {
		return false
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(r)), len(b)), b)
	return r.Phase >= Ended && r.Phase <= ChildFailed
}

// ReplySize is the length of an encoded reply.
const ReplySize = int(unsafe.Sizeof(Reply{}))
