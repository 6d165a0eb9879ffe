package shellsafe

import (
	"mvdan.cc/sh/v3/syntax"
)

// An argSource says where a function's positional parameters come from.
type argSource uint8

const (
	argsUnknown argSource = iota // of the script itself
	argsHoped                    // a function that is only declared: judged as if called well
	argsKnown                    // analyzer.args
)

// A varTable holds every assignment in a script. It is built when the first value is asked for, and it
// does not follow control flow: a variable is what all of its assignments have in common.
type varTable struct {
	vars   map[string]*variable
	fogged bool                              // something assigns names that cannot be read
	feeds  map[*syntax.CallExpr]*syntax.Stmt // what each read reads from, where it is a pipe
}

type variable struct {
	sites []site
	assoc bool
	state uint8 // 0 not computed, 1 being computed, 2 done
	val   value
}

type site struct {
	word    *syntax.Word
	kind    siteKind
	element bool
	read    *syntax.CallExpr // for siteRead
}

type siteKind uint8

const (
	siteUnknown siteKind = iota
	siteNumber
	siteWord
	siteAppend
	siteRead // the first variable of a read
	siteItem // one word of a for loop: split, expanded and matched with files
)

// specialNumbers are variables that bash itself keeps numeric.
var specialNumbers = map[string]bool{
	"#": true, "?": true, "$": true, "!": true,
	"RANDOM": true, "SRANDOM": true, "SECONDS": true, "LINENO": true, "BASHPID": true, "PPID": true,
	"UID": true, "EUID": true, "OPTIND": true, "SHLVL": true, "EPOCHSECONDS": true, "HISTCMD": true,
	"COLUMNS": true, "LINES": true, "BASH_SUBSHELL": true,
}

// resolve says what is known of a variable or positional parameter.
func (a *analyzer) resolve(name string) value {
	if name == "" {
		return value{}
	}
	if name[0] >= '0' && name[0] <= '9' {
		return a.positional(name)
	}
	t := a.table()
	if v := t.vars[name]; v != nil {
		return a.variableValue(v, false)
	}
	switch {
	case t.fogged:
		return value{}
	case specialNumbers[name] && (!a.inner || !syntax.ValidName(name)):
		// A nested script may have inherited another value under the names.
		return value{num: true, nodash: true, not: file}
	case a.inner:
	case name == "HOME":
		return value{nodash: true, not: file}
	case name == "PWD" || name == "OLDPWD":
		return value{nodash: true, not: url | host} // absolute, and after `cd /dev` …
	}
	return value{}
}

func (a *analyzer) positional(name string) value {
	switch a.argsFrom {
	case argsHoped:
		return value{num: true, nodash: true, not: file}
	case argsKnown:
		if len(name) != 1 || name == "0" {
			return value{}
		}
		i := int(name[0] - '1')
		for j, w := range a.args {
			if w.split || w.glob && j < i {
				return value{}
			}
		}
		if i >= len(a.args) {
			return value{text: "", known: true}
		}
		return wordValue(a.args[i])
	case argsUnknown:
	}
	return value{}
}

// numeric reports whether a variable, or every element of an array, is known to be a number.
func (a *analyzer) numeric(name string) bool {
	if a.resolve(name).num {
		return true
	}
	v := a.table().vars[name]
	return v != nil && a.variableValue(v, true).num
}

// maybeArray reports whether a variable may be an array when something is assigned to it.
func (a *analyzer) maybeArray(name string) bool {
	t := a.table()
	v := t.vars[name]
	if v == nil {
		return t.fogged
	}
	for _, s := range v.sites {
		if s.element || s.kind == siteUnknown || s.kind == siteRead {
			return true
		}
	}
	return t.fogged || v.assoc
}

func (a *analyzer) isAssoc(name string) bool {
	v := a.table().vars[name]
	return v != nil && v.assoc
}

