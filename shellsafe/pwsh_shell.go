package shellsafe

import (
	"strings"
)

// A winFinding is the judgement of one program's call; at is where, if a word is at fault.
type winFinding struct {
	Result
	at psPos
}

func found(v Verdict, row, reason, hint string) winFinding {
	return winFinding{Result: Result{Verdict: v, Reason: reason, Hint: hint, Row: row}}
}

// judgeProgram judges a program by its name (lower case, without .exe) and its words: first by the
// table of Windows' own programs, then by the tables that bash's lines are judged by.
func judgeProgram(name string, words []winWord, opts *Options) winFinding {
	for _, w := range words {
		if networkPath(w.text) {
			f := found(Network, "network path", quote(w.text)+" is on another machine", "")
			f.at = w.at
			return f
		}
	}
	if f, decided := judgeWindowsProgram(name, words); decided {
		return f
	}
	if psShellWords.has(name) {
		return found(Contained, "unknown program", quote(name)+" is not a command of this shell", "")
	}
	plain := false // after --, a word is no option
	for _, w := range words {
		if !w.dynamic {
			plain = plain || w.text == "--"
			continue
		}
		if !plain && (w.text == "" || w.text[0] == '-' || w.text[0] == '/') {
			f := found(Contained, "arguments", "a word that "+name+" gets is not known from the text, and could be an option",
				"write the value out, or put it behind --")
			f.at = w.at
			return f
		}
	}
	if winShims.has(name) {
		for _, w := range words {
			if strings.ContainsAny(w.text, "&|<>^%!\"\n") || w.dynamic {
				f := found(Contained, "cmd shim", "on Windows "+name+" is started through cmd, which reads "+quote(w.text)+" once more", "")
				f.at = w.at
				return f
			}
		}
	}
	return judgeByBash(name, words, opts)
}

// judgeByBash writes the call as bash would read it and has it judged so.
func judgeByBash(name string, words []winWord, opts *Options) winFinding {
	var b strings.Builder
	b.WriteString(bashQuote(name))
	ends := make([]int, 0, len(words))
	for _, w := range words {
		b.WriteByte(' ')
		switch {
		case w.split && w.text == "":
			b.WriteString("$unknown_value")
		case w.dynamic:
			b.WriteString(bashQuote(w.text) + `"$unknown_value"`)
		default:
			b.WriteString(bashQuote(w.text))
		}
		ends = append(ends, b.Len())
	}
	r := Analyze(b.String(), &Options{Dialect: Bash, Allow: opts.Allow})
	f := winFinding{Result: r}
	if at := r.At.Offset; at > len(bashQuote(name)) {
		for i, end := range ends {
			if at < end {
				f.at = words[i].at
				break
			}
		}
	}
	return f
}

func bashQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// winSwitches are options of powershell and pwsh that are harmless; true where a value follows.
var winSwitches = map[string]bool{
	"noprofile": false, "nop": false, "noninteractive": false, "noni": false, "nologo": false, "nol": false,
	"sta": false, "mta": false, "login": false, "executionpolicy": true, "ep": true, "ex": true,
	"inputformat": true, "outputformat": true,
}

// psNoText says why the words of a nested PowerShell hold no text to judge.
type psNoText struct {
	reason string
	at     psPos
	read   bool // nothing runs, as with -Version
	input  bool // it reads its input
}

// powerShellText returns the text that powershell or pwsh runs, and where it stands.
func powerShellText(name string, words []winWord) (string, psPos, *psNoText) {
	i := 0
	for ; i < len(words); i++ {
		w := words[i]
		if w.dynamic {
			return "", psPos{}, &psNoText{reason: "a word of the nested " + name + " is not known from the text", at: w.at}
		}
		if !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "/") {
			if name == "pwsh" {
				return "", psPos{}, &psNoText{reason: "pwsh runs a script file", at: w.at}
			}
			break
		}
		low := asciiLower(strings.TrimLeft(w.text, "-/"))
		if low != "" && strings.HasPrefix("command", low) {
			i++
			break
		}
		if (low == "version" || low == "v" || low == "help" || low == "h" || low == "?") && len(words) == 1 {
			return "", psPos{}, &psNoText{read: true}
		}
		value, ok := winSwitches[low]
		if !ok {
			return "", psPos{}, &psNoText{reason: quote(w.text) + " of " + name + " is not judged", at: w.at}
		}
		if value {
			i++
		}
	}
	if i >= len(words) || words[i].text == "-" {
		return "", psPos{}, &psNoText{reason: name + " reads commands from its input", input: true}
	}
	var texts []string
	for _, w := range words[i:] {
		if w.dynamic || strings.Contains(w.text, `"`) {
			return "", psPos{}, &psNoText{reason: "what the nested " + name + " runs is not known from the text", at: w.at}
		}
		texts = append(texts, w.text)
	}
	return strings.Join(texts, " "), psPos{words[i].at.from, words[len(words)-1].at.to}, nil
}

// judgeCmdShell judges a nested cmd by the text after its name.
func judgeCmdShell(text string, opts *Options, depth int) Result {
	refuse := func(reason string) Result {
		return Result{Verdict: Contained, Reason: reason, Row: "cmd", Hint: "run the commands without a second cmd"}
	}
	for {
		text = strings.TrimLeft(text, " \t,;=")
		if len(text) < 2 || text[0] != '/' {
			return refuse("cmd reads commands from its input")
		}
		letter := text[1] | 0x20
		rest := text[2:]
		switch letter {
		case 'd', 'q', 's', 'a', 'u':
			text = rest
			continue
		case 'c', 'k', 'r':
		default:
			return refuse("/" + string(rune(text[1])) + " of cmd is not judged")
		}
		rest = strings.TrimLeft(rest, " \t")
		if inner, ok := strings.CutPrefix(rest, `"`); ok {
			if last := strings.LastIndex(inner, `"`); last >= 0 {
				inner = inner[:last] + inner[last+1:]
			}
			rest = inner
		}
		return analyzeNested(rest, opts, Cmd, depth+1)
	}
}
