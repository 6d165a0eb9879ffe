// Package vendortest is the suite that every vendor's package passes: it runs the package against a
// fake vendor that speaks the real protocol. It is imported by tests only.
package vendortest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planmode-dev/planmode/internal/agenttest"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/scripted"
)

// Config is what the suite gives to a vendor's package.
type Config struct {
	URL          string
	HTTPClient   *http.Client
	Retries      int
	StallTimeout time.Duration
}

// Key is the API key that the suite's servers demand.
const Key = "sk-secret-0123456789"

// A Vendor is a package under test.
type Vendor struct {
	Start func(*scripted.Script, agenttest.Options) (*agenttest.Server, error)
	New   func(Config) (llm.Provider, error) // with Key
	Model llm.Model
	// Signatures says that shown reasoning comes back with a signature and is returned to the vendor.
	Signatures bool
	// NoThinkingBack says that reasoning is shown but has no place in a request.
	NoThinkingBack bool
}

// Run runs the suite.
func (v Vendor) Run(t *testing.T) {
	t.Run("answer", v.answer)
	t.Run("conversation", v.conversation)
	t.Run("malformed input", v.malformedInput)
	t.Run("cancel", v.cancel)
	t.Run("faults", v.faults)
	t.Run("retry", v.retry)
	t.Run("retry after", v.retryAfter)
	t.Run("stall", v.stall)
	t.Run("cut at every byte", v.cutAnywhere)
	t.Run("huge", v.huge)
	t.Run("key", v.key)
	t.Run("redirect", v.redirect)
	t.Run("concurrent", v.concurrent)
	t.Run("property", v.property)
}

func (v Vendor) start(t *testing.T, script string, c Config) (*agenttest.Server, llm.Provider) {
	t.Helper()
	parsed, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	s, err := v.Start(parsed, agenttest.Options{APIKey: Key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c.URL = s.URL
	return s, v.provider(t, c)
}

func (v Vendor) provider(t *testing.T, c Config) llm.Provider {
	t.Helper()
	if c.Retries == 0 {
		c.Retries = -1
	}
	tr := &http.Transport{}
	c.HTTPClient = &http.Client{Transport: tr}
	t.Cleanup(tr.CloseIdleConnections)
	p, err := v.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (v Vendor) request(msgs ...llm.Message) llm.Request {
	if len(msgs) == 0 {
		msgs = []llm.Message{llm.UserText("Hello")}
	}
	return llm.Request{Model: v.Model, Messages: msgs}
}

func wantKind(t *testing.T, err error, kind llm.ErrorKind) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *llm.Error of kind %s", err, kind)
	}
	if e.Kind != kind {
		t.Errorf("got kind %s (%v), want %s", e.Kind, err, kind)
	}
	if e.Provider == "" || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, e.Err), Key) {
		t.Errorf("the error lacks its provider or tells the key: %#v", err)
	}
	return e
}

const answerScript = `
=== turn
expect: system is "Be brief."
expect: tools are read write
thinking: The user greets, so I look around first. Ünïcode: 日本語.
signature: c2lnbmF0dXJl
text: Good morning! Let me read both files at once — ☃.
call: read {"path": "a.txt", "note": "日本語 \" \\ \u0000"}
call: write {"path": "b.txt", "nested": {"list": [1, 2.5, null, true]}}
call: read
usage: input=1000 output=50 cache_read=200 cache_write=30
`

