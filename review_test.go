package planmode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planmode-dev/planmode"
	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/scripted"
	"github.com/planmode-dev/planmode/tool"
)

// plays is a factory of a reviewer that plays the script.
func plays(t testing.TB, script string) func(llm.Model) (llm.Provider, error) {
	t.Helper()
	s, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return func(llm.Model) (llm.Provider, error) { return scripted.New(s), nil }
}

func reviewed(t *testing.T, script string, set ...func(*planmode.ReviewConfig)) (planmode.ReviewResult, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.md")
	if err := os.WriteFile(path, []byte(planText), 0o600); err != nil {
		t.Fatal(err)
	}
	model := scripted.Model()
	model.Price = llm.Price{Input: 1e6, Output: 1e6} // a dollar for each token
	cfg := planmode.ReviewConfig{
		ProviderFactory: plays(t, script), Model: model, ParentTools: tool.NewRegistry(tools.All(tools.Options{})...),
		Gate: tool.Config{Roots: tool.Roots{Workspace: t.TempDir()}},
	}
	for _, f := range set {
		f(&cfg)
	}
	return planmode.Review(t.Context(), cfg, path, nil)
}

func TestReviewVerdicts(t *testing.T) {
	for _, tt := range []struct {
		script     string
		approved   bool
		structured bool
		err        string
	}{
		{`call: verdict {"approved":true,"summary":"fine"}`, true, true, ""},
		{`call: verdict {"approved":false,"summary":"no","issues":[{"severity":"blocker","text":"wrong","reference":"a.go:1"}]}`, false, true, ""},
		{"call: verdict {\"approved\":true,\"summary\":\"fine\",\"issues\":[{\"severity\":\"blocker\",\"text\":\"x\"}]}\n=== turn\nexpect: last tool result fails\ntext: hm", false, false, ""},
		{"call: verdict {\"approved\":true,\"summary\":\" \"}\n=== turn\nexpect: last tool result fails\ntext: VERDICT: CHANGES_REQUESTED", false, false, ""},
		{"call: verdict {\"approved\":false,\"summary\":\"no\"}\ncall: verdict {\"approved\":true,\"summary\":\"yes\"}", false, true, ""}, // a no counts, whichever comes first
		{"text: it is very good", false, false, ""},
		{"text: VERDICT: APPROVED\nstop: max_tokens", false, false, "no verdict"},
		{"fault: rate_limit", false, false, "no verdict"},
		{"call: read {\"path\": \"x\"}\n=== turn\nexpect: tools are read grep find ls verdict\ncall: write {\"path\":\"a\",\"content\":\"b\"}\n" +
			"=== turn\nexpect: last tool result contains unknown_tool\ntext: VERDICT: APPROVED", true, false, ""},
	} {
		res, err := reviewed(t, "=== turn\n"+tt.script)
		switch {
		case (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err):
			t.Errorf("%s: %v", tt.script, err)
		case res.Approved != tt.approved || res.Structured != tt.structured || res.Round != 1:
			t.Errorf("%s: %+v", tt.script, res)
		case err == nil && (res.Feedback == "" || res.Usage.Output == 0):
			t.Errorf("%s: no feedback or no usage: %+v", tt.script, res)
		}
	}
}

