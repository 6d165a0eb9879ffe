package tool

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/planmode-dev/planmode/plan"
)

// A Verdict is a user's answer to an [Ask].
type Verdict struct {
	Yes bool `json:"yes"`
	// Always lets the same call, or what Rule covers, through without asking until the mode changes.
	Always bool   `json:"always,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Note   string `json:"note,omitempty"` // for the model, with a no
}

// Answer turns a user's answer into a decision: [Allow] or [Deny], never [Ask]. The first answer counts.
// The call is judged again in the state as it is now, so that a yes given after the mode changed is a
// no, and so is one for a tool that has become another meanwhile.
func (g *Gate) Answer(st plan.State, a Ask, v Verdict) Decision {
	d := g.answer(st, a, v)
	g.cfg.Counters.judged(g, a.Call(), d)
	return d
}

const askAgain = "make the call again if it is still due"

func (g *Gate) answer(st plan.State, a Ask, v Verdict) Decision {
	if a.p == nil || a.p.gate != g {
		return g.deny(st, a.Call(), Refusal{
			Code: StalePermission, Reason: "the question is not one that this session asked", Hint: askAgain,
		})
	}
	call := a.p.call
	switch {
	case a.p.used.Swap(true):
		return g.deny(st, call, Refusal{Code: StalePermission, Reason: "the question was answered already", Hint: askAgain})
	case !v.Yes:
		reason := "the user said no"
		if v.Note != "" {
			reason += ": " + v.Note
		}
		return g.deny(st, call, Refusal{Code: UserDenied, Reason: reason, Hint: "do something else, or ask the user what they want instead"})
	case a.p.voidIn(st) || g.cfg.now().After(a.p.expires):
		return g.deny(st, call, Refusal{
			Code: StalePermission, Reason: "what may be done has changed since the user was asked", Hint: askAgain,
		})
	}
	switch d := g.judge(st, call).(type) {
	case Deny:
		return d
	case Allow:
		return d
	case Ask:
		if d.p.tool != a.p.tool || !slices.Equal(d.p.access, a.p.access) {
			return g.deny(st, call, Refusal{
				Code: StalePermission, Reason: "the call would do something else now than when the user was asked", Hint: askAgain,
			})
		}
		if v.Always {
			if err := g.give(d.p, v.Rule); err != nil {
				return g.deny(st, call, Refusal{Code: InvalidInput, Reason: "the user's answer: " + err.Error(), Hint: askAgain})
			}
		}
		return g.allow(d.p)
	}
	return g.deny(st, call, Refusal{Code: Internal, Reason: "the call could not be judged again", Hint: askAgain})
}

// A given is a user's "always". It is good as long as the permit that it was given for would be.
type given struct {
	of   *permit
	rule Rule // zero: that exact call
}

func (g *Gate) give(p *permit, rule string) error {
	if p.grade >= gradeProtected {
		return nil // such a yes is for once, whatever the surface offered
	}
	gv := given{of: p}
	if rule != "" {
		r, err := ParseRule(rule)
		if err != nil {
			return err
		}
		if !r.covers(&subject{roots: &g.cfg.Roots, tool: p.call.Tool, access: p.access}) {
			return fmt.Errorf("the rule %q does not cover the call that was asked for", rule)
		}
		gv.rule = r
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.given = append(slices.DeleteFunc(g.given, func(old given) bool { return old.of.voidIn(p.state) }), gv)
	return nil
}

// wasGiven says whether an "always" covers the call. One for an exact call covers that tool and no
// other of its name.
func (g *Gate) wasGiven(p *permit) bool {
	return p.grade < gradeProtected && g.givenFor(p, func(gv given) bool {
		if gv.rule.Tool == "" {
			return gv.of.tool == p.tool && bytes.Equal(gv.of.call.Input, p.call.Input) && slices.Equal(gv.of.access, p.access)
		}
		same := gv.of.call.Tool != p.call.Tool || gv.of.tool == p.tool
		return same && gv.rule.covers(&subject{roots: &g.cfg.Roots, tool: p.call.Tool, access: p.access})
	})
}

func (g *Gate) givenFor(p *permit, covers func(given) bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, gv := range g.given {
		if !gv.of.voidIn(p.state) && covers(gv) {
			return true
		}
	}
	return false
}
