package llm

import (
	"fmt"
	"strings"
)

// A Model is what one needs to know of a model to use it. Prices are in US dollars for a million
// tokens; zero means unknown or free.
type Model struct {
	Provider string // such as "anthropic"
	ID       string // the vendor's name, such as "claude-sonnet-5"
	Name     string // for people; "" means ID
	// ContextWindow and MaxOutput are in tokens; 0 means unknown.
	ContextWindow, MaxOutput int64
	Price                    Price
	Images                   bool            // takes pictures
	Levels                   []ThinkingLevel // levels that the model takes, besides off; nil if it does not think
	// Guessed marks a model that no table knows: its prices are zero and its ContextWindow is a guess.
	Guessed bool
}

// A Price is in US dollars for a million tokens.
type Price struct {
	Input, Output, CacheRead, CacheWrite float64
}

// String returns "provider/id".
func (m Model) String() string { return m.Provider + "/" + m.ID }

// SplitName splits "provider/model" at the first slash; a model's own name may hold further ones.
func SplitName(name string) (provider, id string, err error) {
	provider, id, ok := strings.Cut(name, "/")
	if !ok || provider == "" || id == "" {
		return "", "", fmt.Errorf("llm: model %q is not of the form provider/model", name)
	}
	return provider, id, nil
}

// A ThinkingLevel says how long a model may think before it answers. The zero value is off.
type ThinkingLevel string

// The thinking levels, weakest first.
const (
	ThinkingOff    ThinkingLevel = ""
	ThinkingLow    ThinkingLevel = "low"
	ThinkingMedium ThinkingLevel = "medium"
	ThinkingHigh   ThinkingLevel = "high"
	ThinkingXHigh  ThinkingLevel = "xhigh"
)

// ParseThinkingLevel reads a level; "" and "off" are ThinkingOff.
func ParseThinkingLevel(s string) (ThinkingLevel, error) {
	switch l := ThinkingLevel(s); l {
	case ThinkingOff, ThinkingLow, ThinkingMedium, ThinkingHigh, ThinkingXHigh:
		return l, nil
	}
	if s == "off" {
		return ThinkingOff, nil
	}
	return ThinkingOff, fmt.Errorf("llm: thinking level %q is none of off, low, medium, high, xhigh", s)
}

// Usage counts the tokens of one answer, or of several added up, and what they cost. Input does not
// include the cached tokens. Cost is in US dollars.
type Usage struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cache_read,omitempty"`
	CacheWrite int64   `json:"cache_write,omitempty"`
	Cost       float64 `json:"cost,omitempty"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Cost: u.Cost + v.Cost,
	}
}

// Context returns the tokens that the conversation filled: everything read and written.
func (u Usage) Context() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Of returns what the tokens of u cost at the price, in US dollars.
func (p Price) Of(u Usage) float64 {
	const million = 1e6
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / million
}
