package openai_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/planmode-dev/planmode/internal/agenttest"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/internal/vendortest"
	"github.com/planmode-dev/planmode/llm/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var levels = []llm.ThinkingLevel{llm.ThinkingLow, llm.ThinkingMedium, llm.ThinkingHigh}

var model = llm.Model{Provider: "openai", ID: "gpt-5.5", Levels: levels}

func newProvider(api openai.API) func(vendortest.Config) (llm.Provider, error) {
	return func(c vendortest.Config) (llm.Provider, error) {
		return openai.New(openai.Options{
			APIKey: vendortest.Key, BaseURL: c.URL, API: api, HTTPClient: c.HTTPClient, Retries: c.Retries,
			StallTimeout: c.StallTimeout, Backoff: time.Millisecond,
		})
	}
}

var (
	chat = vendortest.Vendor{
		Start: agenttest.StartOpenAI, New: newProvider(openai.APIAuto), Model: model, NoThinkingBack: true,
	}
	responses = vendortest.Vendor{Start: agenttest.StartOpenAI, New: newProvider(openai.APIResponses), Model: model}
)

func TestChat(t *testing.T)      { chat.Run(t) }
func TestResponses(t *testing.T) { responses.Run(t) }

func FuzzChat(f *testing.F)             { chat.Fuzz(f, chatSeeds()...) }
func FuzzResponses(f *testing.F)        { responses.Fuzz(f, responsesSeeds()...) }
func TestChatMutated(t *testing.T)      { chat.Mutate(t, chatSeeds()...) }
func TestResponsesMutated(t *testing.T) { responses.Mutate(t, responsesSeeds()...) }

func chatSeeds() []string {
	const finish = `data: {"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	return []string{
		`data: {"id":"a","choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n" + finish + "data: [DONE]\n\n",
		`data: {"id":"a","choices":[{"index":0,"delta":{"tool_calls":[{"index":-1,"id":"","function":{"name":"n","arguments":"{"}}]}}]}` + "\n\n" + finish,
		`data: {"id":"a","choices":[{"index":0,"delta":{"tool_calls":[{"index":9223372036854775807}]}}]}` + "\n\n",
		`data: {"id":"a","choices":[{"index":127,"delta":{"reasoning":"x"}},{"index":-5}],"usage":{"prompt_tokens":-1}}` + "\n\n" + finish,
		`data: {"error":{"message":"x","type":"t","code":502}}` + "\n\n", `data: {"error":"text"}` + "\n\n", finish, "data: [DONE]\n\n",
	}
}

func responsesSeeds() []string {
	const done = `data: {"type":"response.completed","response":{"output":[]}}` + "\n\n"
	return []string{
		`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","name":"n"}}` + "\n\n" +
			`data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":"{"}` + "\n\n" +
			`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","name":"n","arguments":"{"}}` + "\n\n" + done,
		`data: {"type":"response.output_item.done","item":{"type":"reasoning","summary":[{"text":"x"}]}}` + "\n\n" + done,
		`data: {"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}]}}` + "\n\n",
		`data: {"type":"response.failed","response":{"error":null}}` + "\n\n", `data: {"type":"error","code":null}` + "\n\n",
		`data: {"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}` + "\n\n", done,
	}
}

