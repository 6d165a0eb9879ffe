// Package catalog knows providers and models: where a provider's server is, which wire it speaks, which
// environment variable holds its key, and what a model costs and can take. The table is
// charm.land/catwalk's, corrected where it does not fit and extended by local servers; a configuration
// overrides it. The package opens no connection: that is package vendors'.
//
// Catwalk itself decodes a megabyte of JSON, a good part of what a program may take to start. So its
// table is laid out as constants in table.go, and a test holds that file to catwalk's.
package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/planmode-dev/planmode/llm"
)

// A Wire is a protocol that a provider speaks.
type Wire string

// The wires. None is a provider that is known, but not spoken to.
const (
	WireAnthropic Wire = "anthropic"
	WireOpenAI    Wire = "openai"
	WireNone      Wire = ""
)

// A Provider is a vendor, a gateway or a local server.
type Provider struct {
	ID, Name string
	Wire     Wire
	// API is the API of WireOpenAI: "chat", "responses" or "" for the usual one.
	API string
	// BaseURL is the server. "" means the default of the wire's package.
	BaseURL string
	// KeyEnv and BaseURLEnv are environment variables. A provider without KeyEnv needs no key; one
	// without BaseURLEnv has its server nowhere else.
	KeyEnv, BaseURLEnv string
	// DefaultModel and SmallModel are ids of models, or "".
	DefaultModel, SmallModel string
	// Local servers run on the user's machine; their models are what the user installed.
	Local bool
	// Reason says why Wire is WireNone.
	Reason string
}

// The guesses for a model that is in no table.
const (
	GuessedContext      = 128_000
	GuessedLocalContext = 32_000
	guessedOutput       = 8192
)

// A Catalog is a table with overrides. It is immutable and safe for concurrent use.
type Catalog struct {
	providers []Provider // sorted by id
	rows      map[string][]modelRow
	models    map[string]ModelOverride // by "provider/model"
}

// Default returns the catalog without overrides.
func Default() *Catalog { return standard() }

var standard = sync.OnceValue(load)

// Lookup finds a model by "provider/model" in the default catalog.
func Lookup(name string) (llm.Model, bool) { return Default().Lookup(name) }

// Models returns the models of the default catalog: see [Catalog.Models].
func Models() []llm.Model { return Default().Models() }

// Providers returns the providers of the default catalog, sorted by id.
func Providers() []Provider { return Default().Providers() }

// Providers returns the providers, sorted by id.
func (c *Catalog) Providers() []Provider { return slices.Clone(c.providers) }

// Provider finds a provider by its id.
func (c *Catalog) Provider(id string) (Provider, bool) {
	i, ok := slices.BinarySearchFunc(c.providers, id, func(p Provider, id string) int { return strings.Compare(p.ID, id) })
	if !ok {
		return Provider{}, false
	}
	return c.providers[i], true
}

// Lookup finds a model by "provider/model".
func (c *Catalog) Lookup(name string) (llm.Model, bool) {
	provider, id, err := llm.SplitName(name)
	if err != nil {
		return llm.Model{}, false
	}
	o, overridden := c.models[name]
	for _, row := range c.rows[provider] {
		if row.id == id {
			return o.apply(model(provider, row)), true
		}
	}
	if p, ok := c.Provider(provider); overridden && ok {
		m := o.apply(guess(p, id))
		m.Guessed = false // the user's word is knowledge
		return m, true
	}
	return llm.Model{}, false
}

// Models returns all models, in the order of their providers and of the table; models that only an
// override knows come last of their provider's, sorted by id.
func (c *Catalog) Models() []llm.Model {
	var out []llm.Model
	for _, p := range c.providers {
		known := map[string]bool{}
		for _, row := range c.rows[p.ID] {
			name := p.ID + "/" + row.id
			known[name] = true
			out = append(out, c.models[name].apply(model(p.ID, row)))
		}
		var own []string
		for name := range c.models {
			if strings.HasPrefix(name, p.ID+"/") && !known[name] {
				own = append(own, name)
			}
		}
		slices.Sort(own)
		for _, name := range own {
			if m, ok := c.Lookup(name); ok {
				out = append(out, m)
			}
		}
	}
	return out
}

// Resolve finds what a user asked for: "provider/model", or "provider" for its default model. A model
// that is not in the table is taken at the user's word and marked as Guessed. An unknown provider is an
// [llm.Error] of kind ErrConfig that says what is known and what to set.
func (c *Catalog) Resolve(name string) (Provider, llm.Model, error) {
	id, model, _ := strings.Cut(name, "/")
	p, ok := c.Provider(id)
	if !ok {
		return p, llm.Model{}, configError(id, "there is no provider %q; known are %s; for any other server that speaks OpenAI's "+
			"Chat Completions set providers.%s.base_url in the configuration", id, strings.Join(c.ids(), ", "), cmp.Or(id, "NAME"))
	}
	if model == "" {
		if p.DefaultModel == "" {
			return p, llm.Model{}, configError(id, "%s has no default model; name one, such as %s/MODEL", p.Name, id)
		}
		model = p.DefaultModel
	}
	if m, ok := c.Lookup(id + "/" + model); ok {
		return p, m, nil
	}
	return p, guess(p, model), nil
}

