package shellsafe

// command parses a command; nil when none starts here.
func (p *psParser) command() psNode {
	p.skip(false)
	from := p.pos
	c := &psCommand{}
	switch r := p.peek(); {
	case r == '&' && p.after(1) != '&':
		c.op = "&"
		p.pos++
	case r == '.':
		q := p.runeAt(p.pos + 1)
		if psEndsToken(q) || q == '$' || q == '"' || q == '\'' {
			c.op = "."
			p.pos++
		}
	}
	p.skip(false)
	if r := p.redirectStart(); r && c.op == "" {
		p.fail("a redirection without a command")
	}
	if c.name = p.word(c.op == ""); c.name == nil {
		if c.op != "" {
			p.fail("a command is expected after `%s`", c.op)
		}
		return nil
	}
	ended := false
	for {
		p.skip(false)
		switch r := p.peek(); r {
		case 0, '\n', '\r', ';', '|', ')', '}', '&':
			c.psPos = p.span(from)
			return c
		case ',':
			p.fail("`,` is not expected here")
		}
		if r, ok := p.redirection(); ok {
			c.redirs = append(c.redirs, r)
			continue
		}
		a := p.arg(&ended)
		c.args = append(c.args, a)
	}
}

// redirectStart says whether a redirection starts at the position.
func (p *psParser) redirectStart() bool {
	c := p.after(0)
	return c == '>' || c == '<' && p.after(1) != '#' || (c == '*' || c >= '1' && c <= '6') && p.after(1) == '>'
}

// arg parses a parameter or an argument. ended is set by --, after which there are no parameters.
func (p *psParser) arg(ended *bool) psArg {
	from := p.pos
	a := psArg{}
	if psIsDash(p.peek()) && !*ended {
		if b := p.runeAtDash(); b == '_' || b == '?' || psIsNameStart(b) {
			if p.parameter(&a) {
				a.psPos, a.text = p.span(from), p.src[from:p.pos]
				a.touches = !p.eof() && !psIsBlank(p.peek()) && !psEndsToken(p.peek())
				return a
			}
			p.pos = from
		}
	}
	a.value = p.argument()
	if a.value == nil {
		p.fail("%q is not expected here", string(p.peek()))
	}
	a.psPos, a.text = p.span(from), p.src[from:p.pos]
	a.touches = !p.eof() && (p.peek() == '(' || p.peek() == '{' || !psIsBlank(p.peek()) && !psEndsToken(p.peek()))
	if a.text == "--" {
		*ended = true
	}
	return a
}

func (p *psParser) runeAtDash() rune {
	mark := p.pos
	p.next()
	r := p.peek()
	p.pos = mark
	return r
}

// parameter parses -name or -name:value into a; false when a quote makes it a bare word.
func (p *psParser) parameter(a *psArg) bool {
	p.next()
	from := p.pos
	for !p.eof() {
		r := p.peek()
		if psIsSingle(r) || psIsDouble(r) {
			return false
		}
		if psEndsToken(r) || r == '.' || r == '[' {
			break
		}
		if r == ':' {
			a.param = p.src[from:p.pos]
			p.pos++
			p.skip(false)
			if p.peek() != ',' {
				if a.value = p.argument(); a.value == nil {
					p.fail("-%s: needs a value", a.param)
				}
			}
			return true
		}
		p.next()
	}
	a.param = p.src[from:p.pos]
	return true
}

// argument parses an argument: one word, or several with commas between them.
func (p *psParser) argument() psNode {
	return p.commaList(func() psNode { return p.word(false) })
}

// word parses one word of a command. As a command's name a word is not expanded, so an expansion in it
// makes it a name that no table has.
func (p *psParser) word(name bool) psNode {
	r := p.peek()
	switch {
	case r == '&' || r == '<' || r == ',' || psEndsToken(r) && r != '(' && r != '{':
		return nil
	case r == ']': // always a word of its own
		from := p.pos
		p.pos++
		return &psString{psPos: p.span(from), value: "]", bare: true}
	}
	if !name || r != '$' {
		if n := p.primary(true, true); n != nil {
			return n
		}
	}
	return p.bareword()
}
