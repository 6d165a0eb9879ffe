package scripted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/planmode-dev/planmode/llm"
)

// Name is the provider's name in errors and in model names.
const Name = "scripted"

// Model is a model for requests to a [Provider]. Any other will do as well.
func Model() llm.Model {
	return llm.Model{
		Provider: Name, ID: "script", Name: "Scripted model", ContextWindow: 200_000, MaxOutput: 32_000, Images: true,
		Levels: []llm.ThinkingLevel{llm.ThinkingLow, llm.ThinkingMedium, llm.ThinkingHigh, llm.ThinkingXHigh},
	}
}

// A Provider answers from a script. It is safe for concurrent use; what it remembers serves
// [Provider.Remaining] and [Provider.Err] only, never the choice of a turn.
type Provider struct {
	script *Script

	mu     sync.Mutex
	played []int // turns played of each group, counting those before the last one
	err    error
}

var _ llm.Provider = (*Provider)(nil)

// New returns a provider that answers from the script.
func New(script *Script) *Provider {
	return &Provider{script: script, played: make([]int, len(script.groups))}
}

// Remaining counts the turns that come after those that were played, in all groups. A turn that was
// played before the process was restarted counts as played as soon as a later one is.
func (p *Provider) Remaining() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.script.Len()
	for _, done := range p.played {
		n -= done
	}
	return n
}

// Err returns the first failed expectation or missing turn, for tests of programs that survive it.
func (p *Provider) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Stream plays the turn that the request asks for. An expectation that is not met and a script that
// has run out are errors of kind [llm.ErrBadRequest] that name the line.
func (p *Provider) Stream(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	if onDelta == nil {
		onDelta = func(llm.Delta) {}
	}
	turn, err := p.script.Select(&req)
	if err == nil {
		err = turn.Check(&req)
	}
	if err != nil {
		p.mu.Lock()
		if p.err == nil {
			p.err = fmt.Errorf("scripted: %w", err)
		}
		p.mu.Unlock()
		return llm.Response{}, &llm.Error{Kind: llm.ErrBadRequest, Provider: Name, Err: err}
	}
	for {
		a := answer{ctx: ctx, req: &req, turn: turn, onDelta: onDelta, where: p.script.name}
		resp, fault, err := a.play()
		if fault != nil && fault.Times > 0 {
			onDelta(llm.Delta{Retry: asError(err)})
			turn = turn.spend(fault.Line)
			continue
		}
		if err == nil {
			p.note(&req)
		}
		return resp, err
	}
}

// spend returns the turn with one occurrence fewer of the fault at the line.
func (t *Turn) spend(line int) *Turn {
	c := *t
	c.Steps = nil
	for _, s := range t.Steps {
		if f, ok := s.(Fault); ok && f.Line == line {
			if f.Times--; f.Times == 0 {
				continue
			}
			s = f
		}
		c.Steps = append(c.Steps, s)
	}
	return &c
}

func asError(err error) *llm.Error {
	var e *llm.Error
	if errors.As(err, &e) {
		return e
	}
	return &llm.Error{Kind: llm.ErrNetwork, Provider: Name, Err: err}
}

func (p *Provider) note(req *llm.Request) {
	g, i := p.script.place(req)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.played[g] = max(p.played[g], i+1)
}

// answer is one attempt to play a turn.
type answer struct {
	ctx     context.Context //nolint:containedctx // the value lives for one call of Stream
	req     *llm.Request
	turn    *Turn
	onDelta func(llm.Delta)
	where   string

	parts []llm.Part
	calls int
}

func (a *answer) play() (llm.Response, *Fault, error) {
	for _, s := range a.turn.Steps {
		var err error
		switch s := s.(type) {
		case Say:
			err = a.say(s.Part)
		case Call:
			err = a.call(s)
		case Delay:
			err = a.wait(s.For)
		case Stall:
			<-a.ctx.Done()
			err = a.cancelled()
		case Fault:
			return llm.Response{}, &s, &llm.Error{
				Kind: s.Kind, Provider: Name, Status: s.Status, RetryAfter: s.RetryAfter,
				Err: fmt.Errorf("%s:%d: fault in the script", a.where, s.Line),
			}
		}
		if err != nil {
			return llm.Response{}, nil, err
		}
	}
	resp := llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: a.parts}, Stop: a.turn.Stop}
	if a.turn.Usage != nil {
		resp.Usage = *a.turn.Usage
	} else {
		resp.Usage = Estimate(a.req, a.parts)
	}
	resp.Usage.Cost = a.req.Model.Price.Of(resp.Usage)
	return resp, nil, nil
}

func (a *answer) say(p llm.Part) error {
	a.parts = append(a.parts, p)
	switch p := p.(type) {
	case llm.Text:
		return a.pieces(p.Text, func(s string) llm.Delta { return llm.Delta{Text: s} })
	case llm.Thinking:
		return a.pieces(p.Text, func(s string) llm.Delta { return llm.Delta{Thinking: s} })
	}
	return fmt.Errorf("scripted: a turn cannot say %T", p)
}

func (a *answer) call(c Call) error {
	n := a.calls
	a.calls++
	a.parts = append(a.parts, llm.ToolCall{ID: a.turn.CallID(a.req, n), Name: c.Name, Input: bytes.Clone(c.Input)})
	if err := a.wait(0); err != nil {
		return err
	}
	a.onDelta(llm.Delta{ToolName: c.Name, Call: n})
	return a.pieces(string(c.Input), func(s string) llm.Delta { return llm.Delta{Input: s, Call: n} })
}

func (a *answer) pieces(s string, delta func(string) llm.Delta) error {
	for piece := range Pieces(s) {
		if err := a.wait(a.turn.Pace); err != nil {
			return err
		}
		a.onDelta(delta(piece))
	}
	return nil
}

func (a *answer) wait(d time.Duration) error {
	if a.ctx.Err() != nil {
		return a.cancelled()
	}
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-a.ctx.Done():
		return a.cancelled()
	}
}

func (a *answer) cancelled() error {
	return &llm.Error{Kind: llm.ErrCancelled, Provider: Name, Err: context.Cause(a.ctx)}
}

// Pieces cuts a text as a model streams it: a few bytes each, never inside of a rune, and larger
// ones when the text is large. Joined they are the text.
func Pieces(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		const small, many = 16, 512
		size := max(small, len(s)/many)
		for len(s) > 0 {
			n := min(size, len(s))
			for n < len(s) && !utf8.RuneStart(s[n]) {
				n++
			}
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

// Estimate counts tokens as a quarter of the bytes, which is near enough for English and code. The
// cost is not set.
func Estimate(req *llm.Request, answer []llm.Part) llm.Usage {
	const bytesPerToken = 4
	in := len(req.System)
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		in += len(partsText(m.Parts))
	}
	up := func(n int) int64 { return int64((n + bytesPerToken - 1) / bytesPerToken) }
	return llm.Usage{Input: up(in), Output: up(len(partsText(answer)))}
}
