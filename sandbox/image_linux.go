package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/planmode-dev/planmode/sandbox/internal/stage"
)

// selfExe is this very program, also when its file was replaced or removed.
const selfExe = "/proc/self/exe"

// selfInHelper is the same in the processes that the helper starts.
var selfInHelper = fmt.Sprintf("/proc/self/fd/%d", stage.ExeFD)

// imageFD is the descriptor that the helper is executed from, when it is an image.
const imageFD = stage.ExeFD + 1

// helperEnv keeps the helper small when it is this program: it needs one thread and never collects.
var helperEnv = []string{"GOGC=off", "GOMAXPROCS=1", "GOTRACEBACK=none", "GODEBUG=asyncpreemptoff=1"}

// executable is what the helper is executed from.
type executable struct {
	path  string
	files []*os.File // at stage.ExeFD and after it
}

// helperProgram returns the image, or this program where files in memory may not be executed.
func helperProgram(f faults) (executable, error) {
	self, err := openSelf()
	if err != nil {
		return executable{}, err
	}
	if image, err := openImage(); err == nil && !f.NoImage {
		return executable{fmt.Sprintf("/proc/self/fd/%d", imageFD), []*os.File{self, image}}, nil
	}
	return executable{selfExe, []*os.File{self}}, nil
}

var openSelf = sync.OnceValues(func() (*os.File, error) {
	return os.OpenFile(selfExe, unix.O_PATH, 0)
})

// openImage puts the interpreter into a file in memory that nobody can change any more, and
// executes it once to see that this is allowed.
var openImage = sync.OnceValues(func() (*os.File, error) {
	image, err := newImage()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, fmt.Sprintf("/proc/self/fd/%d", imageFD))
	cmd.ExtraFiles = []*os.File{nil, nil, image}
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == noScript {
		return image, nil
	}
	closeAll(image)
	return nil, fmt.Errorf("a file in memory cannot be executed: %w", errors.Join(err, context.Cause(ctx)))
})

// noScript is how the interpreter exits without a script.
const noScript = 125

func newImage() (*os.File, error) {
	// A process that is started meanwhile would keep the file open for writing, and what is may not
	// be executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(helperName, flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(helperName, flags)
	}
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), helperName)
	defer closeAll(file)
	if _, err := file.Write(stage.Image()); err != nil {
		return nil, err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, err
	}
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
}

// havePidfd reports whether a process can be polled, as it can since Linux 5.3.
var havePidfd = sync.OnceValue(func() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil
})
