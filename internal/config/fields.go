package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/shellsafe"
	"github.com/planmode-dev/planmode/tool"
)

// A file is what one file says, after it was checked against root. What it leaves out is nil or zero, and
// then not read: see row.
type file struct {
	Model       string `json:"model"`
	ReviewModel string `json:"review_model"`
	Thinking    string `json:"thinking"`
	Autonomy    string `json:"autonomy"`
	Plan        struct {
		Default       bool     `json:"default"`
		AfterDone     string   `json:"after_done"`
		Exposure      string   `json:"exposure"`
		Tools         []string `json:"tools"`
		ModelMayEnter bool     `json:"model_may_enter"`
		Evidence      string   `json:"evidence"`
		Shell         struct {
			Allow []shellsafe.Rule `json:"allow"`
		} `json:"shell"`
	} `json:"plan"`
	Permissions struct {
		Allow []string `json:"allow"`
		Ask   []string `json:"ask"`
		Deny  []string `json:"deny"`
	} `json:"permissions"`
	Sandbox   string                  `json:"sandbox"`
	Commands  string                  `json:"commands"`
	ReadRoots []string                `json:"read_roots"`
	Hidden    []string                `json:"hidden"`
	Providers map[string]fileProvider `json:"providers"`
	Limits    struct {
		MaxTurns     int `json:"max_turns"`
		StallSeconds int `json:"stall_seconds"`
	} `json:"limits"`
}

type fileProvider struct {
	API       string               `json:"api"`
	BaseURL   string               `json:"base_url,omitempty"`
	APIKeyEnv string               `json:"api_key_env,omitempty"`
	Models    map[string]fileModel `json:"models,omitempty"`
}

type fileModel struct {
	ContextWindow int64               `json:"context_window,omitempty"`
	MaxOutput     int64               `json:"max_output,omitempty"`
	Price         *filePrice          `json:"price,omitempty"`
	Images        bool                `json:"images,omitempty"`
	Thinking      []llm.ThinkingLevel `json:"thinking,omitempty"`
}

type filePrice struct {
	Input      float64 `json:"input,omitempty"`
	Output     float64 `json:"output,omitempty"`
	CacheRead  float64 `json:"cache_read,omitempty"`
	CacheWrite float64 `json:"cache_write,omitempty"`
}

// A row is one field: what the user's file does with it and what a project's may.
type row struct {
	field string
	// user takes the value over. It is called only if the file has the field.
	user func(c *Config, f *file)
	// project takes the value over where that restricts or changes nothing, and says whether it did. Nil means that the
	// field is the user's alone.
	project func(c *Config, f *file) bool
	rule    string // what project does, for people
	adds    bool   // the value joins what there is, in place of replacing it
	show    func(c *Config) any
}

// Why a project may not set a field at all.
const (
	costs    = "the user's alone: it decides what is paid for"
	vouching = "the user's alone: only the user can vouch for something"
	taste    = "the user's alone: it restricts nothing"
	reach    = "the user's alone: it widens what can be reached"
)

// Words for values of other packages, strictest first.
var (
	evidenceWords = []string{tool.EvidenceOff: "off", tool.EvidenceAsk: "ask", tool.EvidenceOn: "on"}
	sandboxWords  = []string{tool.SandboxRequire: "require", tool.SandboxPrefer: "prefer", tool.SandboxOff: "off"}
)

// word returns the value that has the word. The file was checked, so there is one; the zero value, which
// would stand for none, is the strictest of each.
func word[T ~uint8](words []string, s string) T { return T(max(slices.Index(words, s), 0)) }

// stricter lowers a value whose zero is the strictest, and says whether that was not a rise.
func stricter[T ~uint8 | ~int](into *T, v T) bool {
	if v > *into {
		return false
	}
	*into = v
	return true
}

func autonomy(f *file) tool.Autonomy {
	a, _ := tool.ParseAutonomy(f.Autonomy) // another word is Strict
	return a
}

func afterDone(f *file) plan.Mode {
	m, _ := plan.ParseMode(f.Plan.AfterDone) // another word is Planning
	return m
}

func rules(words []string) []tool.Rule {
	out := make([]tool.Rule, 0, len(words))
	for _, w := range words {
		if r, err := tool.ParseRule(w); err == nil { // the file was checked
			out = append(out, r)
		}
	}
	return out
}

func union[T comparable](into *[]T, more []T) {
	for _, v := range more {
		if !slices.Contains(*into, v) {
			*into = append(*into, v)
		}
	}
}

