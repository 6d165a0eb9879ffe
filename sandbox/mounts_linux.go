package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// isolate makes the helper's mount namespace the view. It runs as process 1 of its namespaces, with
// all rights in them and none outside.
func (h *helper) isolate() error {
	if h.Faults.NoMounts {
		return step("read-only mounts", unix.EPERM)
	}
	unix.Umask(0o077) // what is made here is the run's own
	defer unix.Umask(h.umask)

	trees, err := h.cloneTrees()
	if err != nil {
		return err
	}
	defer trees.close()
	// One call for every mount there is: from here on nothing is writable but what is mounted
	// later. NOSUID as well; not NODEV, which would break /dev/null.
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{
		Attr_set:    unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID,
		Propagation: unix.MS_PRIVATE,
	}); err != nil {
		return step("read-only mounts", err)
	}
	if err := h.mountStore(); err != nil {
		return step("private TMPDIR", err)
	}
	tmp, err := cloneTree(filepath.Join(h.base, "tmp"), 0)
	if err != nil {
		return step("private TMPDIR", err)
	}
	defer unix.Close(tmp)
	shm, err := cloneTree(filepath.Join(h.base, "shm"), 0)
	if err != nil {
		return step("private TMPDIR", err)
	}
	defer unix.Close(shm)
	if err := h.mountRoot(trees); err != nil {
		return err
	}
	if err := h.hide(); err != nil {
		return step("hidden paths", err)
	}
	if err := mountDev(trees, shm); err != nil {
		return step("private /dev", err)
	}
	if err := h.mountProc(); err != nil {
		return step("fresh /proc", err)
	}
	// The store itself goes out of sight; only its tmp is put back, last of all because the
	// workspace may be mounted above it.
	if !h.storeCovered {
		if err := unix.Unmount(h.base, unix.MNT_DETACH); err != nil {
			return step("private TMPDIR", err)
		}
	}
	return step("private TMPDIR", attach(tmp, filepath.Join(h.base, "tmp")))
}

// trees are mounts cloned while they were still writable, or before something covered them.
type trees struct {
	root    int // Workspace: the workspace; otherwise -1
	devices map[string]int
}

func (t *trees) close() {
	if t.root >= 0 {
		_ = unix.Close(t.root)
	}
	for _, fd := range t.devices {
		_ = unix.Close(fd)
	}
}

func (h *helper) cloneTrees() (*trees, error) {
	t := &trees{root: -1, devices: map[string]int{}}
	for _, dev := range safeDevices {
		if fd, err := cloneTree(dev, 0); err == nil {
			t.devices[dev] = fd
		} else if err != unix.ENOENT { //nolint:errorlint // a bare errno from the call above
			t.close()
			return nil, step("private /dev", fmt.Errorf("%s: %w", dev, err))
		}
	}
	if h.View != Workspace {
		return t, nil
	}
	fd, err := cloneTree(h.root, unix.AT_RECURSIVE)
	if err != nil {
		t.close()
		return nil, step("writable workspace", err)
	}
	t.root = fd
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{
		Attr_set:    unix.MOUNT_ATTR_NOSUID,
		Propagation: unix.MS_PRIVATE,
	})
	if err != nil {
		t.close()
		return nil, step("writable workspace", err)
	}
	return t, nil
}

func cloneTree(path string, flags uint) (int, error) {
	return unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|flags)
}

