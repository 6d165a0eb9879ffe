package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// diff shows what the execution changed, against the embedded originals. git draws it where there is
// one; otherwise the changed files are shown whole.
func (d *demo) diff(ctx context.Context) error {
	before := filepath.Join(d.dir, "before")
	was := &demo{project: before}
	if err := was.unpack(); err != nil {
		return err
	}
	if _, err := exec.LookPath("git"); err == nil {
		cmd := exec.CommandContext(ctx, "git", "--no-pager", "diff", "--no-index", "--no-color", "--no-ext-diff", "before", "shop")
		cmd.Dir = d.dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 { // 1: they differ
			return fmt.Errorf("git diff: %w", err)
		}
		d.say("%s", strings.TrimRight(string(out), "\n"))
		return nil
	}
	for _, name := range []string{"order.go", "order_test.go"} {
		data, err := os.ReadFile(filepath.Join(d.project, name))
		if err != nil {
			return err
		}
		d.say("--- %s ---\n%s", name, data)
	}
	return nil
}
