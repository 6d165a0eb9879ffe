package shellsafe

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Analyze judges one command line. It never panics, and an internal fault is [Invalid]. A nil opts
// means the defaults. It may be called from any number of goroutines at once.
func Analyze(line string, opts *Options) Result {
	if opts == nil {
		opts = &Options{}
	}
	switch opts.Dialect {
	case Bash, POSIX:
		if r, bad := refuseText(line); bad {
			return r
		}
		a, ok := analyzerPool.Get().(*analyzer)
		if !ok {
			a = newAnalyzer()
		}
		r := a.run(line, opts)
		a.reset()
		analyzerPool.Put(a)
		return r
	case PowerShell, Cmd:
		return analyzeWindows(line, opts)
	}
	return invalid(0, "", "the dialect is not known")
}

// maxOpen bounds a run of opening parentheses, of which the parser tries every pair as arithmetic: ten
// thousand keep it busy for seconds.
const maxOpen = 200

// refuseText refuses what no grammar should see: an over-long or empty text, broken UTF-8, and control
// characters, which the parser and bash treat differently (a carriage return is dropped by one and
// kept by the other).
func refuseText(line string) (Result, bool) {
	if len(line) > MaxLen {
		return invalid(0, "", fmt.Sprintf("the command line is %d bytes long, more than %d", len(line), MaxLen)), true
	}
	blank, open := true, 0
	for i := 0; i < len(line); {
		c := line[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
				return invalid(i, line[i:i+1], fmt.Sprintf("control character %#02x", c)), true
			}
			if c > ' ' {
				blank = false
			}
			if open++; c != '(' {
				open = 0
			}
			if open > maxOpen {
				return invalid(i, line[i:i+1], "too many parentheses are opened at once"), true
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		if r == utf8.RuneError && n == 1 {
			return invalid(i, "", "the text is not valid UTF-8"), true
		}
		if unicode.IsControl(r) {
			return invalid(i, line[i:i+n], fmt.Sprintf("control character %#02x", r)), true
		}
		blank = false
		i += n
	}
	if blank {
		return invalid(0, "", "there is no command"), true
	}
	return Result{}, false
}

func invalid(off int, text, reason string) Result {
	return Result{Verdict: Invalid, Reason: reason, At: Span{Offset: off, Text: text}, Row: "grammar"}
}

// An analyzer judges one line. It is not safe for concurrent use; [Analyze] takes one from a pool.
type analyzer struct {
	line   string
	opts   *Options
	index  *index
	parser [2]*syntax.Parser // by dialect: Bash, POSIX
	reader strings.Reader

	// The words and options of the calls being judged, outermost first. Each call gives back what it
	// took.
	wordArena []word
	optArena  []option

	worst   finding
	steps   []Step // nil unless explaining
	explain bool
	step    int // index into steps of the command being judged, or -1
	work    int // commands and words looked at
	mute    int // above zero: judge without recording

	script
	depth int // of nested scripts and function calls
}

// A script is what changes when a nested text (`sh -c TEXT`, `eval TEXT`) is judged.
type script struct {
	file     *syntax.File
	dialect  Dialect
	inner    bool // offsets of this text mean nothing outside: findings point at outer
	outer    [2]int
	funcs    map[string]*function
	vars     *varTable
	args     []word // positional parameters, when argsKnown
	argsFrom argSource
	inDouble bool // within ${…} within double quotes
	cond     int  // above zero: what is being walked may not run, or runs in another process
}

// A finding is one reason for a verdict. The zero value stands for "nothing found": Read.
type finding struct {
	verdict  Verdict
	set      bool
	off, end int
	reason   string
	hint     string
	row      string
}

var analyzerPool sync.Pool

func newAnalyzer() *analyzer {
	a := &analyzer{step: -1, index: programs(), wordArena: make([]word, 0, 64), optArena: make([]option, 0, 16)}
	a.parser[Bash] = syntax.NewParser(syntax.Variant(syntax.LangBash))
	a.parser[POSIX] = syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
	return a
}

// reset drops what could keep the judged line alive.
func (a *analyzer) reset() {
	parser := a.parser
	words, opts := a.wordArena[:0], a.optArena[:0]
	clear(words[:cap(words)])
	clear(opts[:cap(opts)])
	*a = analyzer{step: -1, index: a.index, parser: parser, wordArena: words, optArena: opts}
}

func (a *analyzer) run(line string, opts *Options) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			// A parser or a table at fault must not become a yes.
			a.parser[Bash] = syntax.NewParser(syntax.Variant(syntax.LangBash))
			a.parser[POSIX] = syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
			a.steps = nil
			r = invalid(0, "", fmt.Sprintf("internal fault: %v", p))
		}
	}()
	a.line, a.opts = line, opts
	a.dialect = opts.Dialect
	file, err := a.parse(line, opts.Dialect)
	if err != nil {
		return invalidSyntax(line, err)
	}
	if len(file.Stmts) == 0 {
		return invalid(0, "", "there is no command")
	}
	a.file = file
	a.stmts(file.Stmts)
	return a.result()
}

