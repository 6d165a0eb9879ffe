package scripted_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const readme = `# Reads, then answers.
=== turn
expect: tools contain read
expect: tools lack write
expect: system contains "plan mode" "read-only"
thinking: The user wants main.go.
signature: c2ln
text: I will look.
call: read {"path": "main.go"}
call: read {
    "path": "go.mod"
  }
usage: input=100 output=20 cache_read=7 cache_write=3

=== turn the answer
expect: tool result 1 contains "package main"
expect: last tool result fails
text:
  It is a command.

  === turn
  	It prints.
`

func parse(t *testing.T, text string) *scripted.Provider {
	t.Helper()
	s, err := scripted.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return scripted.New(s)
}

func request(msgs ...llm.Message) llm.Request {
	return llm.Request{Model: scripted.Model(), Messages: msgs}
}

func first() llm.Request {
	r := request(llm.UserText("What is main.go?"))
	r.System = "You are in plan mode, which is read-only."
	r.Tools = []llm.ToolSpec{{Name: "read"}, {Name: "grep"}}
	r.Model.Price = llm.Price{Input: 1, Output: 10, CacheRead: 100, CacheWrite: 1000}
	return r
}

func second(answer llm.Message) llm.Request {
	r := first()
	calls := answer.Calls()
	r.Messages = append(r.Messages, answer, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
		llm.ToolResult{CallID: calls[0].ID, Parts: []llm.Part{llm.Text{Text: "package main\n"}}},
		llm.ToolResult{CallID: calls[1].ID, Parts: []llm.Part{llm.Text{Text: "no such file"}}, IsError: true},
	}})
	return r
}

func TestPlay(t *testing.T) {
	p := parse(t, readme)
	var seen []llm.Delta
	resp, err := p.Stream(t.Context(), first(), func(d llm.Delta) { seen = append(seen, d) })
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
			llm.Thinking{Text: "The user wants main.go.", Signature: "c2ln"},
			llm.Text{Text: "I will look."},
			llm.ToolCall{ID: "call_1_1_1", Name: "read", Input: []byte(`{"path": "main.go"}`)},
			llm.ToolCall{ID: "call_1_1_2", Name: "read", Input: []byte("{\n  \"path\": \"go.mod\"\n}")},
		}},
		Stop: llm.StopToolUse,
		Usage: llm.Usage{
			Input: 100, Output: 20, CacheRead: 7, CacheWrite: 3,
			Cost: (100*1 + 20*10 + 7*100 + 3*1000) / 1e6,
		},
	}
	if !reflect.DeepEqual(resp, want) {
		t.Errorf("got  %+v\nwant %+v", resp, want)
	}
	if got := fromDeltas(seen); !reflect.DeepEqual(got, [4]string{
		"The user wants main.go.", "I will look.", "read read ", `{"path": "main.go"}` + "{\n  \"path\": \"go.mod\"\n}",
	}) {
		t.Errorf("the deltas make %q", got)
	}
	if len(seen) < 7 {
		t.Errorf("%d deltas: the answer was not streamed in pieces", len(seen))
	}
	if n := p.Remaining(); n != 1 {
		t.Errorf("%d turns remain, want 1", n)
	}

	resp, err = p.Stream(t.Context(), second(resp.Message), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := resp.Message.Text(), "It is a command.\n\n=== turn\n\tIt prints."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if resp.Stop != llm.StopEndTurn || p.Remaining() != 0 || p.Err() != nil {
		t.Errorf("stop %s, %d remain, error %v", resp.Stop, p.Remaining(), p.Err())
	}
}

// fromDeltas joins what was streamed: thinking, text, tool names, inputs.
func fromDeltas(ds []llm.Delta) [4]string {
	var out [4]string
	for _, d := range ds {
		out[0] += d.Thinking
		out[1] += d.Text
		if d.ToolName != "" {
			out[2] += d.ToolName + " "
		}
		out[3] += d.Input
	}
	return out
}

