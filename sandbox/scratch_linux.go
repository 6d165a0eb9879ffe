package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// mountScratch lays a copy-on-write view over the workspace, and one over the home directory, so
// that caches are warm and writes to them are thrown away with the rest.
func (h *helper) mountScratch() error {
	original, err := os.OpenRoot(h.root)
	if err != nil {
		return step("workspace", err)
	}
	h.original = original
	if h.Copy || h.Faults.NoOverlay {
		return h.mountCopy()
	}
	root, err := h.newOverlay("root", h.root)
	if err != nil {
		return step("overlay", err)
	}
	defer root.close()
	home := string(h.Home)
	if home != "" && home != "/" && !within(h.root, home) {
		if err := h.mountHome(home); err != nil {
			h.redirectCaches()
		}
	}
	if h.written, err = os.OpenRoot(root.upper); err != nil {
		return step("overlay", err)
	}
	h.upper = true
	if err := root.mount(); err != nil {
		return step("overlay", err)
	}
	h.storeCovered = h.storeCovered || within(h.root, h.base)
	return nil
}

func (h *helper) mountHome(home string) error {
	if within(home, h.base) {
		return fmt.Errorf("%q holds the private directory", home)
	}
	o, err := h.newOverlay("home", home)
	if err != nil {
		return err
	}
	defer o.close()
	return o.mount()
}

// overlay is one copy-on-write mount in the making. Everything that it needs of the path that it
// will cover is taken first.
type overlay struct {
	path     string
	upper    string
	store    string
	nested   []string // mount points below path, outermost first
	nestedFD []int
}

func (h *helper) newOverlay(name, path string) (*overlay, error) {
	o := &overlay{path: path, store: filepath.Join(h.base, name)}
	o.upper = filepath.Join(o.store, "upper")
	for _, dir := range []string{"", "lower", "upper", "work"} {
		if err := unix.Mkdir(filepath.Join(o.store, dir), 0o700); err != nil {
			return nil, err
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, err
	}
	// The merged directory has the attributes of the upper one.
	if err := unix.Chmod(o.upper, st.Mode&0o7777); err != nil {
		return nil, err
	}
	_ = unix.Chown(o.upper, int(st.Uid), int(st.Gid)) // an ordinary user owns it, or may not give it away
	// Recursive, because a bind that leaves out a mount inherited from outside is refused.
	lower := filepath.Join(o.store, "lower")
	if err := unix.Mount(path, lower, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return nil, err
	}
	// An overlay does not look into mounts below its lower directory: they are put back on top.
	nested, err := mountsBelow(path)
	if err != nil {
		return nil, err
	}
	for _, p := range nested {
		if within(h.base, p) {
			continue
		}
		if fd, err := cloneTree(p, unix.AT_RECURSIVE); err == nil {
			o.nested, o.nestedFD = append(o.nested, p), append(o.nestedFD, fd)
		}
	}
	return o, nil
}

func (o *overlay) close() {
	for _, fd := range o.nestedFD {
		_ = unix.Close(fd)
	}
}

func (o *overlay) mount() error {
	// Relative names, because the options split at commas and colons that a path may contain.
	if err := unix.Chdir(o.store); err != nil {
		return err
	}
	defer func() { _ = unix.Chdir("/") }()
	const options = "lowerdir=lower,upperdir=upper,workdir=work,userxattr"
	if err := unix.Mount("overlay", o.path, "overlay", unix.MS_NOSUID, options); err != nil {
		return err
	}
	for i, p := range o.nested {
		if err := attach(o.nestedFD[i], p); err != nil && err != unix.ENOENT { //nolint:errorlint // a bare errno
			return fmt.Errorf("mount below %q: %w", p, err)
		}
	}
	return nil
}

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
		p := unescapeMount(fields[4])
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

func unescapeMount(s string) string { return mountEscapes.Replace(s) }

// mountCopy is the view where there is no overlay: a copy in the run's own memory.
func (h *helper) mountCopy() error {
	dir := filepath.Join(h.base, "copy")
	if err := h.copyWorkspace(dir); err != nil {
		return err
	}
	h.redirectCaches()
	h.storeCovered = within(h.root, h.base)
	return step("workspace copy", unix.Mount(dir, h.root, "", unix.MS_BIND, ""))
}

func (h *helper) copyWorkspace(dir string) error {
	skip := append(fromRaw(h.Hidden), h.base)
	if err := copyTree(h.root, dir, skip, h.Limits.Scratch); err != nil {
		return step("workspace copy", err)
	}
	written, err := os.OpenRoot(dir)
	h.written = written
	return step("workspace copy", err)
}
