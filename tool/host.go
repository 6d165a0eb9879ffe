package tool

import (
	"context"
	"errors"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
)

// A Host is what a session lends to its tools. A function that is nil is a service that the session
// does not have; asking for it is an error.
type Host struct {
	// SubmitPlan takes a plan in. An empty text means the text of the plan file.
	SubmitPlan func(ctx context.Context, text string) (plan.Revision, error)
	// WriteTodos replaces the todo list.
	WriteTodos func(ctx context.Context, items []tasks.Item) (tasks.List, error)
	// AskUser returns one answer for each question, or an error if the user cannot be asked. It
	// waits as long as it takes.
	AskUser func(ctx context.Context, questions []Question) ([]Answer, error)
	// Spawn runs a sub-agent to its end and returns its answer.
	Spawn func(ctx context.Context, a Assignment) (string, error)
}

// A Question is one question to the user.
type Question struct {
	Header  string   `json:"header,omitempty"` // a word or two
	Text    string   `json:"text"`
	Options []Option `json:"options,omitempty"` // 2 to 4; the user may always write something else
	// Several lets the user choose more than one option.
	Several bool `json:"several,omitempty"`
}

// An Option is one proposed answer.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// An Answer is the user's answer to one question: the labels of the chosen options, in their order,
// and what the user wrote instead or besides.
type Answer struct {
	Chosen []string `json:"chosen,omitempty"`
	Other  string   `json:"other,omitempty"`
}

// An Assignment is the work of a sub-agent.
type Assignment struct {
	Title  string `json:"title,omitempty"`
	Prompt string `json:"prompt"`
}

// ErrNoUser: the user would have to be asked, and nobody is there.
var ErrNoUser = errors.New("nobody can be asked: the session runs without a user")

var errNoService = errors.New("this session does not offer that")
