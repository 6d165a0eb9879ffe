package tool

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/sandbox"
)

func TestAnswer(t *testing.T) {
	edit := writeInput{"a.go", "new"}
	tests := []struct {
		name string
		do   func(w *world, q Ask) Decision
		want Code // "" is a yes that ran
		why  string
	}{
		{"yes", func(w *world, q Ask) Decision { return w.gate.Answer(w.st, q, Verdict{Yes: true}) }, "", ""},
		{"no", func(w *world, q Ask) Decision { return w.gate.Answer(w.st, q, Verdict{Note: "not that file"}) }, UserDenied, "not that file"},
		{"the zero verdict", func(w *world, q Ask) Decision { return w.gate.Answer(w.st, q, Verdict{}) }, UserDenied, "said no"},
		{"always without yes", func(w *world, q Ask) Decision { return w.gate.Answer(w.st, q, Verdict{Always: true}) }, UserDenied, "said no"},
		{"yes twice", func(w *world, q Ask) Decision {
			w.gate.Answer(w.st, q, Verdict{Yes: true})
			return w.gate.Answer(w.st, q, Verdict{Yes: true})
		}, StalePermission, "answered already"},
		{"no, then yes", func(w *world, q Ask) Decision {
			w.gate.Answer(w.st, q, Verdict{})
			return w.gate.Answer(w.st, q, Verdict{Yes: true})
		}, StalePermission, "answered already"},
		{"yes, then no from another screen", func(w *world, q Ask) Decision {
			d := w.gate.Answer(w.st, q, Verdict{Yes: true})
			if r := refusalOf(w.t, w.gate.Answer(w.st, q, Verdict{})); r.Code != StalePermission {
				w.t.Errorf("%+v", r)
			}
			return d
		}, "", ""},
		{"after plan mode was entered", func(w *world, q Ask) Decision {
			w.happens(plan.Enter{})
			return w.gate.Answer(w.st, q, Verdict{Yes: true, Always: true})
		}, StalePermission, "changed since"},
		{"after plan mode was entered and left", func(w *world, q Ask) Decision {
			w.happens(plan.Enter{}, plan.Leave{})
			return w.gate.Answer(w.st, q, Verdict{Yes: true})
		}, StalePermission, "changed since"},
		{"after everything was revoked", func(w *world, q Ask) Decision {
			w.gate.Revoke()
			return w.gate.Answer(w.st, q, Verdict{Yes: true})
		}, StalePermission, "changed since"},
		{"the next day", func(w *world, q Ask) Decision {
			w.now = w.now.Add(25 * time.Hour)
			return w.gate.Answer(w.st, q, Verdict{Yes: true})
		}, StalePermission, "changed since"},
		{"after lunch", func(w *world, q Ask) Decision {
			w.now = w.now.Add(2 * time.Hour)
			return w.gate.Answer(w.st, q, Verdict{Yes: true})
		}, "", ""},
		{"a rule that does not cover it", func(w *world, q Ask) Decision {
			return w.gate.Answer(w.st, q, Verdict{Yes: true, Always: true, Rule: "write(docs/**)"})
		}, InvalidInput, "does not cover"},
		{"a rule for another tool", func(w *world, q Ask) Decision {
			return w.gate.Answer(w.st, q, Verdict{Yes: true, Always: true, Rule: "bash"})
		}, InvalidInput, "does not cover"},
		{"a rule that is none", func(w *world, q Ask) Decision {
			return w.gate.Answer(w.st, q, Verdict{Yes: true, Always: true, Rule: "write("})
		}, InvalidInput, "no closing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t).to(plan.Off)
			d := tt.do(w, w.mustAsk("write", edit))
			if tt.want != "" {
				r := refusalOf(t, d)
				if r.Code != tt.want || !strings.Contains(r.Reason, tt.why) || r.Tool != "write" || r.Session != "s" {
					t.Errorf("%+v, want %s, %q", r, tt.want, tt.why)
				}
				if w.st.ReadOnly() {
					return
				}
				w.mustAsk("write", edit) // nothing was given
				return
			}
			if res, err := w.run(d.(Allow)); err != nil || res.IsError || w.read("ws/a.go") != "new" {
				t.Errorf("%+v %v", res, err)
			}
		})
	}
}

