package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planmode-dev/planmode/plan"
)

// TestOrder holds the order of judgement: what comes first decides, whatever comes later would say.
func TestOrder(t *testing.T) {
	everything := func(c *Config) {
		c.Autonomy = Loose
		c.Policy.Allow = []Rule{{Tool: "*"}}
		c.Vouched = []string{"*"}
	}
	denied := func(c *Config) {
		everything(c)
		c.Policy.Deny = []Rule{{Tool: "*"}}
	}
	tests := []struct {
		name   string
		config func(*Config)
		mode   plan.Mode
		tool   string
		input  string
		want   string
	}{
		{"an unknown tool before its input", denied, plan.Planning, "none", `{{{`, "unknown_tool"},
		{"the input before the mode", denied, plan.Planning, "write", `{"path":5}`, "invalid_input"},
		{"the mode before a deny rule", denied, plan.Planning, "write", `{"path":"a.go"}`, "plan_mode_blocked"},
		{"the mode before an allow rule", everything, plan.Planning, "write", `{"path":"a.go"}`, "plan_mode_blocked"},
		{"the mode before loose", everything, plan.Ready, "bash", `{"command":"rm a.go"}`, "plan_mode_blocked"},
		{"the mode before a vouched write", everything, plan.Reviewing, "vouched_wr", `{}`, "plan_mode_blocked"},
		{"a hidden path before an allow rule", everything, plan.Off, "read", `{"path":".env"}`, "policy_denied"},
		{"a deny rule before an allow rule", denied, plan.Off, "write", `{"path":"a.go"}`, "policy_denied"},
		{"a deny rule for what only reads", denied, plan.Planning, "read", `{"path":"a.go"}`, "policy_denied"},
		{"an allow rule before strict", func(c *Config) { c.Policy.Allow = []Rule{{Tool: "write"}} }, plan.Off, "write", `{"path":"a.go"}`, "allow"},
		{"an ask rule before loose", func(c *Config) {
			c.Autonomy = Loose
			c.Policy.Ask = []Rule{{Tool: "read"}}
		}, plan.Off, "read", `{"path":"a.go"}`, "ask"},
		{"protected before an allow rule", everything, plan.Off, "write", `{"path":".git/config"}`, "ask"},
		{"outside before an allow rule", everything, plan.Executing, "write", `{"path":"/tmp/x"}`, "ask"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.config).to(tt.mode)
			if d := w.decide(tt.tool, tt.input); word(d) != tt.want {
				t.Errorf("%s %+v, want %s", word(d), d, tt.want)
			}
		})
	}
}

// TestZero: whatever nobody set up permits nothing.
func TestZero(t *testing.T) {
	w := newWorld(t)
	if d := w.gate.Decide(plan.State{}, callOf("write", `{"path":"a.go"}`)); word(d) != string(PlanModeBlocked) {
		t.Errorf("the zero state: %s", word(d))
	}
	empty := NewGate(Config{})
	if d := empty.Decide(stateIn(t, plan.Off), callOf("read", `{"path":"a.go"}`)); word(d) != string(UnknownTool) {
		t.Errorf("no registry: %s", word(d))
	}
	bare := NewGate(Config{Registry: w.reg})
	for _, call := range []Call{callOf("read", `{"path":"a.go"}`), callOf("read", `{"path":"/etc/passwd"}`), callOf("write", `{"path":"a.go"}`)} {
		if d := bare.Decide(stateIn(t, plan.Off), call); word(d) == "allow" {
			t.Errorf("no workspace: %s %s is allowed", call.Tool, call.Input)
		}
	}
	if _, err := w.gate.Run(context.Background(), Allow{}, nil); err == nil {
		t.Error("the zero Allow runs")
	} else {
		isRefusal(t, err, StalePermission)
	}
	if d := w.gate.Answer(stateIn(t, plan.Off), Ask{}, Verdict{Yes: true}); word(d) != string(StalePermission) {
		t.Errorf("the zero Ask: %s", word(d))
	}
	if (Allow{}).Parallel() || (Ask{}).Access() != nil || (Allow{}).Call().Tool != "" {
		t.Error("the zero Allow or Ask says something")
	}
}

