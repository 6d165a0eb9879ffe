package planmode

import (
	"context"

	"github.com/planmode-dev/planmode/plan"
)

// Enter switches to planning mode and returns the plan file's path. While plan mode is active it
// changes nothing. A plan that was being made is taken up again, with its file; after an execution a
// new one begins. An error says that there is no plan file; plan mode is then on all the same.
func (pm *PlanMode) Enter() (string, error) {
	if err := pm.apply(plan.Enter{Stamp: pm.stamp(plan.Library)}); err != nil {
		return "", err
	}
	pm.mu.Lock()
	defer pm.mu.Unlock()
	err := pm.file.open(pm.state.Plan())
	return pm.file.path, err
}

// Exit leaves plan mode without executing anything. The plan file and its name are kept, so that
// entering again goes on with it. It does nothing if plan mode is off.
func (pm *PlanMode) Exit() {
	if pm.Mode() == ModeOff {
		return
	}
	pm.do(plan.Leave{Stamp: pm.stamp(plan.Library)})
}

// ContinueRefining goes from ready back to planning. From any other mode it changes nothing and is
// reported.
func (pm *PlanMode) ContinueRefining() { pm.do(plan.Prompt{Stamp: pm.stamp(plan.Library)}, ModeReady) }

// StartReview goes from ready to reviewing.
func (pm *PlanMode) StartReview() { pm.do(plan.StartReview{Stamp: pm.stamp(plan.Library)}) }

// ReviewDone goes from reviewing back to ready.
func (pm *PlanMode) ReviewDone() { pm.do(plan.ReviewDone{Stamp: pm.stamp("")}) }

// StartExecution approves the newest revision as it stands and begins its execution. The caller says
// with it that the user saw that text. Where the text that the user saw may be an older one, use
// [PlanMode.ByUser] with a [plan.Approve] that names its digest.
func (pm *PlanMode) StartExecution() {
	newest, _ := pm.State().Newest()
	pm.do(plan.Approve{Stamp: pm.stamp(plan.Library), Digest: newest.Digest})
}

// do folds an event for the methods that return nothing: a refused one is reported. With modes given,
// the event is for those alone.
func (pm *PlanMode) do(ev plan.Event, only ...Mode) {
	mode := pm.State().Mode()
	for _, m := range only {
		if m != modeOf(mode) {
			pm.report(&plan.TransitionError{Mode: mode, Event: plan.EventName(ev)})
			return
		}
	}
	if err := pm.apply(ev); err != nil {
		pm.report(err)
	}
}

// OnPlanSubmitted says whether a plan was submitted since the last call, and forgets it.
func (pm *PlanMode) OnPlanSubmitted() bool {
	pm.mu.Lock()
	defer pm.mu.Unlock()
	was := pm.submitted
	pm.submitted = false
	return was
}

// submit takes a plan in for the model: the text, or the plan file's.
func (pm *PlanMode) submit(_ context.Context, text string) (plan.Revision, error) {
	if text == "" {
		pm.mu.Lock()
		t, err := pm.file.read()
		pm.mu.Unlock()
		if err != nil {
			return plan.Revision{}, err
		}
		text = t
	}
	if err := pm.apply(plan.Submit{Stamp: pm.stamp(""), Text: text, Sandbox: pm.sandbox()}); err != nil {
		return plan.Revision{}, err
	}
	r, _ := pm.State().Newest()
	return r, nil
}

// FilterToolCall says whether the mode lets the call through, and if not why. Off and executing let
// everything through; whether the user wants to be asked is not its question. An agent that runs its
// tools through the gate does not need it.
func (pm *PlanMode) FilterToolCall(toolName string, args map[string]any) (allowed bool, reason string) {
	st := pm.State()
	if !st.ReadOnly() {
		return true, ""
	}
	return pm.filter(st, toolName, args)
}

func (pm *PlanMode) sandbox() string {
	if pm.cfg.Sandbox == nil {
		return ""
	}
	return pm.cfg.Sandbox()
}
