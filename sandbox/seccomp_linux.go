package sandbox

import (
	"encoding/binary"
	"errors"
	"sync"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The filter is a list of what is refused. It stands under Landlock and the read-only mounts, for
// what these do not see: metadata, sockets, other processes, and the kernel's larger doors. System
// calls newer than this table answer ENOSYS, for which every caller has a fall-back.

// Offsets in struct seccomp_data. Both architectures of this table are little-endian: the low half
// of an argument comes first.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

const (
	allow     = uint32(unix.SECCOMP_RET_ALLOW)
	kill      = uint32(unix.SECCOMP_RET_KILL_PROCESS)
	denied    = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	noAccess  = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EACCES)
	noSuch    = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)
	noFamily  = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EAFNOSUPPORT)
	notTTY    = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOTTY)
	allBits   = ^uint32(0)
	x32Bit    = 0x40000000
	lastKnown = unix.SYS_LISTNS // the newest one that the table was written with
)

// A test compares the low 32 bits of an argument, which is all the kernel looks at for flags and
// descriptors: comparing 64 would let garbage in the upper half through.
type test struct {
	arg    int
	mask   uint32
	value  uint32
	differ bool // holds when the masked argument is not value
	then   uint32
}

// A rule judges one system call: the first test that holds decides, otherwise the last word.
type rule struct {
	nr        uintptr
	tests     []test
	otherwise uint32
}

// is lists tests that each let one value of the argument through.
func is(arg int, values ...uint32) []test {
	tests := make([]test, len(values))
	for i, v := range values {
		tests[i] = test{arg: arg, mask: allBits, value: v, then: allow}
	}
	return tests
}

// filterOptions says what the mounts, namespaces and Landlock below the filter already hold.
type filterOptions struct {
	metadata bool // chmod and its kin reach only what may be changed
	loopback bool // the network is a namespace of the run's own
	ipc      bool // System V IPC and message queues are the run's own
	signals  bool // signals reach only the run's own processes
	truncate bool // truncation is judged by Landlock or by the mounts
	writing  bool // there is something that may be written
}

var errArchitecture = errors.New("no system call table for this architecture")

// filters keeps what was assembled, by filterOptions.
var filters sync.Map

// assembledFilter is the filter for this architecture, as an array of struct sock_filter.
func assembledFilter(opts filterOptions) ([]byte, error) {
	if auditArch == 0 {
		return nil, errArchitecture
	}
	if known, ok := filters.Load(opts); ok {
		return known.([]byte), nil //nolint:errcheck // nothing else is stored in it
	}
	raw, err := bpf.Assemble(filterProgram(filterRules(opts)))
	if err != nil {
		return nil, err
	}
	program := make([]byte, 0, len(raw)*sizeofSockFilter)
	for _, in := range raw {
		program = append(program, byte(in.Op), byte(in.Op>>8), in.Jt, in.Jf)
		program = binary.LittleEndian.AppendUint32(program, in.K)
	}
	filters.Store(opts, program)
	return program, nil
}

const sizeofSockFilter = 8

func filterProgram(rules []rule) []bpf.Instruction {
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: kill},
		bpf.LoadAbsolute{Off: offNr, Size: 4},
		// x32 has bit 30 set, so this refuses it together with what is newer than the table.
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: lastKnown, SkipTrue: 1},
		bpf.RetConstant{Val: noSuch},
	}
	for _, r := range rules {
		body := r.instructions()
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(r.nr), SkipTrue: uint8(len(body))})
		prog = append(prog, body...)
	}
	return append(prog, bpf.RetConstant{Val: allow})
}

func (r rule) instructions() []bpf.Instruction {
	var body []bpf.Instruction
	for _, t := range r.tests {
		body = append(body, bpf.LoadAbsolute{Off: uint32(offArgs + 8*t.arg), Size: 4})
		if t.mask != allBits {
			body = append(body, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.mask})
		}
		cond := bpf.JumpNotEqual // skips the verdict
		if t.differ {
			cond = bpf.JumpEqual
		}
		body = append(body,
			bpf.JumpIf{Cond: cond, Val: t.value, SkipTrue: 1},
			bpf.RetConstant{Val: t.then})
	}
	return append(body, bpf.RetConstant{Val: r.otherwise})
}