// TestAlways: an "always" covers what it says, in its epoch, and nothing that must be asked each time.
func TestAlways(t *testing.T) {
	w := newWorld(t).to(plan.Off)
	always := func(q Ask, rule string) {
		t.Helper()
		if d := w.gate.Answer(w.st, q, Verdict{Yes: true, Always: true, Rule: rule}); word(d) != "allow" {
			t.Fatalf("%+v", d)
		}
	}
	always(w.mustAsk("write", writeInput{"a.go", "x"}), "")
	w.mustAllow("write", writeInput{"a.go", "x"})
	w.mustAsk("write", writeInput{"a.go", "y"})
	w.mustAsk("vouched_wr", `{}`) // the same access, another tool

	q := w.mustAsk("write", writeInput{"docs/x.md", "x"})
	if q.Rule != "write(./docs/x.md)" {
		t.Errorf("the suggestion is %q", q.Rule)
	}
	always(q, "write(docs/**)")
	w.mustAllow("write", writeInput{"docs/deep/y.md", "anything"})
	w.mustAsk("write", writeInput{"docs/../a.go", "y"})

	always(w.mustAsk("write", writeInput{".git/config", "x"}), "")
	w.mustAsk("write", writeInput{".git/config", "x"})
	always(w.mustAsk("write", writeInput{".git/config", "x"}), "write(.git/**)")
	w.mustAsk("write", writeInput{".git/config", "x"})

	// Neither plan mode nor the time after it knows what was given before.
	w.happens(plan.Enter{})
	if d := w.decide("write", writeInput{"docs/x.md", "x"}); word(d) != string(PlanModeBlocked) {
		t.Error(word(d))
	}
	w.happens(plan.Leave{})
	w.mustAsk("write", writeInput{"docs/x.md", "x"})
	w.mustAsk("write", writeInput{"a.go", "x"})
	always(w.mustAsk("write", writeInput{"a.go", "x"}), "write")
	w.mustAllow("write", writeInput{"b.go", "x"})
	if n := len(w.gate.given); n != 1 {
		t.Errorf("%d old answers are kept", n-1)
	}
	w.gate.Revoke()
	w.mustAsk("write", writeInput{"b.go", "x"})
}

// TestNoStandingApproval: approving a plan lets nothing run that would be asked for otherwise.
func TestNoStandingApproval(t *testing.T) {
	w := newWorld(t).to(plan.Ready)
	w.happens(plan.Approve{Digest: plan.DigestOf(planText)})
	w.mustAsk("write", writeInput{"a.go", "x"})
	w.mustAsk("bash", shellInput{Command: "rm a.go"})
	if d := w.gate.Answer(w.st, w.mustAsk("write", writeInput{"a.go", "x"}), Verdict{Yes: true, Always: true, Rule: "write"}); word(d) != "allow" {
		t.Fatal(word(d))
	}
	w.mustAllow("write", writeInput{"b.go", "x"})
	// The next plan begins with nothing.
	w.happens(plan.AllStepsDone{})
	w.mustAsk("write", writeInput{"b.go", "x"})
}

// walled is a machine whose kernel enforces the confined views.
func walled() sandbox.Level { return sandbox.Namespaces }

