package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/planmode-dev/planmode/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "", 0},
		{"Retry-After", "3", 3 * time.Second},
		{"Retry-After", "0.5", time.Second / 2},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "Thu, 01 Jan 2026 12:01:00 GMT", time.Minute},
		{"Retry-After", "Thu, 01 Jan 2026 11:59:00 GMT", 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"Retry-After-Ms", "Inf", 0},
	} {
		h := http.Header{}
		h.Set(tt.name, tt.value)
		if got := retryAfter(h, now); got != tt.want {
			t.Errorf("%s: %s is %s, want %s", tt.name, tt.value, got, tt.want)
		}
	}
	if got := retryAfter(nil, now); got != 0 {
		t.Errorf("without headers: %s", got)
	}
}

func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		r    Refusal
		want llm.ErrorKind
	}{
		{Refusal{Status: 401}, llm.ErrAuth},
		{Refusal{Status: 402}, llm.ErrAuth},
		{Refusal{Status: 403}, llm.ErrAuth},
		{Refusal{Status: 404, Type: "not_found_error", Message: "model: x"}, llm.ErrBadRequest},
		{Refusal{Status: 408}, llm.ErrOverloaded},
		{Refusal{Status: 413}, llm.ErrTooLong},
		{Refusal{Status: 429}, llm.ErrRate},
		{Refusal{Status: 429, Message: "too many tokens per minute"}, llm.ErrRate},
		{Refusal{Status: 429, Type: "insufficient_quota"}, llm.ErrAuth},
		{Refusal{Status: 529}, llm.ErrOverloaded},
		{Refusal{Status: 400, Type: "invalid_request_error", Message: "prompt is too long: 210000 tokens > 200000 maximum"}, llm.ErrTooLong},
		{Refusal{Status: 400, Message: "This model's maximum context length is 8192 tokens."}, llm.ErrTooLong},
		{Refusal{Status: 400, Message: "input length and `max_tokens` exceed context limit: 1 + 2 > 2"}, llm.ErrTooLong},
		{Refusal{Status: 400, Message: "tools.0.name: too long"}, llm.ErrBadRequest},
		{Refusal{Status: 200, Type: "overloaded_error"}, llm.ErrOverloaded},
		{Refusal{Status: 200, Type: "invalid_request_error"}, llm.ErrBadRequest},
		{Refusal{Status: 200, Type: "what is this"}, llm.ErrOverloaded},
	} {
		if got := tt.r.Error(); got.Kind != tt.want || got.Err.Error() == "" {
			t.Errorf("%+v: got %v, want %s", tt.r, got, tt.want)
		}
	}
}

func TestRedact(t *testing.T) {
	p := Policy{Secrets: []string{"", "s3cret"}}
	if got := p.Redact("a s3cret\n\tand s3cret"); got != "a *** and ***" {
		t.Errorf("got %q", got)
	}
	if got := p.Redact(strings.Repeat("ä", 5000) + "\xff"); len(got) > 610 || !strings.HasSuffix(got, "ä…") {
		t.Errorf("got %d bytes that end with %q", len(got), got[len(got)-8:])
	}
}

// The waits double up to their limit, and each is a little shorter than that, but never more than a quarter.
func TestBackoff(t *testing.T) {
	p := Policy{}
	for n := range 80 {
		full := min(DefaultBackoff<<min(n, 10), maxBackoff)
		if d := p.wait(n, &llm.Error{}); d > full || d < full*3/4 {
			t.Errorf("retry %d waits %s, of %s", n, d, full)
		}
	}
	if d := p.wait(5, &llm.Error{RetryAfter: time.Minute}); d != time.Minute {
		t.Errorf("the server's wish became %s", d)
	}
}

// The attempts are counted, announced and spaced; the clock is a fake.
func TestPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Policy{Provider: "x", Retries: 2}
		attempts, announced := 0, 0
		begin := time.Now()
		_, err := p.Stream(t.Context(), func(d llm.Delta) {
			if d.Retry != nil {
				announced++
			}
		}, func(context.Context, func(llm.Delta)) (llm.Response, error) {
			attempts++
			return llm.Response{}, errors.New("refused")
		})
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrNetwork || attempts != 3 || announced != 2 {
			t.Errorf("%d attempts, %d announced, %v", attempts, announced, err)
		}
		if took, least := time.Since(begin), DefaultBackoff*3*3/4; took < least || took > DefaultBackoff*3 {
			t.Errorf("it took %s, want about %s", took, least)
		}
	})
}

func TestGuard(t *testing.T) {
	err := Guard(func() error {
		panic("index out of range")
	})
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrGarbage || !strings.Contains(err.Error(), "wire_test.go") {
		t.Errorf("got %v", err)
	}
	if want := fmt.Errorf("x"); !errors.Is(Guard(func() error { return want }), want) {
		t.Error("an error did not pass through")
	}
}
