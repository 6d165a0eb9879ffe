package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/planmode-dev/planmode/internal/config"
)

func newConfig(io streams) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Show and check the configuration", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		return usagef("name one of show, check, schema, path, trust, distrust")
	}}
	c.AddCommand(newConfigShow(io), newConfigCheck(io), newConfigSchema(io), newConfigPath(io), newConfigTrust(io, true), newConfigTrust(io, false))
	return c
}

func newConfigShow(io streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "show", Short: "Show every setting, its value and where it came from", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		p, err := findPlace("")
		if err != nil {
			return err
		}
		p.complain(io.err)
		if asJSON {
			return json.NewEncoder(io.out).Encode(p.cfg.Settings())
		}
		w := tabwriter.NewWriter(io.out, 0, 8, 2, ' ', 0)
		for _, s := range p.cfg.Settings() {
			var from []string
			for _, src := range s.Sources {
				from = append(from, src.String())
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Field, s.Value, strings.Join(from, ", "))
		}
		return w.Flush()
	}}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func newConfigCheck(io streams) *cobra.Command {
	return &cobra.Command{Use: "check [FILE]", Short: "Check the configuration, or a file", Args: cobra.MaximumNArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		p, err := findPlace("")
		if err != nil {
			return err
		}
		diags := p.diags
		if len(args) == 1 {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return usageError{err}
			}
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			diags = config.Check(path, data, p.home, "")
		}
		bad := false
		for _, d := range diags {
			fmt.Fprintln(io.err, d)
			bad = bad || d.Severity == config.Fault
		}
		if bad {
			return exitStatus(exitError)
		}
		_, err = fmt.Fprintln(io.out, "the configuration is good")
		return err
	}}
}

func newConfigSchema(io streams) *cobra.Command {
	return &cobra.Command{Use: "schema", Short: "Print the JSON Schema of the configuration", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		_, err := fmt.Fprintf(io.out, "%s\n", strings.TrimSpace(string(config.Schema())))
		return err
	}}
}

func newConfigPath(io streams) *cobra.Command {
	return &cobra.Command{Use: "path", Short: "Print where the configuration and the sessions are kept", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		p, err := findPlace("")
		if err != nil {
			return err
		}
		p.complain(io.err)
		project := filepath.Join(p.workspace, filepath.FromSlash(config.ProjectFile))
		_, err = fmt.Fprintf(io.out, "user     %s%s\nproject  %s%s\nstate    %s\n", p.dirs.UserFile(), absent(p.dirs.UserFile()), project, p.projectNote(project), p.dirs.State)
		return err
	}}
}

func absent(path string) string {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return " (not there)"
	}
	return ""
}

func (p *place) projectNote(path string) string {
	switch {
	case absent(path) != "":
		return absent(path)
	case !p.dirs.Trusted(p.workspace):
		return " (not read: you have not trusted this project; planmode config trust)"
	}
	return ""
}

func newConfigTrust(io streams, trust bool) *cobra.Command {
	use, short := "trust", "Let this folder's .planmode/config.json add restrictions"
	if !trust {
		use, short = "distrust", "Take that back"
	}
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		p, err := findPlace("")
		if err != nil {
			return err
		}
		if trust {
			err = p.dirs.Trust(p.workspace)
		} else {
			err = p.dirs.Distrust(p.workspace)
		}
		if err == nil {
			fmt.Fprintf(io.err, "%s: %sed\n", p.workspace, use)
		}
		return err
	}}
}
