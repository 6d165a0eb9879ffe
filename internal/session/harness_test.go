package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a journal without a disk. It can be full.
type memory struct {
	mu    sync.Mutex
	lines [][]byte
	// room is how many more appends succeed; negative means all.
	room int
}

func newMemory(lines ...[]byte) *memory { return &memory{lines: slices.Clone(lines), room: -1} }

var errFull = errors.New("no space left on device")

func (m *memory) Append(lines ...[]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.room == 0 {
		return errFull
	}
	m.room--
	m.lines = append(m.lines, lines...)
	return nil
}

func (m *memory) all() [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lines)
}

func (m *memory) setRoom(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room = n
}

// A rig is a session with tools that record what they do, and a model that is a function.
type rig struct {
	testing.TB
	dir, ws string
	journal *memory
	reg     *tool.Registry
	model   func(ctx context.Context, req llm.Request) (llm.Response, error)
	s       *Session

	mu  sync.Mutex
	ran []string // "tool argument", in order
	// onRun is called before a recording tool does its work.
	onRun func(what, path string)
}

type writeInput struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func newRig(t testing.TB, model func(context.Context, llm.Request) (llm.Response, error), set ...func(*Config)) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{TB: t, dir: dir, ws: filepath.Join(dir, "ws"), journal: newMemory(), model: model}
	if err := os.MkdirAll(r.ws, 0o750); err != nil {
		t.Fatal(err)
	}
	r.open(nil, set...)
	return r
}

func (r *rig) Stream(ctx context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	return r.model(ctx, req)
}

// open opens the session on the lines; nil is a new one.
func (r *rig) open(lines [][]byte, set ...func(*Config)) {
	r.Helper()
	r.reg = r.tools()
	n := 0
	cfg := Config{
		ID: "s1", Workspace: r.ws, Journal: r.journal, Registry: r.reg, PlanDir: filepath.Join(r.dir, "plans"),
		Open: func(name string) (llm.Provider, llm.Model, error) {
			if !strings.HasPrefix(name, "x/") {
				return nil, llm.Model{}, fmt.Errorf("no provider for %q", name)
			}
			return r, llm.Model{Provider: "x", ID: "y"}, nil
		},
		System: "You are under test.", Settings: Settings{Model: "x/y", Autonomy: "strict"}, StartPlanning: true, Interactive: true,
		Now: func() time.Time { n++; return time.Date(2026, 11, 30, 12, 0, 0, n*1000, time.UTC) },
	}
	if lines != nil {
		cfg.Lines = slices.Values(lines)
	}
	for _, f := range set {
		f(&cfg)
	}
	s, err := Open(cfg)
	if err != nil {
		r.Fatal(err)
	}
	ids := 0
	s.log.newID = func() string { ids++; return fmt.Sprintf("e%d-%d", len(lines), ids) }
	r.s = s
	r.Cleanup(s.Close)
}

// reopen is a restart of the program.
func (r *rig) reopen(set ...func(*Config)) {
	r.Helper()
	r.s.Close()
	r.open(r.journal.all(), set...)
}

// tools are the built-in ones that need no disk, and those that record what they do.
func (r *rig) tools() *tool.Registry {
	reg := tool.NewRegistry(tools.TodoWrite(), tools.AskUser(), tools.Task(), tools.SubmitPlan())
	for _, t := range []tool.Tool{
		tool.New(tool.Spec{Name: "write", Description: "writes a file", Kinds: []tool.Effect{tool.WriteFile{}}},
			func(in writeInput) tool.Access { return tool.Access{tool.WriteFile{Path: in.Path}} },
			func(_ context.Context, g *tool.Grant, in writeInput) (tool.Result, error) {
				r.record("write", in.Path)
				return tool.Result{Text: "wrote " + in.Path}, g.WriteFile(in.Path, nil, []byte(in.Content))
			}),
		tool.New(tool.Spec{Name: "look", Description: "reads the workspace", Kinds: []tool.Effect{tool.ReadFile{}}},
			func(struct{}) tool.Access { return tool.Access{tool.ReadFile{Path: "."}} },
			func(_ context.Context, g *tool.Grant, _ struct{}) (tool.Result, error) {
				r.record("look", "")
				err := g.WriteFile("looked", nil, []byte("it did not say so"))
				if err == nil {
					r.Error("a tool that reads could write")
				}
				return tool.Result{Text: "nothing to see"}, nil
			}),
		r.foreign("foreign", tool.Access{tool.Opaque{Why: "it is somebody else's"}}),
	} {
		if err := reg.Register(t); err != nil {
			r.Fatal(err)
		}
	}
	return reg
}

// foreign is a tool that writes without its grant, as one in another process can.
func (r *rig) foreign(name string, access tool.Access) tool.Tool {
	return tool.New(tool.Spec{Name: name, Description: "does what it likes"},
		func(struct{}) tool.Access { return access },
		func(context.Context, *tool.Grant, struct{}) (tool.Result, error) {
			r.record(name, filepath.Join(r.ws, "foreign"))
			return tool.Result{Text: "done"}, os.WriteFile(filepath.Join(r.ws, "foreign"), []byte(name), 0o600)
		})
}

