#include "textflag.h"

// The interpreter is copied into an executable of its own, so it refers to no symbol, and it calls
// nothing. Its memory is one mapping: the slots, the scratch area, the script.
//
//	R19  the operation
//	R20  the first operation
//	R21  the end of the operations
//	R22  the slots
//	R23  1 in a process that Spawn started
//
// System calls leave all registers but R0 as they are.

#define scratch 2048 // a reply
#define failedAt 2064 // what Spawn's process tells: the operation that failed
#define failedBy 2072 // and its errno
#define digitsEnd 2104 // after room for a number, written backwards
#define script 2112

// ARG loads an argument, or the slot that it names. R9, R10 and the flags are lost.
#define ARG(i, reg) \
	MOVD (16+8*i)(R19), reg; \
	MOVBU (10+i)(R19), R9; \
	CMP  $2, R9; \
	CSEL EQ, reg, ZR, R10; \
	MOVD (R22)(R10<<3), R10; \
	CSEL EQ, R10, reg, reg

// func interpret()
TEXT ·interpret(SB), NOSPLIT|NOFRAME, $0-0
	SUB  $64, RSP
	MOVD RSP, R25
	MOVD ZR, R23               // the header comes first
	MOVD R25, R11
	MOVD $16, R12

read:
	MOVD $3, R0
	MOVD R11, R1
	MOVD R12, R2
	MOVD $63, R8               // SYS_read
	SVC
	CMP  $0, R0
	BLE  die
	ADD  R0, R11
	SUBS R0, R12
	BNE  read
	CBNZ R23, loaded

	MOVWU 0(R25), R0
	MOVD $0x706d7379, R1       // magic
	CMP  R1, R0
	BNE  die
	MOVWU 4(R25), R21          // operations
	LSL  $6, R21
	MOVWU 8(R25), R0           // data
	ADD  R21, R0, R23
	MOVWU 12(R25), R0          // relocations
	ADD  R0<<2, R23            // never 0, or reading ends at once
	ADD  $script, R23, R1
	MOVD ZR, R0
	MOVD $3, R2                // PROT_READ | PROT_WRITE
	MOVD $0x8022, R3           // MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE
	MOVD $-1, R4
	MOVD ZR, R5
	MOVD $222, R8              // SYS_mmap
	SVC
	CMN  $4095, R0
	BHS  die
	MOVD R0, R22
	ADD  $script, R22, R20
	ADD  R20, R21
	MOVD R20, R11
	MOVD R23, R12
	CBNZ R12, read
	B    die

loaded:
	MOVWU 8(R25), R0
	ADD  R21, R0, R1
	MOVWU 12(R25), R2

relocate:
	CBZ  R2, start
	MOVWU (R1), R0
	ADD  R20, R0
	MOVD (R0), R3
	ADD  R20, R3
	MOVD R3, (R0)
	ADD  $4, R1
	SUB  $1, R2
	B    relocate

start:
	MOVD ZR, R23
	MOVD R20, R19

loop:
	CMP  R21, R19
	BHS  die
	ARG(0, R0)
	ARG(1, R1)
	ARG(2, R2)
	ARG(3, R3)
	ARG(4, R4)
	ARG(5, R5)
	MOVWU 0(R19), R8
	TBNZ $30, R8, own
	SVC

result:
	CMN  $4095, R0
	BHS  fail
	CBNZ R0, store
	MOVHU 4(R19), R1
	TBNZ $2, R1, report        // NotZero

store:
	MOVHU 8(R19), R1
	MOVD R0, (R22)(R1<<3)

next:
	ADD  $64, R19
	B    loop

fail:
	NEG  R0, R0
	MOVHU 4(R19), R1
	TBNZ $0, R1, skip          // MayFail
	CMP  $2, R0                // ENOENT
	BNE  report
	TBZ  $1, R1, report        // MayMiss

skip:
	MOVHU 6(R19), R1
	ADD  R1<<6, R19
	B    next

report:                      // R0 is the errno, or 0
	SUB  R20, R19, R1
	LSR  $6, R1
	CBNZ R23, tell
	MOVHU 4(R19), R2
	TBNZ $3, R2, die           // Quiet

reply:                       // the operation R1 failed with R0
	MOVD $2, R2                // Failed
	MOVW R2, scratch(R22)
	MOVW R1, (scratch+4)(R22)
	MOVW R0, (scratch+8)(R22)
	MOVD $3, R0
	ADD  $scratch, R22, R1
	MOVD $16, R2
	MOVD $0x4000, R3           // MSG_NOSIGNAL
	MOVD ZR, R4
	MOVD ZR, R5
	MOVD $206, R8              // SYS_sendto
	SVC

die:
	MOVD $125, R0
	MOVD $94, R8               // SYS_exit_group
	SVC
	B    die

tell:                        // in the memory that is the parent's too
	MOVD R1, failedAt(R22)
	MOVD R0, failedBy(R22)
	B    die

own:
	AND  $0xff, R8
	CBZ  R8, patch
	CMP  $1, R8
	BEQ  fork
	CMP  $2, R8
	BEQ  spawn
	CMP  $3, R8
	BEQ  decimal
	CMP  $4, R8
	BEQ  wait
	B    die

patch:
	MOVW R0, (R1)
	B    next

fork:
	ORR  $17, R0               // SIGCHLD
	MOVD R1, R11
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $220, R8              // SYS_clone
	SVC
	CBNZ R0, result

goto:                        // the operation R11
	ADD  R11<<6, R20, R19
	B    loop

spawn:
	MOVD R0, R11
	MOVD $0x4111, R0           // CLONE_VFORK | CLONE_VM | SIGCHLD
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $220, R8              // SYS_clone
	SVC
	CBNZ R0, spawned
	MOVD $1, R23
	B    goto

spawned:
	MOVD failedAt(R22), R1
	MOVD failedBy(R22), R2
	CBZ  R2, result
	MOVD R2, R0
	B    reply

decimal:
	ADD  $digitsEnd, R22, R2
	MOVD R2, R3
	MOVD $10, R4

digit:
	UDIV R4, R0, R5
	MSUB R4, R0, R5, R6        // the remainder
	ADD  $48, R6
	SUB  $1, R2
	MOVB R6, (R2)
	MOVD R5, R0
	CBNZ R0, digit

copy:
	MOVBU (R2), R0
	MOVB R0, (R1)
	ADD  $1, R2
	ADD  $1, R1
	CMP  R3, R2
	BNE  copy
	MOVB ZR, (R1)
	B    next

wait:
	MOVD R0, R11
	MOVD $-1, R0
	MOVD R2, R1
	MOVD $1, R2                // WNOHANG
	MOVD ZR, R3
	MOVD $260, R8              // SYS_wait4
	SVC
	CMP  R11, R0
	BEQ  next
	CMP  $0, R0
	BGT  loop                  // an orphan; look again
	ARG(1, R0)
	ARG(3, R2)
	ARG(4, R4)
	ARG(5, R5)
	MOVD R4, 0(R2)
	MOVD R5, 8(R2)
	MOVD $2, R1
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $73, R8               // SYS_ppoll
	SVC
	ARG(1, R0)
	MOVHU 6(R0), R1            // revents of the first
	CBNZ R1, skip
	B    loop

	// codeEnd
	WORD $0x6e616c70
	WORD $0x65646f6d
	WORD $0x646f632d
	WORD $0x6e652d65

// func code() *[codeMax]byte
TEXT ·code(SB), NOSPLIT, $0-8
	MOVD $·interpret(SB), R0
	MOVD R0, ret+0(FP)
	RET
