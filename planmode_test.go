package planmode_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/planmode-dev/planmode"
	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

const planText = "# Greet\n\n1. Write greet.go\n2. Test it\n"

// A rig is a PlanMode over a temporary workspace.
type rig struct {
	testing.TB
	*planmode.PlanMode
	dir, ws string
	reg     *tool.Registry
	changes []planmode.Mode
	reports []error
}

func newRig(t testing.TB, set ...func(*planmode.Config)) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{TB: t, dir: dir, ws: filepath.Join(dir, "ws"), reg: tool.NewRegistry(tools.All(tools.Options{})...)}
	if err := os.MkdirAll(r.ws, 0o750); err != nil {
		t.Fatal(err)
	}
	cfg := planmode.Config{
		Registry: r.reg, SessionDir: dir, TaskStore: tasks.NewStore(tasks.Options{}),
		Gate:   tool.Config{Roots: tool.Roots{Workspace: r.ws}, Autonomy: tool.Loose, Sandbox: tool.SandboxOff},
		Report: func(err error) { r.reports = append(r.reports, err) },
	}
	for _, f := range set {
		f(&cfg)
	}
	r.PlanMode = planmode.New(cfg)
	r.SetOnChange(func(m planmode.Mode) { r.changes = append(r.changes, m) })
	return r
}

// call judges a call and runs it if it may.
func (r *rig) call(name, input string) (tool.Result, error) {
	r.Helper()
	switch d := r.Gate().Decide(r.State(), tool.Call{ID: "c", Tool: name, Input: json.RawMessage(input)}).(type) {
	case tool.Allow:
		return r.Gate().Run(context.Background(), d, nil)
	case tool.Deny:
		return tool.Result{}, &d.Refusal
	}
	return tool.Result{}, errors.New("the user would be asked")
}

func (r *rig) submit() {
	r.Helper()
	data, err := json.Marshal(map[string]string{"plan": planText})
	if err != nil {
		r.Fatal(err)
	}
	if res, err := r.call("submit_plan", string(data)); err != nil || res.IsError || !res.EndTurn {
		r.Fatalf("submit_plan: %+v, %v", res, err)
	}
}

// in brings the session into a mode.
func (r *rig) in(mode planmode.Mode) *rig {
	r.Helper()
	if mode == planmode.ModeOff {
		return r
	}
	if _, err := r.Enter(); err != nil {
		r.Fatal(err)
	}
	if mode != planmode.ModePlanning {
		r.submit()
	}
	switch mode {
	case planmode.ModeReviewing:
		r.StartReview()
	case planmode.ModeExecuting:
		r.StartExecution()
	case planmode.ModeOff, planmode.ModePlanning, planmode.ModeReady:
	}
	if r.Mode() != mode {
		r.Fatalf("mode %s, want %s", r.Mode(), mode)
	}
	r.changes, r.reports = nil, nil
	return r
}

var modes = []planmode.Mode{planmode.ModeOff, planmode.ModePlanning, planmode.ModeReady, planmode.ModeReviewing, planmode.ModeExecuting}

// Every method from every mode. What is not legal changes nothing and is reported.
func TestTransitions(t *testing.T) {
	methods := map[string]func(*planmode.PlanMode){
		"Enter": func(pm *planmode.PlanMode) { _, _ = pm.Enter() }, // its error is about the file
		"Exit":  (*planmode.PlanMode).Exit, "ContinueRefining": (*planmode.PlanMode).ContinueRefining,
		"StartReview": (*planmode.PlanMode).StartReview, "ReviewDone": (*planmode.PlanMode).ReviewDone,
		"StartExecution": (*planmode.PlanMode).StartExecution, "ApplyRestoredState": (*planmode.PlanMode).ApplyRestoredState,
		"RestoreState": func(pm *planmode.PlanMode) { pm.RestoreState(pm.SaveState()) },
	}
	legal := map[string]map[planmode.Mode]planmode.Mode{
		"Enter":              {"off": "planning", "executing": "planning", "planning": "", "ready": "", "reviewing": ""},
		"Exit":               {"off": "", "planning": "off", "ready": "off", "reviewing": "off", "executing": "off"},
		"ContinueRefining":   {"ready": "planning"},
		"StartReview":        {"ready": "reviewing"},
		"ReviewDone":         {"reviewing": "ready"},
		"StartExecution":     {"ready": "executing"},
		"ApplyRestoredState": {"off": "", "planning": "", "ready": "", "executing": "", "reviewing": "ready"},
		"RestoreState":       {"off": "", "planning": "", "ready": "", "executing": "", "reviewing": ""},
	}
	for name, do := range methods {
		for _, from := range modes {
			r := newRig(t).in(from)
			file, before := r.PlanFilePath(), len(r.State().Revisions())
			do(r.PlanMode)
			want, ok := legal[name][from]
			switch {
			case !ok:
				if r.Mode() != from || len(r.changes) > 0 || len(r.reports) != 1 || len(r.State().Revisions()) != before {
					t.Errorf("%s while %s: mode %s, changes %v, reports %v", name, from, r.Mode(), r.changes, r.reports)
				}
			case want == "" && (r.Mode() != from || len(r.changes) > 0), want != "" && (r.Mode() != want || !slices.Equal(r.changes, []planmode.Mode{want})):
				t.Errorf("%s while %s: mode %s, changes %v, want %q", name, from, r.Mode(), r.changes, want)
			case len(r.reports) > 0:
				t.Errorf("%s while %s: %v", name, from, r.reports)
			}
			if file != "" && r.PlanFilePath() == "" {
				t.Errorf("%s while %s: the plan file's path is lost", name, from)
			}
		}
	}
}