// A program that was killed and resumed has a new provider; the request alone decides the turn.
func TestGoesOnAfterRestart(t *testing.T) {
	resp, err := parse(t, readme).Stream(t.Context(), first(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := parse(t, readme)
	resp, err = p.Stream(t.Context(), second(resp.Message), nil)
	if err != nil || !strings.HasPrefix(resp.Message.Text(), "It is") {
		t.Errorf("got %v, %v", resp, err)
	}
	if p.Remaining() != 0 {
		t.Errorf("%d remain, want 0: the first turn came before the last one", p.Remaining())
	}
}

func TestMatch(t *testing.T) {
	const script = `
=== turn
text: top
=== turn
match: "go on"
text: on 1
=== turn
text: on 2
=== turn
match: system contains "You review"
match: last user matches "^Plan"
text: approve
`
	prompt := llm.UserText("Please go on.")
	result := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
		llm.ToolResult{CallID: "x"}, llm.Text{Text: "a notice beside the result"},
	}}
	review := request(llm.UserText("Plan: 1."))
	review.System = "You review plans."
	old := []llm.Message{llm.UserText("old"), llm.AssistantText("old")}
	tests := []struct {
		name string
		req  llm.Request
		want string
	}{
		{"top", request(llm.UserText("hi")), "top"},
		{"group", request(prompt), "on 1"},
		{"group, later", request(prompt, llm.AssistantText(""), result), "on 2"},
		{"group after others", request(append(old, prompt, llm.AssistantText(""), result)...), "on 2"},
		{"both conditions", review, "approve"},
		{"one condition of two", request(llm.UserText("Plan: 1.")), "top"},
	}
	p := parse(t, script)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := p.Stream(t.Context(), tt.req, nil)
			if err != nil || resp.Message.Text() != tt.want {
				t.Errorf("got %q, %v; want %q", resp.Message.Text(), err, tt.want)
			}
		})
	}
	if p.Remaining() != 0 {
		t.Errorf("%d remain, want 0", p.Remaining())
	}
	_, err := p.Stream(t.Context(), request(prompt, llm.AssistantText(""), result, llm.AssistantText(""), result), nil)
	wantError(t, err, llm.ErrBadRequest, "script:4", "turn 3 and there are 2", "Please go on.")
	if p.Err() == nil {
		t.Error("the provider forgot its error")
	}
	_, err = parse(t, "=== turn\nmatch: \"x\"\ntext: y").Stream(t.Context(), request(llm.UserText("hi")), nil)
	wantError(t, err, llm.ErrBadRequest, "no turn matches", "hi")
}

func wantError(t *testing.T, err error, kind llm.ErrorKind, texts ...string) {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("got %v, want an *llm.Error of kind %s", err, kind)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q lacks %q", err, text)
		}
	}
}

