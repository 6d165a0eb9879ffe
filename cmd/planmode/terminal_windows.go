package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// isTerminal says whether the file is a console. NUL is a character device too, and none.
func isTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}
