//go:build unix

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/planmode-dev/planmode/sandbox"
)

func ExampleRun() {
	var out strings.Builder
	r, err := sandbox.Run(context.Background(), sandbox.Spec{
		Argv:   []string{"sh", "-c", "echo hello; exit 3"},
		Dir:    os.TempDir(),
		View:   sandbox.Full,
		Stdout: &out,
	})
	fmt.Printf("%q %d %v\n", out.String(), r.ExitCode, err)
	// Output: "hello\n" 3 <nil>
}

// A view that must be enforced either is, or nothing runs.
func ExampleRun_required() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	r, err := sandbox.Run(context.Background(), sandbox.Spec{
		Argv: []string{"sh", "-c", "echo broken > file"}, Dir: dir, Require: true,
	})
	refused := errors.Is(err, sandbox.ErrUnavailable)
	_, err = os.Stat(dir + "/file")
	fmt.Println(refused || r.Level.Enforces() && r.ExitCode != 0, os.IsNotExist(err))
	// Output: true true
}

func ExampleCleanEnv() {
	fmt.Println(sandbox.CleanEnv([]string{"PATH=/bin", "OPENAI_API_KEY=sk-…", "GITHUB_TOKEN=ghp_…", "LANG=C"}))
	// Output: [PATH=/bin LANG=C]
}

func ExampleDefaultHidden() {
	hidden := sandbox.DefaultHidden("/home/me", "/home/me/.local/state/planmode")
	fmt.Println(hidden[0], hidden[len(hidden)-1])
	// Output: /home/me/.ssh /home/me/.local/state/planmode
}

func ExampleProbe() {
	r := sandbox.Probe(context.Background())
	fmt.Println(r.OS != "", strings.HasPrefix(r.String(), r.Level.String()+" ("))
	// Output: true true
}

func ExampleReport_Why() {
	r := sandbox.Report{Steps: []sandbox.Step{
		{Level: sandbox.Namespaces, Name: "start", Why: "clone: operation not permitted"},
		{Level: sandbox.Landlock, Name: "break-out", OK: true},
	}}
	fmt.Println(r.Why())
	// Output: [namespaces: start: clone: operation not permitted]
}

func ExampleLevel_Enforces() {
	fmt.Println(sandbox.Namespaces.Enforces(), sandbox.Mounts.Enforces(), sandbox.None.Enforces())
	// Output: true false false
}
