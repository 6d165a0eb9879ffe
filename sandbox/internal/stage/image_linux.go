//go:build linux && (amd64 || arm64)

package stage

// elfHeader and programHeader are those of elf(5), for 64 bits.
type elfHeader struct {
	ident                    [16]byte
	kind, machine            uint16
	version                  uint32
	entry, phoff, _          uint64 // _: of the sections, which there are not
	_                        uint32
	ehsize, phentsize, phnum uint16
	_                        [3]uint16
}

type programHeader struct {
	kind, flags                           uint32
	_, vaddr, paddr, filesz, memsz, align uint64 // _: the offset, which is 0
}

// Image returns an executable file that is the interpreter alone.
func Image() []byte {
	const (
		headers  = 64 + 2*56 + 16 // and 16 for the alignment of the code
		address  = 0x400000
		align    = 0x10000 // the largest page
		load     = 1       // PT_LOAD
		gnuStack = 0x6474e551
		r, w, x  = 4, 2, 1
	)
	program := body(code())
	size := uint64(headers + len(program))
	h := elfHeader{
		ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, // 64 bits, little-endian, version 1
		kind:  2, machine: machine, version: 1,        // ET_EXEC
		entry: address + headers, phoff: 64, ehsize: 64, phentsize: 56, phnum: 2,
	}
	segments := [2]programHeader{
		{kind: load, flags: r | x, vaddr: address, paddr: address, filesz: size, memsz: size, align: align},
		{kind: gnuStack, flags: r | w, align: 16},
	}
	out := append(make([]byte, 0, size), memory(&h, 1)...)
	out = append(out, memory(&segments, 1)...)
	out = append(out, make([]byte, headers-len(out))...)
	return append(out, program...)
}

// body is the interpreter's code, up to its end mark.
func body(code *[codeMax]byte) []byte {
	for n := range codeMax - len(codeEnd) {
		if string(code[n:n+len(codeEnd)]) == codeEnd {
			return code[:n]
		}
	}
	return nil
}
