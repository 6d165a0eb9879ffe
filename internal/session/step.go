package session

import (
	"context"
	"fmt"

	"github.com/planmode-dev/planmode/plan"
)

// step is the one function through which a person's act on plan mode goes. What tightens binds at
// once. What loosens waits for the running turn to settle, and is taken back by turning plan mode on
// again.
func (p person) step(ev plan.UserEvent) (Reply, error) {
	ev = stamped(ev, p.stamp())
	p.mu.Lock()
	busy := ""
	if p.turn != nil {
		busy = p.turn.what
	}
	pending := p.pending
	p.mu.Unlock()
	if busy == "" {
		if err := p.closeDangling(); err != nil {
			return Reply{}, err
		}
	}
	switch ev := ev.(type) {
	case plan.Enter:
		return p.enter(ev, pending)
	case plan.Leave, plan.Approve:
		if busy != "" {
			return p.later(ev)
		}
		if a, ok := ev.(plan.Approve); ok {
			return p.approve(a)
		}
	case plan.StartReview:
		if busy != "" {
			return Reply{}, ErrBusy
		}
		return p.review(ev)
	case plan.CancelReview:
		if busy == "review" {
			return p.cancel(), nil // the review says when it is over
		}
	case plan.Start, plan.Prompt:
		return Reply{}, fmt.Errorf("%w: %s is not an act of its own", ErrUsage, plan.EventName(ev))
	case plan.Reject, plan.Edit:
	}
	if err := p.pm.ByUser(ev); err != nil {
		return Reply{}, err
	}
	return Reply{Text: p.statusText()}, nil
}

func (p person) enter(ev plan.Enter, pending plan.UserEvent) (Reply, error) {
	if pending != nil {
		p.mu.Lock()
		p.pending = nil
		p.mu.Unlock()
		mode := p.pm.State().Mode()
		p.log.transient(p.name(), Pending{Now: mode, Next: mode})
	}
	if err := p.pm.ByUser(ev); err != nil {
		return Reply{}, err
	}
	return Reply{Text: p.statusText()}, nil
}

// later keeps an act until the running turn has settled. One that is not legal even now is refused now.
func (p person) later(ev plan.UserEvent) (Reply, error) {
	st := p.pm.State()
	next, _, err := plan.Step(st, ev)
	if err != nil {
		return Reply{}, err
	}
	p.mu.Lock()
	p.pending = ev
	p.mu.Unlock()
	p.log.transient(p.name(), Pending{Now: st.Mode(), Next: next.Mode()})
	return Reply{Text: fmt.Sprintf("the mode will be %s when the turn has settled; /plan on takes it back", next.Mode())}, nil
}

// nextMode returns the mode that the pending switch leads to. It is called with s.mu held.
func (s *Session) nextMode(st plan.State) plan.Mode {
	if s.pending == nil {
		return st.Mode()
	}
	next, _, err := plan.Step(st, s.pending)
	if err != nil {
		return st.Mode()
	}
	return next.Mode()
}

// approve lets the plan be executed and begins. With [plan.Compact] the conversation is compacted first;
// should that fail, nothing is approved.
func (p person) approve(ev plan.Approve) (Reply, error) {
	if ev.How == plan.Compact {
		if _, _, err := plan.Step(p.pm.State(), ev); err != nil {
			return Reply{}, err
		}
		p.startJob("compaction", func(ctx context.Context) func() {
			err := p.compact(ctx)
			return func() {
				if err != nil {
					p.warn("compaction_failed", "the conversation could not be compacted, so the plan was not approved; it still waits for you: "+err.Error())
					return
				}
				if err := p.pm.ByUser(ev); err != nil {
					p.warn("not_approved", err.Error())
				}
			}
		})
		return Reply{Text: "compacting, then executing"}, nil
	}
	if err := p.pm.ByUser(ev); err != nil {
		return Reply{}, err
	}
	return Reply{Text: "executing"}, p.execute()
}

// execute gives the model the order that an approval made due, if one is.
func (s *Session) execute() error {
	s.mu.Lock()
	due := s.due
	s.due = nil
	s.mu.Unlock()
	if due == nil {
		return nil
	}
	var events []Event
	if due.How == plan.Fresh {
		events = append(events, Compacted{})
	}
	r := due.Revision
	text := fmt.Sprintf("I have approved revision %d of the plan (%s, %q). Carry it out now.", r.Number, r.Digest.Short(), r.Title)
	if due.Note != "" {
		text += "\n\nAdditional instructions:\n" + due.Note
	}
	if err := s.append("host", append(events, Prompted{Text: text, Auto: true})...); err != nil {
		return fmt.Errorf("session: the plan is approved, but its execution could not begin: %w", err)
	}
	s.startTurn()
	return nil
}

// review lets the reviewer read the plan, in the background.
func (p person) review(ev plan.StartReview) (Reply, error) {
	if err := p.pm.ByUser(ev); err != nil {
		return Reply{}, err
	}
	p.startJob("review", func(ctx context.Context) func() {
		res, err := p.pm.ReviewNewest(ctx, func(text string) { p.log.transient("host", Delta{Text: text}) })
		return func() {
			if p.pm.State().Mode() != plan.Reviewing {
				return // the user left meanwhile
			}
			if err != nil {
				p.warn("review_failed", err.Error())
				p.warnIf("review", p.pm.ByHost(plan.Restarted{Stamp: plan.Stamp{At: p.cfg.Now()}}))
				return
			}
			p.warnIf("review", p.pm.ByHost(plan.ReviewDone{
				Stamp: plan.Stamp{At: p.cfg.Now()}, Approved: res.Approved, Feedback: res.Feedback,
			}))
		}
	})
	return Reply{Text: "reviewing"}, nil
}

// warn records a warning.
func (s *Session) warn(code, text string) {
	s.warnIf(code, s.append("host", Warned{Code: code, Text: text}))
}

// stamped returns the event with the stamp.
func stamped(ev plan.UserEvent, st plan.Stamp) plan.UserEvent {
	switch ev := ev.(type) {
	case plan.Start:
		ev.Stamp = st
		return ev
	case plan.Enter:
		ev.Stamp = st
		return ev
	case plan.Prompt:
		ev.Stamp = st
		return ev
	case plan.Reject:
		ev.Stamp = st
		return ev
	case plan.Edit:
		ev.Stamp = st
		return ev
	case plan.StartReview:
		ev.Stamp = st
		return ev
	case plan.CancelReview:
		ev.Stamp = st
		return ev
	case plan.Approve:
		ev.Stamp = st
		return ev
	case plan.Leave:
		ev.Stamp = st
		return ev
	}
	return ev
}
