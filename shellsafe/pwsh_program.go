package shellsafe

import "strings"

// A winWord is a word that a program gets, as far as it is known from the text.
type winWord struct {
	text    string // the value, or the part of it that is known to come first
	dynamic bool   // more follows that is not known
	split   bool   // dynamic, and it may become several words or none
	at      psPos
}

// psShellWords are words that bash runs itself. PowerShell has no such programs.
var psShellWords = psSetOf(`export declare typeset local readonly set unset shift alias unalias type hash command
	builtin read source . eval exec trap wait jobs fg bg ulimit umask shopt let getopts compgen complete
	compopt dirs pushd popd help history mapfile readarray return exit break continue times caller enable
	logout suspend disown : [ coproc function`)

// winShims are programs that Windows starts through cmd, which reads their arguments once more.
var winShims = psSetOf(`npm npx pnpm yarn corepack az gcloud gsutil code mvn mvnw gradle gradlew ng tsc eslint
	prettier webpack vite jest mocha grunt gulp bower lerna nx turbo next nuxt expo flutter dart sbt scala
	composer bundle gem rake rails heroku serverless firebase pod pip pip3 bazel ant phpunit`)

// winLeaves are programs that run no command that is among their words, so that two readings of one
// line can both be judged without an end to it.
var winLeaves = psSetOf("git rg go findstr grep fd ls cat where.exe tree cargo dotnet jq wc head tail find")

// program judges a program that is called by its name.
func (j *psJudge) program(c *psCommand, name string) {
	at := c.name.pos()
	if strings.ContainsAny(name, `/\:`) {
		j.refuse(Contained, at, "path", quote(j.source(c.name))+" is run by its path: what it is, is not known", "call it by its name")
		return
	}
	name = strings.TrimSuffix(name, ".exe")
	if name == "powershell" || name == "pwsh" {
		j.shell(c, name)
		return
	}
	words, ok := j.words(c)
	if !ok {
		return
	}
	if name == "cmd" {
		j.cmdShell(c, words)
		return
	}
	readings := [][]winWord{words}
	if other, differs := windowsReading(words); differs {
		readings = append(readings, other)
	}
	if joined, differs := joinTouching(c, words); differs {
		readings = append(readings, joined)
	}
	if len(readings) > 1 && !winLeaves.has(name) {
		j.refuse(Contained, at, "quoting", "Windows PowerShell hands these words to the program in another way than they are written",
			"leave out double quotes and dots in the options")
		return
	}
	for _, ws := range readings {
		f := judgeProgram(name, ws, j.opts)
		if f.at.to == 0 {
			f.at = at
		}
		j.merge(f.Result, f.at)
	}
}

// vouched says whether the user's own rules allow a command that the tables do not know.
func (j *psJudge) vouched(c *psCommand) bool {
	if len(j.opts.Allow) == 0 {
		return false
	}
	name, _ := psCommandName(c)
	trial := *j
	trial.worstOf = worstOf{line: j.line}
	words, ok := trial.words(c)
	if !ok {
		return false
	}
	return judgeProgram(name, words, j.opts).Verdict == Read
}

// words turns a command's arguments into the words that a program gets. false when they cannot be told.
func (j *psJudge) words(c *psCommand) ([]winWord, bool) {
	var out []winWord
	unknown := func(at psPos, reason, hint string) ([]winWord, bool) {
		j.refuse(Contained, at, "arguments", reason, hint)
		return nil, false
	}
	for i := range c.args {
		a := &c.args[i]
		if a.text == "--%" {
			return unknown(a.pos(), "`--%` hands the rest of the line over unread", "drop --%")
		}
		if a.param != "" {
			if strings.ContainsAny(a.param, "`$>") {
				return unknown(a.pos(), quote(a.text)+" is not handed over as it is written", "put it in quotes")
			}
			w := winWord{text: "-" + a.param, at: a.pos()}
			if a.value != nil {
				v, ok := j.word(a.value)
				if !ok || v.dynamic || !strings.HasPrefix(a.text[len(a.param)+1:], ":"+j.source(a.value)) {
					return unknown(a.pos(), quote(a.text)+" is not handed over as it is written", "put it in quotes")
				}
				w.text += ":" + v.text
			} else if strings.HasSuffix(a.text, ":") {
				w.text += ":"
			}
			out = append(out, w)
			continue
		}
		w, ok := j.word(a.value)
		if !ok {
			return unknown(a.pos(), quote(a.text)+" is not a plain word for a program", "put the word in quotes")
		}
		out = append(out, w)
	}
	return out, true
}

// word turns a value into a program's word.
func (j *psJudge) word(n psNode) (winWord, bool) {
	switch n := n.(type) {
	case *psString:
		if len(n.parts) > 0 {
			return winWord{text: n.lead, dynamic: true, at: n.pos()}, true
		}
		return winWord{text: n.value, at: n.pos()}, true
	case *psNumber:
		return winWord{text: n.text, at: n.pos()}, true
	case *psList: // a bare list is handed over as it is written
		text := j.source(n)
		if strings.ContainsAny(text, " \t\r\n'\"`$(){}") {
			return winWord{}, false
		}
		return winWord{text: text, at: n.pos()}, true
	case *psBlock, *psHash, *psType:
		return winWord{}, false
	}
	return winWord{dynamic: true, split: true, at: n.pos()}, true
}

