package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// refusedOld and metadataOld are the calls that only older architectures have.
var refusedOld = []uintptr{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_USELIB, unix.SYS__SYSCTL, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_CREATE_MODULE, unix.SYS_QUERY_MODULE, unix.SYS_GET_KERNEL_SYMS,
}

var metadataOld = []uintptr{
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}

func rulesOld(o filterOptions) []rule {
	rules := []rule{
		{unix.SYS_MKNOD, nodeTypes(1), denied},
		{unix.SYS_OPEN, o.openTests(1), denied},
		{unix.SYS_CREAT, plainMode(1), denied},
	}
	if o.metadata {
		rules = append(rules, rule{unix.SYS_CHMOD, plainMode(1), denied})
	}
	return rules
}
