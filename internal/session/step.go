package session

import (
	"context"
	"fmt"
	"strings"

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
	p.mu.Unlock()
	if busy == "" {
		if err := p.closeDangling(); err != nil {
			return Reply{}, err
		}
	}
	switch ev := ev.(type) {
	case plan.Enter:
		p.takeBack()
	case plan.Leave, plan.Approve:
		if busy != "" {
			reply, err := p.later(ev)
			if _, leaves := ev.(plan.Leave); leaves && busy == "review" && err == nil {
				p.cancel() // nobody waits for it any more
			}
			return reply, err
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
	case plan.Reject:
		return p.reject(ev)
	case plan.Edit:
	}
	if err := p.pm.ByUser(ev); err != nil {
		return Reply{}, err
	}
	return Reply{Text: p.statusText()}, nil
}

// reject sends the plan back and gives the reason, if there is one, to the model.
func (p person) reject(ev plan.Reject) (Reply, error) {
	if err := p.pm.ByUser(ev); err != nil {
		return Reply{}, err
	}
	if strings.TrimSpace(ev.Feedback) == "" {
		return Reply{Text: p.statusText()}, nil
	}
	return p.prompt(Prompt{Text: rejection(ev.Feedback), Images: p.images})
}

func rejection(feedback string) string { return "The plan was not approved. " + feedback }

// takeBack drops the switch that waits for the turn, and says whether there was one.
func (p person) takeBack() bool {
	p.mu.Lock()
	was := p.pending != nil
	p.pending = nil
	p.mu.Unlock()
	if was {
		mode := p.pm.State().Mode()
		p.log.transient(p.name(), Pending{Now: mode, Next: mode})
	}
	return was
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
	if _, _, err := plan.Step(p.pm.State(), ev); err != nil {
		return Reply{}, err
	}
	if ev.How == plan.Compact && p.compactFirst(ev) {
		return Reply{Text: "compacting, then executing"}, nil
	}
	if err := p.pm.ByUser(ev); err != nil {
		return Reply{}, err
	}
	return Reply{Text: "executing"}, p.execute()
}

// compactFirst begins a compaction that the approval waits for, and says whether there is anything to
// compact and the approval is legal.
func (s *Session) compactFirst(ev plan.Approve) bool {
	st := s.pm.State()
	next, _, err := plan.Step(st, ev)
	s.mu.Lock()
	empty := len(s.t.messages) == 0
	if err == nil && !empty {
		s.pending = ev
	}
	s.mu.Unlock()
	if err != nil || empty {
		return false
	}
	s.log.transient(userPrefix+string(ev.Surface), Pending{Now: st.Mode(), Next: next.Mode()})
	s.startCompaction()
	return true
}

// execute gives the model the order that an approval made due, if one is.
func (s *Session) execute() error {
	r, ok := s.pm.State().Approved()
	how, note := s.pm.State().Instructions()
	s.mu.Lock()
	due := s.t.due
	s.due = false
	s.mu.Unlock()
	if !ok || !due {
		return nil
	}
	var events []Event
	if how == plan.Fresh {
		events = append(events, Compacted{})
	}
	text := fmt.Sprintf("I have approved revision %d of the plan (%s, %q). Carry it out now.", r.Number, r.Digest.Short(), r.Title)
	if note != "" {
		text += "\n\nAdditional instructions:\n" + note
	}
	if err := s.append("host", append(events, Prompted{Text: text, Auto: true})...); err != nil {
		return fmt.Errorf("session: the plan is approved, but its execution could not begin; resume the session to begin it: %w", err)
	}
	s.startTurn()
	return nil
}

// review lets the reviewer read the plan, in the background.
func (p person) review(ev plan.StartReview) (Reply, error) {
	if err := p.pm.ByUser(ev); err != nil {
		return Reply{}, err
	}
	p.startJob("review", func(ctx context.Context) func() bool {
		res, err := p.pm.ReviewNewest(ctx, func(text string) { p.log.transient("host", Delta{Text: text}) })
		p.mu.Lock()
		cancelled := p.turn.cancelled
		p.mu.Unlock()
		return func() bool {
			stamp := plan.Stamp{At: p.cfg.Now()}
			switch {
			case p.pm.State().Mode() != plan.Reviewing: // it is over in another way
			case ctx.Err() != nil && cancelled != "":
				stamp.Surface = cancelled
				p.warnIf("review", p.pm.ByUser(plan.CancelReview{Stamp: stamp}))
			case err != nil:
				p.warn("review_failed", err.Error())
				p.warnIf("review", p.pm.ByHost(plan.Restarted{Stamp: stamp}))
			default:
				p.warnIf("review", p.pm.ByHost(plan.ReviewDone{Stamp: stamp, Approved: res.Approved, Feedback: res.Feedback}))
			}
			return true
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
