package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planmode-dev/planmode/sandbox"
	"github.com/planmode-dev/planmode/tool"
)

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

func newDoctor(io streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "doctor", Short: "Say what holds on this machine: the sandbox, the programs, the configuration", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		p, err := findPlace("")
		if err != nil {
			return err
		}
		report := sandbox.Probe(c.Context())
		if asJSON {
			return json.NewEncoder(io.out).Encode(map[string]any{"version": versionText(), "platform": platform(), "sandbox": report, "diagnostics": p.diags})
		}
		p.complain(io.err)
		var b strings.Builder
		fmt.Fprintf(&b, "planmode  %s %s\nsandbox   %s\n", versionText(), platform(), report)
		switch {
		case p.cfg.Sandbox == tool.SandboxOff:
			fmt.Fprintln(&b, "          off by your configuration: while planning, the parser alone guards")
		case !report.Level.Enforces():
			fmt.Fprintln(&b, "          no kernel wall: while planning, only commands proven read-only run")
		}
		for _, name := range []string{"bash", "git"} {
			path, err := exec.LookPath(name)
			if err != nil {
				path = "missing"
			}
			fmt.Fprintf(&b, "%-9s %s\n", name, path)
		}
		_, err = fmt.Fprint(io.out, b.String())
		return err
	}}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}
