package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of a Landlock rule, by what they are for.
const (
	llRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	llWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	llDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	// llFile are the rights that a rule on something other than a directory may have.
	llFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlockFS are the rights that each ABI knows, and so can refuse.
func landlockFS(abi int) uint64 {
	known := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM)<<1 - 1
	for _, r := range []struct {
		abi   int
		right uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER},
		{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
	} {
		if abi >= r.abi {
			known |= r.right
		}
	}
	return known
}

// landlockABI asks the kernel; 0 means that it has none, or that it is switched off.
func landlockABI(f faults) int {
	if f.NoLandlock {
		return 0
	}
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	if f.ABI > 0 {
		return min(f.ABI, int(v))
	}
	return int(v)
}

// A ruleset is a Landlock domain in the making: all that it handles is refused but for its rules.
type ruleset struct {
	fd      int
	handled uint64
}

// Bits of struct landlock_ruleset_attr, whose size grew with the ABI: older kernels refuse a size
// that they do not know when the tail is not zero.
func newRuleset(abi int, network bool) (*ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: landlockFS(abi)}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi >= 4 {
		size += unsafe.Sizeof(attr.Handled_access_net)
		if !network {
			attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if abi >= 6 {
		size += unsafe.Sizeof(attr.Scoped)
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, fmt.Errorf("create ruleset: %w", errno)
	}
	return &ruleset{fd: int(fd), handled: attr.Handled_access_fs}, nil
}

// allow adds a rule for path and what lies below. A path that is not there needs no rule.
func (r *ruleset) allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("rule for %q: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("rule for %q: %w", path, err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return nil // opened by O_NOFOLLOW: rules stand on what links point to
	case unix.S_IFDIR:
	default:
		rights &= llFile
	}
	rights &= r.handled
	if rights == 0 {
		return nil
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("rule for %q: %w", path, errno)
	}
	return nil
}

// allowReading lets everything below dir be read but what lies in hidden. Rules only ever add, so a
// directory above a hidden path gets none and its entries get one each: its own listing is lost,
// unless it lies in the workspace, where names show and contents do not.
func (r *ruleset) allowReading(dir string, hidden []string, root string) error {
	if dir == "/dev" {
		return nil // device by device: a raw disk would show what is hidden
	}
	above := dir == "/"
	for _, h := range hidden {
		if within(h, dir) {
			return nil
		}
		above = above || within(dir, h)
	}
	if !above {
		return r.allow(dir, llRead)
	}
	if within(root, dir) {
		if err := r.allow(dir, unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("rules below %q: %w", dir, err)
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			continue
		}
		if err := r.allowReading(filepath.Join(dir, e.Name()), hidden, root); err != nil {
			return err
		}
	}
	return nil
}

// safeDevices may be read and written; every other device node is out of reach.
var safeDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// allowDevices lets the harmless devices be used, and the terminal be asked for its size.
func (r *ruleset) allowDevices() error {
	for _, dev := range safeDevices {
		rights := uint64(llDevice)
		if dev == "/dev/tty" {
			rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		}
		if err := r.allow(dev, rights); err != nil {
			return err
		}
	}
	return nil
}
