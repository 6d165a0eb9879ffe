package shellsafe

import (
	"strings"
	"sync"
)

// cmdJudge judges the nodes of one line of cmd.
type cmdJudge struct {
	worstOf
	opts  *Options
	depth int
}

func analyzeCmd(line string, opts *Options, depth int) Result {
	j := &cmdJudge{worstOf: worstOf{line: line}, opts: opts, depth: depth}
	body, stop := parseCmd(line)
	if stop != nil {
		j.refuse(stop.verdict, stop.at, stop.row, stop.reason, "")
		return j.done()
	}
	j.node(body)
	return j.done()
}

func (j *cmdJudge) node(n cmdNode) {
	switch n := n.(type) {
	case *cmdSimple:
		j.simple(n)
	case *cmdGroup:
		for _, c := range n.body {
			j.node(c)
		}
		j.redirects(n.redirs)
	case *cmdPipe:
		j.pipe(n)
	case *cmdIf:
		for _, w := range n.words {
			j.path(strings.ReplaceAll(w.text, `"`, ""), w.psPos)
		}
		j.node(n.then)
		if n.els != nil {
			j.node(n.els)
		}
	case *cmdFor:
		j.loop(n)
	default:
		j.refuse(Invalid, psPos{}, "syntax", "a construct that is not judged", "")
	}
}

// pipe judges the parts of a pipe. Each is read once more by a cmd of its own, so a caret that made an
// operator harmless has done so only for the first reading.
func (j *cmdJudge) pipe(n *cmdPipe) {
	for _, e := range n.elems {
		j.node(e)
		cmdWalk(e, func(s *cmdSimple) {
			if s.caret {
				j.refuse(Contained, s.psPos, "pipe", "the parts of a pipe are read twice, so a caret in one does not protect",
					"use double quotes instead of carets")
			}
		})
	}
}

func cmdWalk(n cmdNode, visit func(*cmdSimple)) {
	switch n := n.(type) {
	case *cmdSimple:
		visit(n)
	case *cmdGroup:
		for _, c := range n.body {
			cmdWalk(c, visit)
		}
	case *cmdPipe:
		for _, c := range n.elems {
			cmdWalk(c, visit)
		}
	case *cmdIf:
		cmdWalk(n.then, visit)
		if n.els != nil {
			cmdWalk(n.els, visit)
		}
	case *cmdFor:
		cmdWalk(n.body, visit)
	}
}

func (j *cmdJudge) path(text string, at psPos) {
	if networkPath(text) {
		j.refuse(Network, at, "network path", quote(text)+" is on another machine", "")
	}
}

func (j *cmdJudge) redirects(rs []cmdRedir) {
	for _, r := range rs {
		switch {
		case r.target == "" && j.source(r.psPos) != "":
		case r.input:
			j.path(r.target, r.psPos)
		case r.target == "nul" || r.target == "nul:" || r.target == "con" || r.target == "con:":
		default:
			hint := "drop the redirection"
			if r.target == "$null" || r.target == "/dev/null" {
				hint = "cmd's null device is nul"
			}
			j.refuse(Write, r.psPos, "redirect", "output is redirected to a file", hint)
		}
	}
}

func (j *cmdJudge) source(at psPos) string { return j.line[at.from:at.to] }

// loop judges FOR: the text in its brackets may be a command.
func (j *cmdJudge) loop(n *cmdFor) {
	for _, o := range n.opts {
		j.path(strings.ReplaceAll(o.text, `"`, ""), o.psPos)
	}
	set := strings.TrimSpace(n.set.text)
	switch {
	case strings.HasPrefix(set, "'") || strings.HasPrefix(set, "`"): // with /f; without it, a file's odd name
		inner := strings.TrimSuffix(set[1:], set[:1])
		if strings.ContainsRune(inner, cmdUnknown) {
			j.refuse(Contained, n.set.psPos, "for /f", "what `for /f` runs is not known from the text", "")
		} else {
			j.merge(analyzeNested(inner, j.opts, Cmd, j.depth+1), n.set.psPos)
		}
	default:
		for _, w := range strings.Fields(set) {
			j.path(strings.ReplaceAll(w, `"`, ""), n.set.psPos)
		}
	}
	j.node(n.body)
}

// cmdBuiltins are the commands of cmd itself: the verdict whatever words they get.
var cmdBuiltins = sync.OnceValue(func() map[string]Verdict {
	m := map[string]Verdict{}
	for v, words := range map[Verdict]string{
		Read:      "dir type echo ver vol cls rem title pause break cd chdir pushd popd exit color endlocal help",
		Write:     "del erase copy move ren rename md mkdir rd rmdir mklink",
		Contained: "call start goto shift prompt keys dpath append",
	} {
		for w := range psWords(words) {
			m[w] = v
		}
	}
	return m
})

// cmdSpecial are the commands of cmd that read with some words only.
var cmdSpecial = psSetOf("set path assoc ftype date time verify setlocal")

var cmdHints = map[string]string{
	"del": "dir lists files", "erase": "dir lists files", "call": "give the command without call",
	"start": "give the command without start", "move": "dir lists files", "copy": "type shows a file",
	"set": "set NAME shows variables",
}

