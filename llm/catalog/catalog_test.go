package catalog_test

import (
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"charm.land/catwalk/pkg/embedded"
	"go.uber.org/goleak"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ExampleLookup() {
	m, ok := catalog.Lookup("anthropic/claude-sonnet-5")
	fmt.Println(ok, m, m.ContextWindow, m.Price, m.Levels, m.Images)
	_, ok = catalog.Lookup("anthropic/claude-of-tomorrow")
	fmt.Println(ok)
	// Output:
	// true anthropic/claude-sonnet-5 1000000 {2 10 0.2 2.5} [low medium high xhigh] true
	// false
}

func ExampleCatalog_Resolve() {
	c := catalog.Default()
	_, m, err := c.Resolve("ollama/qwen3-coder:30b")
	fmt.Println(m, m.ContextWindow, m.Guessed, err)
	_, m, err = c.Resolve("anthropic")
	fmt.Println(m, m.Guessed, err)
	_, _, err = c.Resolve("antropic/claude")
	fmt.Println(strings.Contains(err.Error(), `there is no provider "antropic"; known are aihubmix`))
	// Output:
	// ollama/qwen3-coder:30b 32000 true <nil>
	// anthropic/claude-sonnet-4-6 false <nil>
	// true
}

// Everything in the table is found, and makes sense.
func TestWholeTable(t *testing.T) {
	models := catalog.Models()
	n := 0
	for _, p := range embedded.GetAll() {
		n += len(p.Models)
	}
	if len(models) != n {
		t.Errorf("%d models, the table has %d", len(models), n)
	}
	for _, m := range models {
		got, ok := catalog.Lookup(m.String())
		if !ok || got.String() != m.String() {
			t.Errorf("%s is not found: %v", m, got)
		}
		p := m.Price
		if p.CacheRead > p.Input || p.CacheWrite < p.Input || p.CacheWrite > 2*p.Input || p.Input < 0 || m.ContextWindow <= 0 || m.Guessed {
			t.Errorf("%s: %+v makes no sense", m, m)
		}
	}
	if len(catalog.Providers()) < 40 {
		t.Errorf("%d providers", len(catalog.Providers()))
	}
	for _, p := range catalog.Providers() {
		usable := p.Usable()
		switch {
		case (usable == nil) != (p.Wire != catalog.WireNone):
			t.Errorf("%s: wire %q, but %v", p.ID, p.Wire, usable)
		case usable == nil && p.KeyEnv == "" && !p.Local:
			t.Errorf("%s has no variable for its key", p.ID)
		case usable == nil && p.BaseURL == "" && p.ID != "anthropic" && p.ID != "openai":
			t.Errorf("%s has no server", p.ID)
		case strings.Contains(p.BaseURL, "$"):
			t.Errorf("%s has the server %s", p.ID, p.BaseURL)
		}
		if p.DefaultModel != "" && p.Wire != catalog.WireNone {
			if _, m, err := catalog.Default().Resolve(p.ID); err != nil || m.ID != p.DefaultModel {
				t.Errorf("%s: the default model is %v, %v", p.ID, m, err)
			}
		}
	}
}

// The table has the two cache prices in either order, and sometimes something else in their place.
func TestCachePrices(t *testing.T) {
	tests := map[string]llm.Price{
		"anthropic/claude-opus-5": {Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25},
		"openai/gpt-5.5":          {Input: 5, Output: 30, CacheRead: 0.5, CacheWrite: 5},
		"openai/gpt-5.6-sol":      {Input: 5, Output: 30, CacheRead: 0.5, CacheWrite: 6.25},
		"openai/o3":               {Input: 2, Output: 8, CacheRead: 0.5, CacheWrite: 2},
		"gemini/gemini-3.7-flash": {Input: 0.75, Output: 3.75, CacheRead: 0.075, CacheWrite: 0.75},
		"minimax/MiniMax-M2.7":    {Input: 0.3, Output: 1.2, CacheRead: 0.06, CacheWrite: 0.375},
	}
	for name, want := range tests {
		m, ok := catalog.Lookup(name)
		if !ok || m.Price != want {
			t.Errorf("%s: got %+v (%t), want %+v", name, m.Price, ok, want)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestOverride(t *testing.T) {
	c, err := catalog.Default().With(catalog.Override{
		Providers: map[string]catalog.ProviderOverride{
			"mine":      {BaseURL: "http://10.0.0.1/v1", KeyEnv: "MINE_KEY", DefaultModel: "big"},
			"anthropic": {BaseURL: "https://gateway.test", DefaultModel: "claude-opus-5"},
			"ollama":    {KeyEnv: "OLLAMA_KEY"},
			"groq":      {KeyEnv: "-"},
		},
		Models: map[string]catalog.ModelOverride{
			"mine/big":                  {ContextWindow: ptr(int64(64_000)), Input: ptr(3.0), Images: ptr(true)},
			"anthropic/claude-sonnet-5": {Output: ptr(7.0), Levels: []llm.ThinkingLevel{llm.ThinkingLow}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, m, err := c.Resolve("mine")
	if err != nil || p.Wire != catalog.WireOpenAI || p.KeyEnv != "MINE_KEY" || m.ID != "big" || m.Guessed ||
		m.ContextWindow != 64_000 || m.Price.Input != 3 || !m.Images {
		t.Errorf("a provider of the user's: %+v, %+v, %v", p, m, err)
	}
	m, ok := c.Lookup("anthropic/claude-sonnet-5")
	if !ok || m.Price != (llm.Price{Input: 2, Output: 7, CacheRead: 0.2, CacheWrite: 2.5}) || !reflect.DeepEqual(m.Levels, []llm.ThinkingLevel{llm.ThinkingLow}) {
		t.Errorf("a model that was changed: %+v", m)
	}
	if p, m, _ = c.Resolve("anthropic"); p.BaseURL != "https://gateway.test" || p.BaseURLEnv != "" || m.ID != "claude-opus-5" {
		t.Errorf("a provider that was changed: %+v, %v", p, m)
	}
	if p, _ = c.Provider("groq"); p.KeyEnv != "" {
		t.Errorf("groq's key: %+v", p)
	}
	if n, base := len(c.Models()), len(catalog.Models()); n != base+1 {
		t.Errorf("%d models, want one more than %d", n, base)
	}
	if p, _ := catalog.Default().Provider("anthropic"); p.BaseURL != "" {
		t.Error("the override changed the default catalog")
	}
}

func TestBadOverrides(t *testing.T) {
	for want, o := range map[string]catalog.Override{
		"needs a base_url":             {Providers: map[string]catalog.ProviderOverride{"mine": {}}},
		"without a slash":              {Providers: map[string]catalog.ProviderOverride{"a/b": {BaseURL: "x"}}},
		"neither anthropic nor openai": {Providers: map[string]catalog.ProviderOverride{"groq": {Wire: "soap"}}},
		"not of the form":              {Models: map[string]catalog.ModelOverride{"gpt": {}}},
		`no provider "nobody"`:         {Models: map[string]catalog.ModelOverride{"nobody/x": {}}},
		"price_input -1 is negative":   {Models: map[string]catalog.ModelOverride{"groq/x": {Input: ptr(-1.0)}}},
		"context_window 0":             {Models: map[string]catalog.ModelOverride{"groq/x": {ContextWindow: ptr(int64(0))}}},
		`level "much"`:                 {Models: map[string]catalog.ModelOverride{"groq/x": {Levels: []llm.ThinkingLevel{"much"}}}},
	} {
		if _, err := catalog.Default().With(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestUnusable(t *testing.T) {
	for _, id := range []string{"bedrock", "azure", "vertexai", "copilot"} {
		p, ok := catalog.Default().Provider(id)
		var e *llm.Error
		if err := p.Usable(); !ok || !errors.As(err, &e) || e.Kind != llm.ErrConfig || !strings.Contains(err.Error(), "not supported") {
			t.Errorf("%s: %t, %v", id, ok, err)
		}
	}
}

// The catalog is a table: it must not pull the vendors' SDKs into programs that only look prices up.
func TestImportsNoVendor(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skipf("go list is not to be had here: %v", err)
	}
	for dep := range strings.Lines(string(out)) {
		if strings.Contains(dep, "anthropic-sdk-go") || strings.Contains(dep, "openai-go") {
			t.Errorf("it imports %s", dep)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		if _, ok := catalog.Lookup("openrouter/anthropic/claude-sonnet-4.6"); !ok {
			b.Fatal("not found")
		}
	}
}
