package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// isolate writes the calls that make the helper's mount namespace the view. The helper is process
// 1 of its namespaces, with all rights in them and none outside.
func (s *script) isolate(v *view) {
	if v.faults.NoMounts { // as where a user namespace is granted without rights in it
		s.begin("read-only mounts")
		s.call(unix.SYS_MOUNT_SETATTR, imm(-1), s.text("/"), imm(0), imm(0), imm(0))
	}
	s.begin("private directory")
	_, umask := s.open(unix.SYS_UMASK, imm(0o077)) // what is made here is the run's own

	// Taken while still writable, or before something covers them.
	s.begin("writable workspace")
	var root arg
	if v.job.View == Workspace {
		root = s.clone(v.job.Root, unix.AT_RECURSIVE)
		s.setMount(root, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, unix.MOUNT_ATTR_NOSUID, true)
	}
	s.begin("private /dev")
	devices := map[string]arg{}
	for _, dev := range safeDevices {
		if _, err := os.Stat(dev); err == nil {
			devices[dev] = s.clone(dev, 0)
		}
	}

	// One call for every mount there is: from here on nothing is writable but what is mounted
	// later. NOSUID as well; not NODEV, which would break /dev/null.
	s.begin("read-only mounts")
	s.setMount(atCWD, "/", unix.AT_RECURSIVE, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID, true)

	tmp, shm := s.store(v)
	switch v.job.View {
	case Workspace:
		s.begin("writable workspace")
		s.attach(root, v.job.Root)
	case Scratch:
		s.scratch(v)
	case ReadOnly, Full:
	}
	s.hide(v)
	s.dev(devices, shm)
	s.proc(v)
	// The store goes out of sight under the part of it that is the run's own. Not by unmounting
	// it, which waits for every processor of the machine.
	s.begin("private TMPDIR")
	s.attach(tmp, v.base)
	if v.job.View != ReadOnly {
		s.loopback()
	}
	s.call(unix.SYS_UMASK, umask)
}

func (s *script) clone(path string, flags uint) arg {
	_, fd := s.open(unix.SYS_OPEN_TREE, atCWD, s.text(path), imm(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|flags))
	return fd
}

func (s *script) attach(tree arg, path string) {
	s.call(unix.SYS_MOVE_MOUNT, tree, s.text(""), atCWD, s.text(path), imm(unix.MOVE_MOUNT_F_EMPTY_PATH))
}

func (s *script) setMount(fd arg, path string, flags int, set uint64, private bool) {
	attr := unix.MountAttr{Attr_set: set}
	if private {
		attr.Propagation = unix.MS_PRIVATE
	}
	s.call(unix.SYS_MOUNT_SETATTR, fd, s.text(path), imm(flags), object(s, attr), imm(unix.MOUNT_ATTR_SIZE_VER0))
}

func (s *script) readOnly(fd arg) {
	s.setMount(fd, "", unix.AT_EMPTY_PATH, unix.MOUNT_ATTR_RDONLY, false)
}

func (s *script) mkdirs(mode uint32, paths ...string) {
	for _, p := range paths {
		s.call(unix.SYS_MKDIRAT, atCWD, s.text(p), imm(mode))
	}
}

func (s *script) mount(source, target, kind string, flags uintptr, options string) {
	s.call(unix.SYS_MOUNT, s.text(source), s.text(target), s.text(kind), imm(flags), s.text(options))
}

