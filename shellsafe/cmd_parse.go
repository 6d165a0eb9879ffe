package shellsafe

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// cmdUnknown stands in a word for the value of a variable.
const cmdUnknown = '\uE000'

// cmdParser reads cmd's grammar from the text. Percent signs are resolved as they are met; cmd resolves
// them first of all, so a variable's value could hold operators. That value is the user's own
// environment; what a line could put into it, or cut out of it, is refused (see percent).
type cmdParser struct {
	src   string
	pos   int
	depth int // of brackets
	loops int // FOR commands around the position
	nest  int
	caret bool
}

func parseCmd(src string) (body *cmdGroup, stop *psStop) {
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(psStop)
			if !ok {
				panic(r)
			}
			body, stop = nil, &s
		}
	}()
	p := &cmdParser{src: src}
	body = p.sequence()
	if p.pos < len(p.src) {
		p.fail("%q is not expected here", string(p.peek()))
	}
	return body, nil
}

func (p *cmdParser) fail(format string, args ...any) {
	to := p.pos
	if to < len(p.src) {
		_, n := utf8.DecodeRuneInString(p.src[to:])
		to += n
	}
	panic(psStop{Invalid, "cmd syntax: " + fmt.Sprintf(format, args...), psPos{p.pos, to}, "syntax"})
}

func (p *cmdParser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *cmdParser) has(s string) bool { return strings.HasPrefix(p.src[p.pos:], s) }

// skip passes bytes of the set.
func (p *cmdParser) skip(set string) {
	for p.pos < len(p.src) && strings.IndexByte(set, p.src[p.pos]) >= 0 {
		p.pos++
	}
}

const (
	cmdBlanks = " \t"
	cmdDelims = " \t,;="
	cmdLines  = " \t\r\n"
)

// sequence parses commands up to the end, or the bracket that closes a group.
func (p *cmdParser) sequence() *cmdGroup {
	if p.nest++; p.nest > psMaxDepth {
		p.fail("nested too deep")
	}
	defer func() { p.nest-- }()
	g := &cmdGroup{}
	for {
		p.skip(cmdLines)
		if p.pos == len(p.src) || p.depth > 0 && p.peek() == ')' {
			return g
		}
		n := p.pipe()
		if n == nil {
			if p.pos == len(p.src) {
				p.fail("a command is missing")
			}
			p.fail("%q is not expected here", string(p.peek()))
		}
		g.body = append(g.body, n)
		p.skip(cmdBlanks)
		switch {
		case p.has("&&"), p.has("||"):
			p.pos += 2
			p.skip(cmdBlanks)
			if c := p.peek(); c == 0 || c == '&' || c == '|' || c == '\n' || c == '\r' {
				p.fail("a command is missing")
			}
		case p.peek() == '&':
			p.pos++
		}
	}
}

func (p *cmdParser) pipe() cmdNode {
	from := p.pos
	first := p.command()
	if first == nil {
		return nil
	}
	elems := []cmdNode{first}
	for {
		p.skip(cmdBlanks)
		if p.peek() != '|' || p.has("||") {
			break
		}
		p.pos++
		p.skip(cmdLines)
		n := p.command()
		if n == nil {
			p.fail("a command is missing after `|`")
		}
		elems = append(elems, n)
	}
	if len(elems) == 1 {
		return first
	}
	return &cmdPipe{psPos{from, p.pos}, elems}
}

// command parses one command; nil when none starts here.
func (p *cmdParser) command() cmdNode {
	if p.nest++; p.nest > psMaxDepth {
		p.fail("nested too deep")
	}
	defer func() { p.nest-- }()
	p.skip(cmdDelims + "@")
	if p.peek() == '(' {
		p.pos++
		p.depth++
		g := p.sequence()
		if p.peek() != ')' {
			p.fail("`)` is missing")
		}
		p.pos++
		p.depth--
		for {
			p.skip(cmdBlanks)
			r, ok := p.redirection()
			if !ok {
				break
			}
			g.redirs = append(g.redirs, r)
		}
		return g
	}
	mark := p.pos
	switch p.wordIs("if", "for") {
	case "if":
		return p.ifCommand()
	case "for":
		return p.forCommand(mark)
	}
	return p.simple()
}

// wordIs consumes the next word if it is one of the given, and returns it.
func (p *cmdParser) wordIs(words ...string) string {
	for _, w := range words {
		end := p.pos + len(w)
		if end > len(p.src) || !strings.EqualFold(p.src[p.pos:end], w) {
			continue
		}
		if end == len(p.src) || strings.IndexByte(cmdDelims+"\r\n(/&|<>\"", p.src[end]) >= 0 {
			p.pos = end
			return w
		}
	}
	return ""
}

// char appends the character at the position, with carets and percent signs resolved.
func (p *cmdParser) char(b *strings.Builder, quoted bool) {
	c := p.peek()
	switch {
	case c == '%':
		p.percent(b)
		return
	case c == '^' && !quoted:
		p.caret = true
		p.pos++
		if p.has("\r\n") {
			p.pos += 2
		} else if p.peek() == '\n' {
			p.pos++
		}
		if p.pos == len(p.src) {
			return
		}
	}
	r, n := utf8.DecodeRuneInString(p.src[p.pos:])
	b.WriteRune(r)
	p.pos += n
}

