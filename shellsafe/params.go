package shellsafe

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A value is what is known of one parameter expansion.
type value struct {
	text   string
	known  bool // the value is text (or nothing, where an assignment did not happen)
	num    bool // an integer
	multi  bool // any number of words even when quoted: "$@", "${a[@]}"
	nodash bool // does not start with a dash
	not    nameSet
}

// param judges a parameter expansion and everything nested in it.
func (a *analyzer) param(p *syntax.ParamExp, quoted bool) value {
	if p.Flags != nil || p.Width || p.IsSet || p.NestedParam != nil || len(p.Modifiers) > 0 ||
		p.Split != syntax.OptUnset || p.GlobSubst != syntax.OptUnset || p.RcExpand != syntax.OptUnset {
		a.unsupported(p)
		return value{}
	}
	if p.Param == nil {
		a.unsupported(p)
		return value{}
	}
	name := p.Param.Value
	var v value
	if p.Index != nil {
		v.multi = a.subscript(name, p.Index) && !p.Length
	}
	if name == "@" || name == "*" && !quoted {
		v.multi = !p.Length
	}
	if p.Excl {
		return a.indirect(p, v)
	}
	switch {
	case p.Length:
		return value{num: true}
	case p.Slice != nil:
		a.arithm(p.Slice.Offset)
		a.arithm(p.Slice.Length)
		return v
	case p.Repl != nil:
		a.innerWord(p.Repl.Orig, quoted)
		a.innerWord(p.Repl.With, quoted)
		return v
	case p.Exp != nil:
		return a.expOperator(p, name, v, quoted)
	case p.Index == nil && !v.multi:
		return a.resolve(name)
	}
	return v
}

// innerWord judges a word within ${…}. Within double quotes and here-documents bash takes single quotes
// in it for ordinary characters (except in patterns), and so performs the substitutions between them.
func (a *analyzer) innerWord(w *syntax.Word, quoted bool) {
	if w == nil {
		return
	}
	saved := a.inDouble
	a.inDouble = a.inDouble || quoted
	a.single(w)
	a.inDouble = saved
}

// expOperator handles ${x:-word}, ${x#pattern}, ${x@Q} and the like.
func (a *analyzer) expOperator(p *syntax.ParamExp, name string, v value, quoted bool) value {
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		a.steered(name, nil, p, false)
		a.innerWord(p.Exp.Word, quoted)
	case syntax.OtherParamOps:
		op := ""
		if p.Exp.Word != nil {
			op = p.Exp.Word.Lit()
		}
		switch op {
		case "Q", "U", "u", "L", "E", "A", "a", "K", "k":
		default:
			// @P expands the value like a prompt, which performs substitutions.
			a.reportNode(Contained, p, "expansion",
				quote(a.text(p))+" performs the substitutions that the variable's text holds", "")
		}
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll,
		syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		a.innerWord(p.Exp.Word, quoted)
	default:
		a.unsupported(p)
	}
	return v
}

// indirect handles ${!x} and ${!x[@]} and ${!x*}.
func (a *analyzer) indirect(p *syntax.ParamExp, v value) value {
	if p.Names != 0 || p.Index != nil && v.multi && p.Exp == nil && p.Slice == nil && p.Repl == nil {
		// Names of variables, or the keys of an array, which are numbers unless it is associative.
		return value{multi: true, num: p.Names == 0 && !a.isAssoc(p.Param.Value)}
	}
	r := a.resolve(p.Param.Value)
	if !r.known || !syntax.ValidName(r.text) || p.Exp != nil || p.Slice != nil || p.Repl != nil {
		a.reportNode(Contained, p, "expansion",
			quote(a.text(p))+" reads a variable whose name is computed, subscript and all", "")
	}
	return v
}

// subscript judges a subscript and reports whether it means all elements.
func (a *analyzer) subscript(array string, x syntax.ArithmExpr) (all bool) {
	if w, ok := x.(*syntax.Word); ok {
		if s := w.Lit(); s == "@" || s == "*" {
			return true
		}
		if a.isAssoc(array) {
			a.single(w)
			return false
		}
	}
	a.arithm(x)
	return false
}

// arithm judges an arithmetic expression. Bash evaluates the text of the variables in it, with
// subscripts and their substitutions, so every one must be known to hold a number.
func (a *analyzer) arithm(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.BinaryArithm:
		switch x.Op {
		case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn,
			syntax.RemAssgn, syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn,
			syntax.ShrAssgn, syntax.AndBoolAssgn, syntax.OrBoolAssgn, syntax.XorBoolAssgn, syntax.PowAssgn:
			if w, ok := x.X.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
				a.steered(w.Lit(), nil, x, false)
				if x.Op != syntax.Assgn {
					a.arithm(x.X)
				}
				a.arithm(x.Y)
				return
			}
		}
		a.arithm(x.X)
		a.arithm(x.Y)
	case *syntax.UnaryArithm:
		a.arithm(x.X)
	case *syntax.ParenArithm:
		a.arithm(x.X)
	case *syntax.Word:
		a.arithmWord(x)
	default:
		a.unsupported(x)
	}
}

