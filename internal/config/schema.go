package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaID is the published address of the schema.
const SchemaID = "https://planmode.dev/schema/config.json"

// Schema returns the JSON Schema (draft 2020-12) of a configuration file, indented, with a newline at the end. It is made of what the
// program checks by; the grammar of rules and the checks that no schema can say (duplicate names,
// paths) are the program's alone.
func Schema() []byte { return bytes.Clone(schema()) }

var schema = sync.OnceValue(func() []byte {
	s := root.schema("")
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.ID = SchemaID
	s.Title = "planmode configuration"
	data, err := marshal(s)
	if err != nil {
		panic(fmt.Sprintf("config: the schema does not encode: %v", err))
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		panic(fmt.Sprintf("config: the schema is no JSON: %v", err))
	}
	out.WriteByte('\n')
	return out.Bytes()
})

// schema writes a shape as a schema. The path finds the row that says what a project may do.
func (s *shape) schema(path string) *jsonschema.Schema {
	out := &jsonschema.Schema{Description: s.doc}
	for _, r := range table {
		if r.field == path {
			out.Description += " In a project's file: " + r.rule + "."
		}
	}
	limit := maxList
	switch s.kind {
	case objectShape:
		out.Type = "object"
		out.Properties = map[string]*jsonschema.Schema{}
		for _, f := range s.fields {
			out.Properties[f.name] = f.shape.schema(strings.TrimPrefix(path+"."+f.name, "."))
			out.PropertyOrder = append(out.PropertyOrder, f.name)
			if f.required {
				out.Required = append(out.Required, f.name)
			}
		}
		out.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	case tableShape:
		out.Type = "object"
		out.MaxProperties = &limit
		out.AdditionalProperties = s.of.schema(path + ".*")
		if s.key != "" {
			out.PropertyNames = &jsonschema.Schema{Pattern: s.key}
		}
	case listShape:
		out.Type = "array"
		out.MaxItems = &limit
		out.Items = s.of.schema(path + "[]")
	case enumShape:
		out.Type = "string"
		for _, w := range s.words {
			out.Enum = append(out.Enum, w)
		}
	case textShape:
		one := 1
		out.Type, out.Pattern, out.MinLength = "string", s.form, &one
	case flagShape:
		out.Type = "boolean"
	case wholeShape:
		lo, hi := float64(s.lo), float64(s.hi)
		out.Type, out.Minimum, out.Maximum = "integer", &lo, &hi
	case priceShape:
		zero := 0.0
		out.Type, out.Minimum = "number", &zero
	}
	return out
}
