#include "textflag.h"

// func vforkAndCall(ops *Op, n uintptr, failure *[2]uint64) (pid uintptr)
//
// The child shares the memory of its parent, which stands still meanwhile, and must leave it as it
// is: it keeps everything in registers, never touches the stack and never returns.
TEXT ·vforkAndCall(SB), NOSPLIT, $0-32
	MOVQ ops+0(FP), R12
	MOVQ n+8(FP), R13
	MOVQ failure+16(FP), BX
	MOVQ $0x4111, DI       // CLONE_VFORK | CLONE_VM | SIGCHLD
	XORQ SI, SI
	XORQ DX, DX
	XORQ R10, R10
	XORQ R8, R8
	MOVQ $56, AX           // SYS_clone
	SYSCALL
	TESTQ AX, AX
	JEQ  child
	MOVQ AX, pid+24(FP)
	RET

child:
	XORQ R14, R14          // the index

loop:
	CMPQ R14, R13
	JCC  exit
	MOVL 0(R12), AX        // Op.NR
	MOVQ 16(R12), DI       // Op.Arg
	MOVQ 24(R12), SI
	MOVQ 32(R12), DX
	MOVQ 40(R12), R10
	MOVQ 48(R12), R8
	MOVQ 56(R12), R9
	SYSCALL
	CMPQ AX, $0xfffffffffffff001
	JCS  next
	MOVWLZX 4(R12), CX     // Op.Flags
	TESTL $1, CX           // MayFail
	JNE  next
	NEGQ AX
	MOVQ R14, 0(BX)
	MOVQ AX, 8(BX)

exit:
	MOVQ $127, DI
	MOVQ $231, AX          // SYS_exit_group
	SYSCALL
	JMP  exit

next:
	ADDQ $64, R12          // the size of an Op
	ADDQ $1, R14
	JMP  loop
