package shellsafe

import "strings"

var awkRow = row{
	name: "awk gawk mawk nawk original-awk", doc: "scans text", style: first,
	opts: "-F= -v= -bcCghMnNOPrStV -e= --field-separator= --assign= --source= --characters-as-bytes --traditional " +
		"--copyright --gen-pot --help --bignum --use-lc-numeric --non-decimal-data --optimize --no-optimize --posix " +
		"--re-interval --sandbox --lint-old --version --csv -k",
	bad: []bad{
		{"-f= --file= -E= --exec=", Contained, "runs a program from a file", "give the program as an operand"},
		{"-i= --include=", Contained, "loads code (`-i inplace` edits files)", "leave it out: the result goes to standard output"},
		{"-l= --load=", Contained, "loads an extension", ""},
		{"-d? --dump-variables? -o? --pretty-print? -p? --profile?", Write, "writes a file", "leave it out"},
		{"-D? --debug?", Contained, "starts a debugger", ""},
		{"-W=", Contained, "is a setting that may run or write", ""},
	},
	judge: judgeAwk,
}

func judgeAwk(a *analyzer, c *call) {
	for i, w := range c.words {
		inplace := w.lit && (w.text == "-iinplace" || w.text == "--include=inplace")
		if w.lit && (w.text == "-i" || w.text == "--include") && i+1 < len(c.words) {
			inplace = strings.HasPrefix(c.words[i+1].text, "inplace")
		}
		if inplace {
			a.reportWord(Write, w, c.path, "`-i inplace` edits the files in place", "leave it out: the result goes to standard output")
			return
		}
	}
	if a.options(c) {
		checkAwk(a, c)
	}
}

func checkAwk(a *analyzer, c *call) {
	var texts []word
	files := c.operands
	for _, o := range c.opts {
		if (o.name == "-e" || o.name == "--source") && o.has {
			texts = append(texts, o.value)
		}
	}
	if len(texts) == 0 {
		if len(c.operands) == 0 {
			return
		}
		texts, files = files[:1], files[1:]
	}
	for _, w := range files {
		if cannotBe(w)&device == 0 && !(w.lit && !strings.HasPrefix(w.text, awkNetwork)) {
			a.awkConnects(c, w)
			return
		}
	}
	for _, w := range texts {
		alternatives := a.programTexts(w)
		if len(alternatives) == 0 {
			a.reportWord(Contained, w, c.path, "the awk program "+quote(a.wordText(w))+" is not known before it runs",
				"write the program in single quotes and pass values with -v")
			return
		}
		for _, s := range alternatives {
			if v, why := awkProgram(s); why != "" {
				a.reportWord(v, w, c.path, "the awk program "+why, "print to standard output and pipe that on")
				return
			}
		}
	}
}

// awkNetwork is what the names start with that gawk opens connections for, wherever it takes a file.
const awkNetwork = "/inet"

func (a *analyzer) awkConnects(c *call, w word) {
	if strings.HasPrefix(w.text, awkNetwork) {
		a.reportWord(Network, w, c.path, "gawk opens a connection for "+quote(a.wordText(w)), "name a file")
		return
	}
	a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may be a name below /inet, for which gawk opens a connection",
		"write `./` in front of a file's name")
}

// awkProgram judges a program. As with sed, a slash within a bracket expression may or may not end a
// regular expression.
func awkProgram(s string) (Verdict, string) {
	unclear, reason := 0, ""
	for _, brackets := range []bool{true, false} {
		sc := awkScanner{s: s, brackets: brackets}
		v, why := sc.run()
		if why == "" {
			continue
		}
		if !sc.unclear {
			return v, why
		}
		unclear++
		reason = why
	}
	if unclear == 2 {
		return Contained, reason
	}
	return Read, ""
}

// An awkScanner looks through an awk program for what leaves it: output redirections, pipes, system
// and the loading of code. What it cannot read is not read-only.
type awkScanner struct {
	s        string
	i        int
	brackets bool
	unclear  bool // the fault is in reading, not in what was read

	prev    awkToken
	word    string // text of the last word
	parens  []bool // open parentheses: does a statement follow the closing one?
	printed int    // depth of parentheses at the last print, plus one; 0 outside a print
	getline bool   // a getline stands in the statement: `<` may name its file
}

