package shellsafe

import "strings"

func (p *psParser) unary(single bool) psNode {
	p.enter()
	defer p.leave()
	p.skip(false)
	from := p.pos
	n := p.prefixed(single)
	if n == nil {
		return nil
	}
	mark := p.pos
	p.skip(false)
	if op := p.doubled(); op != "" {
		return &psOp{p.span(from), op, []psNode{n}}
	}
	p.pos = mark
	return n
}

// doubled consumes ++ or --.
func (p *psParser) doubled() string {
	if p.has("++") {
		p.pos += 2
		return "++"
	}
	if psIsDash(p.peek()) {
		mark := p.pos
		p.next()
		if psIsDash(p.peek()) {
			p.next()
			return "--"
		}
		p.pos = mark
	}
	return ""
}

func (p *psParser) prefixed(single bool) psNode {
	from := p.pos
	operand := func(op string) psNode {
		p.skip(true)
		n := p.unary(single)
		if n == nil {
			p.fail("a value is expected after `%s`", op)
		}
		return &psOp{p.span(from), op, []psNode{n}}
	}
	if op, end := p.wordOp(psUnary); op != "" {
		p.pos = end
		return operand(op)
	}
	if op := p.doubled(); op != "" {
		return operand(op)
	}
	switch r := p.peek(); {
	case r == ',' && !single:
		p.pos++
		return operand(",")
	case r == '!':
		if psIsNameStart(rune(p.after(1))) {
			return nil
		}
		p.pos++
		return operand("!")
	case r == '+':
		if p.after(1) == '=' {
			return nil
		}
		p.pos++
		return operand("+")
	case psIsDash(r):
		if b := p.afterDash(); b == '=' || b == '?' || b == '_' || b >= 0x80 || psIsNameStart(rune(b)) {
			return nil
		}
		p.next()
		return operand("-")
	case r == '[':
		return p.typed(single)
	}
	return p.primary(true, false)
}

// typed parses a type literal and what it applies to.
func (p *psParser) typed(single bool) psNode {
	from := p.pos
	t := p.typeLiteral()
	if p.has("::") || p.peek() == '.' && p.after(1) != '.' {
		return p.postfix(t, from, false)
	}
	mark := p.pos
	p.skip(false)
	if r := p.peek(); r == 0 || r == '\n' || r == '\r' || r == ',' {
		p.pos = mark
		return t
	}
	n := p.unary(single)
	if n == nil {
		p.pos = mark
		return t
	}
	return &psCast{p.span(from), t, n}
}

// typeLiteral parses [name]. An attribute with arguments can run code and is not judged.
func (p *psParser) typeLiteral() *psType {
	from := p.pos
	var b strings.Builder
	for depth := 0; ; {
		r := p.next()
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == '(' && b.Len() > 1 && depth == 1:
			p.unsupported(from, "an attribute is not judged")
		case r == '.' || r == '_' || r == '+' || r == '`' || r == ',' || r == '*' || psIsName(r):
		case psIsBlank(r):
			continue
		default:
			p.pos = from
			p.fail("a type is expected")
		}
		b.WriteRune(r)
		if depth == 0 {
			name := b.String()
			if len(name) == 2 {
				p.pos = from
				p.fail("a type is expected")
			}
			return &psType{p.span(from), asciiLower(name[1 : len(name)-1])}
		}
	}
}

// primary parses a value and the member accesses after it; nil when none starts here.
func (p *psParser) primary(members, command bool) psNode {
	p.enter()
	defer p.leave()
	from := p.pos
	var n psNode
	switch r := p.peek(); {
	case r == '$' && p.after(1) == '(':
		p.pos += 2
		g := &psGroup{open: "$(", body: p.statements(')')}
		g.psPos = p.span(from)
		n = g
	case r == '$':
		v, ok := p.variable(false, command)
		if !ok {
			return nil
		}
		n = v
	case psIsSingle(r):
		p.next()
		var b strings.Builder
		p.single(&b)
		n = &psString{psPos: p.span(from), value: b.String()}
	case psIsDouble(r):
		p.next()
		var t psText
		p.double(&t)
		n = &psString{psPos: p.span(from), value: t.lit.String(), parts: t.parts, lead: t.lead}
	case r == '@':
		n = p.at()
	case r == '(':
		p.pos++
		p.skip(true)
		body := p.chain()
		if body == nil {
			p.fail("an expression is expected")
		}
		p.close(')')
		n = &psGroup{p.span(from), "(", []psNode{body}}
	case r == '{':
		p.pos++
		b := &psBlock{body: p.statements('}')}
		b.psPos = p.span(from)
		n = b
	case r >= '0' && r <= '9' || r == '.' && p.after(1) >= '0' && p.after(1) <= '9':
		num, ok := p.number(command)
		if !ok {
			return nil
		}
		n = num
	default:
		return nil
	}
	if members {
		n = p.postfix(n, from, command)
	}
	return n
}