func (v Vendor) answer(t *testing.T) {
	_, p := v.start(t, answerScript, Config{})
	req := v.request()
	req.System = "Be brief."
	req.Tools = []llm.ToolSpec{
		{Name: "read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "write", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	req.Thinking = llm.ThinkingHigh
	req.Model.Price = llm.Price{Input: 1, Output: 10, CacheRead: 100, CacheWrite: 1000}
	var text, thinking string
	inputs, names := map[int]string{}, map[int]string{}
	pieces := 0
	resp, err := p.Stream(t.Context(), req, func(d llm.Delta) {
		pieces++
		text, thinking = text+d.Text, thinking+d.Thinking
		inputs[d.Call] += d.Input
		names[d.Call] += d.ToolName
	})
	if err != nil {
		t.Fatal(err)
	}
	calls := resp.Message.Calls()
	if len(calls) != 3 {
		t.Fatalf("got %d calls, want 3: %+v", len(calls), resp)
	}
	wantInputs := []string{
		`{"path": "a.txt", "note": "日本語 \" \\ \u0000"}`, `{"path": "b.txt", "nested": {"list": [1, 2.5, null, true]}}`, `{}`,
	}
	for i, want := range []string{"read", "write", "read"} {
		if calls[i].Name != want || names[i] != want || string(calls[i].Input) != wantInputs[i] || inputs[i] != wantInputs[i] {
			t.Errorf("call %d is %s %s, streamed as %s %s; want %s %s", i, calls[i].Name, calls[i].Input, names[i], inputs[i], want, wantInputs[i])
		}
	}
	if calls[0].ID == "" || calls[0].ID == calls[1].ID {
		t.Errorf("the calls have the ids %q and %q", calls[0].ID, calls[1].ID)
	}
	const wantText, wantThinking = "Good morning! Let me read both files at once — ☃.", "The user greets, so I look around first. Ünïcode: 日本語."
	if got := resp.Message.Text(); got != wantText || text != wantText {
		t.Errorf("got the text %q, streamed as %q", got, text)
	}
	th, ok := resp.Message.Parts[0].(llm.Thinking)
	if !ok || th.Text != wantThinking || thinking != wantThinking {
		t.Errorf("got the thinking %#v, streamed as %q", resp.Message.Parts[0], thinking)
	}
	if v.Signatures && th.Signature != "c2lnbmF0dXJl" {
		t.Errorf("got the signature %q", th.Signature)
	}
	want := llm.Usage{Input: 1000, Output: 50, CacheRead: 200, CacheWrite: 30, Cost: (1000*1 + 50*10 + 200*100 + 30*1000) / 1e6}
	if resp.Stop != llm.StopToolUse || resp.Usage != want {
		t.Errorf("stop %s, usage %+v, want %+v", resp.Stop, resp.Usage, want)
	}
	if pieces < 10 {
		t.Errorf("%d deltas: the answer was not streamed", pieces)
	}
}

// conversation goes on over several turns; what the model wrote goes back and the server judges it.
func (v Vendor) conversation(t *testing.T) {
	s, p := v.start(t, `
=== turn
thinking: Hm.
signature: aGVsbG8=
call: read {"path": "x"}
call: look {}
=== turn
expect: tool result 1 contains "content of x"
expect: last tool result fails
expect: last tool result contains "no eyes"
text: Done.
=== turn
expect: last user is "Thanks. What is this?"
text: A picture.
stop: max_tokens
`, Config{})
	req := v.request()
	req.Thinking = llm.ThinkingMedium
	say := func(msgs ...llm.Message) llm.Message {
		t.Helper()
		req.Messages = append(req.Messages, msgs...)
		resp, err := p.Stream(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, resp.Message)
		return resp.Message
	}
	first := say()
	calls := first.Calls()
	png := llm.Image{MediaType: "image/png", Data: []byte("\x89PNG\x00\xff")}
	say(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
		llm.ToolResult{CallID: calls[0].ID, Parts: []llm.Part{llm.Text{Text: "content of x"}}},
		llm.ToolResult{CallID: calls[1].ID, Parts: []llm.Part{llm.Text{Text: "no eyes"}}, IsError: true},
	}})
	say(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "Thanks. What is this?"}, png}})
	got := s.Requests()[2].Decoded.Messages
	last := got[len(got)-1].Parts
	if !reflect.DeepEqual(last[len(last)-1], llm.Part(png)) {
		t.Errorf("the picture arrived as %#v", last)
	}
	if !v.NoThinkingBack && !reflect.DeepEqual(got[1].Parts[0], first.Parts[0]) {
		t.Errorf("the thinking went back as %#v, want %#v", got[1].Parts[0], first.Parts[0])
	}
}

func (v Vendor) malformedInput(t *testing.T) {
	const broken = `{"path": "a.txt", "text": "cut he`
	s, p := v.start(t, "=== turn\nbadcall: write "+broken+"\n=== turn\nexpect: conversation contains \"cut he\"\ntext: Sorry.\n", Config{})
	var streamed string
	resp, err := p.Stream(t.Context(), v.request(), func(d llm.Delta) { streamed += d.Input })
	if err != nil {
		t.Fatal(err)
	}
	calls := resp.Message.Calls()
	if len(calls) != 1 || string(calls[0].Input) != broken || streamed != broken {
		t.Fatalf("got %+v, streamed %q", resp.Message, streamed)
	}
	// It goes back in a form that the vendor accepts, and nothing of it is lost.
	req := v.request(llm.UserText("Hello"), resp.Message, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
		llm.ToolResult{CallID: calls[0].ID, Parts: []llm.Part{llm.Text{Text: "not JSON"}}, IsError: true},
	}})
	if _, err := p.Stream(t.Context(), req, nil); err != nil {
		t.Errorf("%v; sent %s", err, s.Requests()[1].Body)
	}
}

