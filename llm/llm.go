// Package llm holds what a conversation with a language model is made of: messages, tool
// descriptions, usage, models and the [Provider] that streams an answer. Vendors live in
// sub-packages (anthropic, openai), as do the model table (catalog) and a model that plays a file
// (scripted). The package knows nothing of tools' code, sessions or screens.
package llm

import (
	"context"
	"encoding/json"
	"strings"
)

// A Role says who wrote a message.
type Role string

// The roles of a conversation. Tool results travel in messages of RoleUser, as vendors expect.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// A Message is one entry of a conversation. The parts are owned by the message: whoever keeps one
// must not change them.
type Message struct {
	Role  Role
	Parts []Part
}

// A Part is a piece of a message: [Text], [Thinking], [Image], [ToolCall] or [ToolResult].
type Part interface{ part() }

// Text is plain text, Markdown by convention.
type Text struct {
	Text string `json:"text,omitempty"`
}

// Thinking is what a model showed of its reasoning. Signature and Redacted are opaque to us and are
// returned to the vendor unchanged.
type Thinking struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}

// Image is a picture in a message or in a tool's result.
type Image struct {
	MediaType string `json:"media_type"` // such as "image/png"
	Data      []byte `json:"data"`
}

// ToolCall is a model's wish to run a tool. Input is the JSON that the model wrote; it may be invalid.
type ToolCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// ToolResult answers the [ToolCall] of the same ID. Parts holds [Text] and [Image] only.
type ToolResult struct {
	CallID  string
	Parts   []Part
	IsError bool
}

func (Text) part()       {}
func (Thinking) part()   {}
func (Image) part()      {}
func (ToolCall) part()   {}
func (ToolResult) part() {}

// UserText is a user's message of plain text.
func UserText(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{Text{Text: text}}}
}

// AssistantText is a model's message of plain text.
func AssistantText(text string) Message {
	return Message{Role: RoleAssistant, Parts: []Part{Text{Text: text}}}
}

// Text returns the text parts of the message, joined by newlines.
func (m Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Calls returns the tool calls of the message, in order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// A ToolSpec is a tool as a model sees it. Schema is a JSON Schema of type object.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

// A Request asks for the next message of a conversation.
type Request struct {
	Model     Model
	System    string // instructions; stable between turns, so that vendors can cache them
	Messages  []Message
	Tools     []ToolSpec
	Thinking  ThinkingLevel // ThinkingOff by default
	MaxTokens int           // of the answer; 0 means the model's own limit
	// CacheKey groups the requests of one conversation for vendors that route by such a key.
	CacheKey string
}

// A StopReason says why a model stopped writing.
type StopReason string

// The stop reasons of one answer.
const (
	StopEndTurn   StopReason = "end_turn"
	StopToolUse   StopReason = "tool_use"
	StopMaxTokens StopReason = "max_tokens"
	StopRefusal   StopReason = "refusal"
)

// A Response is a complete answer.
type Response struct {
	Message Message
	Stop    StopReason
	Usage   Usage
}

// A Delta is a piece of an answer that is being written. Exactly one of Text, Thinking, ToolName and
// Input is set; Call counts the tool calls of the answer from 0 and belongs to ToolName and Input.
// Retry is set instead when the request is being sent again: what was shown so far is void.
type Delta struct {
	Text     string
	Thinking string
	ToolName string // a tool call begins
	Input    string // a piece of a tool call's JSON
	Call     int
	Retry    *Error
}

// A Provider streams answers of one vendor's models. It is safe for concurrent use.
type Provider interface {
	// Stream sends the request and calls onDelta, from the calling goroutine, for each piece of the
	// answer; onDelta may be nil. It returns when the answer is complete, when ctx ends or when the
	// vendor fails; a failure is an [*Error]. Nothing of an incomplete answer is returned.
	Stream(ctx context.Context, req Request, onDelta func(Delta)) (Response, error)
}
