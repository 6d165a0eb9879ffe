package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

type todoInput struct {
	Todos json.RawMessage `json:"todos"`
}

// todoSchema is what a model is told. What it sends is held against todoCheck alone, and then by
// package tasks, whose codes say which rule was broken.
const (
	todoSchema = `{"type":"object","properties":{"todos":{"type":"array","maxItems":40,
"description":"the complete list in order; it replaces the present one, and [] clears it",
"items":{"type":"object","properties":{
"id":{"type":"string","description":"id of an item that is in the list already; left out, one is made"},
"content":{"type":"string","maxLength":500,"description":"one line that says what is to be done"},
"status":{"type":"string","enum":["pending","in_progress","completed"],"description":"pending by default; at most one item may be in_progress"}},
"required":["content"],"additionalProperties":false}}},
"required":["todos"],"additionalProperties":false}`
	todoCheck = `{"type":"object","properties":{"todos":{}},"additionalProperties":false}`
)

// TodoWrite returns the tool that replaces the todo list. A write is taken whole or refused whole, with
// the code of package tasks; the answer is the whole list as it is then.
func TodoWrite() tool.Tool {
	return tool.New(tool.Spec{
		Name: "todo_write",
		Set:  Set,
		Description: "Replace the todo list of this session: always send every item, those that are done too. At most 40 items, " +
			"one of them in_progress. Allowed in plan mode. The answer is the list as it is now.",
		Schema: json.RawMessage(todoSchema),
		Check:  json.RawMessage(todoCheck),
		Kinds:  []tool.Effect{tool.WriteTodos{}},
	}, func(todoInput) tool.Access {
		return tool.Access{tool.WriteTodos{}}
	}, writeTodos)
}

func writeTodos(ctx context.Context, g *tool.Grant, in todoInput) (tool.Result, error) {
	items, err := tasks.ParseItems(unquoted(in.Todos))
	if err != nil {
		return todoError(err)
	}
	list, err := g.WriteTodos(ctx, items)
	if err != nil {
		return todoError(err)
	}
	echo := list.JSON()
	return tool.Result{Text: string(echo), Details: echo}, nil
}

// unquoted unpacks a list that a model sent as a string of JSON.
func unquoted(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(text), &list) != nil {
		return raw
	}
	return json.RawMessage(text)
}

func todoError(err error) (tool.Result, error) {
	var broken *tasks.Error
	if !errors.As(err, &broken) {
		return tool.Result{}, fmt.Errorf("the list is unchanged: %w", err)
	}
	return rejection{
		Code: string(broken.Code), Field: broken.Field, Message: broken.Message, Hint: "the list is unchanged; correct it and send all of it again",
	}.result(), nil
}