func (v Vendor) cancel(t *testing.T) {
	cause := errors.New("the user pressed Esc")
	for name, script := range map[string]string{"before": "stall:\ntext: x", "in the middle": "text: I begin.\nstall:"} {
		_, p := v.start(t, "=== turn\n"+script, Config{Retries: 3})
		ctx, cancel := context.WithCancelCause(t.Context())
		text := ""
		if name == "before" {
			time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
		}
		resp, err := p.Stream(ctx, v.request(), func(d llm.Delta) {
			if text += d.Text; text == "I begin." {
				cancel(cause)
			}
		})
		if e := wantKind(t, err, llm.ErrCancelled); !errors.Is(e, cause) || len(resp.Message.Parts) > 0 {
			t.Errorf("%s: got %v, %+v", name, err, resp)
		}
		cancel(nil)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, p := v.start(t, "=== turn\ntext: x", Config{})
	_, err := p.Stream(ctx, v.request(), nil)
	wantKind(t, err, llm.ErrCancelled)
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests were sent in a context that had ended", n)
	}
}

func (v Vendor) concurrent(t *testing.T) {
	_, p := v.start(t, "=== turn\nmatch: \"one\"\ntext: 1\n=== turn\nmatch: \"two\"\ntext: 2\n", Config{})
	errs := make(chan error)
	for i, word := range []string{"one", "two", "one", "two"} {
		go func() {
			resp, err := p.Stream(t.Context(), v.request(llm.UserText(word)), nil)
			if want := string(rune('1' + i%2)); err == nil && resp.Message.Text() != want {
				err = fmt.Errorf("%s was answered by %q", word, resp.Message.Text())
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// property: what the vendor understands is what was asked.
func (v Vendor) property(t *testing.T) {
	s, p := v.start(t, "=== turn\nmatch: conversation contains \"\"\ntext: x\n=== turn\ntext: x\n=== turn\ntext: x\n", Config{})
	rapid.Check(t, func(rt *rapid.T) {
		req := v.request(v.genMessages(rt)...)
		req.System = rapid.StringMatching(`[a-zA-Z \n"\\ü]{0,30}`).Draw(rt, "system")
		req.Tools = genTools(rt)
		before := len(s.Requests())
		if _, err := p.Stream(t.Context(), req, nil); err != nil {
			rt.Fatalf("%v; sent %s", err, s.Requests()[before].Body)
		}
		got := s.Requests()[before].Decoded
		if got.System != req.System {
			rt.Errorf("system %q arrived as %q", req.System, got.System)
		}
		if a, b := asJSON(rt, req.Tools), asJSON(rt, got.Tools); len(req.Tools) > 0 && a != b {
			rt.Errorf("tools arrived as\n%s\nwant\n%s", b, a)
		}
		if a, b := asJSON(rt, v.expected(req.Messages)), asJSON(rt, v.expected(got.Messages)); a != b {
			rt.Errorf("messages arrived as\n%s\nwant\n%s", b, a)
		}
	})
}

// asJSON compares by value: the order of keys and white space in a call's input may change.
func asJSON(t *rapid.T, v any) string {
	data, err := json.Marshal(v)
	var generic any
	if err == nil {
		err = json.Unmarshal(data, &generic)
	}
	if err == nil {
		data, err = json.MarshalIndent(generic, "", " ")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// expected leaves out what the vendor's wire has no place for.
func (v Vendor) expected(msgs []llm.Message) []llm.Message {
	var out []llm.Message
	for _, m := range msgs {
		var parts []llm.Part
		for _, p := range m.Parts {
			if _, ok := p.(llm.Thinking); ok && v.NoThinkingBack {
				continue
			}
			parts = append(parts, p)
		}
		out = append(out, llm.Message{Role: m.Role, Parts: parts})
	}
	return out
}
