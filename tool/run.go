package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Run runs a permitted call, once. progress, if given, gets text as the tool produces it, from any
// goroutine. The error is a [*Refusal] and means that nothing ran; a tool's own failure is a Result
// with IsError, and so is its reach for more than it had declared, with the refusal as text.
func (g *Gate) Run(ctx context.Context, a Allow, progress func(string)) (res Result, err error) {
	p := a.p
	refuse := func(code Code, why string) (Result, error) {
		r := Refusal{Code: code, Reason: why, Hint: askAgain}
		if p != nil {
			r.Tool, r.Session, r.PlanMode = p.call.Tool, p.call.Session, p.gate.ceiling.state.Load().ReadOnly()
		}
		g.cfg.Counters.judged(g, a.Call(), Deny{r})
		return Result{}, &r
	}
	switch {
	case p == nil:
		return refuse(StalePermission, "there is no permission")
	case p.gate != g:
		return refuse(StalePermission, "the permission belongs to another session")
	case p.used.Swap(true):
		return refuse(StalePermission, "the permission was used already")
	case g.cfg.now().After(p.expires):
		return refuse(StalePermission, "the permission has expired")
	case ctx.Err() != nil:
		return refuse(Interrupted, "the turn was cancelled before the call began")
	}
	// Counted before the state is looked at, so that whoever tightens the mode and then asks what is
	// running misses nothing.
	g.ceiling.running.Add(1)
	defer g.ceiling.running.Add(-1)
	if p.void() {
		return refuse(StalePermission, "the mode changed after the call was permitted")
	}
	grant := newGrant(p, progress)
	defer grant.close()
	defer func() {
		if r := recover(); r != nil {
			res, err = Result{Text: fmt.Sprintf("the tool %s broke: %v", p.call.Tool, r), IsError: true}, nil
		}
	}()
	res, err = p.tool.run(ctx, grant, bytes.Clone(p.call.Input))
	if err != nil {
		res = res.failed(err)
	}
	return res, nil
}

// failed returns the result with the error as the model sees it.
func (res Result) failed(err error) Result {
	text := err.Error()
	var r *Refusal
	if errors.As(err, &r) {
		text = r.Result().Text
		if res.Details == nil {
			res.Details = json.RawMessage(text)
		}
	}
	res.IsError = true
	if res.Text != "" {
		text = res.Text + "\n" + text
	}
	res.Text = text
	return res
}