// at parses what starts with an @.
func (p *psParser) at() psNode {
	from := p.pos
	p.pos++
	switch r := p.peek(); {
	case r == '(':
		p.pos++
		g := &psGroup{open: "@(", body: p.statements(')')}
		g.psPos = p.span(from)
		return g
	case r == '{':
		p.pos++
		return p.hash(from)
	case psIsSingle(r) || psIsDouble(r):
		p.pos = from
		return p.hereString()
	case psIsVarStart(r):
		p.pos = from
		if v, ok := p.variable(true, false); ok {
			return v
		}
	}
	p.pos = from
	p.fail("`@` is not expected here")
	return nil
}

func (p *psParser) hash(from int) psNode {
	h := &psHash{}
	for {
		p.skip(true)
		switch p.peek() {
		case ';':
			p.pos++
			continue
		case '}':
			p.pos++
			h.psPos = p.span(from)
			return h
		}
		var key psNode
		if psIsNameStart(p.peek()) {
			start := p.pos
			for psIsName(p.peek()) {
				p.next()
			}
			key = &psString{psPos: p.span(start), value: p.src[start:p.pos], bare: true}
		} else if key = p.unary(true); key == nil {
			p.fail("a key is expected")
		}
		p.skip(false)
		if p.peek() != '=' {
			p.fail("`=` is expected")
		}
		p.pos++
		p.skip(true)
		value := p.statement()
		if value == nil {
			p.fail("a value is expected")
		}
		h.keys = append(h.keys, key)
		h.values = append(h.values, value)
		p.skip(false)
		if r := p.peek(); r != ';' && r != '}' && r != '\n' && r != '\r' {
			p.fail("`}` is missing")
		}
	}
}

// postfix parses member accesses, calls and indexes, which follow without a blank.
func (p *psParser) postfix(n psNode, from int, command bool) psNode {
	for {
		static, null := false, 0
		if p.peek() == '?' && (p.after(1) == '.' || p.after(1) == '[') {
			null = 1
		}
		switch {
		case p.after(null) == '.' && p.after(null+1) != '.':
			if r := p.after(null + 1); command && (r == 0 || r == '\n' || r == '\r' || psIsBlank(rune(r))) {
				return n
			}
			p.pos += null + 1
		case p.has("::"):
			p.pos += 2
			static = true
		case p.after(null) == '[':
			p.pos += null + 1
			p.skip(true)
			index := p.ternary(false)
			if index == nil {
				p.fail("an index is expected")
			}
			p.close(']')
			n = &psIndex{p.span(from), n, index}
			continue
		default:
			return n
		}
		p.skip(true)
		m := &psMember{target: n, static: static, name: p.memberName()}
		switch p.peek() {
		case '(':
			p.pos++
			m.call, m.args = true, p.callArgs()
		case '{':
			p.pos++
			start := p.pos - 1
			b := &psBlock{body: p.statements('}')}
			b.psPos = p.span(start)
			m.call, m.args = true, []psNode{b}
		}
		m.psPos = p.span(from)
		n = m
	}
}

func (p *psParser) memberName() psNode {
	from := p.pos
	if psIsNameStart(p.peek()) {
		for psIsName(p.peek()) {
			p.next()
		}
		return &psString{psPos: p.span(from), value: p.src[from:p.pos], bare: true}
	}
	n := p.primary(false, false)
	if n == nil {
		p.fail("a member's name is expected")
	}
	return n
}

func (p *psParser) callArgs() []psNode {
	var args []psNode
	for {
		p.skip(true)
		if p.peek() == ')' {
			p.pos++
			return args
		}
		n := p.ternary(true)
		if n == nil {
			p.fail("an argument is expected")
		}
		args = append(args, n)
		p.skip(true)
		if p.peek() == ',' {
			p.pos++
		} else if p.peek() != ')' {
			p.fail("`)` is missing")
		}
	}
}
