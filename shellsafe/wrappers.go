package shellsafe

import (
	"strings"
)

// wrapperRows are programs that run another one: they are judged by what they run.
var wrapperRows = []row{
	{
		name: "env genv", doc: "runs a program with other variables", style: first, judge: judgeEnv,
		opts: "-i0v -u= -C= --ignore-environment --null --unset= --chdir= --debug --block-signal? --default-signal? --ignore-signal? --list-signal-handling --help --version",
		bad: []bad{
			{"-S? --split-string=", Contained, "splits a text into a command", "write the command out"},
			{"-P=", Contained, "sets where the program is searched", ""},
			{"-a= --argv0=", Contained, "gives the program another name", ""},
		},
	},
	{
		name: "xargs gxargs", doc: "runs a program on its input", style: first, judge: judgeXargs,
		opts: "-0rtxo -I= -i? -J= -n= -L= -l? -P= -s= -d= -E= -e? -R= -S= -a= --null --no-run-if-empty --verbose --exit --open-tty " +
			"--max-args= --max-lines? --max-procs= --max-chars= --delimiter= --eof? --replace? --arg-file= --show-limits --help --version",
		bad: []bad{
			{"-p --interactive", Contained, "asks at the terminal", "leave it out"},
			{"--process-slot-var=", Contained, "sets a variable for the program", "leave it out"},
		},
	},
	{
		name: "nice gnice", doc: "runs a program with lower priority", style: first, judge: judgeWrapper,
		opts: "-n= -NUM --adjustment= --help --version",
	},
	{
		name: "ionice", doc: "runs a program with other priority", style: first, judge: judgeWrapper,
		opts: "-c= -n= -t --class= --classdata= --ignore --help --version",
		bad:  []bad{{"-p= --pid= -P= --pgid= -u= --uid=", Write, "changes the priority of a process", ""}},
	},
	{
		name: "timeout gtimeout", doc: "runs a program for some time", style: first, judge: judgeTimeout,
		opts: "-k= -s= -vpf --kill-after= --signal= --verbose --preserve-status --foreground --help --version",
	},
	{
		name: "stdbuf gstdbuf", doc: "runs a program with other buffers", style: first, judge: judgeWrapper,
		opts: "-i= -o= -e= --input= --output= --error= --help --version",
	},
	{
		name: "time gtime", doc: "measures a program", style: first, judge: judgeWrapper,
		opts: "-pvlh -f= --portability --verbose --format= --quiet -q --help --version -V",
		bad:  []bad{{"-o= --output= -a --append", Write, "writes its figures to a file", "drop -o: they go to standard error"}},
	},
	{name: "nohup gnohup", doc: "runs a program that outlives its terminal", style: first, judge: judgeNohup, opts: "--help --version"},
	{name: "unbuffer", doc: "runs a program on a terminal of its own", style: first, judge: judgeWrapper},
	{name: "command", doc: "runs a program, not a function", style: first, judge: judgeCommand, opts: "-pvV"},
	{name: "builtin", doc: "runs a builtin", style: first, judge: judgeBuiltin},
	{
		name: "exec", doc: "replaces the shell", style: first, judge: judgeExec, opts: "-c",
		bad: []bad{{"-a=", Contained, "gives the program another name", "leave it out"}, {"-l", Contained, "starts a login shell", "leave it out"}},
	},
	{name: "sh dash ash bash rbash", doc: "runs a script", judge: judgeShell},
	{name: "zsh ksh mksh ksh93 fish tcsh csh pwsh nu elvish xonsh busybox toybox", doc: "runs a script", verdict: Contained, info: "--version --help"},
	{
		name: "sudo doas su pkexec runuser chroot unshare nsenter setpriv newgrp sg gosu su-exec firejail machinectl systemd-run",
		doc:  "runs a program as another user or in another view", verdict: Write, info: "--version -V --help",
		hint: "run the program itself",
	},
	{name: "setsid daemonize start-stop-daemon", doc: "leaves a process behind", verdict: Write, info: "--help --version", hint: "run the program itself"},
	{name: "flock", doc: "creates a lock file", verdict: Write, info: "--help --version", hint: "run the program itself"},
	{name: "script scriptreplay asciinema ttyrec", doc: "writes a record of a session", verdict: Write, info: "--help --version", hint: "run the program itself"},
	{
		name: "watch parallel entr watchexec hyperfine strace ltrace gdb lldb perf valgrind dtrace dtruss bpftrace rlwrap expect proot " +
			"fakeroot faketime eatmydata chronic ifne direnv dotenv op doppler mise asdf rtx nix-shell nix pipenv",
		doc: "runs other programs", verdict: Contained, info: "--version --help -V", hint: "run the program itself",
	},
	{
		name: "taskset", doc: "runs a program on some processors", style: first, judge: judgeTimeout, opts: "-c --cpu-list -V --version -h --help",
		bad: []bad{{"-p --pid -a --all-tasks", Write, "changes the processors of a process", ""}},
	},
	{name: "chrt numactl prlimit", doc: "changes how a process is scheduled", verdict: Contained, info: "--version --help -V -H --hardware -s --show", hint: "run the program itself"},
	{name: "ssh mosh sshpass autossh", doc: "connects to another machine", verdict: Network, info: "-V --version"},
}

