package shellsafe

import (
	"strings"
	"unicode/utf8"
)

// escape resolves what follows a backtick and consumes it.
func (p *psParser) escape() rune {
	r := p.next()
	switch r {
	case '0':
		return 0
	case 'a':
		return '\a'
	case 'b':
		return '\b'
	case 'e':
		return 0x1B
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'v':
		return '\v'
	case 'u':
		if p.peek() == '{' { // `u{2713}; the 5.1 reading differs, so the code point is not guessed
			p.fail("an escape by code point")
		}
	}
	return r
}

// single scans the rest of a single-quoted string into b.
func (p *psParser) single(b *strings.Builder) {
	for {
		if p.eof() {
			p.fail("a string without end")
		}
		r := p.next()
		if psIsSingle(r) {
			if !psIsSingle(p.peek()) {
				return
			}
			r = p.next()
		}
		b.WriteRune(r)
	}
}

// psText gathers a string with expansions.
type psText struct {
	lit   strings.Builder
	parts []psNode
	lead  string
}

func (t *psText) add(n psNode) {
	if len(t.parts) == 0 {
		t.lead = t.lit.String()
	}
	t.parts = append(t.parts, n)
}

// double scans the rest of a double-quoted string into t.
func (p *psParser) double(t *psText) {
	for {
		if p.eof() {
			p.fail("a string without end")
		}
		r := p.next()
		switch {
		case psIsDouble(r):
			if !psIsDouble(p.peek()) {
				return
			}
			r = p.next()
		case r == '$':
			if n := p.dollar(false); n != nil {
				t.add(n)
				continue
			}
		case r == '`' && !p.eof():
			r = p.escape()
		}
		t.lit.WriteRune(r)
	}
}

// dollar scans an expansion in a string after its dollar sign; nil when the sign stands for itself.
func (p *psParser) dollar(here bool) psNode {
	r := p.peek()
	switch {
	case r == '(':
		return p.embedded(here)
	case r == '{' || psIsVarStart(r):
		p.pos--
		n, _ := p.variable(false, false)
		return n
	}
	return nil
}

// embedded scans $( … ) in a string. PowerShell finds the end by counting brackets, blind to quotes,
// and outside a here-string takes a doubled quote for one: the text between is parsed on its own.
func (p *psParser) embedded(here bool) psNode {
	start := p.pos - 1
	p.pos++
	var b strings.Builder
	var offs []int
	for depth := 1; ; {
		if p.eof() {
			p.fail("`$(` without end")
		}
		at := p.pos
		r := p.next()
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case !here && (r == '`' || psIsDouble(r)) && psIsDouble(p.peek()):
			at = p.pos
			r = p.next()
		}
		if depth == 0 {
			offs = append(offs, p.offs[at])
			break
		}
		for i := range utf8.RuneLen(r) {
			offs = append(offs, p.offs[at+i])
		}
		b.WriteRune(r)
	}
	p.enter()
	defer p.leave()
	sub := newPSParser(b.String(), offs, p.known, p.depth)
	body := sub.statements(0)
	return &psGroup{p.span(start), "$(", body}
}

// hereString scans a here-string whose opening @ and quote are at the position.
func (p *psParser) hereString() psNode {
	start := p.pos
	p.next()
	isQuote := psIsSingle
	expand := psIsDouble(p.next())
	if expand {
		isQuote = psIsDouble
	}
	for psIsBlank(p.peek()) {
		p.next()
	}
	if !p.newline() {
		p.fail("text after the start of a here-string")
	}
	var t psText
	for lineStart := true; ; {
		if p.eof() {
			p.fail("a here-string without end")
		}
		if lineStart && isQuote(p.peek()) {
			_, n := utf8.DecodeRuneInString(p.src[p.pos:])
			if p.after(n) == '@' {
				p.pos += n + 1
				break
			}
		}
		lineStart = false
		if p.newline() {
			t.lit.WriteByte('\n')
			lineStart = true
			continue
		}
		r := p.next()
		if expand && r == '$' {
			if n := p.dollar(true); n != nil {
				t.add(n)
				continue
			}
		} else if expand && r == '`' && !p.eof() {
			r = p.escape()
		}
		t.lit.WriteRune(r)
	}
	return &psString{psPos: p.span(start), value: t.lit.String(), parts: t.parts, lead: t.lead}
}
