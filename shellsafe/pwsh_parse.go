package shellsafe

import "strings"

// parsePS parses a PowerShell text. The error, if any, carries a verdict.
func parsePS(src string, offs []int, known *psKnown) (body []psNode, stop *psStop) {
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(psStop)
			if !ok {
				panic(r)
			}
			body, stop = nil, &s
		}
	}()
	p := newPSParser(src, offs, known, 0)
	return p.statements(0), nil
}

// statements parses statements up to the closing bracket end, which it consumes; 0 is the end of the text.
func (p *psParser) statements(end rune) []psNode {
	p.enter()
	defer p.leave()
	body := p.prologue()
	for {
		p.skip(true)
		for p.peek() == ';' {
			p.pos++
			p.skip(true)
		}
		if p.eof() {
			if end != 0 {
				p.fail("%q is missing", string(end))
			}
			return body
		}
		if end != 0 && p.peek() == end {
			p.pos++
			return body
		}
		before := p.pos
		if n := p.statement(); n != nil {
			body = append(body, n)
		}
		if p.pos == before {
			p.fail("%q is not expected here", string(p.peek()))
		}
		p.skip(false)
		if r := p.peek(); r != 0 && r != ';' && r != '\n' && r != '\r' && r != end && !p.closed() {
			p.fail("%q is not expected here", string(r))
		}
	}
}

// closed says whether the last statement ended in a brace or an &, after which the next may follow.
func (p *psParser) closed() bool {
	before := strings.TrimRight(p.src[:p.pos], " \t")
	return strings.HasSuffix(before, "}") || strings.HasSuffix(before, "&")
}

// prologue parses what only the start of a block may have: param ( … ) and the named blocks.
func (p *psParser) prologue() []psNode {
	var body []psNode
	for {
		mark := p.pos
		p.skip(true)
		from := p.pos
		switch word := p.keyword(); word {
		case "param":
			p.skip(true)
			if p.peek() != '(' {
				p.pos = mark
				return body
			}
			p.pos++
			body = append(body, &psFlow{p.span(from), word, p.parameters()})
			continue
		case "begin", "process", "end", "clean", "dynamicparam":
			p.skip(true)
			if p.peek() == '{' {
				body = append(body, &psFlow{p.span(from), word, p.braces()})
				continue
			}
		}
		p.pos = mark
		return body
	}
}

// parameters parses the rest of a parameter list, through its closing bracket.
func (p *psParser) parameters() []psNode {
	var parts []psNode
	for {
		p.skip(true)
		if p.peek() == ')' {
			p.pos++
			return parts
		}
		for p.peek() == '[' { // here, unlike elsewhere, a line may end after a type
			p.typeLiteral()
			p.skip(true)
		}
		n := p.unary(true)
		if n == nil {
			p.fail("a parameter is expected")
		}
		p.assigned(n, nil)
		parts = append(parts, n)
		p.skip(true)
		if p.peek() == '=' {
			p.pos++
			p.skip(true)
			value := p.ternary(true)
			if value == nil {
				p.fail("a default value is expected")
			}
			parts = append(parts, value)
			p.skip(true)
		}
		if p.peek() == ',' {
			p.pos++
		} else if p.peek() != ')' {
			p.fail("%q is not expected in a parameter list", string(p.peek()))
		}
	}
}

// keyword consumes a word of letters that ends a token, and returns it in lower case; "" when there is none.
func (p *psParser) keyword() string {
	i := p.pos
	for i < len(p.src) && (p.src[i]|0x20 >= 'a' && p.src[i]|0x20 <= 'z') {
		i++
	}
	word := asciiLower(p.src[p.pos:i])
	mark := p.pos
	p.pos = i
	if word == "" || !psEndsToken(p.peek()) {
		p.pos = mark
		return ""
	}
	return word
}

// braces parses { … } and returns its statements.
func (p *psParser) braces() []psNode {
	p.skip(true)
	if p.peek() != '{' {
		p.fail("`{` is expected")
	}
	p.pos++
	return p.statements('}')
}

// parens parses ( pipeline ).
func (p *psParser) parens() []psNode {
	p.skip(true)
	if p.peek() != '(' {
		p.fail("`(` is expected")
	}
	p.pos++
	p.skip(true)
	var parts []psNode
	if n := p.chain(); n != nil {
		parts = append(parts, n)
	}
	p.close(')')
	return parts
}

func (p *psParser) close(r rune) {
	p.skip(true)
	if p.peek() != r {
		p.fail("%q is missing", string(r))
	}
	p.pos++
}

// statement parses one statement.
func (p *psParser) statement() psNode {
	p.enter()
	defer p.leave()
	p.skip(false)
	from := p.pos
	if p.peek() == ':' && psIsNameStart(rune(p.after(1))) {
		mark := p.pos
		for p.pos++; psIsName(p.peek()); {
			p.next()
		}
		p.skip(true)
		if n := p.loop(from, p.keyword()); n != nil {
			return n
		}
		p.pos = mark
		return p.chain()
	}
	word := p.keyword()
	if n := p.loop(from, word); n != nil {
		return n
	}
	switch word {
	case "if":
		return p.ifStatement(from)
	case "try":
		return p.tryStatement(from)
	case "trap":
		p.catchTypes()
		return &psFlow{p.span(from), word, p.braces()}
	case "return", "throw", "exit":
		p.skip(false)
		f := &psFlow{word: word}
		if n := p.chain(); n != nil {
			f.parts = append(f.parts, n)
		}
		f.psPos = p.span(from)
		return f
	case "break", "continue":
		p.skip(false)
		f := &psFlow{word: word}
		if psIsNameStart(p.peek()) {
			for psIsName(p.peek()) {
				p.next()
			}
		} else if n := p.unary(true); n != nil {
			f.parts = append(f.parts, n)
		}
		f.psPos = p.span(from)
		return f
	case "function":
		return p.function(from)
	case "filter", "workflow", "configuration", "parallel", "sequence", "data":
		p.unsupported(from, "`"+word+"` is not judged")
	case "class", "enum":
		p.unsupported(from, "`"+word+"` defines a type, which is not judged")
	case "using":
		p.unsupported(from, "`using` can load modules and changes what names mean")
	case "from", "define", "var":
		p.fail("`%s` is reserved", word)
	}
	p.pos = from
	return p.chain()
}

