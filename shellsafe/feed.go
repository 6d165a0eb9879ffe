package shellsafe

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// feedValue says what is known of the lines that the pipe in front of an xargs delivers: find prints
// paths that begin with its starting points, and with -print0 and -0 they arrive unharmed.
func feedValue(a *analyzer, c *call) value {
	null := c.hasAny("-0", "--null")
	if d, ok := c.opt("-d"); ok && !null {
		null = d.value.lit && (d.value.text == `\0` || d.value.text == "")
	}
	switch {
	case c.io.feed == nil:
		return value{}
	case null:
		return a.lines(c.io.feed, true)
	}
	return value{not: a.lines(c.io.feed, false).not & (doubled | devices)} // lines are split at blanks
}

// lines says what is known of each line (or NUL-ended record) that a statement prints. A name that
// holds a newline can forge a line, so only records that end in NUL are certain not to look like an
// option; that a directory is named `x\n` to forge a path below /dev is not believed.
func (a *analyzer) lines(s *syntax.Stmt, null bool) value {
	for {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.Pipe && b.Op != syntax.PipeAll {
			break
		}
		last, ok := b.Y.Cmd.(*syntax.CallExpr)
		if !ok || len(last.Args) == 0 || !lineKeepers[last.Args[0].Lit()] {
			s = b.Y
			break
		}
		s = b.X // head, sort and their like pass lines on as they are
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || s.Negated || a.funcs[c.Args[0].Lit()] != nil {
		return value{}
	}
	name := c.Args[0].Lit()
	if name == "find" {
		return a.findLines(c, null)
	}
	if !listsNames(c) {
		return value{}
	}
	for _, w := range c.Args[1:] {
		if s, ok := oneArgument(w); ok && strings.HasPrefix(s, "/") || !ok && !relativePattern(w) {
			return value{}
		}
	}
	return value{not: fromListing}
}

// relativePattern accepts an unquoted pattern such as *.go.
func relativePattern(w *syntax.Word) bool {
	lit := w.Lit()
	return lit != "" && !strings.HasPrefix(lit, "/") && !strings.HasPrefix(lit, "~") && !strings.HasPrefix(lit, "{")
}

// lineKeepers print lines of their input, unchanged.
var lineKeepers = map[string]bool{"head": true, "tail": true, "sort": true, "grep": true, "uniq": true, "tac": true}

// listsNames knows the calls that print names of files below the working directory, or below their
// operands.
func listsNames(c *syntax.CallExpr) bool {
	has := func(options ...string) bool {
		for _, w := range c.Args[1:] {
			for _, o := range options {
				if w.Lit() == o {
					return true
				}
			}
		}
		return false
	}
	switch c.Args[0].Lit() {
	case "ls", "fd", "fdfind":
		return !has("-l", "-a")
	case "rg", "grep":
		return has("-l", "-rl", "-lr", "--files", "--files-with-matches")
	case "git":
		return has("ls-files") || has("--name-only")
	}
	return false
}

func (a *analyzer) findLines(c *syntax.CallExpr, null bool) value {
	not, print0, roots := file, false, 0
	for i, arg := range c.Args[1:] {
		lit, ok := oneArgument(arg)
		switch {
		case !ok:
			return value{}
		case lit == "-print0":
			print0 = true
		case strings.HasPrefix(lit, "-printf"), strings.HasPrefix(lit, "-fprint"), strings.HasPrefix(lit, "-exec"),
			strings.HasPrefix(lit, "-ok"), lit == "-ls", strings.HasPrefix(lit, "-files0"), lit == "-print" && null:
			return value{}
		case roots == i && lit == "\x00":
			return value{}
		case roots == i && !strings.HasPrefix(lit, "-") && lit != "(" && lit != "!":
			roots++
			not &= below(word{text: lit, lit: true})
		}
	}
	return value{nodash: null && print0, not: not}
}

// feeds notes for every read in a statement what its standard input is.
func (t *varTable) feed(s *syntax.Stmt, from *syntax.Stmt) {
	if s == nil {
		return
	}
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrIn:
			from = nil
			if p := soleProcSubst(r.Word); p != nil && len(p.Stmts) == 1 {
				from = p.Stmts[0]
			}
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn, syntax.RdrInOut:
			from = nil
		}
	}
	each := func(list []*syntax.Stmt) {
		for _, x := range list {
			t.feed(x, from)
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) > 0 && c.Args[0].Lit() == "read" && from != nil {
			t.feeds[c] = from
		}
	case *syntax.BinaryCmd:
		t.feed(c.X, from)
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			from = c.X
		}
		t.feed(c.Y, from)
	case *syntax.Block:
		each(c.Stmts)
	case *syntax.Subshell:
		each(c.Stmts)
	case *syntax.WhileClause:
		each(c.Cond)
		each(c.Do)
	case *syntax.IfClause:
		for x := c; x != nil; x = x.Else {
			each(x.Cond)
			each(x.Then)
		}
	case *syntax.ForClause:
		each(c.Do)
	case *syntax.TimeClause:
		t.feed(c.Stmt, from)
	}
}

// soleSubst returns the command of a word that is nothing but $(COMMAND).
func soleSubst(w *syntax.Word) *syntax.Stmt {
	if w == nil || len(w.Parts) != 1 {
		return nil
	}
	if c, ok := w.Parts[0].(*syntax.CmdSubst); ok && len(c.Stmts) == 1 {
		return c.Stmts[0]
	}
	return nil
}

