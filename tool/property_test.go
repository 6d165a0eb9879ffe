package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/planmode-dev/planmode/plan"
)

// TestNothingLeaks plays random sessions: the user's, the model's and the host's events, tools that come
// and go, calls, answers, children and permissions that are kept for later, with tools that really write
// files. However they fall, no file changes while the session is in plan mode, but for the plan file
// while planning.
func TestNothingLeaks(t *testing.T) {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm") // every write is synced, which takes a disk its time
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, func(c *Config) {
			c.Autonomy = rapid.SampledFrom([]Autonomy{Strict, Hybrid, Loose}).Draw(rt, "autonomy")
			c.Policy = Policy{Allow: rapid.SampledFrom([][]Rule{nil, {{Tool: "*"}}, {{"write", "**"}}}).Draw(rt, "allow")}
			c.Evidence = rapid.SampledFrom([]Evidence{EvidenceOff, EvidenceAsk}).Draw(rt, "evidence")
		})
		defer os.RemoveAll(w.dir)
		w.link("../elsewhere", "ws/out")
		w.link("../state/plans", "ws/plans")
		s := &leakage{w: w, rt: rt, gates: []*Gate{w.gate}}
		w.gate.Observe(w.st)
		rt.Repeat(map[string]func(*rapid.T){
			"event":  s.event,
			"tool":   s.tool,
			"decide": s.decide,
			"answer": s.answer,
			"run":    s.run,
			"leaked": s.leaked,
			"child": func(*rapid.T) {
				if len(s.gates) < 5 {
					s.gates = append(s.gates, rapid.SampledFrom(s.gates).Draw(rt, "parent").Child(w.reg, Host{}))
				}
			},
			"revoke": func(*rapid.T) { w.gate.Revoke() },
		})
	})
}

// leakage is one random session.
type leakage struct {
	w      *world
	rt     *rapid.T
	gates  []*Gate
	allows []Allow
	asks   []Ask
	grants []*Grant
	tools  int
}

func (s *leakage) event(rt *rapid.T) {
	newest, _ := s.w.st.Newest()
	ev := rapid.SampledFrom([]plan.Event{
		plan.Start{Mode: plan.Off, AfterDone: plan.Off},
		plan.Start{Mode: plan.Planning, AfterDone: plan.Planning},
		plan.Enter{},
		plan.Enter{},
		plan.Prompt{},
		plan.Submit{Text: planText},
		plan.Edit{Text: planText + "2. More\n"},
		plan.Reject{Feedback: "no"},
		plan.StartReview{},
		plan.ReviewDone{},
		plan.CancelReview{},
		plan.Approve{Digest: newest.Digest},
		plan.Approve{Digest: plan.DigestOf(planText)},
		plan.Leave{},
		plan.Restarted{},
		plan.AllStepsDone{},
	}).Draw(rt, "event")
	before := s.w.st
	st, _, err := plan.Step(before, ev)
	if err != nil {
		return
	}
	if before.ReadOnly() && !st.ReadOnly() {
		if _, users := ev.(plan.UserEvent); !users {
			rt.Fatalf("%T loosened the mode", ev)
		}
	}
	s.w.st = st
	s.w.gate.Observe(st)
	if len(s.gates) > 1 && rapid.Bool().Draw(rt, "told by a child") { // which must not matter
		rapid.SampledFrom(s.gates[1:]).Draw(rt, "child").Observe(stateIn(s.w.t, plan.Off))
	}
}

func (s *leakage) tool(rt *rapid.T) {
	s.tools++
	name := fmt.Sprintf("late%d", s.tools)
	path := s.path(rt)
	access := rapid.SampledFrom([]Access{
		{WriteFile{path}},
		{ReadFile{"."}},
		{Nothing{}},
		{Opaque{}},
		{SubmitPlan{}},
		{Claimed{ReadOnly: true, Source: "mcp:docs"}},
		{ReadFile{"."}, WriteFile{path}},
		{Shell{Command: "ls"}},
		nil,
	}).Draw(rt, "access")
	err := s.w.reg.Register(New(Spec{Name: name, Description: "writes whatever it said"},
		func(noInput) Access { return access },
		func(ctx context.Context, g *Grant, _ noInput) (Result, error) {
			s.grants = append(s.grants, g)
			s.reach(ctx, g, path)
			return Result{}, nil
		}))
	if err != nil {
		rt.Fatal(err)
	}
	if old := fmt.Sprintf("late%d", s.tools-2); rapid.Bool().Draw(rt, "unregister") {
		s.w.reg.Unregister(old)
	}
}

// reach tries everything that changes something.
func (s *leakage) reach(ctx context.Context, g *Grant, path string) {
	_ = g.WriteFile(path, nil, []byte("by "+path))
	_ = g.WriteFile("a.go", nil, []byte("by a tool that did not say so"))
	_ = g.WriteFile(s.w.path("state/plans/plan.md"), nil, []byte("a plan"))
	_, _ = g.Shell(ctx, Output{})
}

