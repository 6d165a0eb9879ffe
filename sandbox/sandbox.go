// Package sandbox runs a process in a view of the machine that it cannot change, or in a throw-away
// one. It knows what a process is and nothing of tools, sessions or shells.
//
// [Run] is the door. What the kernel really enforces differs between machines, so it is measured by
// processes that try to break out ([Probe]) and every [Result] names the [Level] that held. See
// docs/sandbox.md for what each level promises and what none of them does.
//
// On Linux, Run works through a small helper, a file in memory of about a kilobyte. Where such a file
// may not be executed, and to end what a process left behind, it starts the program's own executable
// again. A package initialisation function takes that process over before main is reached, so no
// program that imports this package has anything to call or to forget.
package sandbox

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrUnavailable is returned by [Run], wrapped with the reason, when Spec.Require is set and the
// kernel cannot enforce the view. Nothing was started.
var ErrUnavailable = errors.New("sandbox: the view cannot be enforced here")

// A View is what a process may change. The zero value is [ReadOnly].
type View uint8

const (
	// ReadOnly: the process sees the machine and can change nothing but a private TMPDIR.
	ReadOnly View = iota
	// Scratch: like ReadOnly, but the workspace is a copy-on-write view whose changes are discarded.
	Scratch
	// Workspace: the process may write the workspace and TMPDIR, and has no network.
	Workspace
	// Full: the process runs as the user would run it, without the secrets in its environment.
	Full
)

var viewNames = [...]string{ReadOnly: "read-only", Scratch: "scratch", Workspace: "workspace", Full: "full"}

// String returns the view's name in lower case, as it stands in reports.
func (v View) String() string {
	if int(v) < len(viewNames) {
		return viewNames[v]
	}
	return fmt.Sprintf("view(%d)", uint8(v))
}

// A Spec describes one process. Argv and Dir are required; everything else has a useful zero value.
type Spec struct {
	Argv []string
	Dir  string // absolute working directory
	// Env is the whole environment; nil means the parent's, less its secrets. In every view but
	// Full, [CleanEnv] is applied to it and TMPDIR is set; in Full it is used as it is.
	Env   []string
	View  View
	Root  string // the workspace, for Scratch and Workspace; "" means Dir
	Stdin io.Reader
	// Stdout and Stderr receive the streams as they come. They may be the same writer, which then
	// is written by one goroutine at a time. Nil discards.
	Stdout, Stderr io.Writer
	Limits         Limits
	// Hidden are absolute paths that the process can neither read nor list, in all views but Full.
	// An entry that does not exist is passed over; one with any of *?[ that does not exist as
	// such is a pattern of [path/filepath.Match]. Nil means [DefaultHidden] of the user's home.
	Hidden []string
	// Require refuses to run, with [ErrUnavailable], when the view cannot be enforced by the kernel.
	// Otherwise the process runs with what there is, and Result.Level says what that was.
	Require bool
}

// Limits bound one run. Zero means the default that each field names.
type Limits struct {
	Timeout   time.Duration // none
	Memory    int64         // bytes of address space for each process; none
	Processes int           // 512 in the confined views
	FileSize  int64         // bytes of one written file; 1 GiB in the confined views
	Scratch   int64         // bytes that a throw-away view may hold; 1 GiB
}

const (
	defaultProcesses = 512
	defaultFileSize  = 1 << 30
	defaultScratch   = 1 << 30
)

// A Result is how the process ended.
type Result struct {
	ExitCode int    // -1 when a signal ended it
	Signal   string // name of the ending signal ("SIGKILL"), or ""
	TimedOut bool
	Level    Level // what was really enforced
	// Changed lists, for Scratch, the workspace paths that the process would have changed: relative
	// to Spec.Root, with forward slashes, sorted; deleted ones included.
	Changed []string
}

// A Level is a rung of enforcement, strongest last. The zero value is [None].
type Level uint8

const (
	// None: the operating system enforces nothing.
	None Level = iota
	// Seatbelt: macOS sandbox-exec.
	Seatbelt
	// Mounts: namespaces, read-only mounts and seccomp on a kernel without Landlock. An existing
	// FIFO that a process outside reads can be written, so Spec.Require does not accept it.
	Mounts
	// Landlock: Landlock and seccomp, where namespaces are refused.
	Landlock
	// Namespaces: namespaces, read-only mounts, Landlock and seccomp.
	Namespaces
)

var levelNames = [...]string{
	None: "none", Seatbelt: "seatbelt", Mounts: "mounts", Landlock: "landlock", Namespaces: "namespaces",
}

// String returns the level's name in lower case, as it stands in reports and status lines.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// MarshalText writes the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a name that MarshalText wrote.
func (l *Level) UnmarshalText(b []byte) error {
	for i, name := range levelNames {
		if name == string(b) {
			*l = Level(i)
			return nil
		}
	}
	return fmt.Errorf("sandbox: unknown level %q", b)
}

// Enforces reports whether the level keeps the promise of the confined views, which is what
// Spec.Require asks for. It is false for [None] and [Mounts].
func (l Level) Enforces() bool {
	switch l {
	case Seatbelt, Landlock, Namespaces:
		return true
	case None, Mounts:
		return false
	}
	return false
}
