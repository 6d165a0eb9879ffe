package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/internal/wire"
)

// encodeResponses makes a request that leaves nothing on the server: reasoning comes back encrypted
// and is sent again with the conversation.
func encodeResponses(req *llm.Request) (responses.ResponseNewParams, error) {
	p := responses.ResponseNewParams{
		Model: req.Model.ID, Store: param.NewOpt(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}
	if req.System != "" {
		p.Instructions = param.NewOpt(req.System)
	}
	if req.MaxTokens > 0 {
		p.MaxOutputTokens = param.NewOpt(int64(req.MaxTokens))
	}
	if req.CacheKey != "" {
		p.PromptCacheKey = param.NewOpt(req.CacheKey)
	}
	switch level := clamp(req.Thinking, req.Model.Levels); {
	case level != llm.ThinkingOff:
		p.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffort(level), Summary: shared.ReasoningSummaryAuto}
	case len(req.Model.Levels) > 0:
		// Without a word these models think at their own default; the lowest level comes nearest to off.
		p.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffort(req.Model.Levels[0])}
	}
	for _, t := range req.Tools {
		def, err := function(t, true)
		if err != nil {
			return p, err
		}
		tool := param.Override[responses.FunctionToolParam](def)
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &tool})
	}
	var items responses.ResponseInputParam
	for _, m := range req.Messages {
		more, err := inputItems(m)
		if err != nil {
			return p, err
		}
		items = append(items, more...)
	}
	p.Input.OfInputItemList = items
	return p, nil
}

func inputItems(m llm.Message) ([]responses.ResponseInputItemUnionParam, error) {
	var items []responses.ResponseInputItemUnionParam
	var content responses.ResponseInputMessageContentListParam // of the user's message
	for _, part := range m.Parts {
		switch part := part.(type) {
		case llm.Text:
			switch {
			case part.Text == "":
			case m.Role == llm.RoleAssistant:
				items = append(items, message(responses.ResponseInputItemParamOfMessage(part.Text, responses.EasyInputMessageRoleAssistant)))
			default:
				content = append(content, responses.ResponseInputContentParamOfInputText(part.Text))
			}
		case llm.Image:
			content = append(content, responses.ResponseInputContentUnionParam{OfInputImage: &responses.ResponseInputImageParam{
				ImageURL: param.NewOpt(dataURL(part)), Detail: responses.ResponseInputImageDetailAuto,
			}})
		case llm.Thinking:
			if item, ok := reasoningItem(part); ok {
				items = append(items, item)
			}
		case llm.ToolCall:
			items = append(items, responses.ResponseInputItemParamOfFunctionCall(arguments(part.Input), part.ID, part.Name))
		case llm.ToolResult:
			item, err := resultItem(part)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		default:
			return nil, fmt.Errorf("message part %T cannot be sent", part)
		}
	}
	if len(content) > 0 {
		items = append(items, message(responses.ResponseInputItemParamOfMessage(content, responses.EasyInputMessageRoleUser)))
	}
	return items, nil
}

// message names the type of the item, which the SDK leaves out and strict servers ask for.
func message(item responses.ResponseInputItemUnionParam) responses.ResponseInputItemUnionParam {
	item.OfMessage.Type = responses.EasyInputMessageTypeMessage
	return item
}

// An item of reasoning is kept as "openai:" + id + ":" + its encrypted content.

func reasoningItem(th llm.Thinking) (responses.ResponseInputItemUnionParam, bool) {
	rest, ok := strings.CutPrefix(th.Redacted, wire.OpenAIReasoning)
	if !ok {
		return responses.ResponseInputItemUnionParam{}, false
	}
	id, encrypted, _ := strings.Cut(rest, ":")
	summary := []responses.ResponseReasoningItemSummaryParam{}
	if th.Text != "" {
		summary = append(summary, responses.ResponseReasoningItemSummaryParam{Text: th.Text})
	}
	return responses.ResponseInputItemUnionParam{OfReasoning: &responses.ResponseReasoningItemParam{
		ID: id, Summary: summary, EncryptedContent: param.NewOpt(encrypted),
	}}, true
}

func resultItem(r llm.ToolResult) (responses.ResponseInputItemUnionParam, error) {
	text, images, err := resultText(r)
	out := responses.ResponseInputItemFunctionCallOutputParam{CallID: param.NewOpt(r.CallID)}
	if len(images) == 0 {
		out.Output.OfString = param.NewOpt(text)
		return responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &out}, err
	}
	list := responses.ResponseFunctionCallOutputItemListParam{}
	if text != "" {
		list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{
			OfInputText: &responses.ResponseInputTextContentParam{Text: text},
		})
	}
	for _, img := range images {
		list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{
			OfInputImage: &responses.ResponseInputImageContentParam{ImageURL: param.NewOpt(dataURL(img))},
		})
	}
	out.Output.OfResponseFunctionCallOutputItemArray = list
	return responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &out}, err
}

