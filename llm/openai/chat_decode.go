package openai

import (
	"encoding/json"
	"errors"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/internal/wire"
)

// chatAnswer is one answer of Chat Completions.
type chatAnswer struct {
	emit func(llm.Delta)

	acc       sdk.ChatCompletionAccumulator
	n         int
	thinking  []byte
	field     string // in which the thinking came
	usage     sdk.CompletionUsage
	id        string
	slots     map[int64]int64  // the call that an index of the stream means at present
	ids       map[int64]string // by slot
	announced map[int64]bool   // by slot
}

func newChatAnswer(emit func(llm.Delta)) *chatAnswer {
	return &chatAnswer{emit: emit, slots: map[int64]int64{}, ids: map[int64]string{}, announced: map[int64]bool{}}
}

func (a *chatAnswer) events() int { return a.n }

func (a *chatAnswer) add(chunk sdk.ChatCompletionChunk) error {
	a.n++
	if chunk.Usage.TotalTokens > 0 || chunk.Usage.PromptTokens > 0 || chunk.Usage.CompletionTokens > 0 {
		a.usage = chunk.Usage // the last one counts: some servers repeat it with each chunk
	}
	// The accumulator refuses an id that changes, and some servers' do, which means nothing.
	if a.id == "" {
		a.id = chunk.ID
	}
	chunk.ID = a.id
	for i := range chunk.Choices {
		if chunk.Choices[i].Index == 0 {
			a.place(chunk.Choices[i].Delta.ToolCalls)
		}
	}
	if !a.acc.AddChunk(chunk) {
		return errors.New("a chunk that does not fit to those before it")
	}
	return nil
}

// place gives each call a slot of its own. Some servers number all calls 0 and tell them apart by id.
func (a *chatAnswer) place(calls []sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	for i := range calls {
		c := &calls[i]
		slot, known := a.slots[c.Index]
		if !known || c.ID != "" && a.ids[slot] != "" && c.ID != a.ids[slot] && c.Function.Name != "" {
			slot = int64(len(a.ids))
			a.slots[c.Index], a.ids[slot] = slot, ""
		}
		if c.ID != "" {
			a.ids[slot] = c.ID
		}
		c.Index = slot
	}
}

func (a *chatAnswer) show(chunk sdk.ChatCompletionChunk) {
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		d := choice.Delta
		for _, field := range []string{reasoningField, "reasoning"} {
			if s := extra(d.JSON.ExtraFields, field); s != "" {
				a.thinking, a.field = append(a.thinking, s...), field
				a.emit(llm.Delta{Thinking: s})
				break
			}
		}
		if d.Content != "" {
			a.emit(llm.Delta{Text: d.Content})
		}
		if d.Refusal != "" {
			a.emit(llm.Delta{Text: d.Refusal})
		}
		for _, c := range d.ToolCalls { // already placed: add changed them in place
			if !a.announced[c.Index] {
				a.announced[c.Index] = true
				a.emit(llm.Delta{ToolName: c.Function.Name, Call: int(c.Index)})
			}
			if c.Function.Arguments != "" {
				a.emit(llm.Delta{Input: c.Function.Arguments, Call: int(c.Index)})
			}
		}
	}
}

func extra(fields map[string]respjson.Field, name string) string {
	f, ok := fields[name]
	if !ok {
		return ""
	}
	var s string
	if json.Unmarshal([]byte(f.Raw()), &s) != nil {
		return "" // null, or not what we know
	}
	return s
}

func (a *chatAnswer) finished(done bool) bool {
	if len(a.acc.Choices) == 0 {
		return done && a.n > 0
	}
	return done || a.acc.Choices[0].FinishReason != ""
}

func (a *chatAnswer) response(req *llm.Request) (llm.Response, error) {
	var msg sdk.ChatCompletionMessage
	reason := ""
	if len(a.acc.Choices) > 0 {
		msg, reason = a.acc.Choices[0].Message, a.acc.Choices[0].FinishReason
	}
	var parts []llm.Part
	if len(a.thinking) > 0 {
		th := llm.Thinking{Text: string(a.thinking)}
		if a.field == reasoningField {
			th.Signature = wire.OpenAIReasoning + reasoningField
		}
		parts = append(parts, th)
	}
	if msg.Content != "" {
		parts = append(parts, llm.Text{Text: msg.Content})
	}
	if msg.Refusal != "" {
		parts = append(parts, llm.Text{Text: msg.Refusal})
	}
	stop := llm.StopEndTurn
	switch {
	case len(msg.ToolCalls) > 0 && reason != "length":
		stop = llm.StopToolUse
	case reason == "length":
		stop = llm.StopMaxTokens
	case reason == "content_filter" || msg.Refusal != "":
		stop = llm.StopRefusal
	}
	for i, c := range msg.ToolCalls {
		call := llm.ToolCall{ID: c.ID, Name: c.Function.Name, Input: json.RawMessage(arguments(json.RawMessage(c.Function.Arguments)))}
		if call.ID == "" {
			call.ID = wire.CallID(req, i)
		}
		parts = append(parts, call)
	}
	if len(parts) == 0 && stop == llm.StopEndTurn {
		return llm.Response{}, &llm.Error{Kind: llm.ErrEmpty, Err: errors.New("the message has no content")}
	}
	u := a.usage
	return llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Stop: stop,
		Usage: usage(req, u.PromptTokens, u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.CacheWriteTokens, u.CompletionTokens),
	}, nil
}

// usage counts cached tokens on their own; OpenAI counts them within the input.
func usage(req *llm.Request, input, cached, written, output int64) llm.Usage {
	u := llm.Usage{Input: max(input-cached-written, 0), CacheRead: cached, CacheWrite: written, Output: output}
	u.Cost = req.Model.Price.Of(u)
	return u
}
