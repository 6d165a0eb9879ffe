package tool

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/planmode-dev/planmode/plan"
)

var update = flag.Bool("update", false, "write the golden files")

// A world is a workspace on disk, a gate, and tools that really do what they say.
type world struct {
	t    testing.TB
	dir  string // holds everything; a real path
	ws   string
	reg  *Registry
	gate *Gate
	now  time.Time
	st   plan.State

	mu  sync.Mutex
	ran []string // names of the tools that ran
}

type pathInput struct {
	Path string `json:"path"`
}

type writeInput struct {
	Path    string `json:"path"`
	Content string `json:"content,omitempty"`
}

type shellInput struct {
	Command string `json:"command"`
	Dir     string `json:"dir,omitempty"`
	Scratch bool   `json:"scratch,omitempty"`
}

type noInput struct{}

// newWorld makes a world; change may adapt the configuration.
func newWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, ws: filepath.Join(dir, "ws"), now: time.Unix(1_700_000_000, 0)}
	for _, d := range []string{"ws/.git/hooks", "ws/docs", "ws/secrets", "state/plans", "state/keep", "elsewhere", "home/.ssh"} {
		w.mkdir(d)
	}
	for _, f := range []string{"ws/a.go", "ws/docs/b.md", "ws/secrets/key", "ws/.env", "ws/.git/config", "elsewhere/c.txt", "home/.ssh/id_rsa", "state/journal"} {
		w.write(f, "contents of "+f)
	}
	w.reg = NewRegistry(w.tools()...)
	cfg := Config{
		Registry: w.reg,
		Roots: Roots{
			Workspace: w.ws, Home: filepath.Join(dir, "home"), Keep: filepath.Join(dir, "state/keep"),
			Hidden: []string{"~/.ssh", filepath.Join(dir, "state"), ".env"},
		},
		PlanFile: func() string { return filepath.Join(dir, "state/plans/plan.md") },
		Vouched:  []string{"vouched*"},
		Trusted:  []string{"mcp:docs"},
		Sandbox:  SandboxOff,
		Counters: &Counters{},
		now:      func() time.Time { return w.now },
	}
	for _, f := range change {
		f(&cfg)
	}
	w.gate = NewGate(cfg)
	return w
}

func (w *world) path(rel string) string { return filepath.Join(w.dir, filepath.FromSlash(rel)) }

func (w *world) mkdir(rel string) {
	w.t.Helper()
	if err := os.MkdirAll(w.path(rel), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(rel, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(rel), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(target, rel string) {
	w.t.Helper()
	if err := os.Symlink(target, w.path(rel)); err != nil {
		w.t.Fatal(err)
	}
}

// read returns a file's text, or "" if there is none.
func (w *world) read(rel string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.path(rel))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return string(b)
}

// record notes that a tool ran.
func (w *world) record(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran = append(w.ran, name)
}

// tools returns the tools of a world.
func (w *world) tools() []Tool {
	tools := []Tool{
		New(Spec{Name: "read", Description: "reads a file", Set: "builtin"},
			func(in pathInput) Access { return Access{ReadFile(in)} },
			func(_ context.Context, g *Grant, in pathInput) (Result, error) {
				w.record("read")
				text, err := slurp(g, in.Path)
				return Result{Text: text}, err
			}),
		New(Spec{Name: "write", Description: "writes a file", Set: "builtin"},
			func(in writeInput) Access { return Access{WriteFile{in.Path}} },
			func(_ context.Context, g *Grant, in writeInput) (Result, error) {
				w.record("write")
				return Result{Text: "written"}, g.WriteFile(in.Path, nil, []byte(in.Content))
			}),
		New(Spec{Name: "bash", Description: "runs a command", Set: "builtin"},
			func(in shellInput) Access { return Access{Shell(in)} },
			func(ctx context.Context, g *Grant, _ shellInput) (Result, error) {
				w.record("bash")
				return shellResult(ctx, g)
			}),
	}
	for name, access := range map[string]Access{
		"nothing":    {Nothing{}},
		"fetch":      {Fetch{URL: "https://example.com/x"}},
		"submit":     {SubmitPlan{}},
		"todos":      {WriteTodos{}},
		"ask":        {AskUser{}},
		"task":       {Spawn{}},
		"mcp_docs":   {Claimed{ReadOnly: true, Source: "mcp:docs"}},
		"mcp_write":  {Claimed{ReadOnly: false, Source: "mcp:docs"}},
		"mcp_lies":   {Claimed{ReadOnly: true, Source: "mcp:other"}},
		"opaque":     {Opaque{Why: "it is a test"}},
		"vouched_op": {Opaque{Why: "it is a test"}},
		"vouched_mc": {Claimed{Source: "mcp:other"}},
		"vouched_wr": {WriteFile{"a.go"}},
		"undeclared": nil,
		"foreign":    {foreign{}},
		"pointer":    {&Nothing{}},
		"two":        {ReadFile{"a.go"}, WriteFile{"a.go"}},
		"try_code":   {Shell{Command: "./build.sh", Scratch: true}},
		"try_write":  {Shell{Command: "rm -rf build", Scratch: true}},
		"try_curl":   {Shell{Command: "curl https://example.com/x", Scratch: true}},
		"two_lines":  {Shell{Command: "ls"}, Shell{Command: "rm -rf ."}},
	} {
		tools = append(tools, w.simple(name, access))
	}
	return tools
}

// foreign is an effect that somebody made around one of the package's.
type foreign struct{ Nothing }

func (w *world) simple(name string, access Access) Tool {
	return New(Spec{Name: name, Description: "has a fixed access"},
		func(noInput) Access { return access },
		func(context.Context, *Grant, noInput) (Result, error) {
			w.record(name)
			return Result{Text: "ran"}, nil
		})
}

func slurp(g *Grant, path string) (string, error) {
	f, err := g.Open(path)
	if err != nil {
		return "", err
	}
	var text []byte
	buf := make([]byte, 512)
	for {
		n, err := f.Read(buf)
		text = append(text, buf[:n]...)
		if err != nil {
			return string(text), f.Close()
		}
	}
}

func shellResult(ctx context.Context, g *Grant) (Result, error) {
	var out safeBuffer
	ran, err := g.Shell(ctx, Output{Stdout: &out, Stderr: &out, Timeout: 20 * time.Second})
	return Result{Text: out.String(), IsError: ran.ExitCode != 0}, err
}

type safeBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = append(s.b, p...)
	return len(p), nil
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.b)
}

