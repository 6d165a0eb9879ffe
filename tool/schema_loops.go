package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// refuseLoops refuses a schema that leads back to itself without going into the input, such as
// {"$ref":"#"}: validating anything by it would not end, and a stack that is exhausted ends the program.
// Schemas come from foreign servers too. References other than those into the schema itself are
// refused, for they cannot be followed here.
func refuseLoops(raw json.RawMessage) error {
	if !strings.Contains(string(raw), `ref"`) && !strings.Contains(string(raw), `Ref"`) && !strings.Contains(string(raw), `\`) {
		return nil
	}
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return err
	}
	l := loops{root: root, state: map[uintptr]int{}}
	return l.everywhere(root)
}

type loops struct {
	root  any
	state map[uintptr]int // of an object: being looked at, or done
}

const (
	open = 1
	done = 2
)

// everywhere looks at every object of the schema; some are no schemas, which does no harm.
func (l *loops) everywhere(v any) error {
	switch v := v.(type) {
	case map[string]any:
		if err := l.schema(v); err != nil {
			return err
		}
		for _, part := range v {
			if err := l.everywhere(part); err != nil {
				return err
			}
		}
	case []any:
		for _, part := range v {
			if err := l.everywhere(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// schema follows what is applied to the same piece of the input.
func (l *loops) schema(v any) error {
	s, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	id := reflect.ValueOf(s).Pointer()
	switch l.state[id] {
	case done:
		return nil
	case open:
		return errors.New("it refers to itself without an end")
	}
	l.state[id] = open
	if ref, ok := s["$ref"].(string); ok {
		target, err := l.find(ref)
		if err != nil {
			return err
		}
		if err := l.schema(target); err != nil {
			return err
		}
	}
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := s[key].(string); ok {
			return fmt.Errorf("%s is not supported", key)
		}
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		if err := l.schema(s[key]); err != nil {
			return err
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for _, part := range list {
			if err := l.schema(part); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		parts, _ := s[key].(map[string]any)
		for _, part := range parts {
			if err := l.schema(part); err != nil {
				return err
			}
		}
	}
	l.state[id] = done
	return nil
}

// find returns what a reference into the schema itself names.
func (l *loops) find(ref string) (any, error) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil, fmt.Errorf("the reference %q is not supported: only those that begin with #/ are", ref)
	}
	v := l.root
	for _, step := range slices.Collect(strings.SplitSeq(pointer, "/"))[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil, fmt.Errorf("the reference %q leads nowhere", ref)
			}
			v = at[i]
		default:
			return nil, fmt.Errorf("the reference %q leads nowhere", ref)
		}
	}
	return v, nil
}
