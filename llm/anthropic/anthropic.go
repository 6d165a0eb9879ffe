// Package anthropic speaks Anthropic's Messages API, and that of servers compatible with it. It owns
// the translation between [llm] and that wire; how models and prices are found is the catalog's.
//
// Prompts are cached: the tools, the system prompt and the conversation up to its last user message
// each carry a cache_control mark.
package anthropic

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/internal/wire"
)

// What [New] reads from the environment, and where Anthropic's own server is.
const (
	KeyEnv         = "ANTHROPIC_API_KEY"
	BaseURLEnv     = "ANTHROPIC_BASE_URL"
	DefaultBaseURL = "https://api.anthropic.com"
)

// Options configure [New]. The zero value talks to Anthropic with the key from the environment.
type Options struct {
	// APIKey is sent as a bearer token, and to servers other than Anthropic's in x-api-key too, because
	// some know only that. "" means the value of [KeyEnv], unless BaseURL is set: a key from the
	// environment goes only to Anthropic or to the server that the environment names.
	APIKey string
	// BaseURL is the server, without "/v1". "" means the value of [BaseURLEnv], then [DefaultBaseURL].
	BaseURL string
	// Name is the provider in errors. "" means "anthropic".
	Name string
	// Headers are sent with each request.
	Headers map[string]string
	// HTTPClient is the connection. nil means one of its own, with the environment's proxy.
	HTTPClient *http.Client
	// Retries is how often a request that failed for a passing reason is sent again. 0 means 4, a
	// negative number never.
	Retries int
	// Backoff is the wait before the first retry; it doubles up to 30 s. 0 means 500 ms. A server's
	// Retry-After of up to 2 minutes goes before; a longer one ends the request.
	Backoff time.Duration
	// StallTimeout is how long the server may send nothing. 0 means 3 minutes, a negative duration for ever.
	StallTimeout time.Duration
}

type provider struct {
	messages sdk.MessageService
	policy   wire.Policy
}

// New returns a provider. It fails, with an [llm.Error] of kind ErrAuth, when Anthropic's own server is
// meant and there is no key.
func New(o Options) (llm.Provider, error) {
	name := o.Name
	if name == "" {
		name = "anthropic"
	}
	key, base := o.APIKey, o.BaseURL
	if base == "" {
		if key == "" {
			key = os.Getenv(KeyEnv)
		}
		base = os.Getenv(BaseURLEnv)
	}
	if base == "" {
		base = DefaultBaseURL
		if key == "" {
			return nil, &llm.Error{Kind: llm.ErrAuth, Provider: name, Err: errors.New("there is no API key; set " + KeyEnv)}
		}
	}
	// The base URL is given without "/v1"; many people copy it with.
	base = strings.TrimSuffix(strings.TrimSuffix(base, "/"), "/v1")
	opts := []option.RequestOption{
		option.WithBaseURL(base), option.WithHTTPClient(wire.Client(o.HTTPClient)), option.WithMaxRetries(0),
	}
	if key != "" {
		opts = append(opts, option.WithAPIKey(key))
		if base != DefaultBaseURL {
			opts = append(opts, option.WithHeader("X-Api-Key", key))
		}
	}
	for k, v := range o.Headers {
		opts = append(opts, option.WithHeader(k, v))
	}
	return &provider{
		// The service alone, not sdk.NewClient: that reads the environment and the disk for credentials.
		messages: sdk.NewMessageService(opts...),
		policy: wire.Policy{
			Provider: name, Retries: o.Retries, Backoff: o.Backoff, Stall: o.StallTimeout, Secrets: []string{key},
			KeyHint: "check the API key (" + KeyEnv + ") and what it may use",
		},
	}, nil
}

// Stream implements [llm.Provider].
func (p *provider) Stream(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	params, err := encode(&req)
	if err != nil {
		return llm.Response{}, &llm.Error{Kind: llm.ErrBadRequest, Provider: p.policy.Provider, Err: err}
	}
	return p.policy.Stream(ctx, onDelta, func(ctx context.Context, emit func(llm.Delta)) (llm.Response, error) {
		stream := p.messages.NewStreaming(ctx, params)
		defer func() { _ = stream.Close() }() // the answer is read or void by then
		a := answer{emit: emit}
		if err := a.read(stream); err != nil {
			return llm.Response{}, refusal(err)
		}
		if !a.stopped {
			return llm.Response{}, wire.Unfinished(ctx, a.events)
		}
		return a.response(&req)
	})
}

// refusal turns the SDK's error into ours; other errors are left to the policy.
func refusal(err error) error {
	var e *sdk.Error
	if !errors.As(err, &e) {
		return err
	}
	r := wire.Refusal{Status: e.StatusCode, Type: string(e.Type()), Message: e.Message}
	if e.Response != nil {
		r.Header = e.Response.Header
	}
	if r.Message == "" {
		r.Message = e.RawJSON()
	}
	return r.Error()
}