// store mounts the bounded memory that everything of this run lives in, and takes the two parts of
// it that will show.
func (s *script) store(v *view) (tmp, shm arg) {
	s.begin("private TMPDIR")
	s.mount("tmpfs", v.base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700,size="+strconv.FormatInt(v.job.Limits.Scratch, 10))
	own := filepath.Join(v.base, "own")
	s.mkdirs(0o700, own, filepath.Join(own, "tmp"), filepath.Join(v.base, "shm"), filepath.Join(v.base, "cover"))
	return s.clone(own, 0), s.clone(filepath.Join(v.base, "shm"), 0)
}

// tmpfs makes a memory file system that is mounted nowhere yet.
func (s *script) tmpfs(options ...string) arg {
	_, fs := s.open(unix.SYS_FSOPEN, s.text("tmpfs"), imm(unix.FSOPEN_CLOEXEC))
	for _, option := range options {
		key, value, _ := strings.Cut(option, "=")
		s.call(unix.SYS_FSCONFIG, fs, imm(unix.FSCONFIG_SET_STRING), s.text(key), s.text(value), imm(0))
	}
	s.call(unix.SYS_FSCONFIG, fs, imm(unix.FSCONFIG_CMD_CREATE), imm(0), imm(0), imm(0))
	_, mnt := s.open(unix.SYS_FSMOUNT, fs, imm(unix.FSMOUNT_CLOEXEC), imm(unix.MOUNT_ATTR_NOSUID))
	s.close(fs)
	return mnt
}

// create makes an empty file below a directory.
func (s *script) create(dir arg, name string, mode uint32) {
	mark := s.slots
	_, fd := s.open(unix.SYS_OPENAT, dir, s.text(name), imm(unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_WRONLY), imm(mode))
	s.close(fd)
	s.reuse(mark)
}

// hide lays an empty directory or file without any permission over each hidden path.
func (s *script) hide(v *view) {
	if len(v.job.hidden) == 0 {
		return
	}
	s.begin("hidden paths")
	// A mount of its own, so that it can be read-only: clones inherit that.
	cover := s.tmpfs("mode=0700", "size=4k", "nr_inodes=8")
	s.call(unix.SYS_MKDIRAT, cover, s.text("dir"), imm(0))
	s.create(cover, "file", 0)
	s.readOnly(cover)
	spot := filepath.Join(v.base, "cover")
	if v.covered {
		spot = "/dev" // about to be covered itself
	}
	s.attach(cover, spot)
	s.close(cover)
	for _, path := range v.job.hidden {
		source := filepath.Join(spot, "file")
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			source = filepath.Join(spot, "dir")
		}
		mark := s.slots
		tree := s.clone(source, 0)
		// Missing: gone since it was listed.
		op := s.call(unix.SYS_MOVE_MOUNT, tree, s.text(""), atCWD, s.text(path), imm(unix.MOVE_MOUNT_F_EMPTY_PATH))
		op.Flags = mayMiss
		s.close(tree)
		s.reuse(mark)
	}
}

// dev replaces /dev: a read-only mount does not keep a process from writing to a device, and root
// reads raw disks.
func (s *script) dev(devices map[string]arg, shm arg) {
	s.begin("private /dev")
	dev := s.tmpfs("mode=0755", "size=64k")
	for _, name := range safeDevices {
		if _, ok := devices[name]; ok {
			s.create(dev, filepath.Base(name), 0o600)
		}
	}
	for _, link := range [][2]string{
		{"/proc/self/fd", "fd"}, {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"}, {"/proc/self/fd/2", "stderr"},
	} {
		s.call(unix.SYS_SYMLINKAT, s.text(link[0]), dev, s.text(link[1]))
	}
	s.call(unix.SYS_MKDIRAT, dev, s.text("shm"), imm(0o700))
	s.readOnly(dev)
	s.attach(dev, "/dev")
	s.close(dev)
	for _, name := range safeDevices {
		if tree, ok := devices[name]; ok {
			s.attach(tree, name)
			s.close(tree)
		}
	}
	s.attach(shm, "/dev/shm")
	s.close(shm)
}

// proc mounts a /proc that shows the run's own processes, and read-only. Where that is refused the
// old one stays, read-only too; Landlock then keeps other processes' memory and environment out of
// reach, so it must be there.
func (s *script) proc(v *view) {
	s.begin("fresh /proc")
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if v.faults.NoProc {
		flags = unix.MS_SHARED | unix.MS_PRIVATE // which contradict one another
	}
	mount := func() {
		s.mount("proc", "/proc", "proc", flags, "")
		if pidLimitIsLocal() {
			s.optional(mayFail, func() { // RLIMIT_NPROC is the other bound
				_, fd := s.open(unix.SYS_OPENAT, atCWD, s.text("/proc/sys/kernel/pid_max"), imm(unix.O_WRONLY|unix.O_CLOEXEC), imm(0))
				limit := strconv.Itoa(v.job.Limits.Processes + reservedPIDs)
				s.call(unix.SYS_WRITE, fd, s.text(limit), imm(len(limit))).Flags = mayFail
				s.close(fd)
			})
		}
		s.setMount(atCWD, "/proc", 0, unix.MOUNT_ATTR_RDONLY, false)
	}
	if v.abi == 0 {
		mount()
		return
	}
	s.optional(mayFail, mount)
}

// reservedPIDs are the numbers that the kernel does not hand out again after the first round; it
// refuses a smaller pid_max.
const reservedPIDs = 300

// pidLimitIsLocal reports whether pid_max belongs to the pid namespace, as it does since Linux
// 6.14. Before, writing it as root would change the whole machine's.
func pidLimitIsLocal() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	_, _ = fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)
	return major > 6 || major == 6 && minor >= 14
}

// loopback switches the network namespace's only interface on.
func (s *script) loopback() {
	s.begin("loopback")
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		s.fail(err)
		return
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	_, fd := s.open(unix.SYS_SOCKET, imm(unix.AF_INET), imm(unix.SOCK_DGRAM|unix.SOCK_CLOEXEC), imm(0))
	s.call(unix.SYS_IOCTL, fd, imm(unix.SIOCSIFFLAGS), object(s, *ifr))
	s.close(fd)
}
