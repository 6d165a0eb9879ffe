package shellsafe

import (
	"strings"
)

// loop parses the statement that a loop's word starts; nil for another word.
func (p *psParser) loop(from int, word string) psNode {
	f := &psFlow{word: word}
	switch word {
	case "while":
		f.parts = append(p.parens(), p.braces()...)
	case "do":
		f.parts = p.braces()
		p.skip(true)
		if w := p.keyword(); w != "while" && w != "until" {
			p.fail("`while` or `until` is expected")
		}
		f.parts = append(f.parts, p.parens()...)
	case "foreach":
		f.parts = p.foreach()
	case "for":
		f.parts = p.forHead()
		f.parts = append(f.parts, p.braces()...)
	case "switch":
		f.parts = p.switchParts()
	default:
		return nil
	}
	f.psPos = p.span(from)
	return f
}

func (p *psParser) ifStatement(from int) psNode {
	f := &psFlow{word: "if"}
	f.parts = append(p.parens(), p.braces()...)
	for {
		mark := p.pos
		p.skip(true)
		switch p.keyword() {
		case "elseif":
			f.parts = append(f.parts, p.parens()...)
			f.parts = append(f.parts, p.braces()...)
			continue
		case "else":
			f.parts = append(f.parts, p.braces()...)
		default:
			p.pos = mark
		}
		f.psPos = p.span(from)
		return f
	}
}

func (p *psParser) tryStatement(from int) psNode {
	f := &psFlow{word: "try", parts: p.braces()}
	for {
		mark := p.pos
		p.skip(true)
		switch p.keyword() {
		case "catch":
			p.catchTypes()
			f.parts = append(f.parts, p.braces()...)
			continue
		case "finally":
			f.parts = append(f.parts, p.braces()...)
		default:
			p.pos = mark
		}
		f.psPos = p.span(from)
		return f
	}
}

// catchTypes passes the exception types of a catch or a trap.
func (p *psParser) catchTypes() {
	for {
		p.skip(true)
		switch p.peek() {
		case '[':
			p.typeLiteral()
		case ',':
			p.pos++
		default:
			return
		}
	}
}

// foreach parses ( $x in … ) { … } and the switches before it.
func (p *psParser) foreach() []psNode {
	p.skip(true)
	for psIsDash(p.peek()) {
		p.bareword()
		p.skip(true)
	}
	if p.peek() != '(' {
		p.fail("`(` is expected")
	}
	p.pos++
	p.skip(true)
	if p.peek() != '$' {
		p.fail("a variable is expected")
	}
	v, ok := p.variable(false, false)
	if !ok {
		p.fail("a variable is expected")
	}
	p.assigned(v, nil)
	p.skip(true)
	if p.keyword() != "in" {
		p.fail("`in` is expected")
	}
	p.skip(true)
	parts := []psNode{v}
	if n := p.chain(); n != nil {
		parts = append(parts, n)
	}
	p.close(')')
	return append(parts, p.braces()...)
}

// forHead parses ( init ; condition ; step ).
func (p *psParser) forHead() []psNode {
	p.skip(true)
	if p.peek() != '(' {
		p.fail("`(` is expected")
	}
	p.pos++
	var parts []psNode
	for range 3 {
		p.skip(true)
		if r := p.peek(); r != ';' && r != ')' {
			if n := p.chain(); n != nil {
				parts = append(parts, n)
			}
		}
		p.skip(true)
		if p.peek() == ';' {
			p.pos++
		}
	}
	p.close(')')
	return parts
}

// switchParts parses what follows the word switch.
func (p *psParser) switchParts() []psNode {
	var parts []psNode
	p.skip(true)
	for psIsDash(p.peek()) {
		word := asciiLower(p.bareword().value)
		p.skip(true)
		if len(word) > 1 && strings.HasPrefix("file", word[1:]) {
			if p.peek() == '(' {
				break
			}
			n := p.argument()
			if n == nil {
				p.fail("a file is expected")
			}
			parts = append(parts, n)
			p.skip(true)
		}
	}
	if p.peek() == '(' {
		parts = append(parts, p.parens()...)
	}
	p.skip(true)
	if p.peek() != '{' {
		p.fail("`{` is expected")
	}
	p.pos++
	for {
		p.skip(true)
		switch p.peek() {
		case ';':
			p.pos++
			continue
		case '}':
			p.pos++
			return parts
		}
		n := p.argument()
		if n == nil {
			p.fail("a case is expected")
		}
		parts = append(parts, n)
		parts = append(parts, p.braces()...)
	}
}

func (p *psParser) function(from int) psNode {
	p.skip(true)
	name := p.bareword()
	if name.value == "" || len(name.parts) > 0 {
		p.fail("a function's name is expected")
	}
	f := &psFunction{name: asciiLower(name.value)}
	p.skip(true)
	if p.peek() == '(' {
		p.pos++
		f.body = p.parameters()
	}
	f.body = append(f.body, p.braces()...)
	f.psPos = p.span(from)
	return f
}
