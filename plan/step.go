package plan

import (
	"fmt"
	"slices"
)

// Step folds one event. It returns the new state and what the host must do about it. An event that is
// not legal is a [*TransitionError] that names the mode and the event; the state is then the one
// that went in.
func Step(s State, ev Event) (State, []Effect, error) {
	if ev == nil {
		return s, nil, &TransitionError{Mode: s.mode, Event: "nothing"}
	}
	f := folder{s: s, from: s.mode, ev: ev}
	err := f.fold()
	if err != nil {
		return s, nil, &TransitionError{Mode: s.mode, Event: ev.event(), Err: reason(err)}
	}
	if f.s.mode != f.from {
		f.effects = slices.Insert(f.effects, 0, Effect(ModeChanged{From: f.from, To: f.s.mode, Cause: ev.event()}))
	}
	if f.s.mode.ReadOnly() != f.from.ReadOnly() || f.s.approved != s.approved {
		f.s.epoch++
	}
	return f.s, f.effects, nil
}

// errIllegal marks an event that has no row for the mode.
var errIllegal = fmt.Errorf("illegal")

func reason(err error) error {
	if err == errIllegal { //nolint:errorlint // the bare sentinel, never wrapped
		return nil
	}
	return err
}

// A folder carries one step.
type folder struct {
	s       State
	from    Mode
	ev      Event
	effects []Effect
}

// in says whether the mode before the event is one of these.
func (f *folder) in(modes ...Mode) bool { return slices.Contains(modes, f.from) }

// fold is the transition table. The default is no.
func (f *folder) fold() error {
	switch ev := f.ev.(type) {
	case Start:
		return f.start(ev)
	case Enter:
		if f.in(Off, Executing) {
			f.enter()
		}
		return nil
	case Prompt:
		return f.prompt()
	case Submit:
		if f.in(Planning) {
			return f.submit(ev.Text, ByModel)
		}
	case Edit:
		if f.in(Planning, Ready) {
			return f.submit(ev.Text, ByUser)
		}
	case Reject:
		if f.in(Ready) {
			f.mark(Rejected, ev.Feedback)
			f.s.mode = Planning
			return nil
		}
	case StartReview:
		if f.in(Ready) {
			f.s.mode = Reviewing
			f.s.rounds++
			return nil
		}
	case ReviewDone:
		if f.in(Reviewing) {
			f.note(ev.Feedback)
			f.s.mode = Ready
			return nil
		}
	case CancelReview, Restarted:
		if f.in(Reviewing) {
			f.s.mode = Ready
			return nil
		}
	case Approve:
		if f.in(Ready, Planning) {
			return f.approve(ev)
		}
	case Leave:
		if f.in(Planning, Ready, Reviewing, Executing) {
			f.leave()
			return nil
		}
	case AllStepsDone:
		if f.in(Executing) {
			f.done()
			return nil
		}
	}
	return errIllegal
}

func (f *folder) start(ev Start) error {
	if f.s.started {
		return fmt.Errorf("the session has started already")
	}
	// A Start in the middle would forget what is being executed, or open a mode that a plan waits in.
	if f.from != Planning || f.s.epoch > 0 || len(f.s.revisions) > 0 {
		return fmt.Errorf("something has happened already")
	}
	if ev.Mode != Off && ev.Mode != Planning {
		return fmt.Errorf("a session starts off or planning, not %s", ev.Mode)
	}
	if ev.AfterDone != Off && ev.AfterDone != Planning {
		return fmt.Errorf("a finished execution leads to off or planning, not %s", ev.AfterDone)
	}
	f.s.started, f.s.mode, f.s.afterDone = true, ev.Mode, ev.AfterDone
	return nil
}

// enter begins planning. A plan that was being made is taken up again; one that was approved is
// history, and the next submission begins a new one.
func (f *folder) enter() {
	if f.in(Executing) {
		f.effects = append(f.effects, TodosClosed{})
	}
	if n := len(f.s.revisions); n > 0 {
		if st := f.s.revisions[n-1].Status; st == Approved || st == Done {
			f.s.plan = f.s.revisions[n-1].Plan + 1
			f.s.rounds = 0
		}
	}
	f.stopExecuting()
	f.s.mode = Planning
	f.s.leftPlan = false
}

