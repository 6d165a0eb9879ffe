package anthropic_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/planmode-dev/planmode/internal/agenttest"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/anthropic"
	"github.com/planmode-dev/planmode/llm/internal/vendortest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func model(id string) llm.Model {
	return llm.Model{
		Provider: "anthropic", ID: id, ContextWindow: 200_000, MaxOutput: 32_000,
		Levels: []llm.ThinkingLevel{llm.ThinkingLow, llm.ThinkingMedium, llm.ThinkingHigh, llm.ThinkingXHigh},
	}
}

func newProvider(c vendortest.Config) (llm.Provider, error) {
	return anthropic.New(anthropic.Options{
		APIKey: vendortest.Key, BaseURL: c.URL, HTTPClient: c.HTTPClient, Retries: c.Retries,
		StallTimeout: c.StallTimeout, Backoff: time.Millisecond,
	})
}

var vendor = vendortest.Vendor{
	Start: agenttest.StartAnthropic, New: newProvider, Model: model("claude-sonnet-5"), Signatures: true,
}

func TestSuite(t *testing.T) { vendor.Run(t) }

func FuzzStream(f *testing.F)  { vendor.Fuzz(f, seeds()...) }
func TestMutated(t *testing.T) { vendor.Mutate(t, seeds()...) }

// seeds are streams, well-formed and not.
func seeds() []string {
	const start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1}}}\n\n"
	const stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	event := func(name, data string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"," + data + "}\n\n"
	}
	return []string{
		start + stop, start + event("ping", `"x":1`),
		start + event("content_block_start", `"index":0,"content_block":{"type":"tool_use","id":"","name":"n","input":{"a":1}}`) +
			event("content_block_stop", `"index":0`) + stop,
		start + event("content_block_start", `"index":0,"content_block":{"type":"text","text":"a"}`) +
			event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"b"}`) + event("content_block_stop", `"index":0`) +
			event("message_delta", `"delta":{"stop_reason":"refusal"},"usage":{"output_tokens":-1}`) + stop,
		start + event("content_block_delta", `"index":9223372036854775807,"delta":{"type":"input_json_delta","partial_json":"{"}`),
		start + event("content_block_start", `"index":0,"content_block":null`) + event("content_block_stop", `"index":-1`),
		start + event("content_block_start", `"index":0,"content_block":{"type":"server_tool_use","input":{}}`) + stop,
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n",
		"event: error\ndata: nonsense\n\n", "event: message_stop\ndata: {}\n\n" + stop, "data:\n\n:\n\n",
	}
}

// send returns the body of the request that the provider sends for req.
func send(t *testing.T, req llm.Request) map[string]any {
	t.Helper()
	s := agenttest.Start(t, agenttest.StartAnthropic, "=== turn\nmatch: conversation contains \"\"\ntext: ok\n=== turn\ntext: ok\n=== turn\ntext: ok", agenttest.Options{})
	p, err := newProvider(vendortest.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(s.Requests()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

func TestCacheMarks(t *testing.T) {
	req := llm.Request{
		Model: model("claude-sonnet-5"), System: "Be brief.",
		Tools: []llm.ToolSpec{{Name: "a"}, {Name: "b"}},
		Messages: []llm.Message{
			llm.UserText("one"), llm.AssistantText("two"),
			{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "three"}, llm.Text{Text: "four"}}},
		},
	}
	var marked []string
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if cc, ok := v["cache_control"]; ok {
				if !reflect.DeepEqual(cc, map[string]any{"type": "ephemeral"}) {
					t.Errorf("%s: cache_control is %v", path, cc)
				}
				name, _ := v["name"].(string)
				text, _ := v["text"].(string)
				marked = append(marked, path+":"+name+text)
			}
			for _, k := range []string{"tools", "system", "messages", "content"} {
				walk(path+"/"+k, v[k])
			}
		case []any:
			for _, e := range v {
				walk(path, e)
			}
		}
	}
	walk("", send(t, req))
	want := []string{"/tools:b", "/system:Be brief.", "/messages/content:four"}
	if !reflect.DeepEqual(marked, want) {
		t.Errorf("marked are %q, want %q", marked, want)
	}
}

func TestThinking(t *testing.T) {
	tests := []struct {
		model    string
		level    llm.ThinkingLevel
		thinking string // JSON, "null" if not sent
		effort   any
	}{
		{"claude-sonnet-4-5-20250929", llm.ThinkingOff, `null`, nil},
		{"claude-sonnet-4-5-20250929", llm.ThinkingLow, `{"budget_tokens":4096,"type":"enabled"}`, nil},
		{"claude-haiku-4-5-20251001", llm.ThinkingXHigh, `{"budget_tokens":30976,"type":"enabled"}`, nil}, // of 32000
		{"claude-opus-4-6", llm.ThinkingOff, `null`, nil},
		{"claude-opus-4-6", llm.ThinkingHigh, `{"display":"summarized","type":"adaptive"}`, "high"},
		{"claude-sonnet-5", llm.ThinkingOff, `{"type":"disabled"}`, nil},
		{"claude-sonnet-5", llm.ThinkingXHigh, `{"display":"summarized","type":"adaptive"}`, "xhigh"},
		{"claude-sonnet-5-5", llm.ThinkingOff, `{"type":"between_tools"}`, nil},
		{"claude-opus-5-5", llm.ThinkingOff, `null`, "low"},
		{"claude-fable-5", llm.ThinkingOff, `null`, "low"},
		{"claude-of-tomorrow", llm.ThinkingMedium, `{"display":"summarized","type":"adaptive"}`, "medium"},
		{"kimi-for-coding", llm.ThinkingMedium, `{"budget_tokens":10000,"type":"enabled"}`, nil},
		{"kimi-for-coding", llm.ThinkingOff, `null`, nil},
	}
	for _, tt := range tests {
		body := send(t, llm.Request{Model: model(tt.model), Thinking: tt.level, Messages: []llm.Message{llm.UserText("x")}})
		got, err := json.Marshal(body["thinking"])
		if err != nil {
			t.Fatal(err)
		}
		out, _ := body["output_config"].(map[string]any)
		if string(got) != tt.thinking || out["effort"] != tt.effort {
			t.Errorf("%s at %q: thinking %s, effort %v; want %s, %v", tt.model, tt.level, got, out["effort"], tt.thinking, tt.effort)
		}
	}
	m := model("claude-sonnet-5")
	m.Levels = m.Levels[:2]
	if out := send(t, llm.Request{Model: m, Thinking: llm.ThinkingXHigh, Messages: []llm.Message{llm.UserText("x")}}); !reflect.DeepEqual(out["output_config"], map[string]any{"effort": "medium"}) {
		t.Errorf("a level that the model does not take was sent: %v", out["output_config"])
	}
}

// A conversation that another vendor's model began can be gone on with.
func TestOtherVendorsThinking(t *testing.T) {
	call := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Thinking{Text: "unsigned"}, llm.Thinking{Redacted: "openai:rs_1:xyz"}, llm.ToolCall{ID: "a", Name: "read"},
	}}
	result := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "by the way"}, llm.ToolResult{CallID: "a"}}}
	body := send(t, llm.Request{
		Model: model("claude-sonnet-4-5"), Thinking: llm.ThinkingHigh,
		Messages: []llm.Message{llm.UserText("x"), call, result},
	})
	if body["thinking"] != nil {
		t.Errorf("thinking is %v, though the answer that goes on did not begin with any", body["thinking"])
	}
}

func TestMaxTokens(t *testing.T) {
	long := strings.Repeat("word ", 100_000) // by a careful count 167 thousand tokens
	tests := []struct {
		wish   int
		text   string
		window int64
		output int64
		want   float64
	}{
		{123, "x", 0, 0, 123},
		{0, "x", 0, 0, 8192},
		{0, "x", 200_000, 32_000, 32_000},
		{0, long, 200_000, 64_000, 200_000 - 500_000/3},
		{0, long, 100_000, 64_000, 4096},
	}
	for _, tt := range tests {
		m := llm.Model{ID: "claude-3", ContextWindow: tt.window, MaxOutput: tt.output}
		body := send(t, llm.Request{Model: m, MaxTokens: tt.wish, Messages: []llm.Message{llm.UserText(tt.text)}})
		if body["max_tokens"] != tt.want {
			t.Errorf("wish %d, window %d, limit %d: max_tokens is %v, want %v", tt.wish, tt.window, tt.output, body["max_tokens"], tt.want)
		}
	}
}

func TestRedactedThinking(t *testing.T) {
	s := agenttest.Start(t, agenttest.StartAnthropic, "=== turn\nredacted: c2VjcmV0\ncall: read {}\n=== turn\ntext: ok", agenttest.Options{})
	p, err := newProvider(vendortest.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	req := llm.Request{Model: model("claude-sonnet-5"), Messages: []llm.Message{llm.UserText("x")}}
	resp, err := p.Stream(t.Context(), req, nil)
	if err != nil || !reflect.DeepEqual(resp.Message.Parts[0], llm.Part(llm.Thinking{Redacted: "c2VjcmV0"})) {
		t.Fatalf("got %+v, %v", resp, err)
	}
	req.Messages = append(req.Messages, resp.Message, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
		llm.ToolResult{CallID: resp.Message.Calls()[0].ID},
	}})
	if _, err := p.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if got := s.Requests()[1].Decoded.Messages[1].Parts[0]; !reflect.DeepEqual(got, resp.Message.Parts[0]) {
		t.Errorf("it went back as %#v", got)
	}
}

func TestPicturesInResults(t *testing.T) {
	s := agenttest.Start(t, agenttest.StartAnthropic, "=== turn\ntext: no\n=== turn\ntext: ok", agenttest.Options{})
	p, err := newProvider(vendortest.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	result := llm.ToolResult{CallID: "a", Parts: []llm.Part{
		llm.Text{Text: "here"}, llm.Image{MediaType: "image/png", Data: []byte{1, 2, 3}},
	}}
	req := llm.Request{Model: model("claude-sonnet-5"), Messages: []llm.Message{
		llm.UserText("x"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "a", Name: "look"}}},
		{Role: llm.RoleUser, Parts: []llm.Part{result}},
	}}
	if _, err := p.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if got := s.Requests()[0].Decoded.Messages[2].Parts[0]; !reflect.DeepEqual(got, llm.Part(result)) {
		t.Errorf("the result arrived as %#v", got)
	}
}

func TestNew(t *testing.T) {
	t.Setenv(anthropic.KeyEnv, "")
	t.Setenv(anthropic.BaseURLEnv, "")
	if _, err := anthropic.New(anthropic.Options{}); err == nil || !strings.Contains(err.Error(), "set ANTHROPIC_API_KEY") {
		t.Errorf("without a key: %v", err)
	}
	s := agenttest.Start(t, agenttest.StartAnthropic, "=== turn\ntext: hi", agenttest.Options{APIKey: "from-env"})
	t.Setenv(anthropic.KeyEnv, "from-env")
	t.Setenv(anthropic.BaseURLEnv, s.URL+"/v1/")
	p, err := anthropic.New(anthropic.Options{Headers: map[string]string{"X-Team": "blue"}})
	if err != nil {
		t.Fatal(err)
	}
	req := llm.Request{Model: model("claude-sonnet-5"), Messages: []llm.Message{llm.UserText("x")}}
	if _, err := p.Stream(t.Context(), req, nil); err != nil {
		t.Error(err)
	}
	if got := s.Requests()[0].Header.Get("X-Team"); got != "blue" {
		t.Errorf("the header arrived as %q", got)
	}
	// The key in the environment is not for a server that the caller names.
	open := agenttest.Start(t, agenttest.StartAnthropic, "=== turn\ntext: hi", agenttest.Options{})
	other, err := anthropic.New(anthropic.Options{BaseURL: open.URL, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Stream(t.Context(), req, nil); err != nil {
		t.Error(err)
	}
	if h := open.Requests()[0].Header; h.Get("X-Api-Key") != "" || h.Get("Authorization") != "" {
		t.Errorf("a key from the environment went to another server: %v", h)
	}
}
