package agenttest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/scripted"
)

// StartOpenAI serves Chat Completions and Responses.
//
// Chat Completions has no place for two things: a failed tool's result is known by the text "Error: "
// at its front, and what the user says beside tool results arrives as a message of its own.
func StartOpenAI(script *scripted.Script, o Options) (*Server, error) {
	return start(script, o, "/v1", map[string]vendor{"/v1/chat/completions": chatWire{}, "/v1/responses": responsesWire{}})
}

const errorPrefix = "Error: "

// chatWire is Chat Completions. Requests are read with the vendor's own types.
type chatWire struct{}

func (chatWire) key(h http.Header) string { return bearer(h) }

// chatRaw is what the vendor's types do not keep as it was.
type chatRaw struct {
	Stream   bool
	Messages []struct {
		ReasoningContent string `json:"reasoning_content"`
	}
	Tools []struct {
		Type     string
		Function functionRaw
	}
}

type functionRaw struct {
	Name, Description string
	Parameters        json.RawMessage
}

func (f functionRaw) spec() llm.ToolSpec {
	return llm.ToolSpec{Name: f.Name, Description: f.Description, Schema: f.Parameters}
}

func (chatWire) decode(body []byte) (llm.Request, error) {
	var p sdk.ChatCompletionNewParams
	var raw chatRaw
	if err := errors.Join(json.Unmarshal(body, &p), json.Unmarshal(body, &raw)); err != nil {
		return llm.Request{}, err
	}
	req := llm.Request{
		Model: llm.Model{Provider: "openai", ID: p.Model}, Thinking: llm.ThinkingLevel(p.ReasoningEffort),
		MaxTokens: int(max(p.MaxTokens.Value, p.MaxCompletionTokens.Value)), CacheKey: p.PromptCacheKey.Value,
	}
	if !raw.Stream || p.Model == "" || !p.StreamOptions.IncludeUsage.Value {
		return req, errors.New("an agent sends a model, stream and stream_options.include_usage")
	}
	for _, t := range raw.Tools {
		if t.Type != "function" || len(t.Function.Parameters) == 0 {
			return req, fmt.Errorf("tool %q is no function with parameters", t.Function.Name)
		}
		req.Tools = append(req.Tools, t.Function.spec())
	}
	for i, m := range p.Messages {
		if err := chatMessage(&req, m, raw.Messages[i].ReasoningContent); err != nil {
			return req, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return req, nil
}

func chatMessage(req *llm.Request, m sdk.ChatCompletionMessageParamUnion, reasoning string) error {
	switch {
	case m.OfSystem != nil:
		req.System = m.OfSystem.Content.OfString.Value
	case m.OfUser != nil:
		u := llm.Message{Role: llm.RoleUser}
		if s := m.OfUser.Content.OfString.Value; s != "" {
			u.Parts = append(u.Parts, llm.Text{Text: s})
		}
		for _, c := range m.OfUser.Content.OfArrayOfContentParts {
			switch {
			case c.OfText != nil:
				u.Parts = append(u.Parts, llm.Text{Text: c.OfText.Text})
			case c.OfImageURL != nil:
				img, err := dataImage(c.OfImageURL.ImageURL.URL)
				if err != nil {
					return err
				}
				u.Parts = append(u.Parts, img)
			default:
				return errors.New("a content part of a type that an agent does not send")
			}
		}
		req.Messages = append(req.Messages, u)
	case m.OfAssistant != nil:
		a := llm.Message{Role: llm.RoleAssistant}
		if reasoning != "" {
			a.Parts = append(a.Parts, llm.Thinking{Text: reasoning})
		}
		if s := m.OfAssistant.Content.OfString.Value; s != "" {
			a.Parts = append(a.Parts, llm.Text{Text: s})
		}
		for _, c := range m.OfAssistant.ToolCalls {
			if c.OfFunction == nil {
				return errors.New("a tool call that is no function")
			}
			f := c.OfFunction.Function
			a.Parts = append(a.Parts, llm.ToolCall{ID: c.OfFunction.ID, Name: f.Name, Input: json.RawMessage(f.Arguments)})
		}
		req.Messages = append(req.Messages, a)
	case m.OfTool != nil:
		addResult(req, textResult(m.OfTool.ToolCallID, m.OfTool.Content.OfString.Value))
	default:
		return errors.New("a role that an agent does not send")
	}
	return nil
}

func textResult(id, text string) llm.ToolResult {
	text, failed := strings.CutPrefix(text, errorPrefix)
	return llm.ToolResult{CallID: id, IsError: failed, Parts: []llm.Part{llm.Text{Text: text}}}
}

// addResult gathers the results of one answer's calls in one message.
func addResult(req *llm.Request, r llm.ToolResult) {
	if n := len(req.Messages); n > 0 {
		last := &req.Messages[n-1]
		if _, ok := last.Parts[0].(llm.ToolResult); ok && last.Role == llm.RoleUser {
			last.Parts = append(last.Parts, r)
			return
		}
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{r}})
}

func dataImage(url string) (llm.Image, error) {
	rest, ok := strings.CutPrefix(url, "data:")
	mediaType, data, ok2 := strings.Cut(rest, ";base64,")
	if !ok || !ok2 {
		return llm.Image{}, fmt.Errorf("the image %.40q is no data URL", url)
	}
	b, err := base64.StdEncoding.DecodeString(data)
	return llm.Image{MediaType: mediaType, Data: b}, err
}

// openaiWords are type and code of errors.
var openaiWords = map[llm.ErrorKind][2]string{
	llm.ErrAuth:       {"invalid_request_error", "invalid_api_key"},
	llm.ErrRate:       {"requests", "rate_limit_exceeded"},
	llm.ErrOverloaded: {"server_error", ""},
	llm.ErrTooLong:    {"invalid_request_error", "context_length_exceeded"},
	llm.ErrBadRequest: {"invalid_request_error", ""},
}

func openaiError(kind llm.ErrorKind, message string) object {
	words := openaiWords[kind]
	e := object{"message": message, "type": words[0], "param": nil, "code": nil}
	if words[1] != "" {
		e["code"] = words[1]
	}
	return object{"error": e}
}

func (chatWire) refuse(w http.ResponseWriter, status int, kind llm.ErrorKind, message string) {
	writeJSON(w, status, openaiError(kind, message))
}

func (chatWire) stream(o *out, req *llm.Request, turn *scripted.Turn) streamer {
	return &chatStream{o: o, req: req, turn: turn}
}

type chatStream struct {
	o     *out
	req   *llm.Request
	turn  *scripted.Turn
	calls int
}

func (s *chatStream) chunk(choices ...object) object {
	if choices == nil {
		choices = []object{}
	}
	return object{
		"id": "chatcmpl-" + s.turn.Key, "object": "chat.completion.chunk", "created": 1700000000,
		"model": s.req.Model.ID, "choices": choices,
	}
}

func (s *chatStream) delta(d object) {
	s.o.event("", s.chunk(object{"index": 0, "delta": d, "finish_reason": nil}))
}

func (s *chatStream) start() { s.delta(object{"role": "assistant", "content": ""}) }

func (s *chatStream) say(p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		s.o.pieces(p.Text, func(t string) { s.delta(object{"content": t}) })
	case llm.Thinking: // redacted reasoning does not exist here
		s.o.pieces(p.Text, func(t string) { s.delta(object{"reasoning_content": t}) })
	}
}