func TestFullWalk(t *testing.T) {
	r := newRig(t)
	path, err := r.Enter()
	if err != nil || !strings.Contains(path, "/plans/") || !strings.HasSuffix(path, ".md") {
		t.Fatalf("Enter: %q, %v", path, err)
	}
	if again, err := r.Enter(); again != path || err != nil {
		t.Errorf("Enter twice: %q, %v, want %q", again, err, path)
	}
	if r.OnPlanSubmitted() {
		t.Error("submitted before anything was")
	}
	r.submit()
	if text, err := os.ReadFile(path); err != nil || string(text) != planText {
		t.Errorf("the plan file holds %q, %v", text, err)
	}
	if !r.OnPlanSubmitted() || r.OnPlanSubmitted() {
		t.Error("OnPlanSubmitted is not true exactly once")
	}
	r.ContinueRefining()
	r.submit()
	r.ContinueRefining()
	if r.OnPlanSubmitted() {
		t.Error("a plan that went back to planning opens a menu")
	}
	r.submit()
	r.StartReview()
	r.ReviewDone()
	r.StartExecution()
	if items := r.TaskStore().Items(); len(items) != 2 || items[0].Content != "Write greet.go" {
		t.Errorf("todos %v", items)
	}
	r.Exit()
	if items := r.TaskStore().Items(); len(items) != 0 {
		t.Errorf("todos of a plan that was given up: %v", items)
	}
	if r.PlanFilePath() != path {
		t.Errorf("Exit lost the plan file")
	}
	second, err := r.Enter()
	if err != nil || second == path || filepath.Dir(second) != filepath.Dir(path) {
		t.Errorf("a plan after an execution has the file %q, %v; the first had %q", second, err, path)
	}
	r.StartExecution()
	if r.Mode() != planmode.ModePlanning {
		t.Error("the plan that was executed was approved again")
	}
	want := []planmode.Mode{
		"planning", "ready", "planning", "ready", "planning", "ready", "reviewing", "ready", "executing", "off", "planning",
	}
	if !slices.Equal(r.changes, want) {
		t.Errorf("changes %v, want %v", r.changes, want)
	}
}

func TestExitKeepsThePlan(t *testing.T) {
	r := newRig(t).in(planmode.ModePlanning)
	path := r.PlanFilePath()
	r.Exit()
	if again, err := r.Enter(); again != path || err != nil {
		t.Errorf("%q, %v, want %q", again, err, path)
	}
}

// Calls as the seeds' filter judges them: off and executing allow everything, whatever it is.
func TestFilterToolCall(t *testing.T) {
	for _, mode := range modes {
		r := newRig(t).in(mode)
		file := r.PlanFilePath()
		planning := mode == planmode.ModePlanning
		open := mode == planmode.ModeOff || mode == planmode.ModeExecuting
		for _, tt := range []struct {
			tool string
			args map[string]any
			want bool // while plan mode is active
		}{
			{"read", map[string]any{"path": "a.go"}, true},
			{"grep", map[string]any{"pattern": "x"}, true},
			{"bash", map[string]any{"command": "ls -la"}, true},
			{"bash", map[string]any{"command": "rm -rf ."}, false},
			{"bash", map[string]any{"command": "ls > x"}, false},
			{"bash", map[string]any{"command": 7}, false},
			{"bash", nil, false},
			{"write", map[string]any{"path": "a.go", "content": "x"}, false},
			{"write", map[string]any{"path": file, "content": "x"}, planning},
			{"edit", map[string]any{"path": "a.go", "old_text": "a", "new_text": "b"}, false},
			{"no_such_tool", nil, false},
			{"mcp__any__thing", map[string]any{"x": 1}, false},
			{"read", map[string]any{"path": func() {}}, false},
		} {
			if file == "" && tt.args["path"] == "" {
				continue
			}
			ok, reason := r.FilterToolCall(tt.tool, tt.args)
			if want := tt.want || open; ok != want || ok == (reason != "") {
				t.Errorf("%s: %s %v: %v, %q", mode, tt.tool, tt.args, ok, reason)
			}
		}
	}
}

