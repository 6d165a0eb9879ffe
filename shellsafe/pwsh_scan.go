package shellsafe

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// psParser reads PowerShell's grammar straight from the text. PowerShell's tokens depend on whether an
// expression or a command's argument is expected, so there is no separate list of tokens: each rule
// scans what it needs. The facts are those of the language's own tokenizer (version 7; where Windows
// PowerShell 5.1 reads a text differently it reports a syntax error and runs nothing).
//
// A parser is used by one goroutine, for one line.
type psParser struct {
	src   string
	offs  []int // offset in the line of each byte of src, and of its end
	pos   int
	depth int
	known *psKnown // shared with the parsers of texts inside strings
}

// psKnown collects what a line assigns: by variable, the values (nil for one that is not a literal).
type psKnown struct {
	assigned map[string][]psNode
}

// psStop ends a parse early, with the verdict.
type psStop struct {
	verdict Verdict
	reason  string
	at      psPos
	row     string
}

// psMaxDepth bounds how deep rules may nest; a bracket takes about five.
const psMaxDepth = 240

func newPSParser(src string, offs []int, known *psKnown, depth int) *psParser {
	if offs == nil {
		offs = make([]int, len(src)+1)
		for i := range offs {
			offs[i] = i
		}
	}
	return &psParser{src: src, offs: offs, known: known, depth: depth}
}

func (p *psParser) span(from int) psPos { return psPos{p.offs[from], p.offs[p.pos]} }

// fail ends the parse: the text has no meaning.
func (p *psParser) fail(format string, args ...any) {
	at := psPos{p.offs[p.pos], p.offs[p.pos]}
	if p.pos < len(p.src) {
		_, n := utf8.DecodeRuneInString(p.src[p.pos:])
		at.to = p.offs[p.pos+n-1] + 1
	}
	panic(psStop{Invalid, "PowerShell syntax: " + fmt.Sprintf(format, args...), at, "syntax"})
}

// unsupported ends the parse at a construct whose effect is not judged.
func (p *psParser) unsupported(from int, what string) {
	panic(psStop{Contained, what, p.span(from), "unsupported"})
}

func (p *psParser) enter() {
	p.depth++
	if p.depth > psMaxDepth {
		p.fail("nested too deep")
	}
}

func (p *psParser) leave() { p.depth-- }

func (p *psParser) eof() bool { return p.pos >= len(p.src) }

