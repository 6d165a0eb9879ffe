package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// makeDir makes a folder, and those above it, with mode 0700, and makes their names durable.
func makeDir(dir string) error {
	var made []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || d == filepath.Dir(d) {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		made = append(made, d)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range made {
		if err := syncDir(filepath.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

// syncDir makes the names in a folder durable. Windows has no such call.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// advice says what to do about errors that a user can do something about.
var advice = []struct {
	err  error
	text string
}{
	{syscall.ENOSPC, "free some space and try again"},
	{syscall.EDQUOT, "the quota is used up; free some space and try again"},
	{syscall.EFBIG, "the file may not grow further here; raise the limit and try again"},
	{syscall.EROFS, "the file system is read-only; make it writable or set XDG_STATE_HOME to another folder"},
	{fs.ErrPermission, "the folder or file may not be written; change its mode or set XDG_STATE_HOME to another folder"},
	{syscall.EIO, "the disk reports a fault; copy what you need and check it"},
}

// explain adds what to do next to an error of the operating system.
func explain(err error) error {
	for _, a := range advice {
		if errors.Is(err, a.err) {
			return fmt.Errorf("%w (%s)", err, a.text)
		}
	}
	return err
}