func TestGrantsEnd(t *testing.T) {
	tests := []struct {
		name string
		do   func(w *world) // between judging and running
		want string
	}{
		{"nothing happens", func(*world) {}, ""},
		{"a submission in plan mode changes nothing", func(w *world) { w.gate.Observe(w.st) }, ""},
		{"the mode tightened", func(w *world) { w.happens(plan.Enter{}) }, "mode changed"},
		{"the mode tightened and loosened again", func(w *world) { w.happens(plan.Enter{}, plan.Leave{}) }, "mode changed"},
		{"revoked", func(w *world) { w.gate.Revoke() }, "mode changed"},
		{"late", func(w *world) { w.now = w.now.Add(11 * time.Minute) }, "expired"},
		{"in time", func(w *world) { w.now = w.now.Add(9 * time.Minute) }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, func(c *Config) { c.Autonomy = Loose }).to(plan.Off)
			a := w.mustAllow("write", writeInput{"new.txt", "x"})
			tt.do(w)
			_, err := w.run(a)
			if tt.want == "" {
				if err != nil || w.read("ws/new.txt") != "x" {
					t.Fatalf("it did not run: %v", err)
				}
				_, err = w.run(a)
				tt.want = "used"
			} else if w.read("ws/new.txt") != "" || len(w.ran) > 0 {
				t.Error("it ran")
			}
			if r := isRefusal(t, err, StalePermission); !strings.Contains(r.Reason, tt.want) || r.Tool != "write" || r.Session != "s" {
				t.Errorf("%+v, want %q", r, tt.want)
			}
		})
	}
}

// TestSameCount: a state is not taken for another because as much has changed in both.
func TestSameCount(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Autonomy = Loose }).to(plan.Off)
	w.happens(plan.Enter{}, plan.Leave{})
	a := w.mustAllow("write", writeInput{"new.txt", "x"})
	other := fold(t, stateIn(t, plan.Executing), plan.Leave{}, plan.Enter{})
	if other.Epoch() != w.st.Epoch() || !other.ReadOnly() {
		t.Fatalf("epoch %d in %s is no such state; the other has %d", other.Epoch(), other.Mode(), w.st.Epoch())
	}
	w.gate.Observe(other)
	_, err := w.run(a)
	isRefusal(t, err, StalePermission)
}

// TestForeign: a gate takes no permission and no question of another, not even of a child.
func TestForeign(t *testing.T) {
	w, other := newWorld(t).to(plan.Off), newWorld(t).to(plan.Off)
	a, q := other.mustAllow("read", pathInput{"a.go"}), other.mustAsk("write", pathInput{"a.go"})
	child := w.gate.Child(w.reg, Host{})
	for _, g := range []*Gate{w.gate, child} {
		_, err := g.Run(context.Background(), a, nil)
		isRefusal(t, err, StalePermission)
		if r := refusalOf(t, g.Answer(w.st, q, Verdict{Yes: true})); r.Code != StalePermission {
			t.Errorf("%+v", r)
		}
	}
	if _, err := other.run(a); err != nil { // the attempts used nothing up
		t.Error(err)
	}
	if d := other.gate.Answer(other.st, q, Verdict{Yes: true}); word(d) != "allow" {
		t.Error(word(d))
	}
}

func TestCancelledBefore(t *testing.T) {
	w := newWorld(t).to(plan.Off)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := w.gate.Run(ctx, w.mustAllow("nothing", `{}`), nil)
	isRefusal(t, err, Interrupted)
	if len(w.ran) > 0 {
		t.Error("it ran")
	}
}

// TestInputIsCloned: what the caller does with its buffer after the call was judged changes nothing.
func TestInputIsCloned(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Autonomy = Hybrid }).to(plan.Off)
	call := callOf("write", `{"path":"good.txt","content":"x"}`)
	a := w.gate.Decide(w.st, call).(Allow)
	copy(call.Input, `{"path":"evil.txt"`)
	copy(a.Call().Input, `{"path":"evil.txt"`)
	if _, err := w.run(a); err != nil {
		t.Fatal(err)
	}
	if w.read("ws/good.txt") != "x" || w.read("ws/evil.txt") != "" {
		t.Error("the input that ran is not the one that was judged")
	}
	w = newWorld(t).to(plan.Off)
	call = callOf("write", `{"path":"good.txt","content":"x"}`)
	q := w.gate.Decide(w.st, call).(Ask)
	copy(call.Input, `{"path":"evil.txt"`)
	q.Access()[0] = WriteFile{"evil.txt"}
	if _, err := w.run(w.gate.Answer(w.st, q, Verdict{Yes: true}).(Allow)); err != nil {
		t.Fatal(err)
	}
	if w.read("ws/good.txt") != "x" || w.read("ws/evil.txt") != "" {
		t.Error("the input that ran is not the one that was asked for")
	}
}

