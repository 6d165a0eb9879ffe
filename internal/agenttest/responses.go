package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/scripted"
)

// responsesWire is the Responses API. Requests are read with the vendor's own types.
type responsesWire struct{}

func (responsesWire) key(h http.Header) string { return bearer(h) }

func (responsesWire) decode(body []byte) (llm.Request, error) {
	var p responses.ResponseNewParams
	var raw struct { // what the vendor's types do not keep as it was
		Stream bool
		Store  *bool
		Input  []json.RawMessage
		Tools  []struct {
			Type string
			functionRaw
		}
	}
	if err := errors.Join(json.Unmarshal(body, &p), json.Unmarshal(body, &raw)); err != nil {
		return llm.Request{}, err
	}
	req := llm.Request{
		Model: llm.Model{Provider: "openai", ID: p.Model}, System: p.Instructions.Value,
		Thinking:  llm.ThinkingLevel(p.Reasoning.Effort),
		MaxTokens: int(p.MaxOutputTokens.Value), CacheKey: p.PromptCacheKey.Value,
	}
	if !raw.Stream || p.Model == "" || raw.Store == nil || *raw.Store {
		return req, errors.New("an agent sends a model, stream and store: false")
	}
	for _, t := range raw.Tools {
		if t.Type != "function" || len(t.Parameters) == 0 {
			return req, fmt.Errorf("tool %q is no function with parameters", t.Name)
		}
		req.Tools = append(req.Tools, t.spec())
	}
	open := false // the model's items up to now belong to one message
	for i, raw := range raw.Input {
		// The types decode an item, but not the list of them.
		var it responses.ResponseInputItemUnionParam
		if err := json.Unmarshal(raw, &it); err != nil {
			return req, fmt.Errorf("input[%d]: %w", i, err)
		}
		part, role, err := responsesItem(it)
		if err != nil {
			return req, fmt.Errorf("input[%d]: %w", i, err)
		}
		switch role {
		case llm.RoleAssistant:
			if !open {
				req.Messages = append(req.Messages, llm.Message{Role: role})
			}
			last := &req.Messages[len(req.Messages)-1]
			last.Parts = append(last.Parts, part...)
			open = true
		default:
			open = false
			if r, ok := part[0].(llm.ToolResult); ok {
				addResult(&req, r)
				continue
			}
			req.Messages = append(req.Messages, llm.Message{Role: role, Parts: part})
		}
	}
	return req, nil
}

func responsesItem(it responses.ResponseInputItemUnionParam) ([]llm.Part, llm.Role, error) {
	switch {
	case it.OfMessage != nil && it.OfMessage.Role == responses.EasyInputMessageRoleAssistant:
		return []llm.Part{llm.Text{Text: it.OfMessage.Content.OfString.Value}}, llm.RoleAssistant, nil
	case it.OfMessage != nil:
		return userContent(it.OfMessage.Content.OfInputItemContentList)
	case it.OfInputMessage != nil:
		return userContent(it.OfInputMessage.Content)
	case it.OfReasoning != nil:
		r := it.OfReasoning
		th := llm.Thinking{Redacted: "openai:" + r.ID + ":" + r.EncryptedContent.Value}
		for _, s := range r.Summary {
			th.Text += s.Text
		}
		return []llm.Part{th}, llm.RoleAssistant, nil
	case it.OfFunctionCall != nil:
		f := it.OfFunctionCall
		return []llm.Part{llm.ToolCall{ID: f.CallID, Name: f.Name, Input: json.RawMessage(f.Arguments)}}, llm.RoleAssistant, nil
	case it.OfFunctionCallOutput != nil:
		r, err := callOutput(it.OfFunctionCallOutput)
		return []llm.Part{r}, llm.RoleUser, err
	}
	return nil, "", errors.New("an item of a type that an agent does not send")
}

func userContent(content responses.ResponseInputMessageContentListParam) ([]llm.Part, llm.Role, error) {
	var parts []llm.Part
	for _, c := range content {
		switch {
		case c.OfInputText != nil:
			parts = append(parts, llm.Text{Text: c.OfInputText.Text})
		case c.OfInputImage != nil:
			img, err := dataImage(c.OfInputImage.ImageURL.Value)
			if err != nil {
				return nil, "", err
			}
			parts = append(parts, img)
		default:
			return nil, "", errors.New("content of a type that an agent does not send")
		}
	}
	if len(parts) == 0 {
		return nil, "", errors.New("a message without content")
	}
	return parts, llm.RoleUser, nil
}

func callOutput(p *responses.ResponseInputItemFunctionCallOutputParam) (llm.ToolResult, error) {
	if list := p.Output.OfResponseFunctionCallOutputItemArray; list != nil {
		r := llm.ToolResult{CallID: p.CallID.Value}
		for _, c := range list {
			switch {
			case c.OfInputText != nil:
				text, failed := strings.CutPrefix(c.OfInputText.Text, errorPrefix)
				r.IsError = r.IsError || failed
				r.Parts = append(r.Parts, llm.Text{Text: text})
			case c.OfInputImage != nil:
				img, err := dataImage(c.OfInputImage.ImageURL.Value)
				if err != nil {
					return r, err
				}
				r.Parts = append(r.Parts, img)
			}
		}
		return r, nil
	}
	return textResult(p.CallID.Value, p.Output.OfString.Value), nil
}

