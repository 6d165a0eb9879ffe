// Package tasks is the todo list of one session: a [Store] that is written as a whole list and
// mirrored to a file.
//
// The model sees what it wrote: a write is taken whole or refused whole with an [*Error] that says
// which rule it broke, nothing is ever cut, and the echo ([List.JSON]) has a bound, [MaxJSON], that
// holds in every script. The package knows nothing of sessions and screens. It does not promise that
// two stores on one file see each other: a session has one.
package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a list.
const (
	MaxItems   = 40
	MaxContent = 500 // characters (Unicode code points) of one item's content
	MaxID      = 64  // bytes of one item's id
	MaxPlan    = 128 // bytes of the plan's id

	// MaxJSON bounds what [List.JSON] returns, in bytes: 87,256. A character takes at most four bytes in UTF-8,
	// and every character that JSON would spell longer is refused or folded; a byte of an id may need
	// a backslash. Each item adds 44 bytes of names, marks and status, the list 120 around them.
	MaxJSON = MaxItems*(4*MaxContent+2*MaxID+44) + 2*MaxPlan + 120
)

// A Status says how far an item is.
type Status string

// The statuses. At most one item of a list is InProgress: that makes it the present focus.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
)

// Statuses lists every status in the order of an item's life.
func Statuses() []Status { return []Status{Pending, InProgress, Completed} }

// An Item is one todo. Content is one line of at most [MaxContent] characters.
type Item struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  Status `json:"status"`
}

// Counts says how many items a list has of each status.
type Counts struct {
	Pending    int `json:"pending"`
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Total      int `json:"total"`
}

// A List is a snapshot of a [Store]; the holder owns it.
type List struct {
	Plan   string `json:"plan,omitempty"`   // id of the plan that the items belong to; "" for none
	Closed bool   `json:"closed,omitempty"` // the plan was cancelled; see [Store.Cancel]
	Items  []Item `json:"todos"`
	Counts Counts `json:"counts"`
}

