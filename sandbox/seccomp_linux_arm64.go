package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// refusedOld and metadataOld are the calls that only older architectures have.
var (
	refusedOld  = []uintptr{unix.SYS_KEXEC_FILE_LOAD}
	metadataOld []uintptr
)

func rulesOld(filterOptions) []rule { return nil }
