//go:build unix && !linux

package sandbox

import (
	"errors"
	"os"
)

// cloneFile has the caller copy: clonefile(2) of macOS wants a destination that does not exist yet.
func cloneFile(_, _ *os.File) error { return errors.ErrUnsupported }
