package llm

import (
	"encoding/json"
	"fmt"
)

// Messages are stored as JSON objects whose parts carry their kind in "type": "text", "thinking",
// "image", "tool_call" or "tool_result". A part of another kind, written by a later version, is an
// error: dropping it could lose a tool call.

type partJSON struct {
	Type string `json:"type"`
	Text
	Signature string          `json:"signature,omitempty"`
	Redacted  string          `json:"redacted,omitempty"`
	MediaType string          `json:"media_type,omitempty"`
	Data      []byte          `json:"data,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	// RawInput carries a call's input that is not JSON, so that what the model wrote is kept as it was.
	RawInput string     `json:"raw_input,omitempty"`
	CallID   string     `json:"call_id,omitempty"`
	Parts    []partJSON `json:"parts,omitempty"`
	IsError  bool       `json:"is_error,omitempty"`
}

type messageJSON struct {
	Role  Role       `json:"role"`
	Parts []partJSON `json:"parts"`
}

// MarshalJSON writes the message in the form that [Message.UnmarshalJSON] reads.
func (m Message) MarshalJSON() ([]byte, error) {
	parts, err := encodeParts(m.Parts)
	if err != nil {
		return nil, err
	}
	return json.Marshal(messageJSON{Role: m.Role, Parts: parts})
}

// UnmarshalJSON reads a message; a part of an unknown kind is an error.
func (m *Message) UnmarshalJSON(data []byte) error {
	var mj messageJSON
	if err := json.Unmarshal(data, &mj); err != nil {
		return fmt.Errorf("llm: message: %w", err)
	}
	parts, err := decodeParts(mj.Parts)
	if err != nil {
		return err
	}
	*m = Message{Role: mj.Role, Parts: parts}
	return nil
}

func encodeParts(parts []Part) ([]partJSON, error) {
	out := make([]partJSON, 0, len(parts))
	for _, p := range parts {
		pj, err := encodePart(p)
		if err != nil {
			return nil, err
		}
		out = append(out, pj)
	}
	return out, nil
}

func encodePart(p Part) (partJSON, error) {
	switch p := p.(type) {
	case Text:
		return partJSON{Type: "text", Text: p}, nil
	case Thinking:
		return partJSON{Type: "thinking", Text: Text{p.Text}, Signature: p.Signature, Redacted: p.Redacted}, nil
	case Image:
		return partJSON{Type: "image", MediaType: p.MediaType, Data: p.Data}, nil
	case ToolCall:
		pj := partJSON{Type: "tool_call", ID: p.ID, Name: p.Name}
		if json.Valid(p.Input) {
			pj.Input = p.Input
		} else {
			pj.RawInput = string(p.Input)
		}
		return pj, nil
	case ToolResult:
		parts, err := encodeParts(p.Parts)
		return partJSON{Type: "tool_result", CallID: p.CallID, Parts: parts, IsError: p.IsError}, err
	}
	return partJSON{}, fmt.Errorf("llm: message part %T cannot be stored", p)
}

func decodeParts(in []partJSON) ([]Part, error) {
	parts := make([]Part, 0, len(in))
	for _, pj := range in {
		p, err := decodePart(pj)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func decodePart(pj partJSON) (Part, error) {
	switch pj.Type {
	case "text":
		return pj.Text, nil
	case "thinking":
		return Thinking{Text: pj.Text.Text, Signature: pj.Signature, Redacted: pj.Redacted}, nil
	case "image":
		return Image{MediaType: pj.MediaType, Data: pj.Data}, nil
	case "tool_call":
		input := pj.Input
		if input == nil {
			input = json.RawMessage(pj.RawInput)
		}
		return ToolCall{ID: pj.ID, Name: pj.Name, Input: input}, nil
	case "tool_result":
		parts, err := decodeParts(pj.Parts)
		return ToolResult{CallID: pj.CallID, Parts: parts, IsError: pj.IsError}, err
	}
	return nil, fmt.Errorf("llm: message part of unknown type %q", pj.Type)
}