func names(pm *planmode.PlanMode) []string {
	var out []string
	for _, s := range pm.Tools() {
		out = append(out, s.Name)
	}
	return out
}

func TestExposure(t *testing.T) {
	for _, mode := range modes {
		r := newRig(t).in(mode)
		have := names(r.PlanMode)
		for name, in := range map[string]string{
			"read": "off planning ready reviewing executing", "bash": "off planning ready reviewing executing",
			"write": "off planning executing", "submit_plan": "planning", "request_review": "executing",
			"todo_write": "off planning ready reviewing executing", "ask_user": "off planning ready reviewing executing",
		} {
			want := slices.Contains(strings.Fields(in), string(mode))
			if slices.Contains(have, name) != want {
				t.Errorf("%s: %s offered: %v, want %v", mode, name, !want, want)
			}
		}
		catalogued := []string{}
		for _, set := range r.Catalogue() {
			catalogued = append(catalogued, set.Tools...)
		}
		slices.Sort(catalogued)
		if !slices.Equal(catalogued, have) {
			t.Errorf("%s: the catalogue says %v, the list %v", mode, catalogued, have)
		}
	}
	stable := newRig(t, func(c *planmode.Config) { c.Exposure = planmode.Stable })
	before := names(stable.PlanMode)
	stable.in(planmode.ModePlanning)
	if got := names(stable.PlanMode); !slices.Equal(got, before) || !slices.Contains(got, "write") {
		t.Errorf("the stable list changed from %v to %v", before, got)
	}
	if p := stable.Prompt(); !strings.Contains(p, "only these can succeed now") || strings.Contains(p, "request_review") {
		t.Errorf("the prompt does not say what can succeed: %s", p)
	}
}

// Tools that come or go while planning are neither lost nor brought back, nor free.
func TestToolsComeAndGo(t *testing.T) {
	r := newRig(t).in(planmode.ModePlanning)
	late := tool.New(tool.Spec{Name: "late", Description: "nobody knows"}, func(struct{}) tool.Access { return nil },
		func(context.Context, *tool.Grant, struct{}) (tool.Result, error) {
			t.Error("it ran")
			return tool.Result{}, nil
		})
	if err := r.reg.Register(late); err != nil {
		t.Fatal(err)
	}
	r.reg.Unregister("grep")
	if ok, _ := r.FilterToolCall("late", nil); ok || slices.Contains(names(r.PlanMode), "late") {
		t.Error("a tool that came while planning is allowed or offered")
	}
	if _, err := r.call("late", `{}`); err == nil {
		t.Error("it was allowed")
	}
	r.Exit()
	got := names(r.PlanMode)
	if !slices.Contains(got, "late") || slices.Contains(got, "grep") {
		t.Errorf("after leaving: %v", got)
	}
}

func TestPrompts(t *testing.T) {
	for mode, want := range map[planmode.Mode]string{
		"off": "", "planning": "Plan mode is active", "ready": "a plan is with the user", "reviewing": "a plan is with the user", "executing": planText,
	} {
		r := newRig(t).in(mode)
		p := r.Prompt()
		if !strings.Contains(p, want) || (want == "") != (p == "") {
			t.Errorf("%s: %q", mode, p)
		}
		if (mode == "planning" || mode == "executing") && !strings.Contains(p, r.PlanFilePath()) {
			t.Errorf("%s: the prompt does not name the plan file", mode)
		}
	}
}

// Two sessions in one folder, at the same time, have files of their own.
func TestPlanFilesAreUnique(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			pm := planmode.New(planmode.Config{Registry: tool.NewRegistry(), SessionDir: dir})
			path, err := pm.Enter()
			mu.Lock()
			defer mu.Unlock()
			if err != nil || seen[path] {
				t.Errorf("%q is there twice, or %v", path, err)
			}
			seen[path] = true
		})
	}
	wg.Wait()
}

