package plan

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// The texts of the tests.
const (
	first  = "# First\n\n1. One\n2. Two\n"
	second = "# Second\n\n- [ ] Other\n"
)

// at is the time of every event in the tests: the machine only copies it.
var at = Stamp{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Surface: TUI}

// fold steps through the events, which must all be legal.
func fold(t testing.TB, events ...Event) State {
	t.Helper()
	var s State
	for _, ev := range events {
		var err error
		if s, _, err = Step(s, ev); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

var (
	startOff  = Start{at, Off, Off}
	startPlan = Start{at, Planning, Off}
	submit    = Submit{Stamp: at, Text: first}
	approve   = Approve{at, DigestOf(first), Execute, ""}
)

// histories lead to every mode, and in some of them by more than one way that the next event can tell apart.
var histories = []struct {
	name   string
	events []Event
}{
	{"new", nil},
	{"off", []Event{startOff}},
	{"off, left a plan", []Event{startPlan, submit, Leave{at}}},
	{"off, left an execution", []Event{startPlan, submit, approve, Leave{at}}},
	{"off, done", []Event{startPlan, submit, approve, AllStepsDone{at}}},
	{"planning", []Event{startPlan}},
	{"planning, plan asked about", []Event{startPlan, submit, Prompt{at}}},
	{"planning, plan rejected", []Event{startPlan, submit, Reject{at, "no"}}},
	{"planning, after an execution", []Event{startPlan, submit, approve, Enter{at}}},
	{"planning, done", []Event{Start{at, Planning, Planning}, submit, approve, AllStepsDone{at}}},
	{"ready", []Event{startPlan, submit}},
	{"ready, reviewed", []Event{startPlan, submit, StartReview{at}, ReviewDone{at, false, "hm"}}},
	{"reviewing", []Event{startPlan, submit, StartReview{at}}},
	{"executing", []Event{startPlan, submit, approve}},
	{"executing, back to planning", []Event{Start{at, Off, Planning}, Enter{at}, submit, approve}},
}

// variants are every event, and those forms of it that the machine tells apart.
var variants = []struct {
	name  string
	event Event
}{
	{"start off", startOff},
	{"start planning", startPlan},
	{"start executing", Start{at, Executing, Off}},
	{"start, then ready", Start{at, Off, Ready}},
	{"enter", Enter{at}},
	{"prompt", Prompt{at}},
	{"submit", submit},
	{"submit another", Submit{Stamp: at, Text: second}},
	{"submit nothing", Submit{Stamp: at, Text: " \n"}},
	{"submit prose", Submit{Stamp: at, Text: "Just do it.\n"}},
	{"edit", Edit{at, second}},
	{"edit to nothing", Edit{at, ""}},
	{"reject", Reject{at, "why"}},
	{"start_review", StartReview{at}},
	{"review_done", ReviewDone{at, true, "fine"}},
	{"cancel_review", CancelReview{at}},
	{"restarted", Restarted{at}},
	{"approve", approve},
	{"approve, fresh, with a note", Approve{at, DigestOf(first), Fresh, "gently"}},
	{"approve another text", Approve{at, DigestOf(second), Execute, ""}},
	{"approve no digest", Approve{at, "", Execute, ""}},
	{"approve in an unknown way", Approve{at, DigestOf(first), "yolo", ""}},
	{"leave", Leave{at}},
	{"all_steps_done", AllStepsDone{at}},
	{"pointer to approve", &approve},
	{"nothing", nil},
}

// TestTransitions writes every event in every history down. The file is for reading a change of the machine in
// a diff; TestDesign says what must be.
func TestTransitions(t *testing.T) {
	var b bytes.Buffer
	fmt.Fprintln(&b, "# Every event in every mode: what it leads to. Written by go test ./plan -run TestTransitions -update")
	for _, h := range histories {
		s := fold(t, h.events...)
		fmt.Fprintf(&b, "\n== %s: %s, epoch %d\n", h.name, s.Mode(), s.Epoch())
		for _, v := range variants {
			fmt.Fprintf(&b, "%-28s %s\n", v.name, outcome(s, v.event))
		}
	}
	path := filepath.Join("testdata", "transitions.golden")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, wants := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(wants)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(wants) {
			w = wants[i]
		}
		if g != w {
			t.Fatalf("line %d:\ngot  %s\nwant %s\nrun with -update and read the diff if this is meant", i+1, g, w)
		}
	}
}

// outcome writes a step on one line.
func outcome(s State, ev Event) string {
	next, effects, err := Step(s, ev)
	if err != nil {
		return "error: " + err.Error()
	}
	out := []string{next.Mode().String()}
	if next.Epoch() != s.Epoch() {
		out = append(out, fmt.Sprintf("epoch %d", next.Epoch()))
	}
	for _, e := range effects {
		switch e := e.(type) {
		case ModeChanged:
			out = append(out, fmt.Sprintf("ModeChanged(%s→%s by %s)", e.From, e.To, e.Cause))
		case RevisionAdded:
			out = append(out, fmt.Sprintf("RevisionAdded(%d of plan %d by %s)", e.Revision.Number, e.Revision.Plan, e.Revision.Author))
		case RevisionChanged:
			out = append(out, fmt.Sprintf("RevisionChanged(%d %s %q)", e.Revision.Number, e.Revision.Status, e.Revision.Feedback))
		case ExecutionDue:
			out = append(out, fmt.Sprintf("ExecutionDue(%d %q %q)", e.Revision.Number, string(e.How), e.Note))
		case TodosDue:
			out = append(out, fmt.Sprintf("TodosDue(%d)", len(e.Steps)))
		case TodosClosed, NoticeDue:
			out = append(out, reflect.TypeOf(e).Name())
		default:
			out = append(out, fmt.Sprintf("unknown effect %T", e))
		}
	}
	return strings.Join(out, ", ")
}

// TestDesign holds the table of transitions row by row: each row's modes lead where it says, and every
// pair of a mode and an event that no row names is an error that names both and changes nothing.
func TestDesign(t *testing.T) {
	byMode := map[Mode]State{}
	for _, h := range histories {
		switch h.name {
		case "off", "planning", "ready", "reviewing", "executing":
			s := fold(t, h.events...)
			if s.Mode().String() != h.name {
				t.Fatalf("%s leads to %s", h.name, s.Mode())
			}
			byMode[s.Mode()] = s
		}
	}
	legal := map[string]bool{}
	row := func(to Mode, ev Event, from ...Mode) {
		t.Helper()
		for _, m := range from {
			legal[m.String()+" "+EventName(ev)] = true
			s, _, err := Step(byMode[m], ev)
			if err != nil || s.Mode() != to {
				t.Errorf("%s, %s: got %s, %v, want %s", m, EventName(ev), s.Mode(), err, to)
			}
		}
	}
	same := func(ev Event, modes ...Mode) {
		t.Helper()
		for _, m := range modes {
			row(m, ev, m)
		}
	}
	row(Planning, Enter{at}, Off, Executing)
	same(Enter{at}, Planning, Ready, Reviewing)
	row(Ready, submit, Planning)
	row(Ready, Edit{at, second}, Planning, Ready)
	row(Planning, Prompt{at}, Ready)
	same(Prompt{at}, Off, Planning, Executing) // writing to the model is always possible but in a review
	row(Planning, Reject{at, "why"}, Ready)
	row(Reviewing, StartReview{at}, Ready)
	row(Ready, ReviewDone{at, true, ""}, Reviewing)
	row(Ready, CancelReview{at}, Reviewing)
	row(Ready, Restarted{at}, Reviewing)
	row(Executing, approve, Ready)
	row(Off, Leave{at}, Planning, Ready, Reviewing, Executing)
	row(Off, AllStepsDone{at}, Executing)

	asked := fold(t, startPlan, submit, Prompt{at})
	if s, _, err := Step(asked, approve); err != nil || s.Mode() != Executing {
		t.Errorf("planning, approve of the newest revision: %s, %v", s.Mode(), err)
	}
	if s, _, err := Step(fold(t, Start{at, Off, Planning}, Enter{at}, submit, approve), AllStepsDone{at}); err != nil || s.Mode() != Planning {
		t.Errorf("executing, all steps done, where the user set planning: %s, %v", s.Mode(), err)
	}
	for _, mode := range []Mode{Off, Planning} {
		if s, _, err := Step(State{}, Start{at, mode, Off}); err != nil || s.Mode() != mode {
			t.Errorf("start %s: %s, %v", mode, s.Mode(), err)
		}
	}

	for _, m := range Modes() {
		for _, v := range variants {
			if v.event == nil || legal[m.String()+" "+EventName(v.event)] {
				continue
			}
			s := byMode[m]
			next, effects, err := Step(s, v.event)
			var illegal *TransitionError
			if !errors.As(err, &illegal) || illegal.Mode != m || illegal.Event != EventName(v.event) {
				t.Errorf("%s, %s: error %v", m, v.name, err)
				continue
			}
			if effects != nil || !reflect.DeepEqual(next, s) {
				t.Errorf("%s, %s: an error changed the state or has effects %v", m, v.name, effects)
			}
			if !strings.Contains(err.Error(), strings.ReplaceAll(EventName(v.event), "_", " ")) || !strings.Contains(err.Error(), modePhrase[m]) {
				t.Errorf("%s, %s: the error does not name both: %v", m, v.name, err)
			}
		}
	}
}

// What each row does besides changing the mode.
func TestEffects(t *testing.T) {
	next := func(t *testing.T, s State, ev Event) (State, []Effect) {
		t.Helper()
		s, effects, err := Step(s, ev)
		if err != nil {
			t.Fatal(err)
		}
		return s, effects
	}
	ready := fold(t, startPlan, submit)
	t.Run("submit", func(t *testing.T) {
		s, effects := next(t, fold(t, startPlan), submit)
		r, ok := s.Newest()
		want := Revision{
			Number: 1, Plan: 1, Digest: DigestOf(first), Title: "First", Text: first, Author: ByModel, At: at.At, Status: Submitted,
		}
		if !ok || r != want {
			t.Errorf("revision %+v, want %+v", r, want)
		}
		if !reflect.DeepEqual(effects, []Effect{ModeChanged{Planning, Ready, "submit"}, RevisionAdded{want}}) {
			t.Errorf("effects %+v", effects)
		}
	})
	t.Run("edit supersedes", func(t *testing.T) {
		s, _ := next(t, ready, Edit{at, second})
		all := s.Revisions()
		if len(all) != 2 || all[0].Status != Superseded || all[1].Status != Submitted || all[1].Author != ByUser || all[1].Plan != 1 {
			t.Errorf("revisions %+v", all)
		}
	})
	t.Run("approve", func(t *testing.T) {
		s, effects := next(t, ready, Approve{at, DigestOf(first), Compact, "gently"})
		r, ok := s.Approved()
		if how, note := s.Instructions(); !ok || r.Status != Approved || how != Compact || note != "gently" {
			t.Errorf("approved %+v, %v, %q, %q", r, ok, how, note)
		}
		want := []Effect{
			ModeChanged{Ready, Executing, "approve"},
			RevisionChanged{r},
			TodosDue{StepsOf(first)},
			ExecutionDue{r, Compact, "gently"},
		}
		if !reflect.DeepEqual(effects, want) {
			t.Errorf("effects %+v, want %+v", effects, want)
		}
		if r.Text != first {
			t.Errorf("the text is not exactly the submitted one: %q", r.Text)
		}
	})
	t.Run("the rejected text again", func(t *testing.T) {
		s, _ := next(t, ready, Reject{at, "why"})
		if r := s.Revisions()[0]; r.Status != Rejected || r.Feedback != "why" {
			t.Errorf("revision %+v", r)
		}
		if _, _, err := Step(s, Submit{Stamp: at, Text: strings.ReplaceAll(first, "\n", "\r\n") + "\n"}); !errors.Is(err, ErrUnchanged) {
			t.Errorf("the model may hand the rejected text in again: %v", err)
		}
		if _, _, err := Step(s, Edit{at, first}); err != nil {
			t.Errorf("the user may not take a rejected text up again: %v", err)
		}
	})
	t.Run("review", func(t *testing.T) {
		s, effects := next(t, ready, StartReview{at})
		if s.Rounds() != 1 || len(effects) != 1 {
			t.Errorf("%d rounds, effects %v", s.Rounds(), effects)
		}
		s, _ = next(t, s, ReviewDone{at, false, "thin"})
		if r, _ := s.Newest(); r.Status != Submitted || r.Feedback != "thin" {
			t.Errorf("a verdict decided something: %+v", r)
		}
	})
	t.Run("notice after leaving, once", func(t *testing.T) {
		s, _ := next(t, ready, Leave{at})
		if !s.NoticePending() {
			t.Error("no notice is pending")
		}
		s, effects := next(t, s, Prompt{at})
		if !reflect.DeepEqual(effects, []Effect{NoticeDue{}}) || s.NoticePending() {
			t.Errorf("effects %v", effects)
		}
		if _, effects = next(t, s, Prompt{at}); effects != nil {
			t.Errorf("a second notice: %v", effects)
		}
		s, _ = next(t, ready, Leave{at})
		s, _ = next(t, s, Enter{at})
		if _, effects = next(t, s, Prompt{at}); effects != nil {
			t.Errorf("a notice in plan mode: %v", effects)
		}
	})
	t.Run("todos are closed with an execution", func(t *testing.T) {
		executing := fold(t, startPlan, submit, approve)
		for _, ev := range []Event{Leave{at}, Enter{at}} {
			if s, effects := next(t, executing, ev); !slices.Contains(effects, Effect(TodosClosed{})) || s.approved != 0 {
				t.Errorf("%s: effects %v", EventName(ev), effects)
			}
		}
		if s, _ := next(t, executing, AllStepsDone{at}); s.Revisions()[0].Status != Done {
			t.Errorf("revision %+v", s.Revisions()[0])
		}
	})
	t.Run("a new plan after an execution", func(t *testing.T) {
		for _, events := range [][]Event{{Enter{at}}, {Leave{at}, Enter{at}}, {AllStepsDone{at}, Enter{at}}} {
			s := fold(t, append([]Event{startPlan, submit, StartReview{at}, CancelReview{at}, approve}, events...)...)
			if _, ok := s.Newest(); ok || s.Plan() != 2 || s.Rounds() != 0 {
				t.Errorf("plan %d, %d rounds, newest %v", s.Plan(), s.Rounds(), ok)
			}
			if _, _, err := Step(s, approve); !errors.Is(err, ErrNoPlan) {
				t.Errorf("an old plan can be approved again: %v", err)
			}
			s, _ = next(t, s, submit)
			if r, ok := s.Newest(); !ok || r.Plan != 2 || r.Number != 2 {
				t.Errorf("revision %+v", r)
			}
		}
	})
	t.Run("an unfinished plan is taken up again", func(t *testing.T) {
		s := fold(t, startPlan, submit, Leave{at}, Enter{at})
		if r, ok := s.Newest(); !ok || r.Status != Submitted || s.Plan() != 1 {
			t.Errorf("plan %d, newest %+v, %v", s.Plan(), r, ok)
		}
		if s, _ := next(t, s, approve); s.Mode() != Executing {
			t.Errorf("mode %s", s.Mode())
		}
	})
}

func TestZeroState(t *testing.T) {
	var s State
	if s.Mode() != Planning || !s.ReadOnly() || s.Epoch() != 0 || s.Plan() != 1 || s.NoticePending() || s.Started() || s.Revisions() != nil {
		t.Errorf("zero state %+v", s)
	}
	if _, ok := s.Newest(); ok {
		t.Error("a plan in nothing")
	}
	if _, ok := s.Approved(); ok {
		t.Error("an approval in nothing")
	}
}

// Start is the first event or none: later, it would forget what is being executed or open a mode that a plan waits in.
func TestStartComesFirst(t *testing.T) {
	for _, h := range histories[1:] {
		s := fold(t, h.events...)
		s.started = false // as if the first event had been lost
		if got, _, err := Step(s, startOff); err == nil && (s.Mode() != Planning || len(s.revisions) > 0) {
			t.Errorf("%s: Start led to %s", h.name, got.Mode())
		}
	}
}

func TestFind(t *testing.T) {
	s := fold(t, startPlan, submit, Edit{at, second}, Edit{at, first})
	d1, d2 := DigestOf(first), DigestOf(second)
	for word, want := range map[string]int{
		"1": 1, "2": 2, "3": 3, string(d2): 2, d2.Short(): 2, "sha256:" + d2.Short(): 2, d2.Short()[:6]: 2, d1.Short(): 3,
		"": 0, "4": 0, "0": 0, d2.Short()[:5]: 0, "sha256:": 0, "zzzzzz": 0,
	} {
		if r, ok := s.Find(word); ok != (want > 0) || r.Number != want {
			t.Errorf("Find(%q): %d, %v, want %d", word, r.Number, ok, want)
		}
	}
}

func TestTransitionErrorOfNoMode(t *testing.T) {
	err := &TransitionError{Mode: 99, Event: "approve"}
	if got := err.Error(); got != "plan: approve is not possible while planning" {
		t.Errorf("got %q", got)
	}
}
