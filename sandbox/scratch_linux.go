package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/planmode-dev/planmode/sandbox/internal/stage"
)

const (
	mayFail = stage.MayFail
	mayMiss = stage.MayMiss

	homeStep = "overlay of the home directory"
)

// scratch lays a copy-on-write view over the workspace, and one over the home directory, so that
// caches are warm and writes to them are thrown away with the rest. Where there is no overlay the
// view is the copy that was made beside the TMPDIR.
func (s *script) scratch(v *view) {
	if v.copy != "" {
		s.begin("workspace copy")
		s.attach(v.copyTree, v.job.Root)
		return
	}
	// The lower directories are taken before anything covers them, also the one by the other.
	s.begin("overlay")
	root := s.newOverlay(v, "root", v.job.Root)
	if v.home != "" {
		s.begin(homeStep)
		s.mountOverlay(v, s.newOverlay(v, "home", v.home))
	}
	s.begin("overlay")
	s.sendUpper(root.upper())
	s.mountOverlay(v, root)
}

// overlay is one copy-on-write mount in the making.
type overlay struct {
	path, store string
	nested      map[string]arg // mounts below path
	order       []string
}

func (o *overlay) upper() string { return filepath.Join(o.store, "upper") }

func (s *script) newOverlay(v *view, name, path string) *overlay {
	o := &overlay{path: path, store: filepath.Join(v.base, name), nested: map[string]arg{}}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		s.fail(err)
		return o
	}
	lower := filepath.Join(o.store, "lower")
	s.mkdirs(0o700, o.store, lower, o.upper(), filepath.Join(o.store, "work"))
	// The merged directory has the attributes of the upper one. An ordinary user owns it, or may
	// not give it away.
	s.call(unix.SYS_FCHOWNAT, atCWD, s.text(o.upper()), imm(st.Uid), imm(st.Gid), imm(0)).Flags = mayFail
	s.call(unix.SYS_FCHMODAT, atCWD, s.text(o.upper()), imm(st.Mode&0o7777))
	// Recursive, because a bind that leaves out a mount inherited from outside is refused.
	s.mount(path, lower, "", unix.MS_BIND|unix.MS_REC, "")
	// An overlay does not look into mounts below its lower directory: they are put back on top.
	nested, err := mountsBelow(path)
	if err != nil {
		s.fail(err)
	}
	for _, p := range nested {
		o.nested[p] = s.clone(p, unix.AT_RECURSIVE)
		o.order = append(o.order, p)
	}
	return o
}

func (s *script) mountOverlay(v *view, o *overlay) {
	kind := "overlay"
	if v.faults.NoOverlay {
		kind = "no-overlay"
	}
	// Relative names, because the options split at commas and colons that a path may contain.
	s.call(unix.SYS_CHDIR, s.text(o.store))
	s.mount("overlay", o.path, kind, unix.MS_NOSUID, "lowerdir=lower,upperdir=upper,workdir=work,userxattr")
	s.call(unix.SYS_CHDIR, s.text("/"))
	for _, p := range o.order {
		s.attach(o.nested[p], p)
		s.close(o.nested[p])
	}
}

// sendUpper opens the upper directory and hands the descriptor to the parent, which reads there
// what the program changed: the mount lives as long as the descriptor.
func (s *script) sendUpper(path string) {
	mark := s.slots
	_, fd := s.open(unix.SYS_OPENAT, atCWD, s.text(path), imm(unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC), imm(0))
	rights := s.bytes(unix.UnixRights(0))
	s.patch(rights.value+uint64(unix.CmsgLen(0)), fd)
	payload := s.bytes([]byte{upperMark})
	vec := object(s, [2]uint64{0, 1})
	s.pointer(vec.value, payload.value)
	msg := object(s, unix.Msghdr{Iovlen: 1, Controllen: uint64(unix.CmsgSpace(4))})
	s.pointer(msg.value+msgIov, vec.value)
	s.pointer(msg.value+msgControl, rights.value)
	s.call(unix.SYS_SENDMSG, imm(stage.FD), msg, imm(0))
	s.close(fd)
	s.reuse(mark)
}

// Offsets in struct msghdr of 64-bit systems.
const (
	msgIov     = 16
	msgControl = 32

	upperMark = 'U'
)

// mountsBelow lists the outermost mount points strictly below path, from /proc/self/mountinfo.
func mountsBelow(path string) ([]string, error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var below []string
	for line := range strings.Lines(string(info)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		p := mountEscapes.Replace(fields[4])
		if p == path || !within(path, p) {
			continue
		}
		outer := true
		for _, q := range below {
			outer = outer && !within(q, p)
		}
		if outer {
			below = append(below, p)
		}
	}
	return below, nil
}

var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// changedInUpper reads the upper directory of an overlay: a file is there when it was written or
// created, a device 0:0 stands for a deleted one, and an opaque directory hides what was below.
func changedInUpper(lower, upper *os.Root) ([]string, error) {
	var changed []string
	err := fs.WalkDir(upper.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil // the program took its own permission away; the directory itself is listed
		}
		if err != nil || path == "." {
			return err
		}
		if d.Type()&fs.ModeCharDevice != 0 { // a whiteout: the program itself can make no device
			gone, err := everything(lower, path)
			changed = append(changed, gone...)
			return err
		}
		if differs(lower, upper, path) {
			changed = append(changed, path)
		}
		if d.IsDir() && opaque(upper, path) {
			below, err := everything(lower, path)
			for _, p := range below {
				if _, err := upper.Lstat(p); errors.Is(err, fs.ErrNotExist) {
					changed = append(changed, p)
				}
			}
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	return changed, nil
}

// everything lists path and what lies below it.
func everything(root *os.Root, path string) ([]string, error) {
	var all []string
	err := fs.WalkDir(root.FS(), path, func(p string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err == nil {
			all = append(all, p)
		}
		return err
	})
	return all, err
}

func opaque(upper *os.Root, path string) bool {
	dir, err := upper.Open(path)
	if err != nil {
		return false
	}
	defer dir.Close()
	var value [1]byte
	n, err := unix.Fgetxattr(int(dir.Fd()), "user.overlay.opaque", value[:])
	return err == nil && n == 1 && value[0] == 'y'
}
