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

// Autonomy is how much confirmation the user wants while changes are allowed. The zero value is
// [Strict]. It is a separate axis from plan mode: no transition reads or writes it.
type Autonomy uint8

// The three modes.
//
//	                              strict  hybrid  loose
//	proven read-only              runs    runs    runs
//	write in the workspace        asks    runs    runs
//	other command, network, MCP   asks    asks    runs
//	.git and the like, outside    asks    asks    asks
const (
	Strict Autonomy = iota
	Hybrid
	Loose
)

var autonomyNames = [...]string{Strict: "strict", Hybrid: "hybrid", Loose: "loose"}

// String returns the mode's name.
func (a Autonomy) String() string {
	if int(a) < len(autonomyNames) {
		return autonomyNames[a]
	}
	return autonomyNames[Strict]
}

// ParseAutonomy reads a name; another word is Strict and an error.
func ParseAutonomy(s string) (Autonomy, error) {
	for a, name := range autonomyNames {
		if name == s {
			return Autonomy(a), nil
		}
	}
	return Strict, fmt.Errorf("tool: autonomy %q is none of strict, hybrid, loose", s)
}

// A Policy is the user's rules for when changes are allowed. A matching deny rule refuses in every
// mode. Otherwise the longest matching rule decides, and of two of the same length the one that asks.
// No rule lifts what a mode forbids.
type Policy struct {
	Allow, Ask, Deny []Rule
}

// A Rule names a tool, as a pattern with "*", and optionally an argument. "bash(go test *)" matches
// the command lines made only of commands that begin with those words; "write(docs/**)" the paths by
// [doublestar.Match], relative to the workspace or absolute, and a pattern without a slash at any
// depth; "fetch(example.com)" a host. A rule with an argument never matches a call that the argument
// says nothing about.
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
	}
	if name == "" || strings.ContainsAny(name, " \t/") {
		return Rule{}, fmt.Errorf("tool: rule %q: no tool name", s)
	}
	if _, err := path.Match(name, ""); err != nil {
		return Rule{}, fmt.Errorf("tool: rule %q: %w", s, err)
	}
	if !doublestar.ValidatePattern(arg) && strings.ContainsAny(arg, "/") {
		return Rule{}, fmt.Errorf("tool: rule %q: bad pattern", s)
	}
	return Rule{Tool: name, Arg: arg}, nil
}

// String returns the rule as [ParseRule] reads it.
func (r Rule) String() string {
	if r.Arg == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Arg + ")"
}

// A stance is what the rules say of a call.
type stance uint8

const (
	silent stance = iota
	allowed
	asked
	denied
)

// of returns what the policy says of a call, and the rule that said it.
func (p *Policy) of(roots *Roots, name string, access Access) (stance, Rule) {
	for _, r := range p.Deny {
		if r.touches(roots, name, access) {
			return denied, r
		}
	}
	best, by, length := silent, Rule{}, -1
	for _, r := range p.Allow {
		if n := len(r.Tool) + len(r.Arg); n > length && r.covers(roots, name, access) {
			best, by, length = allowed, r, n
		}
	}
	for _, r := range p.Ask {
		if n := len(r.Tool) + len(r.Arg); n >= length && r.touches(roots, name, access) {
			best, by, length = asked, r, n
		}
	}
	return best, by
}

// touches says whether the rule speaks of any part of the call. It is for rules that restrict.
func (r Rule) touches(roots *Roots, name string, access Access) bool {
	if !r.names(name) {
		return false
	}
	if r.Arg == "" {
		return true
	}
	for _, e := range access {
		if r.matches(roots, e, true) {
			return true
		}
	}
	return false
}

// covers says whether the rule speaks of the whole call. It is for rules that allow.
func (r Rule) covers(roots *Roots, name string, access Access) bool {
	if !r.names(name) || len(access) == 0 {
		return false
	}
	if r.Arg == "" {
		return true
	}
	for _, e := range access {
		if !r.matches(roots, e, false) {
			return false
		}
	}
	return true
}

func (r Rule) names(tool string) bool {
	ok, err := path.Match(r.Tool, tool)
	return ok && err == nil
}

// matches holds the argument against one effect. With part set, a piece of a command line is enough.
func (r Rule) matches(roots *Roots, e Effect, part bool) bool {
	switch e := e.(type) {
	case ReadFile:
		return r.matchesPath(roots, e.Path)
	case WriteFile:
		return r.matchesPath(roots, e.Path)
	case Shell:
		return r.matchesLine(e.Command, part)
	case Fetch:
		u, err := url.Parse(e.URL)
		return err == nil && (strings.EqualFold(u.Hostname(), r.Arg) || e.URL == r.Arg)
	case Nothing, SubmitPlan, WriteTodos, AskUser, Spawn, Claimed, Opaque:
	}
	return false
}

func (r Rule) matchesPath(roots *Roots, p string) bool {
	abs, err := roots.abs(p)
	if err != nil {
		return false
	}
	pattern := r.Arg
	if strings.HasPrefix(pattern, "~/") && roots.Home != "" {
		pattern = filepath.Join(roots.Home, pattern[2:])
	}
	if filepath.IsAbs(pattern) {
		return match(pattern, abs)
	}
	if !strings.Contains(pattern, "/") {
		return match(pattern, filepath.Base(abs))
	}
	rel, err := filepath.Rel(roots.Workspace, abs)
	return err == nil && !strings.HasPrefix(rel, "..") && match(strings.TrimPrefix(pattern, "./"), rel)
}

func match(pattern, name string) bool {
	ok, err := doublestar.Match(filepath.ToSlash(pattern), filepath.ToSlash(name))
	return ok && err == nil
}

// matchesLine holds the argument against a command line. A rule that allows must match every command
// of a line that is nothing but plain commands; one that restricts, any command in it. A command
// whose name cannot be known is taken to match a rule that restricts.
func (r Rule) matchesLine(line string, part bool) bool {
	commands, flat, err := shellsafe.Commands(line)
	if err != nil {
		return part
	}
	if !part && (!flat || len(commands) == 0) {
		return false
	}
	for _, c := range commands {
		switch hit := c.Literal && matchWords(r.Arg, c.Words); {
		case part && (hit || !c.NameKnown):
			return true
		case !part && !hit:
			return false
		}
	}
	return !part
}

// matchWords holds words against a pattern of words; a last "*" stands for any further words, none
// included, and "go test:*" is the same as "go test *".
func matchWords(pattern string, words []string) bool {
	want := strings.Fields(strings.Replace(pattern, ":*", " *", 1))
	for i, w := range want {
		if w == "*" && i == len(want)-1 {
			return true
		}
		if i >= len(words) || !wildcard(w, words[i]) {
			return false
		}
	}
	return len(want) == len(words)
}

// wildcard matches a word against a pattern in which "*" stands for any characters.
func wildcard(pattern, word string) bool {
	head, rest, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == word
	}
	if !strings.HasPrefix(word, head) {
		return false
	}
	word = word[len(head):]
	for {
		piece, more, found := strings.Cut(rest, "*")
		if !found {
			return strings.HasSuffix(word, piece)
		}
		i := strings.Index(word, piece)
		if i < 0 {
			return false
		}
		word, rest = word[i+len(piece):], more
	}
}
