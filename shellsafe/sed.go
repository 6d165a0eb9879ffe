package shellsafe

import "strings"

var sedRow = row{
	name: "sed gsed", doc: "edits a stream",
	opts: "-nEruszb -l= -e= --quiet --silent --regexp-extended --unbuffered --separate --null-data --zero-terminated " +
		"--posix --debug --sandbox --binary --follow-symlinks --line-length= --expression= --help --version",
	bad: []bad{
		{"-i? --in-place?", Write, "edits the file in place", "use `sed -n …p` or leave -i out: the result goes to standard output"},
		{"-I?", Write, "edits the file in place", "leave -I out: the result goes to standard output"},
		{"-f= --file=", Contained, "runs a script from a file", "give the script with -e"},
	},
	check: checkSed,
}

func checkSed(a *analyzer, c *call) {
	var scripts []word
	for _, o := range c.opts {
		if (o.name == "-e" || o.name == "--expression") && o.has {
			scripts = append(scripts, o.value)
		}
	}
	if len(scripts) == 0 {
		if len(c.operands) == 0 {
			return // only an option such as --version
		}
		scripts = c.operands[:1]
	}
	if c.has("--sandbox") {
		return // sed itself refuses the commands that write or run
	}
	texts := []string{""}
	for i, w := range scripts {
		alternatives := a.programTexts(w)
		if len(alternatives) == 0 {
			a.reportWord(Contained, w, c.path, "the script "+quote(a.wordText(w))+" is not known before it runs",
				"write the script out, or add --sandbox")
			return
		}
		var joined []string
		for _, t := range texts {
			for _, alt := range alternatives {
				if i > 0 {
					alt = t + "\n" + alt
				}
				joined = append(joined, alt)
			}
		}
		if texts = joined; len(texts) > 16 {
			a.reportWord(Contained, w, c.path, "the script depends on too many variables", "write the script out")
			return
		}
	}
	for _, text := range texts {
		if f := sedScript(text); f.why != "" {
			a.reportWord(f.verdict, scripts[0], c.path, f.why, f.hint)
			return
		}
	}
}

// sedScript judges a script. Implementations differ on whether a delimiter within a bracket expression
// ends the regular expression: the script must be harmless either way.
func sedScript(text string) sedFault {
	var last sedFault
	errs := 0
	for _, brackets := range []bool{true, false} {
		p := sedParser{s: text, brackets: brackets}
		f := p.run()
		if f.bad {
			return f
		}
		if f.why != "" {
			errs++
			last = f
		}
	}
	if errs < 2 {
		return sedFault{}
	}
	return sedFault{verdict: Contained, why: "the sed script cannot be read: " + last.why}
}

// A sedFault is what is wrong with a script: a command that is not read-only, or text that does not
// parse.
type sedFault struct {
	bad     bool
	verdict Verdict
	why     string
	hint    string
}

// A sedParser reads a sed script (GNU and POSIX).
type sedParser struct {
	s        string
	i        int
	brackets bool
}

func syntaxFault(why string) sedFault { return sedFault{why: why} }

func writeFault(what string) sedFault {
	return sedFault{
		bad: true, verdict: Write, why: "the sed script's " + what + " writes a file",
		hint: "leave it out: sed's result goes to standard output",
	}
}

func runFault(what string) sedFault {
	return sedFault{bad: true, verdict: Contained, why: "the sed script's " + what + " runs a command", hint: "leave it out"}
}

