// Package stage is the process between package sandbox and the program that it runs: an
// interpreter for a list of system calls. It owns no policy; package sandbox writes the list.
//
// The interpreter is written in assembly and needs nothing around it, no runtime and no library:
// [Image] puts it into an executable of about a kilobyte, which starts in a tenth of the time
// of an empty Go program. Where such a file may not be executed, the program's own executable is
// started once more with [Name] as argv[0], and this package's init runs the same code. The
// package imports nothing but syscall and unsafe, and a test holds it to that: Go initializes
// packages as soon as what they import is ready, so its init runs before nearly every other.
package stage

import "unsafe"

// Name is argv[0] of the process that interprets a script.
const Name = "planmode-sandbox-stage"

// Ender is argv[0] of the program's own executable when it is to end all children of its process,
// and then itself.
const Ender = "planmode-sandbox-ender"

// FD is the descriptor that the interpreter finds its script on: one end of a stream socket. The
// script is read from it, a [Reply] is written to it, and its end of file means that the run is
// cancelled or that the program that started it is gone.
const FD = 3

// ExeFD is the program's own executable, for scripts that execute [Ender].
const ExeFD = 4

// An Op is one system call, or one of the interpreter's own operations.
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
	MayMiss             // ENOENT is passed over
	NotZero             // a result of 0 is a failure too
	Quiet               // a failure ends the process without a reply: another process gives one
)

// The interpreter's own operations.
const (
	// Patch writes the value Arg[0], as 32 bits, to the address Arg[1].
	Patch = 1<<30 + iota
	// Fork starts a process with the clone flags Arg[0], which goes on at the operation Arg[1] with
	// a copy of the memory. The result is its number.
	Fork
	// Spawn starts a process that goes on at the operation Arg[0], in the same memory, and waits
	// until it has executed a program. When it fails before, that operation has failed.
	Spawn
	// Decimal writes the value Arg[0] to the address Arg[1], as decimal digits and a NUL.
	Decimal
	// Wait reaps until the child Arg[0] has ended, and leaves its status at the address Arg[2].
	// When Arg[1], two struct pollfd of which the second is its pidfd, tells anything of the first,
	// it passes Skip operations over instead. Arg[3] is the address of a struct timespec, for Arg[4]
	// seconds and Arg[5] nanoseconds: an orphan's end may come between two looks.
	Wait
)

// MaxSlots is how many results can be stored: the highest slot.
const MaxSlots = 255

// Header begins a script. After it come the operations, the data and the relocations: offsets from
// the first operation to words that hold such an offset, which becomes an address.
type Header struct {
	Magic uint32
	Ops   uint32
	Data  uint32 // bytes, a multiple of 8
	Reloc uint32
}

// magic is not a format version: both ends are the same executable.
const magic = 0x706d7379

// A Script is what one run does, from the first operation to one that ends the process. Data at
// each offset of Reloc holds an offset of Data itself.
type Script struct {
	Ops   []Op
	Reloc []uint32
	Data  []byte
}

// Encode returns the script as the interpreter reads it, in the layout of memory.
func (s *Script) Encode() []byte {
	data := append([]byte(nil), s.Data...)
	for len(data)%8 != 0 {
		data = append(data, 0)
	}
	ops := append([]Op(nil), s.Ops...)
	base := len(ops) * opSize
	reloc := make([]uint32, 0, len(s.Reloc)+2*len(ops))
	for _, at := range s.Reloc {
		p := (*uint64)(unsafe.Pointer(&data[at : at+8][0]))
		*p += uint64(base)
		reloc = append(reloc, uint32(base)+at)
	}
	for i := range ops {
		for n, kind := range ops[i].Kind {
			if kind == Data {
				ops[i].Arg[n] += uint64(base)
				reloc = append(reloc, uint32(i*opSize+argOffset+8*n))
			}
		}
	}
	h := Header{Magic: magic, Ops: uint32(len(ops)), Data: uint32(len(data)), Reloc: uint32(len(reloc))}
	out := make([]byte, 0, int(unsafe.Sizeof(h))+base+len(data)+4*len(reloc))
	out = append(out, memory(&h, 1)...)
	if len(ops) > 0 {
		out = append(out, memory(&ops[0], len(ops))...)
	}
	out = append(out, data...)
	if len(reloc) > 0 {
		out = append(out, memory(&reloc[0], len(reloc))...)
	}
	return out
}

// The layout that the assembly knows.
const (
	opSize    = 64
	argOffset = 16
)

var (
	_ [opSize - unsafe.Sizeof(Op{})]byte
	_ [unsafe.Sizeof(Op{}) - opSize]byte
	_ [argOffset - unsafe.Offsetof(Op{}.Arg)]byte
	_ [unsafe.Offsetof(Op{}.Flags) - 4]byte
	_ [unsafe.Offsetof(Op{}.Skip) - 6]byte
	_ [unsafe.Offsetof(Op{}.Store) - 8]byte
	_ [unsafe.Offsetof(Op{}.Kind) - 10]byte
)

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
	Ended  = 1 // the program ran and ended
	Failed = 2 // an operation failed, and the program was not executed
)

// Decode reads the reply; ok is false when b is not one.
func (r *Reply) Decode(b []byte) (ok bool) {
	if uintptr(len(b)) != unsafe.Sizeof(*r) {
		return false
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(r)), len(b)), b)
	return r.Phase == Ended || r.Phase == Failed
}

// Encode returns the reply as Decode reads it.
func (r *Reply) Encode() []byte { return append([]byte(nil), memory(r, 1)...) }

// The layout of a reply.
const (
	ReplySize    = int(unsafe.Sizeof(Reply{}))
	StatusOffset = unsafe.Offsetof(Reply{}.Status)
)
