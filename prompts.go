package planmode

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/planmode-dev/planmode/plan"
)

//go:embed prompts/planning.md
var planningPrompt string

//go:embed prompts/ready.md
var readyPrompt string

//go:embed prompts/execution.md
var executionPrompt string

// LeftNotice is what the model is told, once, with the first prompt after the user has left plan mode.
//
//go:embed prompts/left.md
var LeftNotice string

// PlanningPrompt returns the system prompt fragment for planning mode. The path may be "".
func PlanningPrompt(planFilePath string) string {
	p := planningPrompt
	if planFilePath != "" {
		p += fmt.Sprintf("- You may keep a draft in the plan file %s, the one file that you may write; submit_plan without a\n  text hands in what it holds.\n", planFilePath)
	}
	return p
}

// ExecutionPrompt returns the system prompt fragment for execution mode. The path may be "".
func ExecutionPrompt(planFilePath string) string {
	p := executionPrompt
	if planFilePath != "" {
		p += fmt.Sprintf("- The plan is also in the file %s.\n", planFilePath)
	}
	return p
}

// Prompt returns the system prompt fragment for the present mode, "" when plan mode is off. While a
// plan is executed it ends with the approved text, word for word: it is built anew for each request,
// so no compaction can lose it.
func (pm *PlanMode) Prompt() string {
	st, file := pm.State(), pm.PlanFilePath()
	var b strings.Builder
	switch st.Mode() {
	case plan.Off:
		return ""
	case plan.Planning:
		b.WriteString(PlanningPrompt(file))
		pm.writeCatalogue(&b)
	case plan.Ready, plan.Reviewing:
		b.WriteString(readyPrompt)
		pm.writeCatalogue(&b)
	case plan.Executing:
		b.WriteString(ExecutionPrompt(file))
		if r, ok := st.Approved(); ok {
			fmt.Fprintf(&b, "\n<approved_plan revision=\"%d\" digest=\"%s\">\n%s</approved_plan>\n", r.Number, r.Digest.Short(), r.Text)
		}
		if _, note := st.Instructions(); note != "" {
			fmt.Fprintf(&b, "\nThe user's additional instructions, which outrank the plan:\n%s\n", note)
		}
	}
	return b.String()
}

// writeCatalogue names the tools that can succeed, which is more than the tool list says when that
// never changes.
func (pm *PlanMode) writeCatalogue(b *strings.Builder) {
	if pm.cfg.Exposure != Stable {
		return
	}
	b.WriteString("\nOf your tools only these can succeed now:\n")
	for _, s := range pm.Catalogue() {
		fmt.Fprintf(b, "- %s: %s\n", s.Name, strings.Join(s.Tools, ", "))
	}
}