func TestPlanNameIsFoundAgain(t *testing.T) {
	dir := t.TempDir()
	named := func(name string) *planmode.PlanMode {
		return planmode.New(planmode.Config{Registry: tool.NewRegistry(), PlanDir: dir, PlanName: name})
	}
	first, err := named("s1").Enter()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first, []byte("a draft"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := named("s1").Enter()
	if err != nil || again != first {
		t.Errorf("%q, %v, want %q", again, err, first)
	}
	if text, _ := os.ReadFile(first); string(text) != "a draft" {
		t.Errorf("the draft became %q", text)
	}
	if path, err := named("../../s2").Enter(); err != nil || filepath.Dir(path) != dir {
		t.Errorf("a name leads out of the folder: %q, %v", path, err)
	}
}

// What stands in the plan file's place and is no plain file of a fair size is left alone.
func TestPlanFileInTheWay(t *testing.T) {
	for name, put := range map[string]func(path, elsewhere string) error{
		"missing":  func(string, string) error { return nil },
		"a link":   func(path, elsewhere string) error { return os.Symlink(elsewhere, path) },
		"a folder": func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"too long": func(path, _ string) error {
			return os.WriteFile(path, []byte("1. x\n"+strings.Repeat("y", plan.MaxText)), 0o600)
		},
	} {
		r := newRig(t).in(planmode.ModePlanning)
		path, elsewhere := r.PlanFilePath(), filepath.Join(r.dir, "elsewhere.md")
		if err := os.WriteFile(elsewhere, []byte(planText), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(path), put(path, elsewhere)); err != nil {
			t.Fatal(err)
		}
		if res, err := r.call("submit_plan", `{}`); err == nil && !res.IsError {
			t.Errorf("%s: submitted: %+v", name, res)
		}
		if _, err := planmode.Review(t.Context(), planmode.ReviewConfig{}, path, nil); err == nil {
			t.Errorf("%s: reviewed", name)
		}
		if res, err := r.call("write", `{"path":"`+path+`","content":"x"}`); name == "a link" && err == nil && !res.IsError {
			t.Error("the model wrote through the link")
		}
		r.submit()
		if text, _ := os.ReadFile(elsewhere); string(text) != planText {
			t.Errorf("%s: what lies elsewhere became %q", name, text)
		}
		if (name == "a link" || name == "a folder") && len(r.reports) == 0 {
			t.Errorf("%s: nothing was reported", name)
		}
		if r.Mode() != planmode.ModeReady {
			t.Errorf("%s: the plan itself is lost: %s", name, r.Mode())
		}
	}
}

// The record comes first: what cannot be recorded does not happen.
func TestRecordFails(t *testing.T) {
	r := newRig(t, func(c *planmode.Config) {
		c.Record = func(ev plan.Event) error {
			if _, ok := ev.(plan.Leave); ok {
				return errors.New("disk full")
			}
			return nil
		}
	}).in(planmode.ModePlanning)
	r.Exit()
	if r.Mode() != planmode.ModePlanning || len(r.changes) != 0 || len(r.reports) != 1 || !strings.Contains(r.reports[0].Error(), "disk full") {
		t.Errorf("mode %s, changes %v, reports %v", r.Mode(), r.changes, r.reports)
	}
}

// Everything at once, for the race detector; the mode is some mode at the end.
func TestConcurrentUse(t *testing.T) {
	pm := newRig(t).PlanMode
	pm.SetOnChange(nil)
	var wg sync.WaitGroup
	for _, f := range []func(){
		func() { _, _ = pm.Enter() },
		pm.Exit,
		func() { _ = pm.ByModel(plan.Submit{Text: planText}) },
		func() { n, _ := pm.State().Newest(); _ = pm.ByUser(plan.Approve{Digest: n.Digest}) },
		func() { pm.Tools(); pm.Catalogue(); pm.Prompt() },
		func() { pm.FilterToolCall("write", map[string]any{"path": "x", "content": "y"}) },
		func() { pm.RestoreState(pm.SaveState()); pm.ApplyRestoredState() },
		func() { pm.OnPlanSubmitted(); pm.PlanFilePath(); pm.Mode() },
	} {
		wg.Go(func() {
			for range 15 {
				f()
			}
		})
	}
	wg.Wait()
	if !slices.Contains(modes, pm.Mode()) {
		t.Errorf("mode %q", pm.Mode())
	}
}
