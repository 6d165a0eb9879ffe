package vendortest

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"

	"github.com/planmode-dev/planmode/llm"
)

var text = rapid.StringMatching(`[a-zA-Z0-9<>&"'\\/ \n\tüß日☃{}\[\]]{0,40}[a-z]`)

// genMessages makes a conversation that a vendor accepts: answers with calls are followed by their
// results. An answer has at most one text, because some wires know no more.
func (v Vendor) genMessages(t *rapid.T) []llm.Message {
	msgs := []llm.Message{{Role: llm.RoleUser, Parts: genUser(t)}}
	ids := 0
	for range rapid.IntRange(0, 2).Draw(t, "turns") {
		a := llm.Message{Role: llm.RoleAssistant}
		if v.Signatures && rapid.Bool().Draw(t, "thinks") {
			a.Parts = append(a.Parts, llm.Thinking{Text: text.Draw(t, "thinking"), Signature: "c2ln"})
		}
		calls := rapid.IntRange(0, 3).Draw(t, "calls")
		if calls == 0 || rapid.Bool().Draw(t, "speaks") {
			a.Parts = append(a.Parts, llm.Text{Text: text.Draw(t, "text")})
		}
		u := llm.Message{Role: llm.RoleUser}
		for range calls {
			ids++
			id := fmt.Sprintf("call_%d", ids)
			a.Parts = append(a.Parts, llm.ToolCall{ID: id, Name: "tool_" + fmt.Sprint(ids), Input: genInput(t)})
			u.Parts = append(u.Parts, llm.ToolResult{
				CallID: id, Parts: []llm.Part{llm.Text{Text: text.Draw(t, "result")}}, IsError: rapid.Bool().Draw(t, "fails"),
			})
		}
		if calls == 0 {
			u.Parts = genUser(t)
		}
		msgs = append(msgs, a, u)
	}
	return msgs
}

func genUser(t *rapid.T) []llm.Part {
	parts := []llm.Part{llm.Text{Text: text.Draw(t, "user")}}
	if rapid.Bool().Draw(t, "image") {
		parts = append(parts, llm.Image{MediaType: "image/png", Data: rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "data")})
	}
	return parts
}

func genInput(t *rapid.T) json.RawMessage {
	data, err := json.Marshal(rapid.MapOfN(text, rapid.OneOf(
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.Int32(), func(i int32) any { return i }),
		rapid.Map(rapid.Bool(), func(b bool) any { return []any{b, nil, map[string]any{}} }),
	), 0, 3).Draw(t, "input"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func genTools(t *rapid.T) []llm.ToolSpec {
	var tools []llm.ToolSpec
	for i := range rapid.IntRange(0, 3).Draw(t, "tools") {
		tools = append(tools, llm.ToolSpec{
			Name: fmt.Sprintf("tool_%d", i), Description: text.Draw(t, "description"),
			Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x"]}},"additionalProperties":false}`),
		})
	}
	return tools
}
