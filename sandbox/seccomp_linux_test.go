//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// judge runs the filter on one call, in user space. The machine reads big-endian words where the
// kernel reads its own, so the words are laid out that way.
func judge(t *testing.T, opts filterOptions, arch uint32, nr uint32, args ...uint64) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(filterProgram(filterRules(opts)))
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offNr:], nr)
	binary.BigEndian.PutUint32(data[offArch:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offArgs+8*i+4:], uint32(a>>32))
	}
	verdict, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(verdict)
}

func TestFilter(t *testing.T) {
	if auditArch == 0 {
		t.Skip("no table for this architecture")
	}
	readOnly := filterOptions{ipc: true, signals: true, truncate: true}
	writing := filterOptions{metadata: true, loopback: true, ipc: true, signals: true, truncate: true, writing: true}
	oldest := filterOptions{}
	const high = 1 << 32
	for _, tt := range []struct {
		name string
		opts filterOptions
		nr   uint32
		args []uint64
		want uint32
	}{
		{"read", readOnly, unix.SYS_READ, nil, allow},
		{"newest known", readOnly, lastKnown, nil, allow},
		{"newer than the table", readOnly, lastKnown + 1, nil, noSuch},
		{"x32", readOnly, x32Bit | unix.SYS_READ, nil, noSuch},
		{"negative number", readOnly, ^uint32(0), nil, noSuch},
		{"clone3", writing, unix.SYS_CLONE3, nil, noSuch},
		{"io_uring", writing, unix.SYS_IO_URING_SETUP, nil, noSuch},
		{"openat2", readOnly, unix.SYS_OPENAT2, nil, noSuch},
		{"fork", readOnly, unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, allow},
		{"thread", readOnly, unix.SYS_CLONE, []uint64{0x3d0f00}, allow},
		{"user namespace", readOnly, unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER}, denied},
		{"user namespace, garbage above", readOnly, unix.SYS_CLONE, []uint64{high | unix.CLONE_NEWUSER}, denied},
		{"unix socket", readOnly, unix.SYS_SOCKET, []uint64{unix.AF_UNIX}, noAccess},
		{"internet socket", readOnly, unix.SYS_SOCKET, []uint64{unix.AF_INET}, noAccess},
		{"internet socket on a loopback", writing, unix.SYS_SOCKET, []uint64{unix.AF_INET}, allow},
		{"internet socket, garbage above", writing, unix.SYS_SOCKET, []uint64{high | unix.AF_INET}, allow},
		{"unix socket on a loopback", writing, unix.SYS_SOCKET, []uint64{unix.AF_UNIX}, noAccess},
		{"unix socket, garbage above", writing, unix.SYS_SOCKET, []uint64{high | unix.AF_UNIX}, noAccess},
		{"netlink", writing, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK}, noAccess},
		{"stream pair", readOnly, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, allow},
		{"datagram pair", writing, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK}, noAccess},
		{"raw pair", writing, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_RAW}, noAccess},
		{"fchmod, read-only", readOnly, unix.SYS_FCHMOD, []uint64{3, 0o644}, denied},
		{"fchmod, writing", writing, unix.SYS_FCHMOD, []uint64{3, 0o755}, allow},
		{"fchmod set-user-ID", writing, unix.SYS_FCHMOD, []uint64{3, 0o4755}, denied},
		{"fchmodat2 set-group-ID", writing, unix.SYS_FCHMODAT2, []uint64{3, 0, 0o2755}, denied},
		{"setxattrat", readOnly, unix.SYS_SETXATTRAT, nil, denied},
		{"create set-user-ID", writing, unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o4755}, denied},
		{"create", writing, unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o755}, allow},
		{"open with garbage for a mode", writing, unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY, ^uint64(0)}, allow},
		{"O_TMPFILE set-user-ID", writing, unix.SYS_OPENAT, []uint64{0, 0, unix.O_TMPFILE | unix.O_RDWR, 0o4755}, denied},
		{"open a directory", readOnly, unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY | unix.O_DIRECTORY, ^uint64(0)}, allow},
		{"O_RDONLY|O_TRUNC", readOnly, unix.SYS_OPENAT, []uint64{0, 0, unix.O_TRUNC}, noAccess},
		{"mode 3 with O_TRUNC", readOnly, unix.SYS_OPENAT, []uint64{0, 0, 3 | unix.O_TRUNC}, noAccess},
		{"device", writing, unix.SYS_MKNODAT, []uint64{0, 0, unix.S_IFCHR | 0o666}, denied},
		{"block device", writing, unix.SYS_MKNODAT, []uint64{0, 0, unix.S_IFBLK | 0o666}, denied},
		{"FIFO", readOnly, unix.SYS_MKNODAT, []uint64{0, 0, unix.S_IFIFO | 0o666}, allow},
		{"terminal size", readOnly, unix.SYS_IOCTL, []uint64{0, unix.TIOCGWINSZ}, allow},
		{"push input", writing, unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, notTTY},
		{"push input, garbage above", writing, unix.SYS_IOCTL, []uint64{0, high | unix.TIOCSTI}, notTTY},
		{"chattr", writing, unix.SYS_IOCTL, []uint64{0, unix.FS_IOC_SETFLAGS}, notTTY},
		{"lease", writing, unix.SYS_FCNTL, []uint64{0, unix.F_SETLEASE}, denied},
		{"close-on-exec", readOnly, unix.SYS_FCNTL, []uint64{0, unix.F_SETFD}, allow},
		{"own priority", readOnly, unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 0, 5}, allow},
		{"priority of another", readOnly, unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 7, 5}, denied},
		{"priority of a user", readOnly, unix.SYS_SETPRIORITY, []uint64{unix.PRIO_USER, 0, 5}, denied},
		{"own limits", readOnly, unix.SYS_PRLIMIT64, []uint64{0}, allow},
		{"limits of another", readOnly, unix.SYS_PRLIMIT64, []uint64{7}, denied},
		{"signal, scoped", readOnly, unix.SYS_KILL, []uint64{7, 15}, allow},
		{"signal, old kernel", oldest, unix.SYS_KILL, []uint64{7, 15}, denied},
		{"signal to all, old kernel", oldest, unix.SYS_KILL, []uint64{^uint64(0), 15}, denied},
		{"signal to the own group, old kernel", oldest, unix.SYS_KILL, []uint64{0, 15}, allow},
		{"thread signal, old kernel", oldest, unix.SYS_TGKILL, []uint64{7, 7, 15}, denied},
		{"preemption, old kernel", oldest, unix.SYS_TGKILL, []uint64{7, 7, uint64(unix.SIGURG)}, allow},
		{"SIGIO receiver, old kernel", oldest, unix.SYS_FCNTL, []uint64{0, unix.F_SETOWN, 7}, denied},
		{"truncate, old kernel", oldest, unix.SYS_TRUNCATE, nil, denied},
		{"shared memory without a namespace", oldest, unix.SYS_SHMGET, nil, denied},
		{"shared memory", readOnly, unix.SYS_SHMGET, nil, allow},
		{"ask personality", readOnly, unix.SYS_PERSONALITY, []uint64{0xffffffff}, allow},
		{"set personality", readOnly, unix.SYS_PERSONALITY, []uint64{0x0400000}, denied},
	} {
		if got := judge(t, tt.opts, auditArch, tt.nr, tt.args...); got != tt.want {
			t.Errorf("%s: %#x, want %#x", tt.name, got, tt.want)
		}
	}
	if got := judge(t, readOnly, unix.AUDIT_ARCH_I386, 1); got != kill {
		t.Errorf("foreign architecture: %#x, want kill", got)
	}
	for _, nr := range refused {
		for _, opts := range []filterOptions{readOnly, writing, oldest} {
			if got := judge(t, opts, auditArch, uint32(nr)); got != denied {
				t.Errorf("call %d: %#x", nr, got)
			}
		}
	}
	if n := len(filterProgram(filterRules(oldest))); n > 4096 { // BPF_MAXINSNS
		t.Errorf("the filter has %d instructions", n)
	}
}