// serve answers each request with the chunks, one after another.
func serve(t *testing.T, chunks ...string) llm.Provider {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, c := range chunks {
			_, _ = w.Write([]byte("data: " + c + "\n\n"))
		}
	}))
	t.Cleanup(s.Close)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	p, err := openai.New(openai.Options{BaseURL: s.URL, Retries: -1, HTTPClient: &http.Client{Transport: tr}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var hello = llm.Request{Model: model, Messages: []llm.Message{llm.UserText("x")}}

// What servers that are compatible, but not quite, are known to send.
func TestOddServers(t *testing.T) {
	call := func(id, name, args string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: name, Input: json.RawMessage(args)}
	}
	tests := []struct {
		name   string
		chunks []string
		want   []llm.Part
		stop   llm.StopReason
		usage  llm.Usage
	}{
		{"all calls have index 0", []string{
			`{"id":"a","choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"read","arguments":"{\"a\":1}"}}]}}]}`,
			`{"id":"a","choices":[{"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":"write","arguments":"{}"}}]},"finish_reason":"stop"}]}`,
		}, []llm.Part{call("x", "read", `{"a":1}`), call("y", "write", `{}`)}, llm.StopToolUse, llm.Usage{}},
		{"calls without ids", []string{
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"read","arguments":""}},{"index":1,"function":{"name":"look"}}]},"finish_reason":"tool_calls"}]}`,
		}, []llm.Part{call("call_1_0", "read", `{}`), call("call_1_1", "look", `{}`)}, llm.StopToolUse, llm.Usage{}},
		{"ids of chunks change, [DONE] without a reason", []string{
			`{"id":"a","choices":[{"delta":{"content":"one "}}]}`, `{"id":"b","choices":[{"delta":{"content":"two"}}]}`, `[DONE]`,
		}, []llm.Part{llm.Text{Text: "one two"}}, llm.StopEndTurn, llm.Usage{}},
		{"a reason without [DONE]", []string{
			`{"id":"a","choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`,
		}, []llm.Part{llm.Text{Text: "x"}}, llm.StopEndTurn, llm.Usage{}},
		{"usage with each chunk", []string{
			`{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`,
			`{"choices":[{"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":4}}}`,
		}, []llm.Part{llm.Text{Text: "x"}}, llm.StopMaxTokens, llm.Usage{Input: 1, CacheRead: 4, Output: 2}},
		{"reasoning under its other name", []string{
			`{"choices":[{"delta":{"reasoning":"hm ","content":null}}]}`, `{"choices":[{"delta":{"reasoning":"so"}}]}`,
			`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`,
		}, []llm.Part{llm.Thinking{Text: "hm so"}, llm.Text{Text: "x"}}, llm.StopEndTurn, llm.Usage{}},
		{"a refusal", []string{
			`{"choices":[{"delta":{"refusal":"I will not."},"finish_reason":"stop"}]}`,
		}, []llm.Part{llm.Text{Text: "I will not."}}, llm.StopRefusal, llm.Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := serve(t, tt.chunks...).Stream(t.Context(), hello, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(resp.Message.Parts, tt.want) || resp.Stop != tt.stop || resp.Usage != tt.usage {
				t.Errorf("got  %+v\nwant %+v %s %+v", resp, tt.want, tt.stop, tt.usage)
			}
		})
	}
}

func TestErrorsInTheStream(t *testing.T) {
	for chunk, kind := range map[string]llm.ErrorKind{
		`{"error":{"message":"Provider returned error","code":502}}`:                                                           llm.ErrOverloaded,
		`{"error":{"message":"slow down","code":429}}`:                                                                         llm.ErrRate,
		`{"error":{"message":"no","code":"context_length_exceeded"}}`:                                                          llm.ErrTooLong,
		`{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error","code":400}}`: llm.ErrTooLong,
		`{"error":"model crashed"}`:                                                                                            llm.ErrOverloaded,
	} {
		_, err := serve(t, chunk).Stream(t.Context(), hello, nil)
		if e, ok := err.(*llm.Error); !ok || e.Kind != kind || e.Err.Error() == "" { //nolint:errorlint // the contract is this very type
			t.Errorf("%s: got %v, want %s", chunk, err, kind)
		}
	}
}

// DeepSeek's models refuse to go on with tool results unless their reasoning comes back.
func TestReasoningContentGoesBackWithinTheLoop(t *testing.T) {
	s := agenttest.Start(t, agenttest.StartOpenAI, "=== turn\nthinking: Hm.\ncall: read {}\n=== turn\ntext: done\n=== turn\ntext: ok", agenttest.Options{})
	p, err := openai.New(openai.Options{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	req := hello
	say := func(m llm.Message) {
		t.Helper()
		req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], m)
		resp, err := p.Stream(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, resp.Message)
	}
	req.Messages = nil
	say(llm.UserText("x"))
	say(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.ToolResult{CallID: req.Messages[1].Calls()[0].ID}}})
	say(llm.UserText("and?"))
	for i, want := range []bool{false, true, false} {
		if got := strings.Contains(string(s.Requests()[i].Body), `"reasoning_content":"Hm."`); got != want {
			t.Errorf("request %d returns the reasoning: %t, want %t", i+1, got, want)
		}
	}
}