// JSON returns the list as {"todos":[…],"counts":{…}}, with "plan" and "closed" where they are set.
// Every character outside ASCII stands as itself, so that the result is at most [MaxJSON] bytes for
// any list that a [Store] holds. No items are an empty array.
func (l List) JSON() []byte {
	if l.Items == nil {
		l.Items = []Item{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		panic(fmt.Sprintf("tasks: a list of strings and numbers did not encode: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Current returns the item in progress or, where there is none, the first that is pending.
func (l List) Current() (Item, bool) {
	for _, want := range []Status{InProgress, Pending} {
		for _, it := range l.Items {
			if it.Status == want {
				return it, true
			}
		}
	}
	return Item{}, false
}

func count(items []Item) Counts {
	c := Counts{Total: len(items)}
	for _, it := range items {
		switch it.Status {
		case Pending:
			c.Pending++
		case InProgress:
			c.InProgress++
		case Completed:
			c.Completed++
		}
	}
	return c
}

// A Code names the rule that a refused write broke. Codes are stable: models and screens see them.
type Code string

// The codes.
const (
	TooMany            Code = "too_many_todos"
	MultipleInProgress Code = "multiple_in_progress"
	InvalidStatus      Code = "invalid_status"
	InvalidArgs        Code = "invalid_args"
	MissingField       Code = "missing_required_field"
	ContentTooLong     Code = "content_too_long"
	UnknownTodo        Code = "unknown_todo"
)

// An Error says why a write was refused. The list is then what it was.
type Error struct {
	Code    Code   `json:"error_code"`
	Field   string `json:"field"` // such as "todos" or "todos[3].status"
	Message string `json:"message"`
}

// Error returns the field and the message.
func (e *Error) Error() string { return "tasks: " + e.Field + ": " + e.Message }

func refuse(code Code, field, format string, args ...any) error {
	return &Error{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// validate returns the items in their stored form: trimmed, with a status and an id each. It reports
// the first broken rule in the order of the list; the rules on the whole list come first and last.
func validate(items []Item, newID func() string) ([]Item, error) {
	if len(items) > MaxItems {
		return nil, refuse(TooMany, "todos", "%d items; the limit is %d: merge some, or finish these first", len(items), MaxItems)
	}
	out := make([]Item, len(items))
	for i, it := range items {
		var err error
		if out[i], err = clean(it, fmt.Sprintf("todos[%d]", i)); err != nil {
			return nil, err
		}
	}
	if n := count(out).InProgress; n > 1 {
		return nil, refuse(MultipleInProgress, "todos", "%d items are in_progress; at most one may be", n)
	}
	assignIDs(out, newID)
	return out, nil
}

func clean(it Item, field string) (Item, error) {
	var err error
	if it.Content, err = cleanContent(it.Content, field+".content"); err != nil {
		return Item{}, err
	}
	if it.Status, err = cleanStatus(it.Status, field+".status"); err != nil {
		return Item{}, err
	}
	it.ID = strings.TrimSpace(it.ID)
	if err := checkWord(it.ID, field+".id", MaxID); err != nil {
		return Item{}, err
	}
	return it, nil
}

// cleanContent folds white space, line ends included, to single spaces: an item is one line.
func cleanContent(s, field string) (string, error) {
	if !utf8.ValidString(s) {
		return "", refuse(InvalidArgs, field, "the text is not valid UTF-8")
	}
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "", refuse(InvalidArgs, field, "the item has no content")
	}
	if r, bad := unprintable(s); bad {
		return "", refuse(InvalidArgs, field, "the text holds %U, which cannot be shown as it is", r)
	}
	if n := utf8.RuneCountInString(s); n > MaxContent {
		return "", refuse(ContentTooLong, field, "%d characters; the limit is %d: shorten it, nothing is cut for you", n, MaxContent)
	}
	return s, nil
}

func cleanStatus(st Status, field string) (Status, error) {
	switch st = Status(strings.ToLower(strings.TrimSpace(string(st)))); st {
	case "":
		return Pending, nil
	case Pending, InProgress, Completed:
		return st, nil
	}
	return "", refuse(InvalidStatus, field, "%.40q is none of pending, in_progress, completed", string(st))
}

// checkWord holds an id to what can be shown and typed. "" passes.
func checkWord(s, field string, limit int) error {
	if len(s) > limit {
		return refuse(InvalidArgs, field, "%d bytes; the limit is %d", len(s), limit)
	}
	if !utf8.ValidString(s) {
		return refuse(InvalidArgs, field, "the text is not valid UTF-8")
	}
	if r, bad := unprintable(s); bad {
		return refuse(InvalidArgs, field, "the text holds %U, which cannot be shown as it is", r)
	}
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return refuse(InvalidArgs, field, "the text holds white space at byte %d", i)
	}
	return nil
}

// unprintable finds a character that would make what a person sees differ from the text.
func unprintable(s string) (rune, bool) {
	for _, r := range s {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return r, true
		}
	}
	return 0, false
}

// assignIDs gives an id to each item without one, and a fresh one to the later of two with the same.
// A fresh id is none that the caller gave, wherever in the list that stands.
func assignIDs(items []Item, newID func() string) {
	given := make(map[string]bool, len(items))
	for _, it := range items {
		given[it.ID] = true
	}
	used := make(map[string]bool, len(items))
	for i := range items {
		if id := items[i].ID; id == "" || used[id] {
			items[i].ID = freshID(newID, given, i)
		}
		used[items[i].ID] = true
		given[items[i].ID] = true
	}
}

// freshID asks the source a few times. A source that only repeats itself or gives what no id may be
// is passed over for a count.
func freshID(newID func() string, taken map[string]bool, i int) string {
	for range 4 {
		if id := newID(); id != "" && !taken[id] && checkWord(id, "", MaxID) == nil {
			return id
		}
	}
	for n := i + 1; ; n++ {
		if id := fmt.Sprintf("t%d", n); !taken[id] {
			return id
		}
	}
}