// windowsReading returns the words as Windows PowerShell hands them over: it joins them to one text
// in which it quotes words with blanks, but not the quotes inside words.
func windowsReading(words []winWord) ([]winWord, bool) {
	odd := false
	for _, w := range words {
		odd = odd || strings.Contains(w.text, `"`) || w.text == "" && !w.dynamic
	}
	if !odd {
		return words, false
	}
	var b strings.Builder
	for _, w := range words {
		text := w.text
		if w.dynamic {
			text += "_" // stands for what is not known
		}
		b.WriteByte(' ')
		b.WriteString(windowsQuote(text))
	}
	texts := splitArgs(b.String())
	same := len(texts) == len(words)
	var out []winWord
	for i, text := range texts {
		w := winWord{text: text}
		if i < len(words) {
			w.at, w.dynamic, w.split = words[i].at, words[i].dynamic, words[i].split
			same = same && (text == words[i].text || words[i].dynamic)
			if w.dynamic {
				w.text = words[i].text
			}
		} else if len(words) > 0 {
			w.at = words[len(words)-1].at
		}
		out = append(out, w)
	}
	return out, !same
}

// windowsQuote puts a word in quotes if it has a blank outside the quotes in it, as Windows PowerShell does.
func windowsQuote(s string) string {
	quotes, escaped, needed := 0, false, false
	for _, r := range s {
		switch {
		case r == '"' && !escaped:
			quotes++
		case psIsBlank(r) || r == '\n' || r == '\r':
			needed = needed || quotes%2 == 0
		}
		escaped = r == '\\'
	}
	if !needed {
		return s
	}
	trailing := len(s) - len(strings.TrimRight(s, `\`))
	return `"` + s + strings.Repeat(`\`, trailing) + `"`
}

// splitArgs splits a text into words as Windows programs do.
func splitArgs(s string) []string {
	words, _ := splitArgsAt(s)
	return words
}

// splitArgsAt does so and tells where in the text each word stands.
func splitArgsAt(s string) (words []string, at []psPos) {
	const blanks = " \t\r\n"
	for i := 0; ; {
		for i < len(s) && strings.IndexByte(blanks, s[i]) >= 0 {
			i++
		}
		if i == len(s) {
			return words, at
		}
		start := i
		var b strings.Builder
		for quoted := false; i < len(s) && (quoted || strings.IndexByte(blanks, s[i]) < 0); {
			slashes := 0
			for i < len(s) && s[i] == '\\' {
				slashes++
				i++
			}
			if i == len(s) || s[i] != '"' {
				b.WriteString(strings.Repeat(`\`, slashes))
				if slashes == 0 {
					b.WriteByte(s[i])
					i++
				}
				continue
			}
			b.WriteString(strings.Repeat(`\`, slashes/2))
			i++
			switch {
			case slashes%2 == 1:
				b.WriteByte('"')
			case quoted && i < len(s) && s[i] == '"':
				b.WriteByte('"')
				i++
			default:
				quoted = !quoted
			}
		}
		words = append(words, b.String())
		at = append(at, psPos{start, i})
	}
}

// joinTouching returns the words with those joined that stand in the text without a blank between:
// versions of PowerShell differ in whether -o.x is one word or two.
func joinTouching(c *psCommand, words []winWord) ([]winWord, bool) {
	var out []winWord
	joined := false
	for i, w := range words {
		if i > 0 && c.args[i-1].touches && c.args[i-1].param != "" {
			last := &out[len(out)-1]
			last.text += w.text
			last.dynamic = last.dynamic || w.dynamic
			last.at.to = w.at.to
			joined = true
			continue
		}
		out = append(out, w)
	}
	return out, joined
}

// shell judges a nested PowerShell. A block is code that was judged where it stands; a text is judged
// on its own.
func (j *psJudge) shell(c *psCommand, name string) {
	part := *c
	block := false
	if n := len(c.args); n > 0 {
		if _, block = c.args[n-1].value.(*psBlock); block && c.args[n-1].param == "" {
			part.args = c.args[:n-1]
		}
	}
	words, ok := j.words(&part)
	if !ok {
		return
	}
	for i, a := range part.args {
		if a.touches {
			j.refuse(Contained, a.pos(), name, "what the nested "+name+" gets is not known from the text", "")
			return
		}
		words[i].at = a.pos()
	}
	text, at, stop := powerShellText(name, words)
	switch {
	case block && stop != nil && stop.input: // all that runs is the block
	case block:
		j.refuse(Contained, c.pos(), name, "a block among other words of a nested "+name, "")
	case stop != nil && !stop.read:
		at := stop.at
		if at.to == 0 {
			at = c.name.pos()
		}
		j.refuse(Contained, at, name, stop.reason, "run the commands without a second PowerShell")
	case stop == nil:
		j.merge(analyzeNested(text, j.opts, PowerShell, j.depth+1), at)
	}
}

// cmdShell judges cmd /c …
func (j *psJudge) cmdShell(c *psCommand, words []winWord) {
	var b strings.Builder
	at := c.pos()
	for i, w := range words {
		if w.dynamic || c.args[i].touches {
			j.refuse(Contained, w.at, "cmd", "what cmd runs is not known from the text", "")
			return
		}
		b.WriteString(" " + windowsQuote(w.text))
	}
	j.merge(judgeCmdShell(b.String(), j.opts, j.depth), at)
}
