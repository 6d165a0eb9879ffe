package planmode

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/planmode-dev/planmode/plan"
)

// State holds the full plan mode state, as session metadata keeps it.
type State struct {
	Mode          Mode   `json:"mode"`
	PlanFilePath  string `json:"plan_file"`
	SessionSlug   string `json:"session_slug"`
	ReviewRounds  int    `json:"review_rounds"`
	PlanSubmitted bool   `json:"plan_submitted"`
}

// metadataKey is where the state stands in a session's metadata.
const metadataKey = "planmode"

// RestoreFromMetadata reads the state from a session's metadata. It is a default State (ModeOff) if
// the metadata holds none, or none that can be read. A mode that is not known, as a later version may
// have stored it, is ModePlanning: never weaker than what it was.
func RestoreFromMetadata(meta map[string]any) State {
	s, ok := decodeMetadata[State](meta)
	if !ok {
		return State{Mode: ModeOff}
	}
	switch s.Mode {
	case ModeOff, ModePlanning, ModeReady, ModeReviewing, ModeExecuting:
	case "":
		s.Mode = ModeOff
	default:
		s.Mode = ModePlanning
	}
	return s
}

// SaveToMetadata returns the state for a session's metadata.
func (s *State) SaveToMetadata() map[string]any {
	return encodeMetadata(*s)
}

// saved is what [PlanMode.SaveState] keeps: the state, and the events that made it, with every
// revision of every plan.
type saved struct {
	State
	Events []savedEvent `json:"events,omitempty"`
}

type savedEvent struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

func encodeMetadata(v any) map[string]any {
	m := map[string]any{}
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil { // only plain values go in
		return map[string]any{}
	}
	return map[string]any{metadataKey: m}
}

func decodeMetadata[T any](meta map[string]any) (T, bool) {
	var v T
	raw, ok := meta[metadataKey]
	if !ok {
		return v, false
	}
	data, err := json.Marshal(raw)
	if err != nil || json.Unmarshal(data, &v) != nil {
		var zero T
		return zero, false
	}
	return v, true
}

// SaveState returns the state for session metadata. It holds no order to do anything: restoring it
// brings back the mode, the plans and the plan file's name.
func (pm *PlanMode) SaveState() map[string]any {
	pm.mu.Lock()
	defer pm.mu.Unlock()
	s := saved{State: State{
		Mode: modeOf(pm.state.Mode()), PlanFilePath: pm.file.path, SessionSlug: pm.file.slug,
		ReviewRounds: pm.state.Rounds(), PlanSubmitted: pm.submitted,
	}}
	for _, ev := range pm.history {
		data, err := json.Marshal(ev)
		if err != nil { // events are plain values
			continue
		}
		s.Events = append(s.Events, savedEvent{Type: plan.EventName(ev), Data: data})
	}
	return encodeMetadata(s)
}

// RestoreState loads what [PlanMode.SaveState] returned, or the State alone as
// [State.SaveToMetadata] returned it. It records nothing and calls nobody back. Call
// [PlanMode.ApplyRestoredState] afterwards.
func (pm *PlanMode) RestoreState(meta map[string]any) {
	s, ok := decodeMetadata[saved](meta)
	if !ok || len(s.Events) == 0 {
		pm.Restore(RestoreFromMetadata(meta))
		return
	}
	var events []plan.Event
	for i, se := range s.Events {
		ev, err := plan.DecodeEvent(se.Type, se.Data)
		if err != nil {
			// What follows an event that is not understood may rest on it. Nothing of it may loosen.
			pm.report(fmt.Errorf("planmode: stored event %d: %w; the session goes on planning", i, err))
			events = append(events, plan.Enter{})
			break
		}
		events = append(events, ev)
	}
	if m, err := plan.ParseMode(string(s.Mode)); s.Mode != "" && (err != nil || m.ReadOnly()) {
		// Whatever became of the events, a session that was in plan mode is in it.
		events = append(events, plan.Enter{})
	}
	pm.replace(events, s.State)
}

