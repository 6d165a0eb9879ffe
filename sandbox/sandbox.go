// Package sandbox runs a process in a view of the machine that it cannot change, or in a throw-away
// one. It knows what a process is and nothing of tools, sessions or shells.
package sandbox

import (
	"io"
	"time"
)

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

// A Spec describes one process. Argv and Dir are required; everything else has a useful zero value.
type Spec struct {
	Argv  []string
	Dir   string   // absolute working directory
	Env   []string // the whole environment; nil means the parent's, less its secrets
	View  View
	Root  string // the workspace, for Scratch and Workspace; "" means Dir
	Stdin io.Reader
	// Stdout and Stderr receive the streams as they come. They may be the same writer, which then
	// is written by one goroutine at a time. Nil discards.
	Stdout, Stderr io.Writer
	Limits         Limits
	// Hidden are absolute paths that the process can neither read nor list, in all views but Full.
	// Nil means [DefaultHidden].
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

// A Result is how the process ended.
type Result struct {
	ExitCode int    // -1 when a signal ended it
	Signal   string // name of the ending signal, or ""
	TimedOut bool
	Level    Level    // what was really enforced
	Changed  []string // Scratch: workspace paths that the process would have changed, sorted
}

// A Level is a rung of enforcement, strongest last. The zero value is [None].
type Level uint8

const (
	// None: the operating system enforces nothing.
	None Level = iota
	// Seatbelt: macOS sandbox-exec.
	Seatbelt
	// Landlock: Landlock and seccomp, where namespaces are refused.
	Landlock
	// Namespaces: namespaces, read-only mounts, Landlock and seccomp.
	Namespaces
)
