package shellsafe

import "strings"

// textRows read text and print it otherwise.
var textRows = []row{
	reads("cat gcat tac gtac wc gwc head ghead tail gtail cut gcut tr gtr nl gnl od god hexdump hd hexyl comm gcomm join gjoin paste gpaste fold gfold "+
		"fmt gfmt expand gexpand unexpand gunexpand column rev pr gpr tsort gtsort numfmt gnumfmt look cksum gcksum sum md5sum gmd5sum md5 "+
		"sha1sum sha224sum sha256sum gsha256sum sha384sum sha512sum b2sum shasum xxhsum xxh64sum crc32 diff gdiff cmp colordiff "+
		"bc col colrm ul datamash csvcut csvgrep csvlook csvstat csvsort csvjson csvformat csvjoin csvstack uuidgen mcookie figlet fortune cal ncal ansi2txt", "prints text"),
	{
		name: "diff3", doc: "compares three files", open: true,
		bad: []bad{{"--diff-program=", Contained, "names a program to run", "leave it out"}},
	},
	{name: "uuencode", doc: "prints an encoding", open: true, bad: []bad{{"-o=", Write, "writes to a file, on BSD and macOS", "leave it out"}}},
	{
		name: "zcat gzcat bzcat xzcat lzcat zstdcat lz4cat", doc: "prints compressed text", opts: "-c -d -f -h -k -l -q -t -v -V --stdout --decompress --force --help --keep --list --quiet --test --verbose --version",
		bad: []bad{{"-o= --rm", Write, "writes or removes a file", "leave it out"}},
	},
	{
		name: "zgrep zegrep zfgrep bzgrep xzgrep zstdgrep", doc: "searches compressed text",
		opts: "-acEFGhHiIlLnoPqsvwxyzZ -A= -B= -C= -e= -m= -NUM --color? --count --ignore-case --line-number --files-with-matches --invert-match --only-matching --word-regexp --regexp= --extended-regexp --fixed-strings --with-filename --no-filename --quiet --text --help --version",
		bad:  []bad{{"-f= --file=", Write, "keeps its patterns in a temporary file", "give the patterns with -e"}},
	},
	{name: "zdiff zcmp bzdiff bzcmp xzdiff xzcmp", doc: "keeps what it compares in a temporary file", verdict: Write, info: "--help --version", hint: "use `diff <(zcat A) <(zcat B)`"},
	{
		name: "strings size nm objdump readelf c++filt addr2line otool", doc: "prints what an object file holds", open: true, check: checkResponseFile,
		bad: []bad{{"--plugin=", Contained, "loads code", "leave it out"}},
	},
	sedRow, awkRow,
	{
		name: "sort gsort", doc: "sorts", opts: "-bdfghiMnRrVcCmsuz -k= -S= -t= -T= --ignore-leading-blanks --dictionary-order --ignore-case " +
			"--general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --random-source= " +
			"--reverse --sort= --version-sort --batch-size= --check? --debug --files0-from= --key= --merge --stable --buffer-size= " +
			"--field-separator= --temporary-directory= --parallel= --unique --zero-terminated --radixsort --mergesort --qsort --heapsort --mmap --help --version",
		bad: []bad{
			{"-o= --output=", Write, "writes a file", "drop -o: sorted lines go to standard output"},
			{"--compress-program=", Contained, "runs a program when it spills", "leave it out"},
		},
	},
	{
		name: "uniq guniq", doc: "drops repeated lines", max: 1, maxWhy: "is the output file", hint: "give one operand: lines go to standard output",
		opts: "-cdDiuz -f= -s= -w= -NUM --count --repeated --all-repeated? --group? --skip-fields= --skip-chars= --check-chars= --ignore-case --unique --zero-terminated --help --version",
	},
	{
		name: "shuf gshuf", doc: "shuffles", opts: "-erz -i= -n= --echo --repeat --zero-terminated --input-range= --head-count= --random-source= --random-seed= --help --version",
		bad: []bad{{"-o= --output=", Write, "writes a file", "drop -o: lines go to standard output"}},
	},
	{
		name: "iconv", doc: "converts text", opts: "-cls -f= -t= --from-code= --to-code= --list --silent --verbose --unicode-subst= --byte-subst= --help --version",
		bad: []bad{{"-o= --output=", Write, "writes a file", "drop -o: text goes to standard output"}},
	},
	{
		name: "base64 gbase64 base32 gbase32 basenc gbasenc", doc: "encodes", opts: "-dDihI -w= -b= --decode --ignore-garbage --wrap= --break= --base64 --base64url --base32 --base32hex --base16 --base2msbf --base2lsbf --z85 --help --version",
		bad: []bad{{"-o= --output=", Write, "writes a file", "drop -o"}},
	},
	{
		name: "sdiff", doc: "compares side by side", opts: "-abdiltsBEHW -w= -I= --ignore-case --ignore-all-space --ignore-blank-lines --left-column --suppress-common-lines --width= --text --minimal --help --version",
		bad: []bad{{"-o= --output=", Write, "writes a file", "drop -o"}, {"--diff-program=", Contained, "runs a program", ""}},
	},
	{name: "ptx gptx", doc: "prints an index", open: true, bad: []bad{{"-G --traditional", Write, "takes the second operand for its output", "leave it out"}}},
	{name: "xxd", doc: "dumps bytes", judge: judgeXxd},
	{
		name: "bat batcat", doc: "prints files", opts: "-pAPnuSEfhV -l= -H= -m= -r= --plain --show-all --language= --highlight-line= --file-name= --diff --diff-context= " +
			"--tabs= --wrap= --chop-long-lines --terminal-width= --number --color= --italic-text= --decorations= --force-colorization --paging= " +
			"--map-syntax= --theme= --list-themes --list-languages --style= --line-range= --squeeze-blank --unbuffered --no-config --strip-ansi= --help --version --config-file --config-dir",
		bad: []bad{{"--pager=", Contained, "runs a program", "use --paging=never"}, {"--lessopen", Contained, "runs a filter", ""}}, check: checkBat,
	},
	{name: "tokei", doc: "counts lines", open: true},
	{name: "shellcheck hadolint yamllint", doc: "checks text", open: true},
	{
		name: "scc", doc: "counts lines", opts: "-iwazvpdMn -f= -s= --by-file --no-cocomo --no-complexity --format= --sort= --wide --ci --include-ext= --exclude-dir= --version",
		bad: []bad{{"-o= --output= --format-multi=", Write, "writes a file", "leave it out"}},
	},
	{name: "cloc", doc: "counts lines", opts: "--by-file --by-file-by-lang --include-lang= --exclude-lang= --exclude-dir= --include-ext= --exclude-ext= --json --csv --md --yaml --xml --quiet --hide-rate --sum-one --vcs= --not-match-d= --match-f= --fullpath --version", check: checkCloc},
	writes("dos2unix unix2dos recode uudecode ctags etags cscope gtags indent astyle fromdos todos", "rewrites files"),
	{name: "m4 dc pandoc groff troff nroff tidy enscript gs", doc: "can run commands or write files", verdict: Contained, info: "--version"},
	{name: "fzf sk peco gum percol", doc: "is interactive and runs programs", verdict: Contained, info: "--version"},
	{name: "delta diff-so-fancy difft", doc: "starts a pager", verdict: Contained, info: "--version"},
}

