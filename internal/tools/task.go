package tools

import (
	"context"
	"io"
	"strings"

	"github.com/planmode-dev/planmode/tool"
)

type taskInput struct {
	Title  string `json:"title,omitempty" jsonschema:"a few words for the user to see"`
	Prompt string `json:"prompt" jsonschema:"the whole assignment: the sub-agent sees nothing else of this conversation"`
}

// Limits of an assignment, in characters.
const (
	maxTaskTitle  = 100
	maxTaskPrompt = 50_000
)

// Task returns the tool that lets a sub-agent work and brings its answer.
func Task() tool.Tool {
	return tool.New(tool.Spec{
		Name: "task",
		Set:  Set,
		Description: "Give a sub-agent an assignment and wait for its answer, such as a search whose intermediate results are of " +
			"no interest. It has the same limits as you: in plan mode it can change nothing, and it can submit no plan.",
		Kinds: []tool.Effect{tool.Spawn{}},
	}, func(taskInput) tool.Access {
		return tool.Access{tool.Spawn{}}
	}, func(ctx context.Context, g *tool.Grant, in taskInput) (tool.Result, error) {
		a := tool.Assignment{Title: oneLine(in.Title), Prompt: strings.TrimSpace(in.Prompt)}
		if err := short("title", a.Title, 0, maxTaskTitle); err != nil {
			return tool.Result{}, err
		}
		if err := short("prompt", a.Prompt, 1, maxTaskPrompt); err != nil {
			return tool.Result{}, err
		}
		answer, err := g.Spawn(ctx, a)
		if err != nil {
			return tool.Result{}, err
		}
		out := &capture{live: io.Discard, keep: func() (namedWriter, error) { return g.Keep(".md") }}
		if _, err := out.Write([]byte(answer)); err != nil {
			return tool.Result{}, err
		}
		text := out.text(out.close())
		if strings.TrimSpace(text) == "" {
			text = "[the sub-agent ended without an answer]"
		}
		return tool.Result{Text: text}, nil
	})
}
