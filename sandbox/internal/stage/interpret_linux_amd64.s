#include "textflag.h"

// The interpreter is copied into an executable of its own, so it refers to no symbol, and it calls
// nothing. Its memory is one mapping: the slots, the scratch area, the script.
//
//	R12  the operation
//	R13  the first operation
//	R15  the end of the operations
//	BX   the slots
//	R14  1 in a process that Spawn started
//
// System calls leave all registers but AX, CX and R11 as they are.

#define scratch 2048 // a reply
#define failedAt 2064 // what Spawn's process tells: the operation that failed
#define failedBy 2072 // and its errno
#define digitsEnd 2104 // after room for a number, written backwards
#define script 2112

// ARG loads an argument, or the slot that it names. AX, CX and the flags are lost.
#define ARG(i, reg) \
	MOVQ (16+8*i)(R12), reg; \
	XORL AX, AX; \
	CMPB (10+i)(R12), $2; \
	CMOVQEQ reg, AX; \
	MOVQ (BX)(AX*8), AX; \
	CMOVQEQ AX, reg

// func interpret()
TEXT ·interpret(SB), NOSPLIT|NOFRAME, $0-0
	SUBQ $64, SP
	XORL R14, R14              // the header comes first
	MOVQ SP, R8
	MOVL $16, R9

read:
	MOVL $3, DI
	MOVQ R8, SI
	MOVQ R9, DX
	XORL AX, AX                // SYS_read
	SYSCALL
	TESTQ AX, AX
	JLE  die
	ADDQ AX, R8
	SUBQ AX, R9
	JNE  read
	TESTL R14, R14
	JNE  loaded

	CMPL 0(SP), $0x706d7379    // magic
	JNE  die
	MOVL 4(SP), R12            // operations
	SHLQ $6, R12
	MOVQ R12, SI
	MOVL 8(SP), AX             // data
	ADDQ AX, SI
	MOVL 12(SP), AX            // relocations
	LEAQ (SI)(AX*4), SI
	MOVQ SI, R14               // never 0, or reading ends at once
	ADDQ $script, SI
	XORL DI, DI
	MOVL $3, DX                // PROT_READ | PROT_WRITE
	MOVL $0x8022, R10          // MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE
	MOVQ $-1, R8
	XORL R9, R9
	MOVL $9, AX                // SYS_mmap
	SYSCALL
	CMPQ AX, $0xfffffffffffff001
	JCC  die
	MOVQ AX, BX
	LEAQ script(BX), R13
	LEAQ (R13)(R12*1), R15
	MOVQ R13, R8
	MOVQ R14, R9
	TESTQ R9, R9
	JNE  read
	JMP  die

loaded:
	MOVL 8(SP), AX
	LEAQ (R15)(AX*1), SI
	MOVL 12(SP), CX

relocate:
	TESTL CX, CX
	JEQ  start
	MOVL (SI), AX
	ADDQ R13, (R13)(AX*1)
	ADDQ $4, SI
	SUBL $1, CX
	JMP  relocate

start:
	XORL R14, R14
	MOVQ R13, R12

loop:
	CMPQ R12, R15
	JCC  die
	ARG(0, DI)
	ARG(1, SI)
	ARG(2, DX)
	ARG(3, R10)
	ARG(4, R8)
	ARG(5, R9)
	MOVL 0(R12), AX
	CMPL AX, $0x40000000
	JCC  own
	SYSCALL

result:
	CMPQ AX, $0xfffffffffffff001
	JCC  fail
	TESTQ AX, AX
	JNE  store
	TESTB $4, 4(R12)           // NotZero
	JNE  report

store:
	MOVWLZX 8(R12), CX
	MOVQ AX, (BX)(CX*8)

next:
	ADDQ $64, R12
	JMP  loop

fail:
	NEGQ AX
	MOVBLZX 4(R12), CX
	TESTL $1, CX               // MayFail
	JNE  skip
	CMPQ AX, $2                // ENOENT
	JNE  report
	TESTL $2, CX               // MayMiss
	JEQ  report