// body returns what was sent, decoded.
func body(t *testing.T, api openai.API, req llm.Request) map[string]any {
	t.Helper()
	s := agenttest.Start(t, agenttest.StartOpenAI, "=== turn\nmatch: conversation contains \"\"\ntext: ok\n=== turn\ntext: ok", agenttest.Options{})
	p, err := newProvider(api)(vendortest.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	var b map[string]any
	if err := json.Unmarshal(s.Requests()[0].Body, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRequestFields(t *testing.T) {
	req := hello
	req.MaxTokens, req.CacheKey, req.Thinking = 99, "session-1", llm.ThinkingXHigh
	b := body(t, openai.APIChat, req)
	// Servers that are not OpenAI's may refuse fields that they do not know.
	if b["max_tokens"] != 99.0 || b["max_completion_tokens"] != nil || b["prompt_cache_key"] != nil || b["reasoning_effort"] != "high" {
		t.Errorf("chat: %v", b)
	}
	b = body(t, openai.APIResponses, req)
	if b["max_output_tokens"] != 99.0 || b["prompt_cache_key"] != "session-1" || !reflect.DeepEqual(b["reasoning"], map[string]any{"effort": "high", "summary": "auto"}) {
		t.Errorf("responses: %v", b)
	}
	req.Thinking = llm.ThinkingOff
	if b = body(t, openai.APIChat, req); b["reasoning_effort"] != nil {
		t.Errorf("chat, off: %v", b)
	}
	if b = body(t, openai.APIResponses, req); !reflect.DeepEqual(b["reasoning"], map[string]any{"effort": "low"}) {
		t.Errorf("responses, off: %v", b)
	}
}

func TestPicturesInResults(t *testing.T) {
	img := llm.Image{MediaType: "image/png", Data: []byte{1, 2, 3}}
	req := hello
	req.Messages = append(req.Messages[:1:1],
		llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "a", Name: "look", Input: json.RawMessage(`{}`)}}},
		llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.ToolResult{CallID: "a", Parts: []llm.Part{llm.Text{Text: "here"}, img}}}})
	for _, api := range []openai.API{openai.APIChat, openai.APIResponses} {
		if b, err := json.Marshal(body(t, api, req)); err != nil || !strings.Contains(string(b), "data:image/png;base64,AQID") {
			t.Errorf("%s: the picture was lost: %s", api, b)
		}
	}
}

func TestNew(t *testing.T) {
	t.Setenv(openai.KeyEnv, "")
	t.Setenv(openai.BaseURLEnv, "")
	if _, err := openai.New(openai.Options{}); err == nil || !strings.Contains(err.Error(), "set OPENAI_API_KEY") {
		t.Errorf("without a key: %v", err)
	}
	if _, err := openai.New(openai.Options{API: "soap", APIKey: "x"}); err == nil || !strings.Contains(err.Error(), "soap") {
		t.Errorf("with an unknown API: %v", err)
	}
	s := agenttest.Start(t, agenttest.StartOpenAI, "=== turn\ntext: hi", agenttest.Options{APIKey: "from-env"})
	t.Setenv(openai.KeyEnv, "from-env")
	t.Setenv(openai.BaseURLEnv, s.URL+"/")
	p, err := openai.New(openai.Options{Headers: map[string]string{"X-Team": "blue"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stream(t.Context(), hello, nil); err != nil {
		t.Error(err)
	}
	if r := s.Requests()[0]; r.Header.Get("X-Team") != "blue" || r.Path != "/v1/chat/completions" {
		t.Errorf("sent to %s with %v", r.Path, r.Header)
	}
	// The key in the environment is not for a server that the caller names, which may need none.
	open := agenttest.Start(t, agenttest.StartOpenAI, "=== turn\ntext: hi", agenttest.Options{})
	if p, err = openai.New(openai.Options{BaseURL: open.URL, Retries: -1}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stream(t.Context(), hello, nil); err != nil {
		t.Error(err)
	}
	if h := open.Requests()[0].Header; h.Get("Authorization") != "" {
		t.Errorf("a key from the environment went to another server: %v", h)
	}
}
