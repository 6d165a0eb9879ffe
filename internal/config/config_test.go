package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/shellsafe"
	"github.com/planmode-dev/planmode/tool"
)

// wholeFile is a user's file that sets every field.
const wholeFile = `{
  "$schema": "https://planmode.dev/schema/config.json",
  "model": "anthropic/claude-sonnet-5",
  "review_model": "local/org/model:7b",
  "thinking": "high",
  "autonomy": "loose",
  "plan": {
    "default": true,
    "after_done": "planning",
    "exposure": "stable",
    "tools": ["codegraph_*", "memory_search"],
    "model_may_enter": true,
    "evidence": "ask",
    "shell": {"allow": [{"program": "gh", "sub": ["issue", "view"], "options": ["--json", "*"]}]}
  },
  "permissions": {
    "allow": ["bash(go test *)", "write(docs/**)", "edit", "mcp__github__*"],
    "ask": ["bash(git push *)"],
    "deny": ["fetch(example.com)"]
  },
  "sandbox": "off",
  "commands": "workspace",
  "read_roots": ["/usr/share/doc", "~/notes/../src"],
  "hidden": ["*.pem", "~/.secrets", "/etc/shadow"],
  "providers": {
    "local": {
      "api": "openai", "base_url": "http://localhost:8080/v1", "api_key_env": "LOCAL_KEY",
      "models": {"org/model:7b": {"context_window": 32768, "max_output": 4096, "images": true, "thinking": ["low", "high"],
        "price": {"input": 0.5, "output": 1, "cache_read": 0.05, "cache_write": 0.6}}}
    }
  },
  "limits": {"max_turns": 50, "stall_seconds": 60}
}`

// A world is a user's and a project's folder in a temporary one.
type world struct {
	o       LoadOptions
	user    string
	project string
}