// TestAccessIsCloned: a tool cannot change, in running, what was judged.
func TestAccessIsCloned(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Autonomy = Loose; c.Policy.Deny = []Rule{{"sly", "*.go"}} }).to(plan.Off)
	shared := Access{Nothing{}}
	err := w.reg.Register(New(Spec{Name: "sly", Description: "changes its mind"},
		func(noInput) Access { return shared },
		func(_ context.Context, g *Grant, _ noInput) (Result, error) {
			shared[0] = WriteFile{"a.go"}
			return Result{}, g.WriteFile("a.go", nil, []byte("evil"))
		}))
	if err != nil {
		t.Fatal(err)
	}
	res, err := w.run(w.mustAllow("sly", `{}`))
	if err != nil || !res.IsError || w.read("ws/a.go") != "contents of ws/a.go" {
		t.Errorf("%+v %v %q", res, err, w.read("ws/a.go"))
	}
}

func TestPanics(t *testing.T) {
	w := newWorld(t).to(plan.Off)
	add := func(name string, access func(noInput) Access, run func(context.Context, *Grant, noInput) (Result, error)) {
		if err := w.reg.Register(New(Spec{Name: name, Description: "panics"}, access, run)); err != nil {
			t.Fatal(err)
		}
	}
	calls := 0
	add("panics_first", func(noInput) Access { panic("boo") }, func(context.Context, *Grant, noInput) (Result, error) { return Result{}, nil })
	add("panics_second", func(noInput) Access {
		if calls++; calls > 1 {
			panic("boo")
		}
		return Access{Opaque{}}
	}, func(context.Context, *Grant, noInput) (Result, error) { return Result{}, nil })
	add("panics_run", func(noInput) Access { return Access{Nothing{}} },
		func(context.Context, *Grant, noInput) (Result, error) { panic(fmt.Errorf("boo")) })
	if r := refusalOf(t, w.decide("panics_first", `{}`)); r.Code != Internal || !strings.Contains(r.Reason, "boo") {
		t.Errorf("%+v", r)
	}
	if r := refusalOf(t, w.gate.Answer(w.st, w.mustAsk("panics_second", `{}`), Verdict{Yes: true})); r.Code != Internal {
		t.Errorf("%+v", r)
	}
	res, err := w.run(w.mustAllow("panics_run", `{}`))
	if err != nil || !res.IsError || !strings.Contains(res.Text, "boo") || w.gate.Running() != 0 {
		t.Errorf("%+v %v, %d running", res, err, w.gate.Running())
	}
}

// TestToolErrors: an error is told to the model after what the tool said, and a refusal stays data.
func TestToolErrors(t *testing.T) {
	w := newWorld(t).to(plan.Off)
	res := w.inTool(Access{Nothing{}}, func(context.Context, *Grant) error { return errors.New("no luck") })
	if !res.IsError || res.Text != "no luck" {
		t.Errorf("%+v", res)
	}
	res = w.inTool(Access{Nothing{}}, func(_ context.Context, g *Grant) error { return fmt.Errorf("then: %w", g.WriteFile("a.go", nil, nil)) })
	var r Refusal
	if err := json.Unmarshal([]byte(res.Text), &r); err != nil || r.Code != NotGranted || r.Hint == "" || r.Session != "s" || !res.IsError {
		t.Errorf("%v %+v", err, res)
	}
	if got := (Result{Text: "half done"}).failed(errors.New("no luck")); got.Text != "half done\nno luck" || !got.IsError {
		t.Errorf("%+v", got)
	}
}

