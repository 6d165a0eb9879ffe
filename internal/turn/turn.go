// Package turn plays one prompt to its end: ask the model, judge its calls, run those that are
// allowed, feed the results back, until the model has nothing more to call. Sessions, sub-agents and
// reviewers use the same loop. It knows nothing of journals and screens: a [Sink] is told what happens,
// before it happens where that matters.
package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// A StopReason says why a turn ended. The first five are ACP's.
type StopReason string

// The stop reasons.
const (
	EndTurn     StopReason = "end_turn"
	MaxTokens   StopReason = "max_tokens"
	MaxRequests StopReason = "max_turn_requests"
	Refusal     StopReason = "refusal"
	Cancelled   StopReason = "cancelled"
	PlanReady   StopReason = "plan_ready" // a tool handed the turn over to the user
	Loop        StopReason = "loop"       // the model did not get on
	NeedsUser   StopReason = "needs_user" // the user had to be asked, and nobody was there
	Failed      StopReason = "error"
)

// An Outcome is how a turn ended.
type Outcome struct {
	Stop StopReason
	// Text is the model's last text.
	Text  string
	Usage llm.Usage
	// Err says what went wrong, for [Failed]; Note says it for people, for every stop that is not
	// EndTurn.
	Err  error
	Note string
}

// A Sink is told what happens in a turn. Its methods are called from the turn's goroutine, but for
// Delta's and Progress's, which come from any. An error ends the turn at once: what cannot be recorded
// does not happen.
type Sink interface {
	Delta(d llm.Delta)
	// Answered brings the model's complete message, before any of its calls is judged.
	Answered(r llm.Response) error
	// Refused says that a call was judged and will not run.
	Refused(c tool.Call, r tool.Refusal) error
	// Ask asks the user. [tool.ErrNoUser] means that nobody is there. It returns when ctx ends.
	Ask(ctx context.Context, a tool.Ask) (tool.Verdict, error)
	// Allowed is called before an allowed call runs.
	Allowed(c tool.Call) error
	Progress(callID, text string)
	Finished(c tool.Call, res tool.Result, took time.Duration) error
}

// Config is a turn. All fields but the last three are required.
type Config struct {
	Provider llm.Provider
	Gate     *tool.Gate
	// State returns the session's state now.
	State func() plan.State
	// Request returns what to ask the model next. It is called for each request of the turn, with
	// everything that the Sink has been told in it.
	Request func(ctx context.Context) (llm.Request, error)
	Sink    Sink
	// Session and Surface are copied into the calls.
	Session, Surface string
	// More is asked when the model has nothing to call: true means that there is more to answer.
	More func() bool
	// MaxRequests to the model; 200 by default.
	MaxRequests int
	// Parallel calls that only read; 8 by default.
	Parallel int
}

const (
	defaultRequests = 200
	defaultParallel = 8
)

// Run plays the turn. It never panics for what a model or a tool does.
func Run(ctx context.Context, cfg Config) Outcome {
	if cfg.MaxRequests <= 0 {
		cfg.MaxRequests = defaultRequests
	}
	if cfg.Parallel <= 0 {
		cfg.Parallel = defaultParallel
	}
	t := &turn{cfg: cfg}
	t.run(ctx)
	return t.out
}

type turn struct {
	cfg  Config
	out  Outcome
	loop tool.LoopGuard
}

func (t *turn) stop(why StopReason, note string) { t.out.Stop, t.out.Note = why, note }

func (t *turn) fail(err error) {
	failed := FailedBy(err)
	t.out.Stop, t.out.Err, t.out.Note = failed.Stop, failed.Err, failed.Note
}

// FailedBy is the outcome of a turn that an error ended. What people are told of a model that is not set up
// is what to set; the rest is for programs.
func FailedBy(err error) Outcome {
	out := Outcome{Stop: Failed, Err: err, Note: err.Error()}
	var le *llm.Error
	if errors.As(err, &le) && le.Kind == llm.ErrConfig {
		out.Note = le.Err.Error()
	}
	return out
}

func (t *turn) run(ctx context.Context) {
	for range t.cfg.MaxRequests {
		if ctx.Err() != nil {
			t.stop(Cancelled, "the turn was cancelled")
			return
		}
		resp, ok := t.ask(ctx)
		if !ok {
			return
		}
		calls := resp.Message.Calls()
		if len(calls) > 0 && resp.Stop == llm.StopRefusal {
			t.endOf(resp) // what it declined to do is not done
			t.calls(ctx, calls)
			return
		}
		if len(calls) == 0 {
			if resp.Stop == llm.StopEndTurn && t.cfg.More != nil && t.cfg.More() {
				continue
			}
			t.endOf(resp)
			return
		}
		if t.calls(ctx, calls); t.out.Stop != "" {
			return
		}
	}
	t.stop(MaxRequests, fmt.Sprintf("the turn has ended after %d requests to the model", t.cfg.MaxRequests))
}

// ask gets the model's next message and reports it.
func (t *turn) ask(ctx context.Context) (llm.Response, bool) {
	req, err := t.cfg.Request(ctx)
	if err != nil {
		t.fail(err)
		return llm.Response{}, false
	}
	resp, err := Stream(ctx, t.cfg.Provider, req, t.cfg.Sink.Delta)
	if err != nil {
		if ctx.Err() != nil {
			t.stop(Cancelled, "the turn was cancelled")
		} else {
			t.fail(err)
		}
		return llm.Response{}, false
	}
	nameCalls(&resp.Message)
	t.out.Usage = t.out.Usage.Add(resp.Usage)
	if text := resp.Message.Text(); text != "" {
		t.out.Text = text
	}
	if err := t.cfg.Sink.Answered(resp); err != nil {
		t.fail(err)
		return llm.Response{}, false
	}
	return resp, true
}

// Stream asks a provider, and survives one that panics.
func Stream(ctx context.Context, p llm.Provider, req llm.Request, onDelta func(llm.Delta)) (resp llm.Response, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &llm.Error{Kind: llm.ErrGarbage, Provider: req.Model.Provider, Err: fmt.Errorf("the provider broke: %v", r)}
		}
	}()
	return p.Stream(ctx, req, onDelta)
}

// nameCalls gives every call an id of its own: results are matched by it, and some servers send none,
// or the same one twice.
func nameCalls(m *llm.Message) {
	seen := map[string]bool{}
	m.Parts = slices.Clone(m.Parts) // they are the provider's
	for i, p := range m.Parts {
		c, ok := p.(llm.ToolCall)
		if !ok {
			continue
		}
		if c.ID == "" || seen[c.ID] {
			c.ID = fmt.Sprintf("call-%d-%d", i, time.Now().UnixNano())
			m.Parts[i] = c
		}
		seen[c.ID] = true
	}
}

func (t *turn) endOf(resp llm.Response) {
	switch resp.Stop {
	case llm.StopMaxTokens:
		t.stop(MaxTokens, "the model's answer reached its length limit")
	case llm.StopRefusal:
		t.stop(Refusal, "the model declined to answer")
	case llm.StopEndTurn, llm.StopToolUse:
		t.stop(EndTurn, "")
	default:
		t.stop(EndTurn, "")
	}
}

var errSkipped = errors.New("not run")
