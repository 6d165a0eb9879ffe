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
	"fmt"

	"github.com/planmode-dev/planmode/llm"
)

// A Spec describes a tool. Name and Description are required.
type Spec struct {
	Name        string // 1 to 64 of A-Z a-z 0-9 _ -
	Description string
	// Schema is the JSON Schema of the input; nil means the one of the Go type of the input.
	Schema json.RawMessage
	// Check, if given, is what inputs are held against in the place of Schema. It is for a tool whose
	// own errors say more than a schema's, such as codes that are part of a contract.
	Check json.RawMessage
	// Set groups tools that come together: "builtin", "mcp:github", a manifest's name. "" is "host".
	Set string
	// Kinds lists what kinds of effect its calls can have, such as ReadFile{}, so that a tool which the
	// mode refuses whatever its input is not offered to the model. Nil means that nobody knows. It
	// never decides what runs: the access of the very call does.
	Kinds []Effect
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
	check   *checker
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
	spec.Schema, spec.Check = bytes.Clone(spec.Schema), bytes.Clone(spec.Check)
	t := &tool{spec: spec}
	if access == nil || run == nil {
		t.err = fmt.Errorf("tool: %s: access and run must be given", spec.Name)
		return Tool{t}
	}
	// What passes the schema of In has no name that In does not know.
	strict := spec.Schema != nil || spec.Check != nil
	t.prepare = func(raw json.RawMessage) (Access, error) {
		in, err := decode[In](raw, strict)
		if err != nil {
			return nil, err
		}
		return access(in), nil
	}
	t.run = func(ctx context.Context, g *Grant, raw json.RawMessage) (Result, error) {
		in, err := decode[In](raw, strict)
		if err != nil {
			return Result{}, err
		}
		return run(ctx, g, in)
	}
	t.check, t.err = schemaOf[In](&t.spec)
	return Tool{t}
}

// Spec returns the tool's description, with its schema.
func (t Tool) Spec() Spec {
	if t.t == nil {
		return Spec{}
	}
	return t.t.spec
}