// table is every field. The stated rules are held by TestProjectNeverLoosens.
var table = []row{
	{
		field: "model", rule: costs,
		user: func(c *Config, f *file) { c.Model = f.Model },
		show: func(c *Config) any { return c.Model },
	},
	{
		field: "review_model", rule: costs,
		user: func(c *Config, f *file) { c.ReviewModel = f.ReviewModel },
		show: func(c *Config) any { return c.ReviewModel },
	},
	{
		field: "thinking", rule: costs,
		user: func(c *Config, f *file) { c.Thinking, _ = llm.ParseThinkingLevel(f.Thinking) },
		show: func(c *Config) any {
			if c.Thinking == llm.ThinkingOff {
				return "off"
			}
			return c.Thinking
		},
	},
	{
		field: "autonomy", rule: "may be stricter: strict, hybrid, loose",
		user:    func(c *Config, f *file) { c.Autonomy = autonomy(f) },
		project: func(c *Config, f *file) bool { return stricter(&c.Autonomy, autonomy(f)) },
		show:    func(c *Config) any { return c.Autonomy.String() },
	},
	{
		field: "plan.default", rule: "may be true",
		user: func(c *Config, f *file) { c.Plan.Default = f.Plan.Default },
		project: func(c *Config, f *file) bool {
			loosens := c.Plan.Default && !f.Plan.Default
			c.Plan.Default = c.Plan.Default || f.Plan.Default
			return !loosens
		},
		show: func(c *Config) any { return c.Plan.Default },
	},
	{
		field: "plan.after_done", rule: "may be planning",
		user: func(c *Config, f *file) { c.Plan.AfterDone = afterDone(f) },
		project: func(c *Config, f *file) bool {
			if c.Plan.AfterDone == plan.Planning {
				return afterDone(f) == plan.Planning
			}
			c.Plan.AfterDone = afterDone(f)
			return true
		},
		show: func(c *Config) any { return c.Plan.AfterDone.String() },
	},
	{
		field: "plan.exposure", rule: taste,
		user: func(c *Config, f *file) { c.Plan.Exposure = f.Plan.Exposure },
		show: func(c *Config) any { return c.Plan.Exposure },
	},
	{
		field: "plan.tools", rule: vouching,
		user: func(c *Config, f *file) { c.Plan.Tools = f.Plan.Tools },
		show: func(c *Config) any { return some(c.Plan.Tools) },
	},
	{
		field: "plan.model_may_enter", rule: "may be false",
		user: func(c *Config, f *file) { c.Plan.ModelMayEnter = f.Plan.ModelMayEnter },
		project: func(c *Config, f *file) bool {
			loosens := f.Plan.ModelMayEnter && !c.Plan.ModelMayEnter
			c.Plan.ModelMayEnter = c.Plan.ModelMayEnter && f.Plan.ModelMayEnter
			return !loosens
		},
		show: func(c *Config) any { return c.Plan.ModelMayEnter },
	},
	{
		field: "plan.evidence", rule: "may be stricter: off, ask, on",
		user: func(c *Config, f *file) { c.Plan.Evidence = word[tool.Evidence](evidenceWords, f.Plan.Evidence) },
		project: func(c *Config, f *file) bool {
			return stricter(&c.Plan.Evidence, word[tool.Evidence](evidenceWords, f.Plan.Evidence))
		},
		show: func(c *Config) any { return evidenceWords[c.Plan.Evidence] },
	},
	{
		field: "plan.shell.allow", rule: vouching,
		user: func(c *Config, f *file) { c.Plan.ShellAllow = f.Plan.Shell.Allow },
		show: func(c *Config) any { return some(c.Plan.ShellAllow) },
	},
	{
		field: "permissions.allow", rule: "the user's alone: it permits",
		user: func(c *Config, f *file) { c.Permissions.Allow = rules(f.Permissions.Allow) },
		show: func(c *Config) any { return ruleWords(c.Permissions.Allow) },
	},
	{
		field: "permissions.ask", rule: "may add rules", adds: true,
		user: func(c *Config, f *file) { c.Permissions.Ask = rules(f.Permissions.Ask) },
		project: func(c *Config, f *file) bool {
			union(&c.Permissions.Ask, rules(f.Permissions.Ask))
			return true
		},
		show: func(c *Config) any { return ruleWords(c.Permissions.Ask) },
	},
	{
		field: "permissions.deny", rule: "may add rules", adds: true,
		user: func(c *Config, f *file) { c.Permissions.Deny = rules(f.Permissions.Deny) },
		project: func(c *Config, f *file) bool {
			union(&c.Permissions.Deny, rules(f.Permissions.Deny))
			return true
		},
		show: func(c *Config) any { return ruleWords(c.Permissions.Deny) },
	},
	{
		field: "sandbox", rule: "may be stricter: require, prefer, off",
		user: func(c *Config, f *file) { c.Sandbox = word[tool.SandboxPolicy](sandboxWords, f.Sandbox) },
		project: func(c *Config, f *file) bool {
			return stricter(&c.Sandbox, word[tool.SandboxPolicy](sandboxWords, f.Sandbox))
		},
		show: func(c *Config) any { return sandboxWords[c.Sandbox] },
	},
	{
		field: "commands", rule: "may be stricter: workspace, full",
		user: func(c *Config, f *file) { c.Confine = f.Commands == "workspace" },
		project: func(c *Config, f *file) bool {
			loosens := c.Confine && f.Commands != "workspace"
			c.Confine = c.Confine || f.Commands == "workspace"
			return !loosens
		},
		show: func(c *Config) any {
			if c.Confine {
				return "workspace"
			}
			return "full"
		},
	},
	{
		field: "read_roots", rule: reach,
		user: func(c *Config, f *file) { c.ReadRoots = f.ReadRoots },
		show: func(c *Config) any { return some(c.ReadRoots) },
	},
	{
		field: "hidden", rule: "may add entries; a relative path is below the project", adds: true,
		user: func(c *Config, f *file) { c.Hidden = f.Hidden },
		project: func(c *Config, f *file) bool {
			union(&c.Hidden, f.Hidden)
			return true
		},
		show: func(c *Config) any { return some(c.Hidden) },
	},
	{
		field: "providers", rule: "the user's alone: it decides where code and keys are sent",
		user: func(c *Config, f *file) { c.Providers = providers(f.Providers) },
		show: func(c *Config) any { return fileProviders(c.Providers) },
	},
	{
		field: "limits.max_turns", rule: "may be lower",
		user:    func(c *Config, f *file) { c.Limits.MaxTurns = f.Limits.MaxTurns },
		project: func(c *Config, f *file) bool { return stricter(&c.Limits.MaxTurns, f.Limits.MaxTurns) },
		show:    func(c *Config) any { return c.Limits.MaxTurns },
	},
	{
		field: "limits.stall_seconds", rule: "may be lower",
		user:    func(c *Config, f *file) { c.Limits.StallSeconds = f.Limits.StallSeconds },
		project: func(c *Config, f *file) bool { return stricter(&c.Limits.StallSeconds, f.Limits.StallSeconds) },
		show:    func(c *Config) any { return c.Limits.StallSeconds },
	},
}

