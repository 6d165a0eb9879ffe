package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func newRoot(io streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "planmode",
		Short:         "A coding agent that plans first and executes exactly what you approved",
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := c.Help(); err != nil {
				return err
			}
			return usagef("name a command, such as demo, run or explain")
		},
	}
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		newDemo(io), newRun(io), newApprove(io), newReject(io), newSessions(io), newExplain(io), newConfig(io),
		newModels(io), newDoctor(io), newVersion(io),
	)
	root.InitDefaultCompletionCmd()
	asUsage(root)
	return root
}

// asUsage makes errors about arguments usage errors, at every level. A flag that is given with nothing is
// one: in --session "$ID" the variable was not set, and what would be done without the flag is not meant.
func asUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			for _, name := range neverEmpty {
				if f := c.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
					return usagef("--%s is empty; see %s --help", name, c.CommandPath())
				}
			}
			if err := check(c, args); err != nil {
				return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		asUsage(sub)
	}
}

// neverEmpty are the flags that mean something else, or everything, when they are left out.
var neverEmpty = []string{"session", "digest", "cwd", "model", "autonomy", "output", "how", "shell", "feedback", "prompt"}

// version is set at the link: -ldflags "-X main.version=v1.2.3".
var version = ""

func versionText() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "" {
		v = info.Main.Version
	}
	if v == "" || v == "(devel)" {
		v = "development"
	}
	return v
}

func newVersion(io streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(io.out, "planmode %s %s %s/%s\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