// The words of a verdict, for reviewers that cannot call tools. The last one outside quotations decides.
func TestVerdictText(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                     false,
		"VERDICT: APPROVED":                    true,
		"VERDICT: CHANGES_REQUESTED":           false,
		"looks fine\nVERDICT: APPROVED\n":      true,
		"**Verdict:**\nAPPROVED":               true,
		"VERDICT:\nCHANGES REQUESTED":          false,
		"NOT APPROVED":                         false,
		"VERDICT: NOT APPROVED":                false,
		"VERDICT: APPROVED, if you fix it":     false,
		"I approve":                            false,
		"## Verdict: APPROVED":                 true,
		"VERDICT: **APPROVED**":                true,
		"APPROVED.":                            true,
		"- APPROVED":                           true,
		"> APPROVED":                           false,
		"> VERDICT: APPROVED":                  false,
		"**VERDICT: APPROVED**":                true,
		"Verdict: approved":                    true,
		"VERDICT: APPROVED\r\n":                true,
		"```\nVERDICT: APPROVED\n```":          false,
		"~~~\nVERDICT: APPROVED\n~~~\n":        false,
		"    VERDICT: APPROVED":                false,
		"VERDICT: APPROVED\nCHANGES REQUESTED": false,
		"I would write \"VERDICT: APPROVED\" if\nVERDICT: CHANGES_REQUESTED":         false,
		"VERDICT: APPROVED was my first thought\nVERDICT: CHANGES_REQUESTED":         false,
		"VERDICT: CHANGES_REQUESTED\n\nVERDICT: APPROVED":                            true,
		"I would write\nAPPROVED\nonly if it were fixed\nVERDICT: CHANGES_REQUESTED": false,
		"VERDICT: APPROVED\n```\nVERDICT: CHANGES_REQUESTED\n```":                    true,
	} {
		r := newRig(t, func(c *planmode.Config) {
			c.ReviewCfg.ProviderFactory = func(llm.Model) (llm.Provider, error) { return speaker(text), nil }
		}).in(planmode.ModeReviewing)
		res, err := r.ReviewNewest(t.Context(), nil)
		if err != nil || res.Approved != want {
			t.Errorf("%q: %v, %v, want %v", text, res.Approved, err, want)
		}
	}
}

// speaker answers with one text.
type speaker string

func (s speaker) Stream(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	return llm.Response{Message: llm.AssistantText(string(s)), Stop: llm.StopEndTurn, Usage: llm.Usage{Input: 1, Output: 1}}, nil
}