skip:
	MOVWLZX 6(R12), CX
	SHLQ $6, CX
	ADDQ CX, R12
	JMP  next

report:                      // AX is the errno, or 0
	MOVQ R12, CX
	SUBQ R13, CX
	SHRQ $6, CX
	TESTL R14, R14
	JNE  tell
	TESTB $8, 4(R12)           // Quiet
	JNE  die

reply:                       // the operation CX failed with AX
	MOVL $2, scratch(BX)       // Failed
	MOVL CX, (scratch+4)(BX)
	MOVL AX, (scratch+8)(BX)
	MOVL $3, DI
	LEAQ scratch(BX), SI
	MOVL $16, DX
	MOVL $0x4000, R10          // MSG_NOSIGNAL
	XORL R8, R8
	XORL R9, R9
	MOVL $44, AX               // SYS_sendto
	SYSCALL

die:
	MOVL $125, DI
	MOVL $231, AX              // SYS_exit_group
	SYSCALL
	JMP  die

tell:                        // in the memory that is the parent's too
	MOVQ CX, failedAt(BX)
	MOVQ AX, failedBy(BX)
	JMP  die

own:
	SUBL $0x40000000, AX
	JEQ  patch
	CMPL AX, $1
	JEQ  fork
	CMPL AX, $2
	JEQ  spawn
	CMPL AX, $3
	JEQ  decimal
	CMPL AX, $4
	JEQ  wait
	JMP  die

patch:
	MOVL DI, (SI)
	JMP  next

fork:
	ORQ  $17, DI               // SIGCHLD
	MOVQ SI, R9
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	MOVL $56, AX               // SYS_clone
	SYSCALL
	TESTQ AX, AX
	JNE  result

goto:                        // the operation R9
	MOVQ R9, R12
	SHLQ $6, R12
	ADDQ R13, R12
	JMP  loop

spawn:
	MOVQ DI, R9
	MOVL $0x4111, DI           // CLONE_VFORK | CLONE_VM | SIGCHLD
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	MOVL $56, AX               // SYS_clone
	SYSCALL
	TESTQ AX, AX
	JNE  spawned
	MOVL $1, R14
	JMP  goto

spawned:
	MOVQ failedAt(BX), CX
	CMPQ failedBy(BX), $0
	JEQ  result
	MOVQ failedBy(BX), AX
	JMP  reply

decimal:
	MOVQ DI, AX
	LEAQ digitsEnd(BX), DI
	MOVL $10, R8

digit:
	XORL DX, DX
	DIVQ R8
	ADDL $48, DX
	SUBQ $1, DI
	MOVB DX, (DI)
	TESTQ AX, AX
	JNE  digit
	LEAQ digitsEnd(BX), R8

copy:
	MOVB (DI), AX
	MOVB AX, (SI)
	ADDQ $1, DI
	ADDQ $1, SI
	CMPQ DI, R8
	JNE  copy
	MOVB $0, (SI)
	JMP  next

wait:
	MOVQ DI, R9
	MOVQ $-1, DI
	MOVQ DX, SI
	MOVL $1, DX                // WNOHANG
	XORL R10, R10
	MOVL $61, AX               // SYS_wait4
	SYSCALL
	CMPQ AX, R9
	JEQ  next
	TESTQ AX, AX
	JGT  loop                  // an orphan; look again
	ARG(1, DI)
	ARG(3, DX)
	ARG(4, R8)
	ARG(5, R9)
	MOVQ R8, 0(DX)
	MOVQ R9, 8(DX)
	MOVL $2, SI
	XORL R10, R10
	XORL R8, R8
	MOVL $271, AX              // SYS_ppoll
	SYSCALL
	ARG(1, DI)
	CMPW 6(DI), $0             // revents of the first
	JNE  skip
	JMP  loop

	// codeEnd
	LONG $0x6e616c70
	LONG $0x65646f6d
	LONG $0x646f632d
	LONG $0x6e652d65

// func code() *[codeMax]byte
TEXT ·code(SB), NOSPLIT, $0-8
	LEAQ ·interpret(SB), AX
	MOVQ AX, ret+0(FP)
	RET