func (a *analyzer) variableValue(v *variable, elements bool) value {
	if v.state == 1 {
		return value{}
	}
	if v.state == 2 && !elements {
		return v.val
	}
	v.state = 1
	a.mute++
	saved := a.argsFrom
	a.argsFrom = argsUnknown
	joined, first := value{}, true
	for _, s := range v.sites {
		if s.element && !elements {
			joined = value{}
			break
		}
		x := a.siteValue(s)
		if first {
			joined, first = x, false
			continue
		}
		joined = value{
			text:  joined.text,
			known: joined.known && x.known && joined.text == x.text,
			num:   joined.num && x.num, nodash: joined.nodash && x.nodash, not: joined.not & x.not,
		}
	}
	a.argsFrom = saved
	a.mute--
	if elements {
		v.state = 0
		return joined
	}
	v.state, v.val = 2, joined
	return joined
}

func (a *analyzer) siteValue(s site) value {
	switch s.kind {
	case siteNumber:
		return value{num: true, nodash: true, not: file}
	case siteRead:
		return a.readSite(s.read, a.vars.feeds[s.read])
	case siteWord:
		if s.word == nil {
			return value{known: true, num: true, nodash: true, not: file} // x=
		}
		return wordValue(a.one(s.word))
	case siteAppend:
		if s.word == nil {
			return value{}
		}
		v := wordValue(a.one(s.word))
		return value{num: v.num && !v.known || v.known && allDigits(v.text)}
	case siteItem:
		words := a.word(nil, s.word)
		joined := value{}
		for i, w := range words {
			x := wordValue(w)
			x.known = x.known && len(words) == 1
			if w.split && !w.num {
				x = value{}
				if s := soleSubst(s.word); s != nil {
					x.not = a.lines(s, false).not
				}
			}
			if i == 0 {
				joined = x
				continue
			}
			joined.num, joined.nodash, joined.not = joined.num && x.num, joined.nodash && x.nodash, joined.not&x.not
		}
		return joined
	case siteUnknown:
	}
	return value{}
}

// wordValue is what a variable that was assigned w holds.
func wordValue(w word) value {
	return value{
		text:   w.text,
		known:  w.lit || w.viaVar && !w.split && !w.glob && w.suffix == "",
		num:    w.num,
		nodash: w.nodash || w.num && w.text == "" || w.text != "" && w.text[0] != '-',
		not:    cannotBe(w),
	}
}

// table returns the script's assignments, collecting them on first use.
func (a *analyzer) table() *varTable {
	if a.vars != nil {
		return a.vars
	}
	t := &varTable{vars: map[string]*variable{}, feeds: map[*syntax.CallExpr]*syntax.Stmt{}}
	a.vars = t
	if a.file == nil {
		t.fogged = true
		return t
	}
	for _, s := range a.file.Stmts {
		t.feed(s, nil)
	}
	syntax.Walk(a.file, func(n syntax.Node) bool {
		t.collect(n)
		return true
	})
	return t
}

func (t *varTable) at(name string) *variable {
	v := t.vars[name]
	if v == nil {
		v = &variable{}
		t.vars[name] = v
	}
	return v
}

func (t *varTable) add(name string, s site) {
	v := t.at(name)
	v.sites = append(v.sites, s)
}

