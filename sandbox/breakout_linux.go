package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// breakoutName is argv[0] of the process that tries to break out of a rung for [Probe].
const breakoutName = "planmode-sandbox-breakout"

// nestedName is argv[0] of what it starts in a user namespace of its own, which does nothing.
const nestedName = "planmode-sandbox-nested"

func init() {
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case breakoutName:
		breakoutMain()
		os.Exit(1) //nolint:forbidigo // this process is the try, and main is never reached
	case nestedName:
		os.Exit(0) //nolint:forbidigo // the same
	}
}

// targets is what the break-out is aimed at: all of it made by the probe for this one try.
type targets struct {
	Workspace string // with "file" and "dir"
	Secret    string // a hidden directory with "key"
	FIFO      string // someone outside reads
	Socket    string // someone outside listens
	TCP       string // someone outside listens
	PID       int    // a process outside that ignores SIGURG
	Write     bool   // the workspace is a throw-away one: writing it must work
}

// An attempt is one way out. It returns nil when it got through.
type attempt struct {
	name string
	try  func(t targets) error
}

const fifoWritten = "write a FIFO"

var breakouts = []attempt{
	{"write a file", func(t targets) error {
		return os.WriteFile(filepath.Join(t.Workspace, "file"), []byte("broken"), 0o600)
	}},
	{"create a file", func(t targets) error {
		return os.WriteFile(filepath.Join(t.Workspace, "new"), nil, 0o600)
	}},
	{"truncate a file", func(t targets) error { return os.Truncate(filepath.Join(t.Workspace, "file"), 0) }},
	{"truncate through a reading descriptor", func(t targets) error {
		fd, err := unix.Open(filepath.Join(t.Workspace, "file"), unix.O_RDONLY|unix.O_TRUNC|unix.O_CLOEXEC, 0)
		_ = unix.Close(fd)
		return err
	}},
	{"rename", func(t targets) error {
		return os.Rename(filepath.Join(t.Workspace, "file"), filepath.Join(t.Workspace, "moved"))
	}},
	{"remove a directory", func(t targets) error { return unix.Rmdir(filepath.Join(t.Workspace, "dir")) }},
	{"chmod", func(t targets) error { return unix.Chmod(filepath.Join(t.Workspace, "file"), 0o777) }},
	{"chown", func(t targets) error {
		return unix.Lchown(filepath.Join(t.Workspace, "file"), os.Getuid(), os.Getgid())
	}},
	{"set times", func(t targets) error {
		return unix.Utimes(filepath.Join(t.Workspace, "file"), make([]unix.Timeval, 2))
	}},
	{"set an attribute", func(t targets) error {
		return unix.Setxattr(filepath.Join(t.Workspace, "file"), "user.broken", nil, 0)
	}},
	{"read a hidden file", func(t targets) error {
		_, err := os.ReadFile(filepath.Join(t.Secret, "key"))
		return err
	}},
	{"list a hidden directory", func(t targets) error { _, err := os.ReadDir(t.Secret); return err }},
	{fifoWritten, func(t targets) error {
		fd, err := unix.Open(t.FIFO, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte("broken"))
		return err
	}},
	{"connect to a unix socket", func(t targets) error { return dial("unix", t.Socket) }},
	{"connect to a port", func(t targets) error { return dial("tcp", t.TCP) }},
	{"send a datagram", func(t targets) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		_ = unix.Close(fd)
		return err
	}},
	{"signal a process", func(t targets) error { return unix.Kill(t.PID, unix.SIGURG) }},
	{"nest a user namespace", func(targets) error {
		nested := exec.CommandContext(context.Background(), selfExe) // it ends at once
		nested.Args[0] = nestedName
		nested.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return nested.Run()
	}},
	{"mount", func(t targets) error { return unix.Mount("tmpfs", t.Workspace, "tmpfs", 0, "") }},
	{"set up io_uring", func(targets) error {
		var params [120]byte
		fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, bytesAddr(params[:]), 0)
		if errno != 0 {
			return errno
		}
		return unix.Close(int(fd))
	}},
}

// errNotPrivate reports that what must work does not.
var errNotPrivate = errors.New("the private TMPDIR cannot be written")

func dial(network, address string) error {
	conn, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

// breakoutMain tries everything and prints the names of what got through, as JSON.
func breakoutMain() {
	var t targets
	if len(os.Args) != 2 || json.Unmarshal([]byte(os.Args[1]), &t) != nil {
		return
	}
	through := []string{}
	if t.Write {
		through = throwAway(t)
	} else {
		for _, a := range breakouts {
			if a.try(t) == nil {
				through = append(through, a.name)
			}
		}
	}
	if os.WriteFile(filepath.Join(os.Getenv("TMPDIR"), "own"), []byte("fine"), 0o600) != nil {
		through = append(through, errNotPrivate.Error())
	}
	out, err := json.Marshal(through)
	if err != nil {
		return
	}
	if _, err := os.Stdout.Write(append(out, '\n')); err == nil {
		os.Exit(0) //nolint:forbidigo,revive // this process is the try, and main is never reached
	}
}

// throwAway works in a throw-away workspace as a build would, and returns what did not work.
func throwAway(t targets) []string {
	var failed []string
	dir, err := os.Getwd()
	if err != nil {
		return []string{err.Error()}
	}
	sub := filepath.Join(dir, "dir")
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "file"), []byte("changed"), 0o600),
		os.WriteFile(filepath.Join(dir, "new"), nil, 0o600),
		os.Remove(filepath.Join(sub, "below")),
		syscall.Rmdir(sub),
		os.Mkdir(sub, 0o700), // opaque now
		os.WriteFile(filepath.Join(sub, "other"), nil, 0o600),
	} {
		if err != nil {
			failed = append(failed, err.Error())
		}
	}
	return failed
}
