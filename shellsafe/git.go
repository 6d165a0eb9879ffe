package shellsafe

import "strings"

// gitConfigSafe are the settings that `git -c` may change. Others can name programs to run.
var gitConfigSafe = []string{
	"color.", "log.", "column.", "advice.", "i18n.", "core.quotepath=", "core.abbrev=", "core.ignorecase=",
	"core.precomposeunicode=", "core.optionallocks=", "core.preloadindex=", "diff.renames=", "diff.renamelimit=",
	"diff.algorithm=", "diff.context=", "diff.noprefix=", "diff.mnemonicprefix=", "diff.colormoved=",
	"diff.indentheuristic=", "diff.wordregex=", "diff.statgraphwidth=", "status.", "blame.", "grep.linenumber=",
	"grep.patterntype=", "grep.column=", "grep.fullname=", "grep.threads=", "branch.sort=", "tag.sort=",
	"versionsort.", "format.pretty=", "submodule.recurse=", "gc.auto=0", "pack.threads=", "pager.",
}

// gitConfigExact are settings with the one value that turns a program off.
var gitConfigExact = map[string]bool{
	"core.pager=": true, "core.pager=cat": true, "core.fsmonitor=": true, "core.fsmonitor=false": true,
	"core.fsmonitor=0": true, "core.hookspath=": true, "core.hookspath=/dev/null": true, "diff.external=": true,
	"core.editor=true": true, "core.editor=:": true, "maintenance.auto=false": true, "credential.helper=": true,
}

func checkGitGlobals(a *analyzer, c *call) {
	for _, o := range c.opts {
		if o.name == "-c" && o.has && !gitConfigHarmless(o.value) {
			a.reportWord(Contained, o.value, c.path, "the setting "+quote(a.wordText(o.value))+" can make git run a program", "leave it out")
		}
	}
}

func gitConfigHarmless(w word) bool {
	if !w.lit {
		return false
	}
	key, val, ok := strings.Cut(w.text, "=")
	s := strings.ToLower(key)
	if ok {
		s += "="
	}
	if gitConfigExact[s+val] {
		return true
	}
	if strings.HasPrefix(s, "pager.") {
		return val == "" && ok || val == "false" || val == "cat" || val == "0"
	}
	switch strings.TrimSuffix(s, "=") { // without a value it is true
	case "log.showsignature", "status.submodulesummary":
		return ok && val == "false"
	case "log.diffmerges":
		return ok && !mergesAgain(val)
	}
	for _, safe := range gitConfigSafe {
		if strings.HasPrefix(s, safe) || s+val == safe {
			return true
		}
	}
	return false
}

// mergesAgain says whether a format of merges makes each merge again, which writes objects and runs
// merge programs of the configuration: remerge, or its first letter.
func mergesAgain(format string) bool {
	return format == "" || strings.HasPrefix(strings.ToLower(format), "r")
}

// checkGitFormat refuses the placeholders that verify signatures, which runs the program that the
// repository's configuration names, and the forms of differences that run programs.
func checkGitFormat(a *analyzer, c *call) {
	for _, o := range c.opts {
		switch o.name {
		case "--diff-merges":
			if !o.value.lit || mergesAgain(o.value.text) {
				a.reportWord(Contained, *o.at, c.path, "`--diff-merges=remerge` writes objects for a while", "use --cc")
				return
			}
			continue
		case "--submodule":
			if o.has && (!o.value.lit || o.value.text != "log" && o.value.text != "short") {
				a.reportWord(Contained, *o.at, c.path, "starts git in every submodule, with its configuration", "use --submodule=log, or `git -C SUBMODULE diff`")
				return
			}
			continue
		case "--format", "--pretty", "--sort":
		default:
			continue
		}
		if !o.has {
			continue
		}
		s := o.value.text
		if !o.value.lit && !o.value.num && !o.value.viaVar {
			a.reportWord(Contained, *o.at, c.path, "the format in "+quote(a.wordText(*o.at))+" is not known; `%G?` runs a program", "write it out")
			return
		}
		if strings.Contains(s, "%G") || strings.Contains(s, "signature") {
			a.reportWord(Contained, *o.at, c.path, "the format "+quote(s)+" runs the signature program of the configuration", "leave `%G` out")
			return
		}
		if o.name != "--sort" && strings.IndexByte(s, '%') < 0 && o.value.lit && !gitPretty[strings.TrimSuffix(s, ":")] {
			a.reportWord(Contained, *o.at, c.path, "the format "+quote(s)+" may be one of the configuration", "write it out with `%` placeholders")
			return
		}
	}
}

// gitPretty are the built-in formats; another name is looked up in the configuration.
var gitPretty = map[string]bool{
	"": true, "oneline": true, "short": true, "medium": true, "full": true, "fuller": true, "reference": true,
	"email": true, "mboxrd": true, "raw": true, "format": true, "tformat": true,
}