func (s *chatStream) call(id string, c scripted.Call) {
	i := s.calls
	s.calls++
	s.delta(object{"tool_calls": []object{{
		"index": i, "id": id, "type": "function", "function": object{"name": c.Name, "arguments": ""},
	}}})
	s.o.pieces(string(c.Input), func(t string) {
		s.delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": t}}}})
	})
}

func (s *chatStream) fail(kind llm.ErrorKind, message string) {
	s.o.event("", openaiError(kind, message))
}

func (s *chatStream) garbage() {
	s.o.raw([]byte("data: {\"id\":\"chatcmpl\",\"cho\x00\xff\xfe<html>\n\n"))
}

var finishReasons = map[llm.StopReason]string{
	llm.StopEndTurn: "stop", llm.StopToolUse: "tool_calls", llm.StopMaxTokens: "length", llm.StopRefusal: "content_filter",
}

func (s *chatStream) end(stop llm.StopReason, u llm.Usage) {
	s.o.event("", s.chunk(object{"index": 0, "delta": object{}, "finish_reason": finishReasons[stop]}))
	last := s.chunk()
	prompt := u.Input + u.CacheRead + u.CacheWrite
	last["usage"] = object{
		"prompt_tokens": prompt, "completion_tokens": u.Output, "total_tokens": prompt + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
	}
	s.o.event("", last)
	s.o.event("", "[DONE]")
}
