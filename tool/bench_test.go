package tool

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/sandbox"
)

// benchWorld has what a user's configuration has: what is hidden by default, and some rules.
func benchWorld(b *testing.B, rules bool) *world {
	b.Helper()
	return newWorld(b, func(c *Config) {
		c.Roots.Hidden = append(c.Roots.Hidden, sandbox.DefaultHidden(c.Roots.Home)...)
		c.Policy = Policy{}
		if rules {
			c.Policy = Policy{
				Allow: []Rule{{"bash", "go test *"}, {"bash", "go vet *"}, {"write", "docs/**"}, {"fetch", "pkg.go.dev"}},
				Ask:   []Rule{{"bash", "git push *"}},
				Deny:  []Rule{{"bash", "rm *"}, {"*", "secrets/**"}},
			}
		}
	}).to(plan.Planning)
}

func benchDecide(b *testing.B, w *world, call Call, want string) {
	b.Helper()
	if d := w.gate.Decide(w.st, call); word(d) != want {
		b.Fatalf("%s %+v", word(d), d)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.gate.Decide(w.st, call)
	}
}

// BenchmarkUnmarshal is what to hold the others against: decoding the input alone, as any program must.
func BenchmarkUnmarshal(b *testing.B) {
	input := []byte(`{"path":"a.go"}`)
	b.ReportAllocs()
	for b.Loop() {
		var in pathInput
		if err := json.Unmarshal(input, &in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecideRead(b *testing.B) {
	benchDecide(b, benchWorld(b, false), callOf("read", `{"path":"a.go"}`), "allow")
}

func BenchmarkDecideReadWithRules(b *testing.B) {
	benchDecide(b, benchWorld(b, true), callOf("read", `{"path":"a.go"}`), "allow")
}

func BenchmarkDecideWriteRefused(b *testing.B) {
	benchDecide(b, benchWorld(b, false), callOf("write", `{"path":"a.go","content":"package a"}`), string(PlanModeBlocked))
}

func BenchmarkDecideShell(b *testing.B) {
	benchDecide(b, benchWorld(b, false), callOf("bash", `{"command":"git log --oneline -5 | head -3"}`), "allow")
}

func BenchmarkDecideShellWithRules(b *testing.B) {
	benchDecide(b, benchWorld(b, true), callOf("bash", `{"command":"git log --oneline -5 | head -3"}`), "allow")
}

func BenchmarkCheck(b *testing.B) {
	input := json.RawMessage(`{"path":"a.go"}`)
	c := benchWorld(b, false).reg.lookup("read").check
	b.ReportAllocs()
	for b.Loop() {
		if err := c.check(input); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCheckByLibrary is what BenchmarkCheck saves.
func BenchmarkCheckByLibrary(b *testing.B) {
	input := json.RawMessage(`{"path":"a.go"}`)
	resolved, err := benchWorld(b, false).reg.lookup("read").check.root.Resolve(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var v any
		if err := json.Unmarshal(input, &v); err != nil {
			b.Fatal(err)
		}
		if err := resolved.Validate(v); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRun is what a tool that does nothing costs beyond being judged.
func BenchmarkRun(b *testing.B) {
	w := benchWorld(b, false)
	call := callOf("nothing", `{}`)
	b.ReportAllocs()
	for b.Loop() {
		a := w.gate.Decide(w.st, call).(Allow)
		if _, err := w.gate.Run(context.Background(), a, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGitEnv is what a line that calls git waits for before it runs, next to git's own answer.
func BenchmarkGitEnv(b *testing.B) {
	h := newHostile(b)
	dir := h.path("elsewhere/plain")
	h.repository("elsewhere/plain") // without submodules, as most are
	env := readOnlyEnv(os.Environ(), h.ws)
	var ready []string
	b.Run("prepare", func(b *testing.B) {
		for b.Loop() {
			ready = gitEnv(b.Context(), env, "git status", dir, true)
		}
	})
	b.Run("git status", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("git", "status")
			cmd.Dir, cmd.Env = dir, ready
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("without git", func(b *testing.B) {
		for b.Loop() {
			gitEnv(b.Context(), env, "ls -la docs | head", h.ws, true)
		}
	})
}
