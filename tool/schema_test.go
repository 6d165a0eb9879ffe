package tool

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

type planInput struct {
	Summary string     `json:"summary"`
	Steps   []stepIn   `json:"steps"`
	Notes   []string   `json:"notes,omitempty"`
	Limit   int        `json:"limit,omitempty"`
	Env     mapOfWords `json:"env,omitempty"`
	Deep    *stepIn    `json:"deep,omitempty"`
	Any     any        `json:"any,omitempty"`
}

type mapOfWords map[string]string

type stepIn struct {
	Title string  `json:"title"`
	Done  bool    `json:"done,omitempty"`
	Cost  float64 `json:"cost,omitempty"`
}

func derivedSchema(t testing.TB) json.RawMessage {
	t.Helper()
	tool := New(Spec{Name: "x", Description: "x"}, func(planInput) Access { return nil },
		func(context.Context, *Grant, planInput) (Result, error) { return Result{}, nil })
	if tool.t.err != nil {
		t.Fatal(tool.t.err)
	}
	if tool.t.check.resolved != nil {
		t.Error("the schema of a plain struct is not compiled")
	}
	return tool.Spec().Schema
}

const boundedSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","description":"d","required":["mode","path"],"properties":{
	"mode":{"type":"string","enum":["fast","slow"]},"path":{"type":"string","minLength":1,"maxLength":5,"pattern":"^[a-z]*$"},
	"n":{"type":"integer","minimum":1,"maximum":10},"f":{"type":["number","null"],"exclusiveMinimum":0,"exclusiveMaximum":1},
	"list":{"type":"array","minItems":1,"maxItems":3,"items":{"type":["string","integer"]}},
	"rest":{"type":"object","additionalProperties":{"type":"boolean"}},"free":{"type":"object"}, "all":{}, "word":{"enum":["a"]}}}`

const looseSchema = `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]},"b":{"type":"object","properties":{"c":{"const":5}}}},"required":["a"]}`

// TestInputErrors: what is wrong with an input is said with its place, in the model's words.
func TestInputErrors(t *testing.T) {
	derived := string(derivedSchema(t))
	tests := []struct{ schema, input, want string }{
		{derived, `{"summary":"s","steps":[{"title":"a"}]}`, ""},
		{derived, ` { "summary" : "s" , "steps" : [ { "title" : "a" , "cost" : 1.5 } , {"title":"b","done":true} ] , "deep":null } `, ""},
		{derived, `{"summary":"s","steps":null}`, ""},
		{derived, `{"summary":"s","steps":[],"any":{"x":[1,{"y":null}]},"env":{"A":"b"}}`, ""},
		{derived, `{"summary":"s","steps":[{"title":5}]}`, "steps[0].title: an integer was given where a string is due"},
		{derived, `{"summary":"s","steps":[{"title":"a"},{"title":"b","done":"yes"}]}`, "steps[1].done: a string was given where true or false is due"},
		{derived, `{"summary":"s","steps":"a"}`, "steps: a string was given where an array or null is due"},
		{derived, `{"summary":"s","steps":[{}]}`, "steps[0].title: is missing"},
		{derived, `{"steps":[]}`, "summary: is missing"},
		{derived, `{"summary":"s","steps":[],"limit":1.5}`, "limit: a number was given where an integer is due"},
		{derived, `{"summary":"s","steps":[],"step":1}`, `there is no "step"; what there is: steps, summary, any, deep, env, limit, notes`},
		{derived, `{"summary":"s","steps":[{"title":"a","Done":true}]}`, `steps[0]: there is no "Done"; did you mean "done"?`},
		{derived, `{"summary":"s","SUMMARY":"t","steps":[]}`, `there is no "SUMMARY"; did you mean "summary"?`},
		{derived, `{"summary":"s","summary":"t","steps":[]}`, "summary: is given twice"},
		{derived, `{"summary":"s","s\u0075mmary":"t","steps":[]}`, "summary: is given twice"},
		{derived, `{"summary":"s","steps":[],"any":{"a":{"b":1,"b":2}}}`, "any.a.b: is given twice"},
		{derived, `{"summary":"s","steps":[],"env":{"A":5}}`, "env.A: an integer was given where a string is due"},
		{derived, `{"summary":"s","steps":[{"title":"a"},null]}`, "steps[1]: null was given where an object is due"},
		{derived, `[]`, "the input is not a JSON object"},
		{derived, `null`, "the input is not a JSON object"},
		{derived, `{"summary":"s"`, "the input is not valid JSON: unexpected end of JSON input (at byte 14)"},
		{derived, `{"summary":"s",}`, "the input is not valid JSON: invalid character '}' looking for beginning of object key string (at byte 16)"},
		{derived, `{} x`, "the input is not valid JSON: invalid character 'x' after top-level value (at byte 4)"},
		{boundedSchema, `{"mode":"fast","path":"a"}`, ""},
		{boundedSchema, `{"mode":"f\u0061st","path":"\u0061b"}`, ""},
		{boundedSchema, `{"mode":"quick","path":"a"}`, `mode: "quick" is none of "fast", "slow"`},
		{boundedSchema, `{"mode":"fast","path":""}`, "path: is empty"},
		{boundedSchema, `{"mode":"fast","path":"abcdef"}`, "path: has 6 characters; the most is 5"},
		{boundedSchema, `{"mode":"fast","path":"é"}`, `path: "é" does not match ^[a-z]*$`},
		{boundedSchema, `{"mode":"fast","path":"a","n":0}`, "n: 0 is less than 1"},
		{boundedSchema, `{"mode":"fast","path":"a","n":11}`, "n: 11 is more than 10"},
		{boundedSchema, `{"mode":"fast","path":"a","n":2.0}`, ""},
		{boundedSchema, `{"mode":"fast","path":"a","f":0}`, "f: 0 is not more than 0"},
		{boundedSchema, `{"mode":"fast","path":"a","f":1}`, "f: 1 is not less than 1"},
		{boundedSchema, `{"mode":"fast","path":"a","f":null,"all":[1,"x",{}],"free":{"x":1},"more":1}`, ""},
		{boundedSchema, `{"mode":"fast","path":"a","list":[]}`, "list: has 0 items; at least 1 are due"},
		{boundedSchema, `{"mode":"fast","path":"a","list":[1,2,3,4]}`, "list: has 4 items; the most is 3"},
		{boundedSchema, `{"mode":"fast","path":"a","list":[true]}`, "list[0]: true or false was given where a string or an integer is due"},
		{boundedSchema, `{"mode":"fast","path":"a","rest":{"x":1}}`, "rest.x: an integer was given where true or false is due"},
		{boundedSchema, `{"mode":"fast","path":"a","word":5}`, `word: "5" is none of "a"`},
		{boundedSchema, `{"mode":"fast","path":"a","all":1e999}`, "all: the number 1e999 is too large"},
		{looseSchema, `{"a":1,"x":2}`, ""},
		{looseSchema, `{"a":1,"b":{"c":6}}`, "b.c: const: 6 does not equal 5"},
		{looseSchema, `{"b":{}}`, `required: missing properties: ["a"]`},
		{looseSchema, `{"a":1,"a":2}`, "a: is given twice"},
	}
	for _, tt := range tests {
		c, err := newChecker(json.RawMessage(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := c.check(json.RawMessage(tt.input)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.input, got, tt.want)
		}
	}
	c, err := newChecker(json.RawMessage(looseSchema))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.check(json.RawMessage(`{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`)); err == nil || len(err.Error()) > 400 {
		t.Errorf("%v", err)
	}
}

// TestStrict: an input is read strictly even where the schema is not.
func TestStrict(t *testing.T) {
	tool := New(Spec{Name: "x", Description: "x", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
		func(pathInput) Access { return nil }, func(context.Context, *Grant, pathInput) (Result, error) { return Result{}, nil })
	for input, want := range map[string]string{
		`{"path":"a"}`:          "",
		`{"path":"a","more":1}`: `unknown field "more"`,
		`{"PATH":"a"}`:          "did you mean",
		`{"path":null}`:         "null was given where a string is due",
	} {
		err := tool.t.check.check(json.RawMessage(input))
		if err == nil {
			_, err = tool.t.prepare(json.RawMessage(input))
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", input, err, want)
		}
	}
	// Numbers that a schema takes and Go does not.
	_, err := New(Spec{Name: "x", Description: "x"}, func(planInput) Access { return nil },
		func(context.Context, *Grant, planInput) (Result, error) { return Result{}, nil }).t.prepare(json.RawMessage(`{"limit":99999999999999999999}`))
	if err == nil || !strings.Contains(err.Error(), "limit: ") {
		t.Errorf("%v", err)
	}
}

// FuzzSchema holds the compiled check against jsonschema-go's: they take the same inputs, but for names
// that are given twice or in another letter case.
func FuzzSchema(f *testing.F) {
	schemas := []string{
		boundedSchema, string(derivedSchema(f)),
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","required":["x"],"additionalProperties":false,"properties":{"x":{"type":"number"}}}}},"additionalProperties":{"type":"string"}}`,
		`{"type":"object","required":["a","b"],"additionalProperties":false,"properties":{"a":{"type":["null","boolean","array"],"items":{"enum":["x","y"]},"maxItems":2},"b":{"minLength":2,"minItems":2,"minimum":2}}}`,
	}
	type pair struct {
		c        *checker
		resolved *jsonschema.Resolved
	}
	var pairs []pair
	for _, s := range schemas {
		c, err := newChecker(json.RawMessage(s))
		if err != nil || c.resolved != nil {
			f.Fatalf("%v, compiled: %t", err, c.resolved == nil)
		}
		resolved, err := c.root.Resolve(nil)
		if err != nil {
			f.Fatal(err)
		}
		pairs = append(pairs, pair{c, resolved})
	}
	for _, s := range []string{
		`{"mode":"fast","path":"abc","n":5,"f":0.5,"list":["a",1],"rest":{"x":true},"free":{},"all":null,"word":"a"}`,
		`{"summary":"s","steps":[{"title":"a","done":true,"cost":1e3}],"notes":["x"],"limit":-5,"env":{"A":"b"},"deep":{"title":"x"},"any":[{}]}`,
		`{"a":[{"x":1},{"x":2.5}],"b":"c"}`, `{"a":[true,"x"],"b":[1,2]}`, `{"a":null,"b":2}`, `{"b":1e400}`, `{"b":12345678901234567890123}`, `{"b":-0.0}`,
		"{\"a\":\"\xff\",\"\xff\":1}", `{"a":"\ud800","\u0061":1}`, `{"b":9007199254740993.5}`, `{"b":1E-5}`, `{}`,
	} {
		for i := range uint8(len(pairs)) {
			f.Add(s, i)
		}
	}
	f.Fuzz(func(t *testing.T, input string, which uint8) {
		p := pairs[int(which)%len(pairs)]
		got := p.c.check(json.RawMessage(input))
		var v any
		want := json.Unmarshal([]byte(input), &v)
		if want == nil {
			if _, ok := v.(map[string]any); !ok {
				if got == nil {
					t.Errorf("%q is taken", input)
				}
				return
			}
			want = p.resolved.Validate(v)
		}
		if got != nil && (strings.Contains(got.Error(), "given twice") || strings.Contains(got.Error(), "did you mean")) {
			return
		}
		if (got == nil) != (want == nil) {
			t.Errorf("%q: %v, jsonschema-go: %v", input, got, want)
		}
	})
}
