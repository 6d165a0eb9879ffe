package shellsafe

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// maxNestedText bounds texts within texts, such as `powershell -Command "powershell -Command …"`.
const maxNestedText = 8

// analyzeWindows judges a line in the [PowerShell] or [Cmd] dialect. It never panics: an internal fault
// is [Invalid]. A nil opts means the defaults, with PowerShell for the dialect.
//
// It knows a line's text alone. Functions, aliases and profiles that the user's own session adds are
// not seen, and a name in a table is taken to be what the table says.
func analyzeWindows(line string, opts *Options) Result {
	if opts == nil {
		opts = &Options{Dialect: PowerShell}
	}
	return analyzeNested(line, opts, opts.Dialect, 0)
}

// analyzeNested judges a text in a dialect of Windows, depth texts deep.
func analyzeNested(line string, opts *Options, dialect Dialect, depth int) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = Result{Verdict: Invalid, Reason: fmt.Sprintf("internal fault: %v", p), Row: "internal"}
		}
	}()
	if r, bad := refuseWindowsText(line); bad {
		return r
	}
	if depth > maxNestedText {
		return Result{Verdict: Invalid, Reason: "command texts are nested too deep", Row: "syntax"}
	}
	if dialect == Cmd {
		return analyzeCmd(line, opts, depth)
	}
	return analyzePS(line, opts, depth)
}

// refuseWindowsText refuses what no grammar should see. Unlike bash, both dialects take a carriage
// return for the end of a line or a part of it; here it must be followed by a line feed.
func refuseWindowsText(line string) (Result, bool) {
	bad := func(at int, text, reason string) (Result, bool) {
		return Result{Verdict: Invalid, Reason: reason, At: Span{at, text}, Row: "text"}, true
	}
	if len(line) > MaxLen {
		return bad(0, "", fmt.Sprintf("the command line is %d bytes long, more than %d", len(line), MaxLen))
	}
	blank := true
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			return bad(i, "", "the text is not valid UTF-8")
		case r == '\r' && i+1 < len(line) && line[i+1] == '\n', r == '\n', r == '\t':
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp):
			return bad(i, line[i:i+n], fmt.Sprintf("control character %#02x", r))
		case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			// These make a line look other than it runs; the user is to approve what they see.
			return bad(i, line[i:i+n], fmt.Sprintf("character %U changes the order in which text is shown", r))
		case r != ' ':
			blank = false
		}
		i += n
	}
	if blank {
		return bad(0, "", "there is no command")
	}
	return Result{}, false
}

// A worstOf keeps the least verdict of a line, and of equals the first.
type worstOf struct {
	line   string
	result Result
	found  bool
}

func (w *worstOf) refuse(v Verdict, at psPos, row, reason, hint string) {
	if w.found && v >= w.result.Verdict {
		return
	}
	from := min(max(at.from, 0), len(w.line))
	to := min(max(at.to, from), len(w.line))
	w.found = true
	w.result = Result{Verdict: v, Reason: reason, At: Span{from, w.line[from:to]}, Hint: hint, Row: row}
}

// merge takes over the judgement of a part, which stands at the given place.
func (w *worstOf) merge(r Result, at psPos) {
	if r.Verdict != Read {
		w.refuse(r.Verdict, at, r.Row, r.Reason, r.Hint)
	}
}

func (w *worstOf) done() Result {
	if !w.found {
		return Result{Verdict: Read}
	}
	return w.result
}
