package agenttest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/planmode-dev/planmode/internal/agenttest"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/anthropic"
	"github.com/planmode-dev/planmode/llm/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ExampleStartAnthropic() {
	script, err := scripted.Parse([]byte("=== turn\nfault: overloaded times=1\ntext: At your service.\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := agenttest.StartAnthropic(script, agenttest.Options{APIKey: "secret"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	p, err := anthropic.New(anthropic.Options{BaseURL: server.URL, APIKey: "secret", Backoff: 1, HTTPClient: &http.Client{Transport: tr}})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := llm.Request{Model: llm.Model{ID: "claude-sonnet-5"}, Messages: []llm.Message{llm.UserText("Hello")}}
	resp, err := p.Stream(context.Background(), req, nil)
	fmt.Println(resp.Message.Text(), err)
	for _, r := range server.Requests() {
		fmt.Println(r.Path, r.Header.Get("Authorization"), r.Decoded.Messages[0].Text(), r.Line)
	}
	// Output:
	// At your service. <nil>
	// /v1/messages *** Hello 1
	// /v1/messages *** Hello 1
}

// post sends a body to the server and returns status and answer.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func start(t *testing.T, startServer func(*scripted.Script, agenttest.Options) (*agenttest.Server, error), script string, o agenttest.Options) *agenttest.Server {
	t.Helper()
	parsed, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	s, err := startServer(parsed, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// The fake is as strict as the real ones where agents trip.
func TestRefuses(t *testing.T) {
	const use = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]}`
	const hi = `{"role":"user","content":"hi"}`
	result := func(id string) string {
		return `{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"x"}]}`
	}
	tests := []struct{ name, messages, extra, want string }{
		{"no messages", ``, ``, "there are no messages"},
		{"call without result", hi + "," + use + "," + hi, ``, "lacks the results"},
		{"call at the end", hi + "," + use, ``, "have no results"},
		{"result without call", hi + "," + result("a"), ``, "does not call"},
		{"result of another call", hi + "," + use + "," + result("b"), ``, "does not call"},
		{"blank text", `{"role":"user","content":[{"type":"text","text":" "}]}`, ``, "non-empty"},
		{"result after text", hi + "," + use + `,{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a"}]}`, ``, "must come first"},
		{"budget", hi, `,"thinking":{"type":"enabled","budget_tokens":2000}`, "less than max_tokens"},
		{"no stream", hi, `,"stream":false`, "required"},
		{"input that is no object", hi + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":"x"}]}`, ``, "not an object"},
		{"expectation", hi, ``, "expected system contains foo"},
	}
	s := start(t, agenttest.StartAnthropic, "=== turn\nexpect: system contains foo\ntext: x\n", agenttest.Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(s.Requests())
			status, body := post(t, s.URL+"/v1/messages", `{"model":"m","max_tokens":1000,"stream":true,"messages":[`+tt.messages+`]`+tt.extra+`}`)
			err := s.Requests()[before].Err
			if status != 400 || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(body, "invalid_request_error") {
				t.Errorf("status %d, %v, want %q; answer %s", status, err, tt.want, body)
			}
		})
	}
	if s.Err() == nil {
		t.Error("the server forgot what it refused")
	}
	if status, _ := post(t, s.URL+"/v1/messages", `{{`); status != 400 {
		t.Errorf("nonsense got status %d", status)
	}
}

func TestRefusesWrongKey(t *testing.T) {
	for _, path := range []string{"/chat/completions", "/responses"} {
		s := start(t, agenttest.StartOpenAI, "=== turn\ntext: x", agenttest.Options{APIKey: "right"})
		if status, body := post(t, s.URL+path, `{}`); status != 401 || strings.Contains(body, "right") {
			t.Errorf("%s: status %d, %s", path, status, body)
		}
	}
}

// A client that comes back after a restart, of itself or of the server, goes on where it was.
func TestGoesOnAfterRestart(t *testing.T) {
	const script = "=== turn\ncall: read {}\n=== turn\nexpect: last tool result is x\ntext: second\n"
	const messages = `{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"x"}`
	for range 2 {
		s := start(t, agenttest.StartOpenAI, script, agenttest.Options{})
		status, body := post(t, s.URL+"/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[`+messages+`]}`)
		if status != 200 || !strings.Contains(body, `"second"`) || s.Err() != nil {
			t.Errorf("status %d, %v: %s", status, s.Err(), body)
		}
	}
}

// Close ends what stalls; nothing is left behind (goleak).
func TestCloseEndsStalls(t *testing.T) {
	parsed, err := scripted.Parse([]byte("=== turn\ntext: x\nstall:"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := agenttest.StartAnthropic(parsed, agenttest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/messages",
		strings.NewReader(`{"model":"m","max_tokens":1000,"stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), `"text":"x"`) {
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil && lines.Scan() && strings.Contains(lines.Text(), "message_stop") {
		t.Error("the answer went on after the server was closed")
	}
}
