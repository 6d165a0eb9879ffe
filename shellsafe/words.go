package shellsafe

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A word is what is known of one word after the shell's expansions.
type word struct {
	// text is the whole value when lit, else the part of it that is known to come first.
	text string
	// suffix is the part that is known to come last, when not lit.
	suffix string
	// lit: exactly this one word, whatever happens at run time.
	lit bool
	// split: an unquoted expansion. It may become any number of words, none included, and the second
	// and later ones start with nobody knows what.
	split bool
	// glob: a pattern that may become several words, each of which starts with text.
	glob bool
	// num: decimal digits, perhaps with a sign.
	num bool
	// nodash: whatever it is, it does not start with a dash.
	nodash bool
	// not: what it is surely not the name of.
	not nameSet
	// viaVar: text is known through a variable's assignment, which may not have happened.
	viaVar bool
	// appended: added by xargs or fd behind what is written.
	appended bool

	off, end int
	src      *syntax.Word
}

// words evaluates ws and judges every substitution in them.
func (a *analyzer) words(ws []*syntax.Word) []word {
	start := len(a.wordArena)
	for _, w := range ws {
		// A substitution in w uses the arena behind what is there, and gives it back.
		a.wordArena = a.word(a.wordArena, w)
	}
	end := len(a.wordArena)
	return a.wordArena[start:end:end]
}

// word appends what w may become.
func (a *analyzer) word(dst []word, w *syntax.Word) []word {
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && plainLit(lit.Value) {
			return append(dst, word{
				text: lit.Value, lit: true, num: isNumber(lit.Value), src: w,
				off: int(lit.ValuePos.Offset()), end: int(lit.ValueEnd.Offset()),
			})
		}
	}
	off, end := int(w.Pos().Offset()), int(w.End().Offset())
	if n := braces(w); n > maxBraces {
		a.single(w)
		return append(dst, word{split: true, off: off, end: end})
	} else if n > 0 {
		copied := &syntax.Word{Parts: w.Parts}
		if syntax.SplitBraces(copied) {
			alts, ok := expandBraces(copied.Parts)
			if !ok || a.dialect == POSIX {
				// Too many to look at, or a shell that may or may not expand braces.
				a.single(w)
				return append(dst, word{split: true, off: off, end: end, src: nil})
			}
			for _, parts := range alts {
				x := a.single(&syntax.Word{Parts: parts})
				x.off, x.end, x.src = off, end, &syntax.Word{Parts: parts}
				dst = append(dst, x)
			}
			return dst
		}
	}
	x := a.single(w)
	x.off, x.end, x.src = off, end, w
	return append(dst, x)
}

// one evaluates a word where the shell neither splits nor expands braces: an assignment's value, a
// redirection's target, a case word.
func (a *analyzer) one(w *syntax.Word) word {
	x := a.single(w)
	x.off, x.end, x.src = int(w.Pos().Offset()), int(w.End().Offset()), w
	return x
}

// hereDocument judges the body of a here-document, in which only $ and backquotes mean something.
func (a *analyzer) hereDocument(w *syntax.Word) {
	var b wordBuilder
	for _, p := range w.Parts {
		if _, ok := p.(*syntax.Lit); !ok {
			a.expansion(&b, p, true)
		}
	}
}

