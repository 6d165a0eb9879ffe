package shellsafe

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect judges one redirection, and reports whether it takes standard output away from the terminal.
func (a *analyzer) redirect(r *syntax.Redirect) (outPiped bool) {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		a.steered(strings.Trim(r.N.Value, "{}"), nil, r, false)
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			a.hereDocument(r.Hdoc)
		}
		return false
	case syntax.WordHdoc:
		a.single(r.Word)
		return false
	}
	if r.Word == nil {
		a.unsupported(r)
		return false
	}
	target := a.one(r.Word)
	switch r.Op {
	case syntax.RdrIn:
		a.readTarget(r, target)
	case syntax.DplIn:
		if !dupTarget(target) {
			a.reportNode(Contained, r, "redirect", "the descriptor in "+quote(a.text(r))+" is not known", "")
		}
	case syntax.DplOut:
		// `>& word` duplicates only for digits and a dash; any other word is a file.
		if !dupTarget(target) {
			a.writeTarget(r, target)
		}
		return true
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
		a.writeTarget(r, target)
		return r.N == nil || r.N.Value == "1"
	default:
		a.unsupported(r)
	}
	return false
}

// dupTarget reports whether the word after >& or <& is a descriptor: digits, digits and a dash, or a
// dash.
func dupTarget(w word) bool {
	if w.num && w.text != "-" && !strings.HasPrefix(w.text, "-") {
		return true
	}
	if !w.lit || w.text == "" {
		return false
	}
	return w.text == "-" || allDigits(strings.TrimSuffix(w.text, "-"))
}

// sinks are the targets that keep nothing. A descriptor's name such as /dev/fd/0 is not among them:
// opening it anew truncates the file that stands behind it.
var sinks = map[string]bool{
	"/dev/null": true, "/dev/zero": true, "/dev/full": true, "/dev/tty": true,
	"/dev/stdout": true, "/dev/stderr": true, "/dev/fd/1": true, "/dev/fd/2": true,
}

func (a *analyzer) writeTarget(r *syntax.Redirect, w word) {
	if w.lit && sinks[w.text] {
		return
	}
	if isProcSubst(r.Word) {
		return // its statements have been judged
	}
	if network := a.netDevice(r, w); network {
		return
	}
	name := "a file"
	if w.lit {
		name = quote(w.text)
	}
	hint := "leave the redirection out: the output is returned to you"
	if r.Op == syntax.RdrInOut {
		hint = "use `<` to read"
	}
	a.reportNode(Write, r, "redirect", quote(a.text(r))+" writes to "+name, hint)
}

func isProcSubst(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	_, ok := w.Parts[0].(*syntax.ProcSubst)
	return ok
}

func (a *analyzer) readTarget(r *syntax.Redirect, w word) {
	if a.netDevice(r, w) {
		return
	}
	if w.lit || isProcSubst(r.Word) || harmlessPath(w) {
		return
	}
	a.reportNode(Contained, r, "redirect",
		"the file in "+quote(a.text(r))+" is not known; bash opens a connection for /dev/tcp and /dev/udp",
		"pass the file as an operand: `cat -- \"$f\" | …`")
}

// netDevice refuses bash's /dev/tcp/HOST/PORT and /dev/udp/HOST/PORT.
func (a *analyzer) netDevice(r *syntax.Redirect, w word) bool {
	text := w.text
	if strings.HasPrefix(text, "/dev/tcp/") || strings.HasPrefix(text, "/dev/udp/") {
		a.reportNode(Network, r, "redirect", quote(a.text(r))+" opens a connection", "")
		return true
	}
	return false
}

// harmlessPath reports whether a word cannot name one of bash's network devices.
func harmlessPath(w word) bool {
	if w.lit || w.viaVar && !w.split && !w.glob && w.suffix == "" {
		return !strings.HasPrefix(w.text, "/dev/tcp/") && !strings.HasPrefix(w.text, "/dev/udp/")
	}
	return oneCannotBe(w)&device != 0 // split, it is an error
}
