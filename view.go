package planmode

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// A ToolSet is a set of tools and those of it that are offered.
type ToolSet struct {
	Name  string
	Tools []string
}

// view is the last tool list, kept until the mode or the registry changes.
type view struct {
	key   viewKey
	valid bool
	tools []llm.ToolSpec
	sets  []ToolSet
}

type viewKey struct {
	mode    plan.Mode
	changes uint64
	file    string
}

// Tools returns the tools to offer to the model now, in the order of their names. The caller must not
// change the slice. With [Stable] exposure it is every tool, always.
func (pm *PlanMode) Tools() []llm.ToolSpec {
	v := pm.look()
	return v.tools
}

// Catalogue returns the sets of the tools that can succeed now, for the prompt. A set with none left
// is not in it. It says the same as [PlanMode.Tools] does with [Filtered] exposure.
func (pm *PlanMode) Catalogue() []ToolSet { return pm.look().sets }

func (pm *PlanMode) look() view {
	st, file := pm.State(), pm.PlanFilePath()
	key := viewKey{mode: st.Mode(), changes: pm.cfg.Registry.Changes(), file: file}
	pm.mu.Lock()
	if pm.view.valid && pm.view.key == key {
		defer pm.mu.Unlock()
		return pm.view
	}
	pm.mu.Unlock()
	v := view{key: key, valid: true}
	for _, t := range pm.cfg.Registry.All() {
		spec := t.Spec()
		offered := pm.offers(st, spec.Name)
		if offered {
			i := slices.IndexFunc(v.sets, func(s ToolSet) bool { return s.Name == spec.Set })
			if i < 0 {
				i = len(v.sets)
				v.sets = append(v.sets, ToolSet{Name: spec.Set})
			}
			v.sets[i].Tools = append(v.sets[i].Tools, spec.Name)
		}
		if offered || pm.cfg.Exposure == Stable {
			v.tools = append(v.tools, spec.ForModel())
		}
	}
	pm.mu.Lock()
	defer pm.mu.Unlock()
	pm.view = v
	return v
}

// offers says whether a tool can succeed in the state.
func (pm *PlanMode) offers(st plan.State, name string) bool {
	switch name {
	case requestReviewName:
		if st.Mode() != plan.Executing {
			return false
		}
	case enterName:
		if st.ReadOnly() {
			return false
		}
	}
	return pm.gate.Offered(st, name)
}

// filter judges a call for an agent that runs its tools itself.
func (pm *PlanMode) filter(st plan.State, name string, args map[string]any) (bool, string) {
	input, err := json.Marshal(args)
	if err != nil {
		return false, fmt.Sprintf("the arguments cannot be read: %v", err)
	}
	if args == nil {
		input = json.RawMessage(`{}`)
	}
	switch d := pm.gate.Decide(st, tool.Call{Tool: name, Input: input}).(type) {
	case tool.Allow, tool.Ask:
		return true, ""
	case tool.Deny:
		reason := d.Refusal.Reason
		if d.Refusal.Hint != "" {
			reason += "; " + d.Refusal.Hint
		}
		return false, reason
	}
	return false, "the call could not be judged"
}
