#include "textflag.h"

// func vforkAndCall(ops *Op, n uintptr, failure *[2]uint64) (pid uintptr)
//
// The child shares the memory of its parent, which stands still meanwhile, and must leave it as it
// is: it keeps everything in registers, never touches the stack and never returns.
TEXT ·vforkAndCall(SB), NOSPLIT, $0-32
	MOVD ops+0(FP), R19
	MOVD n+8(FP), R20
	MOVD failure+16(FP), R21
	MOVD $0x4111, R0       // CLONE_VFORK | CLONE_VM | SIGCHLD
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $220, R8          // SYS_clone
	SVC
	CBZ  R0, child
	MOVD R0, pid+24(FP)
	RET

child:
	MOVD ZR, R22           // the index

loop:
	CMP  R20, R22
	BHS  exit
	MOVWU 0(R19), R8       // Op.NR
	MOVD 16(R19), R0       // Op.Arg
	MOVD 24(R19), R1
	MOVD 32(R19), R2
	MOVD 40(R19), R3
	MOVD 48(R19), R4
	MOVD 56(R19), R5
	SVC
	CMN  $4095, R0
	BLO  next
	MOVHU 4(R19), R6       // Op.Flags
	TBNZ $0, R6, next      // MayFail
	NEG  R0, R0
	MOVD R22, 0(R21)
	MOVD R0, 8(R21)

exit:
	MOVD $127, R0
	MOVD $94, R8           // SYS_exit_group
	SVC
	B    exit

next:
	ADD  $64, R19          // the size of an Op
	ADD  $1, R22
	B    loop
