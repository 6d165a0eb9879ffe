package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ParseItems reads the todos as a model writes them: a JSON array whose elements are objects with
// content, and maybe id and status, or strings, which are the content alone. "title" is taken where
// there is no content, and an id may be a number. No value and null are [MissingField]; an empty array is an
// empty list. The items still have to pass [Store.Replace].
func ParseItems(raw []byte) ([]Item, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, refuse(MissingField, "todos", "the complete list is required; [] clears it")
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, refuse(InvalidArgs, "todos", "not an array: %v", err)
	}
	items := make([]Item, 0, len(rows))
	for i, row := range rows {
		it, err := parseItem(row, fmt.Sprintf("todos[%d]", i))
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

func parseItem(row json.RawMessage, field string) (Item, error) {
	var text string
	if json.Unmarshal(row, &text) == nil && string(row) != "null" {
		return Item{Content: text}, nil
	}
	var in struct {
		ID      any     `json:"id"`
		Content string  `json:"content"`
		Title   string  `json:"title"`
		Status  *string `json:"status"`
	}
	dec := json.NewDecoder(bytes.NewReader(row))
	dec.UseNumber()
	if err := dec.Decode(&in); err != nil || string(row) == "null" {
		return Item{}, refuse(InvalidArgs, field, "neither an object with id, content and status nor a string")
	}
	it := Item{Content: in.Content}
	if it.Content == "" {
		it.Content = in.Title
	}
	if in.Status != nil {
		it.Status = Status(*in.Status)
	}
	switch id := in.ID.(type) {
	case nil:
	case string:
		it.ID = id
	case json.Number:
		it.ID = id.String()
	default:
		return Item{}, refuse(InvalidArgs, field+".id", "neither a string nor a number")
	}
	return it, nil
}