// chain parses an assignment, or pipelines joined by && and ||. nil when there is none.
func (p *psParser) chain() psNode {
	p.enter()
	defer p.leave()
	p.skip(false)
	from := p.pos
	expr := p.ternary(false)
	if expr != nil {
		p.skip(false)
		if n := p.assignOp(); n > 0 {
			op := p.src[p.pos : p.pos+n]
			p.pos += n
			p.skip(true)
			value := p.statement()
			if value == nil {
				p.fail("a value is expected")
			}
			p.assigned(expr, value)
			if op != "=" && op != "+=" {
				p.assigned(expr, nil)
			}
			return &psAssign{p.span(from), expr, value}
		}
	}
	out := &psPipeline{}
	for {
		if !p.pipeline(out, expr) {
			if len(out.elems) > 0 {
				p.fail("a command is expected")
			}
			return nil
		}
		p.skip(false)
		if p.has("&&") || p.has("||") {
			p.pos += 2
			p.skip(true)
			expr = p.ternary(false)
			continue
		}
		if p.peek() == '&' { // a job in the background: its parts are judged like any other
			p.pos++
		}
		out.psPos = p.span(from)
		return out
	}
}

// assignOp returns the length of the assignment operator at the position, 0 when there is none.
func (p *psParser) assignOp() int {
	switch c, d := p.after(0), p.after(1); {
	case c == '=':
		return 1
	case strings.IndexByte("+-*/%", c) >= 0 && d == '=':
		return 2
	case c == '?' && d == '?' && p.after(2) == '=':
		return 3
	}
	return 0
}

// pipeline parses one pipeline into out; expr is its first part where that was parsed already.
func (p *psParser) pipeline(out *psPipeline, expr psNode) bool {
	for first := true; ; first = false {
		if first && expr == nil {
			expr = p.ternary(false)
		}
		var n psNode
		if first && expr != nil {
			n = p.value(expr)
		} else {
			n = p.command()
		}
		if n == nil {
			if !first {
				p.fail("a command is expected after `|`")
			}
			return false
		}
		out.elems = append(out.elems, n)
		p.skip(false)
		if r := p.peek(); r == '\n' || r == '\r' { // a line may start with the pipe
			mark := p.pos
			p.skip(true)
			if p.peek() != '|' || p.after(1) == '|' {
				p.pos = mark
			}
		}
		if p.peek() != '|' || p.after(1) == '|' {
			return true
		}
		p.pos++
		p.skip(true)
	}
}

func (p *psParser) value(expr psNode) psNode {
	v := &psValue{expr: expr}
	for {
		p.skip(false)
		r, ok := p.redirection()
		if !ok {
			at := expr.pos()
			v.psPos = psPos{at.from, p.offs[p.pos]}
			return v
		}
		v.redirs = append(v.redirs, r)
	}
}

// redirection parses a redirection at the position, if there is one.
func (p *psParser) redirection() (psRedir, bool) {
	from := p.pos
	n := 0
	if c := p.after(0); c >= '1' && c <= '6' || c == '*' {
		n = 1
	}
	if p.after(n) == '<' && n == 0 && p.after(1) != '#' {
		p.fail("`<` is not supported by PowerShell")
	}
	if p.after(n) != '>' {
		return psRedir{}, false
	}
	p.pos += n + 1
	switch {
	case p.after(0) == '>':
		p.pos++
	case p.after(0) == '&' && n == 1 && p.after(1) == '1':
		p.pos += 2
		return psRedir{psPos: p.span(from)}, true
	}
	p.skip(false)
	target := p.argument()
	if target == nil {
		p.fail("a redirection without target")
	}
	return psRedir{p.span(from), target}, true
}

// assigned notes that a variable gets a value; nil stands for a value that is not known.
func (p *psParser) assigned(target, value psNode) {
	switch t := target.(type) {
	case *psVar:
		name := psPlainName(t.name)
		p.known.assigned[name] = append(p.known.assigned[name], psUnwrap(value))
	case *psCast:
		p.assigned(t.operand, nil)
	case *psList:
		for _, n := range t.items {
			p.assigned(n, nil)
		}
	case *psGroup:
		for _, n := range t.body {
			p.assigned(psUnwrap(n), nil)
		}
	}
}

// psPlainName drops a scope that names no other variable in a line of its own.
func psPlainName(name string) string {
	for _, scope := range []string{"script:", "local:", "private:"} {
		if rest, ok := strings.CutPrefix(name, scope); ok {
			return rest
		}
	}
	return name
}

// psUnwrap returns the expression that is the whole of a statement, or the statement.
func psUnwrap(n psNode) psNode {
	if pl, ok := n.(*psPipeline); ok && len(pl.elems) == 1 {
		if v, ok := pl.elems[0].(*psValue); ok && len(v.redirs) == 0 {
			return v.expr
		}
	}
	return n
}
