package shellsafe

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assigns judges the assignments in front of a command (exported to it), or those that stand alone.
func (a *analyzer) assignments(list []*syntax.Assign, exported bool, program string) {
	for _, as := range list {
		if as.Name == nil {
			a.unsupported(as)
			continue
		}
		a.assign(as, exported, program)
	}
}

func (a *analyzer) assign(as *syntax.Assign, exported bool, program string) {
	if as.Index != nil {
		a.subscript(as.Name.Value, as.Index)
	}
	if as.Array != nil {
		for _, e := range as.Array.Elems {
			if e.Index != nil {
				a.subscript(as.Name.Value, e.Index)
			}
			if e.Value != nil {
				a.single(e.Value)
			}
		}
	}
	var val *word
	if as.Value != nil {
		w := a.one(as.Value)
		val = &w
	}
	if as.Naked {
		return
	}
	if as.Name.Value == "IFS" && program == "read" {
		return
	}
	if as.Value == nil && as.Array == nil {
		val = &word{lit: true}
	}
	a.steered(as.Name.Value, val, as, exported)
}

// steered reports an assignment to a variable that decides what programs run or write. val is nil when
// the value is not known; exported says whether a program will see the name even if it was not in the
// environment before.
func (a *analyzer) steered(name string, val *word, at syntax.Node, exported bool) {
	if why := steers(name, val, exported); why != "" {
		a.reportNode(Contained, at, "assignment", "`"+name+"` "+why, "leave the assignment out")
	}
}

// steers says what a variable decides, or returns "".
func steers(name string, val *word, exported bool) string {
	if integerVars[name] && (val == nil || !val.num && !(val.lit && val.text == "")) {
		return "evaluates what it is assigned, subscripts and substitutions included"
	}
	if harmlessVars[name] || strings.HasPrefix(name, "LC_") {
		return ""
	}
	if name == "PATH" && val != nil && val.lit && systemPath(val.text) {
		return ""
	}
	if name == "TERM" && val != nil && val.lit && !strings.ContainsAny(val.text, "/.") {
		return ""
	}
	if why, ok := steeringVars[name]; ok {
		if val != nil && val.lit && quietValue(name, val.text) {
			return ""
		}
		return why
	}
	for _, p := range steeringPrefixes {
		if strings.HasPrefix(name, p.text) {
			if val != nil && val.lit && quietValue(name, val.text) {
				return ""
			}
			return p.why
		}
	}
	if !exported {
		return ""
	}
	for _, s := range steeringSuffixes {
		if strings.HasSuffix(name, s) {
			return "looks like a setting that decides what programs run or write"
		}
	}
	return ""
}

// systemPath reports whether a search path has only directories of the system.
func systemPath(s string) bool {
	for dir := range strings.SplitSeq(s, ":") {
		if !slices.Contains(systemDirs, dir+"/") {
			return false
		}
	}
	return true
}

// quietValue accepts the values that turn a pager or an editor off.
func quietValue(name, val string) bool {
	if strings.HasSuffix(name, "PAGER") || strings.HasSuffix(name, "EDITOR") || name == "VISUAL" {
		return val == "" || val == "cat" || val == "true" || val == ":"
	}
	// Set to anything else they give back what the runner turned off.
	return name == "GIT_OPTIONAL_LOCKS" && val == "0" || name == "GIT_NO_LAZY_FETCH" && val == "1"
}

// declClause judges declare, typeset, local, export and readonly.
func (a *analyzer) declClause(d *syntax.DeclClause) {
	variant := d.Variant.Value
	row := variant
	exported := variant == "export" || declares(d, 'x')
	if variant == "nameref" || declares(d, 'n') {
		a.reportNode(Contained, d, row, "a name reference evaluates its target, subscript and all", "")
	}
	integer := declares(d, 'i')
	for _, as := range d.Args {
		if as.Name == nil {
			a.declOperand(as, variant)
			continue
		}
		if integer {
			a.integerAssign(as)
		}
		a.compound(as, d)
		a.assign(as, exported, "")
		if as.Naked && (declares(d, 'a') || declares(d, 'A')) {
			a.steered(as.Name.Value, nil, as, false) // an array is not exported
		}
		if as.Naked && exported {
			if v := a.table().vars[as.Name.Value]; v == nil || len(v.sites) > 0 {
				a.steered(as.Name.Value, nil, as, true)
			}
		}
	}
}

// compound judges a value that declare may evaluate as a list: `declare -a a='($(…))'`, or without -a
// where the variable is an array already.
func (a *analyzer) compound(as *syntax.Assign, d *syntax.DeclClause) {
	if as.Value == nil || as.Naked {
		return
	}
	w := a.one(as.Value)
	if w.lit && !strings.HasPrefix(w.text, "(") || w.num {
		return
	}
	if !w.lit && !declares(d, 'a') && !declares(d, 'A') && !a.maybeArray(as.Name.Value) {
		return
	}
	if w.lit && !strings.ContainsAny(w.text, "$`<>[") {
		return
	}
	a.reportNode(Contained, as, d.Variant.Value,
		quote(a.text(as))+" may be evaluated as a list, with the substitutions in it", "assign a list: `a=(…)`")
}

// unguarded says what taking variables away does: what runs while planning has some that keep programs
// from running others, git above all.
const unguarded = "takes away settings that keep programs from running others"

// declOperand judges an operand of declare that is not an assignment: an option, or a word that may
// become one.
func (a *analyzer) declOperand(as *syntax.Assign, variant string) {
	if as.Value == nil {
		a.unsupported(as)
		return
	}
	w := a.one(as.Value)
	if w.lit && len(w.text) > 1 && (w.text[0] == '-' || w.text[0] == '+') {
		if variant == "export" && strings.ContainsRune(w.text, 'f') {
			a.reportNode(Contained, as, variant, "an exported function replaces a program in other shells", "")
		}
		if w.text[0] == '+' && strings.ContainsRune(w.text, 'x') {
			a.reportNode(Contained, as, variant, unguarded, "leave +x out")
		}
		return
	}
	if w.lit && syntax.ValidName(w.text) {
		return
	}
	a.reportNode(Contained, as, variant,
		quote(variant)+" evaluates "+quote(a.text(as))+" as an assignment, with substitutions in a subscript", "")
}

// integerAssign judges `declare -i x=TEXT`, which evaluates TEXT. Later assignments to x are evaluated
// too, so every one in the script must be a number.
func (a *analyzer) integerAssign(as *syntax.Assign) {
	if as.Array != nil {
		a.reportNode(Contained, as, "arithmetic", "an integer array evaluates its elements", "")
		return
	}
	if !a.numeric(as.Name.Value) && !(as.Naked && len(a.table().at(as.Name.Value).sites) == 0) {
		a.reportNode(Contained, as, "arithmetic",
			"the integer variable `"+as.Name.Value+"` evaluates what it is assigned", "")
	}
}
