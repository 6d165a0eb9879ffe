package planmode_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/planmode-dev/planmode"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

// The published API, name by name, as the agents that adopt it know it. What a line says does not compile
// any more when a signature changes.
var (
	_ func(string) string                                                                                            = planmode.ExecutionPrompt
	_ func(string) bool                                                                                              = planmode.IsSafeCommand
	_ func(string) string                                                                                            = planmode.PlanningPrompt
	_ func(planmode.Config) *planmode.PlanMode                                                                       = planmode.New
	_ func(*planmode.PlanMode)                                                                                       = (*planmode.PlanMode).ApplyRestoredState
	_ func(*planmode.PlanMode)                                                                                       = (*planmode.PlanMode).ContinueRefining
	_ func(*planmode.PlanMode) (string, error)                                                                       = (*planmode.PlanMode).Enter
	_ func(*planmode.PlanMode)                                                                                       = (*planmode.PlanMode).Exit
	_ func(*planmode.PlanMode, string, map[string]any) (bool, string)                                                = (*planmode.PlanMode).FilterToolCall
	_ func(*planmode.PlanMode) planmode.ReviewConfig                                                                 = (*planmode.PlanMode).GetCodeReviewConfig
	_ func(*planmode.PlanMode) planmode.ReviewConfig                                                                 = (*planmode.PlanMode).GetReviewConfig
	_ func(*planmode.PlanMode) planmode.Mode                                                                         = (*planmode.PlanMode).Mode
	_ func(*planmode.PlanMode) bool                                                                                  = (*planmode.PlanMode).OnPlanSubmitted
	_ func(*planmode.PlanMode) string                                                                                = (*planmode.PlanMode).PlanFilePath
	_ func(*planmode.PlanMode, planmode.State)                                                                       = (*planmode.PlanMode).Restore
	_ func(*planmode.PlanMode, map[string]any)                                                                       = (*planmode.PlanMode).RestoreState
	_ func(*planmode.PlanMode)                                                                                       = (*planmode.PlanMode).ReviewDone
	_ func(*planmode.PlanMode) map[string]any                                                                        = (*planmode.PlanMode).SaveState
	_ func(*planmode.PlanMode, func(planmode.Mode))                                                                  = (*planmode.PlanMode).SetOnChange
	_ func(*planmode.PlanMode)                                                                                       = (*planmode.PlanMode).StartExecution
	_ func(*planmode.PlanMode)                                                                                       = (*planmode.PlanMode).StartReview
	_ func(*planmode.PlanMode) tool.Tool                                                                             = (*planmode.PlanMode).SubmitPlanTool
	_ func(*planmode.PlanMode) *tasks.Store                                                                          = (*planmode.PlanMode).TaskStore
	_ func(context.Context, planmode.ReviewConfig, string, planmode.ReviewStreamFunc) (planmode.ReviewResult, error) = planmode.Review
	_ func(context.Context, planmode.ReviewConfig, string, []string) (planmode.ReviewResult, error)                  = planmode.ReviewCode
	_ func(map[string]any) planmode.State                                                                            = planmode.RestoreFromMetadata
	_ func(*planmode.State) map[string]any                                                                           = (*planmode.State).SaveToMetadata
	_ planmode.ReviewStreamFunc                                                                                      = func(string) {}
)

// Constants are untyped here, so that their type and their value are both held.
func TestModes(t *testing.T) {
	want := map[planmode.Mode]string{
		planmode.ModeOff: "off", planmode.ModePlanning: "planning", planmode.ModeReady: "ready",
		planmode.ModeReviewing: "reviewing", planmode.ModeExecuting: "executing",
	}
	if len(want) != 5 {
		t.Errorf("%d modes", len(want))
	}
	for m, name := range want {
		if string(m) != name {
			t.Errorf("%q, want %q", m, name)
		}
	}
}

// The fields of the published structs, with their types and JSON names. Further fields may stand beside them.
func TestPublishedFields(t *testing.T) {
	for _, tt := range []struct {
		of     any
		fields []string // name type json
	}{
		{planmode.Config{}, []string{
			"Registry *tool.Registry", "SessionDir string", "ReviewCfg planmode.ReviewConfig",
			"CodeReviewCfg planmode.ReviewConfig", "TaskStore *tasks.Store",
		}},
		{planmode.ReviewConfig{}, []string{
			"ProviderFactory func(llm.Model) (llm.Provider, error)", "Model llm.Model", "ThinkingLevel string", "ParentTools *tool.Registry",
		}},
		{planmode.ReviewResult{}, []string{"Approved bool", "Feedback string", "Round int"}},
		{planmode.State{}, []string{
			"Mode planmode.Mode mode", "PlanFilePath string plan_file", "SessionSlug string session_slug",
			"ReviewRounds int review_rounds", "PlanSubmitted bool plan_submitted",
		}},
	} {
		typ := reflect.TypeOf(tt.of)
		have := map[string]bool{}
		for i := range typ.NumField() {
			f := typ.Field(i)
			s := fmt.Sprintf("%s %s", f.Name, f.Type)
			if tag := f.Tag.Get("json"); tag != "" {
				s += " " + tag
			}
			have[s] = true
		}
		for _, f := range tt.fields {
			if !have[f] {
				t.Errorf("%s lacks %q; it has %v", typ, f, have)
			}
		}
	}
	var _ llm.Model
}
