package plan

import (
	"fmt"
	"slices"
	"strings"
)

// A State is what a session's events have made of it. It is a value: [Step] returns a new one and
// leaves the old one as it was. The zero value is [Planning] with no plan.
type State struct {
	// mode is Off or Executing only if a UserEvent was folded that leads there.
	mode    Mode
	started bool
	// epoch counts the changes of what may be done; a permission belongs to one epoch.
	epoch     uint64
	plan      int // number of the plan being made; 0 before the first submission
	revisions []Revision
	approved  int // number of the revision being executed; 0 unless Executing
	how       How
	note      string
	rounds    int // reviews of the present plan
	afterDone Mode
	leftPlan  bool // the next prompt carries the notice that plan restrictions are over
}

// An Effect is what a host must do after a step: [ModeChanged], [RevisionAdded], [RevisionChanged],
// [ExecutionDue], [TodosDue], [TodosClosed] or [NoticeDue].
type Effect interface{ effect() }

type (
	// ModeChanged: tell every screen. Permissions asked for under the old mode are void if the two
	// differ in [Mode.ReadOnly].
	ModeChanged struct {
		From, To Mode
		Cause    string // the event's name
	}
	// RevisionAdded: write the plan file and show the plan.
	RevisionAdded struct{ Revision Revision }
	// RevisionChanged: show the revision's new status.
	RevisionChanged struct{ Revision Revision }
	// ExecutionDue: give the model the exact text and let it begin.
	ExecutionDue struct {
		Revision Revision
		How      How
		Note     string
	}
	// TodosDue: replace the todo list by the steps of the approved plan.
	TodosDue struct{ Steps []Item }
	// TodosClosed: the plan that the open todos belong to is not being carried out any more.
	TodosClosed struct{}
	// NoticeDue: the prompt carries the notice that plan restrictions are over and that an old plan
	// is not an order.
	NoticeDue struct{}
)

func (ModeChanged) effect()     {}
func (RevisionAdded) effect()   {}
func (RevisionChanged) effect() {}
func (ExecutionDue) effect()    {}
func (TodosDue) effect()        {}
func (TodosClosed) effect()     {}
func (NoticeDue) effect()       {}

// Mode returns the present mode.
func (s State) Mode() Mode { return s.mode }

// ReadOnly says whether nothing may be changed.
func (s State) ReadOnly() bool { return s.mode.ReadOnly() }

// Epoch changes whenever what may be done changes. A permission is good only in the epoch that it
// was given in.
func (s State) Epoch() uint64 { return s.epoch }

// Revisions returns every revision, oldest first. The caller owns the slice.
func (s State) Revisions() []Revision { return slices.Clone(s.revisions) }

// Newest returns the newest revision of the plan being made or executed.
func (s State) Newest() (Revision, bool) {
	if len(s.revisions) == 0 {
		return Revision{}, false
	}
	r := s.revisions[len(s.revisions)-1]
	return r, r.Plan == s.plan
}

// Approved returns the revision that is being executed. It exists exactly in [Executing].
func (s State) Approved() (Revision, bool) {
	if s.mode != Executing || s.approved == 0 {
		return Revision{}, false
	}
	return s.revisions[s.approved-1], true
}

// Instructions returns how the approved plan is to be executed and the user's additional
// instructions.
func (s State) Instructions() (How, string) { return s.how, s.note }

// Plan returns the number of the plan being made: 1 for the session's first.
func (s State) Plan() int { return max(s.plan, 1) }

// Rounds returns how often the present plan was reviewed.
func (s State) Rounds() int { return s.rounds }

// NoticePending says whether the next prompt will carry the notice that plan mode was left.
func (s State) NoticePending() bool { return s.leftPlan }

// Find returns the revision that the word names: a number, a digest, or at least six leading
// hexadecimal digits of one.
func (s State) Find(word string) (Revision, bool) {
	hexDigits := strings.TrimPrefix(word, "sha256:")
	for _, r := range slices.Backward(s.revisions) {
		if word == fmt.Sprint(r.Number) || Digest(word) == r.Digest {
			return r, true
		}
		if len(hexDigits) >= 6 && strings.HasPrefix(strings.TrimPrefix(string(r.Digest), "sha256:"), hexDigits) {
			return r, true
		}
	}
	return Revision{}, false
}

// A TransitionError says that an event is not legal in a mode, or why it changes nothing.
type TransitionError struct {
	Mode  Mode
	Event string
	Err   error // why, or nil if the event is never legal in this mode
}

// Error names both the mode and the event.
func (e *TransitionError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("plan: %s is not possible while %s", strings.ReplaceAll(e.Event, "_", " "), e.phrase())
	}
	return fmt.Sprintf("plan: %s while %s: %v", strings.ReplaceAll(e.Event, "_", " "), e.phrase(), e.Err)
}

func (e *TransitionError) phrase() string {
	if int(e.Mode) < len(modePhrase) {
		return modePhrase[e.Mode]
	}
	return modePhrase[Planning]
}

var modePhrase = [...]string{
	Planning: "planning", Ready: "a plan waits for the user", Reviewing: "the plan is being reviewed",
	Executing: "executing", Off: "plan mode is off",
}

// Unwrap returns the reason.
func (e *TransitionError) Unwrap() error { return e.Err }

// Started says whether the session's [Start] was folded.
func (s State) Started() bool { return s.started }