func (s *leakage) path(rt *rapid.T) string {
	return rapid.SampledFrom([]string{
		"a.go", "new/x", ".git/config", "../elsewhere/c.txt", "out/c.txt", "plans/plan.md", s.w.path("state/plans/plan.md"),
		"~/../state/plans/plan.md", ".env", "../state/keep/x", s.w.path("state/plans/plan.md") + "/../other.md",
	}).Draw(rt, "path")
}

func (s *leakage) decide(rt *rapid.T) {
	gate := rapid.SampledFrom(s.gates).Draw(rt, "gate")
	var call Call
	switch rapid.IntRange(0, 2).Draw(rt, "kind") {
	case 0:
		call = callOf("write", writeInput{s.path(rt), "written"})
	case 1:
		call = callOf("bash", shellInput{Command: rapid.SampledFrom([]string{"ls", "echo x > a.go", "rm -f a.go", "touch new", "cat a.go | tee b.go", "./x"}).Draw(rt, "line")})
	default:
		call = callOf(fmt.Sprintf("late%d", rapid.IntRange(max(1, s.tools-2), max(1, s.tools)).Draw(rt, "tool")), `{}`)
	}
	switch d := gate.Decide(s.w.st, call).(type) {
	case Allow:
		s.allows = append(s.allows, d)
	case Ask:
		s.asks = append(s.asks, d)
	case Deny:
		refusalOf(s.w.t, d)
	}
}

func (s *leakage) answer(rt *rapid.T) {
	if len(s.asks) == 0 {
		return
	}
	q := rapid.SampledFrom(s.asks).Draw(rt, "question")
	v := Verdict{Yes: rapid.Bool().Draw(rt, "yes"), Always: rapid.Bool().Draw(rt, "always"), Rule: rapid.SampledFrom([]string{"", q.Rule, "*"}).Draw(rt, "rule")}
	switch d := rapid.SampledFrom(s.gates).Draw(rt, "gate").Answer(s.w.st, q, v).(type) {
	case Allow:
		s.allows = append(s.allows, d)
	case Ask:
		rt.Fatal("an answer is answered by a question")
	}
}

func (s *leakage) run(rt *rapid.T) {
	if len(s.allows) == 0 {
		return
	}
	a := rapid.SampledFrom(s.allows).Draw(rt, "permission")
	s.unchanged(rt, fmt.Sprintf("%s %s", a.Call().Tool, a.Call().Input), func() {
		_, _ = rapid.SampledFrom(s.gates).Draw(rt, "gate").Run(context.Background(), a, nil)
	})
}

// leaked uses a grant of a call that is over.
func (s *leakage) leaked(rt *rapid.T) {
	if len(s.grants) == 0 {
		return
	}
	before := s.w.snapshot()
	s.reach(context.Background(), rapid.SampledFrom(s.grants).Draw(rt, "grant"), s.path(rt))
	if changed := s.w.changes(before); len(changed) > 0 {
		rt.Fatalf("a leaked grant changed %v", changed)
	}
}

// unchanged holds that f changes nothing that the mode does not let it.
func (s *leakage) unchanged(rt *rapid.T, what string, f func()) {
	before := s.w.snapshot()
	f()
	for _, p := range s.w.changes(before) {
		planFile := p == s.w.path("state/plans/plan.md")
		if s.w.st.ReadOnly() && (!planFile || s.w.st.Mode() != plan.Planning) {
			rt.Fatalf("while %s, %s changed %s", s.w.st.Mode(), what, p)
		}
		if !planFile && strings.HasPrefix(p, s.w.path("state")+string(filepath.Separator)) || p == s.w.path("ws/.env") {
			rt.Fatalf("%s changed the hidden %s", what, p)
		}
	}
}

