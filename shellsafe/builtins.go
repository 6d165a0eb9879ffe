package shellsafe

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtinRows are what only a shell has.
var builtinRows = []row{
	reads(": break continue return exit shift times caller fg bg logout dirs popd help", "acts on the shell itself"),
	{
		name: "jobs", doc: "lists what runs in the background", opts: "-lnprs",
		bad: []bad{{"-x", Contained, "runs a command", "leave -x out"}},
	},
	{name: "cd chdir", doc: "changes the directory", opts: "-LPe@", judge: judgeCd},
	{name: "pushd", doc: "changes the directory", open: true},
	{name: "ulimit", doc: "limits the shell", open: true},
	{name: "umask", doc: "sets the mask of the shell", open: true},
	{name: "disown suspend", doc: "leaves processes behind", verdict: Write},
	{name: "read", doc: "reads a line into variables", opts: "-ers -d= -n= -N= -p= -t= -u= -i= -a= -k= -q -E", check: checkNames},
	{
		name: "mapfile readarray", doc: "reads lines into an array", opts: "-d= -n= -O= -s= -t -u=", check: checkNames,
		bad: []bad{{"-C= -c=", Contained, "evaluates a callback", "leave -C out"}},
	},
	{
		name: "wait", doc: "waits for what was started", opts: "-fn",
		bad: []bad{{"-p=", Contained, "assigns to a variable by its name", "leave it out"}},
	},
	{name: "getopts", doc: "reads options", style: first, judge: judgeGetopts},
	{
		name: "unset", doc: "removes variables", style: first, opts: "-vn", check: checkUnset,
		bad: []bad{{"-f", Contained, "removes functions, after which the names mean programs", ""}},
	},
	{name: "declare typeset local export readonly nameref", doc: "sets variables", judge: judgeDeclare},
	{name: "let", doc: "evaluates arithmetic", verdict: Contained},
	{name: "eval", doc: "runs its operands as a command", judge: judgeEval},
	{name: "source .", doc: "runs a script in the shell", verdict: Contained, hint: "read it with `cat`"},
	{name: "trap", doc: "runs a text on a signal", judge: judgeTrap},
	{name: "alias", doc: "replaces words by commands", style: first, opts: "-p", check: checkAlias},
	{name: "unalias", doc: "removes aliases", open: true},
	{name: "set", doc: "sets options of the shell", judge: judgeSet},
	{name: "shopt", doc: "sets options of the shell", judge: judgeShopt},
	{name: "enable", doc: "turns builtins on and off", opts: "-aps", max: -1, maxWhy: "turns a builtin on or off", maxV: Contained},
	{
		name: "hash", doc: "remembers paths", opts: "-rltd",
		bad: []bad{{"-p=", Contained, "makes a name mean another program", ""}},
	},
	{name: "type which where", doc: "describes a name", open: true},
	{
		name: "history", doc: "lists commands", opts: "-h", check: checkHistory,
		bad: []bad{{"-w -a -r -n", Write, "writes or reads the history file", "leave the option out"}, {"-c -d= -s -p", Write, "changes the history", "leave the option out"}},
	},
	{name: "fc", doc: "edits and runs old commands", judge: judgeFc},
	{name: "bind", doc: "binds keys", opts: "-lpPsSvV -m= -q=", max: -1, maxWhy: "binds a key", maxV: Contained},
	{
		name: "complete compopt", doc: "sets completions", opts: "-p",
		bad: []bad{{"-C= -F= -W=", Contained, "runs a command or expands a text", ""}},
	},
	{
		name: "compgen", doc: "lists completions", opts: "-abcdefgjksuv -A=", max: 1, maxWhy: "is expanded", maxV: Contained,
		bad: []bad{{"-C= -F= -W= -P= -S= -X= -o= -G=", Contained, "runs a command or expands a text", ""}},
	},
	{name: "coproc", doc: "leaves a process behind", verdict: Write},
	{name: "[[", doc: "is a keyword of another shell", verdict: Contained},
}

func judgeCd(a *analyzer, c *call) {
	// A directory is only looked up; what is done there is judged where it is written.
	for _, w := range c.words {
		if w.lit && len(w.text) > 1 && w.text[0] == '-' && strings.Trim(w.text[1:], "LPe@-0123456789") != "" {
			a.reportWord(Contained, w, c.path, quote(w.text)+" is not known to be an option of `cd`", "")
		}
	}
}

// checkNames judges the operands that name variables.
func checkNames(a *analyzer, c *call) {
	for _, w := range c.operands {
		if !a.varOperand(w, c.path) {
			return
		}
		a.steeredWord(c, w)
	}
	if o, ok := c.opt("-a"); ok && o.has {
		a.varOperand(o.value, c.path+" -a")
		a.steeredWord(c, o.value)
	}
}

// steeredWord reports a variable name among a builtin's operands that steers programs.
func (a *analyzer) steeredWord(c *call, w word) {
	if why := steers(w.text, nil, false); why != "" {
		a.reportWord(Contained, w, "assignment", "`"+w.text+"` "+why, "use another name")
	}
}

func judgeGetopts(a *analyzer, c *call) {
	if len(c.words) >= 2 {
		a.varOperand(c.words[1], c.path)
		a.steeredWord(c, c.words[1])
	}
}

func checkUnset(a *analyzer, c *call) {
	for _, w := range c.operands {
		if !a.varOperand(w, c.path) {
			return
		}
		if a.funcs[w.text] != nil {
			a.reportWord(Contained, w, c.path, "`unset` may remove the function "+quote(w.text), "use `unset -v`")
		}
		if name, _, _ := strings.Cut(w.text, "["); steers(name, nil, false) != "" {
			a.reportWord(Contained, w, c.path, "`unset` "+unguarded, "leave it out")
		}
	}
}

