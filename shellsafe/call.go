package shellsafe

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (a *analyzer) callExpr(c *syntax.CallExpr, io stdio) {
	if len(c.Args) == 0 {
		a.assignments(c.Assigns, false, "")
		return
	}
	saved, words0, opts0 := a.step, len(a.wordArena), len(a.optArena)
	if a.explain && a.mute == 0 {
		a.beginStep(c)
	}
	words := a.words(c.Args)
	program := ""
	if len(words) > 0 && words[0].lit {
		program = words[0].text
	}
	a.assignments(c.Assigns, true, program)
	if len(words) > 0 {
		a.program(words, io)
	}
	a.step = saved
	a.wordArena, a.optArena = a.wordArena[:words0], a.optArena[:opts0]
}

// program judges a call: words[0] is the program. Wrappers come back here with what they run.
func (a *analyzer) program(words []word, io stdio) {
	w := words[0]
	if !w.lit {
		a.reportWord(Contained, w, "command",
			"which program "+quote(a.wordText(w))+" runs is not known", "write the program's name")
		return
	}
	c := &call{name: w, words: words[1:], all: words[1:], io: io}
	if f := a.funcs[w.text]; f != nil {
		a.callFunc(f, c)
		if f.certain && a.index.rows[w.text] == nil {
			return
		}
		// Some shells prefer a builtin to a function of its name.
	}
	name, ok := baseName(w.text)
	if !ok {
		a.reportWord(Contained, w, "path", quote(w.text)+" is run by its path, so its name promises nothing", "")
		return
	}
	r := a.index.rows[name]
	if r == nil || w.text != name && a.index.shell[r] {
		if a.vouched(name, c) {
			return
		}
		reason := quote(w.text) + " is not a program that is known to be read-only"
		if name == "" {
			reason = "the name of the program is empty"
		}
		a.reportWord(Contained, w, "unknown program", reason, "")
		return
	}
	c.row, c.path = r, name
	a.call(c)
}

// call judges a call by its row.
func (a *analyzer) call(c *call) {
	r := c.row
	a.decidedBy(c.path)
	if len(c.words) == 1 && c.words[0].lit && listed(r.info, c.words[0].text) {
		return
	}
	if r.judge != nil {
		r.judge(a, c)
		return
	}
	if len(r.subs) > 0 {
		a.subCall(c)
		return
	}
	v := r.effect()
	if v != Read {
		if v == Contained || v == Network {
			if a.vouched(strings.Fields(c.path)[0], c) {
				return
			}
		}
		a.reportWord(v, c.name, c.path, quote(c.path)+" "+r.doc, r.hint)
		return
	}
	if !a.options(c) {
		return
	}
	if r.max != 0 {
		a.limitOperands(c, max(r.max, 0))
	}
	if r.piped && !c.io.outPiped {
		a.reportWord(Contained, c.name, c.path, quote(c.path)+" on a terminal is interactive and can start programs",
			"use `cat`, or pipe its output")
	}
	if r.check != nil {
		r.check(a, c)
	}
}

// limitOperands reports the operands beyond the first n.
func (a *analyzer) limitOperands(c *call, n int) {
	why, v := c.row.maxWhy, c.row.maxV
	if why == "" {
		why = "changes something"
	}
	if v == Invalid {
		v = Write
	}
	for _, o := range c.opts {
		if o.late && n > 0 && !strings.HasPrefix(c.path, "git ") {
			a.reportWord(v, *o.at, c.path, quote(a.wordText(*o.at))+" stands behind an operand; some systems take it for another one, which "+why,
				"put the options first")
			return
		}
	}
	count := 0
	for _, w := range c.operands {
		count++
		if count > n || w.split && !w.num || w.glob {
			text := "the operand " + quote(a.wordText(w)) + " " + why
			if count <= n {
				text = quote(a.wordText(w)) + " may become several words, of which the second " + why
			}
			a.reportWord(v, w, c.path, text, c.row.hint)
			return
		}
	}
}

// subCall judges a program with sub-commands: its own options, then the sub-command's row.
func (a *analyzer) subCall(c *call) {
	r := c.row
	if !a.options(c) {
		return
	}
	if r.check != nil {
		r.check(a, c)
	}
	if len(c.operands) == 0 {
		if r.noSub != Invalid && r.noSub != Read {
			a.reportWord(r.noSub, c.name, c.path, quote(c.path)+" "+r.doc, r.hint)
		}
		return
	}
	w := c.operands[0]
	if !w.lit {
		a.reportWord(Contained, w, c.path, "the sub-command "+quote(a.wordText(w))+" of "+quote(c.path)+" is not known", "")
		return
	}
	if last := c.operands[len(c.operands)-1]; len(c.operands) > 1 && len(c.operands) <= r.helps && last.lit && last.text == "--help" {
		return
	}
	sub := r.sub(w.text)
	if sub == nil {
		if a.vouched(strings.Fields(c.path)[0], c) {
			return
		}
		v := r.effect()
		if v == Read {
			v = Contained
		}
		a.reportWord(v, w, c.path, quote(c.path+" "+w.text)+" is not known to be read-only", r.hint)
		return
	}
	next := &call{row: sub, path: c.path + " " + w.text, name: w, words: c.operands[1:], all: c.all, io: c.io}
	a.call(next)
}

// listed reports whether list, separated by blanks, holds s.
func listed(list, s string) bool {
	if s == "" {
		return false
	}
	for len(list) > 0 {
		var f string
		f, list, _ = strings.Cut(list, " ")
		if f == s {
			return true
		}
	}
	return false
}
