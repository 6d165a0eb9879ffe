// Package wire is what the vendors' packages have in common on the way to a server: sending again
// after a failure that may pass, noticing that a stream went silent, saying what went wrong without
// telling the key. It knows no vendor's format.
package wire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/planmode-dev/planmode/llm"
)

// Defaults of a [Policy].
const (
	DefaultRetries = 4
	DefaultBackoff = 500 * time.Millisecond
	DefaultStall   = 3 * time.Minute // a local model may read a long prompt for minutes before its first byte
	maxBackoff     = 30 * time.Second
	// maxRetryAfter is the longest wait that is honoured; a vendor that asks for more has said no.
	maxRetryAfter = 2 * time.Minute
)

// A Policy says how requests are sent. It is safe for concurrent use.
type Policy struct {
	Provider string
	Retries  int           // after the first attempt; 0 means DefaultRetries, negative none
	Backoff  time.Duration // before the first retry, doubled for each further one; 0 means DefaultBackoff
	Stall    time.Duration // without a byte; 0 means DefaultStall, negative means for ever
	Secrets  []string      // never appear in errors
	KeyHint  string        // what to do when the key is refused
}

// An Attempt sends the request once. It returns an [llm.Error] for what it understands and any other
// error for what the connection did.
type Attempt func(ctx context.Context, emit func(llm.Delta)) (llm.Response, error)

// Stream makes attempts until one succeeds, one fails for good or the retries are used up. Each retry
// is announced through emit before it is waited for.
func (p Policy) Stream(ctx context.Context, emit func(llm.Delta), attempt Attempt) (llm.Response, error) {
	if emit == nil {
		emit = func(llm.Delta) {}
	}
	retries := p.Retries
	if retries == 0 {
		retries = DefaultRetries
	}
	for n := 0; ; n++ {
		resp, err := p.once(ctx, emit, attempt)
		if err == nil {
			return resp, nil
		}
		if !err.Temporary() || n >= retries || err.RetryAfter > maxRetryAfter {
			return llm.Response{}, err
		}
		emit(llm.Delta{Retry: err})
		if sleep(ctx, p.wait(n, err)) != nil {
			return llm.Response{}, p.cancelled(ctx)
		}
	}
}

func (p Policy) once(ctx context.Context, emit func(llm.Delta), attempt Attempt) (llm.Response, *llm.Error) {
	if ctx.Err() != nil {
		return llm.Response{}, p.cancelled(ctx)
	}
	stall := p.Stall
	if stall == 0 {
		stall = DefaultStall
	}
	actx, w := newWatch(ctx, stall)
	defer w.close()
	resp, err := attempt(actx, emit)
	if err == nil {
		return resp, nil
	}
	return llm.Response{}, p.classify(ctx, w, err)
}

// wait is the time before the nth retry, from 0.
func (p Policy) wait(n int, err *llm.Error) time.Duration {
	if err.RetryAfter > 0 {
		return err.RetryAfter
	}
	base := p.Backoff
	if base == 0 {
		base = DefaultBackoff
	}
	d := maxBackoff
	if n < 16 { // beyond that the shift could overflow
		d = min(base<<n, maxBackoff)
	}
	return d - time.Duration(rand.Int64N(int64(d)/4+1)) // so that many clients do not come back at once
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p Policy) cancelled(ctx context.Context) *llm.Error {
	return &llm.Error{Kind: llm.ErrCancelled, Provider: p.Provider, Err: context.Cause(ctx)}
}

// classify says what the error of an attempt means. What the caller did comes first, then what the
// watch saw, then what the vendor said.
func (p Policy) classify(ctx context.Context, w *watch, err error) *llm.Error {
	if ctx.Err() != nil {
		return p.cancelled(ctx)
	}
	var e *llm.Error
	switch stalled, status, readErr := w.seen(); {
	case stalled:
		e = &llm.Error{Kind: llm.ErrStalled, Err: fmt.Errorf("no byte arrived for %s", w.stall)}
	case readErr != nil && !errors.Is(readErr, errTooLarge) && status < http.StatusBadRequest:
		// Whatever a reader made of the torn end, the reason is that it was torn.
		e = &llm.Error{Kind: llm.ErrCut, Err: readErr}
	case errors.As(err, &e):
		e = &llm.Error{Kind: e.Kind, Status: e.Status, RetryAfter: e.RetryAfter, Err: e.Err}
	case status == 0:
		e = &llm.Error{Kind: llm.ErrNetwork, Err: err}
	case errors.Is(readErr, errTooLarge):
		e = &llm.Error{Kind: llm.ErrGarbage, Err: readErr}
	default:
		e = &llm.Error{Kind: llm.ErrGarbage, Err: err}
	}
	e.Provider = p.Provider
	text := p.Redact(e.Err.Error())
	if e.Kind == llm.ErrAuth && p.KeyHint != "" {
		text += "; " + p.KeyHint
	}
	// The vendors' errors hold the request with its headers, so only their text goes on.
	e.Err = errors.New(text)
	return e
}

// Redact removes the secrets and cuts a text to one line that can be shown.
func (p Policy) Redact(text string) string {
	for _, s := range p.Secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "�")
	const most = 600
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// Guard calls code of a vendor that reads what a server sent, and turns a panic into garbage.
func Guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &llm.Error{Kind: llm.ErrGarbage, Err: fmt.Errorf("the answer broke its reader: %v at %s", r, panicSite())}
		}
	}()
	return f()
}

// panicSite is the first line of the stack below the runtime's own.
func panicSite() string {
	_, after, _ := strings.Cut(string(debug.Stack()), "panic(")
	lines := strings.Split(after, "\n")
	if len(lines) > 3 {
		return strings.TrimSpace(lines[3])
	}
	return "an unknown place"
}

// OpenAIReasoning begins what package openai keeps in [llm.Thinking]'s Signature or Redacted. A conversation may change
// its model, and no vendor takes another one's reasoning back.
const OpenAIReasoning = "openai:"

// CallID is the id of a tool call to which the server gave none: the nth call, from 0, of the answer
// to a request.
func CallID(req *llm.Request, n int) string { return fmt.Sprintf("call_%d_%d", len(req.Messages), n) }

// Unfinished is the error of a stream that ended without a reading error and before its end was told,
// after so many events were understood.
func Unfinished(ctx context.Context, events int) *llm.Error {
	w, _ := ctx.Value(watchKey{}).(*watch)
	switch {
	case events > 0:
		return &llm.Error{Kind: llm.ErrCut, Err: fmt.Errorf("the stream ended after %d events, before the answer did", events)}
	case w != nil && w.bytes() == 0:
		return &llm.Error{Kind: llm.ErrEmpty, Err: errors.New("the server sent nothing")}
	}
	return &llm.Error{Kind: llm.ErrGarbage, Err: errors.New("the answer holds no event of the vendor's format; is the base URL right?")}
}
