package shellsafe

import (
	"mvdan.cc/sh/v3/syntax"
)

// maxWork bounds the commands and words that are looked at in one line. Functions that call each other
// many times are judged at every call, which could go on for ever.
const maxWork = 20_000

// tired reports whether the line has cost too much, and has it refused.
func (a *analyzer) tired(n syntax.Node) bool {
	a.work++
	if a.work < maxWork {
		return false
	}
	if a.work == maxWork {
		saved := a.mute
		a.mute = 0
		a.reportNode(Invalid, n, "grammar", "the line is too complex to be judged", "write simpler commands")
		a.mute = saved
	}
	return true
}

// maxDepth bounds nested scripts and function calls.
const maxDepth = 8

func (a *analyzer) stmts(list []*syntax.Stmt) {
	for i, s := range list {
		if s.Background && !waited(list[i+1:]) {
			a.reportNode(Write, s, "background",
				"`&` leaves a process behind", "run it in the foreground, or end with `wait`")
		}
		a.stmt(s)
	}
}

// waited reports whether a plain `wait` follows, which ends what `&` has started.
func waited(rest []*syntax.Stmt) bool {
	for _, s := range rest {
		if c, ok := s.Cmd.(*syntax.CallExpr); ok && !s.Background && len(c.Args) == 1 && c.Args[0].Lit() == "wait" {
			return true
		}
	}
	return false
}

// stdio is what a command's standard streams are connected to, as far as that matters.
type stdio struct {
	outPiped bool         // standard output is not a terminal
	feed     *syntax.Stmt // what writes into standard input, if it is a pipe
}

func (a *analyzer) stmt(s *syntax.Stmt) { a.stmtIO(s, stdio{}) }

func (a *analyzer) stmtIO(s *syntax.Stmt, io stdio) {
	if s.Coprocess || s.Disown {
		a.unsupported(s)
		return
	}
	for _, r := range s.Redirs {
		if a.redirect(r) {
			io.outPiped = true
		}
	}
	if s.Background {
		a.cond++
		defer func() { a.cond-- }()
	}
	a.command(s.Cmd, io)
}

// command judges one command. It handles every kind that the parser makes and fails closed on any
// other.
func (a *analyzer) command(c syntax.Command, io stdio) {
	if c != nil && a.tired(c) {
		return
	}
	switch c := c.(type) {
	case nil: // only redirections
	case *syntax.CallExpr:
		a.callExpr(c, io)
	case *syntax.BinaryCmd:
		a.binary(c, io)
	case *syntax.Block:
		a.body(c.Stmts, io, 0)
	case *syntax.Subshell:
		a.body(c.Stmts, io, 1)
	case *syntax.IfClause:
		for x := c; x != nil; x = x.Else {
			a.body(x.Cond, io, 1)
			a.body(x.Then, io, 1)
		}
	case *syntax.WhileClause:
		a.body(c.Cond, io, 1)
		a.body(c.Do, io, 1)
	case *syntax.ForClause:
		a.forClause(c, io)
	case *syntax.CaseClause:
		a.single(c.Word)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				a.single(p)
			}
			a.body(item.Stmts, io, 1)
		}
	case *syntax.FuncDecl:
		a.declareFunc(c)
	case *syntax.ArithmCmd:
		a.arithm(c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			a.letExpr(x)
		}
	case *syntax.TestClause:
		a.testExpr(c.X)
	case *syntax.DeclClause:
		a.declClause(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			a.stmtIO(c.Stmt, io)
		}
	case *syntax.CoprocClause:
		a.reportNode(Write, c, "background", "`coproc` leaves a process behind", "")
		a.stmt(c.Stmt)
	default:
		a.unsupported(c)
	}
}

// body walks a nested list; cond is 1 where the list may not run, or runs in another process.
func (a *analyzer) body(list []*syntax.Stmt, io stdio, cond int) {
	a.cond += cond
	for i, s := range list {
		if s.Background && !waited(list[i+1:]) {
			a.reportNode(Write, s, "background",
				"`&` leaves a process behind", "run it in the foreground, or end with `wait`")
		}
		a.stmtIO(s, io)
	}
	a.cond -= cond
}

func (a *analyzer) binary(c *syntax.BinaryCmd, io stdio) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		a.cond++
		a.stmtIO(c.X, stdio{outPiped: true, feed: io.feed})
		a.stmtIO(c.Y, stdio{outPiped: io.outPiped, feed: c.X})
		a.cond--
	case syntax.AndStmt, syntax.OrStmt:
		a.stmtIO(c.X, io)
		a.cond++
		a.stmtIO(c.Y, io)
		a.cond--
	default:
		a.unsupported(c)
	}
}

func (a *analyzer) forClause(c *syntax.ForClause, io stdio) {
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		a.steered(loop.Name.Value, nil, loop, false)
		for _, w := range loop.Items {
			a.single(w)
		}
	case *syntax.CStyleLoop:
		a.arithm(loop.Init)
		a.arithm(loop.Cond)
		a.arithm(loop.Post)
	default:
		a.unsupported(c)
		return
	}
	a.body(c.Do, io, 1)
}

// letExpr judges an operand of let, whose quotes the shell removes before it evaluates the rest.
func (a *analyzer) letExpr(x syntax.ArithmExpr) {
	a.arithm(x)
}

// A function is a declared shell function.
type function struct {
	decl    *syntax.FuncDecl
	certain bool // declared before, whatever happens
	active  int  // calls being judged
}

func (a *analyzer) declareFunc(c *syntax.FuncDecl) {
	if c.Name == nil || len(c.Names) > 0 || c.Body == nil {
		a.unsupported(c)
		return
	}
	name := c.Name.Value
	certain := a.cond == 0
	switch c.Body.Cmd.(type) {
	case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause,
		*syntax.CaseClause, *syntax.ArithmCmd, *syntax.TestClause:
		certain = certain && !c.Body.Negated && !c.Body.Background
	default:
		// The parser takes `f() { …; } | cat` for a body; to bash it is a pipeline with a declaration
		// that is lost when it ends.
		certain = false
	}
	if a.funcs == nil {
		a.funcs = map[string]*function{}
	}
	if old := a.funcs[name]; old != nil {
		// Which of the two runs is not followed; both are judged, here and at calls of the first.
		a.funcs[name] = &function{decl: c, certain: old.certain || certain}
	} else {
		a.funcs[name] = &function{decl: c, certain: certain}
	}
	saved, from := a.args, a.argsFrom
	a.args, a.argsFrom = nil, argsHoped
	a.cond++
	a.funcs[name].active++
	a.stmt(c.Body)
	a.funcs[name].active--
	a.cond--
	a.args, a.argsFrom = saved, from
}

// callFunc judges the body of a function again, with the arguments of this call. A call from within
// itself is judged once more with arguments that are not known, which covers all further ones.
func (a *analyzer) callFunc(f *function, c *call) {
	if f.active > 1 {
		return
	}
	if a.depth >= maxDepth {
		a.reportWord(Contained, c.name, "function", "functions call each other too deeply to be followed", "")
		return
	}
	saved, from, explain := a.args, a.argsFrom, a.explain
	a.args, a.argsFrom = c.words, argsKnown
	if f.active == 1 {
		a.args, a.argsFrom = nil, argsUnknown
	}
	a.explain = false
	f.active++
	a.depth++
	a.cond++
	a.stmtIO(f.decl.Body, c.io)
	a.cond--
	a.depth--
	f.active--
	a.args, a.argsFrom, a.explain = saved, from, explain
}
