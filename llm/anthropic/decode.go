package anthropic

import (
	"encoding/json"
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/internal/wire"
)

// answer is one answer as it arrives.
type answer struct {
	emit    func(llm.Delta)
	msg     sdk.Message
	events  int
	stopped bool // message_stop arrived
	calls   map[int64]*call
}

// call is the input of a tool call as it was streamed. The SDK's accumulator drops what is not JSON in
// the end; a model's broken input is for the caller to judge.
type call struct {
	n     int // counted from 0
	input []byte
}

func (a *answer) read(stream *ssestream.Stream[sdk.MessageStreamEventUnion]) error {
	a.calls = map[int64]*call{}
	for !a.stopped {
		var more bool
		err := wire.Guard(func() error {
			if more = stream.Next(); !more {
				return stream.Err()
			}
			return a.msg.Accumulate(stream.Current())
		})
		if err != nil || !more {
			return err
		}
		a.events++
		a.event(stream.Current())
	}
	return nil
}

func (a *answer) event(ev sdk.MessageStreamEventUnion) {
	switch ev.Type {
	case "content_block_start":
		switch b := ev.ContentBlock; b.Type {
		case "text":
			a.text(b.Text)
		case "thinking":
			a.thinking(b.Thinking)
		case "tool_use":
			c := &call{n: len(a.calls)}
			a.calls[ev.Index] = c
			a.emit(llm.Delta{ToolName: b.Name, Call: c.n})
		}
	case "content_block_delta":
		switch d := ev.Delta; d.Type {
		case "text_delta":
			a.text(d.Text)
		case "thinking_delta":
			a.thinking(d.Thinking)
		case "input_json_delta":
			if c := a.calls[ev.Index]; c != nil && d.PartialJSON != "" {
				c.input = append(c.input, d.PartialJSON...)
				a.emit(llm.Delta{Input: d.PartialJSON, Call: c.n})
			}
		}
	case "content_block_stop":
		// Some compatible servers send the whole input with the start.
		if c := a.calls[ev.Index]; c != nil && len(c.input) == 0 {
			if in := a.msg.Content[ev.Index].Input; len(in) > 0 && string(in) != "{}" {
				c.input = append(c.input, in...)
				a.emit(llm.Delta{Input: string(in), Call: c.n})
			}
		}
	case "message_stop":
		a.stopped = true
	}
}

func (a *answer) text(s string) {
	if s != "" {
		a.emit(llm.Delta{Text: s})
	}
}

func (a *answer) thinking(s string) {
	if s != "" {
		a.emit(llm.Delta{Thinking: s})
	}
}

// stops by the API's words; others end the turn.
var stops = map[sdk.StopReason]llm.StopReason{
	sdk.StopReasonToolUse:                    llm.StopToolUse,
	sdk.StopReasonMaxTokens:                  llm.StopMaxTokens,
	sdk.StopReasonModelContextWindowExceeded: llm.StopMaxTokens,
	sdk.StopReasonRefusal:                    llm.StopRefusal,
}

func (a *answer) response(req *llm.Request) (llm.Response, error) {
	var parts []llm.Part
	for i, b := range a.msg.Content {
		switch b.Type {
		case "text":
			if b.Text != "" {
				parts = append(parts, llm.Text{Text: b.Text})
			}
		case "thinking":
			parts = append(parts, llm.Thinking{Text: b.Thinking, Signature: b.Signature})
		case "redacted_thinking":
			parts = append(parts, llm.Thinking{Redacted: b.Data})
		case "tool_use":
			parts = append(parts, a.toolCall(req, int64(i), b))
		}
	}
	stop, ok := stops[a.msg.StopReason]
	if !ok {
		stop = llm.StopEndTurn
	}
	// Compatible servers do not always say the right word; what they sent counts.
	if stop == llm.StopEndTurn || stop == llm.StopToolUse {
		if stop = llm.StopEndTurn; len(a.calls) > 0 {
			stop = llm.StopToolUse
		}
	}
	if len(parts) == 0 && stop == llm.StopEndTurn {
		return llm.Response{}, &llm.Error{Kind: llm.ErrEmpty, Err: errors.New("the message has no content")}
	}
	u := a.msg.Usage
	usage := llm.Usage{
		Input: u.InputTokens, Output: u.OutputTokens,
		CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens,
	}
	usage.Cost = req.Model.Price.Of(usage)
	return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Stop: stop, Usage: usage}, nil
}

func (a *answer) toolCall(req *llm.Request, i int64, b sdk.ContentBlockUnion) llm.ToolCall {
	c := llm.ToolCall{ID: b.ID, Name: b.Name, Input: json.RawMessage("{}")}
	if streamed := a.calls[i]; streamed != nil {
		if len(streamed.input) > 0 {
			c.Input = streamed.input
		}
		if c.ID == "" {
			c.ID = wire.CallID(req, streamed.n)
		}
	}
	return c
}
