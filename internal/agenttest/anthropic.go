package agenttest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/scripted"
)

// anthropicWire is the Messages API. Requests are read with the vendor's own types.
type anthropicWire struct{}

func (anthropicWire) key(h http.Header) string { return bearer(h) }

func bearer(h http.Header) string {
	key, _ := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	return key
}

type object map[string]any

func (anthropicWire) decode(body []byte) (llm.Request, error) {
	var p sdk.MessageNewParams
	if err := json.Unmarshal(body, &p); err != nil {
		return llm.Request{}, err
	}
	// What the vendor's types do not keep as it was.
	var raw struct {
		Stream bool
		Tools  []llm.ToolSpec
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return llm.Request{}, err
	}
	req := llm.Request{Model: llm.Model{Provider: "anthropic", ID: p.Model}, MaxTokens: int(p.MaxTokens), Tools: raw.Tools}
	if !raw.Stream || p.Model == "" || p.MaxTokens <= 0 {
		return req, errors.New("stream, model and max_tokens are required")
	}
	if t := p.Thinking.OfEnabled; t != nil && (t.BudgetTokens < 1024 || t.BudgetTokens >= p.MaxTokens) {
		return req, fmt.Errorf("thinking.budget_tokens %d must be at least 1024 and less than max_tokens %d", t.BudgetTokens, p.MaxTokens)
	}
	if p.Thinking.OfEnabled != nil {
		req.Thinking = llm.ThinkingHigh // a budget; how much is in the body
	}
	if p.Thinking.OfAdaptive != nil {
		req.Thinking = llm.ThinkingLevel(p.OutputConfig.Effort)
	}
	if n := bytes.Count(body, []byte(`"cache_control":`)); n > 4 {
		return req, fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, found %d", n)
	}
	var system []string
	for _, b := range p.System {
		system = append(system, b.Text)
	}
	req.System = strings.Join(system, "\n")
	for i, m := range p.Messages {
		role := llm.RoleUser
		var blocks []sdk.ContentBlockParamUnion
		switch {
		case m.OfUser != nil:
			blocks = m.OfUser.Content
		case m.OfAssistant != nil:
			role, blocks = llm.RoleAssistant, m.OfAssistant.Content
		default:
			return req, fmt.Errorf("messages.%d: no role that an agent sends", i)
		}
		parts, err := anthropicParts(blocks)
		if err != nil {
			return req, fmt.Errorf("messages.%d: %w", i, err)
		}
		req.Messages = append(req.Messages, llm.Message{Role: role, Parts: parts})
	}
	return req, nil
}

func anthropicParts(blocks []sdk.ContentBlockParamUnion) ([]llm.Part, error) {
	var parts []llm.Part
	for i, b := range blocks {
		switch {
		case b.OfText != nil:
			if strings.TrimSpace(b.OfText.Text) == "" {
				return nil, errors.New("text content blocks must be non-empty")
			}
			parts = append(parts, llm.Text{Text: b.OfText.Text})
		case b.OfThinking != nil:
			parts = append(parts, llm.Thinking{Text: b.OfThinking.Thinking, Signature: b.OfThinking.Signature})
		case b.OfRedactedThinking != nil:
			parts = append(parts, llm.Thinking{Redacted: b.OfRedactedThinking.Data})
		case b.OfImage != nil:
			img, err := anthropicImage(b.OfImage)
			if err != nil {
				return nil, err
			}
			parts = append(parts, img)
		case b.OfToolUse != nil:
			input, err := json.Marshal(b.OfToolUse.Input)
			if err != nil || !bytes.HasPrefix(input, []byte("{")) {
				return nil, fmt.Errorf("content.%d: tool_use.input is not an object: %s", i, input)
			}
			parts = append(parts, llm.ToolCall{ID: b.OfToolUse.ID, Name: b.OfToolUse.Name, Input: input})
		case b.OfToolResult != nil:
			if i > 0 && blocks[i-1].OfToolResult == nil {
				return nil, errors.New("tool_result blocks must come first")
			}
			r, err := anthropicResult(b.OfToolResult)
			if err != nil {
				return nil, err
			}
			parts = append(parts, r)
		default:
			return nil, fmt.Errorf("content.%d: a block of a type that an agent does not send", i)
		}
	}
	return parts, nil
}

