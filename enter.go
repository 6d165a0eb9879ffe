package planmode

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

const enterName = "enter_plan_mode"

type enterRequest struct {
	Reason string `json:"reason" jsonschema:"why this should be planned first, in one sentence"`
}

// yesEnter is the answer that turns plan mode on; any other leaves it as it is.
const yesEnter = "Plan first"

// enterTool lets the model propose to plan first. It is registered only where the user allowed that, and
// it is the user who enters: the tool asks, and does what they answer.
func (pm *PlanMode) enterTool() tool.Tool {
	return tool.New(tool.Spec{
		Name: enterName, Set: "builtin", Kinds: []tool.Effect{tool.AskUser{}},
		Description: "Asks the user whether to turn plan mode on, for work that is large, risky or unclear. " +
			"Nothing changes unless they agree. Do not use it for questions or small changes.",
	}, func(enterRequest) tool.Access { return tool.Access{tool.AskUser{}} },
		func(ctx context.Context, g *tool.Grant, in enterRequest) (tool.Result, error) {
			if strings.TrimSpace(in.Reason) == "" {
				return tool.Result{}, errors.New("reason: say why this should be planned first")
			}
			if g.PlanMode() {
				return tool.Result{Text: "plan mode is active already"}, nil
			}
			answers, err := g.AskUser(ctx, []tool.Question{{
				Header: "Plan mode", Text: fmt.Sprintf("The model proposes to plan first: %s", strings.TrimSpace(in.Reason)),
				Options: []tool.Option{
					{Label: "Go on", Description: "plan mode stays off"},
					{Label: yesEnter, Description: "nothing is changed until you approve a plan"},
				},
			}})
			if err != nil {
				return tool.Result{}, err
			}
			if len(answers) != 1 || len(answers[0].Chosen) != 1 || answers[0].Chosen[0] != yesEnter {
				text := "The user wants to go on without plan mode."
				if len(answers) == 1 && answers[0].Other != "" {
					text += " They said: " + answers[0].Other
				}
				return tool.Result{Text: text}, nil
			}
			if err := pm.ByUser(plan.Enter{Stamp: pm.stamp(plan.Library)}); err != nil {
				return tool.Result{}, err
			}
			return tool.Result{Text: "The user has turned plan mode on."}, nil
		})
}
