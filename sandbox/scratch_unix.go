//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// errScratchFull says that a throw-away view does not hold the workspace.
var errScratchFull = errors.New("the workspace is larger than Limits.Scratch")

// copyTree copies from to the new directory to, with modes and times, and without the paths in
// skip. Files share their blocks where the file system can; what is neither file, directory nor
// link is left out. No more than limit bytes are copied.
func copyTree(from, to string, skip []string, limit int64) error {
	type stamp struct {
		path string
		info fs.FileInfo
	}
	var dirs []stamp // stamped last, because filling a directory changes its time
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrPermission) {
				return nil // the process could not have read it either
			}
			return err
		}
		if slices.Contains(skip, path) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			dirs = append(dirs, stamp{target, info})
			return os.MkdirAll(target, 0o700)
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			if err := os.Symlink(link, target); err != nil {
				return err
			}
			return stampFile(target, info)
		case info.Mode().IsRegular():
			if limit -= info.Size(); limit < 0 {
				return errScratchFull
			}
			return copyFile(path, target, info)
		}
		return nil
	})
	if errors.Is(err, unix.ENOSPC) {
		err = errScratchFull
	}
	for _, d := range slices.Backward(dirs) {
		err = errors.Join(err, stampFile(d.path, d.info))
	}
	return err
}

func copyFile(from, to string, info fs.FileInfo) error {
	src, err := os.Open(from)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if cloneFile(dst, src) != nil {
		_, err = io.Copy(dst, src)
	}
	if err := errors.Join(err, dst.Close()); err != nil {
		return err
	}
	return stampFile(to, info)
}

func stampFile(path string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink == 0 {
		if err := os.Chmod(path, info.Mode().Perm()); err != nil {
			return err
		}
	}
	t, err := unix.TimeToTimespec(info.ModTime())
	if err != nil {
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{t, t}, unix.AT_SYMLINK_NOFOLLOW)
}

// changedInCopy lists what differs between the original and a copy that was worked on.
func changedInCopy(original, copied *os.Root) ([]string, error) {
	var changed []string
	err := fs.WalkDir(copied.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if differs(original, copied, path) {
			changed = append(changed, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	return changed, nil
}

// deleted lists what the original has and the copy has not. Paths in skip were never copied.
func deleted(original, copied *os.Root, skip func(path string) bool) ([]string, error) {
	var gone []string
	err := fs.WalkDir(original.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil || path == "." {
			return err
		}
		if skip(path) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if t := d.Type(); !d.IsDir() && !t.IsRegular() && t&fs.ModeSymlink == 0 {
			return nil // never copied
		}
		if _, err := copied.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, path)
		}
		return nil
	})
	return gone, err
}

// differs compares kind, permissions, size and time, as rsync does. Directories differ only when
// one is new or has other permissions: their size and time follow from their entries, which are
// listed themselves.
func differs(original, now *os.Root, path string) bool {
	a, err := original.Lstat(path)
	if err != nil {
		return true
	}
	b, err := now.Lstat(path)
	if err != nil {
		return true
	}
	if a.Mode() != b.Mode() {
		return true
	}
	if a.IsDir() {
		return false
	}
	return a.Size() != b.Size() || !a.ModTime().Equal(b.ModTime())
}
