package tool

import "fmt"

// Autonomy is how much confirmation the user wants while changes are allowed. The zero value is
// [Strict]. It is a separate axis from plan mode: no transition reads or writes it.
type Autonomy uint8

// The three modes.
//
//	                              strict  hybrid  loose
//	proven read-only              runs    runs    runs
//	write in the workspace        asks    runs    runs
//	other command, network, MCP   asks    asks    runs
//	.git and the like, outside    asks    asks    asks
const (
	Strict Autonomy = iota
	Hybrid
	Loose
)

var autonomyNames = [...]string{Strict: "strict", Hybrid: "hybrid", Loose: "loose"}

// String returns the mode's name.
func (a Autonomy) String() string {
	if int(a) < len(autonomyNames) {
		return autonomyNames[a]
	}
	return autonomyNames[Strict]
}

// ParseAutonomy reads a name; another word is Strict and an error.
func ParseAutonomy(s string) (Autonomy, error) {
	for a, name := range autonomyNames {
		if name == s {
			return Autonomy(a), nil
		}
	}
	return Strict, fmt.Errorf("tool: autonomy %q is none of strict, hybrid, loose", s)
}

// A Policy is the user's rules for when changes are allowed. A deny rule that speaks of any part of a
// call refuses it in every mode. Otherwise the longest matching rule decides, and of two of the same
// length the one that asks; a rule that allows must cover the whole call. No rule lifts what a mode
// forbids.
type Policy struct {
	Allow, Ask, Deny []Rule
}

// A stance is what the rules say of a call.
type stance uint8

const (
	silent stance = iota
	allowed
	asked
	denied
)

// of returns what the policy says of a call, and the rule that said it.
func (p *Policy) of(roots *Roots, name string, access Access) (stance, Rule) {
	if len(p.Deny)+len(p.Allow)+len(p.Ask) == 0 {
		return silent, Rule{}
	}
	s := subject{roots: roots, tool: name, access: access}
	for _, r := range p.Deny {
		if r.touches(&s) {
			return denied, r
		}
	}
	best, by, length := silent, Rule{}, -1
	for _, r := range p.Allow {
		if n := r.length(); n > length && r.covers(&s) {
			best, by, length = allowed, r, n
		}
	}
	for _, r := range p.Ask {
		if n := r.length(); n >= length && r.touches(&s) {
			best, by, length = asked, r, n
		}
	}
	return best, by
}
