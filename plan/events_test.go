package plan

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// all is one of each event, with every field set.
var all = []struct {
	event  Event
	name   string
	author string
	json   string
}{
	{Start{at, Off, Planning}, "start", "user", `{"at":"2026-01-02T03:04:05Z","surface":"tui","mode":"off","after_done":"planning"}`},
	{Enter{at}, "enter", "user", `{"at":"2026-01-02T03:04:05Z","surface":"tui"}`},
	{Prompt{at}, "prompt", "user", `{"at":"2026-01-02T03:04:05Z","surface":"tui"}`},
	{Reject{at, "no"}, "reject", "user", `{"at":"2026-01-02T03:04:05Z","surface":"tui","feedback":"no"}`},
	{Edit{at, "t"}, "edit", "user", `{"at":"2026-01-02T03:04:05Z","surface":"tui","text":"t"}`},
	{StartReview{at}, "start_review", "user", `{"at":"2026-01-02T03:04:05Z","surface":"tui"}`},
	{CancelReview{at}, "cancel_review", "user", `{"at":"2026-01-02T03:04:05Z","surface":"tui"}`},
	{Approve{at, "sha256:00", Fresh, "n"}, "approve", "user", `{"at":"2026-01-02T03:04:05Z","surface":"tui","digest":"sha256:00","how":"fresh","note":"n"}`},
	{Leave{at}, "leave", "user", `{"at":"2026-01-02T03:04:05Z","surface":"tui"}`},
	{Submit{Stamp: Stamp{At: at.At}, Text: "t"}, "submit", "model", `{"at":"2026-01-02T03:04:05Z","text":"t"}`},
	{ReviewDone{Stamp{At: at.At}, true, "f"}, "review_done", "host", `{"at":"2026-01-02T03:04:05Z","approved":true,"feedback":"f"}`},
	{Restarted{Stamp{At: at.At}}, "restarted", "host", `{"at":"2026-01-02T03:04:05Z"}`},
	{AllStepsDone{Stamp{At: at.At}}, "all_steps_done", "host", `{"at":"2026-01-02T03:04:05Z"}`},
}

// The journal's form is fixed: a session of today is read by tomorrow's program.
func TestEventJSON(t *testing.T) {
	for _, tt := range all {
		data, err := json.Marshal(tt.event)
		if err != nil || string(data) != tt.json {
			t.Errorf("%s: %s, %v, want %s", tt.name, data, err, tt.json)
		}
		if EventName(tt.event) != tt.name || EventAuthor(tt.event) != tt.author || !EventStamp(tt.event).At.Equal(at.At) {
			t.Errorf("%s: name %s, author %s, stamp %v", tt.name, EventName(tt.event), EventAuthor(tt.event), EventStamp(tt.event))
		}
		back, err := DecodeEvent(tt.name, data)
		if err != nil || !reflect.DeepEqual(back, tt.event) {
			t.Errorf("%s: back as %+v, %v", tt.name, back, err)
		}
	}
}

func TestDecodeEventRefuses(t *testing.T) {
	for _, tt := range []struct{ name, data, want string }{
		{"execute", `{}`, `unknown event "execute"`},
		{"", `{}`, `unknown event ""`},
		{"Approve", `{}`, `unknown event "Approve"`},
		{"approve", ``, "unexpected end"},
		{"approve", `{"digest":7}`, "cannot unmarshal"},
		{"approve", `[]`, "cannot unmarshal"},
		{"start", `{"mode":"godmode"}`, `unknown mode "godmode"`},
		{"start", `{"mode":4}`, "cannot unmarshal"},
		{"start", `{"mode":"off"} x`, "invalid character"},
	} {
		if ev, err := DecodeEvent(tt.name, []byte(tt.data)); err == nil || ev != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v, %v, want %q", tt.name, tt.data, ev, err, tt.want)
		}
	}
	// What is not said is the most restricted.
	for _, data := range []string{`{}`, `null`, `{"mode":null}`} {
		ev, err := DecodeEvent("start", []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		if s, _, err := Step(State{}, ev); err != nil || s.Mode() != Planning {
			t.Errorf("start %s: %s, %v", data, s.Mode(), err)
		}
	}
}

func TestModes(t *testing.T) {
	if got := Modes(); len(got) != 5 || got[0] != Off || got[4] != Executing {
		t.Errorf("modes %v", got)
	}
	readOnly := []Mode{Planning, Ready, Reviewing, 5, 99, 255} // an impossible one is no way out
	for m := range 256 {
		mode := Mode(m)
		if want := slices.Contains(readOnly, mode) || m > 4; mode.ReadOnly() != want {
			t.Errorf("%d is read-only: %v", m, mode.ReadOnly())
		}
		text, err := mode.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Mode
		if err := back.UnmarshalText(text); err != nil || m <= 4 && back != mode || m > 4 && back != Planning {
			t.Errorf("%d became %s became %d, %v", m, text, back, err)
		}
	}
	for _, bad := range []string{"", "Off", "off ", "on", "executing\n"} {
		m := Executing
		if err := m.UnmarshalText([]byte(bad)); err == nil || m != Planning {
			t.Errorf("%q: %s, %v", bad, m, err)
		}
		if m, err := ParseMode(bad); err == nil || m != Planning {
			t.Errorf("%q: %s, %v", bad, m, err)
		}
	}
}

func FuzzDecodeEvent(f *testing.F) {
	for _, tt := range all {
		f.Add(tt.name, []byte(tt.json))
	}
	f.Add("start", []byte(`{"mode":"x"}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		ev, err := DecodeEvent(name, data)
		if err != nil {
			return
		}
		if EventName(ev) != name {
			t.Fatalf("%q became %q", name, EventName(ev))
		}
		again, err := json.Marshal(ev)
		if err != nil {
			t.Skip("a time beyond what JSON can say: ", err)
		}
		if back, err := DecodeEvent(name, again); err != nil || EventName(back) != name {
			t.Fatalf("%s: %v", again, err)
		}
		if s, _, err := Step(State{}, ev); err == nil && !s.ReadOnly() && name != "start" && name != "leave" {
			t.Fatalf("%s %s opened a new session", name, data)
		}
	})
}