func (j *cmdJudge) simple(s *cmdSimple) {
	j.redirects(s.redirs)
	if s.name == "" {
		return // redirections alone
	}
	name := asciiLower(s.name)
	if strings.ContainsRune(name, cmdUnknown) {
		j.refuse(Contained, s.nameAt, "command name", "the command's name comes from a variable", "write the command's name")
		return
	}
	if name[0] == ':' {
		return // a label; the rest of its line is not run
	}
	if base, glued, ok := cmdBuiltin(name); ok {
		j.builtin(s, base, glued+s.rest)
		return
	}
	name = strings.ReplaceAll(name, `"`, "")
	if strings.ContainsAny(name, `\/:`) {
		j.refuse(Contained, s.nameAt, "path", quote(s.name)+" is run by its path: what it is, is not known", "call it by its name")
		return
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".com")
	j.program(s, name)
}

// cmdBuiltin splits a name into a command of cmd and what is glued to it, as in dir/b, cd.. and echo.
func cmdBuiltin(name string) (base, glued string, ok bool) {
	i := 0
	for i < len(name) && name[i] >= 'a' && name[i] <= 'z' {
		i++
	}
	base, glued = name[:i], name[i:]
	if _, ok := cmdBuiltins()[base]; !ok && !cmdSpecial.has(base) {
		return "", "", false
	}
	if glued == "" {
		return base, "", true
	}
	if strings.IndexByte(`./\:+[](`, glued[0]) < 0 {
		return "", "", false
	}
	if glued[0] == '.' && base != "echo" && glued != ".." && !strings.HasPrefix(glued, `.\`) && !strings.HasPrefix(glued, "..") {
		return "", "", false // type.exe and the like
	}
	for _, ext := range []string{".exe", ".com", ".bat", ".cmd", ".ps1", ".vbs", ".js", ".wsf", ".msc"} {
		if strings.HasSuffix(glued, ext) {
			return "", "", false
		}
	}
	return base, glued, true
}

// builtin judges a command of cmd by the text after its name.
func (j *cmdJudge) builtin(s *cmdSimple, base, text string) {
	arg := strings.TrimSpace(asciiLower(text))
	if v, ok := cmdBuiltins()[base]; ok {
		if v != Read {
			reason := quote(base) + " is not a command that only reads"
			j.refuse(v, s.nameAt, base, reason, cmdHints[base])
			return
		}
		switch base {
		case "rem":
			if s.caret && strings.ContainsAny(j.source(s.psPos), "\n") {
				j.refuse(Contained, s.psPos, base, "a caret does not continue a remark", "")
			}
		case "echo", "title":
		default:
			for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(cmdDelims+`"`, r) }) {
				j.path(w, s.psPos)
			}
		}
		return
	}
	bad := Contained
	switch base {
	case "set":
		_, sum, isSum := strings.Cut(arg, "/a")
		switch {
		case isSum && !strings.ContainsAny(sum, "=") && strings.HasPrefix(arg, "/a"):
			return
		case !strings.Contains(arg, "=") && !strings.HasPrefix(arg, "/"):
			return
		}
		j.refuse(bad, s.psPos, "set", "an environment variable can change what later programs do", cmdHints["set"])
		return
	case "assoc", "ftype":
		if !strings.Contains(arg, "=") {
			return
		}
		bad = Write
	case "date", "time":
		if arg == "/t" {
			return
		}
		bad = Write
	case "path", "verify":
		if arg == "" {
			return
		}
	case "setlocal":
		if arg == "" || arg == "enableextensions" {
			return
		}
	}
	j.refuse(bad, s.psPos, base, quote(base)+" with these words is not known to only read", "")
}

// program judges a program that is called by its name.
func (j *cmdJudge) program(s *cmdSimple, name string) {
	words := s.words()
	switch name {
	case "cmd":
		if strings.ContainsRune(s.rest, cmdUnknown) {
			j.refuse(Contained, s.psPos, "cmd", "what the nested cmd runs is not known from the text", "")
			return
		}
		j.merge(judgeCmdShell(s.rest, j.opts, j.depth), s.psPos)
		return
	case "powershell", "pwsh":
		text, at, stop := powerShellText(name, words)
		switch {
		case stop != nil && stop.read:
		case stop != nil:
			if stop.at.to == 0 {
				stop.at = s.psPos
			}
			j.refuse(Contained, stop.at, name, stop.reason, "run the commands without "+name)
		default:
			j.merge(analyzeNested(text, j.opts, PowerShell, j.depth+1), at)
		}
		return
	}
	f := judgeProgram(name, words, j.opts)
	if f.at.to == 0 {
		f.at = s.nameAt
	}
	j.merge(f.Result, f.at)
}

// words returns the words that a program gets.
func (s *cmdSimple) words() []winWord {
	texts, spans := splitArgsAt(s.rest)
	out := make([]winWord, len(texts))
	for i, text := range texts {
		w := winWord{text: text, at: psPos{s.offs[spans[i].from], s.offs[spans[i].to]}}
		if lead, _, unknown := strings.Cut(text, string(cmdUnknown)); unknown {
			w.text, w.dynamic, w.split = lead, true, true
		}
		out[i] = w
	}
	return out
}