// responsesAnswer is one answer of the Responses API.
type responsesAnswer struct {
	emit func(llm.Delta)

	n     int
	items []responses.ResponseOutputItemUnion // that are done
	calls []int64                             // output indexes of the tool calls that began
	text  bool                                // thinking was shown, so the next part of it needs a break
	end   *responses.Response
}

func (a *responsesAnswer) events() int        { return a.n }
func (a *responsesAnswer) finished(bool) bool { return a.end != nil }

func (a *responsesAnswer) add(ev responses.ResponseStreamEventUnion) error {
	a.n++
	switch ev.Type {
	case "response.output_item.done":
		a.items = append(a.items, ev.Item)
	case "response.completed", "response.incomplete":
		a.end = &ev.Response
	case "response.failed":
		e := ev.Response.Error
		return errorObject{Message: cmp.Or(e.Message, "the response failed"), Type: string(e.Code)}.refusal(http.StatusOK).Error()
	case "error":
		return errorObject{Message: ev.Message, Type: ev.Code}.refusal(http.StatusOK).Error()
	}
	return nil
}

func (a *responsesAnswer) show(ev responses.ResponseStreamEventUnion) {
	switch ev.Type {
	case "response.output_item.added":
		if ev.Item.Type == "function_call" {
			a.calls = append(a.calls, ev.OutputIndex)
			a.emit(llm.Delta{ToolName: ev.Item.Name, Call: len(a.calls) - 1})
		}
	case "response.output_text.delta", "response.refusal.delta":
		if ev.Delta != "" {
			a.emit(llm.Delta{Text: ev.Delta})
		}
	case "response.reasoning_summary_part.added":
		if a.text {
			a.emit(llm.Delta{Thinking: "\n\n"})
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		if ev.Delta != "" {
			a.text = true
			a.emit(llm.Delta{Thinking: ev.Delta})
		}
	case "response.function_call_arguments.delta":
		if i := slices.Index(a.calls, ev.OutputIndex); i >= 0 && ev.Delta != "" {
			a.emit(llm.Delta{Input: ev.Delta, Call: i})
		}
	}
}

func (a *responsesAnswer) response(req *llm.Request) (llm.Response, error) {
	items := a.items
	if len(items) == 0 {
		items = a.end.Output
	}
	var parts []llm.Part
	calls, refused := 0, false
	for _, it := range items {
		switch it.Type {
		case "message":
			for _, c := range it.Content {
				refused = refused || c.Refusal != ""
				if s := c.Text + c.Refusal; s != "" {
					parts = append(parts, llm.Text{Text: s})
				}
			}
		case "reasoning":
			parts = append(parts, thinking(it.AsReasoning()))
		case "function_call":
			f := it.AsFunctionCall()
			call := llm.ToolCall{ID: f.CallID, Name: f.Name, Input: json.RawMessage(arguments(json.RawMessage(f.Arguments)))}
			if call.ID == "" {
				call.ID = wire.CallID(req, calls)
			}
			calls++
			parts = append(parts, call)
		}
	}
	stop := llm.StopEndTurn
	switch reason := a.end.IncompleteDetails.Reason; {
	case reason == "max_output_tokens":
		stop = llm.StopMaxTokens
	case refused, reason == "content_filter":
		stop = llm.StopRefusal
	case calls > 0:
		stop = llm.StopToolUse
	}
	if len(parts) == 0 && stop == llm.StopEndTurn {
		return llm.Response{}, &llm.Error{Kind: llm.ErrEmpty, Err: errors.New("the response has no output")}
	}
	u := a.end.Usage
	return llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Stop: stop,
		Usage: usage(req, u.InputTokens, u.InputTokensDetails.CachedTokens, u.InputTokensDetails.CacheWriteTokens, u.OutputTokens),
	}, nil
}

func thinking(it responses.ResponseReasoningItem) llm.Thinking {
	var texts []string
	for _, s := range it.Summary {
		texts = append(texts, s.Text)
	}
	for _, c := range it.Content {
		texts = append(texts, c.Text)
	}
	th := llm.Thinking{Text: strings.Join(texts, "\n\n")}
	if it.EncryptedContent != "" {
		th.Redacted = wire.OpenAIReasoning + it.ID + ":" + it.EncryptedContent
	}
	return th
}
