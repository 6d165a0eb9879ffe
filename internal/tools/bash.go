package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/planmode-dev/planmode/tool"
)

type bashInput struct {
	Command string `json:"command" jsonschema:"command line for bash"`
	Timeout int    `json:"timeout_seconds,omitempty" jsonschema:"end the command after so many seconds"`
	Dir     string `json:"dir,omitempty" jsonschema:"folder to run in; the workspace by default"`
	Scratch bool   `json:"scratch,omitempty" jsonschema:"run in a throw-away copy of the workspace without network: what the command changes is discarded"`
}

// maxChanged bounds the list of files that a throw-away view would have changed.
const maxChanged = 100

// Bash returns the tool that runs a command line. The grant chooses the view of the machine that it
// runs in, and ends every process that it started when it ends, times out or is cancelled.
func Bash(o Options) tool.Tool {
	usual, longest := o.timeouts()
	return tool.New(tool.Spec{
		Name: "bash",
		Set:  Set,
		Description: fmt.Sprintf("Run a command line with bash, without a terminal or input. It ends after %d seconds "+
			"unless timeout_seconds says otherwise (at most %d), with all that it started. In plan mode read-only commands "+
			"run; builds and tests run in a throw-away copy of the workspace where there is one, and with scratch so do "+
			"commands that write. Prefer read, ls, find, grep, edit and write where they do.",
			int(usual.Seconds()), int(longest.Seconds())),
		Kinds: []tool.Effect{tool.Shell{}},
	}, func(in bashInput) tool.Access {
		return tool.Access{tool.Shell{Command: in.Command, Dir: in.Dir, Scratch: in.Scratch}}
	}, func(ctx context.Context, g *tool.Grant, in bashInput) (tool.Result, error) {
		limit := usual
		switch {
		case in.Timeout < 0:
			return failed("timeout_seconds: %d is below 1", in.Timeout)
		case in.Timeout > int(longest.Seconds()):
			return failed("timeout_seconds: %d is above the limit of %d; nothing was run", in.Timeout, int(longest.Seconds()))
		case in.Timeout > 0:
			limit = time.Duration(in.Timeout) * time.Second
		}
		return bash(ctx, g, limit)
	})
}

type bashDetails struct {
	ExitCode  int      `json:"exit_code"`
	Signal    string   `json:"signal,omitempty"`
	TimedOut  bool     `json:"timed_out,omitempty"`
	Cancelled bool     `json:"cancelled,omitempty"`
	Seconds   float64  `json:"seconds"`
	Bytes     int64    `json:"bytes"`          // of output
	Kept      string   `json:"kept,omitempty"` // file with the whole output, if not all is shown
	Level     string   `json:"sandbox"`
	Scratch   bool     `json:"scratch,omitempty"` // changes were discarded
	Changed   []string `json:"changed,omitempty"` // they were these
}

func bash(ctx context.Context, g *tool.Grant, limit time.Duration) (tool.Result, error) {
	live := newTicker(g.Progress)
	out := &capture{live: live, keep: func() (namedWriter, error) { return g.Keep(".txt") }}
	start := time.Now()
	ran, err := g.Shell(ctx, tool.Output{Stdout: out, Stderr: out, Timeout: limit})
	took := time.Since(start)
	live.stop()
	kept := out.close()
	text := out.text(kept)
	d := bashDetails{
		ExitCode: ran.ExitCode, Signal: ran.Signal, TimedOut: ran.TimedOut, Seconds: took.Seconds(),
		Bytes: out.total, Kept: kept, Level: ran.Level.String(), Scratch: ran.Scratch, Changed: ran.Changed,
	}
	if err != nil {
		if ctx.Err() == nil {
			return tool.Result{}, err
		}
		d.ExitCode, d.Cancelled = -1, true
		text = join(text, fmt.Sprintf("[cancelled after %s; everything it had started was ended]", seconds(took)))
		return tool.Result{Text: text, IsError: true, Details: details(d)}, nil
	}
	text = join(text, ending(d, limit, text == ""))
	if ran.Scratch {
		text = join(text, discarded(ran.Changed))
	}
	return tool.Result{Text: text, IsError: d.ExitCode != 0 || d.TimedOut, Details: details(d)}, nil
}

// ending says how a command ended; nothing if it did as one expects.
func ending(d bashDetails, limit time.Duration, silent bool) string {
	switch {
	case d.TimedOut:
		return fmt.Sprintf("[timed out after %s; it and everything it had started was ended]", seconds(limit))
	case d.Signal != "":
		return fmt.Sprintf("[ended by %s after %s]", d.Signal, seconds(time.Duration(d.Seconds*float64(time.Second))))
	case d.ExitCode != 0:
		return fmt.Sprintf("[exit code %d]", d.ExitCode)
	case silent:
		return "[exit code 0, no output]"
	}
	return ""
}

// discarded says what a throw-away view would have changed.
func discarded(changed []string) string {
	if len(changed) == 0 {
		return "[it ran in a throw-away copy of the workspace and changed nothing in it]"
	}
	more := ""
	if n := len(changed) - maxChanged; n > 0 {
		changed, more = changed[:maxChanged], fmt.Sprintf("\n  and %d more", n)
	}
	shown := make([]string, len(changed))
	for i, c := range changed {
		shown[i] = "  " + printable(c)
	}
	return fmt.Sprintf("[it ran in a throw-away copy of the workspace; its changes were discarded. It would have changed\n%s%s]",
		strings.Join(shown, "\n"), more)
}

func seconds(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// join puts the second text on lines of its own below the first.
func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	case strings.HasSuffix(a, "\n"):
		return a + b
	}
	return a + "\n" + b
}