// to brings the session into a mode by events alone, and tells the gate.
func (w *world) to(m plan.Mode) *world {
	w.t.Helper()
	w.st = stateIn(w.t, m)
	w.gate.Observe(w.st)
	return w
}

const planText = "# A plan\n\n1. Do it\n"

func stateIn(t testing.TB, m plan.Mode) plan.State {
	t.Helper()
	events := map[plan.Mode][]plan.Event{
		plan.Off:      {plan.Start{Mode: plan.Off, AfterDone: plan.Off}},
		plan.Planning: {plan.Start{Mode: plan.Planning, AfterDone: plan.Off}},
	}
	events[plan.Ready] = append(events[plan.Planning], plan.Submit{Text: planText})
	events[plan.Reviewing] = append(events[plan.Ready], plan.StartReview{})
	events[plan.Executing] = append(events[plan.Ready], plan.Approve{Digest: plan.DigestOf(planText)})
	st := fold(t, plan.State{}, events[m]...)
	if st.Mode() != m {
		t.Fatalf("the state is %s, not %s", st.Mode(), m)
	}
	return st
}

func fold(t testing.TB, st plan.State, events ...plan.Event) plan.State {
	t.Helper()
	for _, ev := range events {
		var err error
		if st, _, err = plan.Step(st, ev); err != nil {
			t.Fatal(err)
		}
	}
	return st
}

// happens folds events into the session's state and tells the gate.
func (w *world) happens(events ...plan.Event) {
	w.t.Helper()
	w.st = fold(w.t, w.st, events...)
	w.gate.Observe(w.st)
}

func callOf(tool string, input any) Call {
	raw, ok := input.(string)
	if !ok {
		b, err := json.Marshal(input)
		if err != nil {
			panic(err)
		}
		raw = string(b)
	}
	return Call{ID: "1", Tool: tool, Input: json.RawMessage(raw), Session: "s", Surface: "model"}
}

func (w *world) decide(tool string, input any) Decision {
	return w.gate.Decide(w.st, callOf(tool, input))
}

// word says what a decision is: "allow", "ask" or a refusal's code.
func word(d Decision) string {
	switch d := d.(type) {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	case Deny:
		return string(d.Refusal.Code)
	}
	return "no decision"
}

func (w *world) mustAllow(tool string, input any) Allow {
	w.t.Helper()
	d := w.decide(tool, input)
	a, ok := d.(Allow)
	if !ok {
		w.t.Fatalf("%s %v in %s: %s %+v, want allow", tool, input, w.st.Mode(), word(d), d)
	}
	return a
}

func (w *world) mustAsk(tool string, input any) Ask {
	w.t.Helper()
	d := w.decide(tool, input)
	a, ok := d.(Ask)
	if !ok {
		w.t.Fatalf("%s %v in %s: %s %+v, want ask", tool, input, w.st.Mode(), word(d), d)
	}
	return a
}

// refusal returns the refusal of a decision, and holds it to what every refusal has.
func refusalOf(t testing.TB, d Decision) Refusal {
	t.Helper()
	deny, ok := d.(Deny)
	if !ok {
		t.Fatalf("%s, want a refusal", word(d))
	}
	r := deny.Refusal
	if r.Code == "" || r.Reason == "" || r.Hint == "" {
		t.Errorf("a refusal without code, reason or hint: %+v", r)
	}
	return r
}

// run runs a permission and returns the result, or the refusal as an error.
func (w *world) run(a Allow) (Result, error) { return w.gate.Run(context.Background(), a, nil) }

func isRefusal(t testing.TB, err error, code Code) *Refusal {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatalf("error %v, want a refusal %s", err, code)
	}
	if r.Code != code {
		t.Fatalf("refusal %s (%s), want %s", r.Code, r.Reason, code)
	}
	if r.Reason == "" || r.Hint == "" {
		t.Errorf("a refusal without reason or hint: %+v", r)
	}
	return r
}

// inTool runs f as the body of a tool with the access, in the world's present state, and returns the
// tool's result. Where the user is asked, they say yes.
func (w *world) inTool(access Access, f func(ctx context.Context, g *Grant) error) Result {
	w.t.Helper()
	name := "probe" + randomName()
	err := w.reg.Register(New(Spec{Name: name, Description: "runs a test"},
		func(noInput) Access { return access },
		func(ctx context.Context, g *Grant, _ noInput) (Result, error) { return Result{}, f(ctx, g) }))
	if err != nil {
		w.t.Fatal(err)
	}
	d := w.decide(name, noInput{})
	if ask, ok := d.(Ask); ok {
		d = w.gate.Answer(w.st, ask, Verdict{Yes: true})
	}
	allow, ok := d.(Allow)
	if !ok {
		w.t.Fatalf("%v in %s: %+v", access, w.st.Mode(), d)
	}
	res, err := w.run(allow)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}
