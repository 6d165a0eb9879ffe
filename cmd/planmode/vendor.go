package main

import (
	"errors"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/anthropic"
)

func (p *place) vendorModel(name string) (llm.Provider, llm.Model, error) {
	provider, id, err := llm.SplitName(name)
	if err != nil {
		return nil, llm.Model{}, err
	}
	if provider != "anthropic" {
		return nil, llm.Model{}, errors.New("planmode: the provider " + provider + " is not wired yet")
	}
	m, ok := p.cfg.ModelOf(name)
	if !ok {
		m = llm.Model{Provider: provider, ID: id, ContextWindow: 200_000, MaxOutput: 32_000}
	}
	prov, err := anthropic.New(anthropic.Options{})
	return prov, m, err
}
