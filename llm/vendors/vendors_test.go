package vendors_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/planmode-dev/planmode/internal/agenttest"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/catalog"
	"github.com/planmode-dev/planmode/llm/scripted"
	"github.com/planmode-dev/planmode/llm/vendors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ExampleOpen() {
	none := func(string) string { return "" }
	_, _, err := vendors.Open("anthropic/claude-sonnet-5", vendors.Options{Getenv: none})
	fmt.Println(err)
	_, model, err := vendors.Open("ollama/qwen3", vendors.Options{Getenv: none})
	fmt.Println(model, model.Guessed, err)
	_, _, err = vendors.Open("bedrock", vendors.Options{Getenv: none})
	fmt.Println(err)
	// Output:
	// llm: anthropic: auth: there is no API key for Anthropic; set ANTHROPIC_API_KEY
	// ollama/qwen3 true <nil>
	// llm: bedrock: config: AWS Bedrock US speaks a protocol that is not supported; reach its models through an OpenAI-compatible gateway
}

func TestOpenTalks(t *testing.T) {
	type start = func(*scripted.Script, agenttest.Options) (*agenttest.Server, error)
	tests := []struct {
		name     string
		start    start
		env      string // for the base URL
		key      string // variable of the key
		override bool   // the base URL comes from the configuration
		path     string
	}{
		{"anthropic/claude-sonnet-5", agenttest.StartAnthropic, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", false, "/v1/messages"},
		{"openai/gpt-5.5", agenttest.StartOpenAI, "OPENAI_BASE_URL", "OPENAI_API_KEY", false, "/v1/chat/completions"},
		{"ollama/qwen3", agenttest.StartOpenAI, "OLLAMA_BASE_URL", "", false, "/v1/chat/completions"},
		{"groq/some-model", agenttest.StartOpenAI, "", "GROQ_API_KEY", true, "/v1/chat/completions"},
		{"kimi-coding", agenttest.StartAnthropic, "", "KIMI_CODING_API_KEY", true, "/v1/messages"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const secret = "sk-of-this-provider"
			o := agenttest.Options{}
			if tt.key != "" {
				o.APIKey = secret
			}
			s := agenttest.Start(t, tt.start, "=== turn\ntext: hi\nusage: input=1000000", o)
			id, _, _ := strings.Cut(tt.name, "/")
			opts := vendors.Options{Getenv: func(name string) string {
				switch {
				case name == tt.env:
					return s.URL
				case name == tt.key:
					return secret
				}
				return ""
			}}
			if tt.override {
				c, err := catalog.Default().With(catalog.Override{Providers: map[string]catalog.ProviderOverride{id: {BaseURL: s.URL}}})
				if err != nil {
					t.Fatal(err)
				}
				opts.Catalog = c
			}
			p, m, err := vendors.Open(tt.name, opts)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := p.Stream(t.Context(), llm.Request{Model: m, Messages: []llm.Message{llm.UserText("x")}}, nil)
			if err != nil || resp.Message.Text() != "hi" || resp.Usage.Cost != m.Price.Input {
				t.Errorf("got %+v, %v; a million tokens cost %v", resp, err, m.Price.Input)
			}
			if r := s.Requests()[0]; r.Path != tt.path || r.Decoded.Model.ID != m.ID {
				t.Errorf("sent to %s for %s", r.Path, r.Decoded.Model.ID)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	none := func(string) string { return "" }
	for name, tt := range map[string]struct {
		kind llm.ErrorKind
		want string
	}{
		"":               {llm.ErrConfig, `there is no provider ""`},
		"nobody/x":       {llm.ErrConfig, "providers.nobody.base_url"},
		"ollama":         {llm.ErrConfig, "has no default model"},
		"copilot/x":      {llm.ErrConfig, "not supported"},
		"groq/x":         {llm.ErrAuth, "set GROQ_API_KEY"},
		"openai/gpt-5.5": {llm.ErrAuth, "set OPENAI_API_KEY"},
	} {
		p, _, err := vendors.Open(name, vendors.Options{Getenv: none})
		var e *llm.Error
		if p != nil || !errors.As(err, &e) || e.Kind != tt.kind || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %s with %q", name, err, tt.kind, tt.want)
		}
	}
}
