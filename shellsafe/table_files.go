package shellsafe

import "strings"

// fileRows look at files and directories, or change them.
var fileRows = []row{
	reads("ls gls dir vdir stat gstat readlink greadlink realpath grealpath basename gbasename dirname gdirname pwd df gdf du gdu "+
		"lsattr getfacl getfattr namei pathchk exa eza lsd dust duf mdls", "lists"),
	{
		name: "file", doc: "tells the type", opts: "-bcdhiklLnNrsSvzZ0E -e= -F= -f= -m= -P= --brief --checking-printout --extension --mime --mime-type " +
			"--mime-encoding --keep-going --dereference --no-dereference --no-buffer --no-pad --print0 --raw --special-files --uncompress " +
			"--uncompress-noreport --no-sandbox --apple --exclude= --exclude-quiet= --separator= --files-from= --magic-file= --parameter= --version --help --list --debug",
		bad: []bad{
			{"-C --compile", Write, "writes a compiled magic file", "leave it out"},
			{"-p --preserve-date", Write, "sets the access time", "leave it out"},
		},
	},
	{
		name: "tree", doc: "lists a tree", opts: "-adflxFsughpDnCASNQqJXirtcUv -H= -L= -P= -I= -T= --noreport --charset= --filelimit= --gitignore " +
			"--gitfile= --info --infofile= --matchdirs --metafirst --prune --timefmt= --si --du --inodes --device --dirsfirst --filesfirst " +
			"--sort= --nolinks --hintro= --houtro= --ignore-case --fromfile --fromtabfile --fflinks --opt-toggle --version --help --compress= -h --hyperlink --scheme= --authority=",
		bad: []bad{
			{"-o= --output=", Write, "writes its listing to a file", "drop -o: the listing goes to standard output"},
			{"-R", Write, "writes a file in every directory", "leave -R out"},
		},
	},
	reads("echo gecho true gtrue false gfalse sleep gsleep yes gyes seq gseq jot expr gexpr factor gfactor clear tput", "prints"),
	{name: "printf gprintf", doc: "prints", judge: judgePrintf},
	{name: "test [", doc: "tests", judge: judgeTest},
	{name: "mktemp gmktemp", doc: "creates a temporary file", opts: "-u -q -d -t -p= --dry-run --quiet --directory --tmpdir? --suffix= --help --version", check: checkMktemp},
	writes("rm grm unlink gunlink", "deletes files"), writes("rmdir grmdir", "removes directories"),
	writes("mv gmv rename prename mmv", "renames files"), writes("cp gcp", "copies files"),
	writes("ln gln link symlink", "creates a link"), writes("mkdir gmkdir", "creates directories"),
	{name: "touch gtouch", doc: "creates files or sets their times", verdict: Write, info: "--help --version", hint: "use `stat` to look"},
	writes("chmod gchmod chown gchown chgrp gchgrp chattr setfacl setfattr chcon setcap xattr chflags", "changes permissions or attributes"),
	writes("truncate gtruncate shred gshred srm wipe fallocate", "changes the content of files"),
	writes("install ginstall", "copies files"), writes("mkfifo gmkfifo mknod gmknod", "creates a special file"),
	writes("patch", "changes files"), writes("sponge", "writes a file"), writes("trash trash-put gio rip", "deletes files"),
	writes("rsync", "copies files"), writes("restic borg duplicity rclone unison syncthing", "copies files"),
	{name: "tee gtee", doc: "writes its operands", opts: "-a -i -p --append --ignore-interrupts --output-error? --help --version", check: checkTee},
	{name: "dd gdd", doc: "copies blocks", judge: judgeDD},
	{name: "split gsplit csplit gcsplit", doc: "writes pieces of a file", verdict: Write, info: "--help --version", hint: "use `sed -n A,Bp` or `head -c`"},
	{name: "open xdg-open start explorer", doc: "starts another program", verdict: Contained},
}

func judgePrintf(a *analyzer, c *call) {
	if len(c.words) == 0 {
		return
	}
	w := c.words[0]
	switch {
	case w.lit && strings.HasPrefix(w.text, "-v"):
		if len(w.text) > 2 {
			w.text = w.text[2:]
			if a.varOperand(w, "printf -v") {
				a.steeredWord(c, w)
			}
			return
		}
		if len(c.words) > 1 && a.varOperand(c.words[1], "printf -v") {
			a.steeredWord(c, c.words[1])
		}
	case w.lit || !w.mayBeOption():
	default:
		a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may become `-v`, which evaluates a variable's name", "put a format in front: `printf '%s' …`")
	}
}

// judgeTest judges test and [. Only -v and -R evaluate an operand; the comparisons take numbers as text.
func judgeTest(a *analyzer, c *call) {
	for i, w := range c.words {
		if w.lit && (w.text == "-v" || w.text == "-R") && i+1 < len(c.words) {
			a.varOperand(c.words[i+1], c.path+" -v")
			continue
		}
		if w.split && !w.num {
			a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may become `-v` and a variable's name, of which the subscript is evaluated", "quote it")
			return
		}
		// An operand that turns into -v makes the next one a variable's name, of which the subscript is
		// evaluated.
		if !w.lit && w.mayBeOption() && i+1 < len(c.words) {
			next := c.words[i+1]
			if next.lit && !strings.Contains(next.text, "[") || next.lit && next.text == "[" || next.num {
				continue
			}
			a.varOperand(next, c.path)
			return
		}
	}
}

func checkMktemp(a *analyzer, c *call) {
	if !c.early("-u", "--dry-run") {
		a.reportWord(Write, c.name, c.path, "`mktemp` creates a file", "pipe instead of using a temporary file")
	}
}

// checkTee has no exception for "-": POSIX tee and GNU's write a file of that name.
func checkTee(a *analyzer, c *call) {
	for _, w := range c.operands {
		if !w.lit || !sinks[w.text] {
			a.reportWord(Write, w, c.path, "`tee` writes "+quote(a.wordText(w)), "leave `tee` out: the output is returned to you")
			return
		}
	}
}

func judgeDD(a *analyzer, c *call) {
	for _, w := range c.words {
		key, val, _ := strings.Cut(w.text, "=")
		switch {
		case key == "of" && w.lit && sinks[val]:
		case key == "of":
			a.reportWord(Write, w, c.path, quote(a.wordText(w))+" makes `dd` write", "drop of=: the bytes go to standard output")
			return
		case w.lit || strings.Contains(w.text, "=") && !w.split:
		default:
			a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may become `of=`, which writes", "write if=, bs= and the like out")
			return
		}
	}
}
