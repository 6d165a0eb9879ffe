package shellsafe

import (
	"strings"
	"unicode/utf8"
)

func (p *cmdParser) ifCommand() cmdNode {
	n := &cmdIf{}
	for {
		p.skip(cmdBlanks)
		if p.wordIs("/i", "not") == "" {
			break
		}
	}
	test := p.wordIs("exist", "defined", "errorlevel", "cmdextversion")
	p.skip(cmdBlanks)
	n.words = append(n.words, p.condWord())
	if test == "" {
		p.skip(cmdBlanks)
		if p.has("==") {
			p.pos += 2
		} else if p.wordIs("equ", "neq", "lss", "leq", "gtr", "geq") == "" {
			p.fail("a comparison is expected")
		}
		p.skip(cmdDelims)
		n.words = append(n.words, p.condWord())
	}
	if n.then = p.command(); n.then == nil {
		p.fail("a command is expected after the condition")
	}
	if _, group := n.then.(*cmdGroup); group {
		mark := p.pos
		p.skip(cmdBlanks)
		if p.wordIs("else") == "" {
			p.pos = mark
		} else if n.els = p.command(); n.els == nil {
			p.fail("a command is expected after `else`")
		}
	}
	return n
}

// condWord parses a word of a condition.
func (p *cmdParser) condWord() cmdWord {
	from := p.pos
	var b strings.Builder
	for quoted := false; p.pos < len(p.src); {
		c := p.peek()
		if c == '\r' || c == '\n' || !quoted && strings.IndexByte(cmdDelims+"&|<>", c) >= 0 {
			break
		}
		if c == '"' {
			quoted = !quoted
		}
		p.char(&b, quoted)
	}
	if p.pos == from {
		p.fail("a condition is expected")
	}
	return cmdWord{psPos{from, p.pos}, b.String()}
}

func (p *cmdParser) forCommand(from int) cmdNode {
	n := &cmdFor{}
	for {
		p.skip(cmdDelims)
		if p.peek() == '%' {
			break
		}
		start := p.pos
		w := p.condWord()
		w.psPos = psPos{start, p.pos}
		n.opts = append(n.opts, w)
	}
	p.skip("%")
	_, size := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += size
	p.skip(cmdDelims)
	if p.wordIs("in") == "" {
		p.fail("`in` is expected")
	}
	p.skip(cmdDelims)
	if p.peek() != '(' {
		p.fail("`(` is expected")
	}
	p.pos++
	n.set = p.forSet()
	p.skip(cmdDelims)
	if p.wordIs("do") == "" {
		p.fail("`do` is expected")
	}
	p.loops++
	if n.body = p.command(); n.body == nil {
		p.fail("a command is expected after `do`")
	}
	p.loops--
	n.psPos = psPos{from, p.pos}
	return n
}

// forSet parses what stands in FOR's brackets, through the closing one.
func (p *cmdParser) forSet() cmdWord {
	from := p.pos
	var b strings.Builder
	for quoted := false; p.pos < len(p.src); {
		c := p.peek()
		if !quoted {
			switch c {
			case ')':
				w := cmdWord{psPos{from, p.pos}, b.String()}
				p.pos++
				return w
			case '&', '|', '<', '>':
				p.fail("%q is not expected in the brackets of `for`", string(c))
			}
		}
		if c == '"' {
			quoted = !quoted
		}
		if c == '\n' {
			quoted = false
		}
		p.char(&b, quoted)
	}
	p.fail("`)` is missing")
	return cmdWord{}
}
