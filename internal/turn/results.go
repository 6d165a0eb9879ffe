package turn

import (
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/tool"
)

// AppendResult adds a call's result to a conversation. The results of one message of the model stand
// together in one message of the user, as vendors want them.
func AppendResult(messages []llm.Message, callID string, res tool.Result) []llm.Message {
	part := ResultPart(callID, res)
	if n := len(messages); n > 0 && messages[n-1].Role == llm.RoleUser && onlyResults(messages[n-1]) {
		last := messages[n-1]
		last.Parts = append(last.Parts[:len(last.Parts):len(last.Parts)], part)
		messages[n-1] = last
		return messages
	}
	return append(messages, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{part}})
}

// ResultPart is a call's result as a part of a message. A result without text says so: some vendors
// refuse an empty one.
func ResultPart(callID string, res tool.Result) llm.ToolResult {
	r := llm.ToolResult{CallID: callID, IsError: res.IsError}
	text := res.Text
	if text == "" && len(res.Images) == 0 {
		text = "(no output)"
	}
	if text != "" {
		r.Parts = append(r.Parts, llm.Text{Text: text})
	}
	for _, img := range res.Images {
		r.Parts = append(r.Parts, img)
	}
	return r
}

func onlyResults(m llm.Message) bool {
	for _, p := range m.Parts {
		if _, ok := p.(llm.ToolResult); !ok {
			return false
		}
	}
	return len(m.Parts) > 0
}
