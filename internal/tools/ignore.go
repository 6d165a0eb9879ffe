package tools

import (
	"path"
	"strings"
)

// An ignoreFile is a parsed .gitignore. Its rules are those of gitignore(5): the last pattern that
// matches decides, "!" takes back, and nothing below an ignored folder is looked at.
type ignoreFile struct{ patterns []ignorePattern }

type ignorePattern struct {
	segments []segment
	negated  bool
	dirOnly  bool
	anchored bool // matched against the whole path, not the base name
}

// A segment is what stands between two slashes of a pattern.
type segment struct {
	kind segmentKind
	text string
}

type segmentKind uint8

const (
	segLiteral segmentKind = iota
	segSuffix              // "*" and then text
	segGlob                // for [path.Match]
	segAny                 // "*"
	segDeep                // "**": any number of folders
	segNever               // a pattern that git takes to match nothing
)

// parseIgnore reads the text of a .gitignore.
func parseIgnore(data []byte) *ignoreFile {
	f := &ignoreFile{}
	text := strings.TrimPrefix(string(data), "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		if p, ok := parseIgnoreLine(strings.TrimSuffix(line, "\r")); ok {
			f.patterns = append(f.patterns, p)
		}
	}
	return f
}

// parseIgnoreLine reads one line. Git also knows a slash inside a bracket expression, as in "[/a]"; here
// it ends the segment, and the broken expression matches nothing.
func parseIgnoreLine(line string) (ignorePattern, bool) {
	var p ignorePattern
	if strings.HasPrefix(line, "#") {
		return p, false
	}
	line = trimTrailingSpaces(line)
	if rest, ok := strings.CutPrefix(line, "!"); ok {
		p.negated, line = true, rest
	}
	if rest, ok := strings.CutSuffix(line, "/"); ok {
		p.dirOnly, line = true, rest
	}
	if line == "" {
		return p, false
	}
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	texts := strings.Split(line, "/")
	for i, text := range texts {
		if i < len(texts)-1 && oddBackslashes(text) { // an escaped slash is a slash
			text = text[:len(text)-1]
		}
		s := newSegment(text)
		if s.kind == segDeep && len(p.segments) > 0 && p.segments[len(p.segments)-1].kind == segDeep {
			continue
		}
		p.segments = append(p.segments, s)
	}
	return p, true
}

// trimTrailingSpaces takes spaces off the end, except one that a backslash keeps.
func trimTrailingSpaces(line string) string {
	end := len(line)
	for end > 0 && line[end-1] == ' ' && !oddBackslashes(line[:end-1]) {
		end--
	}
	return line[:end]
}

// oddBackslashes says whether the text ends in a backslash that no other one escapes.
func oddBackslashes(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

func newSegment(text string) segment {
	switch {
	case text == "":
		return segment{kind: segNever}
	case text == "*":
		return segment{kind: segAny}
	case len(text) > 1 && strings.Trim(text, "*") == "":
		return segment{kind: segDeep}
	case !strings.ContainsAny(text, `*?[\`):
		return segment{kind: segLiteral, text: text}
	case text[0] == '*' && !strings.ContainsAny(text[1:], `*?[\`):
		return segment{kind: segSuffix, text: text[1:]}
	}
	text = goClasses(text)
	if _, err := path.Match(text, ""); err != nil {
		return segment{kind: segNever}
	}
	return segment{kind: segGlob, text: text}
}

// posixClasses are the named classes of fnmatch(3) as ranges. [path.Match] knows none.
var posixClasses = strings.NewReplacer(
	"[:alnum:]", "0-9A-Za-z", "[:alpha:]", "A-Za-z", "[:blank:]", ` \t`, "[:digit:]", "0-9",
	"[:lower:]", "a-z", "[:upper:]", "A-Z", "[:space:]", " \t\n\v\f\r", "[:xdigit:]", "0-9A-Fa-f",
	"[:word:]", "0-9A-Za-z_", "[:punct:]", "!-.:-@\\[-`{-~",
)

// goClasses rewrites the bracket expressions of a pattern as [path.Match] wants them: "!" as "^", a
// leading "]" and a "-" at either end escaped.
func goClasses(text string) string {
	text = posixClasses.Replace(text)
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			b.WriteString(text[i : i+2])
			i++
		case c == '[':
			i = goClass(&b, text, i)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// goClass writes the bracket expression that begins at i, and returns the index of its last byte.
func goClass(b *strings.Builder, text string, i int) int {
	b.WriteByte('[')
	i++
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		b.WriteByte('^')
		i++
	}
	for first := true; i < len(text); i, first = i+1, false {
		c := text[i]
		last := i+1 < len(text) && text[i+1] == ']'
		switch {
		case c == ']' && !first:
			b.WriteByte(']')
			return i
		case c == '\\' && i+1 < len(text):
			b.WriteString(text[i : i+2])
			i++
		case c == ']', c == '-' && (first || last):
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return i
}

func (s segment) matches(name string) bool {
	switch s.kind {
	case segLiteral:
		return name == s.text
	case segSuffix:
		return strings.HasSuffix(name, s.text)
	case segGlob:
		ok, err := path.Match(s.text, name)
		return ok && err == nil
	case segAny, segDeep:
		return true
	case segNever:
	}
	return false
}

// ignores says whether the path, relative to the file's folder, is ignored (by true), taken back (by
// false), or not mentioned.
func (f *ignoreFile) ignores(rel string, isDir bool) (ignored, mentioned bool) {
	base := path.Base(rel)
	var parts []string
	for i := len(f.patterns) - 1; i >= 0; i-- {
		p := &f.patterns[i]
		if p.dirOnly && !isDir {
			continue
		}
		var hit bool
		if p.anchored {
			if parts == nil {
				parts = strings.Split(rel, "/")
			}
			hit = matchSegments(p.segments, parts)
		} else {
			hit = p.segments[0].matches(base)
		}
		if hit {
			return !p.negated, true
		}
	}
	return false, false
}

// matchSegments matches a path against a pattern, both split at slashes. On a mismatch it goes back to
// the last "**" alone: an earlier one could only take what the last can take too.
func matchSegments(pattern []segment, parts []string) bool {
	pi, ni := 0, 0
	starP, starN := -1, 0
	for ni < len(parts) {
		switch {
		case pi < len(pattern) && pattern[pi].kind == segDeep:
			if pi == len(pattern)-1 {
				return true // what is left is at least one name
			}
			starP, starN = pi, ni
			pi++
		case pi < len(pattern) && pattern[pi].matches(parts[ni]):
			pi, ni = pi+1, ni+1
		case starP >= 0:
			starN++
			pi, ni = starP+1, starN
		default:
			return false
		}
	}
	return pi == len(pattern)
}