// wrapped judges what a wrapper runs.
func (a *analyzer) wrapped(c *call, words []word, io stdio) {
	if a.depth >= maxDepth*2 {
		a.reportWord(Contained, c.name, c.path, "wrappers are nested too deeply", "")
		return
	}
	a.depth++
	a.program(words, io)
	a.depth--
}

func judgeWrapper(a *analyzer, c *call) {
	if a.options(c) && len(c.operands) > 0 {
		a.wrapped(c, c.operands, c.io)
	}
}

func judgeExec(a *analyzer, c *call) {
	judgeWrapper(a, c)
	if c.has("-c") {
		a.reportWord(Contained, c.name, c.path, "`exec -c` "+unguarded, "leave -c out")
	}
}

func judgeNohup(a *analyzer, c *call) {
	if !c.io.outPiped {
		a.reportWord(Write, c.name, c.path, "`nohup` writes nohup.out when its output is a terminal", "run the program itself")
	}
	judgeWrapper(a, c)
}

func judgeTimeout(a *analyzer, c *call) {
	if !a.options(c) || len(c.operands) == 0 {
		return
	}
	if d := c.operands[0]; d.split && !d.num || d.glob {
		a.reportWord(Contained, d, c.path, "the duration "+quote(a.wordText(d))+" is not known, so neither is the program behind it", "quote it")
		return
	}
	if len(c.operands) > 1 {
		a.wrapped(c, c.operands[1:], c.io)
	}
}

// judgeCommand: `command -v` and -V look a program up and run nothing.
func judgeCommand(a *analyzer, c *call) {
	if !a.options(c) || c.hasAny("-v", "-V") || len(c.operands) == 0 {
		return
	}
	a.notFunction(c)
}

// notFunction judges operands whose first is never a shell function.
func (a *analyzer) notFunction(c *call) {
	funcs := a.funcs
	a.funcs = nil
	a.wrapped(c, c.operands, c.io)
	a.funcs = funcs
}

func judgeBuiltin(a *analyzer, c *call) {
	if a.options(c) && len(c.operands) > 0 {
		a.notFunction(c)
	}
}

func judgeEnv(a *analyzer, c *call) {
	if !a.options(c) {
		return
	}
	i := 0
	for ; i < len(c.operands); i++ {
		w := c.operands[i]
		name, val, ok := strings.Cut(w.text, "=")
		if w.split || w.glob || !ok {
			break
		}
		value := word{text: val, lit: w.lit, num: w.lit && isNumber(val)}
		if why := steers(name, &value, true); why != "" {
			a.reportWord(Contained, w, "assignment", "`"+name+"` "+why, "leave the assignment out")
		}
	}
	if i < len(c.operands) {
		a.unguardedEnv(c, c.operands[i])
		a.notFunction(&call{row: c.row, path: c.path, name: c.name, operands: c.operands[i:], io: c.io})
	}
}

// unguardedEnv judges `env -i` and `env -u NAME` in front of a program. What a plain program does is
// said by its options; one with sub-commands or one that runs others may need the settings.
func (a *analyzer) unguardedEnv(c *call, program word) {
	wipes := c.hasAny("-i", "--ignore-environment") || c.has("-")
	for _, o := range c.opts {
		if o.name == "-u" || o.name == "--unset" {
			wipes = wipes || !o.value.lit || steers(o.value.text, nil, false) != ""
		}
	}
	for _, w := range c.operands {
		wipes = wipes || w.lit && w.text == "-"
	}
	if !wipes {
		return
	}
	if name, ok := baseName(program.text); ok && program.lit {
		if r := a.index.rows[name]; r != nil && r.judge == nil && len(r.subs) == 0 && !a.index.wrapper[r] && !a.index.shell[r] {
			return
		}
	}
	a.reportWord(Contained, program, c.path, "`env` "+unguarded, "keep the environment")
}