// TestEvidence: what autonomy says counts when changes are allowed, not while planning.
func TestEvidence(t *testing.T) {
	for _, tt := range []struct {
		e    Evidence
		a    Autonomy
		want string
	}{
		{EvidenceOff, Loose, "plan_mode_blocked"},
		{EvidenceAsk, Strict, "ask"},
		{EvidenceAsk, Loose, "ask"},
		{EvidenceOn, Strict, "allow"},
	} {
		w := newWorld(t, func(c *Config) { c.Evidence, c.Autonomy, c.Level, c.Sandbox = tt.e, tt.a, walled, SandboxPrefer }).to(plan.Planning)
		d := w.decide("bash", shellInput{Command: "./build.sh"})
		if word(d) != tt.want {
			t.Errorf("evidence %d, %s: %s, want %s", tt.e, tt.a, word(d), tt.want)
		}
		if d := w.decide("bash", shellInput{Command: "rm -rf ."}); word(d) != string(PlanModeBlocked) {
			t.Errorf("evidence %d, %s: a write is %s", tt.e, tt.a, word(d))
		}
	}
}

// TestSuggestions: "always" is offered for no more than was asked, and never for a program that would
// start any other.
func TestSuggestions(t *testing.T) {
	w := newWorld(t).to(plan.Off)
	for line, want := range map[string]string{
		"go test ./...":         "bash(go test *)",
		"go   'test' ./...":     "bash(go test *)",
		"rm -rf build":          "bash(rm *)",
		"./build.sh x":          "bash(./build.sh x *)",
		"git push origin":       "bash(git push *)",
		"mkdir docs/x":          "bash(mkdir *)",
		"go test; rm x":         "",
		"go test && go vet":     "",
		"FOO=1 go test":         "",
		"go test > out":         "",
		"bash -c 'rm x'":        "",
		"sudo rm x":             "",
		"env rm x":              "",
		"xargs rm":              "",
		"python3 x.py":          "",
		"/usr/bin/python3 x.py": "",
		"$x y":                  "",
		"'my program' x":        "",
		"'a*' x":                "",
		"eval rm x":             "",
		"touch $x":              "",
		"find . -delete":        "",
	} {
		q := w.mustAsk("bash", shellInput{Command: line})
		if q.Rule != want {
			t.Errorf("%q: %q, want %q", line, q.Rule, want)
		}
	}
	for path, want := range map[string]string{
		"a.go": "write(./a.go)", "docs/../a.go": "write(./a.go)", "x[1].go": "", "a*": "", "a(b).go": "write(./a(b).go)",
		".git/config": "", "/elsewhere": "",
	} {
		if q := w.mustAsk("write", writeInput{Path: path}); q.Rule != want {
			t.Errorf("%q: %q, want %q", path, q.Rule, want)
		}
	}
	if q := w.mustAsk("opaque", `{}`); q.Rule != "opaque" {
		t.Errorf("%q", q.Rule)
	}
	if q := w.mustAsk("fetch", `{}`); q.Rule != "" {
		t.Errorf("%q", q.Rule)
	}
}

