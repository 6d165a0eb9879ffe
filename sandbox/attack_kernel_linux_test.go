package sandbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func proc(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

var processAssaults = []assault{
	{"process", "SIGTERM", false, func(m *mark) error { return unix.Kill(m.Sentinel, unix.SIGTERM) }},
	{"process", "SIGSTOP", false, func(m *mark) error { return unix.Kill(m.Sentinel, unix.SIGSTOP) }},
	{"process", "SIGUSR1 to the parent program", false, func(m *mark) error { return unix.Kill(m.Host, unix.SIGUSR1) }},
	{"process", "SIGWINCH to everybody", true, func(*mark) error { return unix.Kill(-1, unix.SIGWINCH) }},
	{"process", "SIGUSR1 to its group", false, func(m *mark) error { return unix.Kill(-m.Host, unix.SIGUSR1) }},
	{"process", "tgkill", false, func(m *mark) error { return unix.Tgkill(m.Sentinel, m.Sentinel, unix.SIGTERM) }},
	{"process", "rt_sigqueueinfo", false, func(m *mark) error {
		info := [16]uint64{0: uint64(unix.SIGTERM), 1: 0xffffffff} // si_code SI_QUEUE
		return sys(unix.SYS_RT_SIGQUEUEINFO, uintptr(m.Sentinel), uintptr(unix.SIGTERM), addr(&info))
	}},
	{"process", "pidfd_send_signal", false, func(m *mark) error {
		fd, err := unix.PidfdOpen(m.Sentinel, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0)
	}},
	{"process", "pidfd_getfd", false, func(m *mark) error {
		fd, err := unix.PidfdOpen(m.Host, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.PidfdGetfd(fd, 1, 0)
		return err
	}},
	{"process", "SIGIO by F_SETOWN", true, func(m *mark) error {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			return err
		}
		_, err1 := unix.FcntlInt(uintptr(p[0]), unix.F_SETOWN, m.Host)
		_, err2 := unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK)
		_, _ = unix.Write(p[1], []byte("x"))
		if err1 != nil {
			return err1
		}
		return err2
	}},
	{"process", "ptrace attach", false, func(m *mark) error { return unix.PtraceAttach(m.Sentinel) }},
	{"process", "ptrace seize", false, func(m *mark) error { return unix.PtraceSeize(m.Host) }},
	{"process", "process_vm_readv", false, func(m *mark) error {
		buf := make([]byte, 8)
		_, err := unix.ProcessVMReadv(m.Host, []unix.Iovec{{Base: &buf[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		return err
	}},
	{"process", "process_vm_writev", false, func(m *mark) error {
		buf := make([]byte, 8)
		_, err := unix.ProcessVMWritev(m.Host, []unix.Iovec{{Base: &buf[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		return err
	}},
	{"process", "memory of another process", false, func(m *mark) error { return opened(proc(m.Host, "mem"), unix.O_RDWR) }},
	{"process", "environment of another process", false, func(m *mark) error { return opened(proc(m.Host, "environ"), unix.O_RDONLY) }},
	{"process", "descriptors of another process", false, func(m *mark) error { return anyLink(m.Host) }},
	{"process", "descriptors of the helper", false, func(*mark) error { return anyLink(os.Getppid()) }},
	{"process", "memory of the helper", false, func(*mark) error { return opened(proc(os.Getppid(), "mem"), unix.O_RDWR) }},
	{"process", "oom_score_adj of another process", false, func(m *mark) error { return opened(proc(m.Host, "oom_score_adj"), unix.O_WRONLY) }},
	{"process", "own memory through /proc", true, func(*mark) error { return opened("/proc/self/mem", unix.O_RDWR) }},
	{"process", "setpriority", false, func(m *mark) error { return unix.Setpriority(unix.PRIO_PROCESS, m.Sentinel, 19) }},
	{"process", "setpriority of the user", false, func(*mark) error { return unix.Setpriority(unix.PRIO_USER, os.Getuid(), 19) }},
	{"process", "sched_setaffinity", false, func(m *mark) error {
		var set unix.CPUSet
		set.Set(0)
		return unix.SchedSetaffinity(m.Sentinel, &set)
	}},
	{"process", "sched_setscheduler", false, func(m *mark) error {
		var param int32
		return sys(unix.SYS_SCHED_SETSCHEDULER, uintptr(m.Sentinel), unix.SCHED_BATCH, addr(&param))
	}},
	{"process", "sched_setattr", false, func(m *mark) error {
		return unix.SchedSetAttr(m.Sentinel, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH}, 0)
	}},
	{"process", "ioprio_set", false, func(m *mark) error { return sys(unix.SYS_IOPRIO_SET, 1, uintptr(m.Sentinel), 3<<13) }},
	{"process", "prlimit", false, func(m *mark) error {
		return unix.Prlimit(m.Sentinel, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	}},
	{"process", "kcmp", false, func(m *mark) error { return sys(unix.SYS_KCMP, uintptr(m.Sentinel), uintptr(m.Host), 1, 0, 0) }},
	{"process", "process_madvise", false, func(m *mark) error {
		fd, err := unix.PidfdOpen(m.Host, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return sys(unix.SYS_PROCESS_MADVISE, uintptr(fd), 0, 0, unix.MADV_COLD, 0)
	}},
	{"process", "move_pages", false, func(m *mark) error { return sys(unix.SYS_MOVE_PAGES, uintptr(m.Host), 0, 0, 0, 0, 0) }},
	{"process", "setpgid", false, func(m *mark) error { return unix.Setpgid(m.Sentinel, 0) }},
}

// anyLink follows a descriptor of another process. That there is one is no secret.
func anyLink(pid int) error {
	for fd := range 8 {
		if opened(proc(pid, "fd/"+itoa(fd)), unix.O_RDONLY|unix.O_NONBLOCK) == nil {
			return nil
		}
		if _, err := os.Readlink(proc(pid, "fd/"+itoa(fd))); err == nil {
			return nil
		}
	}
	return fmt.Errorf("none")
}

var kernelAssaults = []assault{
	{"kernel", "io_uring", false, func(*mark) error {
		var params [120]byte
		return sys(unix.SYS_IO_URING_SETUP, 1, addr(&params))
	}},
	{"kernel", "bpf", false, func(*mark) error {
		attr := [16]uint32{1, 4, 4, 1} // an array map
		return sys(unix.SYS_BPF, 0, addr(&attr), 64)
	}},
	{"kernel", "perf_event_open", false, func(*mark) error {
		_, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}, 0, -1, -1, 0)
		return err
	}},
	{"kernel", "userfaultfd", false, func(*mark) error { return sys(unix.SYS_USERFAULTFD, 1) }},
	{"kernel", "fanotify", false, func(*mark) error { _, err := unix.FanotifyInit(0x200, 0); return err }},
	{"kernel", "add_key", false, func(*mark) error { _, err := unix.AddKey("user", "x", []byte("y"), -4); return err }},
	{"kernel", "keyctl", false, func(*mark) error { _, err := unix.KeyctlGetKeyringID(-4, true); return err }},
	{"kernel", "request_key", false, func(*mark) error { _, err := unix.RequestKey("user", "x", "", -4); return err }},
	{"kernel", "init_module", false, func(*mark) error { return unix.InitModule([]byte{0}, "") }},
	{"kernel", "kexec_load", false, func(*mark) error { return sys(unix.SYS_KEXEC_LOAD, 0, 99, 0, 1<<31) }}, // too many segments: harmless
	{"kernel", "reboot", false, func(*mark) error {
		// With wrong magic numbers, which is EINVAL where nobody refuses it.
		if err := sys(unix.SYS_REBOOT, 0, 0, 0); err != unix.EINVAL { //nolint:errorlint // a bare errno
			return err
		}
		return nil
	}},
	{"kernel", "settimeofday", false, func(*mark) error {
		var now unix.Timeval
		_ = unix.Gettimeofday(&now)
		return unix.Settimeofday(&now)
	}},
	{"kernel", "clock_settime", false, func(*mark) error {
		var now unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_REALTIME, &now)
		return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
	}},
	{"kernel", "adjtimex", false, func(*mark) error { _, err := unix.Adjtimex(&unix.Timex{}); return err }},
	{"kernel", "sethostname", false, func(*mark) error { return unix.Sethostname([]byte("attacked")) }},
	{"kernel", "setdomainname", false, func(*mark) error { return unix.Setdomainname([]byte("attacked")) }},
	{"kernel", "swapon", false, func(m *mark) error { return sys(unix.SYS_SWAPON, cstring(m.file()), 0) }},
	{"kernel", "acct", false, func(m *mark) error { return unix.Acct(m.file()) }},
	{"kernel", "quotactl", false, func(*mark) error { return sys(unix.SYS_QUOTACTL, 0x800001<<8, 0, 0, 0) }},
	{"kernel", "read the kernel's log", false, func(*mark) error { _, err := unix.Klogctl(3, make([]byte, 64)); return err }},
	{"kernel", "personality", false, func(*mark) error { return sys(unix.SYS_PERSONALITY, 0x0400000) }},
	{"kernel", "vhangup", false, func(*mark) error { return sys(unix.SYS_VHANGUP) }},
	{"kernel", "a call that is newer than the table", false, func(*mark) error { return sys(600) }},
	{"kernel", "a call of x32", false, func(*mark) error { return sys(0x40000000|unix.SYS_GETPID, 0) }},
	{"device", "/dev/kmsg", false, func(*mark) error { return opened("/dev/kmsg", unix.O_WRONLY) }},
	{"device", "/dev/mem", false, func(*mark) error { return opened("/dev/mem", unix.O_RDONLY) }},
	{"device", "a raw disk", false, func(*mark) error { return rawDisk() }},
	{"device", "/dev/fuse", false, func(*mark) error { return opened("/dev/fuse", unix.O_RDWR) }},
	{"device", "/dev/ptmx", false, func(*mark) error { return opened("/dev/ptmx", unix.O_RDWR) }},
	{"device", "make one in TMPDIR", false, func(*mark) error {
		return unix.Mknod(filepath.Join(os.Getenv("TMPDIR"), "dev"), unix.S_IFBLK|0o666, int(unix.Mkdev(8, 0)))
	}},
	{"device", "/dev/null still works", true, func(*mark) error { return opened("/dev/null", unix.O_RDWR) }},
	{"setting", "/proc/sys", false, func(*mark) error { return opened("/proc/sys/kernel/core_pattern", unix.O_WRONLY) }},
	{"setting", "/proc/sysrq-trigger", false, func(*mark) error { return opened("/proc/sysrq-trigger", unix.O_WRONLY) }},
	{"setting", "own oom_score_adj", false, func(*mark) error { return opened("/proc/self/oom_score_adj", unix.O_WRONLY) }},
	{"setting", "own uid_map", false, func(*mark) error { return os.WriteFile("/proc/self/uid_map", []byte("0 0 1"), 0) }},
	{"setting", "/sys", false, func(*mark) error {
		return anyWritable("/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state")
	}},
	{"setting", "a control group", false, func(*mark) error { return unix.Mkdir("/sys/fs/cgroup/attacked", 0o755) }},
}

// rawDisk tries to read every block device there is.
func rawDisk() error {
	disks, _ := os.ReadDir("/sys/block")
	for _, d := range disks {
		if opened("/dev/"+d.Name(), unix.O_RDONLY) == nil {
			return nil
		}
	}
	return fmt.Errorf("none of %d", len(disks))
}

func anyWritable(paths ...string) error {
	for _, p := range paths {
		if opened(p, unix.O_WRONLY) == nil {
			return nil
		}
	}
	return errNothing
}

// socketAssaults tries every address family that there is, and then what the common ones reach.
func socketAssaults() []assault {
	var all []assault
	for family := unix.AF_UNIX; family <= 45; family++ {
		name := familyNames[family]
		if name == "" {
			continue
		}
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			if (kind == unix.SOCK_RAW || kind == unix.SOCK_SEQPACKET) != rawFamily[family] {
				continue
			}
			all = append(all, assault{"socket", fmt.Sprintf("%s, type %d", name, kind), false, func(*mark) error {
				fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
				if err == nil {
					_ = unix.Close(fd)
				}
				return err
			}})
		}
	}
	return append(all,
		assault{"socket", "family with garbage above 32 bits", false, func(*mark) error {
			return sys(unix.SYS_SOCKET, 1<<32|unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		}},
		assault{"reach", "a unix socket (docker.sock)", false, func(m *mark) error { return dialled("unix", m.Socket) }},
		assault{"reach", "an abstract unix socket", false, func(m *mark) error { return dialled("unix", m.Abstract) }},
		assault{"reach", "a port of the machine", false, func(m *mark) error { return dialled("tcp", m.TCP) }},
		assault{"reach", "a datagram to the machine", true, func(m *mark) error {
			conn, err := net.Dial("udp", m.UDP)
			if err != nil {
				return err
			}
			_, err = conn.Write([]byte("x"))
			_ = conn.Close()
			return err
		}},
		assault{"reach", "a name server", false, func(*mark) error { return dialled("tcp", "192.0.2.1:53") }},
		assault{"reach", "bind a port", true, func(*mark) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				_ = l.Close()
			}
			return err
		}},
		assault{"reach", "a socketpair between own processes", true, func(*mark) error {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err == nil {
				_, _ = unix.Close(fds[0]), unix.Close(fds[1])
			}
			return err
		}},
		assault{"reach", "a datagram of a socketpair, to a path", false, func(m *mark) error {
			return pairTo(unix.SOCK_DGRAM, func(fd int) error {
				return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: m.Datagrams})
			})
		}},
		assault{"reach", "a raw socketpair, to a path", false, func(m *mark) error {
			return pairTo(unix.SOCK_RAW, func(fd int) error {
				return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: m.Datagrams})
			})
		}},
		assault{"reach", "a packet of a socketpair, to a path", true, func(m *mark) error {
			return pairTo(unix.SOCK_SEQPACKET, func(fd int) error {
				return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: m.Datagrams})
			})
		}},
		assault{"reach", "a socketpair, connected to a path", false, func(m *mark) error {
			return pairTo(unix.SOCK_STREAM, func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: m.Socket}) })
		}},
		assault{"reach", "half a socketpair, connected to a path", false, func(m *mark) error {
			return pairTo(unix.SOCK_STREAM, func(fd int) error {
				_ = unix.Shutdown(fd, unix.SHUT_RDWR)
				_ = unix.Connect(fd, &unix.SockaddrUnix{})
				return unix.Connect(fd, &unix.SockaddrUnix{Name: m.Socket})
			})
		}},
	)
}

