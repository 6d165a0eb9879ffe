package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// The published schema says the same as the program, wherever a schema can.
func TestSchemaAgrees(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	// Left out are the checks that no schema can say, such as of patterns and addresses.
	for text, valid := range map[string]bool{
		wholeFile:                           true,
		`{}`:                                true,
		`{"plan":{}}`:                       true,
		`{"hidden":[]}`:                     true,
		`{"model":"a/b"}`:                   true,
		`{"model":"a/b c"}`:                 false,
		`{"model":"b"}`:                     false,
		`{"x":1}`:                           false,
		`{"plan":{"default":1}}`:            false,
		`{"plan":{"default":null}}`:         false,
		`{"sandbox":"on"}`:                  false,
		`{"hidden":"a"}`:                    false,
		`{"hidden":[""]}`:                   false,
		`{"read_roots":["a"]}`:              false,
		`{"read_roots":["~a"]}`:             false,
		`{"limits":{"max_turns":0}}`:        false,
		`{"limits":{"max_turns":10001}}`:    false,
		`{"limits":{"max_turns":1.5}}`:      false,
		`{"plan":{"tools":["a(b)"]}}`:       false,
		`{"plan":{"shell":{"allow":[{}]}}}`: false,
		`{"plan":{"shell":{"allow":[{"program":"a/b"}]}}}`:                             false,
		`{"plan":{"shell":{"allow":[{"program":"a","options":["x"]}]}}}`:               false,
		`{"plan":{"shell":{"allow":[{"program":"a","options":["-"]}]}}}`:               false,
		`{"plan":{"shell":{"allow":[{"program":"a","options":["*","-x"]}]}}}`:          true,
		`{"plan":{"shell":{"allow":[{"program":"a","sub":["-x"]}]}}}`:                  false,
		`{"permissions":{"allow":["a/b"]}}`:                                            false,
		`{"permissions":{"allow":["bash(a"]}}`:                                         false,
		`{"permissions":{"allow":["bash(a/b c)","*"]}}`:                                true,
		`{"providers":{"x":{}}}`:                                                       false,
		`{"providers":{"x":{"api":"y"}}}`:                                              false,
		`{"providers":{"X":{"api":"openai"}}}`:                                         false,
		`{"providers":{"x":{"api":"openai","api_key_env":"a-b"}}}`:                     false,
		`{"providers":{"x":{"api":"openai","base_url":"x"}}}`:                          false,
		`{"providers":{"x":{"api":"openai","models":{"m":{"price":{"input":-0.1}}}}}}`: false,
		`{"providers":{"x":{"api":"openai","models":{"m":{"images":"no"}}}}}`:          false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); (err == nil) != valid {
			t.Errorf("the schema says %v of %.80s", err, text)
		}
		if d := Check("f", []byte(text), "/home/ann", ""); (len(d) == 0) != valid {
			t.Errorf("the program says %v of %.80s", d, text)
		}
	}
}

// The schema documents each field, and what a project may do with it.
func TestSchemaDocuments(t *testing.T) {
	text := string(Schema())
	if !strings.Contains(text, SchemaID) || !strings.Contains(text, "2020-12") || !strings.HasSuffix(text, "}\n") {
		t.Errorf("schema begins %.200s", text)
	}
	for _, f := range Fields() {
		if !strings.Contains(text, "In a project's file: "+f.Project+".") {
			t.Errorf("the schema does not say that %s %s", f.Name, f.Project)
		}
	}
	first := Schema()
	first[0] = 'x'
	if Schema()[0] != '{' {
		t.Error("a holder of the schema changed it")
	}
}