func (p *sedParser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *sedParser) skip(set string) {
	for p.i < len(p.s) && strings.IndexByte(set, p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *sedParser) line() string {
	rest := p.s[p.i:]
	if j := strings.IndexByte(rest, '\n'); j >= 0 {
		rest = rest[:j]
	}
	p.i += len(rest)
	return rest
}

func (p *sedParser) run() sedFault {
	for {
		p.skip(" \t\n;}")
		if p.i >= len(p.s) {
			return sedFault{}
		}
		if f := p.command(); f.bad || f.why != "" {
			return f
		}
	}
}

func (p *sedParser) command() sedFault {
	if !p.address() {
		return syntaxFault("an address does not end")
	}
	p.skip(" \t")
	if p.peek() == ',' {
		p.i++
		p.skip(" \t")
		if !p.address() {
			return syntaxFault("an address does not end")
		}
	}
	p.skip(" \t!")
	c := p.peek()
	p.i++
	switch c {
	case '{', '=', 'd', 'D', 'F', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z':
		return sedFault{}
	case '}', ';':
		return sedFault{}
	case 'l', 'L', 'q', 'Q':
		p.skip(" \t")
		p.skip("0123456789")
		return sedFault{}
	case '#':
		p.line()
		return sedFault{}
	case 'a', 'i', 'c':
		p.appended()
		return sedFault{}
	case 'b', 't', 'T', ':':
		p.skip(" \t")
		for p.i < len(p.s) && strings.IndexByte(" \t\n;}", p.s[p.i]) < 0 {
			p.i++
		}
		return sedFault{}
	case 'r', 'R':
		p.line()
		return sedFault{}
	case 'w', 'W':
		return p.writes("`" + string(c) + "` command")
	case 'e':
		return runFault("`e` command")
	case 'y':
		if d := p.peek(); d == 0 || isWordByte(d) || d == '\\' || d == '\n' || !p.delimited(d) || !p.delimited(d) {
			return syntaxFault("a `y` command does not end")
		}
		p.i++
		return sedFault{}
	case 's':
		return p.substitute()
	}
	return syntaxFault("an unknown command")
}

// writes reads the file name of a w.
func (p *sedParser) writes(what string) sedFault {
	p.skip(" \t")
	switch strings.TrimRight(p.line(), " \t") {
	case "/dev/stdout", "/dev/stderr":
		return sedFault{}
	}
	return writeFault(what)
}

func (p *sedParser) substitute() sedFault {
	d := p.peek()
	if d == 0 || d == '\\' || isWordByte(d) || d == '\n' {
		return syntaxFault("an `s` command has no delimiter")
	}
	if !p.scan(d, true) || !p.scan(d, false) {
		return syntaxFault("an `s` command does not end")
	}
	p.i++
	for {
		switch c := p.peek(); {
		case c == 'g' || c == 'p' || c == 'i' || c == 'I' || c == 'm' || c == 'M' || c >= '0' && c <= '9':
			p.i++
		case c == 'e':
			return runFault("flag `e` of `s`")
		case c == 'w':
			p.i++
			return p.writes("flag `w` of `s`")
		case c == 0 || c == '\n' || c == ';' || c == '}' || c == '#' || c == ' ' || c == '\t':
			return sedFault{}
		default:
			return syntaxFault("an unknown flag of `s`")
		}
	}
}

// delimited reads from a delimiter to the next one and stops on it, so that it can be called again for
// the second part.
func (p *sedParser) delimited(d byte) bool { return p.scan(d, false) }

func (p *sedParser) scan(d byte, regex bool) bool {
	p.i++ // the opening delimiter
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '\\':
			p.i++
		case c == d:
			return true
		case c == '\n' && regex:
			return false
		case c == '[' && regex && p.brackets:
			if !p.bracket() {
				return false
			}
			continue
		}
		p.i++
	}
	return false
}

// bracket passes a bracket expression.
func (p *sedParser) bracket() bool {
	j := p.i + 1
	if j < len(p.s) && p.s[j] == '^' {
		j++
	}
	if j < len(p.s) && p.s[j] == ']' {
		j++
	}
	for j < len(p.s) && p.s[j] != ']' {
		if p.s[j] == '\n' {
			return false
		}
		if p.s[j] == '[' && j+1 < len(p.s) && strings.IndexByte(":.=", p.s[j+1]) >= 0 {
			end := strings.Index(p.s[j+2:], string(p.s[j+1])+"]")
			if end < 0 {
				return false
			}
			j += 2 + end + 2
			continue
		}
		j++
	}
	if j >= len(p.s) {
		return false
	}
	p.i = j + 1
	return true
}

// address reads one address, if there is one.
func (p *sedParser) address() bool {
	switch c := p.peek(); {
	case c >= '0' && c <= '9', c == '$', c == '+', c == '~':
		p.i++
		p.skip("0123456789")
		if p.peek() == '~' {
			p.i++
			p.skip("0123456789")
		}
	case c == '/':
		return p.regexAddress('/')
	case c == '\\' && p.i+1 < len(p.s):
		p.i++
		return p.regexAddress(p.s[p.i])
	}
	return true
}

func (p *sedParser) regexAddress(d byte) bool {
	if d == '\n' || !p.scan(d, true) {
		return false
	}
	p.i++
	p.skip("IM")
	return true
}

// appended reads the text of a, i and c: up to a line's end that no backslash protects.
func (p *sedParser) appended() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case '\\':
			p.i++
		case '\n':
			return
		}
		p.i++
	}
}
