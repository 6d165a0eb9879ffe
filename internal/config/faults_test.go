package config

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestFaults(t *testing.T) {
	tests := []struct {
		name, text   string
		line, column int
		field, want  string
	}{
		{"empty", "", 1, 1, "", "the file is empty"},
		{"blank", " \n ", 1, 1, "", "the file is empty"},
		{"byte order mark", "\ufeff{}", 1, 1, "", "byte order mark"},
		{"not UTF-8", "{\"model\":\n \"é\xff\"}", 2, 4, "", "not UTF-8"},
		{"line comment", "{\n  // mine\n}", 2, 3, "", "no comments"},
		{"block comment", "{/* x */}", 1, 2, "", "no comments"},
		{"hash comment", "# x\n{}", 1, 1, "", "no comments"},
		{"trailing comma", "{\"model\": \"a/b\",\n}", 2, 1, "", "a comma stands before"},
		{"trailing comma in a list", `{"hidden": ["a",]}`, 1, 17, "", "a comma stands before"},
		{"trailing text", "{}\n{}", 2, 1, "", "more after the end"},
		{"cut", `{"model": "a/b"`, 1, 16, "", "middle of a value"},
		{"cut in a text", `{"model": "a/b`, 1, 15, "", "middle of a value"},
		{"single quotes", `{'model': 1}`, 1, 2, "", "double quotes"},
		{"line break in a text", "{\"model\": \"a\nb\"}", 1, 13, "", "line break"},
		{"bare word", `{"plan": yes}`, 1, 10, "", "invalid character"},
		{"not an object", `["model"]`, 1, 1, "", "a list where an object"},
		{"a word", `"model"`, 1, 1, "", "a text where an object"},
		{"null", `null`, 1, 1, "", "null is no value"},
		{"unknown field", `{"mdoel": "a/b"}`, 1, 2, "mdoel", "did you mean model?"},
		{"unknown in another case", `{"Model": "a/b"}`, 1, 2, "Model", "did you mean model?"},
		{"unknown, of another object", `{"default": true}`, 1, 2, "default", "did you mean plan.default?"},
		{"unknown, below", "{\"plan\": {\n  \"evidense\": \"on\"}}", 2, 3, "plan.evidense", "did you mean evidence?"},
		{"unknown, unlike all", `{"zzzzzzzz": 1}`, 1, 2, "zzzzzzzz", "there is no such field"},
		{"unknown, odd name", "{\"a\\u001b.b\": 1}", 1, 2, `"a\x1b.b"`, "no such field"},
		{"a key in the file", `{"providers":{"x":{"api":"openai","api_key":"sk-secret"}}}`, 1, 35, "providers.x.api_key", "did you mean api_key_env?"},
		{"double", "{\"model\": \"a/b\",\n \"model\": \"a/c\"}", 2, 2, "model", "second time"},
		{"double, escaped", `{"model": "a/b", "m\u006fdel": "a/c"}`, 1, 18, "model", "second time"},
		{"double provider", `{"providers":{"x":{"api":"openai"},"x":{"api":"openai"}}}`, 1, 36, "providers.x", "second time"},
		{"wrong type", `{"model": 7}`, 1, 11, "model", "a number where a text should be"},
		{"object for a list", `{"hidden": {}}`, 1, 12, "hidden", "an object where a list should be"},
		{"word for a flag", `{"plan": {"default": "true"}}`, 1, 22, "plan.default", "a text where true or false should be"},
		{"number for a flag", `{"plan": {"default": 1}}`, 1, 22, "plan.default", "true or false"},
		{"null for a flag", `{"plan": {"default": null}}`, 1, 22, "plan.default", "null is no value"},
		{"flag for a word", `{"sandbox": false}`, 1, 13, "sandbox", "true or false where one of require, prefer, off should be"},
		{"bad word", `{"autonomy": "hybird"}`, 1, 14, "autonomy", `"hybird" is none of strict, hybrid, loose; did you mean hybrid?`},
		{"word in capitals", `{"autonomy": "STRICT"}`, 1, 14, "autonomy", "did you mean strict?"},
		{"empty word", `{"autonomy": ""}`, 1, 14, "autonomy", "none of"},
		{"model without provider", `{"model": "sonnet"}`, 1, 11, "model", "provider/model"},
		{"empty text", `{"model": ""}`, 1, 11, "model", "empty"},
		{"column in characters", `{"hidden": ["日本語", 7]}`, 1, 20, "hidden[1]", "a number where a text"},
		{"hidden character", `{"hidden": ["a\u202eb"]}`, 1, 13, "hidden[0]", "cannot be shown"},
		{"NUL", `{"hidden": ["a\u0000b"]}`, 1, 13, "hidden[0]", "cannot be shown"},
		{"bad pattern", `{"hidden": ["[a"]}`, 1, 13, "hidden[0]", "no pattern"},
		{"relative root", `{"read_roots": ["src"]}`, 1, 17, "read_roots[0]", "neither absolute"},
		{"relative hidden path", `{"hidden": ["a/b"]}`, 1, 13, "hidden[0]", "nor a base name"},
		{"rule without end", `{"permissions": {"deny": ["edit", "bash(rm"]}}`, 1, 35, "permissions.deny[1]", "no closing parenthesis"},
		{"empty rule", `{"permissions": {"deny": ["bash()"]}}`, 1, 27, "permissions.deny[0]", "the argument is empty"},
		{"bad tool", `{"plan": {"tools": ["a b"]}}`, 1, 21, "plan.tools[0]", "no tool's name"},
		{"rule for a tool", `{"plan": {"tools": ["bash(ls)"]}}`, 1, 21, "plan.tools[0]", "no tool's name"},
		{"program with a path", `{"plan": {"shell": {"allow": [{"program": "/bin/sh"}]}}}`, 1, 43, "plan.shell.allow[0].program", "no base name"},
		{"no program", `{"plan": {"shell": {"allow": [{"sub": ["x"]}]}}}`, 1, 31, "plan.shell.allow[0]", "the field program is missing"},
		{"option without dash", `{"plan": {"shell": {"allow": [{"program": "gh", "options": ["json"]}]}}}`, 1, 61, "plan.shell.allow[0].options[0]", "neither an option"},
		{"sub-command with dash", `{"plan": {"shell": {"allow": [{"program": "gh", "sub": ["-x"]}]}}}`, 1, 57, "plan.shell.allow[0].sub[0]", "no word"},
		{"no api", `{"providers": {"x": {}}}`, 1, 21, "providers.x", "the field api is missing"},
		{"bad api", `{"providers": {"x": {"api": "openapi"}}}`, 1, 29, "providers.x.api", "did you mean openai?"},
		{"bad provider", `{"providers": {"X y": {"api": "openai"}}}`, 1, 16, `providers."X y"`, "no name here"},
		{"bad address", `{"providers": {"x": {"api": "openai", "base_url": "ftp://x"}}}`, 1, 51, "providers.x.base_url", "http://"},
		{"address without host", `{"providers": {"x": {"api": "openai", "base_url": "http:///v1"}}}`, 1, 51, "providers.x.base_url", "no host"},
		{"credentials in the address", `{"providers": {"x": {"api": "openai", "base_url": "https://u:p@x"}}}`, 1, 51, "providers.x.base_url", "credentials"},
		{"whole number", `{"limits": {"max_turns": 1.5}}`, 1, 26, "limits.max_turns", "whole number"},
		{"number as a text", `{"limits": {"max_turns": "5"}}`, 1, 26, "limits.max_turns", "whole number"},
		{"too small", `{"limits": {"max_turns": 0}}`, 1, 26, "limits.max_turns", "no whole number between 1 and 10000"},
		{"too large", `{"limits": {"max_turns": 99999999999999999999}}`, 1, 26, "limits.max_turns", "whole number"},
		{"negative price", `{"providers":{"x":{"api":"openai","models":{"m":{"price":{"input":-1}}}}}}`, 1, 67, "providers.x.models.m.price.input", "less than 0"},
		{"infinite price", `{"providers":{"x":{"api":"openai","models":{"m":{"price":{"input":1e999}}}}}}`, 1, 67, "providers.x.models.m.price.input", "too large"},
		{"bad level", `{"providers":{"x":{"api":"openai","models":{"m":{"thinking":["off"]}}}}}`, 1, 62, "providers.x.models.m.thinking[0]", "none of low"},
		{"model without a name", `{"providers":{"x":{"api":"openai","models":{"":{}}}}}`, 1, 45, `providers.x.models.`, "the name is empty"},
		{"deep", strings.Repeat(`{"plan":`, 20000), 1, 80001, "", "exceeded max depth"},
		{"huge list", `{"hidden": [` + strings.Repeat(`"a",`, 1000) + `"a"]}`, 1, 12, "hidden", "1001 entries"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Check("f", []byte(tt.text), "/home/ann", "")
			if len(got) == 0 {
				t.Fatal("no fault")
			}
			d := got[0]
			if d.Line != tt.line || d.Column != tt.column || d.Field != tt.field || !strings.Contains(d.Reason, tt.want) {
				t.Errorf("got  %s\nwant %d:%d: %s: …%s…", d, tt.line, tt.column, tt.field, tt.want)
			}
			if strings.ContainsFunc(d.String(), hiddenRune) {
				t.Errorf("the diagnostic cannot be shown: %q", d)
			}
			if len(got) > 1 && tt.name != "a key in the file" {
				t.Errorf("one fault has %d diagnostics: %v", len(got), got)
			}
		})
	}
}

