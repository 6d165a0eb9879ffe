package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/internal/wire"
)

// BadInputKey holds the text of a tool call's input that is no JSON object when the call is sent
// back: the API takes objects only, and the model should see what it wrote.
const BadInputKey = "invalid_json"

func encode(req *llm.Request) (sdk.MessageNewParams, error) {
	p := sdk.MessageNewParams{Model: req.Model.ID, MaxTokens: maxTokens(req)}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for _, t := range req.Tools {
		tool, err := encodeTool(t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: tool})
	}
	if n := len(p.Tools); n > 0 {
		p.Tools[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	for _, m := range req.Messages {
		blocks, err := encodeParts(m)
		if err != nil {
			return p, err
		}
		switch {
		case len(blocks) == 0: // the API refuses a message without content
		case m.Role == llm.RoleAssistant:
			p.Messages = append(p.Messages, sdk.NewAssistantMessage(blocks...))
		default:
			p.Messages = append(p.Messages, sdk.NewUserMessage(blocks...))
		}
	}
	markLastUser(p.Messages)
	setThinking(&p, req)
	return p, nil
}

// maxTokens is what the answer may take. Without a wish it is the model's limit, or what the context
// has left when the request is counted generously: the API refuses a sum beyond the context.
func maxTokens(req *llm.Request) int64 {
	if req.MaxTokens > 0 {
		return int64(req.MaxTokens)
	}
	const unknown, least = 8192, 4096
	limit := req.Model.MaxOutput
	if limit <= 0 {
		limit = unknown
	}
	if window := req.Model.ContextWindow; window > 0 {
		limit = min(limit, max(window-requestTokens(req), least))
	}
	return limit
}

func requestTokens(req *llm.Request) int64 {
	const bytesPerToken, tokensPerImage = 3, 1600
	n, images := len(req.System), 0
	for _, t := range req.Tools {
		n += len(t.Description) + len(t.Schema)
	}
	var count func(parts []llm.Part)
	count = func(parts []llm.Part) {
		for _, p := range parts {
			switch p := p.(type) {
			case llm.Text:
				n += len(p.Text)
			case llm.Thinking:
				n += len(p.Text) + len(p.Redacted)
			case llm.Image:
				images++
			case llm.ToolCall:
				n += len(p.Name) + len(p.Input)
			case llm.ToolResult:
				count(p.Parts)
			}
		}
	}
	for _, m := range req.Messages {
		count(m.Parts)
	}
	return int64(n/bytesPerToken + images*tokensPerImage)
}

func encodeTool(t llm.ToolSpec) (*sdk.ToolParam, error) {
	schema := t.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if !json.Valid(schema) {
		return nil, fmt.Errorf("the schema of tool %s is not JSON", t.Name)
	}
	tool := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
	if t.Description != "" {
		tool.Description = param.NewOpt(t.Description)
	}
	return tool, nil
}

// encodeParts puts tool results first, as the API demands; otherwise the order stays.
func encodeParts(m llm.Message) ([]sdk.ContentBlockParamUnion, error) {
	var results, rest []sdk.ContentBlockParamUnion
	for _, part := range m.Parts {
		switch p := part.(type) {
		case llm.Text:
			if strings.TrimSpace(p.Text) != "" { // the API refuses blank text
				rest = append(rest, sdk.NewTextBlock(p.Text))
			}
		case llm.Thinking:
			switch {
			case p.Redacted != "" && !strings.HasPrefix(p.Redacted, wire.OpenAIReasoning):
				rest = append(rest, sdk.NewRedactedThinkingBlock(p.Redacted))
			case p.Signature != "" && !strings.HasPrefix(p.Signature, wire.OpenAIReasoning):
				rest = append(rest, sdk.NewThinkingBlock(p.Signature, p.Text))
			}
		case llm.Image:
			rest = append(rest, sdk.ContentBlockParamUnion{OfImage: encodeImage(p)})
		case llm.ToolCall:
			rest = append(rest, sdk.NewToolUseBlock(p.ID, encodeInput(p.Input), p.Name))
		case llm.ToolResult:
			r, err := encodeResult(p)
			if err != nil {
				return nil, err
			}
			results = append(results, r)
		default:
			return nil, fmt.Errorf("message part %T cannot be sent", part)
		}
	}
	return append(results, rest...), nil
}

func encodeImage(p llm.Image) *sdk.ImageBlockParam {
	return &sdk.ImageBlockParam{Source: sdk.ImageBlockParamSourceUnion{OfBase64: &sdk.Base64ImageSourceParam{
		Data: base64.StdEncoding.EncodeToString(p.Data), MediaType: sdk.Base64ImageSourceMediaType(p.MediaType),
	}}}
}

func encodeInput(input json.RawMessage) json.RawMessage {
	trimmed := strings.TrimSpace(string(input))
	if trimmed == "" {
		return json.RawMessage("{}")
	}
	if strings.HasPrefix(trimmed, "{") && json.Valid(input) {
		return input
	}
	wrapped, err := json.Marshal(map[string]string{BadInputKey: string(input)})
	if err != nil { // a map of strings always marshals
		return json.RawMessage("{}")
	}
	return wrapped
}

func encodeResult(p llm.ToolResult) (sdk.ContentBlockParamUnion, error) {
	r := &sdk.ToolResultBlockParam{ToolUseID: p.CallID}
	if p.IsError {
		r.IsError = param.NewOpt(true)
	}
	for _, part := range p.Parts {
		switch part := part.(type) {
		case llm.Text:
			if strings.TrimSpace(part.Text) != "" {
				r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: part.Text}})
			}
		case llm.Image:
			r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfImage: encodeImage(part)})
		default:
			return sdk.ContentBlockParamUnion{}, fmt.Errorf("a tool result cannot hold %T", part)
		}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: r}, nil
}

// markLastUser caches the conversation up to and with its last user message.
func markLastUser(msgs []sdk.MessageParam) {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].OfUser == nil {
			continue
		}
		blocks := msgs[i].OfUser.Content
		if mark := blocks[len(blocks)-1].GetCacheControl(); mark != nil {
			*mark = sdk.NewCacheControlEphemeralParam()
		}
		return
	}
}
