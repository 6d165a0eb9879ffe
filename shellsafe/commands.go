package shellsafe

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Command is one simple command of a line, as permission rules see it.
type Command struct {
	// Words are the command's words. A word whose value cannot be known from the text is given as it
	// is written.
	Words []string
	// Known says of each word that its value is known.
	Known []bool
	// Literal says that every word's value is known. NameKnown says it of the first alone.
	Literal, NameKnown bool
	At                 Span
}

// Commands returns every simple command in a bash command line, those in substitutions and compound
// commands included. The line is flat if it is nothing but plain commands joined by `|`, `&&`, `||`,
// `;` and newlines: no assignment, substitution, function, background job, or redirection other than to
// /dev/null or between descriptors. A line that cannot be parsed is an error.
func Commands(line string) (commands []Command, flat bool, err error) {
	if len(line) > MaxLen {
		return nil, false, fmt.Errorf("shellsafe: %d bytes; the limit is %d", len(line), MaxLen)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, false, fmt.Errorf("shellsafe: %w", err)
	}
	flat = true
	for _, s := range file.Stmts {
		flat = flat && flatStmt(s)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				commands = append(commands, commandOf(line, n.Args))
			}
		case *syntax.DeclClause:
			flat = false
		}
		return true
	})
	return commands, flat, nil
}

func commandOf(line string, args []*syntax.Word) Command {
	start, end := args[0].Pos().Offset(), args[len(args)-1].End().Offset()
	c := Command{Literal: true, NameKnown: true, At: Span{Offset: int(start), Text: line[start:end]}}
	for i, w := range args {
		value, ok := plainWord(w)
		if !ok {
			c.Literal = false
			c.NameKnown = c.NameKnown && i > 0
			value = line[w.Pos().Offset():w.End().Offset()]
		}
		c.Words, c.Known = append(c.Words, value), append(c.Known, ok)
	}
	return c
}

// plainWord returns the value of a word that bash would not expand in any way but by taking quotes
// and backslashes off.
func plainWord(w *syntax.Word) (string, bool) {
	var b strings.Builder
	brace, list := false, false
	for i, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if i == 0 && strings.HasPrefix(p.Value, "~") || !unescape(&b, p.Value, false) {
				return "", false
			}
			brace = brace || strings.Contains(p.Value, "{")
			list = list || strings.Contains(p.Value, ",") || strings.Contains(p.Value, "..")
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok || p.Dollar || !unescape(&b, lit.Value, true) {
					return "", false
				}
			}
		default:
			return "", false
		}
	}
	// Braces without a list or a range stay as they are, as in `find -exec ls {} +`.
	return b.String(), !brace || !list
}

// unescape writes a piece of a word as bash understands it, and says whether bash expands nothing in
// it. In double quotes a backslash escapes only what is special there.
func unescape(b *strings.Builder, lit string, quoted bool) bool {
	for i := 0; i < len(lit); i++ {
		c := lit[i]
		switch {
		case c == '\\' && i+1 == len(lit):
			return false
		case c == '\\' && (!quoted || strings.IndexByte("$`\"\\\n", lit[i+1]) >= 0):
			i++
			if lit[i] == '\n' {
				continue
			}
			c = lit[i]
		case quoted:
		case strings.IndexByte("*?[", c) >= 0, c == '~' && i > 0 && (lit[i-1] == '=' || lit[i-1] == ':'):
			return false
		}
		b.WriteByte(c)
	}
	return true
}

func flatStmt(s *syntax.Stmt) bool {
	if s.Background || s.Coprocess || s.Negated {
		return false
	}
	for _, r := range s.Redirs {
		target, ok := plainWord(r.Word)
		if !ok || r.Hdoc != nil {
			return false
		}
		switch r.Op {
		case syntax.DplOut:
			if strings.Trim(target, "0123456789") != "" {
				return false
			}
		case syntax.RdrOut, syntax.RdrAll:
			if target != "/dev/null" {
				return false
			}
		default:
			return false
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			return false
		}
		for _, w := range c.Args {
			if hasSubstitution(w) {
				return false
			}
		}
		return true
	case *syntax.BinaryCmd:
		return flatStmt(c.X) && flatStmt(c.Y)
	}
	return false
}

func hasSubstitution(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.ParamExp, *syntax.ExtGlob:
			found = true
		}
		return !found
	})
	return found
}