// A Field says what a project's file may do with a field.
type Field struct {
	Name     string // the path, such as "plan.default"
	Project  string // for people, such as "may be true"
	UserOnly bool   // a project's value counts for nothing; otherwise it counts where it restricts
}

// Fields returns every field in the order of the documentation.
func Fields() []Field {
	out := make([]Field, 0, len(table))
	for _, r := range table {
		out = append(out, Field{Name: r.field, Project: r.rule, UserOnly: r.project == nil})
	}
	return out
}

func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func ruleWords(rules []tool.Rule) []string {
	out := make([]string, 0, len(rules))
	for _, r := range rules {
		out = append(out, r.String())
	}
	return out
}

func providers(in map[string]fileProvider) map[string]Provider {
	out := make(map[string]Provider, len(in))
	for name, p := range in {
		to := Provider{API: p.API, BaseURL: p.BaseURL, APIKeyEnv: p.APIKeyEnv}
		for _, id := range slices.Sorted(maps.Keys(p.Models)) {
			m := p.Models[id]
			model := llm.Model{
				Provider: name, ID: id, ContextWindow: m.ContextWindow, MaxOutput: m.MaxOutput,
				Images: m.Images, Levels: m.Thinking,
			}
			if m.Price != nil {
				model.Price = llm.Price(*m.Price)
			}
			to.Models = append(to.Models, model)
		}
		out[name] = to
	}
	return out
}

// fileProviders is the inverse of providers.
func fileProviders(in map[string]Provider) map[string]fileProvider {
	out := make(map[string]fileProvider, len(in))
	for name, p := range in {
		to := fileProvider{API: p.API, BaseURL: p.BaseURL, APIKeyEnv: p.APIKeyEnv}
		for _, m := range p.Models {
			if to.Models == nil {
				to.Models = map[string]fileModel{}
			}
			model := fileModel{ContextWindow: m.ContextWindow, MaxOutput: m.MaxOutput, Images: m.Images, Thinking: m.Levels}
			if m.Price != (llm.Price{}) {
				p := filePrice(m.Price)
				model.Price = &p
			}
			to.Models[m.ID] = model
		}
		out[name] = to
	}
	return out
}

// checkURL takes an address without credentials: those belong into the environment.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("is no address: it cannot be read")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("is no address that begins with http:// or https://")
	case u.Host == "":
		return fmt.Errorf("names no host")
	case u.User != nil:
		return fmt.Errorf("holds credentials; put the key into an environment variable and name it in api_key_env")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("has a query or fragment")
	}
	return nil
}