func (a *analyzer) result() Result {
	f := a.worst
	if !f.set {
		return Result{Verdict: Read}
	}
	off, end := a.clamp(f.off, f.end)
	return Result{
		Verdict: f.verdict, Reason: f.reason, Hint: f.hint, Row: f.row,
		At: Span{Offset: off, Text: a.line[off:end]},
	}
}

// clamp keeps a span inside the line, whatever the parser said about its positions.
func (a *analyzer) clamp(off, end int) (int, int) {
	off = min(max(off, 0), len(a.line))
	end = min(max(end, off), len(a.line))
	return off, end
}

func (a *analyzer) parse(text string, d Dialect) (*syntax.File, error) {
	if off := continuedComment(text, d); off >= 0 {
		return nil, syntax.ParseError{
			Pos:  syntax.NewPos(uint(off), 1, 1),
			Text: "a comment ends in a backslash, which does not continue it",
		}
	}
	a.reader.Reset(text)
	return a.parser[d].Parse(&a.reader, "")
}

// continuedComment finds a comment whose line ends in a backslash, or returns -1. To a shell the comment
// ends there; the parser reads the next line as part of the command in front.
func continuedComment(text string, d Dialect) int {
	if !strings.Contains(text, "\\\n") || !strings.Contains(text, "#") {
		return -1
	}
	lang := syntax.LangBash
	if d == POSIX {
		lang = syntax.LangPOSIX
	}
	file, err := syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		return -1 // refused when it is parsed for good
	}
	found := -1
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			start := int(c.Hash.Offset())
			rest := text[min(start, len(text)):]
			if end := strings.IndexByte(rest, '\n'); end > 0 && rest[end-1] == '\\' {
				found = start
			}
		}
		return true
	})
	return found
}

func invalidSyntax(line string, err error) Result {
	off, msg := 0, err.Error()
	var parse syntax.ParseError
	var lang syntax.LangError
	switch {
	case errors.As(err, &parse):
		off, msg = int(parse.Pos.Offset()), parse.Text
	case errors.As(err, &lang):
		off, msg = int(lang.Pos.Offset()), lang.Error()
	}
	off = min(off, len(line))
	end := off
	if off < len(line) {
		_, n := utf8.DecodeRuneInString(line[off:])
		end += n
	}
	return invalid(off, line[off:end], "the text does not parse: "+msg)
}

// report records a finding at the bytes [off,end) of the text being walked. The least verdict wins,
// and the first of equals; Invalid ("cannot be judged") beats all.
func (a *analyzer) report(v Verdict, off, end int, row, reason, hint string) {
	if a.mute > 0 {
		return
	}
	if a.inner {
		off, end = a.outer[0], a.outer[1]
	}
	f := finding{verdict: v, set: true, off: off, end: end, reason: reason, hint: hint, row: row}
	if !a.worst.set || v < a.worst.verdict {
		a.worst = f
	}
	if a.step >= 0 {
		a.steps[a.step].add(a, f)
	}
}

func (a *analyzer) reportNode(v Verdict, n syntax.Node, row, reason, hint string) {
	a.report(v, int(n.Pos().Offset()), int(n.End().Offset()), row, reason, hint)
}

func (a *analyzer) reportWord(v Verdict, w word, row, reason, hint string) {
	a.report(v, w.off, w.end, row, reason, hint)
}

// text is the source of a node, for reasons.
func (a *analyzer) text(n syntax.Node) string {
	if a.inner {
		off, end := a.clamp(a.outer[0], a.outer[1])
		return shorten(a.line[off:end])
	}
	off, end := a.clamp(int(n.Pos().Offset()), int(n.End().Offset()))
	return shorten(a.line[off:end])
}

// shorten keeps a quoted piece of a reason readable.
func shorten(s string) string {
	const limit = 60
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

func quote(s string) string { return "`" + shorten(s) + "`" }