func TestConditions(t *testing.T) {
	req := second(llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.ToolCall{ID: "a", Name: "bash", Input: []byte(`{"command":"ls"}`)}, llm.ToolCall{ID: "b"},
	}})
	req.Thinking = llm.ThinkingHigh
	tests := []struct {
		cond string
		ok   bool
	}{
		{`system contains "plan mode"`, true},
		{`system contains "plan mode" absent`, false},
		{`system lacks absent`, true},
		{`system lacks absent read-only`, false},
		{`last user is "What is main.go?"`, true},
		{`last user is main.go`, false},
		{`"main.go"`, true},
		{`"main.rs"`, false},
		{"last message contains `package main`", true},
		{`last tool result contains "no such"`, true},
		{`last tool result is "no such file"`, true},
		{`last tool result fails`, true},
		{`last tool result succeeds`, false},
		{`tool result 1 succeeds`, true},
		{`tool result 1 fails`, false},
		{`tool result 1 matches "^package \\w+\n$"`, true},
		{`tool result 3 contains x`, false},
		{`conversation contains "bash {\"command\":\"ls\"}"`, true},
		{`model is script`, true},
		{`thinking is high`, true},
		{`thinking is off`, false},
		{`tools contain read grep`, true},
		{`tools contain rea`, false},
		{`tools lack write bash`, true},
		{`tools lack write grep`, false},
		{`tools are grep read`, true},
		{`tools are read`, false},
	}
	for _, tt := range tests {
		t.Run(tt.cond, func(t *testing.T) {
			p := parse(t, "=== turn\ntext: x\n=== turn\nexpect: "+tt.cond+"\ntext: fine\n")
			_, err := p.Stream(t.Context(), req, nil)
			if tt.ok != (err == nil) {
				t.Errorf("ok is %t: %v", !tt.ok, err)
			}
			if !tt.ok {
				wantError(t, err, llm.ErrBadRequest, "script:4: expected "+tt.cond)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ":1: no turn"},
		{"text: x", ":1: \"text\" stands before the first"},
		{"=== turns", ":1: \"=== turns\" is no header"},
		{"=== turn\n=== turn\ntext: x", ":1: the turn is empty"},
		{"=== turn\nhello", ":2: \"hello\" is no directive"},
		{"=== turn\nsay: x", ":2: \"say\" is no directive; there are badcall"},
		{"=== turn\n# c\n  x", ":3: an indented line"},
		{"=== turn\ntext:", ":2: the text is empty"},
		{"=== turn\ncall:", ":2: a call needs the name"},
		{"=== turn\nbadcall: ", ":2: a call needs the name"},
		{"=== turn\ncall: read {\"a\":", ":2: the input of read is not JSON"},
		{"=== turn\nsignature: x", ":2: a signature must follow"},
		{"=== turn\nstop: done", ":2: stop \"done\" is none"},
		{"=== turn\nusage: in=1", ":2: usage \"in=1\""},
		{"=== turn\nusage: input=-1", ":2: usage \"input=-1\""},
		{"=== turn\ndelay: soon", ":2: delay: \"soon\" is no duration"},
		{"=== turn\nhuge: 3GB", ":2: \"3GB\" is no number"},
		{"=== turn\nstall: 3s", ":2: stall takes no value"},
		{"=== turn\nfault: cancelled", ":2: fault \"cancelled\" is none of"},
		{"=== turn\nfault: cut x=1", ":2: fault: \"x=1\" is none of"},
		{"=== turn\nfault: cut at=-1", ":2: fault \"cut at=-1\": a number is negative"},
		{"=== turn\nfault: auth times=1", ":2: fault \"auth times=1\": auth is not tried again"},
		{"=== turn\nexpect: weather is fine", ":2: expect: no subject starts with \"weather\""},
		{"=== turn\nexpect: system", ":2: expect: \"system\" lacks a verb"},
		{"=== turn\nexpect: system has x", ":2: expect: \"system has x\": verb \"has\""},
		{"=== turn\nexpect: system contains \"x", ":2: expect: the text at"},
		{"=== turn\nexpect: system contains", ":2: expect: \"system contains\" lacks a text"},
		{"=== turn\nexpect: system matches \"(\"", ":2: expect: error parsing regexp"},
		{"=== turn\nexpect: system fails", ":2: expect: \"system fails\": only a tool result"},
		{"=== turn\nexpect: tools matches x", ":2: expect: \"tools matches x\": matches is for one text"},
		{"=== turn\nmatch: ", ":2: match: the condition is empty"},
		{"=== turn\nexpect: tool result x fails", ":2: expect: tool result \"x\" is no number"},
	}
	for _, tt := range tests {
		if _, err := scripted.Parse([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), "scripted: script"+tt.want) {
			t.Errorf("%q: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	fsys := fstest.MapFS{"a/b.txt": {Data: []byte("=== turn\r\noops\r\n")}}
	if _, err := scripted.Load(fsys, "a/b.txt"); err == nil || !strings.Contains(err.Error(), "a/b.txt:2: \"oops\"") {
		t.Errorf("got %v", err)
	}
	if _, err := scripted.Load(fsys, "c"); err == nil || !strings.Contains(err.Error(), "open c") {
		t.Errorf("got %v", err)
	}
}

func TestFaults(t *testing.T) {
	_, err := parse(t, "=== turn\ntext: some\nfault: rate_limit status=429 retry_after=3s").Stream(t.Context(), request(), nil)
	wantError(t, err, llm.ErrRate, "script:3", "HTTP 429")
	if e := err.(*llm.Error); e.RetryAfter != 3*time.Second { //nolint:errorlint // its type was just checked
		t.Errorf("retry after %s", e.RetryAfter)
	}
	p := parse(t, "=== turn\ntext: some\nfault: overloaded times=2\nfault: cut times=1\ntext: more")
	shown, retries := "", 0
	resp, err := p.Stream(t.Context(), request(), func(d llm.Delta) {
		if shown += d.Text; d.Retry != nil {
			shown, retries = "", retries+1
		}
	})
	if err != nil || resp.Message.Text() != "some\nmore" || shown != "somemore" || retries != 3 {
		t.Errorf("got %q, shown %q after %d retries, %v", resp.Message.Text(), shown, retries, err)
	}
	resp, err = parse(t, "=== turn\nbadcall: read {\"path\":").Stream(t.Context(), request(), nil)
	if err != nil || string(resp.Message.Calls()[0].Input) != `{"path":` {
		t.Errorf("got %v, %v", resp, err)
	}
	resp, err = parse(t, "=== turn\nhuge: 2MB").Stream(t.Context(), request(), nil)
	if n := len(resp.Message.Text()); err != nil || n != 2_000_000 {
		t.Errorf("got %d bytes, %v", n, err)
	}
}

func TestWaitsAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := parse(t, "pace: 1s\n=== turn\ntext: 0123456789abcdef0123\ndelay: 1m").Stream(t.Context(), request(), nil)
		if got := time.Since(start); err != nil || got != time.Minute+2*time.Second {
			t.Errorf("took %s, %v", got, err)
		}
		for _, script := range []string{"text: x\nstall:", "delay: 1h\ntext: x", "pace: 1h\ntext: x"} {
			cause := errors.New("the user pressed Esc")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(cause) })
			resp, err := parse(t, "=== turn\n"+script).Stream(ctx, request(), nil)
			wantError(t, err, llm.ErrCancelled)
			if !errors.Is(err, cause) || len(resp.Message.Parts) > 0 {
				t.Errorf("got %v, %v", resp, err)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(readme))
	f.Add([]byte("pace: 1s\n=== turn\nmatch: tools are x \"y\"\nfault: cut at=3 times=2\n\n\n  x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scripted.Parse(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "scripted: script:") {
				t.Errorf("%v names no line", err)
			}
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req := first()
		_, _ = scripted.New(s).Stream(ctx, req, nil)
	})
}
