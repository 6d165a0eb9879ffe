package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// schemaOf completes the spec with the schema of In, and returns what inputs are held against.
func schemaOf[In any](spec *Spec) (*checker, error) {
	if !validName.MatchString(spec.Name) {
		return nil, fmt.Errorf("tool: name %q is not 1 to 64 of A-Z a-z 0-9 _ -", clip(spec.Name))
	}
	if spec.Description == "" {
		return nil, fmt.Errorf("tool: %s: no description", spec.Name)
	}
	if spec.Schema == nil {
		if reflect.TypeFor[In]().Kind() != reflect.Struct {
			return nil, fmt.Errorf("tool: %s: an input that is not a struct needs a schema", spec.Name)
		}
		schema, err := jsonschema.For[In](nil)
		if err != nil {
			return nil, fmt.Errorf("tool: %s: schema: %w", spec.Name, err)
		}
		if spec.Schema, err = json.Marshal(schema); err != nil {
			return nil, fmt.Errorf("tool: %s: schema: %w", spec.Name, err)
		}
	}
	c, err := newChecker(spec.Schema)
	if err != nil {
		return nil, fmt.Errorf("tool: %s: schema: %w", spec.Name, err)
	}
	if c.root.Type != "object" {
		return nil, fmt.Errorf("tool: %s: the schema's type is %q, not object", spec.Name, c.root.Type)
	}
	if spec.Check != nil {
		if c, err = newChecker(spec.Check); err != nil {
			return nil, fmt.Errorf("tool: %s: schema to check by: %w", spec.Name, err)
		}
	}
	return c, nil
}

// decode reads an input that was checked. With strict set, a name that In does not know is an error.
func decode[In any](raw json.RawMessage, strict bool) (In, error) {
	var in In
	if p, ok := any(&in).(*json.RawMessage); ok {
		*p = raw
		return in, nil
	}
	if !strict {
		return in, inputError(json.Unmarshal(raw, &in))
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
	case err == nil:
		return nil
	case errors.As(err, &t):
		field := t.Field
		if field == "" {
			field = "the input"
		}
		return fmt.Errorf("%s: a JSON %s was given where %s is due (at byte %d)", field, t.Value, jsonKind(t.Type), t.Offset)
	case errors.As(err, &s):
		return fmt.Errorf("the input is not valid JSON: %w (at byte %d)", s, s.Offset)
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