// percent resolves a percent sign. A plain variable becomes cmdUnknown. One with a substitution or a
// part of its value could yield operators or quotes, and ends the parse; so does CMDCMDLINE.
func (p *cmdParser) percent(b *strings.Builder) {
	end := strings.IndexAny(p.src[p.pos+1:], "%\r\n")
	if end > 0 && p.src[p.pos+1+end] == '%' {
		name := p.src[p.pos+1 : p.pos+1+end]
		word, mod, hasMod := strings.Cut(name, ":")
		if hasMod && strings.ContainsAny(mod, "~=") || strings.EqualFold(word, "cmdcmdline") {
			panic(psStop{
				Contained, quote("%"+name+"%") + " can yield any character, operators among them",
				psPos{p.pos, p.pos + end + 2},
				"percent",
			})
		}
		if cmdIsVariable(name) {
			p.pos += end + 2
			b.WriteRune(cmdUnknown)
			return
		}
	}
	p.pos++
	if p.loops > 0 { // FOR's variable
		b.WriteRune(cmdUnknown)
		return
	}
	b.WriteByte('%')
}

// cmdIsVariable says whether a name may be that of a variable. Other texts between two percent signs,
// such as a format's, stay as they are, since no such variable is set.
func cmdIsVariable(name string) bool {
	if strings.IndexByte("0123456789", name[0]) >= 0 {
		return false
	}
	return strings.Trim(asciiLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_()") == ""
}

// simple parses a command's name and words; nil when none starts here.
func (p *cmdParser) simple() cmdNode {
	s := &cmdSimple{}
	saved := p.caret
	p.caret = false
	from := p.pos
	for { // redirections may come first
		r, ok := p.redirection()
		if !ok {
			break
		}
		s.redirs = append(s.redirs, r)
		p.skip(cmdDelims)
	}
	var name, rest strings.Builder
	start := p.pos
	quoted := false
	for p.pos < len(p.src) {
		c := p.peek()
		if c == '\r' || c == '\n' || !quoted && (strings.IndexByte(cmdDelims+"&|<>", c) >= 0 || c == ')' && p.depth > 0) {
			break
		}
		if c == '"' {
			quoted = !quoted
		}
		p.char(&name, quoted)
	}
	s.nameAt = psPos{start, p.pos}
	quoted = false
	for p.pos < len(p.src) {
		c := p.peek()
		if c == '\r' || c == '\n' || !quoted && (c == '&' || c == '|' || c == ')' && p.depth > 0) {
			break
		}
		if !quoted && (c == '<' || c == '>') {
			p.dropHandle(&rest, s)
			if r, ok := p.redirection(); ok {
				s.redirs = append(s.redirs, r)
				continue
			}
		}
		if c == '"' {
			quoted = !quoted
		}
		at := p.pos
		p.char(&rest, quoted)
		for len(s.offs) < rest.Len() {
			s.offs = append(s.offs, at)
		}
	}
	s.name, s.rest, s.caret = name.String(), rest.String(), p.caret
	s.offs = append(s.offs, p.pos)
	s.psPos = psPos{from, p.pos}
	p.caret = p.caret || saved
	if s.name == "" && len(s.redirs) == 0 {
		return nil
	}
	return s
}

// dropHandle takes a digit that names the handle of the redirection at the position out of the words.
func (p *cmdParser) dropHandle(rest *strings.Builder, s *cmdSimple) {
	text := rest.String()
	n := len(text)
	if n > 0 && text[n-1] >= '0' && text[n-1] <= '9' && (n == 1 || strings.IndexByte(cmdDelims, text[n-2]) >= 0) {
		rest.Reset()
		rest.WriteString(text[:n-1])
		s.offs = s.offs[:n-1]
	}
}

// redirection parses a redirection at the position, if there is one.
func (p *cmdParser) redirection() (cmdRedir, bool) {
	from := p.pos
	i := p.pos
	if i+1 < len(p.src) && p.src[i] >= '0' && p.src[i] <= '9' && (p.src[i+1] == '<' || p.src[i+1] == '>') {
		i++
	}
	if i >= len(p.src) || p.src[i] != '<' && p.src[i] != '>' {
		return cmdRedir{}, false
	}
	r := cmdRedir{input: p.src[i] == '<'}
	p.pos = i + 1
	if !r.input && p.peek() == '>' {
		p.pos++
	}
	if p.peek() == '&' {
		p.pos++
		p.skip(cmdDelims)
		if c := p.peek(); c < '0' || c > '9' {
			p.fail("a handle is expected")
		}
		p.pos++
		r.psPos = psPos{from, p.pos}
		return r, true
	}
	p.skip(cmdDelims)
	start := p.pos
	var b strings.Builder
	for quoted := false; p.pos < len(p.src); {
		c := p.peek()
		if c == '\r' || c == '\n' || !quoted && (strings.IndexByte(cmdDelims+"&|<>", c) >= 0 || c == ')' && p.depth > 0) {
			break
		}
		if c == '"' {
			quoted = !quoted
		}
		p.char(&b, quoted)
	}
	if p.pos == start {
		p.fail("a redirection without target")
	}
	r.target = asciiLower(strings.ReplaceAll(b.String(), `"`, ""))
	r.psPos = psPos{from, p.pos}
	return r, true
}
