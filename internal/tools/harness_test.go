package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stateIn folds events until the mode is reached.
func stateIn(t testing.TB, mode plan.Mode) plan.State {
	t.Helper()
	const text = "# P\n\n1. one\n2. two\n"
	events := []plan.Event{plan.Start{Mode: plan.Planning, AfterDone: plan.Off}}
	switch mode {
	case plan.Planning:
	case plan.Off:
		events = []plan.Event{plan.Start{Mode: plan.Off, AfterDone: plan.Off}}
	case plan.Ready:
		events = append(events, plan.Submit{Text: text})
	case plan.Reviewing:
		events = append(events, plan.Submit{Text: text}, plan.StartReview{})
	case plan.Executing:
		events = append(events, plan.Submit{Text: text}, plan.Approve{Digest: plan.DigestOf(text)})
	}
	var st plan.State
	for _, ev := range events {
		next, _, err := plan.Step(st, ev)
		if err != nil {
			t.Fatal(err)
		}
		st = next
	}
	if st.Mode() != mode {
		t.Fatalf("mode %s, want %s", st.Mode(), mode)
	}
	return st
}

// A world is a session's worth of gate over a temporary workspace.
type world struct {
	testing.TB
	ws, home, keep, planFile string

	gate  *tool.Gate
	state plan.State
	todos *tasks.Store

	mu        sync.Mutex
	progress  strings.Builder
	submitted []string
	asked     []tool.Question
}

type setup struct {
	mode     plan.Mode // Planning by default
	hidden   []string
	read     []string
	host     func(*world, *tool.Host)
	config   func(*tool.Config)
	options  tools.Options
	symlinks bool // the workspace's own name leads through a link
}

func newWorld(t testing.TB, s setup) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		TB: t, ws: filepath.Join(base, "ws"), home: filepath.Join(base, "home"), keep: filepath.Join(base, "keep"),
		planFile: filepath.Join(base, "state", "plans", "plan.md"), todos: tasks.NewStore(tasks.Options{}),
	}
	if s.symlinks {
		real := filepath.Join(base, "real")
		w.must(os.MkdirAll(real, 0o755))
		w.must(os.Symlink(real, w.ws))
	}
	for _, dir := range []string{w.ws, w.home, filepath.Dir(w.planFile)} {
		w.must(os.MkdirAll(dir, 0o755))
	}
	w.state = stateIn(t, s.mode)
	host := tool.Host{
		SubmitPlan: func(_ context.Context, text string) (plan.Revision, error) { return w.submit(text) },
		WriteTodos: func(_ context.Context, items []tasks.Item) (tasks.List, error) { return w.todos.Replace(items) },
		AskUser: func(_ context.Context, q []tool.Question) ([]tool.Answer, error) {
			w.asked = q
			answers := make([]tool.Answer, len(q))
			for i := range q {
				if len(q[i].Options) > 0 {
					answers[i].Chosen = []string{q[i].Options[0].Label}
				} else {
					answers[i].Other = "written"
				}
			}
			return answers, nil
		},
		Spawn: func(_ context.Context, a tool.Assignment) (string, error) { return "did: " + a.Prompt, nil },
	}
	if s.host != nil {
		s.host(w, &host)
	}
	cfg := tool.Config{
		Registry: tool.NewRegistry(tools.All(s.options)...),
		Roots: tool.Roots{
			Workspace: w.ws, Read: s.read, Keep: w.keep, Home: w.home,
			Hidden: append([]string{filepath.Join(base, "state")}, s.hidden...),
		},
		Autonomy: tool.Loose,
		PlanFile: func() string { return w.planFile },
		Sandbox:  tool.SandboxPrefer,
		Host:     host,
	}
	if s.config != nil {
		s.config(&cfg)
	}
	w.gate = tool.NewGate(cfg)
	w.gate.Observe(w.state)
	return w
}

