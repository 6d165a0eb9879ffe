package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var planText = rapid.SampledFrom([]string{first, second, "1. a\n", "1. a\r\n", "\ufeff1. a", "- [x] b\n- [ ] c\n", "", "prose\n", "1. \x1b[2J\n"})

// anyEvent draws an event of any author. Digests are often the right one, and often not.
func anyEvent(t *rapid.T, s State) Event {
	st := Stamp{At: time.Unix(int64(rapid.IntRange(0, 9).Draw(t, "time")), 0).UTC(), Surface: TUI}
	text := planText.Draw(t, "text")
	digest := DigestOf(text)
	if r, ok := s.Newest(); ok && rapid.Bool().Draw(t, "newest") {
		digest = r.Digest
	}
	mode := rapid.SampledFrom(Modes())
	how := rapid.SampledFrom([]How{Execute, Compact, Fresh, "yolo"}).Draw(t, "how")
	return rapid.SampledFrom([]Event{
		Start{st, mode.Draw(t, "mode"), mode.Draw(t, "after")},
		Enter{st},
		Prompt{st},
		Reject{st, "no"},
		Edit{st, text},
		StartReview{st},
		CancelReview{st},
		Approve{st, digest, how, "note"},
		Leave{st},
		Submit{Stamp: st, Text: text},
		ReviewDone{st, true, "ok"},
		Restarted{st},
		AllStepsDone{st},
	}).Draw(t, "event")
}

// snapshot is everything that a holder of a state can see.
func snapshot(s State) string {
	newest, hasNewest := s.Newest()
	approved, hasApproved := s.Approved()
	how, note := s.Instructions()
	data, err := json.Marshal([]any{
		s.Mode(), s.Epoch(), s.Revisions(), newest, hasNewest, approved, hasApproved, how, note, s.Plan(), s.Rounds(), s.NoticePending(), s.Started(),
	})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestPromises walks at random and holds after each step what the package promises of any.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var states []State
		var seen []string
		s := State{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			states, seen = append(states, s), append(seen, snapshot(s))
			ev := anyEvent(t, s)
			next, effects, err := Step(s, ev)
			if err != nil {
				var illegal *TransitionError
				if !errors.As(err, &illegal) || illegal.Mode != s.Mode() || illegal.Event != EventName(ev) || effects != nil {
					t.Fatalf("%v: error %v with effects %v", ev, err, effects)
				}
				if !reflect.DeepEqual(next, s) {
					t.Fatalf("%v changed the state and failed with %v", ev, err)
				}
				continue
			}
			holdsAuthority(t, s, next, ev)
			holdsEpoch(t, s, next, effects)
			holdsShape(t, next)
			s = next
		}
		// A state is a value: what came later has not changed those that came before.
		for i, old := range states {
			if got := snapshot(old); got != seen[i] {
				t.Fatalf("state %d was\n%s\nand is\n%s", i, seen[i], got)
			}
		}
	})
}

// holdsAuthority: only a user's event, or an execution that ends, leads to a mode that may change things.
func holdsAuthority(t *rapid.T, s, next State, ev Event) {
	_, user := ev.(UserEvent)
	if !next.ReadOnly() && next.Mode() != s.Mode() {
		_, done := ev.(AllStepsDone)
		if !user && (!done || s.Mode() != Executing || next.Mode() != Off) {
			t.Fatalf("%s led from %s to %s", EventName(ev), s.Mode(), next.Mode())
		}
	}
	if a, ok := ev.(Approve); ok {
		newest, has := s.Newest()
		if !has || a.Digest != newest.Digest || newest.Plan != s.Plan() {
			t.Fatalf("approved %s; the newest is %s, %v", a.Digest, newest.Digest, has)
		}
		if got, ok := next.Approved(); !ok || got.Digest != a.Digest || got.Text != newest.Text || got.Status != Approved {
			t.Fatalf("executes %+v", got)
		}
	} else if next.Mode() == Executing && s.Mode() != Executing {
		t.Fatalf("%s led to executing", EventName(ev))
	}
	if _, model := ev.(ModelEvent); model && !next.ReadOnly() {
		t.Fatalf("after a model's event %s", next.Mode())
	}
}