func (f *folder) prompt() error {
	switch f.from {
	case Reviewing:
		return errIllegal
	case Ready:
		f.s.mode = Planning
	case Planning, Off, Executing:
		if f.s.leftPlan && !f.from.ReadOnly() {
			f.s.leftPlan = false
			f.effects = append(f.effects, NoticeDue{})
		}
	}
	return nil
}

// submit adds a revision and supersedes the one before it.
func (f *folder) submit(text string, by Author) error {
	if err := Check(text); err != nil {
		return err
	}
	text = Normalize(text)
	digest := DigestOf(text)
	if last, ok := f.s.Newest(); ok {
		if last.Digest == digest && by == ByModel && last.Status == Rejected {
			return ErrUnchanged
		}
		if last.Status == Submitted {
			f.mark(Superseded, last.Feedback)
		}
	}
	f.s.plan = f.s.Plan()
	r := Revision{
		Number: len(f.s.revisions) + 1, Plan: f.s.plan, Digest: digest, Title: TitleOf(text), Text: text,
		Author: by, At: f.ev.stamp().At, Status: Submitted, Sandbox: f.sandbox(),
	}
	f.s.revisions = append(slices.Clip(f.s.revisions), r)
	f.s.mode = Ready
	f.effects = append(f.effects, RevisionAdded{r})
	return nil
}

// sandbox returns what the submission says of the kernel's wall; a person's own text needed none.
func (f *folder) sandbox() string {
	if ev, ok := f.ev.(Submit); ok {
		return ev.Sandbox
	}
	return ""
}

func (f *folder) approve(ev Approve) error {
	last, ok := f.s.Newest()
	if !ok {
		return ErrNoPlan
	}
	if ev.Digest != last.Digest {
		return fmt.Errorf("%w: %s was named, %s is the newest", ErrDigest, ev.Digest.Short(), last.Digest.Short())
	}
	switch ev.How {
	case Execute, Compact, Fresh:
	default:
		return fmt.Errorf("unknown way to execute %q", ev.How)
	}
	f.mark(Approved, last.Feedback)
	f.s.mode, f.s.approved = Executing, last.Number
	f.s.how, f.s.note = ev.How, ev.Note
	f.s.leftPlan = false
	f.effects = append(f.effects,
		TodosDue{Steps: last.Steps()},
		ExecutionDue{Revision: f.s.revisions[last.Number-1], How: ev.How, Note: ev.Note})
	return nil
}

func (f *folder) leave() {
	if f.in(Executing) {
		f.effects = append(f.effects, TodosClosed{})
	}
	f.stopExecuting()
	f.s.mode = Off
	f.s.leftPlan = true
}

func (f *folder) done() {
	f.setStatus(f.s.approved, Done, f.s.revisions[f.s.approved-1].Feedback)
	f.stopExecuting()
	f.s.mode = f.s.afterDone
	if f.s.mode == Planning {
		f.s.plan = f.s.revisions[len(f.s.revisions)-1].Plan + 1
		f.s.rounds = 0
	}
}

func (f *folder) stopExecuting() { f.s.approved, f.s.how, f.s.note = 0, Execute, "" }

// mark sets the status of the newest revision.
func (f *folder) mark(st Status, feedback string) { f.setStatus(len(f.s.revisions), st, feedback) }

// note records a reviewer's words with the newest revision.
func (f *folder) note(feedback string) {
	n := len(f.s.revisions)
	f.setStatus(n, f.s.revisions[n-1].Status, feedback)
}

func (f *folder) setStatus(number int, st Status, feedback string) {
	f.s.revisions = slices.Clone(f.s.revisions)
	r := &f.s.revisions[number-1]
	r.Status, r.Feedback = st, feedback
	f.effects = append(f.effects, RevisionChanged{*r})
}
