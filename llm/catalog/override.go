package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/planmode-dev/planmode/llm"
)

// Override is what a configuration says about providers and models, by id and by "provider/model". It
// is to be taken from the user's own configuration: a base URL decides who is given the key.
type Override struct {
	Providers map[string]ProviderOverride `json:"providers,omitempty"`
	Models    map[string]ModelOverride    `json:"models,omitempty"`
}

// ProviderOverride changes a provider, or adds one: then BaseURL is needed, and the wire is OpenAI's
// unless it is named. "" leaves a field as it is.
type ProviderOverride struct {
	Name         string `json:"name,omitempty"`
	Wire         Wire   `json:"wire,omitempty"`
	API          string `json:"api,omitempty"`
	BaseURL      string `json:"base_url,omitempty"`
	KeyEnv       string `json:"key_env,omitempty"` // "-" means that no key is needed
	DefaultModel string `json:"default_model,omitempty"`
	Local        *bool  `json:"local,omitempty"`
}

// ModelOverride changes a model, or adds one. nil leaves a field as it is. Prices are in US dollars for
// a million tokens.
type ModelOverride struct {
	Name          *string             `json:"name,omitempty"`
	ContextWindow *int64              `json:"context_window,omitempty"`
	MaxOutput     *int64              `json:"max_output,omitempty"`
	Input         *float64            `json:"price_input,omitempty"`
	Output        *float64            `json:"price_output,omitempty"`
	CacheRead     *float64            `json:"price_cache_read,omitempty"`
	CacheWrite    *float64            `json:"price_cache_write,omitempty"`
	Images        *bool               `json:"images,omitempty"`
	Levels        []llm.ThinkingLevel `json:"thinking_levels,omitempty"`
}

// With returns the catalog with overrides. An override that makes no sense is an error that names it.
func (c *Catalog) With(o Override) (*Catalog, error) {
	n := &Catalog{providers: slices.Clone(c.providers), rows: c.rows, models: maps.Clone(c.models)}
	if n.models == nil {
		n.models = map[string]ModelOverride{}
	}
	for _, id := range slices.Sorted(maps.Keys(o.Providers)) {
		if err := n.override(id, o.Providers[id]); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Models)) {
		if err := n.overrideModel(name, o.Models[name]); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (c *Catalog) override(id string, o ProviderOverride) error {
	if id == "" || strings.Contains(id, "/") {
		return fmt.Errorf("catalog: provider %q: the id must be a word without a slash", id)
	}
	switch o.Wire {
	case WireNone, WireAnthropic, WireOpenAI:
	default:
		return fmt.Errorf("catalog: provider %s: the wire %q is neither anthropic nor openai", id, o.Wire)
	}
	i := slices.IndexFunc(c.providers, func(p Provider) bool { return p.ID == id })
	if i < 0 {
		if o.BaseURL == "" {
			return fmt.Errorf("catalog: provider %s is not known, so it needs a base_url", id)
		}
		i, _ = slices.BinarySearchFunc(c.providers, id, func(p Provider, id string) int { return strings.Compare(p.ID, id) })
		c.providers = slices.Insert(c.providers, i, Provider{ID: id, Name: id, Wire: WireOpenAI})
	}
	p := &c.providers[i]
	p.Name, p.API, p.DefaultModel = cmp.Or(o.Name, p.Name), cmp.Or(o.API, p.API), cmp.Or(o.DefaultModel, p.DefaultModel)
	p.Wire, p.KeyEnv = cmp.Or(o.Wire, p.Wire), cmp.Or(o.KeyEnv, p.KeyEnv)
	if p.KeyEnv == "-" {
		p.KeyEnv = ""
	}
	if o.BaseURL != "" {
		p.BaseURL, p.BaseURLEnv = o.BaseURL, "" // the configuration is nearer than the environment
	}
	if o.Local != nil {
		p.Local = *o.Local
	}
	return nil
}

func (c *Catalog) overrideModel(name string, o ModelOverride) error {
	provider, _, err := llm.SplitName(name)
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	if _, ok := c.Provider(provider); !ok {
		return fmt.Errorf("catalog: model %s: there is no provider %q", name, provider)
	}
	for field, v := range map[string]*float64{
		"price_input": o.Input, "price_output": o.Output, "price_cache_read": o.CacheRead, "price_cache_write": o.CacheWrite,
	} {
		if v != nil && !(*v >= 0) { // also false for NaN
			return fmt.Errorf("catalog: model %s: %s %v is negative", name, field, *v)
		}
	}
	for field, v := range map[string]*int64{"context_window": o.ContextWindow, "max_output": o.MaxOutput} {
		if v != nil && *v <= 0 {
			return fmt.Errorf("catalog: model %s: %s %d is not positive", name, field, *v)
		}
	}
	for _, l := range o.Levels {
		if _, err := llm.ParseThinkingLevel(string(l)); err != nil || l == llm.ThinkingOff {
			return fmt.Errorf("catalog: model %s: thinking level %q is none of %v", name, l, levels)
		}
	}
	c.models[name] = o
	return nil
}

func set[T any](field *T, v *T) {
	if v != nil {
		*field = *v
	}
}

func (o ModelOverride) apply(m llm.Model) llm.Model {
	set(&m.Name, o.Name)
	set(&m.ContextWindow, o.ContextWindow)
	set(&m.MaxOutput, o.MaxOutput)
	set(&m.Price.Input, o.Input)
	set(&m.Price.Output, o.Output)
	set(&m.Price.CacheRead, o.CacheRead)
	set(&m.Price.CacheWrite, o.CacheWrite)
	set(&m.Images, o.Images)
	if o.Levels != nil {
		m.Levels = slices.Clone(o.Levels)
	}
	return m
}