func checkResponseFile(a *analyzer, c *call) {
	for _, w := range c.operands {
		if strings.HasPrefix(w.text, "@") || !w.lit && w.text == "" && !w.nodash {
			a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may name a file with further options", "write `./` in front of the name")
			return
		}
	}
}

func checkBat(a *analyzer, c *call) {
	if len(c.operands) > 0 && c.operands[0].lit && c.operands[0].text == "cache" {
		a.reportWord(Write, c.operands[0], c.path, "`bat cache` writes its cache", "write `./cache` for a file of that name")
	}
}

// judgeXxd: the second operand of xxd is its output. Its options are single words.
func judgeXxd(a *analyzer, c *call) {
	operands, options := 0, true
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		if !w.lit {
			if options && w.mayBeOption() || w.split || w.glob {
				a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may become an option or a second operand of `xxd`", "quote it and put `--` in front of it")
				return
			}
		} else if options && len(w.text) > 1 && w.text[0] == '-' {
			s := strings.TrimPrefix(w.text, "-")
			switch {
			case w.text == "--":
				options = false
			case xxdValues[s], xxdValues[strings.TrimPrefix(s, "-")]:
				i++
			}
			continue
		}
		options = false // xxd takes none behind an operand
		if operands++; operands > 1 {
			a.reportWord(Write, w, c.path, "the operand "+quote(a.wordText(w))+" of `xxd` is the output file", "give one operand: the dump goes to standard output")
			return
		}
	}
}

var xxdValues = map[string]bool{
	"c": true, "cols": true, "g": true, "groupsize": true, "l": true, "len": true, "n": true, "name": true,
	"o": true, "s": true, "seek": true, "skip": true, "R": true, "offset": true,
}

// checkCloc: --vcs takes a command, unless it is a word of cloc's own, and an archive is unpacked with a
// command in which its name stands.
func checkCloc(a *analyzer, c *call) {
	if o, ok := c.opt("--vcs"); ok && !(o.value.lit && listed("git auto svn", o.value.text)) {
		a.reportWord(Contained, *o.at, c.path, "`cloc --vcs` runs a command", "use --vcs=git")
		return
	}
	for _, w := range c.operands {
		name := w.text
		if !w.lit {
			name = w.suffix
		}
		if !w.lit && (w.split || strings.IndexByte(name, '.') < 0) || archived(name) {
			a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may be an archive, which `cloc` unpacks", "name a directory")
			return
		}
	}
}

// archived reports whether cloc takes a file of that name for an archive.
func archived(name string) bool {
	for _, s := range []string{"z", "z2", "zst", ".tar", ".zip", ".jar", ".war", ".ear", ".whl", ".rpm", ".deb", ".cpio", ".apk", ".epub"} {
		if strings.HasSuffix(strings.ToLower(name), s) {
			return true
		}
	}
	return false
}
