package planmode

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/planmode-dev/planmode/tool"
)

// A verdict is what a reviewer hands in.
type verdict struct {
	Approved bool    `json:"approved" jsonschema:"true only if the work can go ahead as it is"`
	Summary  string  `json:"summary" jsonschema:"your judgement in a few sentences"`
	Issues   []issue `json:"issues,omitempty" jsonschema:"what must or should be changed"`
}

type issue struct {
	Severity  string `json:"severity" jsonschema:"blocker, important or minor"`
	Text      string `json:"text" jsonschema:"what is wrong and what would be right"`
	Reference string `json:"reference,omitempty" jsonschema:"file:line, or the step"`
}

// text is the verdict as the model and the user read it.
func (v *verdict) text() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(v.Summary))
	for _, i := range v.Issues {
		fmt.Fprintf(&b, "\n- [%s] %s", i.Severity, strings.TrimSpace(i.Text))
		if i.Reference != "" {
			fmt.Fprintf(&b, " (%s)", i.Reference)
		}
	}
	return b.String()
}

// check refuses a verdict that contradicts itself.
func (v *verdict) check() error {
	if strings.TrimSpace(v.Summary) == "" {
		return errors.New("summary: say how you judge it")
	}
	for i, is := range v.Issues {
		switch is.Severity {
		case "blocker":
			if v.Approved {
				return fmt.Errorf("issues[%d]: a blocker and an approval contradict each other", i)
			}
		case "important", "minor":
		default:
			return fmt.Errorf("issues[%d].severity: %q is none of blocker, important, minor", i, is.Severity)
		}
	}
	return nil
}

func (r *reviewer) verdictTool() tool.Tool {
	return tool.New(tool.Spec{
		Name: "verdict", Set: "builtin", Kinds: []tool.Effect{tool.Nothing{}},
		Description: "Hands in your verdict and ends the review. Call it exactly once, at the end.",
	}, func(verdict) tool.Access { return tool.Access{tool.Nothing{}} },
		func(_ context.Context, _ *tool.Grant, v verdict) (tool.Result, error) {
			if err := v.check(); err != nil {
				return tool.Result{}, err
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.verdict != nil && !r.verdict.Approved {
				return tool.Result{}, errors.New("the verdict was handed in already")
			}
			r.verdict = &v // of two in one message, which run at once, a no is the verdict
			return tool.Result{Text: "the verdict is recorded", EndTurn: true}, nil
		})
}

// approvedIn reads a verdict from an answer's text: its last verdict line outside quotations and code
// decides, and no verdict is not an approval. A verdict line is "VERDICT: APPROVED" or "VERDICT:
// CHANGES_REQUESTED", in any case, with or without the first word and Markdown's marks; the words
// "VERDICT:" may stand on the line before.
func approvedIn(text string) bool {
	approved, fenced := false, false
	var before string
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(t, ">") || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
			continue
		}
		w := verdictWords(t)
		word, named := strings.CutPrefix(w, "VERDICT:")
		word = strings.TrimSpace(word)
		switch {
		case !named && before != "VERDICT:" && w != "APPROVED" && w != "CHANGES_REQUESTED" && w != "CHANGES REQUESTED":
		case word == "APPROVED":
			approved = true
		case word != "":
			approved = false // changes requested, or a verdict in other words
		}
		if w != "" {
			before = w
		}
	}
	return approved
}

// verdictWords takes Markdown's marks off a line.
func verdictWords(line string) string {
	line = strings.TrimLeft(line, "#-*+ \t")
	line = strings.NewReplacer("**", "", "__", "", "`", "", "*", "").Replace(line)
	return strings.ToUpper(strings.TrimRight(strings.TrimSpace(line), ".!"))
}

const requestReviewName = "request_review"

type reviewRequest struct {
	Summary      string   `json:"summary" jsonschema:"what was changed, and why"`
	FilesChanged []string `json:"files_changed" jsonschema:"paths of the changed files, at most 50"`
}

// requestReviewTool lets the model have its work reviewed while it executes a plan.
func (pm *PlanMode) requestReviewTool() tool.Tool {
	return tool.New(tool.Spec{
		Name: requestReviewName, Set: "builtin", Kinds: []tool.Effect{tool.Spawn{}},
		Description: "Has a second model review your changes while you execute an approved plan. " +
			"Use it after substantial work, not after each step, and fix what it asks for.",
	}, func(reviewRequest) tool.Access { return tool.Access{tool.Spawn{}} },
		func(ctx context.Context, _ *tool.Grant, in reviewRequest) (tool.Result, error) {
			if pm.Mode() != ModeExecuting {
				return tool.Result{}, errors.New("a review of changes is for the execution of an approved plan")
			}
			res, err := ReviewCode(ctx, pm.reviewConfig(pm.GetCodeReviewConfig()), in.Summary, in.FilesChanged)
			pm.spent(res.Usage)
			if err != nil {
				return tool.Result{}, err
			}
			head := "VERDICT: CHANGES_REQUESTED"
			if res.Approved {
				head = "VERDICT: APPROVED"
			}
			return tool.Result{Text: head + "\n\n" + res.Feedback}, nil
		})
}
