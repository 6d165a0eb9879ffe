package shellsafe

// psUnary and psBinary are the operators that are words. The value-less forms with a c or an i in
// front (-ceq, -ireplace) are listed by their plain name.
var (
	psUnary  = psSetOf("not bnot split join")
	psBinary = psSetOf(`and or xor band bor bxor shl shr eq ne gt ge lt le like notlike match notmatch
		replace contains notcontains in notin split join is isnot as f`)
	psCased = psSetOf("eq ne gt ge lt le like notlike match notmatch replace contains notcontains in notin split")
)

// wordOp returns the operator word after the dash at the position and its end; "" when it is not of the
// set.
func (p *psParser) wordOp(set *psSet) (string, int) {
	if !psIsDash(p.peek()) {
		return "", 0
	}
	mark := p.pos
	p.next()
	i := p.pos
	p.pos = mark
	from := i
	for i < len(p.src) && (p.src[i]|0x20 >= 'a' && p.src[i]|0x20 <= 'z') {
		i++
	}
	word := asciiLower(p.src[from:i])
	if !set.has(word) && len(word) > 1 && (word[0] == 'c' || word[0] == 'i') && psCased.has(word[1:]) {
		word = word[1:]
	}
	if !set.has(word) {
		return "", 0
	}
	return "-" + word, i
}

// ternary parses an expression; nil when none starts here. single forbids the comma.
func (p *psParser) ternary(single bool) psNode {
	p.enter()
	defer p.leave()
	from := p.pos
	cond := p.binary(single)
	if cond == nil {
		return nil
	}
	mark := p.pos
	p.skip(false)
	if p.peek() != '?' || p.after(1) == '?' {
		p.pos = mark
		return cond
	}
	p.pos++
	p.skip(true)
	yes := p.ternary(single)
	if yes == nil {
		p.fail("a value is expected after `?`")
	}
	p.skip(true)
	if p.peek() != ':' {
		p.fail("`:` is expected")
	}
	p.pos++
	p.skip(true)
	no := p.ternary(single)
	if no == nil {
		p.fail("a value is expected after `:`")
	}
	return &psOp{p.span(from), "?:", []psNode{cond, yes, no}}
}

func (p *psParser) binary(single bool) psNode {
	from := p.pos
	left := p.list(single)
	if left == nil {
		return nil
	}
	for {
		mark := p.pos
		p.skip(false)
		op, end := p.binaryOp()
		if op == "" {
			if psIsDash(p.peek()) && psIsNameStart(rune(p.afterDash())) {
				p.fail("an unknown operator")
			}
			p.pos = mark
			return left
		}
		p.pos = end
		p.skip(true)
		right := p.list(single)
		if right == nil {
			p.fail("a value is expected after `%s`", op)
		}
		left = &psOp{p.span(from), op, []psNode{left, right}}
	}
}

// afterDash returns the byte after the dash at the position.
func (p *psParser) afterDash() byte {
	mark := p.pos
	p.next()
	b := p.after(0)
	p.pos = mark
	return b
}

func (p *psParser) binaryOp() (op string, end int) {
	if op, end = p.wordOp(psBinary); op != "" {
		return op, end
	}
	r, next := p.peek(), p.after(1)
	switch {
	case r == '.' && next == '.':
		return "..", p.pos + 2
	case r == '?' && next == '?' && p.after(2) != '=':
		return "??", p.pos + 2
	case r == '*' && next == '>':
		return "", 0
	case r == '+' || r == '*' || r == '/' || r == '%':
		if next != '=' && (r != '+' || next != '+') {
			return string(r), p.pos + 1
		}
	case psIsDash(r):
		if b := p.afterDash(); b != '=' && !psIsNameStart(rune(b)) {
			p.next()
			end = p.pos
			p.pos = end - len(string(r))
			if !psIsDash(p.runeAt(end)) {
				return "-", end
			}
		}
	}
	return "", 0
}

func (p *psParser) runeAt(i int) rune {
	mark := p.pos
	p.pos = i
	r := p.peek()
	p.pos = mark
	return r
}

// list parses a comma list of unary expressions.
func (p *psParser) list(single bool) psNode {
	if single {
		return p.unary(true)
	}
	return p.commaList(func() psNode { return p.unary(false) })
}

// commaList parses values with commas between them; one alone is itself.
func (p *psParser) commaList(value func() psNode) psNode {
	from := p.pos
	first := value()
	if first == nil {
		return nil
	}
	items := []psNode{first}
	for {
		mark := p.pos
		p.skip(false)
		if p.peek() != ',' {
			p.pos = mark
			break
		}
		p.pos++
		p.skip(true)
		n := value()
		if n == nil {
			p.fail("a value is expected after `,`")
		}
		items = append(items, n)
	}
	if len(items) == 1 {
		return first
	}
	return &psList{p.span(from), items}
}