func (responsesWire) refuse(w http.ResponseWriter, status int, kind llm.ErrorKind, message string) {
	writeJSON(w, status, openaiError(kind, message))
}

func (responsesWire) stream(o *out, req *llm.Request, turn *scripted.Turn) streamer {
	return &responsesStream{o: o, req: req, turn: turn, output: []object{}}
}

type responsesStream struct {
	o      *out
	req    *llm.Request
	turn   *scripted.Turn
	seq    int
	output []object // items that are done
}

func (s *responsesStream) event(name string, fields object) {
	fields["type"], fields["sequence_number"] = name, s.seq
	s.seq++
	s.o.event(name, fields)
}

func (s *responsesStream) response(status string) object {
	return object{
		"id": "resp_" + s.turn.Key, "object": "response", "created_at": 1700000000, "status": status,
		"model": s.req.Model.ID, "output": s.output, "error": nil, "incomplete_details": nil, "usage": nil,
	}
}

func (s *responsesStream) start() {
	s.event("response.created", object{"response": s.response("in_progress")})
}

// item streams one output item: added, what is in between, done.
func (s *responsesStream) item(added, done object, between func(fields func(object) object)) {
	i := len(s.output)
	id := fmt.Sprintf("item_%s_%d", s.turn.Key, i)
	added["id"], done["id"] = id, id
	done["status"] = "completed"
	s.event("response.output_item.added", object{"output_index": i, "item": added})
	between(func(f object) object {
		f["item_id"], f["output_index"] = id, i
		return f
	})
	s.event("response.output_item.done", object{"output_index": i, "item": done})
	s.output = append(s.output, done)
}

func (s *responsesStream) say(p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		s.item(
			object{"type": "message", "role": "assistant", "content": []any{}},
			object{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": p.Text, "annotations": []any{}}}},
			func(f func(object) object) {
				s.event("response.content_part.added", f(object{"content_index": 0, "part": object{"type": "output_text", "text": ""}}))
				s.o.pieces(p.Text, func(t string) {
					s.event("response.output_text.delta", f(object{"content_index": 0, "delta": t}))
				})
				s.event("response.output_text.done", f(object{"content_index": 0, "text": p.Text}))
			},
		)
	case llm.Thinking:
		encrypted := p.Signature + p.Redacted
		if encrypted == "" {
			encrypted = "ZW5jcnlwdGVk"
		}
		summary := []object{}
		if p.Text != "" {
			summary = append(summary, object{"type": "summary_text", "text": p.Text})
		}
		s.item(
			object{"type": "reasoning", "summary": []any{}},
			object{"type": "reasoning", "summary": summary, "encrypted_content": encrypted},
			func(f func(object) object) {
				if p.Text == "" {
					return
				}
				s.event("response.reasoning_summary_part.added", f(object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}}))
				s.o.pieces(p.Text, func(t string) {
					s.event("response.reasoning_summary_text.delta", f(object{"summary_index": 0, "delta": t}))
				})
			},
		)
	}
}

func (s *responsesStream) call(id string, c scripted.Call) {
	item := func(args string) object {
		return object{"type": "function_call", "call_id": id, "name": c.Name, "arguments": args}
	}
	s.item(item(""), item(string(c.Input)), func(f func(object) object) {
		s.o.pieces(string(c.Input), func(t string) {
			s.event("response.function_call_arguments.delta", f(object{"delta": t}))
		})
		s.event("response.function_call_arguments.done", f(object{"arguments": string(c.Input)}))
	})
}

func (s *responsesStream) fail(kind llm.ErrorKind, message string) {
	words := openaiWords[kind]
	code := words[1]
	if code == "" {
		code = words[0]
	}
	s.event("error", object{"code": code, "message": message, "param": nil})
}

func (s *responsesStream) garbage() {
	s.o.raw([]byte("event: response.output_text.delta\ndata: {\"type\":\"response.outp\x00\xff\xfe<html>\n\n"))
}

func (s *responsesStream) end(stop llm.StopReason, u llm.Usage) {
	name, r := "response.completed", s.response("completed")
	switch stop {
	case llm.StopMaxTokens:
		name, r = "response.incomplete", s.response("incomplete")
		r["incomplete_details"] = object{"reason": "max_output_tokens"}
	case llm.StopRefusal:
		name, r = "response.incomplete", s.response("incomplete")
		r["incomplete_details"] = object{"reason": "content_filter"}
	case llm.StopEndTurn, llm.StopToolUse:
	}
	input := u.Input + u.CacheRead + u.CacheWrite
	r["usage"] = object{
		"input_tokens": input, "output_tokens": u.Output, "total_tokens": input + u.Output,
		"input_tokens_details":  object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"output_tokens_details": object{"reasoning_tokens": 0},
	}
	s.event(name, object{"response": r})
}