func anthropicResult(b *sdk.ToolResultBlockParam) (llm.ToolResult, error) {
	r := llm.ToolResult{CallID: b.ToolUseID, IsError: b.IsError.Value}
	for _, c := range b.Content {
		switch {
		case c.OfText != nil:
			r.Parts = append(r.Parts, llm.Text{Text: c.OfText.Text})
		case c.OfImage != nil:
			img, err := anthropicImage(c.OfImage)
			if err != nil {
				return r, err
			}
			r.Parts = append(r.Parts, img)
		default:
			return r, errors.New("tool_result content of a type that an agent does not send")
		}
	}
	return r, nil
}

func anthropicImage(b *sdk.ImageBlockParam) (llm.Image, error) {
	src := b.Source.OfBase64
	if src == nil {
		return llm.Image{}, errors.New("an image without base64 data")
	}
	data, err := base64.StdEncoding.DecodeString(src.Data)
	return llm.Image{MediaType: string(src.MediaType), Data: data}, err
}

// anthropicTypes are the API's words.
var anthropicTypes = map[llm.ErrorKind]string{
	llm.ErrAuth: "authentication_error", llm.ErrRate: "rate_limit_error", llm.ErrOverloaded: "overloaded_error",
	llm.ErrTooLong: "invalid_request_error", llm.ErrBadRequest: "invalid_request_error",
}

func anthropicError(kind llm.ErrorKind, status int, message string) object {
	typ := anthropicTypes[kind]
	if kind == llm.ErrOverloaded && status == http.StatusInternalServerError {
		typ = "api_error"
	}
	return object{"type": "error", "error": object{"type": typ, "message": message}, "request_id": "req_fake"}
}

func (anthropicWire) refuse(w http.ResponseWriter, status int, kind llm.ErrorKind, message string) {
	writeJSON(w, status, anthropicError(kind, status, message))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}

func (anthropicWire) stream(o *out, req *llm.Request, turn *scripted.Turn) streamer {
	return &anthropicStream{o: o, req: req, turn: turn}
}

type anthropicStream struct {
	o    *out
	req  *llm.Request
	turn *scripted.Turn
	n    int // content blocks so far
}

func (s *anthropicStream) start() {
	u := scripted.Estimate(s.req, nil)
	if s.turn.Usage != nil {
		u = *s.turn.Usage
	}
	s.o.event("message_start", object{"type": "message_start", "message": object{
		"id": "msg_" + s.turn.Key, "type": "message", "role": "assistant", "model": s.req.Model.ID, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{
			"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
			"output_tokens": 1, "service_tier": "standard",
		},
	}})
	s.o.event("ping", object{"type": "ping"})
}

func (s *anthropicStream) block(content object, deltas func(delta func(object))) {
	i := s.n
	s.n++
	s.o.event("content_block_start", object{"type": "content_block_start", "index": i, "content_block": content})
	deltas(func(d object) {
		s.o.event("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": d})
	})
	s.o.event("content_block_stop", object{"type": "content_block_stop", "index": i})
}

func (s *anthropicStream) say(p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		s.block(object{"type": "text", "text": ""}, func(delta func(object)) {
			s.o.pieces(p.Text, func(t string) { delta(object{"type": "text_delta", "text": t}) })
		})
	case llm.Thinking:
		if p.Redacted != "" {
			s.block(object{"type": "redacted_thinking", "data": p.Redacted}, func(func(object)) {})
			return
		}
		s.block(object{"type": "thinking", "thinking": "", "signature": ""}, func(delta func(object)) {
			s.o.pieces(p.Text, func(t string) { delta(object{"type": "thinking_delta", "thinking": t}) })
			delta(object{"type": "signature_delta", "signature": p.Signature})
		})
	}
}

func (s *anthropicStream) call(id string, c scripted.Call) {
	s.block(object{"type": "tool_use", "id": id, "name": c.Name, "input": object{}}, func(delta func(object)) {
		delta(object{"type": "input_json_delta", "partial_json": ""})
		s.o.pieces(string(c.Input), func(t string) { delta(object{"type": "input_json_delta", "partial_json": t}) })
	})
}

func (s *anthropicStream) fail(kind llm.ErrorKind, message string) {
	s.o.event("error", anthropicError(kind, 0, message))
}

func (s *anthropicStream) garbage() {
	s.o.raw([]byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"ind\x00\xff\xfe<html>\n\n"))
}

func (s *anthropicStream) end(stop llm.StopReason, u llm.Usage) {
	s.o.event("message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": string(stop), "stop_sequence": nil},
		"usage": object{"output_tokens": u.Output},
	})
	s.o.event("message_stop", object{"type": "message_stop"})
}
