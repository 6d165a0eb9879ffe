package main

import (
	"os"
	"time"

	"github.com/planmode-dev/planmode/internal/config"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/catalog"
	"github.com/planmode-dev/planmode/llm/vendors"
)

// vendorModel opens a model of a vendor's, or of a server that the configuration names.
func (p *place) vendorModel(name string) (llm.Provider, llm.Model, error) {
	c, err := p.catalog()
	if err != nil {
		return nil, llm.Model{}, &llm.Error{Kind: llm.ErrConfig, Provider: name, Err: err}
	}
	return vendors.Open(name, vendors.Options{
		Catalog: c, Getenv: os.Getenv, StallTimeout: time.Duration(p.cfg.Limits.StallSeconds) * time.Second,
	})
}

// catalog is the table of models with what the user's configuration says of them.
func (p *place) catalog() (*catalog.Catalog, error) {
	o := catalog.Override{Providers: map[string]catalog.ProviderOverride{}, Models: map[string]catalog.ModelOverride{}}
	for id, prov := range p.cfg.Providers {
		o.Providers[id] = providerOverride(prov)
		for _, m := range prov.Models {
			o.Models[id+"/"+m.ID] = modelOverride(m)
		}
	}
	return catalog.Default().With(o)
}

func providerOverride(p config.Provider) catalog.ProviderOverride {
	o := catalog.ProviderOverride{BaseURL: p.BaseURL, KeyEnv: p.APIKeyEnv}
	switch p.API {
	case "anthropic":
		o.Wire = catalog.WireAnthropic
	case "openai":
		o.Wire, o.API = catalog.WireOpenAI, "chat"
	case "openai-responses":
		o.Wire, o.API = catalog.WireOpenAI, "responses"
	}
	return o
}

// modelOverride takes over what the file says: zero says nothing.
func modelOverride(m llm.Model) catalog.ModelOverride {
	o := catalog.ModelOverride{Levels: m.Levels}
	for field, v := range map[**int64]int64{&o.ContextWindow: m.ContextWindow, &o.MaxOutput: m.MaxOutput} {
		if v > 0 {
			*field = &v
		}
	}
	for field, v := range map[**float64]float64{
		&o.Input: m.Price.Input, &o.Output: m.Price.Output, &o.CacheRead: m.Price.CacheRead, &o.CacheWrite: m.Price.CacheWrite,
	} {
		if v > 0 {
			*field = &v
		}
	}
	if m.Images {
		o.Images = &m.Images
	}
	if m.Name != "" {
		o.Name = &m.Name
	}
	return o
}
