// Package vendors opens a model by its name: it joins the catalog, which knows where a provider's
// server is, with the packages that speak the wires. Programs that bring their own [llm.Provider]
// need neither it nor the vendors' SDKs.
package vendors

import (
	"cmp"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/anthropic"
	"github.com/planmode-dev/planmode/llm/catalog"
	"github.com/planmode-dev/planmode/llm/openai"
)

// Options configure [Open]. The zero value takes all from the catalog and the environment.
type Options struct {
	// Catalog to look in. nil means [catalog.Default].
	Catalog *catalog.Catalog
	// APIKey goes before the provider's environment variable.
	APIKey string
	// BaseURL goes before the provider's environment variable and the catalog.
	BaseURL string
	// Getenv reads the environment. nil means os.Getenv.
	Getenv func(string) string
	// HTTPClient, Retries, Backoff and StallTimeout are as in [anthropic.Options].
	HTTPClient   *http.Client
	Retries      int
	Backoff      time.Duration
	StallTimeout time.Duration
}

// Open returns the provider and the model of a name such as "anthropic/claude-sonnet-5", or "anthropic"
// for its default model. A model that the catalog does not know is Guessed. Errors are [llm.Error]: of
// kind ErrConfig for a provider that is not known or not supported, of kind ErrAuth for a missing key;
// both say what to set.
//
// No request is made. A key from the environment goes to the provider's server, or to the one that the
// options, the user's overrides or the environment name for this provider.
func Open(name string, o Options) (llm.Provider, llm.Model, error) {
	c := o.Catalog
	if c == nil {
		c = catalog.Default()
	}
	p, m, err := c.Resolve(name)
	if err != nil {
		return nil, llm.Model{}, err
	}
	if err := p.Usable(); err != nil {
		return nil, llm.Model{}, err
	}
	getenv := func(name string) string {
		switch {
		case name == "":
			return ""
		case o.Getenv != nil:
			return o.Getenv(name)
		}
		return os.Getenv(name)
	}
	key := cmp.Or(o.APIKey, getenv(p.KeyEnv))
	elsewhere := cmp.Or(o.BaseURL, getenv(p.BaseURLEnv))
	// A server that the user put in the provider's place may want no key.
	if key == "" && p.KeyEnv != "" && elsewhere == "" {
		return nil, llm.Model{}, missingKey(p)
	}
	var provider llm.Provider
	if p.Wire == catalog.WireAnthropic {
		provider, err = anthropic.New(anthropic.Options{
			Name: p.ID, APIKey: key, BaseURL: cmp.Or(elsewhere, p.BaseURL, anthropic.DefaultBaseURL),
			HTTPClient: o.HTTPClient, Retries: o.Retries, Backoff: o.Backoff, StallTimeout: o.StallTimeout,
		})
	} else {
		provider, err = openai.New(openai.Options{
			Name: p.ID, APIKey: key, BaseURL: cmp.Or(elsewhere, p.BaseURL, openai.DefaultBaseURL), API: openai.API(p.API),
			HTTPClient: o.HTTPClient, Retries: o.Retries, Backoff: o.Backoff, StallTimeout: o.StallTimeout,
		})
	}
	if err != nil {
		return nil, llm.Model{}, err
	}
	return provider, m, nil
}

func missingKey(p catalog.Provider) error {
	return &llm.Error{Kind: llm.ErrAuth, Provider: p.ID, Err: errors.New("there is no API key for " + p.Name + "; set " + p.KeyEnv)}
}
