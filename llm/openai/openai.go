// Package openai speaks OpenAI's two APIs: Chat Completions, which nearly every other server speaks
// too (Ollama, llama.cpp, vLLM, OpenRouter, Gemini's compatible endpoint, …), and Responses, which
// keeps a model's reasoning between its tool calls and is the only way to some of OpenAI's own models.
// It owns the translation between [llm] and those wires.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/internal/wire"
)

// What [New] reads from the environment, and where OpenAI's own server is.
const (
	KeyEnv         = "OPENAI_API_KEY"
	BaseURLEnv     = "OPENAI_BASE_URL"
	DefaultBaseURL = "https://api.openai.com/v1"
)

// An API is one of the two wires.
type API string

// The APIs. Auto is Responses on OpenAI's own server and Chat Completions on any other.
const (
	APIAuto      API = ""
	APIChat      API = "chat"
	APIResponses API = "responses"
)

// Options configure [New]. The zero value talks to OpenAI with the key from the environment.
type Options struct {
	// APIKey is sent as a bearer token. "" means the value of [KeyEnv], unless BaseURL is set: a key
	// from the environment goes only to OpenAI or to the server that the environment names. Servers
	// other than OpenAI's may need none.
	APIKey string
	// BaseURL is the server with its version, such as "http://127.0.0.1:11434/v1". "" means the value
	// of [BaseURLEnv], then [DefaultBaseURL].
	BaseURL string
	// API is the wire. "" means APIAuto.
	API API
	// Name is the provider in errors. "" means "openai".
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
	chat      sdk.ChatCompletionService
	responses responses.ResponseService
	api       API
	own       bool // OpenAI's own server, which knows all of its own fields
	policy    wire.Policy
}

// New returns a provider. It fails, with an [llm.Error] of kind ErrAuth, when OpenAI's own server is
// meant and there is no key, and of kind ErrConfig when the API is not known.
func New(o Options) (llm.Provider, error) {
	name := cmp.Or(o.Name, "openai")
	key, base := o.APIKey, o.BaseURL
	if base == "" {
		key = cmp.Or(key, os.Getenv(KeyEnv))
		base = cmp.Or(os.Getenv(BaseURLEnv), DefaultBaseURL)
	}
	base = strings.TrimSuffix(base, "/")
	own := base == DefaultBaseURL
	if own && key == "" {
		return nil, &llm.Error{Kind: llm.ErrAuth, Provider: name, Err: errors.New("there is no API key; set " + KeyEnv)}
	}
	api := o.API
	switch api {
	case APIAuto:
		if api = APIChat; own {
			api = APIResponses
		}
	case APIChat, APIResponses:
	default:
		return nil, &llm.Error{Kind: llm.ErrConfig, Provider: name, Err: errors.New("the API " + string(api) + " is neither chat nor responses")}
	}
	opts := []option.RequestOption{
		option.WithBaseURL(base + "/"), option.WithHTTPClient(wire.Client(o.HTTPClient)), option.WithMaxRetries(0),
	}
	if key != "" {
		opts = append(opts, option.WithAPIKey(key))
	}
	for k, v := range o.Headers {
		opts = append(opts, option.WithHeader(k, v))
	}
	return &provider{
		// The services alone, not sdk.NewClient: that reads the environment for credentials, and it
		// links all of OpenAI's other APIs into the program.
		chat: sdk.NewChatCompletionService(opts...), responses: responses.NewResponseService(opts...),
		api: api, own: own,
		policy: wire.Policy{
			Provider: name, Retries: o.Retries, Backoff: o.Backoff, Stall: o.StallTimeout, Secrets: []string{key},
			KeyHint: "check the API key and what it may use",
		},
	}, nil
}

// Stream implements [llm.Provider].
func (p *provider) Stream(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	attempt, err := p.attempt(&req)
	if err != nil {
		return llm.Response{}, &llm.Error{Kind: llm.ErrBadRequest, Provider: p.policy.Provider, Err: err}
	}
	return p.policy.Stream(ctx, onDelta, attempt)
}

func (p *provider) attempt(req *llm.Request) (wire.Attempt, error) {
	if p.api == APIResponses {
		params, err := encodeResponses(req)
		return func(ctx context.Context, emit func(llm.Delta)) (llm.Response, error) {
			stream := p.responses.NewStreaming(ctx, params)
			defer func() { _ = stream.Close() }() // the answer is read or void by then
			a := &responsesAnswer{emit: emit}
			return finish(ctx, req, a, read(stream, a))
		}, err
	}
	params, err := encodeChat(req, p.own)
	return func(ctx context.Context, emit func(llm.Delta)) (llm.Response, error) {
		stream := p.chat.NewStreaming(ctx, params)
		defer func() { _ = stream.Close() }() // the answer is read or void by then
		a := newChatAnswer(emit)
		return finish(ctx, req, a, read(stream, a))
	}, err
}

// answer is one answer of an API as it arrives.
type answer[Event any] interface {
	// add takes an event in; it runs guarded, because it hands a server's bytes to the SDK.
	add(Event) error
	// show emits what the event that was added brought.
	show(Event)
	result
}

type result interface {
	events() int
	// finished says whether the end was told; done, whether the stream ended with the closing mark.
	finished(done bool) bool
	response(*llm.Request) (llm.Response, error)
}

func read[Event any](stream *ssestream.Stream[Event], a answer[Event]) error {
	for {
		var more bool
		err := wire.Guard(func() error {
			if more = stream.Next(); !more {
				return stream.Err()
			}
			return a.add(stream.Current())
		})
		if err != nil || !more {
			return err
		}
		a.show(stream.Current())
	}
}

func finish(ctx context.Context, req *llm.Request, a result, err error) (llm.Response, error) {
	if err != nil {
		return llm.Response{}, refusal(err)
	}
	if !a.finished(strings.Contains(wire.Tail(ctx), "[DONE]")) {
		return llm.Response{}, wire.Unfinished(ctx, a.events())
	}
	return a.response(req)
}

// errorObject is how servers describe an error. Code is a word, a number or missing.
type errorObject struct {
	Message string
	Type    string
	Code    any
}

func (e errorObject) refusal(status int) wire.Refusal {
	r := wire.Refusal{Status: status, Type: e.Type, Message: e.Message}
	switch c := e.Code.(type) {
	case string:
		r.Type = cmp.Or(c, e.Type)
	case float64:
		if c >= http.StatusBadRequest && c < 600 {
			r.Status = int(c)
		}
	}
	return r
}

// refusal turns the SDK's errors into ours; other errors are left to the policy.
func refusal(err error) error {
	var e *sdk.Error
	if errors.As(err, &e) {
		r := errorObject{Message: e.Message, Type: e.Type, Code: e.Code}.refusal(e.StatusCode)
		if e.Response != nil {
			r.Header = e.Response.Header
		}
		r.Message = cmp.Or(r.Message, e.RawJSON())
		return r.Error()
	}
	var s *ssestream.StreamError
	if errors.As(err, &s) {
		var data struct{ Error json.RawMessage }
		var o errorObject
		if json.Unmarshal(s.Event.Data, &data) != nil || json.Unmarshal(data.Error, &o) != nil {
			o.Message = string(data.Error) // some servers send a string
		}
		return o.refusal(http.StatusOK).Error()
	}
	return err
}