func attach(tree int, path string) error {
	return unix.MoveMount(tree, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// mountStore mounts the bounded memory that everything of this run lives in.
func (h *helper) mountStore() error {
	size := "mode=0700,size=" + strconv.FormatInt(h.Limits.Scratch, 10)
	if err := unix.Mount("tmpfs", h.base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, size); err != nil {
		return err
	}
	for _, dir := range []string{"tmp", "shm", "empty"} {
		if err := unix.Mkdir(filepath.Join(h.base, dir), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// mountRoot puts the workspace of the view in its place.
func (h *helper) mountRoot(t *trees) error {
	switch h.View {
	case Workspace:
		h.storeCovered = within(h.root, h.base)
		return step("writable workspace", attach(t.root, h.root))
	case Scratch:
		return h.mountScratch()
	case ReadOnly, Full:
	}
	return nil
}

// hide lays an empty directory or file without any permission over each hidden path.
func (h *helper) hide() error {
	if len(h.Hidden) == 0 {
		return nil
	}
	// A mount of its own, so that it can be read-only: binds inherit that.
	cover, err := tmpfs("mode=0700,size=4k,nr_inodes=8")
	if err != nil {
		return err
	}
	defer unix.Close(cover)
	if err := unix.Mkdirat(cover, "dir", 0); err != nil {
		return err
	}
	fd, err := unix.Openat(cover, "file", unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_ = unix.Close(fd)
	if err := readOnly(cover, ""); err != nil {
		return err
	}
	spot := filepath.Join(h.base, "empty")
	if h.storeCovered {
		spot = "/dev" // about to be covered itself
	}
	if err := attach(cover, spot); err != nil {
		return err
	}
	for _, path := range fromRaw(h.Hidden) {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err == unix.ENOENT { //nolint:errorlint // a bare errno
			continue // gone since it was listed, or below the run's own workspace
		}
		source := filepath.Join(spot, "file")
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			source = filepath.Join(spot, "dir")
		}
		if err := unix.Mount(source, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%q: %w", path, err)
		}
	}
	return nil
}

// tmpfs makes a memory file system that is mounted nowhere yet.
func tmpfs(options string) (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for _, option := range strings.Split(options, ",") {
		key, value, _ := strings.Cut(option, "=")
		if err := unix.FsconfigSetString(fs, key, value); err != nil {
			return -1, fmt.Errorf("%s: %w", option, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID)
}

func readOnly(fd int, path string) error {
	flags := uint(0)
	if path == "" {
		flags = unix.AT_EMPTY_PATH
	}
	return unix.MountSetattr(fd, path, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// mountDev replaces /dev: a read-only mount does not keep a process from writing to a device.
func mountDev(t *trees, shm int) error {
	dev, err := tmpfs("mode=0755,size=64k")
	if err != nil {
		return err
	}
	defer unix.Close(dev)
	for name, tree := range t.devices {
		fd, err := unix.Openat(dev, filepath.Base(name), unix.O_CREAT|unix.O_CLOEXEC|unix.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_ = unix.Close(fd)
		defer func() { _ = attach(tree, name) }()
	}
	for _, link := range [][2]string{
		{"/proc/self/fd", "fd"}, {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"}, {"/proc/self/fd/2", "stderr"},
	} {
		if err := unix.Symlinkat(link[0], dev, link[1]); err != nil {
			return err
		}
	}
	if err := unix.Mkdirat(dev, "shm", 0o700); err != nil {
		return err
	}
	if err := readOnly(dev, ""); err != nil {
		return err
	}
	if err := attach(dev, "/dev"); err != nil {
		return err
	}
	return attach(shm, "/dev/shm")
}

// mountProc mounts a /proc that shows the run's own processes, and read-only. Where that is
// refused the old one stays, read-only too; Landlock then keeps other processes' memory and
// environment out of reach, so it must be there.
func (h *helper) mountProc() error {
	err := error(unix.EPERM)
	if !h.Faults.NoProc {
		err = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	if err != nil {
		if h.ABI == 0 {
			return err
		}
		return nil
	}
	if pidLimitIsLocal() {
		limit := strconv.Itoa(h.Limits.Processes + reservedPIDs)
		_ = os.WriteFile("/proc/sys/kernel/pid_max", []byte(limit), 0) // RLIMIT_NPROC is the other bound
	}
	return readOnly(unix.AT_FDCWD, "/proc")
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
	major, minor := kernelVersion(unix.ByteSliceToString(u.Release[:]))
	return major > 6 || major == 6 && minor >= 14
}

func kernelVersion(release string) (major, minor int) {
	_, _ = fmt.Sscanf(release, "%d.%d", &major, &minor)
	return major, minor
}

// loopbackUp switches the namespace's only interface on.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}