func checkGitBranch(a *analyzer, c *call) {
	checkGitFormat(a, c)
	if len(c.operands) == 0 {
		return
	}
	if c.hasAny("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at") {
		return
	}
	a.reportWord(Write, c.operands[0], c.path, "`git branch "+a.wordText(c.operands[0])+"` creates a branch",
		"list with `git branch --list`")
}

func checkGitTag(a *analyzer, c *call) {
	checkGitFormat(a, c)
	if len(c.operands) == 0 {
		return
	}
	if c.hasAny("-l", "--list", "-n", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at") {
		return
	}
	a.reportWord(Write, c.operands[0], c.path, "`git tag "+a.wordText(c.operands[0])+"` creates a tag",
		"list with `git tag --list`")
}

func checkRemoteShow(a *analyzer, c *call) {
	if len(c.operands) > 0 && !c.has("-n") {
		a.reportWord(Network, c.name, c.path, "`git remote show` contacts the remote", "add -n, or use `git remote -v`")
	}
}

func checkGitArchive(a *analyzer, c *call) {
	o, ok := c.opt("--format")
	if ok && (!o.value.lit || o.value.text != "tar") { // a repository's tar.zip.command goes before git's own zip
		a.reportWord(Contained, *o.at, c.path, "the archive format runs a program of the configuration", "use --format=tar")
	}
}

func checkGitApply(a *analyzer, c *call) {
	if c.hasAny("-3", "--3way") {
		a.reportWord(Write, c.name, c.path, "`git apply --3way` writes objects and runs merge programs of the configuration", "leave --3way out")
	}
	if !c.hasAny("--stat", "--numstat", "--summary", "--check") || c.hasAny("--apply", "--build-fake-ancestor") {
		a.reportWord(Write, c.name, c.path, "`git apply` changes the work tree", "use `git apply --stat` or `git apply --check`")
	}
}

func checkFormatPatch(a *analyzer, c *call) {
	if !c.has("--stdout") {
		a.reportWord(Write, c.name, c.path, "`git format-patch` writes files", "add --stdout")
	}
	checkGitFormat(a, c)
}

func checkGitHelp(a *analyzer, c *call) {
	if len(c.operands) > 0 {
		a.reportWord(Contained, c.name, c.path, "`git help` starts a viewer of the configuration", "use `git help -a`, or `man git-COMMAND | cat`")
	}
}

func judgeGitReflog(a *analyzer, c *call) {
	logs := a.index.rows["git"].sub("log")
	if len(c.words) > 0 {
		switch w := c.words[0]; {
		case w.lit && (w.text == "expire" || w.text == "delete" || w.text == "drop" || w.text == "write"):
			a.reportWord(Write, w, c.path, quote("git reflog "+w.text)+" rewrites the log", "list with `git reflog`")
			return
		case w.lit && (w.text == "exists" || w.text == "list"):
			return
		case w.lit && w.text == "show":
			c.words = c.words[1:]
		}
	}
	c.row = logs
	if a.options(c) {
		checkGitFormat(a, c)
	}
}

// gitConfigRow holds the options of git config; which action is meant is decided in judgeGitConfig.
var gitConfigRow = row{
	name: "config",
	opts: "-z -l -f= --null --list --file= --blob= --global --system --local --worktree --get --get-all --get-regexp --get-urlmatch " +
		"--get-color --get-colorbool --name-only --show-origin --show-scope --show-names --no-show-names --type= --bool --int --bool-or-int " +
		"--path --expiry-date --no-type --includes --no-includes --default= --all --regexp --value= --fixed-value --url= --no-global",
	bad: []bad{
		{"--add --replace-all --unset --unset-all --rename-section --remove-section --append --comment=", Write, "changes the configuration", "read with `git config --get NAME`"},
		{"-e --edit", Write, "starts an editor", "read with `git config --list`"},
	},
}

func judgeGitConfig(a *analyzer, c *call) {
	c.row = &gitConfigRow
	if !a.options(c) {
		return
	}
	reads := c.hasAny("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool")
	if reads || len(c.operands) == 0 {
		return
	}
	if w := c.operands[0]; w.lit && (w.text == "list" || w.text == "get") {
		return
	}
	if len(c.operands) == 1 && !c.operands[0].split && !c.operands[0].glob {
		if w := c.operands[0]; w.lit && !strings.Contains(w.text, ".") {
			a.reportWord(Write, w, c.path, quote("git config "+w.text)+" changes the configuration", "read with `git config --get NAME`")
		}
		return // git config NAME
	}
	a.reportWord(Write, c.operands[0], c.path, "`git config NAME VALUE` changes the configuration", "read with `git config --get NAME`")
}
