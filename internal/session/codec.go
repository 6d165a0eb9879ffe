package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/planmode-dev/planmode/plan"
)

// Version is the version of the journal that this program writes. A journal of a later one is not
// opened: what is not understood could be what forbids something.
const Version = 1

const planPrefix = "plan."

type entryJSON struct {
	Seq    uint64          `json:"seq,omitempty"`
	ID     string          `json:"id,omitempty"`
	Parent string          `json:"parent,omitempty"`
	Time   time.Time       `json:"time"`
	By     string          `json:"by"`
	Type   string          `json:"type"`
	Data   json.RawMessage `json:"data"`
}

// MarshalJSON writes the entry as one JSON object without a newline.
func (e Entry) MarshalJSON() ([]byte, error) {
	if e.Event == nil {
		return nil, errors.New("session: entry without an event")
	}
	data, err := encodeEvent(e.Event)
	if err != nil {
		return nil, err
	}
	return marshal(entryJSON{e.Seq, e.ID, e.Parent, e.Time, e.By, e.Event.event(), data})
}

func encodeEvent(ev Event) ([]byte, error) {
	if ev, ok := ev.(PlanStepped); ok {
		return marshal(ev.Event)
	}
	if ev, ok := ev.(Unknown); ok {
		return ev.Data, nil
	}
	return marshal(ev)
}

// marshal writes JSON without escaping what only HTML minds.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// UnmarshalJSON reads an entry. An event of an unknown type is [Unknown].
func (e *Entry) UnmarshalJSON(line []byte) error {
	var j entryJSON
	if err := json.Unmarshal(line, &j); err != nil {
		return fmt.Errorf("session: entry: %w", err)
	}
	if j.Type == "" || j.By == "" {
		return errors.New("session: entry without a type or an author")
	}
	ev, err := decodeEvent(j.Type, j.Data)
	if err != nil {
		return err
	}
	*e = Entry{Seq: j.Seq, ID: j.ID, Parent: j.Parent, Time: j.Time, By: j.By, Event: ev}
	return nil
}

// decoders is the table of types.
var decoders = map[string]func([]byte) (Event, error){
	"started":           decodeAs[Started],
	"queued":            decodeAs[Queued],
	"prompted":          decodeAs[Prompted],
	"told":              decodeAs[Told],
	"turn_started":      decodeAs[TurnStarted],
	"answered":          decodeAs[Answered],
	"call_refused":      decodeAs[CallRefused],
	"permission_asked":  decodeAs[PermissionAsked],
	"permission_closed": decodeAs[PermissionClosed],
	"call_allowed":      decodeAs[CallAllowed],
	"call_finished":     decodeAs[CallFinished],
	"questions_asked":   decodeAs[QuestionsAsked],
	"questions_closed":  decodeAs[QuestionsClosed],
	"todos_changed":     decodeAs[TodosChanged],
	"compacted":         decodeAs[Compacted],
	"turn_ended":        decodeAs[TurnEnded],
	"moved":             decodeAs[Moved],
	"settings_changed":  decodeAs[SettingsChanged],
	"spent":             decodeAs[Spent],
	"warned":            decodeAs[Warned],
	"delta":             decodeAs[Delta],
	"progress":          decodeAs[Progress],
	"pending":           decodeAs[Pending],
}

func decodeEvent(typ string, data []byte) (Event, error) {
	if name, ok := strings.CutPrefix(typ, planPrefix); ok {
		ev, err := plan.DecodeEvent(name, data)
		if err != nil {
			return nil, err
		}
		return PlanStepped{ev}, nil
	}
	if decode, ok := decoders[typ]; ok {
		return decode(data)
	}
	return Unknown{Type: typ, Data: bytes.Clone(data)}, nil
}

func decodeAs[E Event](data []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("session: event %q: %w", e.event(), err)
	}
	return e, nil
}
