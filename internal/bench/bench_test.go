package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/planmode-dev/planmode/internal/agenttest"
	"github.com/planmode-dev/planmode/internal/session"
	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/scripted"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/shellsafe"
	"github.com/planmode-dev/planmode/tool"
)

// perOp returns the time that one call takes: the median of several batches, each long enough for the
// clock.
func perOp(f func()) time.Duration {
	f()
	const batches, least = 9, 2 * time.Millisecond
	n := 1
	for {
		start := time.Now()
		for range n {
			f()
		}
		if time.Since(start) >= least {
			break
		}
		n *= 2
	}
	var times []time.Duration
	for range batches {
		start := time.Now()
		for range n {
			f()
		}
		times = append(times, time.Since(start)/time.Duration(n))
	}
	slices.Sort(times)
	return times[batches/2]
}

// compare runs the benchmark's loop on f, and reports how it stands to a yardstick of the same run.
func compare(b *testing.B, yardstick string, base, f func()) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(perOp(f))/float64(perOp(base)), "×"+yardstick)
}

// Judging a call that runs no command. The limit is 2 µs.
func BenchmarkDecideRead(b *testing.B) {
	gate := tool.NewGate(tool.Config{
		Registry: tool.NewRegistry(tools.All(tools.Options{})...), Roots: tool.Roots{Workspace: "/home/ann/space"},
	})
	call := tool.Call{ID: "1", Tool: "read", Input: json.RawMessage(`{"path": "internal/session/session.go", "offset": 10}`)}
	if _, ok := gate.Decide(plan.State{}, call).(tool.Allow); !ok {
		b.Fatal("the call is not allowed")
	}
	var in map[string]any
	compare(b, "json.Unmarshal", func() { _ = json.Unmarshal(call.Input, &in) }, func() { gate.Decide(plan.State{}, call) })
}

// Judging a command line of 60 characters. The limit is 50 µs.
func BenchmarkShellPipeline(b *testing.B) {
	const line = `git log --oneline -20 | grep -v Merge | sort -u | head -n 10`
	analyze(b, line)
}

// Judging a script of 2 KB.
func BenchmarkShellScript(b *testing.B) {
	var s strings.Builder
	for i := 0; s.Len() < 2<<10; i++ {
		fmt.Fprintf(&s, "for f in $(git ls-files 'pkg%d/*.go'); do grep -n TODO \"$f\" 2>/dev/null | head -3; done\n", i)
	}
	analyze(b, s.String())
}

func analyze(b *testing.B, line string) {
	b.Helper()
	if v := shellsafe.Analyze(line, nil); v.Verdict != shellsafe.Read {
		b.Fatalf("%s: %s", v.Verdict, v.Reason)
	}
	compare(b, "parse", func() {
		_, _ = syntax.NewParser().Parse(strings.NewReader(line), "")
	}, func() { shellsafe.Analyze(line, nil) })
}

// memory is a journal without a disk, so that what is measured is the session's own cost.
type memory struct{ bytes int }

func (m *memory) Append(lines ...[]byte) error {
	for _, l := range lines {
		m.bytes += len(l)
	}
	return nil
}

// chatter reads one file in every turn.
type chatter struct{}

func (chatter) Stream(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	if _, ok := last.Parts[0].(llm.ToolResult); ok {
		return llm.Response{Message: llm.AssistantText("It is a module."), Stop: llm.StopEndTurn}, nil
	}
	call := llm.ToolCall{ID: "c", Name: "read", Input: json.RawMessage(`{"path": "go.mod"}`)}
	return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{call}}, Stop: llm.StopToolUse}, nil
}

// The cost of turn 1,000 beside that of turn 10, apart from the request itself. The limit is 1.2.
func BenchmarkTurn1000(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module x\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		early, late := turns(b, dir)
		b.ReportMetric(float64(late.Microseconds()), "µs/turn1000")
		b.ReportMetric(float64(early.Microseconds()), "µs/turn10")
		b.ReportMetric(float64(late)/float64(early), "×turn10")
	}
}

// turns plays 1,050 turns and returns the median of those around the 30th and around the 1,000th.
func turns(b *testing.B, dir string) (early, late time.Duration) {
	s, err := session.Open(session.Config{
		ID: "bench", Workspace: dir, Journal: &memory{}, Registry: tool.NewRegistry(tools.All(tools.Options{})...),
		PlanDir: filepath.Join(dir, "plans"), Settings: session.Settings{Model: "x/y"},
		Open: func(string) (llm.Provider, llm.Model, error) { return chatter{}, llm.Model{}, nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var took []time.Duration
	for range 1050 {
		start := time.Now()
		if _, err := s.Do(b.Context(), plan.Library, session.Prompt{Text: "What is in go.mod?"}); err != nil {
			b.Fatal(err)
		}
		if err := s.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	return median(took[5:55]), median(took[1000:1050])
}

func median(times []time.Duration) time.Duration {
	times = slices.Clone(times)
	slices.Sort(times)
	return times[len(times)/2]
}

// From the start of the process to the first request at the vendor, with an empty home. The limit is
// 60 ms on an idle machine.
func BenchmarkStartToFirstRequest(b *testing.B) {
	exe := filepath.Join(b.TempDir(), "planmode")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", exe, "../../cmd/planmode").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	script, err := scripted.Parse([]byte("=== turn\ntext: hello\n"))
	if err != nil {
		b.Fatal(err)
	}
	var first, version []time.Duration
	for b.Loop() {
		first = append(first, startToRequest(b, exe, script))
		start := time.Now()
		if err := exec.CommandContext(b.Context(), exe, "version").Run(); err != nil {
			b.Fatal(err)
		}
		version = append(version, time.Since(start))
	}
	b.ReportMetric(float64(median(first).Microseconds())/1000, "ms/first-request")
	b.ReportMetric(float64(median(version).Microseconds())/1000, "ms/version")
	b.ReportMetric(float64(median(first))/float64(median(version)), "×version")
}

func startToRequest(b *testing.B, exe string, script *scripted.Script) time.Duration {
	server, err := agenttest.StartAnthropic(script, agenttest.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	home := b.TempDir()
	cmd := exec.CommandContext(b.Context(), exe, "run", "-p", "hello", "--model", "anthropic/claude-test")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + server.URL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	for len(server.Requests()) == 0 {
		if time.Since(start) > time.Minute {
			b.Fatalf("no request: %s", out.String())
		}
		time.Sleep(100 * time.Microsecond)
	}
	took := time.Since(start)
	if err := cmd.Wait(); err != nil {
		b.Fatalf("%v: %s", err, out.String())
	}
	return took
}
