package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/planmode-dev/planmode/internal/turn"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A desk is a turn's surroundings: the model is a list of answers, and everything that happens is noted.
type desk struct {
	testing.TB
	answers []llm.Response
	err     error // of the model, once the answers are used up
	cancel  context.CancelFunc

	mu     sync.Mutex
	log    []string // what the sink and the tools were told, in order
	fail   string   // the prefix of the note at which the sink fails
	at     string   // the prefix of the note at which the turn is cancelled
	yes    bool
	noUser bool
	both   chan struct{} // two reads meet here
}

func (d *desk) note(format string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := fmt.Sprintf(format, args...)
	d.log = append(d.log, s)
	if d.at != "" && strings.HasPrefix(s, d.at) {
		d.cancel()
	}
	if d.fail != "" && strings.HasPrefix(s, d.fail) {
		return errors.New("disk full")
	}
	return nil
}

func (d *desk) Stream(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	if err := d.note("asked"); err != nil {
		panic("the provider broke off")
	}
	if len(d.answers) == 0 {
		return llm.Response{Message: llm.AssistantText("end"), Stop: llm.StopEndTurn}, d.err
	}
	a := d.answers[0]
	d.answers = d.answers[1:]
	return a, nil
}

func (d *desk) Delta(llm.Delta)               {}
func (d *desk) Progress(string, string)       {}
func (d *desk) Answered(r llm.Response) error { return d.note("answered %d", len(r.Message.Calls())) }
func (d *desk) Allowed(c tool.Call) error     { return d.note("allowed %s", c.ID) }
func (d *desk) Refused(c tool.Call, r tool.Refusal) error {
	return d.note("refused %s %s", c.ID, r.Code)
}

func (d *desk) Finished(c tool.Call, _ tool.Result, _ time.Duration) error {
	return d.note("finished %s", c.ID)
}

func (d *desk) Ask(ctx context.Context, a tool.Ask) (tool.Verdict, error) {
	switch err := d.note("ask %s", a.Call().ID); {
	case err != nil:
		return tool.Verdict{}, err
	case d.noUser:
		return tool.Verdict{}, tool.ErrNoUser
	}
	return tool.Verdict{Yes: d.yes}, ctx.Err()
}

func (d *desk) tool(name string, access tool.Access, end bool) tool.Tool {
	return tool.New(tool.Spec{Name: name, Description: "x"}, func(struct{}) tool.Access { return access },
		func(_ context.Context, g *tool.Grant, _ struct{}) (tool.Result, error) {
			if name == "meet" { // returns when two of it run
				select {
				case d.both <- struct{}{}:
				case <-d.both:
				}
			}
			if name == "crash" {
				panic("a bug")
			}
			_ = d.note("ran %s", g.Call().ID)
			return tool.Result{Text: g.Call().ID, EndTurn: end}, nil
		})
}

func (d *desk) run(set ...func(*turn.Config)) turn.Outcome {
	d.Helper()
	d.both = make(chan struct{})
	var st plan.State
	st, _, err := plan.Step(st, plan.Start{Mode: plan.Off, AfterDone: plan.Off})
	if err != nil {
		d.Fatal(err)
	}
	gate := tool.NewGate(tool.Config{
		Roots: tool.Roots{Workspace: os.TempDir()},
		Registry: tool.NewRegistry(
			d.tool("read", tool.Access{tool.Nothing{}}, false), d.tool("meet", tool.Access{tool.Nothing{}}, false),
			d.tool("end", tool.Access{tool.WriteTodos{}}, true), d.tool("do", tool.Access{tool.WriteTodos{}}, false),
			d.tool("ask", tool.Access{tool.Opaque{}}, false), d.tool("crash", tool.Access{tool.Nothing{}}, false),
		),
	})
	gate.Observe(st)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d.cancel = cancel
	cfg := turn.Config{
		Provider: d, Gate: gate, State: func() plan.State { return st }, Sink: d, MaxRequests: 10,
		Request: func(context.Context) (llm.Request, error) { return llm.Request{}, nil },
	}
	for _, f := range set {
		f(&cfg)
	}
	return turn.Run(ctx, cfg)
}

