// Package tool is the execution boundary: no tool runs without a [Grant], and only a [Gate] mints one.
//
// A [Tool] is made by [New] from two functions: one says from the input what a call would do (its
// [Access]), the other does it. The second goes in and nothing gives it back. A [Gate] judges a call
// in a fixed order: known tool, valid input, access, the mode's ceiling, the user's policy rules,
// autonomy, the user where one must be asked. The last line is never allow. What a running tool can
// reach is what its Grant hands out, and that is what it declared.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/planmode-dev/planmode/llm"
)

// A Spec describes a tool. Name and Description are required.
type Spec struct {
	Name        string // 1 to 64 of A-Z a-z 0-9 _ -
	Description string
	// Schema is the JSON Schema of the input; nil means the one of the Go type of the input.
	Schema json.RawMessage
	// Set groups tools that come together: "builtin", "mcp:github", a manifest's name. "" is "host".
	Set string
}

// A Result is what a call gave. Text is what the model sees.
type Result struct {
	Text    string      `json:"text,omitempty"`
	Images  []llm.Image `json:"images,omitempty"`
	IsError bool        `json:"is_error,omitempty"`
	// Details are for screens, not for the model.
	Details json.RawMessage `json:"details,omitempty"`
	// EndTurn says that the model should not be asked again until the user has spoken.
	EndTurn bool `json:"end_turn,omitempty"`
}

// A Tool is a registered ability. It has no method that runs it: see [Gate].
type Tool struct{ t *tool }

type tool struct {
	spec    Spec
	schema  *jsonschema.Resolved
	prepare func(raw json.RawMessage) (Access, error)
	run     func(ctx context.Context, g *Grant, raw json.RawMessage) (Result, error)
	err     error // why the tool cannot be registered
}

// New makes a tool. The input is decoded strictly into In: a name that In does not know is an error.
// access must be a pure function of the input; run gets a Grant that covers what access said, and
// nothing else. A mistake in the spec is reported by [Registry.Register].
func New[In any](spec Spec, access func(In) Access, run func(context.Context, *Grant, In) (Result, error)) Tool {
	if spec.Set == "" {
		spec.Set = "host"
	}
	t := &tool{spec: spec}
	if access == nil || run == nil {
		t.err = fmt.Errorf("tool: %s: access and run must be given", spec.Name)
		return Tool{t}
	}
	t.prepare = func(raw json.RawMessage) (Access, error) {
		in, err := decode[In](raw)
		if err != nil {
			return nil, err
		}
		return access(in), nil
	}
	t.run = func(ctx context.Context, g *Grant, raw json.RawMessage) (Result, error) {
		in, err := decode[In](raw)
		if err != nil {
			return Result{}, err
		}
		return run(ctx, g, in)
	}
	t.schema, t.err = schemaOf[In](&t.spec)
	return Tool{t}
}

// Spec returns the tool's description, with its schema.
func (t Tool) Spec() Spec {
	if t.t == nil {
		return Spec{}
	}
	return t.t.spec
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func schemaOf[In any](spec *Spec) (*jsonschema.Resolved, error) {
	if !validName.MatchString(spec.Name) {
		return nil, fmt.Errorf("tool: name %q is not 1 to 64 of A-Z a-z 0-9 _ -", spec.Name)
	}
	if spec.Description == "" {
		return nil, fmt.Errorf("tool: %s: no description", spec.Name)
	}
	var schema *jsonschema.Schema
	if spec.Schema == nil {
		if reflect.TypeFor[In]().Kind() != reflect.Struct {
			return nil, fmt.Errorf("tool: %s: an input that is not a struct needs a schema", spec.Name)
		}
		var err error
		if schema, err = jsonschema.For[In](nil); err != nil {
			return nil, fmt.Errorf("tool: %s: schema: %w", spec.Name, err)
		}
		if spec.Schema, err = json.Marshal(schema); err != nil {
			return nil, fmt.Errorf("tool: %s: schema: %w", spec.Name, err)
		}
	} else if err := json.Unmarshal(spec.Schema, &schema); err != nil {
		return nil, fmt.Errorf("tool: %s: schema: %w", spec.Name, err)
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("tool: %s: the schema's type is %q, not object", spec.Name, schema.Type)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("tool: %s: schema: %w", spec.Name, err)
	}
	return resolved, nil
}

func decode[In any](raw json.RawMessage) (In, error) {
	var in In
	if p, ok := any(&in).(*json.RawMessage); ok {
		*p = raw
		return in, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, inputError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return in, errors.New("something follows the JSON object")
	}
	return in, nil
}

// inputError says what is wrong with an input in the model's words rather than in Go's.
func inputError(err error) error {
	var t *json.UnmarshalTypeError
	var s *json.SyntaxError
	switch {
	case errors.As(err, &t):
		return fmt.Errorf("%s: a JSON %s was given where %s is due (at byte %d)", t.Field, t.Value, jsonKind(t.Type), t.Offset)
	case errors.As(err, &s):
		return fmt.Errorf("the input is not valid JSON: %w (at byte %d)", err, s.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the input is not valid JSON: it ends too early")
	}
	return errors.New(trimPackage(err.Error()))
}

func trimPackage(s string) string {
	const prefix = "json: "
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return s
}

func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "a number"
	}
}

// validate holds the raw input against the schema.
func (t *tool) validate(raw json.RawMessage) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return inputError(err)
	}
	if _, ok := v.(map[string]any); !ok {
		return errors.New("the input is not a JSON object")
	}
	if err := t.schema.Validate(v); err != nil {
		return err
	}
	return nil
}
