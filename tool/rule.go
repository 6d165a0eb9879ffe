package tool

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/planmode-dev/planmode/shellsafe"
)

// A Rule names a tool, as a pattern with "*", and optionally an argument: for a tool that runs command
// lines, a command; for one that reads or writes files, a path; for one that fetches, a host or URL. A
// rule with an argument never matches a call that the argument says nothing about.
//
// A rule that allows is read narrowly. "bash(go test *)" covers the lines that are nothing but plain
// commands, each of which begins with exactly those words; "write(docs/**)" the paths that
// [doublestar.Match] says, relative to the workspace or absolute, and a pattern without a slash the
// base names at any depth; "fetch(example.com)" that host.
//
// A rule that denies or asks is read widely: letter case does not count; it speaks of what lies below
// a matching folder, and of any command of a line, in compound commands, substitutions and functions
// too, under any path of the program and through programs that start another, such as xargs, env and
// sh -c. A word whose value only the shell will know matches anything. It does not see what a program
// or script does once it runs, nor an option that stands between the words of the rule.
type Rule struct {
	Tool, Arg string
}

// ParseRule reads a rule as configuration files write it.
func ParseRule(s string) (Rule, error) {
	name, arg, hasArg := strings.Cut(s, "(")
	if hasArg {
		if !strings.HasSuffix(arg, ")") {
			return Rule{}, fmt.Errorf("tool: rule %q: no closing parenthesis", s)
		}
		arg = arg[:len(arg)-1]
		if strings.TrimSpace(arg) == "" {
			return Rule{}, fmt.Errorf("tool: rule %q: the argument is empty", s)
		}
		if strings.ContainsRune(arg, 0) {
			return Rule{}, fmt.Errorf("tool: rule %q: the argument holds a NUL byte", s)
		}
	}
	if name == "" {
		return Rule{}, fmt.Errorf("tool: rule %q: no tool name", s)
	}
	if i := strings.IndexFunc(name, func(c rune) bool { return !strings.ContainsRune(nameRunes, c) }); i >= 0 {
		return Rule{}, fmt.Errorf("tool: rule %q: %q cannot be in a tool's name (at byte %d)", s, name[i:], i)
	}
	if _, err := path.Match(name, ""); err != nil {
		return Rule{}, fmt.Errorf("tool: rule %q: %q is no pattern", s, name)
	}
	if !doublestar.ValidatePattern(arg) && strings.ContainsAny(arg, "/") {
		return Rule{}, fmt.Errorf("tool: rule %q: %q is no pattern of paths", s, arg)
	}
	return Rule{Tool: name, Arg: arg}, nil
}

// nameRunes may stand in a pattern of tool names: those of a name, and those of [path.Match].
const nameRunes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-*?[]^"

// String returns the rule as [ParseRule] reads it.
func (r Rule) String() string {
	if r.Arg == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Arg + ")"
}

func (r Rule) length() int { return len(r.Tool) + len(r.Arg) }

// A subject is a call as rules see it.
type subject struct {
	roots  *Roots
	tool   string
	access Access
	lines  map[string]line // parsed once for all rules
}

type line struct {
	commands []shellsafe.Command
	flat     bool
	err      error
}

func (s *subject) parse(text string) line {
	l, ok := s.lines[text]
	if !ok {
		l.commands, l.flat, l.err = shellsafe.Commands(text)
		if s.lines == nil {
			s.lines = map[string]line{}
		}
		s.lines[text] = l
	}
	return l
}

// touches says whether the rule speaks of any part of the call. It is for rules that restrict: what
// cannot be told is yes.
func (r Rule) touches(s *subject) bool {
	if named, err := path.Match(r.Tool, s.tool); err == nil && !named {
		return false
	}
	if r.Arg == "" {
		return true
	}
	for _, e := range s.access {
		hit := false
		switch e := e.(type) {
		case ReadFile:
			hit = r.touchesPath(s.roots, e.Path)
		case WriteFile:
			hit = r.touchesPath(s.roots, e.Path)
		case Shell:
			hit = r.touchesLine(s, e.Command, 0)
		case Fetch:
			u, err := url.Parse(e.URL)
			hit = err != nil || strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), r.Arg) || strings.EqualFold(e.URL, r.Arg)
		case Nothing, SubmitPlan, WriteTodos, AskUser, Spawn, Claimed, Opaque:
		}
		if hit {
			return true
		}
	}
	return false
}

// covers says whether the rule speaks of the whole call. It is for rules that allow: what cannot be
// told is no.
func (r Rule) covers(s *subject) bool {
	if named, err := path.Match(r.Tool, s.tool); err != nil || !named || len(s.access) == 0 {
		return false
	}
	if r.Arg == "" {
		return true
	}
	for _, e := range s.access {
		hit := false
		switch e := e.(type) {
		case ReadFile:
			hit = r.coversPath(s.roots, e.Path)
		case WriteFile:
			hit = r.coversPath(s.roots, e.Path)
		case Shell:
			hit = r.coversLine(s, e.Command)
		case Fetch:
			u, err := url.Parse(e.URL)
			hit = err == nil && (strings.EqualFold(u.Hostname(), r.Arg) || e.URL == r.Arg)
		case Nothing, SubmitPlan, WriteTodos, AskUser, Spawn, Claimed, Opaque:
		}
		if !hit {
			return false
		}
	}
	return true
}

func (r Rule) coversPath(roots *Roots, p string) bool {
	abs, err := roots.abs(p)
	if err != nil {
		return false
	}
	ok, err := r.matchPath(roots, abs, false)
	return ok && err == nil
}

func (r Rule) touchesPath(roots *Roots, p string) bool {
	abs, err := roots.abs(p)
	if err != nil {
		return true
	}
	for {
		if ok, err := r.matchPath(roots, abs, true); ok || err != nil {
			return true
		}
		parent := filepath.Dir(abs)
		if parent == abs || abs == roots.Workspace {
			return false
		}
		abs = parent
	}
}

// matchPath holds the argument against one absolute path; an error is a pattern that is none.
func (r Rule) matchPath(roots *Roots, abs string, fold bool) (bool, error) {
	pattern, name := r.Arg, abs
	if strings.HasPrefix(pattern, "~/") && roots.Home != "" {
		pattern = filepath.Join(roots.Home, pattern[2:])
	}
	switch {
	case filepath.IsAbs(pattern):
	case !strings.Contains(pattern, "/"):
		name = filepath.Base(abs)
	default:
		pattern = path.Clean(pattern)
		if !within(roots.Workspace, abs) {
			return false, nil
		}
		rel, err := filepath.Rel(roots.Workspace, abs)
		if err != nil {
			return false, err
		}
		name = rel
	}
	pattern, name = filepath.ToSlash(pattern), filepath.ToSlash(name)
	if fold {
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	return doublestar.Match(pattern, name)
}
