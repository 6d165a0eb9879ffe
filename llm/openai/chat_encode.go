package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/internal/wire"
)

// ErrorPrefix marks the result of a tool that failed: the APIs have no field for that.
const ErrorPrefix = "Error: "

// reasoningField marks reasoning that came in this extra field of Chat Completions. DeepSeek's and
// Moonshot's models demand it back while the tool calls that it led to are being answered.
const reasoningField = "reasoning_content"

func encodeChat(req *llm.Request, own bool) (sdk.ChatCompletionNewParams, error) {
	p := sdk.ChatCompletionNewParams{
		Model:         req.Model.ID,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	if req.MaxTokens > 0 {
		if own {
			p.MaxCompletionTokens = param.NewOpt(int64(req.MaxTokens))
		} else { // the older name, which all servers know
			p.MaxTokens = param.NewOpt(int64(req.MaxTokens))
		}
	}
	if own && req.CacheKey != "" {
		p.PromptCacheKey = param.NewOpt(req.CacheKey)
	}
	if level := clamp(req.Thinking, req.Model.Levels); level != llm.ThinkingOff {
		p.ReasoningEffort = shared.ReasoningEffort(level)
	}
	for _, t := range req.Tools {
		def, err := function(t, false)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](def)))
	}
	if req.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(req.System))
	}
	loop := loopStart(req.Messages)
	for i, m := range req.Messages {
		var err error
		if m.Role == llm.RoleAssistant {
			err = chatAssistant(&p, m, i >= loop)
		} else {
			err = chatUser(&p, m)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// levels, weakest first.
var levels = []llm.ThinkingLevel{llm.ThinkingLow, llm.ThinkingMedium, llm.ThinkingHigh, llm.ThinkingXHigh}

// clamp returns the highest level that the model takes and that is not above the wish; if all are
// above it, the lowest. A model that takes none gets ThinkingOff.
func clamp(wish llm.ThinkingLevel, takes []llm.ThinkingLevel) llm.ThinkingLevel {
	if wish == llm.ThinkingOff || len(takes) == 0 {
		return llm.ThinkingOff
	}
	for i := slices.Index(levels, wish); i >= 0; i-- {
		if slices.Contains(takes, levels[i]) {
			return levels[i]
		}
	}
	return takes[0]
}

// loopStart is the index after the last message in which the user wrote, where the running exchange
// of calls and results begins.
func loopStart(msgs []llm.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		isResult := slices.ContainsFunc(msgs[i].Parts, func(p llm.Part) bool { _, ok := p.(llm.ToolResult); return ok })
		if msgs[i].Role == llm.RoleUser && !isResult {
			return i + 1
		}
	}
	return 0
}

// function is the JSON of a tool. It is written by hand to keep the schema's own text: a map would
// change the order of its keys.
func function(t llm.ToolSpec, responses bool) (json.RawMessage, error) {
	schema := t.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if !json.Valid(schema) {
		return nil, fmt.Errorf("the schema of tool %s is not JSON", t.Name)
	}
	def := struct {
		Type        string          `json:"type,omitempty"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict,omitempty"`
	}{Name: t.Name, Description: t.Description, Parameters: schema}
	if responses {
		// Responses is strict by default, which forbids optional parameters.
		def.Type, def.Strict = "function", new(bool)
	}
	return json.Marshal(def)
}

func chatAssistant(p *sdk.ChatCompletionNewParams, m llm.Message, inLoop bool) error {
	a := sdk.ChatCompletionAssistantMessageParam{}
	var texts []string
	for _, part := range m.Parts {
		switch part := part.(type) {
		case llm.Text:
			texts = append(texts, part.Text)
		case llm.Thinking:
			if inLoop && part.Signature == wire.OpenAIReasoning+reasoningField {
				a.SetExtraFields(map[string]any{reasoningField: part.Text})
			}
		case llm.ToolCall:
			a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
					ID:       part.ID,
					Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: part.Name, Arguments: arguments(part.Input)},
				},
			})
		default:
			return fmt.Errorf("a model's message cannot hold %T", part)
		}
	}
	if text := strings.Join(texts, "\n"); text != "" {
		a.Content.OfString = param.NewOpt(text)
	} else if len(a.ToolCalls) == 0 {
		return nil // nothing that the API would accept
	}
	p.Messages = append(p.Messages, sdk.ChatCompletionMessageParamUnion{OfAssistant: &a})
	return nil
}

// arguments is a call's input as the model wrote it; servers do not demand that it is JSON, but it
// must not be empty.
func arguments(input json.RawMessage) string {
	if len(strings.TrimSpace(string(input))) == 0 {
		return "{}"
	}
	return string(input)
}

// chatUser sends tool results as messages of their own, which must follow the calls at once. Pictures
// in results go into the user's message after them: a result is text.
func chatUser(p *sdk.ChatCompletionNewParams, m llm.Message) error {
	var content []sdk.ChatCompletionContentPartUnionParam
	text := func(s string) {
		if s != "" {
			content = append(content, sdk.TextContentPart(s))
		}
	}
	image := func(img llm.Image) {
		content = append(content, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: dataURL(img)}))
	}
	for _, part := range m.Parts {
		switch part := part.(type) {
		case llm.Text:
			text(part.Text)
		case llm.Image:
			image(part)
		case llm.ToolResult:
			s, images, err := resultText(part)
			if err != nil {
				return err
			}
			p.Messages = append(p.Messages, sdk.ToolMessage(s, part.CallID))
			if len(images) > 0 {
				text("Pictures in the result of " + part.CallID + ":")
			}
			for _, img := range images {
				image(img)
			}
		default:
			return fmt.Errorf("a user's message cannot hold %T", part)
		}
	}
	switch only := content; {
	case len(only) == 0:
	case len(only) == 1 && only[0].OfText != nil: // plain text, for the simplest of servers
		p.Messages = append(p.Messages, sdk.UserMessage(only[0].OfText.Text))
	default:
		p.Messages = append(p.Messages, sdk.UserMessage(content))
	}
	return nil
}

func resultText(r llm.ToolResult) (string, []llm.Image, error) {
	var texts []string
	var images []llm.Image
	for _, part := range r.Parts {
		switch part := part.(type) {
		case llm.Text:
			texts = append(texts, part.Text)
		case llm.Image:
			images = append(images, part)
		default:
			return "", nil, fmt.Errorf("a tool result cannot hold %T", part)
		}
	}
	s := strings.Join(texts, "\n")
	if r.IsError {
		s = ErrorPrefix + s
	}
	return s, images, nil
}

func dataURL(img llm.Image) string {
	return "data:" + img.MediaType + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
}