// plainLit reports whether an unquoted literal stands for itself.
func plainLit(s string) bool {
	if s == "[" || s == "[[" || s == "]" || s == "]]" {
		return true
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\', '*', '?', '[', '{', '~', '$', '`':
			return false
		}
	}
	return true
}

// A wordBuilder collects a word's parts.
type wordBuilder struct {
	buf     []byte // known text since the start, or since the last unknown part
	prefix  string // text before the first unknown part
	unknown bool
	nonum   bool // a part is not a number
	word
}

func (b *wordBuilder) add(s string) { b.buf = append(b.buf, s...) }

// hole marks a part whose value is not known.
func (b *wordBuilder) hole(num bool) {
	if !b.unknown {
		b.prefix, b.unknown = string(b.buf), true
	}
	b.buf = b.buf[:0]
	if !num {
		b.nonum = true
	}
}

func (b *wordBuilder) done() word {
	w := b.word
	if !b.unknown {
		w.text, w.lit = string(b.buf), !w.split && !w.glob && !w.viaVar
		w.num = w.num || isNumber(w.text)
		return w
	}
	w.text, w.suffix = b.prefix, string(b.buf)
	w.num = !b.nonum && allDigits(w.suffix) && (allDigits(w.text) || w.text == "-")
	return w
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && allDigits(s)
}

func (a *analyzer) single(w *syntax.Word) word {
	if a.tired(w) {
		return word{split: true}
	}
	var b wordBuilder
	for i, p := range w.Parts {
		a.part(&b, p, i == 0, i == len(w.Parts)-1)
	}
	x := b.done()
	if x.glob && !x.split && plainPattern(w) {
		x.not |= fromListing
	}
	return x
}

// part adds one part of a word. It handles every kind of part that the parser makes and fails closed
// on any other.
func (a *analyzer) part(b *wordBuilder, p syntax.WordPart, first, last bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		a.litPart(b, p.Value, first, last)
	case *syntax.SglQuoted:
		if a.inDouble && !plainQuoted(p) {
			a.reportNode(Contained, p, "expansion",
				"within double quotes the quotes of "+quote(a.text(p))+" do not protect what is in them", "")
		}
		switch {
		case !p.Dollar:
			b.add(p.Value)
		case a.dialect == POSIX:
			// Some shells decode $'…', some do not.
			b.hole(false)
		default:
			b.add(decodeANSI(p.Value))
		}
	case *syntax.DblQuoted:
		if p.Dollar {
			b.hole(false) // translated by the locale's catalogue
		}
		for _, q := range p.Parts {
			if lit, ok := q.(*syntax.Lit); ok {
				b.add(unescapeDouble(lit.Value))
				continue
			}
			a.expansion(b, q, true)
		}
	case *syntax.ExtGlob:
		a.extGlob(b, p)
	case *syntax.BraceExp:
		for _, e := range p.Elems {
			a.single(e)
		}
		b.hole(false)
		b.split = true
	default:
		a.expansion(b, p, false)
	}
}

// expansion adds a part that the shell computes.
func (a *analyzer) expansion(b *wordBuilder, p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.ParamExp:
		v := a.param(p, quoted)
		switch {
		case v.known && (quoted || plainValue(v.text)):
			b.add(v.text)
			b.viaVar = true
			if !quoted {
				b.split = b.split || v.text == ""
			}
		default:
			if !b.unknown && len(b.buf) == 0 {
				b.nodash, b.not = v.nodash, v.not
			}
			b.hole(v.num)
			if v.multi || !quoted && !v.num {
				b.split = true
			}
		}
	case *syntax.CmdSubst:
		saved := a.inDouble
		a.inDouble = false
		num, nodash := a.cmdSubst(p)
		a.inDouble = saved
		if nodash && !b.unknown && len(b.buf) == 0 {
			b.nodash = true
		}
		b.hole(num)
		if !quoted && !num && !nodash {
			b.split = true
		}
	case *syntax.ArithmExp:
		a.arithm(p.X)
		b.hole(true)
	case *syntax.ProcSubst:
		saved := a.inDouble
		a.inDouble = false
		a.cond++
		a.stmts(p.Stmts)
		a.cond--
		a.inDouble = saved
		if !b.unknown && len(b.buf) == 0 {
			b.nodash = true
		}
		b.hole(false)
	default:
		a.unsupported(p)
		b.hole(false)
		b.split = true
	}
}

// plainValue reports whether an unquoted expansion of this value stays one word.
func plainValue(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t\n*?[\\~")
}

func (a *analyzer) litPart(b *wordBuilder, s string, first, last bool) {
	if first && strings.HasPrefix(s, "~") {
		// A home directory, or the text itself where there is no such user.
		b.add("~")
		b.hole(false)
		s = s[1:]
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i+1 < len(s) {
				i++
				if s[i] != '\n' {
					b.buf = append(b.buf, s[i])
				}
			}
		case '*', '?':
			b.hole(false)
			b.glob = true
		case '[':
			// Without a closing bracket it stands for itself.
			if last && strings.IndexByte(s[i:], ']') < 0 || first && last && (s == "[" || s == "[[") {
				b.buf = append(b.buf, c)
				continue
			}
			b.hole(false)
			b.glob = true
			if j := strings.IndexByte(s[i:], ']'); j > 0 {
				i += j
			}
		case '$':
			if last && i == len(s)-1 || a.dialect == Bash {
				b.buf = append(b.buf, c)
				continue
			}
			b.hole(false) // $"…" and $'…' where the dialect does not know them
		default:
			b.buf = append(b.buf, c)
		}
	}
}

// extGlob handles @(…) and its kin. The parser keeps the pattern as text, in which bash still
// performs substitutions.
func (a *analyzer) extGlob(b *wordBuilder, p *syntax.ExtGlob) {
	if strings.ContainsAny(p.Pattern.Value, "$`<>") {
		a.reportNode(Contained, p, "expansion",
			"the pattern "+quote(a.text(p))+" may hold a substitution that cannot be read", "")
	}
	b.hole(false)
	b.glob = true
}

// unsupported is the fail-closed end of every switch over the parser's nodes.
func (a *analyzer) unsupported(n syntax.Node) {
	a.reportNode(Invalid, n, "grammar", "the construct "+quote(a.text(n))+" is not understood", "")
}

// mayBeOption reports whether a program could take the word, or one of the words that it becomes, for
// an option.
func (w *word) mayBeOption() bool {
	switch {
	case w.lit, w.viaVar && !w.split && !w.glob && w.suffix == "" && w.text != "":
		return len(w.text) > 1 && w.text[0] == '-'
	case w.num && !w.split:
		return false
	case w.split:
		return true
	case w.text != "":
		return w.text[0] == '-'
	}
	return !w.nodash
}