func (t *varTable) collect(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Assign:
		t.collectAssign(n)
	case *syntax.DeclClause:
		if declares(n, 'a') {
			for _, as := range n.Args {
				if as.Name != nil {
					t.add(as.Name.Value, site{kind: siteNumber, element: true})
				}
			}
		}
		for _, as := range n.Args {
			if as.Name == nil && as.Value != nil {
				if lit := as.Value.Lit(); lit == "" || lit[0] != '-' && lit[0] != '+' {
					t.fogged = true // declare "x=$y"
				}
			}
		}
		if declares(n, 'A') {
			for _, as := range n.Args {
				if as.Name != nil {
					t.at(as.Name.Value).assoc = true
				}
			}
		}
		if declares(n, 'n') {
			t.fogged = true
		}
	case *syntax.WordIter:
		if len(n.Items) == 0 {
			t.add(n.Name.Value, site{})
		}
		for _, w := range n.Items {
			t.add(n.Name.Value, site{word: w, kind: siteItem})
		}
	case *syntax.ForClause:
		if w, ok := n.Loop.(*syntax.WordIter); ok && n.Select {
			t.add(w.Name.Value, site{})
		}
	case *syntax.BinaryArithm:
		if w, ok := n.X.(*syntax.Word); ok && assigns(n.Op) && syntax.ValidName(w.Lit()) {
			t.add(w.Lit(), site{kind: siteNumber})
		}
	case *syntax.ParamExp:
		if n.Exp != nil && n.Param != nil &&
			(n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			t.add(n.Param.Value, site{word: n.Exp.Word, kind: siteWord})
		}
	case *syntax.Redirect:
		if n.N != nil && len(n.N.Value) > 2 && n.N.Value[0] == '{' {
			t.add(n.N.Value[1:len(n.N.Value)-1], site{kind: siteNumber})
		}
	case *syntax.CallExpr:
		t.collectCall(n)
	}
}

func assigns(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn,
		syntax.RemAssgn, syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn,
		syntax.ShrAssgn, syntax.AndBoolAssgn, syntax.OrBoolAssgn, syntax.XorBoolAssgn, syntax.PowAssgn:
		return true
	}
	return false
}

func (t *varTable) collectAssign(n *syntax.Assign) {
	if n.Name == nil {
		return
	}
	name := n.Name.Value
	switch {
	case n.Naked:
		t.at(name) // declare x, export x: no value of its own
	case n.Array != nil:
		for _, e := range n.Array.Elems {
			t.add(name, site{word: e.Value, kind: siteItemOrUnknown(e.Value), element: true})
		}
		if len(n.Array.Elems) == 0 {
			t.add(name, site{kind: siteNumber, element: true})
		}
	case n.Append:
		t.add(name, site{word: n.Value, kind: siteAppend, element: n.Index != nil})
	default:
		t.add(name, site{word: n.Value, kind: siteWord, element: n.Index != nil})
	}
}

func siteItemOrUnknown(w *syntax.Word) siteKind {
	if w == nil {
		return siteUnknown
	}
	return siteItem
}

// assigners are the programs that assign to variables named by their operands, or that run text which
// may do so.
var assigners = map[string]bool{
	"read": true, "mapfile": true, "readarray": true, "printf": true, "getopts": true, "wait": true,
	"declare": true, "typeset": true, "local": true, "export": true, "readonly": true, "let": true,
	"unset": true, "coproc": true,
}

var foggers = map[string]bool{"eval": true, "source": true, ".": true, "trap": true, "enable": true}

func (t *varTable) collectCall(n *syntax.CallExpr) {
	hit, computed := false, false
	for _, w := range n.Args {
		lit := w.Lit()
		switch {
		case assigners[lit]:
			hit = true
		case foggers[lit]:
			t.fogged = true
		case lit == "":
			computed = true
		}
	}
	if !hit {
		return
	}
	printf := n.Args[0].Lit() == "printf"
	first := true
	for _, w := range n.Args {
		if lit := w.Lit(); syntax.ValidName(lit) && !assigners[lit] {
			if first && t.feeds[n] != nil {
				t.add(lit, site{kind: siteRead, read: n})
			} else {
				t.add(lit, site{})
			}
			first = false
		}
	}
	if computed && !printf {
		first := n.Args[0].Lit()
		if first != "read" && first != "mapfile" && first != "readarray" && first != "wait" {
			t.fogged = true
		}
	}
}

// declares reports whether a declare clause has the option letter.
func declares(n *syntax.DeclClause, letter byte) bool {
	for _, as := range n.Args {
		w := as.Value
		if as.Name != nil || w == nil {
			continue
		}
		s := w.Lit()
		if len(s) > 1 && (s[0] == '-' || s[0] == '+') {
			for i := 1; i < len(s); i++ {
				if s[i] == letter {
					return true
				}
			}
		}
	}
	return n.Variant != nil && n.Variant.Value == "nameref" && letter == 'n'
}
