//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal says whether the file is a terminal. /dev/null is a character device too, and none.
func isTerminal(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	is := false
	err = conn.Control(func(fd uintptr) {
		_, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
		is = err == nil
	})
	return err == nil && is
}
