package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// changes lists what a throw-away view would have changed in the workspace, sorted.
func (h *helper) changes() ([]string, error) {
	if h.written == nil {
		return nil, nil
	}
	var changed []string
	var err error
	if h.upper {
		changed, err = changedInUpper(h.original, h.written)
	} else {
		changed, err = changedInCopy(h.original, h.written)
		if err == nil {
			var gone []string
			gone, err = deleted(h.original, h.written, h.neverCopied)
			changed = append(changed, gone...)
		}
	}
	slices.Sort(changed)
	return slices.Compact(changed), err
}

func (h *helper) neverCopied(path string) bool {
	abs := filepath.Join(h.root, path)
	return abs == h.base || slices.Contains(fromRaw(h.Hidden), abs)
}

// changedInUpper reads the upper directory of an overlay: a file is there when it was written or
// created, a device 0:0 stands for a deleted one, and an opaque directory hides what was below.
func changedInUpper(lower, upper *os.Root) ([]string, error) {
	var changed []string
	err := fs.WalkDir(upper.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if d.Type()&fs.ModeCharDevice != 0 { // a whiteout: the process itself can make no device
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
