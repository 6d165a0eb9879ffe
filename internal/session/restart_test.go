package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
)

// brain is a model that decides by what it is shown, as a real one does: it can take up any session at
// any point. It plans two files, and executes what it finds undone.
func brain(_ context.Context, req llm.Request) (llm.Response, error) {
	text := textOf(req)
	id := fmt.Sprintf("c%d", len(req.Messages))
	switch {
	case req.System == compactSystem:
		return says("the user wants two files"), nil
	case strings.Contains(req.System, "You review a plan"):
		return calls(id, `verdict {"approved":true,"summary":"fine"}`), nil
	case strings.HasPrefix(text, "user: look for me"):
		return says("the sub-agent saw nothing"), nil
	}
	planning := strings.LastIndex(text, "# Plan mode is active\n")
	executing := strings.LastIndex(text, "<approved_plan")
	over := strings.LastIndex(text, "Plan mode is over")
	switch max(planning, executing, over) {
	case planning:
		return brainPlans(id, text), nil
	case executing:
		return brainWorks(id, text[executing:]), nil
	}
	return says("hello"), nil
}

func brainPlans(id, text string) llm.Response {
	since := text
	rejected := strings.LastIndex(text, "The plan was not approved")
	if rejected >= 0 {
		since = text[rejected:]
	}
	switch {
	case !strings.Contains(text, "call: look"):
		return calls(id, "look", "look", `write {"path":"a.txt","content":"too early"}`, `task {"prompt":"look for me"}`)
	case !strings.Contains(text, "call: ask_user"):
		return calls(id, `ask_user {"questions":[{"question":"Which files?"}]}`)
	case !strings.Contains(since, "is recorded and with the user") && rejected >= 0:
		return calls(id, submit(planText+"3. Check them\n"))
	case !strings.Contains(since, "is recorded and with the user"):
		return calls(id, submit(planText))
	}
	return says("the plan is with you")
}

// brainWorks does each step once; a call of which it is told that it may have run is not made again.
func brainWorks(id, since string) llm.Response {
	for _, f := range []string{"a.txt", "b.txt"} {
		call := fmt.Sprintf(`write {"path":"%s","content":"x"}`, f)
		tried, untouched := strings.Count(since, "call: "+call), 0
		for rest := since; ; { // of those, the ones that did not happen
			i := strings.Index(rest, "call: "+call)
			if i < 0 {
				break
			}
			rest = rest[i+1:]
			result := rest
			if j := strings.Index(rest, "result: "); j >= 0 {
				result = rest[j:]
			}
			line, _, _ := strings.Cut(result, "\n")
			if strings.Contains(line, "nothing happened") || strings.Contains(line, "not run") {
				untouched++
			}
		}
		if tried == untouched {
			return calls(id, call)
		}
	}
	if !strings.Contains(since, `"completed":2`) {
		return calls(id, `todo_write {"todos":[{"content":"a","status":"completed"},{"content":"b","status":"completed"}]}`)
	}
	return says("both are written")
}

// wholeSession plays a session with a bit of everything and returns its journal.
func wholeSession(t *testing.T) *rig {
	r := newRig(t, brain)
	stop := r.attend(yes)
	defer stop()
	r.do(Prompt{Text: "I want two files"})
	r.wantMode(plan.Ready)
	r.do(Change{Settings{Title: "Two files"}})
	r.do(Prompt{Text: "/plan reject check them too"})
	r.wantMode(plan.Ready)
	r.do(Step{plan.StartReview{}})
	r.wantMode(plan.Ready)
	newest, _ := r.s.PlanMode().State().Newest()
	r.do(Step{plan.Approve{Digest: newest.Digest, How: plan.Compact, Note: "be quick"}})
	r.wantMode(plan.Off)
	r.do(Prompt{Text: "and now?"})
	want := []string{"look", "look", "write a.txt", "write b.txt"}
	if got := r.took(); !slices.Equal(got, want) {
		t.Fatalf("ran %q, want %q", got, want)
	}
	return r
}

// foldRaw is the mode by the lines' own words, without this package's reading of them.
func foldRaw(lines [][]byte) plan.Mode {
	var st plan.State
	for _, line := range lines {
		var j struct {
			Type string
			Data json.RawMessage
		}
		if json.Unmarshal(line, &j) != nil {
			continue
		}
		if name, ok := strings.CutPrefix(j.Type, "plan."); ok {
			if ev, err := plan.DecodeEvent(name, j.Data); err == nil {
				st, _, _ = plan.Step(st, ev)
			}
		}
	}
	return st.Mode()
}