type awkToken uint8

const (
	awkStart    awkToken = iota // a statement, or an operand, may begin: a slash starts a pattern
	awkOperand                  // a value has ended: a slash divides
	awkOperator                 // a value must follow: a slash starts a pattern
)

// awkKeywords are the words after which a slash starts a regular expression.
var awkKeywords = map[string]bool{
	"print": true, "printf": true, "return": true, "in": true, "case": true, "else": true, "do": true,
	"exit": true, "delete": true, "if": true, "while": true, "for": true, "switch": true,
	"BEGIN": true, "END": true, "BEGINFILE": true, "ENDFILE": true, "function": true, "func": true,
	"next": true, "nextfile": true, "break": true, "continue": true,
}

func (sc *awkScanner) fault(why string) (Verdict, string) {
	sc.unclear = true
	return Contained, "cannot be read: " + why
}

func (sc *awkScanner) run() (Verdict, string) {
	for sc.i < len(sc.s) {
		c := sc.s[sc.i]
		switch {
		case c == ' ' || c == '\t':
			sc.i++
		case c == '\\' && sc.i+1 < len(sc.s) && sc.s[sc.i+1] == '\n':
			sc.i += 2
		case c == '#':
			for sc.i < len(sc.s) && sc.s[sc.i] != '\n' {
				sc.i++
			}
		case c == '\n' || c == ';' || c == '{' || c == '}':
			// A newline after `,`, `&&` and the like continues the statement, but then no redirection
			// can have been complete, and what follows is still looked at as part of a print.
			if c != '\n' || sc.prev != awkOperator {
				sc.printed, sc.getline = 0, false
			}
			sc.prev = awkStart
			sc.i++
		case c == '"':
			if !sc.str() {
				return sc.fault("a string does not end")
			}
		case c == '/' && sc.prev != awkOperand:
			if !sc.regex() {
				return sc.fault("a regular expression does not end")
			}
		case isWordByte(c):
			if v, why := sc.ident(); why != "" {
				return v, why
			}
		default:
			if v, why := sc.operator(); why != "" {
				return v, why
			}
		}
	}
	return Read, ""
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (sc *awkScanner) str() bool {
	start := sc.i
	for sc.i++; sc.i < len(sc.s); sc.i++ {
		switch sc.s[sc.i] {
		case '\\':
			sc.i++
		case '\n':
			return false
		case '"':
			sc.i++
			sc.prev = awkOperand
			sc.word = sc.s[start:sc.i]
			return true
		}
	}
	return false
}

func (sc *awkScanner) regex() bool {
	for sc.i++; sc.i < len(sc.s); sc.i++ {
		switch sc.s[sc.i] {
		case '\\':
			sc.i++
		case '\n':
			return false
		case '[':
			if sc.brackets {
				p := sedParser{s: sc.s, i: sc.i}
				if !p.bracket() {
					return false
				}
				sc.i = p.i - 1
			}
		case '/':
			sc.i++
			sc.prev = awkOperand
			return true
		}
	}
	return false
}

func (sc *awkScanner) ident() (Verdict, string) {
	start := sc.i
	for sc.i < len(sc.s) && (isWordByte(sc.s[sc.i]) || sc.s[sc.i] == '.' && sc.s[start] >= '0' && sc.s[start] <= '9') {
		sc.i++
	}
	sc.word = sc.s[start:sc.i]
	switch sc.word {
	case "system":
		return Contained, "calls `system`, which runs a command"
	case "print", "printf":
		sc.printed = len(sc.parens) + 1
	case "getline":
		if rest := strings.TrimLeft(sc.s[sc.i:], " \t"); strings.HasPrefix(rest, "/") {
			return sc.fault("`getline` before a slash")
		}
		sc.getline = true
	case "SYMTAB":
		return Contained, "may change any variable by its name"
	case "ARGV":
		if !sc.onlyCompared(start) {
			return Contained, "may change the list of files, for some names of which gawk opens connections"
		}
	}
	sc.prev = awkOperand
	if awkKeywords[sc.word] {
		sc.prev = awkOperator
	}
	return Read, ""
}

// onlyCompared reports whether the element of ARGV at start is compared for equality, and so not changed.
func (sc *awkScanner) onlyCompared(start int) bool {
	before := strings.TrimRight(sc.s[:start], " \t")
	index, after, ok := strings.Cut(sc.s[sc.i:], "]")
	if !ok || !strings.HasPrefix(index, "[") || strings.ContainsAny(index[1:], "[=") {
		return false
	}
	after = strings.TrimLeft(after, " \t")
	compares := func(s string) bool { return s == "==" || s == "!=" }
	if len(after) >= 2 && compares(after[:2]) {
		return true
	}
	return len(before) >= 2 && compares(before[len(before)-2:]) && (after == "" || strings.IndexByte("){;}&|,\n", after[0]) >= 0)
}

// input judges what follows a `<` behind getline: the name of a file, or a number to compare with.
func (sc *awkScanner) input() (Verdict, string) {
	rest := strings.TrimLeft(sc.s[sc.i+1:], " \t")
	switch {
	case rest != "" && rest[0] >= '0' && rest[0] <= '9':
		return Read, ""
	case !strings.HasPrefix(rest, `"`):
		return Contained, "reads a file whose name is not known; for some gawk opens a connection"
	case strings.HasPrefix(rest, `"`+awkNetwork):
		return Network, "opens a connection"
	}
	name, _, _ := strings.Cut(rest[1:], `"`)
	if strings.Contains(name, `\`) {
		return Contained, "reads a file whose name is not known; for some gawk opens a connection"
	}
	return Read, ""
}

func (sc *awkScanner) operator() (Verdict, string) {
	rest := sc.s[sc.i:]
	switch c := rest[0]; c {
	case '|':
		if strings.HasPrefix(rest, "||") {
			sc.i += 2
			sc.prev = awkOperator
			return Read, ""
		}
		return Contained, "pipes to or from a command"
	case '@':
		return Contained, "calls or loads code by a computed name"
	case '>':
		return sc.greater(rest)
	case '(':
		head := sc.prev == awkOperator && (sc.word == "if" || sc.word == "while" || sc.word == "for" || sc.word == "switch")
		sc.parens = append(sc.parens, head)
		sc.prev = awkOperator
		sc.word = ""
	case ')':
		sc.prev = awkOperand
		if n := len(sc.parens); n > 0 {
			if sc.parens[n-1] {
				sc.prev = awkStart
			}
			sc.parens = sc.parens[:n-1]
		}
	case ']':
		sc.prev = awkOperand
	case '<':
		if sc.getline && !strings.HasPrefix(rest, "<=") {
			if v, why := sc.input(); why != "" {
				return v, why
			}
		}
		sc.prev = awkOperator
	case '+', '-':
		if strings.HasPrefix(rest, "++") || strings.HasPrefix(rest, "--") {
			sc.i += 2
			sc.prev = awkOperand // a slash after it divides, or is nonsense
			if strings.HasPrefix(strings.TrimLeft(sc.s[sc.i:], " \t"), "/") {
				return Contained, "cannot be read: a slash after `++`"
			}
			return Read, ""
		}
		sc.prev = awkOperator
	case '$', '!', '~', '*', '%', '^', '=', '&', '?', ':', ',', '[', '/':
		sc.prev = awkOperator
	default:
		return sc.fault("an unknown character")
	}
	sc.i++
	return Read, ""
}

// greater handles `>`: a comparison, unless it stands in a print outside parentheses.
func (sc *awkScanner) greater(rest string) (Verdict, string) {
	redirects := sc.printed > 0 && len(sc.parens) < sc.printed
	n := 1
	if strings.HasPrefix(rest, ">>") || strings.HasPrefix(rest, ">=") {
		n = 2
	}
	if !redirects && !strings.HasPrefix(rest, ">>") {
		sc.i += n
		sc.prev = awkOperator
		return Read, ""
	}
	target := strings.TrimLeft(strings.TrimLeft(rest, ">"), " \t")
	for _, sink := range []string{`"/dev/stderr"`, `"/dev/stdout"`, `"/dev/null"`} {
		after, ok := strings.CutPrefix(target, sink)
		after = strings.TrimLeft(after, " \t")
		if ok && (after == "" || strings.IndexByte(";}\n#", after[0]) >= 0) {
			sc.i += len(rest) - len(after)
			sc.prev = awkOperand
			return Read, ""
		}
	}
	return Write, "prints to a file"
}