// holdsEpoch: it changes exactly with what may be done, which is a matter of read-only or not and of the
// approval; and it never goes back. A change of the mode is told, first.
func holdsEpoch(t *rapid.T, s, next State, effects []Effect) {
	before, _ := s.Approved()
	after, _ := next.Approved()
	ceiling := s.ReadOnly() != next.ReadOnly() || before.Number != after.Number
	want := s.Epoch()
	if ceiling {
		want++
	}
	if next.Epoch() != want {
		t.Fatalf("%s to %s: epoch %d to %d", s.Mode(), next.Mode(), s.Epoch(), next.Epoch())
	}
	told := 0
	for i, e := range effects {
		if m, ok := e.(ModeChanged); ok {
			if told++; i > 0 || m.From != s.Mode() || m.To != next.Mode() {
				t.Fatalf("effect %d is %v, from %s to %s", i, m, s.Mode(), next.Mode())
			}
		}
	}
	if changed := s.Mode() != next.Mode(); changed != (told == 1) || told > 1 {
		t.Fatalf("%s to %s was told %d times", s.Mode(), next.Mode(), told)
	}
}

// holdsShape: the invariants of a state by itself.
func holdsShape(t *rapid.T, s State) {
	if _, ok := s.Approved(); ok != (s.Mode() == Executing) || (s.approved != 0) != ok {
		t.Fatalf("approved %d while %s", s.approved, s.Mode())
	}
	if _, ok := s.Newest(); !ok && (s.Mode() == Ready || s.Mode() == Reviewing) {
		t.Fatalf("%s without a plan", s.Mode())
	}
	open := 0
	for i, r := range s.Revisions() {
		if r.Number != i+1 || r.Plan < 1 || r.Plan > s.Plan() || r.Digest != DigestOf(r.Text) || Normalize(r.Text) != r.Text || Check(r.Text) != nil {
			t.Fatalf("revision %+v", r)
		}
		if r.Status == Submitted || r.Status == Approved && s.Mode() == Executing && s.approved == r.Number {
			open++
		}
	}
	if open > 1 {
		t.Fatalf("%d open revisions: %+v", open, s.Revisions())
	}
}

// TestReplay: the events alone are the session. Their JSON, read back and folded again, gives the same state.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s, replayed State
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			ev := anyEvent(t, s)
			data, err := json.Marshal(ev)
			if err != nil {
				t.Fatal(err)
			}
			back, err := DecodeEvent(EventName(ev), data)
			if err != nil || !reflect.DeepEqual(back, ev) {
				t.Fatalf("%+v became %s became %+v, %v", ev, data, back, err)
			}
			var err1, err2 error
			s, _, err1 = Step(s, ev)
			replayed, _, err2 = Step(replayed, back)
			if (err1 == nil) != (err2 == nil) || snapshot(s) != snapshot(replayed) {
				t.Fatalf("%v, %v", err1, err2)
			}
		}
	})
}

// TestRevisionsAreTheHolders: what a holder does to a slice that it was given does not reach the state.
func TestRevisionsAreTheHolders(t *testing.T) {
	s := fold(t, startPlan, submit, Edit{at, second})
	before := snapshot(s)
	all := s.Revisions()
	all[0].Text = "changed"
	_ = append(all[:1], Revision{Text: "changed"})
	_, effects, err := Step(s, Approve{at, DigestOf(second), Execute, ""})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range effects {
		if e, ok := e.(TodosDue); ok {
			e.Steps[0].Text = "changed"
		}
	}
	if snapshot(s) != before {
		t.Error("a holder changed the state")
	}
	// Two futures of one state do not see each other.
	a, _, err := Step(s, Edit{at, "1. a\n"})
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := Step(s, Edit{at, "1. b\n"})
	if err != nil {
		t.Fatal(err)
	}
	ra, _ := a.Newest()
	rb, _ := b.Newest()
	if ra.Text != "1. a\n" || rb.Text != "1. b\n" || !slices.Equal(a.Revisions()[:2], b.Revisions()[:2]) {
		t.Errorf("futures %q and %q", ra.Text, rb.Text)
	}
}

// TestFuturesShareNoMemory: two events in one state must not write into the same spare room behind a slice, whatever room
// the runtime left there.
func TestFuturesShareNoMemory(t *testing.T) {
	s := fold(t, startPlan)
	for n := range 50 {
		s = mustStep(t, mustStep(t, s, Submit{Stamp: at, Text: fmt.Sprintf("1. step %d\n", n)}), Reject{at, "no"})
		a, b := mustStep(t, s, Submit{Stamp: at, Text: "1. a\n"}), mustStep(t, s, Submit{Stamp: at, Text: "1. b\n"})
		ra, _ := a.Newest()
		rb, _ := b.Newest()
		if ra.Text != "1. a\n" || rb.Text != "1. b\n" {
			t.Fatalf("after %d plans the futures are %q and %q", n+1, ra.Text, rb.Text)
		}
	}
}

func mustStep(t testing.TB, s State, ev Event) State {
	t.Helper()
	next, _, err := Step(s, ev)
	if err != nil {
		t.Fatal(err)
	}
	return next
}