// pairTo uses one end of a pair.
func pairTo(kind int, use func(fd int) error) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) }()
	return use(fds[0])
}

func dialled(network, address string) error {
	conn, err := net.DialTimeout(network, address, 300*time.Millisecond)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

var familyNames = map[int]string{
	unix.AF_UNIX: "AF_UNIX", unix.AF_INET: "AF_INET", unix.AF_INET6: "AF_INET6", unix.AF_NETLINK: "AF_NETLINK",
	unix.AF_PACKET: "AF_PACKET", unix.AF_KEY: "AF_KEY", unix.AF_TIPC: "AF_TIPC", unix.AF_BLUETOOTH: "AF_BLUETOOTH",
	unix.AF_ALG: "AF_ALG", unix.AF_VSOCK: "AF_VSOCK", unix.AF_XDP: "AF_XDP", unix.AF_CAN: "AF_CAN",
	unix.AF_RDS: "AF_RDS", unix.AF_NFC: "AF_NFC", unix.AF_QIPCRTR: "AF_QIPCRTR", unix.AF_SMC: "AF_SMC",
}

// rawFamily are the families of which the raw kinds are tried.
var rawFamily = map[int]bool{unix.AF_NETLINK: true, unix.AF_PACKET: true, unix.AF_KEY: true, unix.AF_XDP: true, unix.AF_CAN: true, unix.AF_ALG: true}

// firstAssaults come before any other opens something.
var firstAssaults = []assault{
	{"right", "inherited descriptors", false, func(m *mark) error { return inherited() }},
}

var otherAssaults = []assault{
	{"ipc", "shared memory", true, func(*mark) error {
		id, err := unix.SysvShmGet(0x5a5a, 4096, unix.IPC_CREAT|0o600)
		_ = id
		return err
	}},
	{"ipc", "message queue", true, func(*mark) error { return sys(unix.SYS_MSGGET, 0x5a5a, unix.IPC_CREAT|0o600) }},
	{"ipc", "POSIX message queue", true, func(*mark) error {
		return sys(unix.SYS_MQ_OPEN, cstring("attacked"), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600, 0)
	}},
	{"ipc", "/dev/shm", true, func(*mark) error { return opened("/dev/shm/sandbox-attack", unix.O_CREAT|unix.O_RDWR) }},
	{"right", "reopen the inherited file", false, func(m *mark) error { return opened(m.Leaked, unix.O_WRONLY) }},
	{"right", "raise capabilities", false, func(*mark) error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		all := [2]unix.CapUserData{{Effective: 1 << 21, Permitted: 1 << 21}, {}}
		return unix.Capset(&header, &all[0])
	}},
	{"right", "capabilities by executing", false, func(*mark) error { return capable() }},
	{"right", "ambient capability", false, func(*mark) error {
		return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_SYS_ADMIN, 0, 0)
	}},
	{"right", "setgroups", false, func(*mark) error { return sys(unix.SYS_SETGROUPS, 0, 0) }},
	{"right", "another user", false, func(*mark) error { return sys(unix.SYS_SETRESUID, 12345, 12345, 12345) }},
	{"right", "raise the limit of processes", false, func(*mark) error {
		return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
	}},
	{"right", "push input into the terminal", false, func(*mark) error {
		c := byte('x')
		return sys(unix.SYS_IOCTL, 0, unix.TIOCSTI, addr(&c))
	}},
	{"right", "push input, with garbage above", false, func(*mark) error {
		c := byte('x')
		return sys(unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI, addr(&c))
	}},
	{"private", "write TMPDIR", true, func(*mark) error { return opened(private("mine"), unix.O_RDWR) }},
	{"private", "memfd", true, func(*mark) error {
		fd, err := unix.MemfdCreate("mine", unix.MFD_CLOEXEC)
		_ = unix.Close(fd)
		return err
	}},
	{"private", "lower its own priority", true, func(*mark) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 5) }},
}

// inherited reports descriptors that lead out: everything above the standard streams that this
// process has not opened itself, as Go's runtime does with its poller and its group's quota.
func inherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "pipe:") &&
			!strings.HasPrefix(to, "/proc/") && to != "/dev/null" && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			fmt.Fprintln(os.Stderr, "inherited", e.Name(), to)
			return nil
		}
	}
	return fmt.Errorf("none")
}

// capable looks for a capability in any set.
func capable() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		bounded := name == "CapBnd" && os.Geteuid() != 0 // without namespaces an ordinary user may not lower it
		if strings.HasPrefix(name, "Cap") && !bounded && strings.Trim(value, "\t0") != "" {
			return nil
		}
	}
	return fmt.Errorf("none")
}
