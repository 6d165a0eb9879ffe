package planmode_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/planmode-dev/planmode"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/tool"
)

// The model may propose to plan first where the user allowed that, and only the user's own answer turns
// plan mode on.
func TestModelProposesToPlan(t *testing.T) {
	offered := func(pm *planmode.PlanMode) bool {
		return slices.ContainsFunc(pm.Tools(), func(s llm.ToolSpec) bool { return s.Name == "enter_plan_mode" })
	}
	if pm := planmode.New(planmode.Config{Registry: tool.NewRegistry(), SessionDir: t.TempDir()}); offered(pm) {
		t.Error("the tool is offered though nobody allowed it")
	}
	for _, tt := range []struct {
		answer tool.Answer
		want   planmode.Mode
	}{
		{tool.Answer{Chosen: []string{"Plan first"}}, planmode.ModePlanning},
		{tool.Answer{Chosen: []string{"Go on"}}, planmode.ModeOff},
		{tool.Answer{Other: "Plan first"}, planmode.ModeOff},
		{tool.Answer{}, planmode.ModeOff},
	} {
		pm := planmode.New(planmode.Config{
			Registry: tool.NewRegistry(), SessionDir: t.TempDir(), ModelMayEnter: true,
			Gate: tool.Config{Host: tool.Host{AskUser: func(context.Context, []tool.Question) ([]tool.Answer, error) {
				return []tool.Answer{tt.answer}, nil
			}}},
		})
		if !offered(pm) {
			t.Fatal("the tool is not offered")
		}
		d := pm.Gate().Decide(pm.State(), tool.Call{ID: "1", Tool: "enter_plan_mode", Input: json.RawMessage(`{"reason": "It is large."}`)})
		a, ok := d.(tool.Allow)
		if !ok {
			t.Fatalf("%#v", d)
		}
		if _, err := pm.Gate().Run(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
		if pm.Mode() != tt.want {
			t.Errorf("answer %+v: mode %s, want %s", tt.answer, pm.Mode(), tt.want)
		}
		if pm.Mode() == planmode.ModePlanning && offered(pm) {
			t.Error("the tool is offered while planning")
		}
	}
}