// TestLateTool: a tool that comes while planning is judged like any other, and one that goes takes its
// permissions along only as far as they name it.
func TestLateTool(t *testing.T) {
	w := newWorld(t).to(plan.Planning)
	if d := w.decide("late", `{}`); word(d) != string(UnknownTool) {
		t.Error(word(d))
	}
	if err := w.reg.Register(w.simple("late", Access{WriteFile{"a.go"}})); err != nil {
		t.Fatal(err)
	}
	if d := w.decide("late", `{}`); word(d) != string(PlanModeBlocked) {
		t.Error(word(d))
	}
	w.happens(plan.Leave{})
	q := w.mustAsk("late", `{}`)
	w.reg.Unregister("late")
	if r := refusalOf(t, w.gate.Answer(w.st, q, Verdict{Yes: true})); r.Code != UnknownTool {
		t.Errorf("%+v", r)
	}
	// Another tool takes the name between the question and the answer, or after an "always".
	if err := w.reg.Register(w.simple("late", Access{WriteFile{"a.go"}})); err != nil {
		t.Fatal(err)
	}
	q, again := w.mustAsk("late", `{}`), w.mustAsk("late", `{}`)
	if d := w.gate.Answer(w.st, again, Verdict{Yes: true, Always: true}); word(d) != "allow" {
		t.Fatal(word(d))
	}
	q2 := w.mustAllow("late", `{}`)
	w.reg.Unregister("late")
	if err := w.reg.Register(w.simple("late", Access{WriteFile{"b.go"}})); err != nil {
		t.Fatal(err)
	}
	if r := refusalOf(t, w.gate.Answer(w.st, q, Verdict{Yes: true})); r.Code != StalePermission {
		t.Errorf("%+v", r)
	}
	q = w.mustAsk("late", `{}`)
	w.reg.Unregister("late")
	if err := w.reg.Register(w.simple("late", Access{WriteFile{"b.go"}})); err != nil { // and says the same
		t.Fatal(err)
	}
	if r := refusalOf(t, w.gate.Answer(w.st, q, Verdict{Yes: true})); r.Code != StalePermission {
		t.Errorf("%+v", r)
	}
	w.reg.Unregister("late")
	if err := w.reg.Register(w.simple("late", Access{WriteFile{"a.go"}})); err != nil { // as when always was said
		t.Fatal(err)
	}
	w.mustAsk("late", `{}`)
	if res, err := w.run(q2); err != nil || res.Text != "ran" { // the tool that was judged
		t.Errorf("%+v %v", res, err)
	}
}

func TestRegister(t *testing.T) {
	w := newWorld(t)
	if err := w.reg.Register(w.simple("read", nil)); !errors.Is(err, ErrDuplicate) {
		t.Errorf("shadowing: %v", err)
	}
	run := func(context.Context, *Grant, noInput) (Result, error) { return Result{}, nil }
	access := func(noInput) Access { return nil }
	schema := func(s string) Tool {
		return New(Spec{Name: "x", Description: "x", Schema: json.RawMessage(s)}, func(json.RawMessage) Access { return nil },
			func(context.Context, *Grant, json.RawMessage) (Result, error) { return Result{}, nil })
	}
	for name, tool := range map[string]Tool{
		"zero":             {},
		"no name":          New(Spec{Description: "x"}, access, run),
		"bad name":         New(Spec{Name: "a b", Description: "x"}, access, run),
		"long name":        New(Spec{Name: strings.Repeat("a", 65), Description: "x"}, access, run),
		"no description":   New(Spec{Name: "x"}, access, run),
		"no access":        New(Spec{Name: "x", Description: "x"}, nil, run),
		"no run":           New(Spec{Name: "x", Description: "x"}, access, nil),
		"schema null":      schema(`null`),
		"schema true":      schema(`true`),
		"schema no JSON":   schema(`{`),
		"schema string":    schema(`{"type":"string"}`),
		"schema pattern":   schema(`{"type":"object","properties":{"a":{"pattern":"("}}}`),
		"schema itself":    schema(`{"type":"object","$ref":"#"}`),
		"schema loop":      schema(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`),
		"schema elsewhere": schema(`{"type":"object","properties":{"a":{"$ref":"http://example.com/x"}}}`),
		"schema escaped":   schema(`{"type":"object","\u0024ref":"#"}`),
		"not a struct": New(Spec{Name: "x", Description: "x"}, func(string) Access { return nil },
			func(context.Context, *Grant, string) (Result, error) { return Result{}, nil }),
		"check null": New(Spec{Name: "x", Description: "x", Check: json.RawMessage(`null`)}, access, run),
	} {
		if err := w.reg.Register(tool); err == nil {
			t.Errorf("%s: registered", name)
		}
	}
	if err := w.reg.Register(schema(`{"type":"object","properties":{"next":{"$ref":"#"}}}`)); err != nil {
		t.Errorf("a recursive schema that goes into the input: %v", err)
	}
}

// TestModelsWordsAreBounded: a name that a model made up does not fill the log.
func TestModelsWordsAreBounded(t *testing.T) {
	w := newWorld(t).to(plan.Planning)
	r := refusalOf(t, w.decide(strings.Repeat("x", 100_000), `{}`))
	if n := len(r.Result().Text); n > 2000 {
		t.Errorf("%d bytes", n)
	}
	r = refusalOf(t, w.decide("read", `{"path":"a.go","`+strings.Repeat("x", 100_000)+`":1}`))
	if n := len(r.Result().Text); n > 2000 {
		t.Errorf("%d bytes", n)
	}
	if r := refusalOf(t, w.decide("READ", `{}`)); r.Hint != `its name is "read"` {
		t.Errorf("%+v", r)
	}
}