func TestReviewLimits(t *testing.T) {
	endless := strings.Repeat("=== turn\ncall: ls {\"path\": \".\"}\ncall: find {\"pattern\": \"*.x\"}\n", 50)
	for name, tt := range map[string]struct {
		script string
		set    func(*planmode.ReviewConfig)
		err    string
	}{
		"requests": {endless, func(c *planmode.ReviewConfig) { c.MaxRequests = 2 }, "2 requests"},
		"cost":     {endless, func(c *planmode.ReviewConfig) { c.MaxCost = 0.5 }, "the limit is $0.50"},
		"time":     {"=== turn\nstall:\n", func(c *planmode.ReviewConfig) { c.MaxTime = time.Millisecond }, "longer than 1ms"},
		"no model": {"=== turn\ntext: x\n", func(c *planmode.ReviewConfig) { c.ProviderFactory = nil }, "no reviewer is configured"},
		"level":    {"=== turn\ntext: x\n", func(c *planmode.ReviewConfig) { c.ThinkingLevel = "deep" }, "thinking level"},
		"factory": {"=== turn\ntext: x\n", func(c *planmode.ReviewConfig) {
			c.ProviderFactory = func(llm.Model) (llm.Provider, error) { return nil, errors.New("no key") }
		}, "no key"},
		"panic": {"=== turn\ntext: x\n", func(c *planmode.ReviewConfig) {
			c.ProviderFactory = func(llm.Model) (llm.Provider, error) { return nil, nil }
		}, "the provider broke"},
	} {
		res, err := reviewed(t, tt.script, tt.set)
		if err == nil || !strings.Contains(err.Error(), tt.err) || res.Approved {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	// Without tools of the parent's a reviewer can still judge.
	res, err := reviewed(t, "=== turn\nexpect: tools are verdict\ntext: VERDICT: APPROVED\n", func(c *planmode.ReviewConfig) { c.ParentTools = nil })
	if err != nil || !res.Approved {
		t.Errorf("nil ParentTools: %+v, %v", res, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newRig(t, func(c *planmode.Config) { c.ReviewCfg.ProviderFactory = plays(t, "=== turn\ntext: VERDICT: APPROVED") }).in(planmode.ModeReviewing)
	if res, err := r.ReviewNewest(ctx, nil); !errors.Is(err, context.Canceled) || res.Approved {
		t.Errorf("cancelled: %+v, %v", res, err)
	}
}

// A reviewer reads in every session, also one that began off and one that executes, and changes nothing.
func TestReviewerReads(t *testing.T) {
	script := `=== turn
call: read {"path": "a.go"}
call: bash {"command": "touch leak"}

=== turn
expect: tool result 1 contains "package a"
expect: tool result 2 fails
call: verdict {"approved": true, "summary": "read it"}
`
	var spent llm.Usage
	r := newRig(t, func(c *planmode.Config) {
		c.ReviewCfg = planmode.ReviewConfig{ProviderFactory: plays(t, script), Model: scripted.Model()}
		c.Spent = func(u llm.Usage) { spent = spent.Add(u) }
	})
	if err := os.WriteFile(filepath.Join(r.ws, "a.go"), []byte("package a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.in(planmode.ModeReviewing)
	if res, err := r.ReviewNewest(t.Context(), nil); err != nil || !res.Approved {
		t.Fatalf("the plan's reviewer: %+v, %v", res, err)
	}
	r.ReviewDone()
	r.StartExecution()
	res, err := r.call("request_review", `{"summary":"did it","files_changed":["a.go","./a.go"," "]}`)
	if err != nil || res.IsError || !strings.HasPrefix(res.Text, "VERDICT: APPROVED\n\nread it") {
		t.Fatalf("the code's reviewer: %+v, %v", res, err)
	}
	if _, err := os.Stat(filepath.Join(r.ws, "leak")); err == nil {
		t.Error("the reviewer changed something")
	}
	if spent.Output == 0 {
		t.Error("what the reviewers used was not counted")
	}
}

func TestRequestReview(t *testing.T) {
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprintf("f%d.go", i)
	}
	list := func(files ...string) string { data, _ := json.Marshal(files); return string(data) }
	for _, tt := range []struct {
		mode        planmode.Mode
		input, want string
	}{
		{"executing", `{"summary":" ","files_changed":["a"]}`, "summary"},
		{"executing", `{"summary":"s","files_changed":[]}`, "at least one"},
		{"executing", `{"summary":"s","files_changed":[" ",""]}`, "at least one"},
		{"executing", `{"summary":"s","files_changed":` + list(many...) + `}`, "51 files"},
		{"executing", `{"summary":"s","files_changed":["a"]}`, "no reviewer is configured"},
		{"planning", `{"summary":"s","files_changed":["a"]}`, "execution of an approved plan"},
		{"off", `{"summary":"s","files_changed":["a"]}`, "execution of an approved plan"},
	} {
		r := newRig(t).in(tt.mode)
		if res, err := r.call("request_review", tt.input); err != nil || !res.IsError || !strings.Contains(res.Text, tt.want) {
			t.Errorf("%s %.60s: %+v, %v", tt.mode, tt.input, res, err)
		}
	}
	if r := newRig(t).in("executing"); r.Mode() == "executing" {
		if _, err := r.call("request_review", `{"summary":"s"}`); err == nil {
			t.Error("a call without files is valid")
		}
	}
}

func TestReviewStreams(t *testing.T) {
	r := newRig(t, func(c *planmode.Config) {
		c.ReviewCfg = planmode.ReviewConfig{ProviderFactory: plays(t, "=== turn\nthinking: hm\ntext: Good.\n  VERDICT: APPROVED"), Model: scripted.Model()}
	}).in(planmode.ModeReviewing)
	var b strings.Builder
	res, err := r.ReviewNewest(t.Context(), func(s string) { b.WriteString(s) })
	if err != nil || b.String() != "Good.\nVERDICT: APPROVED" || res.Feedback != b.String() {
		t.Errorf("%q, %+v, %v", b.String(), res, err)
	}
	if r.Mode() != "reviewing" || len(r.State().Revisions()) != 1 {
		t.Error("a review makes transitions of its own")
	}
}
