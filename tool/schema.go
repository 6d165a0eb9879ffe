package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A checker holds raw inputs against a JSON Schema. The schemas that tools mostly have (types,
// properties, items, enumerations, bounds) are compiled into a node, which is checked in one pass over
// the bytes; any other is left to jsonschema-go. Both take the same inputs, but that a name which is
// given twice is refused here: who reads the first and who the last would see different calls.
type checker struct {
	root     *jsonschema.Schema
	node     *node
	resolved *jsonschema.Resolved // where node does not say all
}

var anything = &node{}

func newChecker(raw json.RawMessage) (*checker, error) {
	var root *jsonschema.Schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, err
	}
	if root == nil {
		return nil, errors.New("it is null")
	}
	if err := refuseLoops(raw); err != nil {
		return nil, err
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, err
	}
	if n, ok := compile(root); ok {
		return &checker{root: root, node: n}, nil
	}
	return &checker{root: root, node: anything, resolved: resolved}, nil
}

// check says what is wrong with an input, in the model's words.
func (c *checker) check(raw json.RawMessage) error {
	if !json.Valid(raw) {
		var v any
		return inputError(json.Unmarshal(raw, &v))
	}
	s := scanner{b: raw}
	s.space()
	if s.b[s.i] != '{' {
		return errors.New("the input is not a JSON object")
	}
	if err := s.value(c.node); err != nil {
		return err
	}
	if c.resolved == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return inputError(err)
	}
	return schemaError(c.resolved.Validate(v))
}

// schemaError takes of an error of jsonschema-go the path in the schema and the cause. The text is
// "validating A: validating B: cause", where the last is the place.
func schemaError(err error) error {
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	place := ""
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			break
		}
		at, cause, ok := strings.Cut(rest, ": ")
		if !ok {
			break
		}
		place, text = at, cause
	}
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	var path strings.Builder
	steps := strings.Split(place, "/")
	for i := 1; i < len(steps); i++ {
		switch {
		case steps[i] == "properties" && i+1 < len(steps):
			i++
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(steps[i])
		case steps[i] == "items":
			path.WriteString("[]")
		}
	}
	if path.Len() == 0 {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %s", path.String(), text)
}

// kinds is a set of JSON types.
type kinds uint8

const (
	isNull kinds = 1 << iota
	isBoolean
	isInteger // a number without a fraction
	isNumber  // one with
	isString
	isArray
	isObject
)

var kindsOf = map[string]kinds{
	"null": isNull, "boolean": isBoolean, "integer": isInteger, "number": isInteger | isNumber, "string": isString,
	"array": isArray, "object": isObject,
}

var kindWords = []struct {
	k    kinds
	word string
}{
	{isObject, "an object"},
	{isArray, "an array"},
	{isString, "a string"},
	{isInteger | isNumber, "a number"},
	{isInteger, "an integer"},
	{isNumber, "a number"},
	{isBoolean, "true or false"},
	{isNull, "null"},
}

func (k kinds) String() string {
	var words []string
	for _, w := range kindWords {
		if k&w.k == w.k {
			words = append(words, w.word)
			k &^= w.k
		}
	}
	return strings.Join(words, " or ")
}

// A node is a compiled schema. The zero value accepts everything.
type node struct {
	kinds            kinds // 0: any
	props            []property
	required         []string
	closed           bool  // no other properties
	rest             *node // of other properties
	items            *node
	enum             []string
	minLen, maxLen   *int // in characters
	pattern          *regexp.Regexp
	min, max         *float64
	above, below     *float64 // exclusive
	minItems, maxIts *int
}

type property struct {
	name string
	node *node
}

func (n *node) property(name []byte) *node {
	for i := range n.props {
		if n.props[i].name == string(name) {
			return n.props[i].node
		}
	}
	return nil
}

// compile returns the node of a schema that has no keyword but those that nodes know.
func compile(s *jsonschema.Schema) (*node, bool) {
	if !simple(s) {
		return nil, false
	}
	n := &node{
		required: s.Required, minLen: s.MinLength, maxLen: s.MaxLength, minItems: s.MinItems, maxIts: s.MaxItems,
		min: s.Minimum, max: s.Maximum, above: s.ExclusiveMinimum, below: s.ExclusiveMaximum,
	}
	types := s.Types
	if s.Type != "" {
		types = append(types, s.Type)
	}
	for _, t := range types {
		k, ok := kindsOf[t]
		if !ok {
			return nil, false
		}
		n.kinds |= k
	}
	if len(types) == 0 && s.Types != nil {
		return nil, false // nothing is accepted
	}
	if s.Enum != nil {
		n.enum = []string{}
	}
	for _, e := range s.Enum {
		word, ok := e.(string)
		if !ok {
			return nil, false
		}
		n.enum = append(n.enum, word)
	}
	if s.Pattern != "" {
		var err error
		if n.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return nil, false
		}
	}
	return n, n.compileParts(s)
}

func (n *node) compileParts(s *jsonschema.Schema) bool {
	var ok bool
	if s.Items != nil {
		if n.items, ok = compile(s.Items); !ok {
			return false
		}
	}
	switch rest := s.AdditionalProperties; {
	case rest == nil:
	case rest.Not != nil && reflect.ValueOf(*rest.Not).IsZero():
		n.closed = true // this is how jsonschema-go writes false
	default:
		if n.rest, ok = compile(rest); !ok {
			return false
		}
	}
	const most = 64 // above that a list is no good way to find one
	if len(s.Properties) > most {
		return false
	}
	for _, name := range orderOf(s) {
		p, ok := compile(s.Properties[name])
		if !ok {
			return false
		}
		n.props = append(n.props, property{name, p})
	}
	return true
}

// simple says whether the schema has no keyword but those of a node and those that only describe.
func simple(s *jsonschema.Schema) bool {
	if s == nil || s.Schema != "" && !strings.Contains(s.Schema, "/draft/2020-12/") {
		return false
	}
	c := *s
	c.Schema, c.Comment, c.Defs, c.Definitions = "", "", nil, nil
	c.Title, c.Description, c.Default, c.Deprecated, c.ReadOnly, c.WriteOnly, c.Examples = "", "", nil, false, false, false, nil
	c.ContentEncoding, c.ContentMediaType, c.Format, c.Extra, c.PropertyOrder = "", "", "", nil, nil
	c.Type, c.Types, c.Enum = "", nil, nil
	c.Minimum, c.Maximum, c.ExclusiveMinimum, c.ExclusiveMaximum = nil, nil, nil, nil
	c.MinLength, c.MaxLength, c.Pattern, c.Items, c.MinItems, c.MaxItems = nil, nil, "", nil, nil, nil
	c.Required, c.Properties, c.AdditionalProperties = nil, nil, nil
	return reflect.ValueOf(c).IsZero()
}