// FuzzDecide: whatever the input, judging does not panic, and while nothing may be changed no call that
// would change something is let through.
func FuzzDecide(f *testing.F) {
	for _, s := range []string{
		`{"path":"a.go"}`, `{"path":"../x","content":"y"}`, `{"command":"ls; rm x"}`, `{"path":".git/x"}`, `{}`, ``, `null`, `[]`, `{"path":"a","path":"b"}`,
		`{"PATH":"a"}`, `{"path":"~/x"}`, `{"path":"\u0000"}`, "{\"path\":\"\xff\"}", `{"command":"ls","dir":"/"}`, `{"path":1e999}`, `{"command":"$(rm x)"}`,
	} {
		for mode := range uint8(5) {
			f.Add(s, mode, uint8(0))
		}
	}
	w := newWorld(f, func(c *Config) {
		c.Autonomy = Loose
		c.Vouched = []string{"*"}
		c.Policy.Allow = []Rule{{Tool: "*"}}
	})
	names := []string{"read", "write", "bash", "both"}
	err := w.reg.Register(New(Spec{Name: "both", Description: "reads and writes", Schema: json.RawMessage(`{"type":"object"}`)},
		func(in struct{ Path, Command string }) Access {
			return Access{ReadFile{in.Path}, WriteFile{in.Path}, Shell{Command: in.Command}}
		},
		func(context.Context, *Grant, struct{ Path, Command string }) (Result, error) { return Result{}, nil }))
	if err != nil {
		f.Fatal(err)
	}
	states := map[plan.Mode]plan.State{}
	for _, m := range plan.Modes() {
		states[m] = stateIn(f, m)
	}
	planFile := w.gate.cfg.PlanFile()
	f.Fuzz(func(t *testing.T, input string, mode, name uint8) {
		m := plan.Modes()[int(mode)%5]
		d := w.gate.Decide(states[m], Call{Tool: names[int(name)%len(names)], Input: json.RawMessage(input)})
		switch d := d.(type) {
		case Ask:
			if m.ReadOnly() {
				t.Errorf("the user is asked for what the mode forbids: %s", input)
			}
		case Allow:
			for _, e := range d.p.access {
				if e, ok := e.(WriteFile); ok && m.ReadOnly() {
					if abs, err := w.gate.cfg.Roots.abs(e.Path); err != nil || abs != planFile || m != plan.Planning {
						t.Errorf("%s may write %q in %s", d.p.call.Tool, e.Path, m)
					}
				}
			}
			if m.ReadOnly() && (d.p.view != viewReadOnly || d.p.grade != gradeRead) {
				t.Errorf("grade %d, view %d in %s", d.p.grade, d.p.view, m)
			}
		case Deny:
			if r := refusalOf(t, d); r.Code == Internal {
				t.Errorf("%+v", r)
			}
		default:
			t.Errorf("%T", d)
		}
	})
}

// TestConcurrent uses a gate from many goroutines; the race detector watches.
func TestConcurrent(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Autonomy = Loose }).to(plan.Off)
	states := []plan.State{w.st}
	for range 6 {
		states = append(states, fold(t, states[len(states)-1], plan.Enter{}), fold(t, states[len(states)-1], plan.Enter{}, plan.Leave{}))
	}
	var mu sync.Mutex
	now := states[0]
	state := func() plan.State {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	var wg sync.WaitGroup
	child := w.gate.Child(w.reg, Host{})
	for i := range 4 {
		wg.Go(func() {
			gate := []*Gate{w.gate, child}[i%2]
			for j := range 50 {
				st := state()
				switch d := gate.Decide(st, callOf("write", writeInput{fmt.Sprintf("f%d", i), "x"})).(type) {
				case Allow:
					if _, err := gate.Run(context.Background(), d, func(string) {}); err == nil && st.ReadOnly() {
						t.Error("ran while planning")
					}
				case Ask:
					gate.Answer(state(), d, Verdict{Yes: true, Always: true})
				}
				if d, ok := gate.Decide(st, callOf("read", pathInput{"a.go"})).(Allow); ok {
					_, _ = gate.Run(context.Background(), d, nil)
				}
				if d, ok := gate.Decide(st, callOf("opaque", `{}`)).(Ask); ok {
					gate.Answer(state(), d, Verdict{Yes: true, Always: j%2 == 0})
				}
			}
		})
	}
	wg.Go(func() {
		for _, st := range states {
			mu.Lock()
			now = st
			mu.Unlock()
			w.gate.Observe(st)
			w.gate.Running()
			w.gate.cfg.Counters.Snapshot()
		}
		w.gate.Revoke()
	})
	wg.Go(func() {
		for i := range 50 {
			name := fmt.Sprintf("t%d", i)
			if err := w.reg.Register(w.simple(name, Access{Nothing{}})); err != nil {
				t.Error(err)
			}
			w.reg.All()
			w.reg.Changes()
			w.reg.Unregister(name)
		}
	})
	wg.Wait()
	if w.gate.Running() != 0 {
		t.Errorf("%d running", w.gate.Running())
	}
}

// TestOneGrantIsUsedOnce, whoever tries at the same time.
func TestOneGrantIsUsedOnce(t *testing.T) {
	w := newWorld(t).to(plan.Off)
	a := w.mustAllow("nothing", `{}`)
	q := w.mustAsk("opaque", `{}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, _ = w.run(a)
			if a, ok := w.gate.Answer(w.st, q, Verdict{Yes: true}).(Allow); ok {
				_, _ = w.run(a)
			}
		})
	}
	wg.Wait()
	slices.Sort(w.ran)
	if got := strings.Join(w.ran, " "); got != "nothing opaque" {
		t.Errorf("ran: %s", got)
	}
}
