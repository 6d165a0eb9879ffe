package planmode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode"
)

// Every mode is saved and restored, twice over, through JSON as a session's metadata goes.
func TestSaveAndRestore(t *testing.T) {
	for _, mode := range modes {
		r := newRig(t).in(mode)
		data, err := json.Marshal(r.SaveState())
		if err != nil {
			t.Fatal(err)
		}
		var meta map[string]any
		if err := json.Unmarshal(data, &meta); err != nil {
			t.Fatal(err)
		}
		if st := planmode.RestoreFromMetadata(meta); st.Mode != mode || st.PlanFilePath != r.PlanFilePath() {
			t.Errorf("%s: %+v", mode, st)
		}
		other := newRig(t, func(c *planmode.Config) { c.SessionDir = r.dir })
		want := mode
		if mode == planmode.ModeReviewing {
			want = planmode.ModeReady // no review is running in the new program
		}
		for range 2 {
			other.RestoreState(meta)
			other.ApplyRestoredState()
			other.ApplyRestoredState()
			if other.Mode() != want || other.PlanFilePath() != r.PlanFilePath() || len(other.reports) > 0 {
				t.Errorf("%s: restored to %s, %q, %v", mode, other.Mode(), other.PlanFilePath(), other.reports)
			}
		}
		if ok, _ := other.FilterToolCall("write", map[string]any{"path": "a", "content": "b"}); ok != (mode == "off" || mode == "executing") {
			t.Errorf("%s: a write is allowed: %v", mode, ok)
		}
		a, _ := r.State().Newest()
		b, _ := other.State().Newest()
		if a.Digest != b.Digest || a.Text != b.Text {
			t.Errorf("%s: the plan became %q", mode, b.Text)
		}
		switch changes := other.changes; {
		case mode == planmode.ModeReviewing: // Restarted is a transition
		case len(changes) > 0:
			t.Errorf("%s: restoring called back: %v", mode, changes)
		}
		other.Exit()
		if got := len(names(other.PlanMode)); got != len(names(newRig(t).PlanMode)) {
			t.Errorf("%s: %d tools after leaving a restored session", mode, got)
		}
	}
}

// A session restored to off inherits nothing of the one before.
func TestRestoreReplaces(t *testing.T) {
	r := newRig(t).in(planmode.ModePlanning)
	r.RestoreState(nil)
	r.ApplyRestoredState()
	if r.Mode() != planmode.ModeOff || r.PlanFilePath() != "" || len(r.changes) > 0 {
		t.Errorf("mode %s, file %q, changes %v", r.Mode(), r.PlanFilePath(), r.changes)
	}
	if ok, _ := r.FilterToolCall("write", map[string]any{"path": "a", "content": "b"}); !ok {
		t.Error("a write is refused")
	}
}

// Metadata that holds nothing is off; what holds something that is not understood is never weaker than
// what it may have been.
func TestStrangeMetadata(t *testing.T) {
	for _, tt := range []struct {
		meta string
		want planmode.Mode
	}{
		{`null`, "off"},
		{`{}`, "off"},
		{`{"other":{"mode":"planning"}}`, "off"},
		{`{"planmode":null}`, "off"},
		{`{"planmode":"planning"}`, "off"},
		{`{"planmode":{"mode":7}}`, "off"},
		{`{"planmode":{}}`, "off"},
		{`{"planmode":{"mode":""}}`, "off"},
		{`{"planmode":{"mode":"planning"}}`, "planning"},
		{`{"planmode":{"mode":"bogus"}}`, "planning"},
		{`{"planmode":{"mode":"executing","plan_file":"/etc/passwd"}}`, "planning"},
		{`{"planmode":{"mode":"ready"}}`, "planning"},
		{`{"planmode":{"mode":"off","events":[{"type":"start","data":{"mode":"off","after_done":"off"}},{"type":"later_event","data":{}}]}}`, "planning"},
		{`{"planmode":{"mode":"planning","events":[{"type":"start","data":{"mode":"off","after_done":"off"}}]}}`, "planning"},
		{`{"planmode":{"mode":"executing","events":[{"type":"approve","data":{"digest":"x"}}]}}`, "planning"},
	} {
		var meta map[string]any
		if err := json.Unmarshal([]byte(tt.meta), &meta); err != nil {
			t.Fatal(err)
		}
		r := newRig(t)
		r.RestoreState(meta)
		r.ApplyRestoredState()
		if r.Mode() != tt.want {
			t.Errorf("%s: %s, want %s", tt.meta, r.Mode(), tt.want)
		}
	}
}

// The State alone, without events, as another program may have stored it.
func TestRestoreState(t *testing.T) {
	for _, tt := range []struct {
		state planmode.State
		text  string // of the plan file; "" is none
		want  planmode.Mode
	}{
		{planmode.State{Mode: "off"}, planText, "off"},
		{planmode.State{Mode: "planning"}, "", "planning"},
		{planmode.State{Mode: "ready", ReviewRounds: 3}, planText, "ready"},
		{planmode.State{Mode: "reviewing"}, planText, "ready"},
		{planmode.State{Mode: "executing"}, planText, "executing"},
		{planmode.State{Mode: "executing"}, "no step at all", "planning"},
		{planmode.State{Mode: "executing"}, "", "planning"},
		{planmode.State{Mode: "bogus"}, planText, "planning"},
	} {
		r := newRig(t)
		path := filepath.Join(r.dir, "plans", "quiet-pine-maps.md")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if tt.text != "" {
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		tt.state.PlanFilePath, tt.state.SessionSlug = path, "quiet-pine-maps"
		r.Restore(tt.state)
		r.ApplyRestoredState()
		if r.Mode() != tt.want || len(r.changes) > 0 {
			t.Errorf("%+v with %q: %s, want %s; changes %v", tt.state, tt.text, r.Mode(), tt.want, r.changes)
		}
		if tt.state.ReviewRounds > 0 && r.State().Rounds() != tt.state.ReviewRounds {
			t.Errorf("%d rounds", r.State().Rounds())
		}
		if lost := tt.want == "planning" && tt.state.Mode != "planning"; lost != (len(r.reports) > 0) {
			t.Errorf("%+v with %q: reports %v", tt.state, tt.text, r.reports)
		}
		if got := r.PlanFilePath(); !strings.HasPrefix(got, filepath.Dir(path)) && got != "" {
			t.Errorf("plan file %q", got)
		}
	}
}
