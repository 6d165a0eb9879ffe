package wire

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/planmode-dev/planmode/llm"
)

// A Refusal is how a server says no, either by an HTTP status or by an error in the stream.
type Refusal struct {
	Status  int // 200 in a stream
	Header  http.Header
	Type    string // the vendor's word, such as "overloaded_error" or "context_length_exceeded"
	Message string
}

// kinds by the vendors' words, which say more than a status.
var kinds = map[string]llm.ErrorKind{
	"authentication_error":      llm.ErrAuth,
	"permission_error":          llm.ErrAuth,
	"billing_error":             llm.ErrAuth,
	"invalid_api_key":           llm.ErrAuth,
	"insufficient_quota":        llm.ErrAuth, // a 429 that no waiting cures
	"rate_limit_error":          llm.ErrRate,
	"rate_limit_exceeded":       llm.ErrRate,
	"overloaded_error":          llm.ErrOverloaded,
	"api_error":                 llm.ErrOverloaded,
	"timeout_error":             llm.ErrOverloaded,
	"server_error":              llm.ErrOverloaded,
	"request_too_large":         llm.ErrTooLong,
	"context_length_exceeded":   llm.ErrTooLong,
	"exceed_context_size_error": llm.ErrTooLong, // llama.cpp
}

// tooLong are the ways in which servers say that a conversation is too long. They have no common code.
var tooLong = []string{
	"prompt is too long", "maximum context length", "context length", "context window", "context size",
	"exceed context limit", "exceeds the context", "too many tokens", "input is too long", "max_tokens_per_request",
}

// Error is the refusal as an [llm.Error].
func (r Refusal) Error() *llm.Error {
	text := r.Message
	if text == "" {
		text = strings.TrimSpace(r.Type + " " + http.StatusText(r.Status))
	}
	if text == "" {
		text = "the server gave no reason"
	}
	status := r.Status
	if status < http.StatusBadRequest {
		status = 0
	}
	return &llm.Error{Kind: r.kind(), Status: status, RetryAfter: retryAfter(r.Header, time.Now()), Err: errors.New(text)}
}

func (r Refusal) kind() llm.ErrorKind {
	if k, ok := kinds[r.Type]; ok {
		return k
	}
	switch {
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden, r.Status == http.StatusPaymentRequired:
		return llm.ErrAuth
	case r.Status == http.StatusTooManyRequests:
		return llm.ErrRate
	case r.Status == http.StatusRequestEntityTooLarge, r.saysTooLong():
		return llm.ErrTooLong
	case r.Status >= http.StatusInternalServerError, r.Status == http.StatusRequestTimeout, r.Status == http.StatusConflict:
		return llm.ErrOverloaded
	case r.Status < http.StatusBadRequest && r.Type != "invalid_request_error" && r.Type != "not_found_error":
		// An error in the stream whose word is not known: the request was accepted before.
		return llm.ErrOverloaded
	}
	return llm.ErrBadRequest
}

func (r Refusal) saysTooLong() bool {
	msg := strings.ToLower(r.Message)
	for _, t := range tooLong {
		if strings.Contains(msg, t) {
			return true
		}
	}
	return false
}

// retryAfter reads the header in seconds, as a date, or in milliseconds under the name that both
// vendors use. It is 0 if there is none or if it makes no sense.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}