func soleProcSubst(w *syntax.Word) *syntax.ProcSubst {
	if w == nil || len(w.Parts) != 1 {
		return nil
	}
	p, _ := w.Parts[0].(*syntax.ProcSubst)
	return p
}

// readSite is what a read assigns to its first variable.
func (a *analyzer) readSite(c *syntax.CallExpr, from *syntax.Stmt) value {
	null := false
	for i, w := range c.Args {
		if s := w.Lit(); s == "-d" && i+1 < len(c.Args) {
			q, ok := c.Args[i+1].Parts[0].(*syntax.SglQuoted)
			null = ok && len(c.Args[i+1].Parts) == 1 && (q.Value == "" || q.Dollar && q.Value == `\0`)
			if !null {
				return value{}
			}
		} else if strings.HasPrefix(s, "-d") {
			return value{}
		}
	}
	return a.lines(from, null)
}

// substitution says what is known of the output of $(…): a number, or one word that is not an option.
func (a *analyzer) substitution(stmts []*syntax.Stmt) (num, word bool) {
	if len(stmts) != 1 || stmts[0].Negated || stmts[0].Background {
		return false, false
	}
	s := stmts[0]
	for {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.Pipe && b.Op != syntax.PipeAll {
			break
		}
		s = b.Y
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || a.funcs != nil {
		return false, false
	}
	args := make([]string, 0, 8)
	for _, w := range c.Args {
		lit, ok := oneArgument(w)
		if !ok {
			return false, false
		}
		args = append(args, lit)
	}
	return printsNumber(args), printsHash(args)
}

// oneArgument returns a word that is certain to be one argument: its text, or a NUL where it is quoted
// and not looked at.
func oneArgument(w *syntax.Word) (string, bool) {
	if lit := w.Lit(); lit != "" {
		return lit, plainLit(lit) || strings.HasPrefix(lit, "HEAD~") && allDigits(lit[len("HEAD~"):])
	}
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if e, ok := q.(*syntax.ParamExp); ok && (e.Param == nil || e.Param.Value == "@" || e.Index != nil) {
					return "", false
				}
			}
		default:
			return "", false
		}
	}
	return "\x00", true
}

// printsNumber knows the calls that print one number and nothing else.
func printsNumber(args []string) bool {
	rest := args[1:]
	operands, flags := 0, ""
	for _, s := range rest {
		if len(s) > 1 && s[0] == '-' {
			flags += s[1:]
			continue
		}
		operands++
	}
	switch args[0] {
	case "wc":
		return operands == 0 && (flags == "l" || flags == "c" || flags == "w" || flags == "m")
	case "grep":
		return strings.Contains(flags, "c") && operands <= 2 && !strings.ContainsAny(flags, "rRHlLZ-") && len(rest) > 0
	case "nproc":
		return operands == 0
	case "echo":
		return flags == "" && len(rest) == 1 && isNumber(rest[0])
	case "expr":
		return flags == "" && len(rest) > 0 && numbers(operandsOf(rest))
	case "stat":
		return len(rest) == 3 && rest[0] == "-c" && rest[1] == "%s"
	case "id":
		return operands == 0 && (flags == "u" || flags == "g")
	case "date":
		return len(rest) == 1 && (rest[0] == "+%s" || rest[0] == "+%Y" || rest[0] == "+%m" || rest[0] == "+%d" || rest[0] == "+%H")
	case "tput":
		return len(rest) == 1 && (rest[0] == "cols" || rest[0] == "lines")
	case "git":
		return len(rest) > 2 && rest[0] == "rev-list" && rest[1] == "--count" && !strings.HasPrefix(rest[2], "-")
	case "seq":
		return flags == "" && operands > 0 && numbers(rest)
	}
	return false
}

// operandsOf leaves out the signs between the operands of expr.
func operandsOf(list []string) []string {
	var out []string
	for i, s := range list {
		if i%2 == 1 && (s == "+" || s == "-" || s == "/" || s == "%") {
			continue
		}
		out = append(out, s)
	}
	return out
}

func numbers(list []string) bool {
	for _, s := range list {
		if !isNumber(s) {
			return false
		}
	}
	return true
}

// printsHash knows the calls that print object names of git.
func printsHash(args []string) bool {
	if len(args) < 3 || args[0] != "git" {
		return false
	}
	for _, s := range args[2:] {
		if s == "\x00" {
			return false
		}
	}
	switch args[1] {
	case "merge-base":
		for _, s := range args[2:] {
			if strings.HasPrefix(s, "-") {
				return false
			}
		}
		return true
	case "rev-parse":
		for _, s := range args[2:] {
			switch {
			case s == "--short", s == "--verify", strings.HasPrefix(s, "--short="), s == "-q", s == "--quiet":
			case strings.HasPrefix(s, "HEAD") && !strings.ContainsAny(s, " =:"):
			default:
				return false
			}
		}
		return true
	}
	return false
}

// cmdSubst judges $(…) and says what is known of its output.
func (a *analyzer) cmdSubst(p *syntax.CmdSubst) (num, word bool) {
	a.cond++
	for i, s := range p.Stmts {
		if s.Background && !waited(p.Stmts[i+1:]) {
			a.reportNode(Write, s, "background", "`&` leaves a process behind", "")
		}
		a.stmtIO(s, stdio{outPiped: true})
	}
	a.cond--
	return a.substitution(p.Stmts)
}