func judgeXargs(a *analyzer, c *call) {
	if !a.options(c) {
		return
	}
	inner := append([]word(nil), c.operands...)
	if len(inner) == 0 {
		return // echo
	}
	replace, replaces := "", false
	for _, o := range c.opts {
		switch o.name {
		case "-I", "-J":
			replace, replaces = o.value.text, true
			if !o.value.lit {
				a.reportWord(Contained, *o.at, c.path, "what xargs replaces is not known", "")
				return
			}
		case "-i", "--replace":
			replace, replaces = "{}", true
			if o.has && o.value.text != "" {
				replace = o.value.text
			}
		}
	}
	first := feedValue(a, c)
	if !replaces {
		w := word{split: true, appended: true, not: first.not, off: c.name.off, end: c.name.end}
		if first.nodash {
			w = word{glob: true, nodash: true, not: first.not, off: c.name.off, end: c.name.end}
		}
		a.wrapped(c, append(inner, w), stdio{outPiped: c.io.outPiped})
		return
	}
	for i, w := range inner {
		if !strings.Contains(w.text, replace) && (w.lit || !strings.Contains(w.suffix, replace)) {
			continue
		}
		before, _, found := strings.Cut(w.text, replace)
		_, after, _ := strings.Cut(w.text, replace)
		if !found {
			before, after = w.text, ""
		}
		inner[i] = word{
			text: before, suffix: after, nodash: before == "" && first.nodash,
			off: w.off, end: w.end,
		}
		if before == "" {
			inner[i].not = first.not
		}
		if c.has("-J") {
			inner[i].split = true
		}
	}
	a.wrapped(c, inner, stdio{outPiped: c.io.outPiped})
}

// judgeShell judges a shell: a literal script given with -c is judged as one, a script file is project
// code. -l reads the user's own start-up files, which agents' shells do anyway; -i expects a terminal.
func judgeShell(a *analyzer, c *call) {
	script, noexec := false, false
	i := 0
	for ; i < len(c.words); i++ {
		w := c.words[i]
		if !w.lit {
			break
		}
		s := w.text
		if s == "--" || s == "-" {
			i++
			break
		}
		if len(s) < 2 || s[0] != '-' && s[0] != '+' {
			break
		}
		switch s {
		case "--version", "--help":
			return
		case "--norc", "--noprofile", "--posix", "--login", "--verbose", "--noediting":
			continue
		}
		if strings.HasPrefix(s, "--") {
			a.reportWord(Contained, w, c.path, quote(s)+" is not known to be a read-only option of "+quote(c.path), "")
			return
		}
		for _, ch := range s[1:] {
			switch {
			case ch == 'c' && s[0] == '-':
				script = true
			case ch == 'n' && s[0] == '-':
				noexec = true
			case ch == 'l':
			case ch == 'o' || ch == 'O':
				i++
				if i >= len(c.words) || !c.words[i].lit || !harmlessShopts[c.words[i].text] {
					a.reportWord(Contained, w, c.path, "the option after "+quote(s)+" is not known to be harmless", "")
					return
				}
			case strings.ContainsRune("befhmnuvxCET", ch):
			default:
				a.reportWord(Contained, w, c.path, quote(s)+" is not known to be a read-only option of "+quote(c.path), "")
				return
			}
		}
	}
	rest := c.words[i:]
	switch {
	case noexec && !script && len(rest) > 0 && !rest[0].mayBeOption() && !rest[0].split:
		// bash -n FILE reads it for errors.
	case noexec:
		a.reportWord(Contained, c.name, c.path, quote(c.path+" -n")+" needs a file to check", "")
	case script && len(rest) > 0:
		a.shellScript(c, rest)
	case script:
		a.reportWord(Contained, c.name, c.path, quote(c.path+" -c")+" lacks its script", "")
	case len(rest) > 0:
		a.reportWord(Contained, rest[0], c.path, quote(c.path)+" runs the script "+quote(a.wordText(rest[0])), "read it with `cat`")
	default:
		a.reportWord(Contained, c.name, c.path, quote(c.path)+" runs what it reads from standard input", "give a literal script with -c")
	}
}

func (a *analyzer) shellScript(c *call, rest []word) {
	w := rest[0]
	if !w.lit {
		a.reportWord(Contained, w, c.path, "the script "+quote(a.wordText(w))+" is not known before it runs", "write it out")
		return
	}
	d := POSIX
	if c.name.text == "bash" || strings.HasSuffix(c.name.text, "/bash") || c.path == "bash" || c.path == "rbash" {
		d = Bash
	}
	var args []word
	if len(rest) > 2 {
		args = rest[2:]
	}
	a.nested(w, w.text, d, args, script{argsFrom: argsKnown, dialect: d})
}

// nested judges the text of a word as a script of its own. Findings point at the word.
func (a *analyzer) nested(w word, text string, d Dialect, args []word, s script) {
	if a.depth >= maxDepth {
		a.reportWord(Contained, w, "script", "scripts are nested too deeply", "")
		return
	}
	if r, bad := refuseText(text); bad && strings.TrimSpace(text) != "" {
		a.reportWord(Contained, w, "script", "the script in "+quote(a.wordText(w))+" cannot be judged: "+r.Reason, "")
		return
	}
	file, err := a.parse(text, d)
	if err != nil {
		a.reportWord(Contained, w, "script", "the script in "+quote(a.wordText(w))+" does not parse", "")
		return
	}
	saved, line := a.script, a.line
	outer := saved.outer
	if !saved.inner {
		outer = [2]int{w.off, w.end}
	}
	a.script = s
	a.file, a.inner, a.outer, a.args = file, true, outer, args
	a.depth++
	a.stmts(file.Stmts)
	a.depth--
	a.script, a.line = saved, line
}
