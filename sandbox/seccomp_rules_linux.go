//go:build linux && (amd64 || arm64)

package sandbox

import "golang.org/x/sys/unix"

// refused are the calls that no confined process may make, whatever the view.
var refused = []uintptr{
	// Other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PROCESS_MRELEASE, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	// Keys, and programs in the kernel.
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
	unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE,
	// Mounts and namespaces, the old interface and the new one.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT,
	// The machine.
	unix.SYS_REBOOT, unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_VHANGUP, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_NFSSERVCTL,
}

// absent are calls that are answered as by an older kernel, because their arguments lie in memory
// where a filter cannot look, and their callers know another way.
var absent = []uintptr{
	unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// metadata are the calls that change a file without opening it for writing. Landlock does not see
// them.
var metadata = []uintptr{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// ioctls that read. Everything that is not listed is refused, so that TIOCSTI, FS_IOC_SETFLAGS and
// the thousands that drivers define need no list of their own.
var readingIoctls = []uint32{
	unix.TCGETS, unix.TCGETS2, unix.TIOCGWINSZ, unix.TIOCGPGRP, unix.TIOCSPGRP, unix.TIOCGSID, unix.TIOCOUTQ,
	fioNRead, fioNBIO, fioAsync, fioClex, fioNClex, fioQSize, fiGetBSZ,
	unix.FS_IOC_GETFLAGS, fsGetVersion, fsGetXattr, fsFiemap, unix.BLKGETSIZE64, unix.BLKSSZGET,
}

// From asm-generic/ioctls.h and linux/fs.h; the two architectures of this table share them.
const (
	fioNRead     = 0x541b
	fioNBIO      = 0x5421
	fioNClex     = 0x5450
	fioClex      = 0x5451
	fioAsync     = 0x5452
	fioQSize     = 0x5460
	fiGetBSZ     = 2
	fsGetVersion = 0x80087601
	fsGetXattr   = 0x801c581f
	fsFiemap     = 0xc020660b
)

// ioctls for views in which something may be written: reflinks need a destination that is open
// for writing, and network ones reach only the run's own loopback.
var writingIoctls = []uint32{
	unix.FICLONE, unix.FICLONERANGE,
	unix.SIOCGIFCONF, unix.SIOCGIFFLAGS, unix.SIOCGIFADDR, unix.SIOCGIFINDEX, unix.SIOCGIFMTU, unix.SIOCGIFNAME,
}

// harmless are the signals that threads of one process send one another through tgkill: Go's
// preemption, and glibc's cancellation and set*id.
var harmless = []uint32{0, uint32(unix.SIGURG), 32, 33, 34}

const newNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// filterRules is the table for one run.
func filterRules(opts filterOptions) []rule {
	var rules []rule
	all := func(verdict uint32, nrs ...uintptr) {
		for _, nr := range nrs {
			rules = append(rules, rule{nr: nr, otherwise: verdict})
		}
	}
	all(denied, refused...)
	all(denied, refusedOld...)
	all(noSuch, absent...)
	if opts.metadata {
		rules = append(rules, plainModes()...)
	} else {
		all(denied, metadata...)
		all(denied, metadataOld...)
	}
	if !opts.ipc {
		all(denied, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMCTL,
			unix.SYS_SEMTIMEDOP, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
			unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK)
	}
	rules = append(rules,
		rule{unix.SYS_CLONE, []test{{arg: 0, mask: newNamespace, value: 0, then: allow}}, denied},
		rule{unix.SYS_SOCKETPAIR, connectedPairs, noAccess},
		rule{unix.SYS_PERSONALITY, is(0, allBits, 0), denied},
		rule{unix.SYS_PRLIMIT64, is(0, 0), denied},
		rule{unix.SYS_SCHED_SETAFFINITY, is(0, 0), denied},
		rule{unix.SYS_SCHED_SETSCHEDULER, is(0, 0), denied},
		rule{unix.SYS_SCHED_SETPARAM, is(0, 0), denied},
		rule{unix.SYS_SCHED_SETATTR, is(0, 0), denied},
		rule{unix.SYS_SETPRIORITY, ownProcess(unix.PRIO_PROCESS), denied},
		rule{unix.SYS_IOPRIO_SET, ownProcess(ioprioProcess), denied},
		rule{unix.SYS_MKNODAT, nodeTypes(2), denied},
	)
	rules = append(rules, opts.network(), opts.ioctl(), opts.fcntl())
	rules = append(rules, opts.signalling()...)
	rules = append(rules, opts.opening()...)
	return append(rules, rulesOld(opts)...)
}

// setID are the bits that let a file be executed with the rights of its owner. A root that may
// write the workspace could leave such a file there for others.
const setID = unix.S_ISUID | unix.S_ISGID

func plainModes() []rule {
	return []rule{
		{unix.SYS_FCHMOD, plainMode(1), denied},
		{unix.SYS_FCHMODAT, plainMode(2), denied},
		{unix.SYS_FCHMODAT2, plainMode(2), denied},
		{unix.SYS_FILE_SETATTR, nil, denied},
	}
}

func plainMode(arg int) []test { return []test{{arg: arg, mask: setID, value: 0, then: allow}} }

const ioprioProcess = 1

// connectedPairs lets the pairs be made that stay connected to one another. A datagram socket of a
// pair may send to any path.
var connectedPairs = []test{
	{arg: 0, mask: allBits, value: unix.AF_UNIX, differ: true, then: noAccess},
	{arg: 1, mask: socketKind, value: unix.SOCK_STREAM, then: allow},
	{arg: 1, mask: socketKind, value: unix.SOCK_SEQPACKET, then: allow},
}

const socketKind = 0xf // the rest are SOCK_CLOEXEC and SOCK_NONBLOCK

// ownProcess lets the calling process set its own, named 0, and nothing by group or user.
func ownProcess(which uint32) []test {
	return []test{
		{arg: 0, mask: allBits, value: which, differ: true, then: denied},
		{arg: 1, mask: allBits, value: 0, then: allow},
	}
}

// nodeTypes lets files, FIFOs and sockets be made, and no devices.
func nodeTypes(arg int) []test {
	tests := []test{{arg: arg, mask: setID, value: 0, differ: true, then: denied}}
	for _, format := range []uint32{0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK} {
		tests = append(tests, test{arg: arg, mask: unix.S_IFMT, value: format, then: allow})
	}
	return tests
}

// network refuses every socket, or all but the internet families in a namespace of the run's own.
// Unix sockets stay refused there: a path names a server outside, whatever the namespace.
func (o filterOptions) network() rule {
	r := rule{nr: unix.SYS_SOCKET, otherwise: noAccess}
	if o.loopback {
		r.tests = is(0, unix.AF_INET, unix.AF_INET6)
	}
	return r
}

func (o filterOptions) ioctl() rule {
	allowed := readingIoctls
	if o.writing {
		allowed = append(append([]uint32{}, readingIoctls...), writingIoctls...)
	}
	return rule{unix.SYS_IOCTL, is(1, allowed...), notTTY}
}

// fcntl refuses leases, which make others wait, and where signals are not scoped, naming another
// process as the receiver of SIGIO.
func (o filterOptions) fcntl() rule {
	refuse := []uint32{unix.F_SETLEASE, unix.F_NOTIFY}
	if !o.signals {
		refuse = append(refuse, unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG)
	}
	r := rule{nr: unix.SYS_FCNTL, otherwise: allow}
	for _, cmd := range refuse {
		r.tests = append(r.tests, test{arg: 1, mask: allBits, value: cmd, then: denied})
	}
	return r
}

// signalling is for kernels that cannot scope signals: they reach the sender's own group, and
// threads with what threads need.
func (o filterOptions) signalling() []rule {
	if o.signals {
		return nil
	}
	return []rule{
		{unix.SYS_KILL, append(is(0, 0), is(1, 0)...), denied},
		{unix.SYS_TKILL, is(1, harmless...), denied},
		{unix.SYS_TGKILL, is(2, harmless...), denied},
		{unix.SYS_RT_SIGQUEUEINFO, nil, denied},
		{unix.SYS_RT_TGSIGQUEUEINFO, nil, denied},
		{unix.SYS_PIDFD_SEND_SIGNAL, nil, denied},
	}
}

// opening refuses O_TRUNC without O_WRONLY, which truncates although Landlock before ABI 3 sees a
// reading open, and there also truncate; and files that are created with set-ID bits. openat2 is
// answered as by an older kernel, because its arguments lie in memory.
func (o filterOptions) opening() []rule {
	rules := []rule{{unix.SYS_OPENAT, o.openTests(2), denied}, {unix.SYS_OPENAT2, nil, noSuch}}
	if !o.truncate {
		rules = append(rules, rule{unix.SYS_TRUNCATE, nil, denied})
	}
	return rules
}

// openTests judges the flags and, where a file is created, the mode that follows them.
func (o filterOptions) openTests(flags int) []test {
	const mask = unix.O_ACCMODE | unix.O_TRUNC
	return []test{
		{arg: flags, mask: mask, value: unix.O_RDONLY | unix.O_TRUNC, then: noAccess},
		{arg: flags, mask: mask, value: unix.O_ACCMODE | unix.O_TRUNC, then: noAccess},
		{arg: flags, mask: unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY, value: 0, then: allow},
		{arg: flags + 1, mask: setID, value: 0, then: allow},
	}
}
