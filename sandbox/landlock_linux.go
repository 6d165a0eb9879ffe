package sandbox

import (
	"errors"
	"io/fs"
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

// A ruleset writes the calls that make a Landlock domain: all that it handles is refused but for
// its rules.
type ruleset struct {
	s       *script
	fd      arg
	handled uint64
	err     error
}

// newRuleset handles everything that the ABI knows. The size of struct landlock_ruleset_attr grew
// with it, and older kernels refuse one that they do not know when its tail is not zero.
func (s *script) newRuleset(abi int, network bool) *ruleset {
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
	_, fd := s.open(unix.SYS_LANDLOCK_CREATE_RULESET, object(s, attr), imm(size), imm(0))
	return &ruleset{s: s, fd: fd, handled: attr.Handled_access_fs}
}

// allow adds a rule for path and what lies below. A path that is not there needs no rule, and
// links have none: rules stand on what they point to.
func (r *ruleset) allow(path string, rights uint64) {
	info, err := os.Lstat(path)
	if path == "/dev/shm" {
		err = nil // the run's own, whether or not there is one outside
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return
	}
	if err != nil {
		r.err = errors.Join(r.err, err)
		return
	}
	if info != nil && !info.IsDir() {
		rights &= llFile
		if info.Mode()&fs.ModeSymlink != 0 {
			return
		}
	}
	if rights &= r.handled; rights == 0 {
		return
	}
	s, mark := r.s, r.s.slots
	s.optional(mayMiss, func() {
		_, fd := s.open(unix.SYS_OPENAT, atCWD, s.text(path), imm(unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW), imm(0))
		attr := object(s, unix.LandlockPathBeneathAttr{Allowed_access: rights})
		s.patch(attr.value+8, fd)
		s.call(unix.SYS_LANDLOCK_ADD_RULE, r.fd, imm(unix.LANDLOCK_RULE_PATH_BENEATH), attr, imm(0))
		s.close(fd)
	})
	s.reuse(mark)
}

// allowReading lets everything below dir be read but what lies in hidden. Rules only ever add, so a
// directory above a hidden path gets none and its entries get one each: its own listing is lost,
// unless it lies in the workspace, where names show and contents do not.
func (r *ruleset) allowReading(dir string, hidden []string, root string) {
	if dir == "/dev" {
		return // device by device: a raw disk would show what is hidden
	}
	above := dir == "/"
	for _, h := range hidden {
		if within(h, dir) {
			return
		}
		above = above || within(dir, h)
	}
	if !above {
		r.allow(dir, llRead)
		return
	}
	if within(root, dir) {
		r.allow(dir, unix.LANDLOCK_ACCESS_FS_READ_DIR)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		r.err = errors.Join(r.err, err)
	}
	for _, e := range entries {
		r.allowReading(filepath.Join(dir, e.Name()), hidden, root)
	}
}

// safeDevices may be read and written; every other device node is out of reach.
var safeDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// allowDevices lets the harmless devices be used, and the terminal be asked for its size.
func (r *ruleset) allowDevices() {
	for _, dev := range safeDevices {
		rights := uint64(llDevice)
		if dev == "/dev/tty" {
			rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		}
		r.allow(dev, rights)
	}
}