// say is an answer with a call of each tool, with ids 1, 2, …
func say(stop llm.StopReason, tools ...string) llm.Response {
	r := llm.Response{Message: llm.Message{Role: llm.RoleAssistant}, Stop: stop, Usage: llm.Usage{Output: 1}}
	for i, name := range tools {
		r.Message.Parts = append(r.Message.Parts, llm.ToolCall{ID: fmt.Sprint(i + 1), Name: name, Input: json.RawMessage(`{}`)})
	}
	return r
}

func TestTurn(t *testing.T) {
	use := llm.StopToolUse
	for name, tt := range map[string]struct {
		d    *desk
		stop turn.StopReason
		log  string // separated by commas
	}{
		"no calls":                {&desk{}, "end_turn", "asked,answered 0"},
		"in order":                {&desk{answers: []llm.Response{say(use, "do", "do")}}, "end_turn", "asked,answered 2,allowed 1,ran 1,finished 1,allowed 2,ran 2,finished 2,asked,answered 0"},
		"yes":                     {&desk{yes: true, answers: []llm.Response{say(use, "ask")}}, "end_turn", "asked,answered 1,ask 1,allowed 1,ran 1,finished 1,asked,answered 0"},
		"no":                      {&desk{answers: []llm.Response{say(use, "ask")}}, "end_turn", "asked,answered 1,ask 1,refused 1 user_denied,asked,answered 0"},
		"nobody":                  {&desk{noUser: true, answers: []llm.Response{say(use, "ask", "do")}}, "needs_user", "asked,answered 2,ask 1,refused 1 no_user,refused 2 interrupted"},
		"unknown":                 {&desk{answers: []llm.Response{say(use, "what")}}, "end_turn", "asked,answered 1,refused 1 unknown_tool,asked,answered 0"},
		"crash":                   {&desk{answers: []llm.Response{say(use, "crash")}}, "end_turn", "asked,answered 1,allowed 1,finished 1,asked,answered 0"},
		"ends":                    {&desk{answers: []llm.Response{say(use, "end", "do", "read")}}, "plan_ready", "asked,answered 3,allowed 1,ran 1,finished 1,refused 2 interrupted,refused 3 interrupted"},
		"declined":                {&desk{answers: []llm.Response{say(llm.StopRefusal, "do")}}, "refusal", "asked,answered 1,refused 1 interrupted"},
		"too long":                {&desk{answers: []llm.Response{say(llm.StopMaxTokens)}}, "max_tokens", "asked,answered 0"},
		"error":                   {&desk{err: errors.New("no")}, "error", "asked"},
		"panic":                   {&desk{fail: "asked"}, "error", "asked"},
		"cancelled while asked":   {&desk{at: "asked", err: errors.New("cut")}, "cancelled", "asked"},
		"cancelled after answer":  {&desk{at: "answered", answers: []llm.Response{say(use, "do", "read")}}, "cancelled", "asked,answered 2,refused 1 interrupted,refused 2 interrupted"},
		"cancelled before run":    {&desk{at: "allowed", answers: []llm.Response{say(use, "do", "do")}}, "cancelled", "asked,answered 2,allowed 1,refused 1 interrupted,refused 2 interrupted"},
		"cancelled while running": {&desk{at: "ran", answers: []llm.Response{say(use, "do", "do")}}, "cancelled", "asked,answered 2,allowed 1,ran 1,finished 1,refused 2 interrupted"},
		"cancelled at a question": {&desk{at: "ask 1", answers: []llm.Response{say(use, "ask", "do")}}, "cancelled", "asked,answered 2,ask 1,refused 1 interrupted,refused 2 interrupted"},
		"sink: answered":          {&desk{fail: "answered", answers: []llm.Response{say(use, "do")}}, "error", "asked,answered 1"},
		"sink: allowed":           {&desk{fail: "allowed", answers: []llm.Response{say(use, "do", "do")}}, "error", "asked,answered 2,allowed 1,refused 2 interrupted"},
		"sink: refused":           {&desk{fail: "refused", answers: []llm.Response{say(use, "what", "do")}}, "error", "asked,answered 2,refused 1 unknown_tool,refused 2 interrupted"},
		"sink: finished":          {&desk{fail: "finished", answers: []llm.Response{say(use, "do", "do")}}, "error", "asked,answered 2,allowed 1,ran 1,finished 1,refused 2 interrupted"},
		"sink: ask":               {&desk{fail: "ask 1", answers: []llm.Response{say(use, "ask", "do")}}, "error", "asked,answered 2,ask 1,refused 1 internal_error,refused 2 interrupted"},
	} {
		d := tt.d
		d.TB = t
		out := d.run()
		if got := strings.Join(d.log, ","); out.Stop != tt.stop || got != tt.log {
			t.Errorf("%s: %s (%v)\n got %s\nwant %s", name, out.Stop, out.Err, got, tt.log)
		}
		if (out.Err != nil) != (out.Stop == turn.Failed) || out.Note == "" != (out.Stop == turn.EndTurn || out.Stop == turn.PlanReady) {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// Reads run beside one another and are reported in their order; a write waits for those before it.
func TestReadsRunTogether(t *testing.T) {
	d := &desk{TB: t, answers: []llm.Response{say(llm.StopToolUse, "meet", "meet", "do", "read")}}
	out := d.run()
	got := slices.DeleteFunc(d.log, func(s string) bool { return s == "ran 1" || s == "ran 2" })
	want := "asked,answered 4,allowed 1,allowed 2,finished 1,finished 2,allowed 3,ran 3,finished 3,allowed 4,ran 4,finished 4,asked,answered 0"
	if s := strings.Join(got, ","); out.Stop != turn.EndTurn || s != want {
		t.Errorf("%s\n got %s\nwant %s", out.Stop, s, want)
	}
}

func TestLimits(t *testing.T) {
	many := func(names string) (out []llm.Response) {
		for range 20 {
			for _, name := range strings.Fields(names) {
				out = append(out, say(llm.StopToolUse, name))
			}
		}
		return out
	}
	for _, tt := range []struct {
		tool  string
		stop  turn.StopReason
		asked int
	}{{"what", turn.Loop, tool.MaxRefusals}, {"read", turn.Loop, tool.MaxRepeats}, {"read do", turn.MaxRequests, 10}} {
		d := &desk{TB: t, answers: many(tt.tool)}
		if out := d.run(); out.Stop != tt.stop || strings.Count(strings.Join(d.log, ","), "asked") != tt.asked || out.Note == "" {
			t.Errorf("%s: %+v after %v", tt.tool, out, d.log)
		}
	}
	more := 2
	d := &desk{TB: t}
	d.run(func(c *turn.Config) { c.More = func() bool { more--; return more >= 0 } })
	if got := strings.Join(d.log, ","); got != "asked,answered 0,asked,answered 0,asked,answered 0" {
		t.Errorf("More: %s", got)
	}
}

// Calls without an id, or with the same one, get one each; the provider's own message stays as it was.
func TestCallIDs(t *testing.T) {
	r := say(llm.StopToolUse, "do", "do", "do")
	for i, id := range []string{"a", "a", ""} {
		c, ok := r.Message.Parts[i].(llm.ToolCall)
		if !ok {
			t.Fatal("not a call")
		}
		c.ID = id
		r.Message.Parts[i] = c
	}
	d := &desk{TB: t, answers: []llm.Response{r}}
	d.run()
	ids := map[string]bool{}
	for _, s := range d.log {
		if id, ok := strings.CutPrefix(s, "finished "); ok {
			ids[id] = true
		}
	}
	if len(ids) != 3 || !ids["a"] || ids[""] {
		t.Errorf("ids %v", ids)
	}
	if c, ok := r.Message.Parts[1].(llm.ToolCall); !ok || c.ID != "a" {
		t.Error("the provider's message was changed")
	}
}
