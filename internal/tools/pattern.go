package tools

import (
	"errors"
	"regexp"
	"regexp/syntax"
)

// compileLines compiles an expression so that it matches within single lines of a text of many: no
// part of it matches a newline, and ^, $, \A and \z are a line's bounds. literal is plain text that
// every match holds, if there is some that is worth looking for first.
func compileLines(expr string, ignoreCase bool) (re *regexp.Regexp, literal []byte, err error) {
	flags := syntax.Perl &^ syntax.OneLine // ^ and $ are a line's bounds
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, nil, err
	}
	if withinLine(tree) {
		return nil, nil, errors.New("it holds a newline, and lines are searched one by one")
	}
	if re, err = regexp.Compile(tree.String()); err != nil {
		return nil, nil, err
	}
	if l := longestLiteral(tree); len(l) > 1 {
		literal = []byte(l)
	}
	return re, literal, nil
}

// withinLine rewrites the tree. It says whether the expression asks for a newline by name.
func withinLine(re *syntax.Regexp) (asksForNewline bool) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			asksForNewline = asksForNewline || r == '\n'
		}
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op = syntax.OpEndLine
	case syntax.OpCharClass:
		re.Rune = withoutNewline(re.Rune)
		if len(re.Rune) == 0 {
			asksForNewline = true
		}
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpAnyCharNotNL, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpWordBoundary,
		syntax.OpNoWordBoundary, syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat, syntax.OpConcat,
		syntax.OpAlternate:
	}
	for _, sub := range re.Sub {
		asksForNewline = withinLine(sub) || asksForNewline
	}
	return asksForNewline
}

// withoutNewline takes the newline out of a class of ranges.
func withoutNewline(ranges []rune) []rune {
	var kept []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		from, to := ranges[i], ranges[i+1]
		if from > '\n' || to < '\n' {
			kept = append(kept, from, to)
			continue
		}
		if from < '\n' {
			kept = append(kept, from, '\n'-1)
		}
		if to > '\n' {
			kept = append(kept, '\n'+1, to)
		}
	}
	return kept
}

// longestLiteral returns the longest plain text that every match holds. Text that may be in another
// case is none.
func longestLiteral(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return longestLiteral(re.Sub[0])
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if l := longestLiteral(sub); len(l) > len(best) {
				best = l
			}
		}
		return best
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpCharClass, syntax.OpAnyCharNotNL, syntax.OpAnyChar, syntax.OpBeginLine,
		syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpStar,
		syntax.OpQuest, syntax.OpRepeat, syntax.OpAlternate:
	}
	return ""
}
