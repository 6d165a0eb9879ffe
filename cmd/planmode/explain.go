package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planmode-dev/planmode/shellsafe"
)

var dialects = map[string]shellsafe.Dialect{
	"bash": shellsafe.Bash, "sh": shellsafe.POSIX, "powershell": shellsafe.PowerShell, "cmd": shellsafe.Cmd,
}

func newExplain(io streams) *cobra.Command {
	var asJSON, stdin bool
	var shell string
	c := &cobra.Command{
		Use:   "explain [--json] CMD",
		Short: "Say what a command line can do, and why, without running it",
		Long: `Say what a command line can do: read (runs while planning), contained (runs project code or an unknown
program: harmless only in a throw-away view), write, network, or invalid.

With --json --stdin, standard input holds one JSON string a line, and one verdict object a line comes out,
in the same order. The exit code is 0 whatever the verdict.`,
		Args: func(c *cobra.Command, args []string) error {
			if stdin {
				return cobra.NoArgs(c, args)
			}
			return cobra.ExactArgs(1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			dialect, ok := dialects[shell]
			if !ok {
				return usagef("--shell %q is none of bash, sh, powershell, cmd", shell)
			}
			p, err := findPlace("")
			if err != nil {
				return err
			}
			opts := &shellsafe.Options{Dialect: dialect, Allow: p.cfg.Plan.ShellAllow}
			switch {
			case stdin && !asJSON:
				return usagef("--stdin needs --json")
			case stdin:
				return explainLines(c.Context(), io, opts)
			case asJSON:
				enc := json.NewEncoder(io.out)
				enc.SetEscapeHTML(false)
				return enc.Encode(explanation{Command: args[0], Explanation: shellsafe.Explain(args[0], opts)})
			}
			return explainText(io, args[0], opts)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	c.Flags().BoolVar(&stdin, "stdin", false, "read command lines from standard input, each a JSON string on a line of its own")
	c.Flags().StringVar(&shell, "shell", "bash", "bash, sh, powershell or cmd")
	return c
}

type explanation struct {
	Command string `json:"command"`
	shellsafe.Explanation
	Error string `json:"error,omitempty"` // of the input line
}

// explainLines answers each input line with one output line, whatever it holds.
func explainLines(ctx context.Context, std streams, opts *shellsafe.Options) error {
	in := bufio.NewReaderSize(interruptible(ctx, std.in), 64<<10)
	out := bufio.NewWriter(std.out)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for {
		line, tooLong, err := readLine(in)
		if err != nil {
			return err
		}
		if line == nil {
			return nil
		}
		var e explanation
		if tooLong {
			e.Error = fmt.Sprintf("the line is longer than %d bytes", longestLine)
		} else if err := json.Unmarshal(line, &e.Command); err != nil {
			e.Error = "not a JSON string: " + err.Error()
		}
		if e.Error != "" {
			e.Result = shellsafe.Result{Verdict: shellsafe.Invalid, Reason: e.Error}
			e.Steps = []shellsafe.Step{}
		} else {
			e.Explanation = shellsafe.Explain(e.Command, opts)
		}
		if err := enc.Encode(e); err != nil {
			return err
		}
		if err := out.Flush(); err != nil { // the reader may be waiting for it
			return err
		}
	}
}

// longestLine bounds a line of explain --stdin.
const longestLine = 1 << 20

// readLine returns the next line without its end; nil after the last one. The rest of a line that is too
// long is skipped, so that the next one is read as what it is.
func readLine(in *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if len(line)+len(piece) <= longestLine+1 {
			line = append(line, piece...)
		} else {
			tooLong = true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && line == nil:
			return nil, false, nil
		case err != nil && !errors.Is(err, io.EOF):
			return nil, false, err
		}
		return bytes.TrimSuffix(line, []byte("\n")), tooLong, nil
	}
}

func explainText(io streams, line string, opts *shellsafe.Options) error {
	e := shellsafe.Explain(line, opts)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", e.Verdict)
	if e.Reason != "" {
		fmt.Fprintf(&b, "  reason  %s\n", e.Reason)
	}
	if e.At.Text != "" {
		fmt.Fprintf(&b, "  at      %d: %s\n", e.At.Offset, e.At.Text)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "  instead %s\n", e.Hint)
	}
	if e.Row != "" {
		fmt.Fprintf(&b, "  row     %s\n", e.Row)
	}
	for _, s := range e.Steps {
		fmt.Fprintf(&b, "  - %-9s %-16s %s\n", s.Verdict, s.Row, oneLine(s.At.Text))
	}
	_, err := fmt.Fprint(io.out, shown(b.String()))
	return err
}
