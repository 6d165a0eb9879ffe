// Package config reads the user's settings: strict JSON with a published schema ([Schema]), from the
// user's own file, from the environment and, for projects that the user trusts, from the project's.
//
// A file with any fault contributes nothing but one [Diagnostic] that says where it is and why. Because
// the rules in it are then missing, plan mode is on and autonomy is strict until it is mended. A
// project's file may add restrictions and never loosen: what it may do with each field is one table
// ([Fields]). API keys are never in a file: a provider names the environment variable that holds one.
//
// The package reads and checks; it starts nothing, and does not know what a session does with the values.
package config

import (
	"encoding/json"
	"fmt"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/shellsafe"
	"github.com/planmode-dev/planmode/tool"
)

// A Config is every setting with its value. [Default] makes one; the zero value is stricter than it in some fields
// and without limits in others, and is not meant to be used.
type Config struct {
	Model       string // provider/model; "" asks the user
	ReviewModel string // provider/model; "" means Model
	Thinking    llm.ThinkingLevel
	Autonomy    tool.Autonomy
	Plan        Plan
	Permissions tool.Policy
	Sandbox     tool.SandboxPolicy
	Confine     bool     // commands that may change things run where only the workspace can be written
	ReadRoots   []string // absolute folders that may be read besides the workspace
	Hidden      []string // absolute paths and base-name patterns that may not be read, besides the built-in ones
	Providers   map[string]Provider
	Limits      Limits

	// Sources says where the value of each field came from, by the field's path, such as
	// "plan.default". A list that several sources added to has all of them, in that order.
	Sources map[string][]Source
}

// Plan says how plan mode behaves.
type Plan struct {
	Default       bool      // sessions start planning
	AfterDone     plan.Mode // Off or Planning
	Exposure      string    // "filtered" or "stable"
	Tools         []string  // tools, as patterns, that the user vouches to be read-only
	ModelMayEnter bool      // the model may ask to enter plan mode
	Evidence      tool.Evidence
	ShellAllow    []shellsafe.Rule // programs that the user vouches to be read-only
}

// A Provider is a server of models.
type Provider struct {
	API       string // "anthropic", "openai" or "openai-responses"
	BaseURL   string // "" means the vendor's own
	APIKeyEnv string // name of the environment variable; "" means the vendor's usual one, or none
	Models    []llm.Model
}

// Limits bound a session's work.
type Limits struct {
	MaxTurns     int // model answers for one prompt
	StallSeconds int // without a byte from the model
}

// Default returns the configuration of a user without a file.
func Default() Config {
	c := Config{
		Autonomy:  tool.Hybrid,
		Plan:      Plan{AfterDone: plan.Off, Exposure: "filtered", Evidence: tool.EvidenceOn},
		Sandbox:   tool.SandboxPrefer,
		Providers: map[string]Provider{},
		Limits:    Limits{MaxTurns: 200, StallSeconds: 180},
		Sources:   map[string][]Source{},
	}
	for _, r := range table {
		c.Sources[r.field] = []Source{{Kind: "default"}}
	}
	return c
}

// A Source is where a value came from.
type Source struct {
	// Kind is "default", "user", "environment", "project" or "fault": the last means that the value is the strictest
	// because a file that could have set it is bad.
	Kind string
	Name string // the file or the environment variable; "" for a default
	Line int    // in the file, from 1; 0 for anything else
}

// String returns the source for people, such as "user /home/ann/.config/planmode/config.json:3".
func (s Source) String() string {
	switch {
	case s.Line > 0:
		return fmt.Sprintf("%s %s:%d", s.Kind, s.Name, s.Line)
	case s.Name != "":
		return s.Kind + " " + s.Name
	}
	return s.Kind
}

// A Setting is one row of what [Config.Settings] returns.
type Setting struct {
	Field   string
	Value   json.RawMessage // as a file would say it
	Sources []Source
}

// Settings returns every field with its value and its sources, in the order of [Fields].
func (c Config) Settings() []Setting {
	out := make([]Setting, 0, len(table))
	for _, r := range table {
		value, err := marshal(r.show(&c))
		if err != nil {
			panic(fmt.Sprintf("config: %s does not encode: %v", r.field, err)) // words, numbers and lists do
		}
		out = append(out, Setting{Field: r.field, Value: value, Sources: c.Sources[r.field]})
	}
	return out
}

// A Diagnostic is one thing about the configuration that the user should know.
type Diagnostic struct {
	Severity     Severity
	Path         string // the file, or the environment variable
	Line, Column int    // from 1, the column in characters; 0 if the whole is meant
	Field        string // such as "plan.default"; "" if the whole is meant
	Reason       string
}

// A Severity says how bad it is.
type Severity string

// The severities.
const (
	Fault   Severity = "error"   // the file or variable counts for nothing
	Refused Severity = "warning" // one field of a project's file counts for nothing, the rest does
	Notice  Severity = "notice"  // everything works, maybe not as expected
)

// String returns "severity: path:line:column: field: reason", without what is not there.
func (d Diagnostic) String() string {
	at := d.Path
	if d.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", at, d.Line, d.Column)
	}
	if d.Field != "" {
		at += ": " + d.Field
	}
	return fmt.Sprintf("%s: %s: %s", d.Severity, at, d.Reason)
}