func (c *Catalog) ids() []string {
	var ids []string
	for _, p := range c.providers {
		if p.Wire != WireNone {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

func configError(provider, format string, args ...any) error {
	return &llm.Error{Kind: llm.ErrConfig, Provider: cmp.Or(provider, "catalog"), Err: fmt.Errorf(format, args...)}
}

// Usable returns an error that says why the provider cannot be spoken to, or nil.
func (p Provider) Usable() error {
	if p.Wire != WireNone {
		return nil
	}
	return &llm.Error{Kind: llm.ErrConfig, Provider: p.ID, Err: errors.New(p.Reason)}
}

func guess(p Provider, id string) llm.Model {
	m := llm.Model{Provider: p.ID, ID: id, ContextWindow: GuessedContext, MaxOutput: guessedOutput, Guessed: true}
	if p.Local {
		m.ContextWindow = GuessedLocalContext
	}
	if p.ID == "anthropic" { // each of their models since 2025 does
		m.Levels, m.Images = slices.Clone(levels), true
	}
	return m
}

var levels = []llm.ThinkingLevel{llm.ThinkingLow, llm.ThinkingMedium, llm.ThinkingHigh, llm.ThinkingXHigh}

// providerRow is a provider as the table has it. key and endpoint may be "$NAME" of a variable; from and
// to are its models' place in modelRows.
type providerRow struct {
	id, name, typ, key, endpoint, large, small string
	from, to                                   int
}

// modelRow is a model as the table has it. Prices are in US dollars for a million tokens.
type modelRow struct {
	id, name                  string
	in, out, cached1, cached2 float64
	window, output            int64
	flags                     uint8
}

// The flags of a modelRow. The levels are in the order of the list above.
const (
	low uint8 = 1 << iota
	medium
	high
	xhigh
	images
)

func model(provider string, row modelRow) llm.Model {
	m := llm.Model{
		Provider: provider, ID: row.id, Name: row.name, ContextWindow: row.window, MaxOutput: row.output,
		Price: price(row), Images: row.flags&images != 0,
	}
	for i, l := range levels {
		if row.flags&(low<<i) != 0 {
			m.Levels = append(m.Levels, l)
		}
	}
	return m
}

// price tells the table's two cache prices apart. Which field holds which differs from row to row, so
// the amounts decide: reading is cheaper than input, writing dearer and at most twice as dear. A price
// that is missing is the input's, so that a cost is rather too high than too low.
func price(row modelRow) llm.Price {
	p := llm.Price{Input: row.in, Output: row.out, CacheRead: row.in, CacheWrite: row.in}
	for _, v := range []float64{row.cached1, row.cached2} {
		switch {
		case v > 0 && v < p.CacheRead:
			p.CacheRead = v
		case v > row.in && v <= 2*row.in:
			p.CacheWrite = v
		}
	}
	return p
}

func load() *Catalog {
	c := &Catalog{rows: make(map[string][]modelRow, len(providerRows))}
	for _, row := range providerRows {
		c.rows[row.id] = modelRows[row.from:row.to]
		c.providers = append(c.providers, provider(row))
	}
	c.providers = append(c.providers, local...)
	slices.SortFunc(c.providers, func(a, b Provider) int { return strings.Compare(a.ID, b.ID) })
	return c
}

// wires by the table's types. The others are not spoken.
var wires = map[string]Wire{
	"anthropic": WireAnthropic, "openai": WireOpenAI, "openai-compat": WireOpenAI, "openrouter": WireOpenAI, "vercel": WireOpenAI,
}

func provider(row providerRow) Provider {
	p := Provider{
		ID: row.id, Name: row.name, Wire: wires[row.typ], DefaultModel: row.large, SmallModel: row.small,
		KeyEnv: env(row.key), BaseURLEnv: env(row.endpoint),
	}
	if p.BaseURLEnv == "" {
		p.BaseURL = row.endpoint
	}
	if fix, ok := fixes[p.ID]; ok {
		fix(&p)
	}
	if p.Wire == WireNone && p.Reason == "" {
		p.Reason = p.Name + " speaks a protocol that is not supported; reach its models through an OpenAI-compatible gateway"
	}
	return p
}

func env(s string) string {
	name, ok := strings.CutPrefix(s, "$")
	if !ok {
		return ""
	}
	return name
}

// fixes are where the table does not fit.
var fixes = map[string]func(*Provider){
	"anthropic": func(p *Provider) { p.BaseURLEnv = "ANTHROPIC_BASE_URL" }, // the name that the vendor's own tools use
	"openai":    func(p *Provider) { p.BaseURLEnv = "OPENAI_BASE_URL" },
	"gemini": func(p *Provider) { // Google's own compatible endpoint
		p.Wire, p.BaseURL = WireOpenAI, "https://generativelanguage.googleapis.com/v1beta/openai"
	},
	"copilot": func(p *Provider) {
		p.Wire, p.Reason = WireNone, "GitHub Copilot takes no API key but a login, which is not supported"
	},
}

// local servers speak Chat Completions at their usual ports.
var local = []Provider{
	{ID: "llamacpp", Name: "llama.cpp", Wire: WireOpenAI, BaseURL: "http://127.0.0.1:8080/v1", BaseURLEnv: "LLAMACPP_BASE_URL", Local: true},
	{ID: "lmstudio", Name: "LM Studio", Wire: WireOpenAI, BaseURL: "http://127.0.0.1:1234/v1", BaseURLEnv: "LMSTUDIO_BASE_URL", Local: true},
	{ID: "ollama", Name: "Ollama", Wire: WireOpenAI, BaseURL: "http://127.0.0.1:11434/v1", BaseURLEnv: "OLLAMA_BASE_URL", Local: true},
	{ID: "vllm", Name: "vLLM", Wire: WireOpenAI, BaseURL: "http://127.0.0.1:8000/v1", BaseURLEnv: "VLLM_BASE_URL", Local: true},
}