// A key that was written where a name should stand does not reach the screen or a log.
func TestKeysAreNotRepeated(t *testing.T) {
	const key = "sk-ant-very-secret"
	for _, text := range []string{
		`{"providers":{"x":{"api":"openai","api_key_env":"` + key + `"}}}`,
		`{"providers":{"x":{"api":"openai","api_key":"` + key + `"}}}`,
		`{"providers":{"x":{"api":"openai","base_url":"https://u:` + key + `@x.example"}}}`,
	} {
		got := Check("f", []byte(text), "", "")
		if len(got) != 1 || strings.Contains(got[0].String(), key) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestEveryFaultIsFound(t *testing.T) {
	const text = `{"sandbox":"x", "hidden":["~/a","a/b"], "limits":{"max_turns":0,"max_turnz":1}, "autonomy":3}`
	var got []string
	for _, d := range Check("f", []byte(text), "", "") {
		got = append(got, d.Field)
	}
	if want := []string{"sandbox", "hidden[0]", "hidden[1]", "limits.max_turns", "limits.max_turnz", "autonomy"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{wholeFile, `{}`, ``, `{"a":1,"a":2}`, `{"hidden":["~/a","b/c"]}`, `[[[`, `{"providers":{"x":{"api":"openai"}}}`, "\ufeff{}", `{"plan":{"default":nul`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := Check("f", data, "/home/ann", "/p")
		lines := strings.Count(string(data), "\n") + 1
		for _, d := range got {
			if d.Line < 1 || d.Line > lines || d.Column < 1 || d.Reason == "" || strings.ContainsFunc(d.String(), hiddenRune) {
				t.Fatalf("%q: %q", data, d)
			}
		}
		if len(got) == 0 && !json.Valid(data) {
			t.Fatalf("%q passed", data)
		}
		// What passes can be read, and a second reading says the same.
		l := loader{c: Default(), o: LoadOptions{Home: "/home/ann"}}
		_, n, ok := l.parse("f", "/p", data, nil)
		if ok != (len(got) == 0) || ok && n == nil {
			t.Fatalf("%q: Check says %v, Load %v", data, got, l.diags)
		}
	})
}
