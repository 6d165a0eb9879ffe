package llm_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/planmode-dev/planmode/llm"
)

func TestMessageSurvivesStorage(t *testing.T) {
	for name, m := range map[string]llm.Message{
		"user": {Role: llm.RoleUser, Parts: []llm.Part{
			llm.Text{Text: "look <at> this"}, llm.Image{MediaType: "image/png", Data: []byte{0, 1, 255}},
		}},
		"assistant": {Role: llm.RoleAssistant, Parts: []llm.Part{
			llm.Thinking{Text: "hm", Signature: "sig"},
			llm.Thinking{Redacted: "opaque"},
			llm.Text{Text: "ok"},
			llm.ToolCall{ID: "c1", Name: "read", Input: json.RawMessage(`{"path":"a"}`)},
		}},
		"call with input that is not JSON": {Role: llm.RoleAssistant, Parts: []llm.Part{
			llm.ToolCall{ID: "c1", Name: "read", Input: json.RawMessage(`{"path":`)},
		}},
		"results": {Role: llm.RoleUser, Parts: []llm.Part{
			llm.ToolResult{CallID: "c1", IsError: true, Parts: []llm.Part{llm.Text{Text: "no"}, llm.Image{MediaType: "image/gif", Data: []byte("GIF")}}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var got llm.Message
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			if !reflect.DeepEqual(got, m) {
				t.Errorf("stored as %s\ngot  %#v\nwant %#v", data, got, m)
			}
		})
	}
}

func TestMessageOfALaterVersionIsAnError(t *testing.T) {
	var m llm.Message
	for _, data := range []string{
		`{"role":"user","parts":[{"type":"hologram"}]}`,
		`{"role":"user","parts":[{"type":"tool_result","parts":[{"type":"hologram"}]}]}`,
		`{"role":"user","parts":7}`,
	} {
		if err := json.Unmarshal([]byte(data), &m); err == nil {
			t.Errorf("%s was read as %#v; want an error", data, m)
		}
	}
}