func (a *analyzer) arithmWord(w *syntax.Word) {
	if s := w.Lit(); s != "" {
		if !a.arithmText(s) {
			a.badArithm(w)
		}
		return
	}
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.ParamExp:
			if p.Short && p.Index != nil && !p.Dollar.IsValid() { // a[i], without a dollar
				a.subscript(p.Param.Value, p.Index)
				if !a.numeric(p.Param.Value) {
					a.badArithm(w)
				}
				continue
			}
			if !a.param(p, true).num && !a.numericParam(p) {
				a.badArithm(w)
			}
		case *syntax.Lit:
			if !a.arithmText(p.Value) {
				a.badArithm(w)
			}
		default:
			x := a.single(&syntax.Word{Parts: []syntax.WordPart{p}})
			if !x.num && !(x.lit && a.arithmText(x.text)) {
				a.badArithm(w)
			}
		}
	}
}

// numericParam covers "${a[i]}" and "${x:-0}", which [analyzer.param] does not resolve.
func (a *analyzer) numericParam(p *syntax.ParamExp) bool {
	if p.Excl || p.Slice != nil || p.Repl != nil || p.Param == nil || !a.numeric(p.Param.Value) {
		return false
	}
	if p.Exp == nil {
		return true
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return p.Exp.Word == nil || isNumber(p.Exp.Word.Lit())
	}
	return false
}

func (a *analyzer) badArithm(w *syntax.Word) {
	a.reportNode(Contained, w, "arithmetic",
		"arithmetic on "+quote(a.text(w))+" evaluates text that is not known to be a number, subscripts and substitutions included", "")
}

// arithmText judges literal text in arithmetic: a number, or the name of a variable with a number.
func (a *analyzer) arithmText(s string) bool {
	if s == "" {
		return true
	}
	if s[0] >= '0' && s[0] <= '9' {
		return strings.IndexFunc(s, func(r rune) bool {
			return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '#' || r == '@' || r == '_')
		}) < 0
	}
	return syntax.ValidName(s) && a.numeric(s)
}

// testClause judges [[ … ]].
func (a *analyzer) testExpr(x syntax.TestExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.ParenTest:
		a.testExpr(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			if w, ok := x.X.(*syntax.Word); ok {
				a.varOperand(a.one(w), "[[ "+x.Op.String())
				return
			}
		}
		a.testExpr(x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, y := range []syntax.TestExpr{x.X, x.Y} {
				w, ok := y.(*syntax.Word)
				if !ok {
					a.unsupported(x)
					return
				}
				v := a.one(w)
				if !v.num && !((v.lit || v.viaVar && !v.split) && a.arithmText(v.text)) && !a.numericWord(w) {
					a.badArithm(w)
				}
			}
			return
		}
		a.testExpr(x.X)
		a.testExpr(x.Y)
	case *syntax.Word:
		a.single(x)
	default:
		a.unsupported(x)
	}
}

// numericWord covers a word that is one parameter expansion of a number.
func (a *analyzer) numericWord(w *syntax.Word) bool {
	parts := w.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok && !q.Dollar {
			parts = q.Parts
		}
	}
	if len(parts) != 1 {
		return false
	}
	p, ok := parts[0].(*syntax.ParamExp)
	return ok && a.numericParam(p)
}

// varOperand judges an operand that bash takes for a variable's name, and evaluates when it has a
// subscript: read, printf -v, unset, test -v, [[ -v.
func (a *analyzer) varOperand(w word, what string) bool {
	if w.lit && (syntax.ValidName(w.text) || simpleElement(w.text)) {
		return true
	}
	a.reportWord(Contained, w, "expansion",
		quote(what)+" evaluates the variable name "+quote(a.wordText(w))+", with substitutions in a subscript", "")
	return false
}

// simpleElement accepts name[digits], name[@] and name[*].
func simpleElement(s string) bool {
	i := strings.IndexByte(s, '[')
	if i <= 0 || !strings.HasSuffix(s, "]") || !syntax.ValidName(s[:i]) {
		return false
	}
	sub := s[i+1 : len(s)-1]
	return sub == "@" || sub == "*" || sub != "" && allDigits(sub)
}

// wordText is a word as written.
func (a *analyzer) wordText(w word) string {
	if a.inner && w.lit {
		return w.text
	}
	off, end := w.off, w.end
	if a.inner {
		off, end = a.outer[0], a.outer[1]
	}
	off, end = a.clamp(off, end)
	return a.line[off:end]
}
