package tool

import "github.com/planmode-dev/planmode/plan"

// Offered says whether a call of the tool could get past the mode at all, by the kinds of effect that
// its [Spec] lists. It is for choosing what to show to a model; it permits nothing.
func (g *Gate) Offered(st plan.State, name string) bool {
	t := g.cfg.Registry.lookup(name)
	if t == nil {
		return false
	}
	if t.spec.Kinds == nil {
		return !st.ReadOnly() || g.vouched(name)
	}
	for _, kind := range t.spec.Kinds {
		if !g.possible(st, name, kind) {
			return false
		}
	}
	return true
}

// possible says whether an effect of the kind could be permitted for some input.
func (g *Gate) possible(st plan.State, name string, kind Effect) bool {
	switch kind.(type) {
	case ReadFile:
		kind = ReadFile{Path: g.cfg.Roots.Workspace}
	case WriteFile:
		if !st.ReadOnly() {
			return true
		}
		if g.cfg.PlanFile == nil || g.cfg.PlanFile() == "" {
			return false
		}
		kind = WriteFile{Path: g.cfg.PlanFile()}
	case Shell:
		kind = Shell{Command: "true"}
	case Nothing, Fetch, SubmitPlan, WriteTodos, AskUser, Spawn, Claimed, Opaque:
	}
	_, refusal := g.effect(&permit{gate: g, state: st, call: Call{Tool: name}}, kind)
	return refusal == nil
}