func TestEveryPrefix(t *testing.T) {
	full := wholeSession(t)
	full.s.Close()
	lines := full.journal.all()
	t.Logf("%d lines", len(lines))
	for cut := 1; cut <= len(lines); cut++ {
		kind := entriesOf(t, lines[cut-1:cut])[0].Event.event()
		t.Run(fmt.Sprintf("%d-%s", cut, kind), func(t *testing.T) { goOn(t, lines[:cut:cut], lines[:cut:cut]) })
		if cut == len(lines) {
			continue
		}
		for _, share := range []int{3, 2} { // the line after it, torn
			torn := lines[cut][:len(lines[cut])/share]
			t.Run(fmt.Sprintf("%d-torn-%d", cut, share), func(t *testing.T) {
				goOn(t, append(slices.Clone(lines[:cut]), torn), lines[:cut:cut])
			})
		}
	}
}

// goOn opens a session that was cut off and brings it to its end.
func goOn(t *testing.T, lines, whole [][]byte) {
	r := newRig(t, brain)
	r.s.Close()
	r.journal = newMemory(lines...)
	r.open(lines)
	if got := r.journal.all(); len(got) != len(lines) {
		t.Fatalf("opening wrote %s", got[len(lines):])
	}
	want := foldRaw(whole)
	if got := r.s.Status().Mode; want.ReadOnly() && !got.ReadOnly() || got == plan.Executing && want == plan.Off {
		t.Fatalf("the mode was %s and is %s", want, got)
	}
	if len(whole) < len(lines) && !want.ReadOnly() {
		r.wantMode(plan.Planning) // the torn line may have been the one that forbids
		r.bringToEnd()            // on a plan of its own
		r.wantConversation()
		return
	}
	allowed := map[string]bool{}
	for _, e := range entriesOf(t, whole) {
		if ev, ok := e.Event.(Answered); ok {
			for _, c := range ev.Message.Calls() {
				allowed["ID "+c.ID] = strings.Contains(string(c.Input), "a.txt")
			}
		}
		if ev, ok := e.Event.(CallAllowed); ok && ev.Tool == "write" {
			name := "write b.txt"
			if allowed["ID "+ev.CallID] {
				name = "write a.txt"
			}
			allowed[name] = true
		}
	}
	r.bringToEnd()
	ran := r.took()
	for _, step := range []string{"write a.txt", "write b.txt"} {
		n := 0
		for _, what := range ran {
			if what == step {
				n++
			}
		}
		switch {
		case allowed[step] && n > 0:
			t.Errorf("%s had been allowed before, and ran again", step)
		case !allowed[step] && n != 1:
			t.Errorf("%s ran %d times", step, n)
		}
	}
	r.wantConversation()
}

// bringToEnd does what a user would.
func (r *rig) bringToEnd() {
	r.Helper()
	stop := r.attend(yes)
	defer stop()
	for range 12 {
		before := r.s.Status()
		if _, err := r.try(Resume{}); err == nil {
			r.wait()
		} else if !errors.Is(err, ErrUsage) {
			r.Fatal(err)
		}
		switch st := r.s.PlanMode().State(); st.Mode() {
		case plan.Off:
			return
		case plan.Ready:
			newest, _ := st.Newest()
			r.do(Step{plan.Approve{Digest: newest.Digest}})
		case plan.Planning, plan.Executing, plan.Reviewing:
			if after := r.s.Status(); after.Mode == before.Mode && after.Turns == before.Turns {
				r.do(Prompt{Text: "go on, please"})
			}
		}
	}
	r.Fatalf("the session does not come to an end: %s", r.s.Status().Mode)
}

// wantConversation holds that every call in what the model is shown has exactly one result, and that the
// turns on the journal are closed.
func (r *rig) wantConversation() {
	r.Helper()
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	open := map[string]bool{}
	for _, m := range r.s.t.messages {
		if m.Role == llm.RoleAssistant {
			for id := range open {
				r.Errorf("the call %s has no result before the next message", id)
			}
			clear(open)
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				open[p.ID] = true
			case llm.ToolResult:
				if !open[p.CallID] {
					r.Errorf("the result of %s belongs to no open call", p.CallID)
				}
				delete(open, p.CallID)
			case llm.Text, llm.Image, llm.Thinking:
			}
		}
	}
	if r.s.t.running || len(r.s.t.open) > 0 || len(r.s.t.asks) > 0 {
		r.Errorf("running %v, open %v, asks %v", r.s.t.running, r.s.t.open, r.s.t.asks)
	}
}
