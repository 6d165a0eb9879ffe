package llm

import (
	"fmt"
	"time"
)

// An ErrorKind says what a caller can do about a failed request.
type ErrorKind string

// The kinds of failure.
const (
	ErrAuth       ErrorKind = "auth"        // the key is missing, wrong or lacks the right
	ErrRate       ErrorKind = "rate_limit"  // too many requests or tokens
	ErrOverloaded ErrorKind = "overloaded"  // the vendor cannot answer now (5xx)
	ErrNetwork    ErrorKind = "network"     // the vendor cannot be reached
	ErrStalled    ErrorKind = "stalled"     // the stream went silent
	ErrCut        ErrorKind = "cut"         // the stream ended before the answer did
	ErrGarbage    ErrorKind = "garbage"     // the answer is not in the vendor's format
	ErrEmpty      ErrorKind = "empty"       // the answer holds nothing
	ErrTooLong    ErrorKind = "too_long"    // the conversation does not fit into the model's context
	ErrBadRequest ErrorKind = "bad_request" // the vendor refuses the request as it is
	ErrCancelled  ErrorKind = "cancelled"   // the caller's context ended
	ErrConfig     ErrorKind = "config"      // the model or provider is not known or not set up
)

// An Error is a failed request.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Status     int           // HTTP status, or 0
	RetryAfter time.Duration // as the vendor asked, or 0
	Err        error
}

// Error says what happened, in one line.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("llm: %s: %s (HTTP %d): %v", e.Provider, e.Kind, e.Status, e.Err)
	}
	return fmt.Sprintf("llm: %s: %s: %v", e.Provider, e.Kind, e.Err)
}

// Unwrap returns the vendor's or the network's own error.
func (e *Error) Unwrap() error { return e.Err }

// Temporary says whether the same request may succeed later.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case ErrRate, ErrOverloaded, ErrNetwork, ErrStalled, ErrCut, ErrGarbage, ErrEmpty:
		return true
	case ErrAuth, ErrTooLong, ErrBadRequest, ErrCancelled, ErrConfig:
	}
	return false
}