// Restore replaces the plan mode state by the one given, without recording or calling anybody back.
// The State has no plan texts: the plan file's text counts as the submitted revision, and for
// ModeExecuting as the approved one. Where it cannot be read, or is no plan, the session goes on
// planning and that is reported. ModeReviewing becomes ModeReady: no review is running.
func (pm *PlanMode) Restore(state State) {
	stamp := pm.stamp(plan.Library)
	if state.Mode == ModeOff || state.Mode == "" {
		pm.replace([]plan.Event{plan.Start{Stamp: stamp, Mode: plan.Off, AfterDone: plan.Off}}, state)
		return
	}
	events := []plan.Event{plan.Start{Stamp: stamp, Mode: plan.Planning, AfterDone: plan.Off}}
	if state.Mode == ModePlanning {
		pm.replace(events, state)
		return
	}
	file := planFile{dir: pm.file.dir, path: pm.ownFile(state.PlanFilePath)}
	text, err := file.read()
	if err == nil {
		err = plan.Check(text)
	}
	switch {
	case err != nil:
		pm.report(fmt.Errorf("planmode: the stored mode is %q, but its plan cannot be had; the session goes on planning: %w", state.Mode, err))
	case state.Mode == ModeReady, state.Mode == ModeReviewing:
		events = append(events, plan.Submit{Stamp: stamp, Text: text})
		for range min(max(state.ReviewRounds, 0), maxRounds) {
			events = append(events, plan.StartReview{Stamp: stamp}, plan.Restarted{Stamp: stamp})
		}
	case state.Mode == ModeExecuting:
		events = append(events, plan.Submit{Stamp: stamp, Text: text},
			plan.Approve{Stamp: stamp, Digest: plan.DigestOf(text)})
	default:
		pm.report(fmt.Errorf("planmode: the stored mode %q is not known; the session goes on planning", state.Mode))
	}
	pm.replace(events, state)
}

// maxRounds bounds what a stored number can make of a restored session.
const maxRounds = 1000

// ownFile returns the path if it can be a plan file of this folder, else "".
func (pm *PlanMode) ownFile(path string) string {
	if filepath.Dir(path) != filepath.Clean(pm.file.dir) || !strings.HasSuffix(path, ".md") {
		return ""
	}
	return path
}

// replace makes the events the session's whole past.
func (pm *PlanMode) replace(events []plan.Event, s State) {
	pm.step.Lock()
	defer pm.step.Unlock()
	pm.refold(events)
	pm.mu.Lock()
	defer pm.mu.Unlock()
	pm.submitted = s.PlanSubmitted
	pm.file.path, pm.file.slug, pm.file.plan = pm.ownFile(s.PlanFilePath), "", pm.state.Plan()
	if pm.file.path != "" && s.SessionSlug == filepath.Base(s.SessionSlug) {
		pm.file.slug = s.SessionSlug
	}
}

// refold folds the events from the beginning. Every permission of the old state is revoked.
func (pm *PlanMode) refold(events []plan.Event) {
	var st plan.State
	var history []plan.Event
	for _, ev := range events {
		next, _, err := plan.Step(st, ev)
		if err != nil {
			pm.report(fmt.Errorf("planmode: stored event skipped: %w", err))
			continue
		}
		st, history = next, append(history, ev)
	}
	pm.mu.Lock()
	defer pm.mu.Unlock()
	pm.state, pm.history = st, history
	if pm.gate != nil {
		pm.gate.Revoke()
		pm.gate.Observe(st)
	}
}

// ApplyRestoredState makes the session's surroundings follow a restored state: a review that was
// running is over, and the plan file is there. Doing it twice is the same as once. The tool list
// needs nothing: it is a view of the registry as it is.
func (pm *PlanMode) ApplyRestoredState() {
	if pm.Mode() == ModeReviewing {
		if err := pm.apply(plan.Restarted{Stamp: pm.stamp("")}); err != nil {
			pm.report(err)
		}
	}
	pm.mu.Lock()
	err := pm.file.follow(pm.state)
	pm.mu.Unlock()
	if err != nil && !errors.Is(err, errNoPlanFile) {
		pm.report(err)
	}
}

// Refold makes the events the session's whole past, without recording or calling anybody back. It is
// for a host whose user went to another branch of the session; every permission is revoked.
func (pm *PlanMode) Refold(history []plan.Event) {
	pm.step.Lock()
	defer pm.step.Unlock()
	pm.refold(history)
	pm.mu.Lock()
	err := pm.file.follow(pm.state)
	pm.mu.Unlock()
	pm.report(err)
}