// judgeDeclare judges declare and its kin where they are ordinary words: `\export`, `"declare"`,
// `builtin export`. Their operands are assignments only once they run.
func judgeDeclare(a *analyzer, c *call) {
	for _, w := range c.words {
		if w.lit && len(w.text) > 1 && (w.text[0] == '-' || w.text[0] == '+') {
			if strings.ContainsAny(w.text, "aA") || strings.ContainsAny(w.text, "nifF") && c.path != "local" || w.text[0] == '+' && strings.ContainsRune(w.text, 'x') {
				a.reportWord(Contained, w, c.path, quote(w.text)+" is not known to be harmless here", "")
				return
			}
			continue
		}
		name, val, isAssign := strings.Cut(w.text, "=")
		if w.split || !syntax.ValidName(name) || !w.lit && !isAssign {
			a.reportWord(Contained, w, c.path, quote(c.path)+" evaluates "+quote(a.wordText(w))+" as an assignment", "")
			return
		}
		if isAssign && (!w.lit || strings.HasPrefix(val, "(")) {
			a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may be evaluated as a list, with the substitutions in it", "")
			return
		}
		v := word{text: val, lit: w.lit, num: w.lit && isNumber(val)}
		if why := steers(name, &v, c.path == "export"); why != "" && isAssign {
			a.reportWord(Contained, w, "assignment", "`"+name+"` "+why, "leave the assignment out")
			return
		}
	}
}

func judgeEval(a *analyzer, c *call) {
	words := c.words
	if len(words) > 0 && words[0].lit && words[0].text == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	texts := make([]string, len(words))
	for i, w := range words {
		if !w.lit {
			a.reportWord(Contained, w, c.path, "`eval` runs "+quote(a.wordText(w))+", which is not known before it runs", "write the command out")
			return
		}
		texts[i] = w.text
	}
	all := words[0]
	all.end = words[len(words)-1].end
	a.nested(all, strings.Join(texts, " "), a.dialect, nil, script{dialect: a.dialect})
}

func judgeTrap(a *analyzer, c *call) {
	words := c.words
	if len(words) > 0 && words[0].lit && words[0].text == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	w := words[0]
	if w.lit && (w.text == "-" || w.text == "" || w.text == "-p" || w.text == "-l" || w.text == "-P") {
		return
	}
	if len(words) == 1 && w.lit {
		return // resets one signal
	}
	if !w.lit {
		a.reportWord(Contained, w, c.path, "`trap` runs "+quote(a.wordText(w))+", which is not known before it runs", "")
		return
	}
	a.nested(w, w.text, a.dialect, nil, script{dialect: a.dialect})
}

func checkAlias(a *analyzer, c *call) {
	for _, w := range c.operands {
		if !w.lit || strings.Contains(w.text, "=") {
			a.reportWord(Contained, w, c.path, "`alias` may replace a word by another command", "list with plain `alias`")
			return
		}
	}
}

// harmlessShopts are options of set -o and shopt that do not change what a command line means here.
var harmlessShopts = map[string]bool{
	"errexit": true, "nounset": true, "pipefail": true, "xtrace": true, "verbose": true, "noglob": true,
	"noclobber": true, "errtrace": true, "functrace": true, "monitor": true, "notify": true, "physical": true,
	"globstar": true, "nullglob": true, "dotglob": true, "extglob": true, "failglob": true, "nocaseglob": true,
	"nocasematch": true, "inherit_errexit": true, "globasciiranges": true, "lastpipe": true, "checkwinsize": true,
	"noexec": true, "emacs": true, "vi": true,
}

func judgeSet(a *analyzer, c *call) {
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		if !w.lit {
			if w.mayBeOption() {
				a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may become an option of the shell", "put `--` in front of it")
			}
			return
		}
		s := w.text
		if s == "--" || s == "-" || len(s) < 2 || s[0] != '-' && s[0] != '+' {
			return // positional parameters
		}
		for _, ch := range s[1:] {
			switch {
			case strings.ContainsRune("eufvxnCETbmP", ch):
			case ch == 'o':
				if i+1 < len(c.words) {
					i++
					if o := c.words[i]; !o.lit || !harmlessShopts[o.text] {
						a.reportWord(Contained, o, c.path, "the shell option "+quote(a.wordText(o))+" is not known to be harmless", "")
						return
					}
				}
			default:
				a.reportWord(Contained, w, c.path, "the shell option "+quote(s)+" is not known to be harmless", "")
				return
			}
		}
	}
}

func judgeShopt(a *analyzer, c *call) {
	sets := false
	for _, w := range c.words {
		switch {
		case w.lit && (w.text == "-s" || w.text == "-u" || w.text == "-so" || w.text == "-uo"):
			sets = true
		case w.lit && (w.text == "-p" || w.text == "-q" || w.text == "-o" || w.text == "-op" || w.text == "-oq"):
		case w.lit && !strings.HasPrefix(w.text, "-") && (!sets || harmlessShopts[w.text]):
		default:
			a.reportWord(Contained, w, c.path, "the shell option "+quote(a.wordText(w))+" is not known to be harmless", "")
			return
		}
	}
}

func checkHistory(a *analyzer, c *call) {
	for _, w := range c.operands {
		if !w.num {
			a.reportWord(Contained, w, c.path, "`history` takes a number here", "")
			return
		}
	}
}

func judgeFc(a *analyzer, c *call) {
	if len(c.words) > 0 && c.words[0].lit && strings.HasPrefix(c.words[0].text, "-l") &&
		strings.Trim(c.words[0].text, "-lnr") == "" {
		return
	}
	a.reportWord(Contained, c.name, c.path, "`fc` edits and runs old commands", "list with `fc -l`")
}