// peek returns the rune at the position, or 0 at the end. NUL cannot be in the text.
func (p *psParser) peek() rune {
	if p.eof() {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(p.src[p.pos:])
	return r
}

func (p *psParser) next() rune {
	if p.eof() {
		return 0
	}
	r, n := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += n
	return r
}

// has says whether the text goes on with s.
func (p *psParser) has(s string) bool { return strings.HasPrefix(p.src[p.pos:], s) }

// after returns the byte n places on, or 0.
func (p *psParser) after(n int) byte {
	if p.pos+n < len(p.src) {
		return p.src[p.pos+n]
	}
	return 0
}

func psIsSingle(r rune) bool { return r == '\'' || r >= 0x2018 && r <= 0x201B }
func psIsDouble(r rune) bool { return r == '"' || r >= 0x201C && r <= 0x201E }
func psIsDash(r rune) bool   { return r == '-' || r >= 0x2013 && r <= 0x2015 }

func psIsBlank(r rune) bool {
	return r == ' ' || r == '\t' || r == 0xA0 || r > 0x100 && unicode.In(r, unicode.Z)
}

// psEndsToken says whether r ends a bare word. A dash, a quote, an equals sign, < and > do not.
func psEndsToken(r rune) bool {
	switch r {
	case 0, '\n', '\r', '&', '(', ')', ',', ';', '{', '|', '}':
		return true
	}
	return psIsBlank(r)
}

func psIsNameStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }
func psIsName(r rune) bool      { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// psIsVarStart says whether r may follow a dollar sign in an unbraced variable.
func psIsVarStart(r rune) bool {
	return psIsName(r) || r == '$' || r == '?' || r == '^' || r == ':'
}

// skip passes blanks, comments and continued lines; newlines too when lines is set.
func (p *psParser) skip(lines bool) {
	for !p.eof() {
		r := p.peek()
		switch {
		case psIsBlank(r), lines && (r == '\n' || r == '\r'):
			p.next()
		case r == '`':
			_, n := utf8.DecodeRuneInString(p.src[p.pos:])
			q, m := utf8.DecodeRuneInString(p.src[p.pos+n:])
			if m == 0 {
				p.fail("a backtick at the end")
			}
			if q != '\r' && q != '\n' && !psIsBlank(q) {
				return
			}
			p.pos += n + m
			if q == '\r' && p.peek() == '\n' {
				p.next()
			}
		case r == '#':
			p.comment()
		case p.has("<#"):
			end := strings.Index(p.src[p.pos+2:], "#>")
			if end < 0 {
				p.fail("a comment without end")
			}
			p.pos += 2 + end + 2
		default:
			return
		}
	}
}

// comment passes a comment to the end of its line. One that the engine obeys is not accepted.
func (p *psParser) comment() {
	from := p.pos
	end := strings.IndexAny(p.src[p.pos:], "\r\n")
	if end < 0 {
		end = len(p.src) - p.pos
	}
	p.pos += end
	if rest := p.src[from+1 : p.pos]; len(rest) >= 8 && strings.EqualFold(rest[:8], "requires") {
		p.unsupported(from, "`#requires` can load modules")
	}
}

// newline consumes one line end, if there is one.
func (p *psParser) newline() bool {
	switch {
	case p.has("\r\n"):
		p.pos += 2
	case p.has("\n"), p.has("\r"):
		p.pos++
	default:
		return false
	}
	return true
}

// variable scans a variable at its sigil. In a command's argument some characters after the name make
// the whole a bare word instead: then ok is false and nothing is consumed.
func (p *psParser) variable(splat, command bool) (n psNode, ok bool) {
	start := p.pos
	p.pos++
	var name string
	if p.peek() == '{' && !splat {
		name = p.braced()
		if r := p.peek(); command && !psEndsToken(r) && r != '.' && r != '[' {
			p.pos = start
			return nil, false
		}
	} else {
		if !psIsVarStart(p.peek()) {
			p.pos = start
			return nil, false
		}
		if name, ok = p.plainName(command); !ok {
			p.pos = start
			return nil, false
		}
	}
	name = asciiLower(name)
	if name == "" || strings.HasSuffix(name, ":") {
		p.fail("a variable without name")
	}
	return &psVar{p.span(start), name, splat}, true
}

func (p *psParser) plainName(command bool) (string, bool) {
	from := p.pos
	if r := p.next(); r == '$' || r == '?' || r == '^' {
		return p.src[from:p.pos], !command || psEndsToken(p.peek()) || p.peek() == '.' || p.peek() == '['
	}
	for !p.eof() {
		r := p.peek()
		if r == ':' && p.after(1) == ':' {
			break
		}
		if !psIsName(r) && r != '?' && r != ':' {
			if command && !psEndsToken(r) && r != '.' && r != '[' && r != '=' {
				return "", false
			}
			break
		}
		p.next()
	}
	return p.src[from:p.pos], true
}

func (p *psParser) braced() string {
	p.next()
	var b strings.Builder
	for {
		if p.eof() {
			p.fail("`${` without end")
		}
		switch r := p.next(); {
		case r == '}':
			return b.String()
		case r == '{' || psIsDouble(r):
			p.fail("a brace or a quote in a variable's name")
		case r == '`':
			b.WriteRune(p.escape())
		default:
			b.WriteRune(r)
		}
	}
}

// bareword scans a bare word: a command's name or argument with quotes, escapes and expansions in it.
func (p *psParser) bareword() *psString {
	start := p.pos
	var t psText
	gt := false
	for !psEndsToken(p.peek()) {
		r := p.next()
		switch {
		case r == '`' && !p.eof():
			r = p.escape()
		case psIsSingle(r):
			p.single(&t.lit)
			continue
		case psIsDouble(r):
			p.double(&t)
			continue
		case r == '$':
			if n := p.dollar(false); n != nil {
				t.add(n)
				continue
			}
		case r == '>':
			gt = true
		}
		t.lit.WriteRune(r)
	}
	return &psString{psPos: p.span(start), value: t.lit.String(), parts: t.parts, lead: t.lead, bare: true, gt: gt}
}

// number scans a number and says whether there is one. Elsewhere than in an expression a number ends
// only where a bare word ends: 7z and 5/2 are words there.
func (p *psParser) number(command bool) (psNode, bool) {
	start := p.pos
	i := p.pos
	digits := func(set string) bool {
		from := i
		for i < len(p.src) && strings.IndexByte(set, p.src[i]) >= 0 {
			i++
		}
		return i > from
	}
	const dec = "0123456789"
	low := strings.ToLower(p.src[i:min(len(p.src), i+2)])
	switch {
	case low == "0x":
		i += 2
		if !digits(dec + "abcdefABCDEF") {
			return nil, false
		}
	case low == "0b":
		i += 2
		if !digits("01") {
			return nil, false
		}
	default:
		any := digits(dec)
		if i+1 < len(p.src) && p.src[i] == '.' && p.src[i+1] >= '0' && p.src[i+1] <= '9' {
			i++
			any = digits(dec)
		} else if any && i < len(p.src) && p.src[i] == '.' && (i+1 == len(p.src) || p.src[i+1] != '.') {
			i++
		}
		if !any {
			return nil, false
		}
		if mark := i; i < len(p.src) && (p.src[i] == 'e' || p.src[i] == 'E') {
			i++
			if i < len(p.src) && (p.src[i] == '+' || p.src[i] == '-') {
				i++
			}
			if !digits(dec) {
				i = mark
			}
		}
	}
	digits("ulsyndULSYND")
	for _, m := range []string{"kb", "mb", "gb", "tb", "pb"} {
		if i+2 <= len(p.src) && strings.EqualFold(p.src[i:i+2], m) {
			i += 2
			break
		}
	}
	r, _ := utf8.DecodeRuneInString(p.src[i:])
	if i == len(p.src) {
		r = 0
	}
	if !psEndsToken(r) && (command || !strings.ContainsRune("!#%*+-./<=>]?:", r) && !psIsDash(r)) {
		return nil, false
	}
	p.pos = i
	return &psNumber{p.span(start), p.src[start:i]}, true
}

// asciiLower lowers A to Z only. Names are compared so: a letter that merely lowers to an ASCII letter
// (such as the Kelvin sign) is another name to PowerShell, and must not be found in a table.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
