package tool

import (
	"path"
	"strings"

	"github.com/planmode-dev/planmode/shellsafe"
)

// coversLine says whether every command of the line is one that the rule names. The line must be
// nothing but plain commands, all of whose words are known.
func (r Rule) coversLine(s *subject, text string) bool {
	l := s.parse(text)
	if l.err != nil || !l.flat || len(l.commands) == 0 {
		return false
	}
	want := patternWords(r.Arg)
	for _, c := range l.commands {
		if !c.Literal || !coversWords(want, c.Words) {
			return false
		}
	}
	return true
}

// patternWords splits the argument of a rule; "go test:*" is the same as "go test *".
func patternWords(arg string) []string {
	arg = strings.TrimSpace(arg)
	if prefix, ok := strings.CutSuffix(arg, ":*"); ok {
		arg = prefix + " *"
	}
	return strings.Fields(arg)
}

// coversWords holds words against those of a rule; a last "*" stands for any further words, none
// included.
func coversWords(want, words []string) bool {
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

// maxLines is how deep command lines inside the words of command lines are read. What is deeper is
// taken to match.
const maxLines = 4

// touchesLine says whether any command of the line may be one that the rule names.
func (r Rule) touchesLine(s *subject, text string, depth int) bool {
	want := patternWords(r.Arg)
	if depth > maxLines || len(want) == 1 && want[0] == "*" {
		return true
	}
	l := s.parse(text)
	if l.err != nil {
		return true
	}
	for _, c := range l.commands {
		if r.touchesCommand(s, want, c, depth) {
			return true
		}
	}
	return false
}

func (r Rule) touchesCommand(s *subject, want []string, c shellsafe.Command, depth int) bool {
	if touchesWords(want, c.Words, c.Known) {
		return true
	}
	if !startsWords[program(c.Words[0])] && !startsText[program(c.Words[0])] {
		return false
	}
	for i := range c.Words {
		if i > 0 && touchesWords(want, c.Words[i:], c.Known[i:]) {
			return true
		}
		if !c.Known[i] || !startsText[program(c.Words[i])] {
			continue
		}
		// Which of the words are text, and whether they are joined, depends on options: all are read.
		for j := i + 1; j < len(c.Words); j++ {
			if !c.Known[j] || r.touchesLine(s, c.Words[j], depth+1) {
				return true
			}
		}
		return i+1 < len(c.Words) && r.touchesLine(s, strings.Join(c.Words[i+1:], " "), depth+1)
	}
	return false
}

// touchesWords says whether words may be a command that the rule names. A word that is not known may
// become any number of words.
func touchesWords(want, words []string, known []bool) bool {
	for i, w := range want {
		switch {
		case i >= len(words):
			return w == "*" && i == len(want)-1
		case !known[i], w == "*" && i == len(want)-1:
			return true
		case i == 0 && !wildcard(strings.ToLower(path.Base(w)), program(words[0])) && !wildcard(w, words[0]):
			return false
		case i > 0 && !wildcard(w, words[i]):
			return false
		}
	}
	for _, k := range known[len(want):] {
		if k {
			return false
		}
	}
	return true
}

// program returns the name of a program without its folder and in lower case: a file system that does
// not tell case apart runs RM too.
func program(word string) string {
	return strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/"))), ".exe")
}

func set(words ...string) map[string]bool {
	m := map[string]bool{}
	for _, w := range words {
		m[w] = true
	}
	return m
}

var (
	// startsWords are programs that start the program which some of their words name.
	startsWords = set("arch", "builtin", "busybox", "caffeinate", "chroot", "chrt", "command", "coproc", "doas", "env", "exec",
		"fd", "fdfind", "find", "flock", "genv", "gtimeout", "gxargs", "ionice", "ltrace", "nice", "nohup", "nsenter", "parallel",
		"pkexec", "prlimit", "runuser", "script", "setarch", "setpriv", "setsid", "stdbuf", "strace", "su", "sudo", "systemd-run",
		"taskset", "time", "timeout", "toybox", "unbuffer", "unshare", "watch", "xargs")
	// startsText are programs and builtins that take some of their words as a command line.
	startsText = set("ash", "bash", "dash", "eval", "fish", "ksh", "mksh", "parallel", "rbash", "runuser", "script", "sh", "su",
		"trap", "watch", "xonsh", "yash", "zsh")
	// interpreters run the text or the file that some of their words name.
	interpreters = set("awk", "bun", "deno", "gawk", "jshell", "lua", "make", "mawk", "node", "npx", "osascript", "perl", "php",
		"powershell", "pwsh", "pypy", "pypy3", "python", "python2", "python3", "ruby", "sed", "source", ".", "ssh", "tclsh", "uvx")
)

// suggestWords returns the words of a rule that a user may want to answer "always" with, for a line of
// one plain command; "" for a program that would start anything else.
func suggestWords(text string) string {
	commands, flat, err := shellsafe.Commands(text)
	if err != nil || !flat || len(commands) != 1 || !commands[0].NameKnown {
		return ""
	}
	words := commands[0].Words
	if p := program(words[0]); startsWords[p] || startsText[p] || interpreters[p] {
		return ""
	}
	n := 1
	if len(words) > 1 && commands[0].Known[1] && !strings.HasPrefix(words[1], "-") && !strings.ContainsAny(words[1], "/.") {
		n = 2
	}
	for _, w := range words[:n] {
		if strings.ContainsAny(w, " \t\n*:()") {
			return ""
		}
	}
	return strings.Join(words[:n], " ") + " *"
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