func (r *rig) record(name, arg string) {
	r.mu.Lock()
	r.ran = append(r.ran, strings.TrimSpace(name+" "+arg))
	onRun := r.onRun
	r.mu.Unlock()
	if onRun != nil {
		onRun(name, arg)
	}
}

// took returns what ran since the last call.
func (r *rig) took() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ran := r.ran
	r.ran = nil
	return ran
}

func (r *rig) try(c Command) (Reply, error) { return r.s.Do(context.Background(), plan.TUI, c) }

// do carries out a command and waits until the session has settled.
func (r *rig) do(c Command) Reply {
	r.Helper()
	reply := r.start(c)
	r.wait()
	return reply
}

func (r *rig) start(c Command) Reply {
	r.Helper()
	reply, err := r.try(c)
	if err != nil {
		r.Fatalf("%T: %v", c, err)
	}
	return reply
}

func (r *rig) wait() {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.s.Wait(ctx); err != nil {
		r.Fatalf("the session does not settle: %v", err)
	}
}

func (r *rig) wantMode(want plan.Mode) {
	r.Helper()
	if got := r.s.Status().Mode; got != want {
		r.Fatalf("mode %s, want %s", got, want)
	}
}

// entries returns what happened, from the journal's lines.
func (r *rig) entries() []Entry {
	r.Helper()
	return entriesOf(r, r.journal.all())
}

func entriesOf(t testing.TB, lines [][]byte) []Entry {
	t.Helper()
	var out []Entry
	for i, line := range lines {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		out = append(out, e)
	}
	return out
}

// all returns the events of one type, in order.
func all[E Event](r *rig) []E {
	r.Helper()
	var out []E
	for _, e := range r.entries() {
		if ev, ok := e.Event.(E); ok {
			out = append(out, ev)
		}
	}
	return out
}

func last[E Event](r *rig) E {
	r.Helper()
	list := all[E](r)
	if len(list) == 0 {
		var e E
		r.Fatalf("no %T happened", e)
	}
	return list[len(list)-1]
}

// attend answers everything that the session asks, until the test ends or stop is called.
func (r *rig) attend(verdict func(PermissionAsked) tool.Verdict) (stop func()) {
	s, seen := r.s, r.s.Status().Seq
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for e := range s.Events(ctx, seen) {
			switch ev := e.Event.(type) {
			case PermissionAsked:
				r.answer(s, AnswerCall{ID: ev.ID, Verdict: verdict(ev)})
			case QuestionsAsked:
				answers := make([]tool.Answer, len(ev.Questions))
				for i := range answers {
					answers[i].Other = "as you like"
				}
				r.answer(s, AnswerQuestions{ID: ev.ID, Answers: answers})
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// answer gives up the turn where the answer cannot be recorded. It is refused when the turn is over.
func (r *rig) answer(s *Session, c Command) {
	if _, err := s.Do(context.Background(), plan.Web, c); errors.Is(err, errFull) {
		_, _ = s.Do(context.Background(), plan.Web, Cancel{}) // writes nothing
	}
}

func yes(PermissionAsked) tool.Verdict { return tool.Verdict{Yes: true} }

// The model's side.

func says(text string) llm.Response {
	return llm.Response{Message: llm.AssistantText(text), Stop: llm.StopEndTurn, Usage: llm.Usage{Input: 10, Output: 1}}
}

// calls is an answer with calls, each "tool JSON".
func calls(id string, calls ...string) llm.Response {
	resp := llm.Response{Message: llm.Message{Role: llm.RoleAssistant}, Stop: llm.StopToolUse, Usage: llm.Usage{Input: 10, Output: 1}}
	for i, c := range calls {
		name, input, ok := strings.Cut(c, " ")
		if !ok {
			input = `{}`
		}
		resp.Message.Parts = append(resp.Message.Parts, llm.ToolCall{ID: fmt.Sprintf("%s-%d", id, i), Name: name, Input: json.RawMessage(input)})
	}
	return resp
}

// script answers with each response once, then with a text.
func script(responses ...llm.Response) func(context.Context, llm.Request) (llm.Response, error) {
	var mu sync.Mutex
	return func(_ context.Context, req llm.Request) (llm.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if req.System == compactSystem {
			return says("the summary"), nil
		}
		if len(responses) > 0 {
			resp := responses[0]
			responses = responses[1:]
			return resp, nil
		}
		return says("that is all"), nil
	}
}

func textOf(req llm.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				fmt.Fprintf(&b, "%s: %s\n", m.Role, p.Text)
			case llm.ToolResult:
				for _, p := range p.Parts {
					if p, ok := p.(llm.Text); ok {
						fmt.Fprintf(&b, "result: %s\n", p.Text)
					}
				}
			case llm.ToolCall:
				fmt.Fprintf(&b, "call: %s %s\n", p.Name, p.Input)
			case llm.Image, llm.Thinking:
			}
		}
	}
	return b.String()
}

const planText = "# Two files\n\n1. Write a.txt\n2. Write b.txt\n"

func submit(text string) string {
	data, err := json.Marshal(map[string]string{"plan": text})
	if err != nil {
		panic(err)
	}
	return "submit_plan " + string(data)
}