// submit does what a session does with a plan: an empty text is the plan file's.
func (w *world) submit(text string) (plan.Revision, error) {
	if text == "" {
		data, err := os.ReadFile(w.planFile)
		if err != nil {
			return plan.Revision{}, err
		}
		text = string(data)
	}
	next, _, err := plan.Step(w.state, plan.Submit{Text: text})
	if err != nil {
		return plan.Revision{}, err
	}
	w.submitted = append(w.submitted, text)
	rev, _ := next.Newest()
	return rev, nil
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// file writes a file of the workspace, or one by its absolute path.
func (w *world) file(name, content string) string {
	w.Helper()
	p := name
	if !filepath.IsAbs(p) {
		p = filepath.Join(w.ws, name)
	}
	w.must(os.MkdirAll(filepath.Dir(p), 0o755))
	w.must(os.WriteFile(p, []byte(content), 0o644))
	return p
}

// content reads a file of the workspace.
func (w *world) content(name string) string {
	w.Helper()
	p := name
	if !filepath.IsAbs(p) {
		p = filepath.Join(w.ws, name)
	}
	data, err := os.ReadFile(p)
	w.must(err)
	return string(data)
}

// in encodes an input; a string is raw JSON.
func (w *world) in(input any) json.RawMessage {
	w.Helper()
	if raw, ok := input.(string); ok {
		return json.RawMessage(raw)
	}
	raw, err := json.Marshal(input)
	w.must(err)
	return raw
}

// try judges and runs a call; a user who is asked says yes.
func (w *world) try(ctx context.Context, name string, input any) (tool.Result, *tool.Refusal) {
	w.Helper()
	call := tool.Call{ID: "1", Tool: name, Input: w.in(input), Session: "s", Surface: "model"}
	d := w.gate.Decide(w.state, call)
	if ask, ok := d.(tool.Ask); ok {
		d = w.gate.Answer(w.state, ask, tool.Verdict{Yes: true})
	}
	switch d := d.(type) {
	case tool.Deny:
		return tool.Result{}, &d.Refusal
	case tool.Allow:
		res, err := w.gate.Run(ctx, d, func(text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.progress.WriteString(text)
		})
		if err != nil {
			w.Fatalf("%s did not run: %v", name, err)
		}
		return res, nil
	}
	w.Fatalf("decision %T", d)
	return tool.Result{}, nil
}

// run makes a call that must run, whatever it gives.
func (w *world) run(name string, input any) tool.Result {
	w.Helper()
	res, refusal := w.try(context.Background(), name, input)
	if refusal != nil {
		w.Fatalf("%s was refused: %v", name, refusal)
	}
	return res
}

// ok makes a call that must succeed.
func (w *world) ok(name string, input any) string {
	w.Helper()
	res := w.run(name, input)
	if res.IsError {
		w.Fatalf("%s failed: %s", name, res.Text)
	}
	return res.Text
}

// fails makes a call that must run and fail, and whose text must hold the words.
func (w *world) fails(name string, input any, words ...string) string {
	w.Helper()
	res := w.run(name, input)
	if !res.IsError {
		w.Fatalf("%s succeeded: %s", name, res.Text)
	}
	w.holds(res.Text, words...)
	return res.Text
}

// refused makes a call that must not run.
func (w *world) refused(name string, input any, code tool.Code, words ...string) {
	w.Helper()
	res, refusal := w.try(context.Background(), name, input)
	if refusal == nil {
		w.Fatalf("%s ran: %+v", name, res)
	}
	if refusal.Code != code {
		w.Errorf("%s was refused with %s (%s), want %s", name, refusal.Code, refusal.Reason, code)
	}
	w.holds(refusal.Reason+"\n"+refusal.Hint, words...)
}

func (w *world) holds(text string, words ...string) {
	w.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.Errorf("%q is not in\n%s", word, text)
		}
	}
}

func (w *world) equal(got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("got\n%s\nwant\n%s", visible(got), visible(want))
	}
}

func visible(s string) string { return fmt.Sprintf("%q", s) }

type m = map[string]any

func specOf(t testing.TB, name string) tool.Spec {
	t.Helper()
	for _, tl := range tools.All(tools.Options{}) {
		if s := tl.Spec(); s.Name == name {
			return s
		}
	}
	t.Fatalf("no tool %s", name)
	return tool.Spec{}
}
