package planmode

import (
	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/shellsafe"
	"github.com/planmode-dev/planmode/tool"
)

// IsSafeCommand says whether a bash command line is proven to change nothing, by package shellsafe: the
// line is parsed, and every program, option, redirection and substitution in it must be known to be
// read-only. Pipelines and lists of such commands are safe.
func IsSafeCommand(command string) bool {
	return shellsafe.Analyze(command, nil).Verdict == shellsafe.Read
}

// SubmitPlanTool returns the submit_plan tool definition. New registers it.
func (pm *PlanMode) SubmitPlanTool() tool.Tool { return tools.SubmitPlan() }
