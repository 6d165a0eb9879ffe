package tool

import (
	"bytes"
	"sync/atomic"
	"time"

	"github.com/planmode-dev/planmode/plan"
)

// A Decision is what the gate says of a call: [Allow], [Ask] or [Deny].
type Decision interface{ decision() }

// Allow is permission to run one call once. Only [Gate.Decide] and [Gate.Answer] make one that
// [Gate.Run] accepts.
type Allow struct{ p *permit }

// Ask says that the user must be asked. Only [Gate.Decide] makes one that [Gate.Answer] accepts.
type Ask struct {
	p *permit
	// Reason says why the user is asked, in a sentence.
	Reason string
	// Rule is what "always" would allow, as [ParseRule] reads it; "" if only this exact call.
	Rule string
}

// Deny is a judged no.
type Deny struct{ Refusal Refusal }

func (Allow) decision() {}
func (Ask) decision()   {}
func (Deny) decision()  {}

// A permit is a judged call.
type permit struct {
	gate    *Gate
	revoked uint64
	state   plan.State
	call    Call // cloned at the door
	tool    *tool
	access  Access
	grade   grade
	why     string // the user is asked, where the grade does not say it
	view    view
	expires time.Time
	used    atomic.Bool
}

// Call returns the call that is permitted.
func (a Allow) Call() Call { return a.p.copyOfCall() }

// Parallel says whether the call only reads, so that it may run beside others. Calls that the user or
// the plan is waiting for, and all that write, are run in their order.
func (a Allow) Parallel() bool {
	if a.p == nil || a.p.grade != gradeRead {
		return false
	}
	for _, e := range a.p.access {
		switch e.(type) {
		case Nothing, ReadFile, Shell, Spawn:
		default:
			return false
		}
	}
	return true
}

// Call returns the call that is asked for.
func (a Ask) Call() Call { return a.p.copyOfCall() }

// Access returns what the call would do.
func (a Ask) Access() Access {
	if a.p == nil {
		return nil
	}
	return append(Access(nil), a.p.access...)
}

func (p *permit) copyOfCall() Call {
	if p == nil {
		return Call{}
	}
	c := p.call
	c.Input = bytes.Clone(c.Input)
	return c
}

// void says that what may be done is not what it was when the call was judged. [Gate.Observe] brings
// the state; Revoke counts what no state shows.
func (p *permit) void() bool { return p.voidIn(*p.gate.ceiling.state.Load()) }

func (p *permit) voidIn(st plan.State) bool {
	return p.state.Epoch() != st.Epoch() || p.state.ReadOnly() != st.ReadOnly() || p.revoked != p.gate.ceiling.revoked.Load()
}