// TestChildren: sub-agents at any depth share what their session may do.
func TestChildren(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Autonomy = Loose }).to(plan.Off)
	child := w.gate.Child(w.reg, Host{}).Child(w.reg, Host{}).Child(w.reg, Host{})
	d := child.Decide(w.st, callOf("write", writeInput{"x", "1"}))
	a, ok := d.(Allow)
	if !ok {
		t.Fatalf("%+v", d)
	}
	w.happens(plan.Enter{})
	_, err := child.Run(context.Background(), a, nil)
	isRefusal(t, err, StalePermission)
	// A child does not say what may be done.
	child.Observe(stateIn(t, plan.Off))
	if d := w.gate.Decide(w.st, callOf("write", `{"path":"x"}`)); word(d) != string(PlanModeBlocked) {
		t.Error(word(d))
	}
	_, err = child.Run(context.Background(), child.Decide(w.st, callOf("read", pathInput{"a.go"})).(Allow), nil)
	if err != nil {
		t.Error(err)
	}
	if r := refusalOf(t, child.Decide(w.st, callOf("submit", `{}`))); r.Code != WrongPhase || !strings.Contains(r.Reason, "sub-agent") {
		t.Errorf("%+v", r)
	}
	// The plan file is the session's alone.
	if d := child.Decide(w.st, callOf("write", writeInput{Path: w.path("state/plans/plan.md")})); word(d) != string(PlanModeBlocked) {
		t.Error(word(d))
	}
	for _, tool := range []string{"fetch", "opaque", "mcp_lies", "vouched_wr"} {
		if d := child.Decide(w.st, callOf(tool, `{}`)); word(d) != string(PlanModeBlocked) {
			t.Errorf("%s: %s", tool, word(d))
		}
	}
	// Running calls of children count.
	err = w.reg.Register(New(Spec{Name: "count", Description: "counts"}, func(noInput) Access { return Access{Nothing{}} },
		func(context.Context, *Grant, noInput) (Result, error) {
			if w.gate.Running() != 1 {
				t.Errorf("%d running", w.gate.Running())
			}
			return Result{}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := child.Run(context.Background(), child.Decide(w.st, callOf("count", `{}`)).(Allow), nil); err != nil {
		t.Error(err)
	}
}

func TestCounters(t *testing.T) {
	w := newWorld(t).to(plan.Planning)
	call := callOf("read", `{"path":"a.go"}`)
	for i := range 100 { // what a model or a client makes up is no label
		call.Tool, call.Surface = "made up "+strings.Repeat("x", i), strings.Repeat("y", i)
		w.gate.Decide(w.st, call)
	}
	w.gate.Decide(w.st, callOf("read", `{"path":"a.go"}`))
	w.gate.Decide(w.st, callOf("write", `{"path":"a.go"}`))
	w.happens(plan.Leave{})
	q := w.mustAsk("write", writeInput{Path: "a.go"})
	w.gate.Answer(w.st, q, Verdict{})
	_, _ = w.run(Allow{})
	want := map[Count]uint64{
		{"unknown", "unknown_tool", "other"}:     100,
		{"read", "allow", "model"}:               1,
		{"write", "plan_mode_blocked", "model"}:  1,
		{"write", "ask", "model"}:                1,
		{"write", "user_denied", "model"}:        1,
		{"unknown", "stale_permission", "other"}: 1,
	}
	got := w.gate.cfg.Counters.Snapshot()
	for c, n := range want {
		if got[c] != n {
			t.Errorf("%+v: %d, want %d", c, got[c], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	if (*Counters)(nil).Snapshot() != nil {
		t.Error("a nil one counts")
	}
}

func TestLoopGuard(t *testing.T) {
	var l LoopGuard
	c := callOf("bash", `{"command": "rm x"}`)
	same := callOf("bash", `{ "command":"rm x" }`)
	other := callOf("bash", `{"command": "rm y"}`)
	for i, call := range []Call{c, other, same} {
		if stop, why := l.Refused(call); stop {
			t.Errorf("call %d: %s", i, why)
		}
	}
	if stop, why := l.Refused(c); !stop || !strings.Contains(why, `"bash" 3 times`) {
		t.Errorf("%t %s", stop, why)
	}
	for i := range MaxRepeats - 1 {
		if stop, _ := l.Ran(c, Result{Text: "same"}); stop {
			t.Errorf("stopped after %d", i+1)
		}
	}
	if stop, _ := l.Ran(c, Result{Text: "other"}); stop {
		t.Error("another result")
	}
	for range MaxRepeats - 2 {
		l.Ran(c, Result{Text: "other"})
	}
	if stop, _ := l.Ran(same, Result{Text: "other"}); !stop {
		t.Error("not stopped")
	}
	broken := Call{Tool: "x", Input: []byte(`{{`)}
	for range MaxRefusals - 1 {
		l.Refused(broken)
	}
	if stop, _ := l.Refused(broken); !stop {
		t.Error("an input that is no JSON is not counted")
	}
}