func newWorld(t *testing.T, user, project string, env map[string]string) world {
	t.Helper()
	dir := t.TempDir()
	w := world{
		o: LoadOptions{
			Dirs: Dirs{Config: filepath.Join(dir, "config"), State: filepath.Join(dir, "state")},
			Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"), Trusted: true,
			Env: func(name string) string { return env[name] },
		},
	}
	w.user = filepath.Join(w.o.Dirs.Config, FileName)
	w.project = filepath.Join(w.o.Project, ".planmode", "config.json")
	for path, text := range map[string]string{w.user: user, w.project: project} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func noDiags(t *testing.T, diags []Diagnostic) {
	t.Helper()
	for _, d := range diags {
		t.Errorf("unexpected: %s", d)
	}
}

// settings returns the values without their sources.
func settings(c Config) map[string]string {
	out := map[string]string{}
	for _, s := range c.Settings() {
		out[s.Field] = string(s.Value)
	}
	return out
}

func TestNothingSet(t *testing.T) {
	c, diags := Load(LoadOptions{})
	noDiags(t, diags)
	if !reflect.DeepEqual(c, Default()) {
		t.Errorf("got %+v", c)
	}
	if c.Autonomy != tool.Hybrid || c.Sandbox != tool.SandboxPrefer || c.Plan.Default || c.Plan.Evidence != tool.EvidenceOn || c.Confine || c.Plan.AfterDone != plan.Off {
		t.Errorf("defaults %+v", c)
	}
	w := newWorld(t, "", "", nil)
	c, diags = Load(w.o)
	noDiags(t, diags)
	if !reflect.DeepEqual(c, Default()) {
		t.Errorf("with empty folders: %+v", c)
	}
}

func TestWholeFile(t *testing.T) {
	w := newWorld(t, wholeFile, "", nil)
	c, diags := Load(w.o)
	noDiags(t, diags)
	want := Config{
		Model: "anthropic/claude-sonnet-5", ReviewModel: "local/org/model:7b", Thinking: llm.ThinkingHigh, Autonomy: tool.Loose,
		Plan: Plan{
			Default: true, AfterDone: plan.Planning, Exposure: "stable", Tools: []string{"codegraph_*", "memory_search"},
			ModelMayEnter: true, Evidence: tool.EvidenceAsk,
			ShellAllow: []shellsafe.Rule{{Program: "gh", Sub: []string{"issue", "view"}, Options: []string{"--json", "*"}}},
		},
		Permissions: tool.Policy{
			Allow: []tool.Rule{{Tool: "bash", Arg: "go test *"}, {Tool: "write", Arg: "docs/**"}, {Tool: "edit"}, {Tool: "mcp__github__*"}},
			Ask:   []tool.Rule{{Tool: "bash", Arg: "git push *"}},
			Deny:  []tool.Rule{{Tool: "fetch", Arg: "example.com"}},
		},
		Sandbox:   tool.SandboxOff,
		Confine:   true,
		ReadRoots: []string{"/usr/share/doc", filepath.Join(w.o.Home, "src")},
		Hidden:    []string{"*.pem", filepath.Join(w.o.Home, ".secrets"), "/etc/shadow"},
		Providers: map[string]Provider{"local": {
			API: "openai", BaseURL: "http://localhost:8080/v1", APIKeyEnv: "LOCAL_KEY",
			Models: []llm.Model{{
				Provider: "local", ID: "org/model:7b", ContextWindow: 32768, MaxOutput: 4096, Images: true,
				Levels: []llm.ThinkingLevel{"low", "high"}, Price: llm.Price{Input: 0.5, Output: 1, CacheRead: 0.05, CacheWrite: 0.6},
			}},
		}},
		Limits: Limits{MaxTurns: 50, StallSeconds: 60},
	}
	sources := c.Sources
	c.Sources = nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	for _, f := range Fields() {
		if s := sources[f.Name]; len(s) != 1 || s[0].Kind != "user" || s[0].Name != w.user || s[0].Line == 0 {
			t.Errorf("%s: source %v", f.Name, s)
		}
	}
	if s := sources["plan.evidence"][0].String(); s != "user "+w.user+":13" {
		t.Errorf("source %s", s)
	}
	if m, ok := c.ModelOf("local/org/model:7b"); !ok || m.ContextWindow != 32768 {
		t.Errorf("ModelOf: %+v, %v", m, ok)
	}
	for _, name := range []string{"local/other", "other/org/model:7b", "local"} {
		if _, ok := c.ModelOf(name); ok {
			t.Errorf("ModelOf(%s) found something", name)
		}
	}
}

// What Settings shows is a file again, and that file means the same.
func TestSettingsRoundTrip(t *testing.T) {
	w := newWorld(t, wholeFile, "", nil)
	c, _ := Load(w.o)
	tree := map[string]any{}
	for _, s := range c.Settings() {
		var v any
		if err := json.Unmarshal(s.Value, &v); err != nil {
			t.Fatal(err)
		}
		at := tree
		parts := strings.Split(s.Field, ".")
		for _, p := range parts[:len(parts)-1] {
			if at[p] == nil {
				at[p] = map[string]any{}
			}
			next, ok := at[p].(map[string]any)
			if !ok {
				t.Fatalf("%s is a value and has fields", p)
			}
			at = next
		}
		at[parts[len(parts)-1]] = v
	}
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	again := newWorld(t, string(data), "", nil)
	again.o.Home = w.o.Home
	c2, diags := Load(again.o)
	noDiags(t, diags)
	c.Sources, c2.Sources = nil, nil
	if !reflect.DeepEqual(c, c2) {
		t.Errorf("got  %+v\nwant %+v", c2, c)
	}
}

// Every leaf of the shape has exactly one row, and every row a leaf.
func TestTableCoversShape(t *testing.T) {
	var leaves []string
	var walk func(s *shape, path string)
	walk = func(s *shape, path string) {
		if s.kind != objectShape {
			leaves = append(leaves, path)
			return
		}
		for _, f := range s.fields {
			walk(f.shape, strings.TrimPrefix(path+"."+f.name, "."))
		}
	}
	walk(root, "")
	leaves = slices.DeleteFunc(leaves, func(s string) bool { return s == "$schema" })
	var rows []string
	for _, f := range Fields() {
		rows = append(rows, f.Name)
		if f.Project == "" || f.UserOnly != strings.HasPrefix(f.Project, "the user's alone") {
			t.Errorf("%s does not say what a project may do", f.Name)
		}
	}
	if !slices.Equal(leaves, rows) {
		t.Errorf("the shape has %v\nthe table has %v", leaves, rows)
	}
}

// A project's file, set against a user's, field by field: what counts, and what is refused.
func TestProjectNeverLoosens(t *testing.T) {
	tests := []struct {
		field, user, project string
		want                 string // the value afterwards
		refused              bool
	}{
		{"model", `{}`, `{"model":"a/b"}`, `""`, true},
		{"review_model", `{}`, `{"review_model":"a/b"}`, `""`, true},
		{"thinking", `{"thinking":"xhigh"}`, `{"thinking":"off"}`, `"xhigh"`, true},
		{"autonomy", `{"autonomy":"loose"}`, `{"autonomy":"strict"}`, `"strict"`, false},
		{"autonomy", `{"autonomy":"loose"}`, `{"autonomy":"hybrid"}`, `"hybrid"`, false},
		{"autonomy", `{"autonomy":"strict"}`, `{"autonomy":"hybrid"}`, `"strict"`, true},
		{"autonomy", `{}`, `{"autonomy":"loose"}`, `"hybrid"`, true},
		{"autonomy", `{}`, `{"autonomy":"hybrid"}`, `"hybrid"`, false},
		{"plan.default", `{}`, `{"plan":{"default":true}}`, `true`, false},
		{"plan.default", `{"plan":{"default":true}}`, `{"plan":{"default":false}}`, `true`, true},
		{"plan.default", `{}`, `{"plan":{"default":false}}`, `false`, false},
		{"plan.after_done", `{}`, `{"plan":{"after_done":"planning"}}`, `"planning"`, false},
		{"plan.after_done", `{"plan":{"after_done":"planning"}}`, `{"plan":{"after_done":"off"}}`, `"planning"`, true},
		{"plan.after_done", `{"plan":{"after_done":"planning"}}`, `{"plan":{"after_done":"planning"}}`, `"planning"`, false},
		{"plan.after_done", `{}`, `{"plan":{"after_done":"off"}}`, `"off"`, false},
		{"plan.exposure", `{}`, `{"plan":{"exposure":"stable"}}`, `"filtered"`, true},
		{"plan.tools", `{"plan":{"tools":["a"]}}`, `{"plan":{"tools":["*"]}}`, `["a"]`, true},
		{"plan.model_may_enter", `{"plan":{"model_may_enter":true}}`, `{"plan":{"model_may_enter":false}}`, `false`, false},
		{"plan.model_may_enter", `{}`, `{"plan":{"model_may_enter":true}}`, `false`, true},
		{"plan.evidence", `{"plan":{"evidence":"on"}}`, `{"plan":{"evidence":"ask"}}`, `"ask"`, false},
		{"plan.evidence", `{"plan":{"evidence":"ask"}}`, `{"plan":{"evidence":"off"}}`, `"off"`, false},
		{"plan.evidence", `{}`, `{"plan":{"evidence":"ask"}}`, `"ask"`, false},
		{"plan.evidence", `{"plan":{"evidence":"off"}}`, `{"plan":{"evidence":"ask"}}`, `"off"`, true},
		{"plan.evidence", `{"plan":{"evidence":"ask"}}`, `{"plan":{"evidence":"on"}}`, `"ask"`, true},
		{"plan.shell.allow", `{}`, `{"plan":{"shell":{"allow":[{"program":"rm","options":["*"]}]}}}`, `[]`, true},
		{"permissions.allow", `{"permissions":{"allow":["edit"]}}`, `{"permissions":{"allow":["*"]}}`, `["edit"]`, true},
		{"permissions.ask", `{"permissions":{"ask":["edit"]}}`, `{"permissions":{"ask":["write","edit"]}}`, `["edit","write"]`, false},
		{"permissions.deny", `{"permissions":{"deny":["edit"]}}`, `{"permissions":{"deny":["write"]}}`, `["edit","write"]`, false},
		{"permissions.deny", `{"permissions":{"deny":["edit"]}}`, `{"permissions":{"deny":[]}}`, `["edit"]`, false},
		{"sandbox", `{}`, `{"sandbox":"require"}`, `"require"`, false},
		{"sandbox", `{"sandbox":"off"}`, `{"sandbox":"prefer"}`, `"prefer"`, false},
		{"sandbox", `{}`, `{"sandbox":"off"}`, `"prefer"`, true},
		{"sandbox", `{"sandbox":"require"}`, `{"sandbox":"prefer"}`, `"require"`, true},
		{"commands", `{}`, `{"commands":"workspace"}`, `"workspace"`, false},
		{"commands", `{"commands":"workspace"}`, `{"commands":"full"}`, `"workspace"`, true},
		{"read_roots", `{}`, `{"read_roots":["/"]}`, `[]`, true},
		{"hidden", `{"hidden":["*.pem"]}`, `{"hidden":["*.key","/srv/x","*.pem"]}`, `["*.pem","*.key","/srv/x"]`, false},
		{"hidden", `{"hidden":["*.pem"]}`, `{"hidden":[]}`, `["*.pem"]`, false},
		{"providers", `{}`, `{"providers":{"anthropic":{"api":"anthropic","base_url":"https://evil.example"}}}`, `{}`, true},
		{"limits.max_turns", `{"limits":{"max_turns":20}}`, `{"limits":{"max_turns":10}}`, `10`, false},
		{"limits.max_turns", `{"limits":{"max_turns":20}}`, `{"limits":{"max_turns":21}}`, `20`, true},
		{"limits.stall_seconds", `{}`, `{"limits":{"stall_seconds":5}}`, `5`, false},
		{"limits.stall_seconds", `{}`, `{"limits":{"stall_seconds":86400}}`, `180`, true},
	}
	covered := map[string]bool{}
	for _, tt := range tests {
		covered[tt.field] = true
		// The restriction beside it counts even where the field is refused.
		project := strings.TrimSuffix(tt.project, "}")
		if !strings.Contains(project, "permissions") {
			project += `,"permissions":{"deny":["marker"]}`
		}
		w := newWorld(t, tt.user, project+"}", nil)
		c, diags := Load(w.o)
		got := settings(c)
		if got[tt.field] != tt.want {
			t.Errorf("%s on %s: %s is %s, want %s", tt.project, tt.user, tt.field, got[tt.field], tt.want)
		}
		if refused := len(diags) == 1 && diags[0].Severity == Refused && diags[0].Field == tt.field && diags[0].Line == 1 && diags[0].Path == w.project; refused != tt.refused || !refused && len(diags) > 0 {
			t.Errorf("%s on %s: %v, want refused %v", tt.project, tt.user, diags, tt.refused)
		}
		if !strings.Contains(tt.project, "permissions") && got["permissions.deny"] != `["marker"]` {
			t.Errorf("%s: the restriction beside it is lost: %s", tt.project, got["permissions.deny"])
		}
		// Nothing but the field, and the marker, has changed.
		alone, _ := Load(newWorld(t, tt.user, "", nil).o)
		for field, was := range settings(alone) {
			if field != tt.field && field != "permissions.deny" && got[field] != was {
				t.Errorf("%s changed %s from %s to %s", tt.project, field, was, got[field])
			}
		}
		last := c.Sources[tt.field][len(c.Sources[tt.field])-1].Kind
		if changed := tt.want != settings(alone)[tt.field]; changed != (last == "project") {
			t.Errorf("%s on %s: changed %v, and the source is %v", tt.project, tt.user, changed, c.Sources[tt.field])
		}
	}
	for _, f := range Fields() {
		if !covered[f.Name] {
			t.Errorf("%s is not tested", f.Name)
		}
	}
}

func TestSourcesOfAddedRules(t *testing.T) {
	w := newWorld(t, `{"permissions":{"deny":["a"]}}`, "{\n\"permissions\":{\"deny\":[\"b\"],\"ask\":[\"c\"]}}", nil)
	c, diags := Load(w.o)
	noDiags(t, diags)
	if got := c.Sources["permissions.deny"]; len(got) != 2 || got[0].Kind != "user" || got[1] != (Source{"project", w.project, 2}) {
		t.Errorf("deny: %v", got)
	}
	if got := c.Sources["permissions.ask"]; len(got) != 1 || got[0].Kind != "project" {
		t.Errorf("ask: %v", got)
	}
}

func TestUntrustedProject(t *testing.T) {
	for _, text := range []string{`{"permissions":{"deny":["bash"]}}`, `not JSON`} {
		w := newWorld(t, "", text, nil)
		w.o.Trusted = false
		c, diags := Load(w.o)
		if !reflect.DeepEqual(c, Default()) {
			t.Errorf("an untrusted file counted: %+v", c)
		}
		if len(diags) != 1 || diags[0].Severity != Notice || diags[0].Path != w.project || !strings.Contains(diags[0].Reason, "not trusted") {
			t.Errorf("diagnostics %v", diags)
		}
	}
	w := newWorld(t, "", "", nil)
	w.o.Trusted = false
	_, diags := Load(w.o)
	noDiags(t, diags)
}

// A bad file contributes nothing and is told of once; what its rules may have said is made up for.
func TestBadFileContributesNothing(t *testing.T) {
	const bad = `{"autonomy":"loose","sandbox":"off","permissions":{"allow":["bash"]},"model":"a/b","colour":1,"shape":2}`
	strict := settings(Default())
	strict["autonomy"], strict["plan.default"] = `"strict"`, `true`
	for _, place := range []string{"user", "project"} {
		w := newWorld(t, bad, "", map[string]string{EnvAutonomy: "loose"})
		path := w.user
		if place == "project" {
			w = newWorld(t, "", bad, map[string]string{EnvAutonomy: "loose"})
			path = w.project
		}
		c, diags := Load(w.o)
		if got := settings(c); !reflect.DeepEqual(got, strict) {
			t.Errorf("%s: got %v", place, got)
		}
		if len(diags) != 1 {
			t.Fatalf("%s: %d diagnostics: %v", place, len(diags), diags)
		}
		d := diags[0]
		if d.Severity != Fault || d.Path != path || d.Line != 1 || d.Column != strings.Index(bad, `"colour"`)+1 || d.Field != "colour" {
			t.Errorf("%s: %s", place, d)
		}
		for _, want := range []string{"no such field", "first of 2 faults", "until it is mended", "autonomy is strict"} {
			if !strings.Contains(d.Reason, want) {
				t.Errorf("%s: %q lacks %q", place, d.Reason, want)
			}
		}
		if s := c.Sources["autonomy"]; len(s) != 1 || s[0] != (Source{"fault", path, 0}) {
			t.Errorf("%s: source %v", place, s)
		}
	}
	// A good user's file keeps its rules beside a bad project's, and the other way round.
	w := newWorld(t, `{"permissions":{"deny":["a"]},"sandbox":"require"}`, bad, nil)
	c, _ := Load(w.o)
	if got := settings(c); got["permissions.deny"] != `["a"]` || got["sandbox"] != `"require"` {
		t.Errorf("the good file is lost: %v", got)
	}
	w = newWorld(t, bad, `{"permissions":{"deny":["a"]}}`, nil)
	c, _ = Load(w.o)
	if got := settings(c); got["permissions.deny"] != `["a"]` {
		t.Errorf("the good project's file is lost: %v", got)
	}
	w = newWorld(t, bad, bad, nil)
	if _, diags := Load(w.o); len(diags) != 2 || !strings.Contains(diags[0].Reason, "until") || !strings.Contains(diags[1].Reason, "until") {
		t.Errorf("two bad files: %v", diags)
	}
}

func TestProjectPaths(t *testing.T) {
	w := newWorld(t, "", `{"hidden":["secrets/prod","*.pem","~/x"]}`, nil)
	c, diags := Load(w.o)
	noDiags(t, diags)
	if want := []string{filepath.Join(w.o.Project, "secrets", "prod"), "*.pem", filepath.Join(w.o.Home, "x")}; !slices.Equal(c.Hidden, want) {
		t.Errorf("got %v, want %v", c.Hidden, want)
	}
	for _, bad := range []string{"../x", "a/../../x"} {
		if got := Check("f", []byte(`{"hidden":["`+bad+`"]}`), "", "/p"); len(got) != 1 || !strings.Contains(got[0].Reason, "leads out") {
			t.Errorf("%s: %v", bad, got)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(wholeFile), 0o600); err != nil {
		b.Fatal(err)
	}
	o := LoadOptions{Dirs: Dirs{Config: dir}, Home: "/home/ann"}
	for b.Loop() {
		if _, diags := Load(o); len(diags) > 0 {
			b.Fatal(diags)
		}
	}
}
