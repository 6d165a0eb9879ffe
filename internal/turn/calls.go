package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/tool"
)

// calls judges and runs the calls of one message in their order; those that only read run beside one
// another. Every call gets a result or a refusal, whatever happens to the turn.
func (t *turn) calls(ctx context.Context, calls []llm.ToolCall) {
	var reads []tool.Allow
	for _, c := range calls {
		call := tool.Call{ID: c.ID, Tool: c.Name, Input: c.Input, Session: t.cfg.Session, Surface: t.cfg.Surface}
		if t.out.Stop == "" && ctx.Err() != nil {
			t.stop(Cancelled, "the turn was cancelled")
		}
		if t.out.Stop != "" {
			t.runReads(ctx, reads)
			reads = nil
			t.skip(call)
			continue
		}
		d := t.cfg.Gate.Decide(t.cfg.State(), call)
		if a, ok := d.(tool.Allow); ok && a.Parallel() {
			reads = append(reads, a)
			continue
		}
		// What comes later in the message may depend on what came before: the mode, for one.
		t.runReads(ctx, reads)
		reads = nil
		if t.out.Stop != "" {
			t.skip(call)
			continue
		}
		t.one(ctx, call, d)
	}
	t.runReads(ctx, reads)
}

// one carries out the decision on a call.
func (t *turn) one(ctx context.Context, call tool.Call, d tool.Decision) {
	if ask, ok := d.(tool.Ask); ok {
		d = t.answer(ctx, call, ask)
		if d == nil {
			return
		}
	}
	switch d := d.(type) {
	case tool.Allow:
		t.runOne(ctx, d)
	case tool.Deny:
		t.refuse(call, d.Refusal)
	default:
		t.refuse(call, tool.Refusal{Code: tool.Internal, Tool: call.Tool, Session: call.Session, Reason: "the call was not judged"})
	}
}

// answer asks the user. A nil decision means that the call has been dealt with.
func (t *turn) answer(ctx context.Context, call tool.Call, ask tool.Ask) tool.Decision {
	v, err := t.cfg.Sink.Ask(ctx, ask)
	switch {
	case err == nil:
		return t.cfg.Gate.Answer(t.cfg.State(), ask, v)
	case errors.Is(err, tool.ErrNoUser):
		t.refuse(call, tool.Refusal{
			Code: tool.NoUser, Tool: call.Tool, Session: call.Session, PlanMode: t.cfg.State().ReadOnly(),
			Reason: fmt.Sprintf("the user would have to be asked (%s), and nobody is there", ask.Reason),
			Hint:   "the user can allow it with a rule such as " + orText(ask.Rule, call.Tool),
		})
		if t.out.Stop == "" {
			t.stop(NeedsUser, fmt.Sprintf("%s needs a person's answer: %s", call.Tool, ask.Reason))
		}
	case ctx.Err() != nil:
		t.stop(Cancelled, "the turn was cancelled")
		t.skip(call)
	default:
		t.refuse(call, tool.Refusal{Code: tool.Internal, Tool: call.Tool, Session: call.Session, Reason: "the user could not be asked: " + err.Error()})
		t.fail(err)
	}
	return nil
}

func orText(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// refuse reports a refusal and watches for a loop.
func (t *turn) refuse(call tool.Call, r tool.Refusal) {
	if err := t.cfg.Sink.Refused(call, r); err != nil {
		t.fail(err)
		return
	}
	if stop, why := t.loop.Refused(call); stop && t.out.Stop == "" {
		t.stop(Loop, why+" (last reason: "+r.Reason+")")
	}
}

// skip answers a call that is not run because the turn is over.
func (t *turn) skip(call tool.Call) {
	err := t.cfg.Sink.Refused(call, tool.Refusal{
		Code: tool.Interrupted, Tool: call.Tool, Session: call.Session, PlanMode: t.cfg.State().ReadOnly(),
		Reason: "not run: the turn ended before it", Hint: "call it again if it is still due",
	})
	if err != nil && t.out.Err == nil {
		t.fail(errors.Join(errSkipped, err))
	}
}

// runReads runs calls that only read, several at a time, and reports them in their order.
func (t *turn) runReads(ctx context.Context, allowed []tool.Allow) {
	if len(allowed) == 0 {
		return
	}
	if len(allowed) == 1 {
		t.runOne(ctx, allowed[0])
		return
	}
	for _, a := range allowed {
		if err := t.cfg.Sink.Allowed(a.Call()); err != nil {
			t.fail(err)
			return
		}
	}
	ran := make([]ran, len(allowed))
	slots := make(chan struct{}, t.cfg.Parallel)
	var wg sync.WaitGroup
	for i, a := range allowed {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ran[i] = t.exec(ctx, a)
		})
	}
	wg.Wait()
	for i, a := range allowed {
		t.report(a.Call(), ran[i])
	}
}

func (t *turn) runOne(ctx context.Context, a tool.Allow) {
	call := a.Call()
	if err := t.cfg.Sink.Allowed(call); err != nil {
		t.fail(err)
		return
	}
	t.report(call, t.exec(ctx, a))
}

// ran is what came of running a call.
type ran struct {
	res     tool.Result
	refusal *tool.Refusal
	took    time.Duration
}

func (t *turn) exec(ctx context.Context, a tool.Allow) ran {
	start := time.Now()
	id := a.Call().ID
	res, err := t.cfg.Gate.Run(ctx, a, func(text string) { t.cfg.Sink.Progress(id, text) })
	r := ran{res: res, took: time.Since(start)}
	if err != nil && !errors.As(err, &r.refusal) {
		r.refusal = &tool.Refusal{Code: tool.Internal, Tool: a.Call().Tool, Reason: err.Error()}
	}
	return r
}

func (t *turn) report(call tool.Call, r ran) {
	if r.refusal != nil {
		t.refuse(call, *r.refusal)
		return
	}
	if err := t.cfg.Sink.Finished(call, r.res, r.took); err != nil {
		t.fail(err)
		return
	}
	if t.out.Stop != "" {
		return
	}
	if r.res.EndTurn {
		t.stop(PlanReady, "")
		return
	}
	if stop, why := t.loop.Ran(call, r.res); stop {
		t.stop(Loop, why)
	}
}
