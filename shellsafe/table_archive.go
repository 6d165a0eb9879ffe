package shellsafe

import "strings"

// archiveRows list archives and write members to standard output, or pack and unpack.
var archiveRows = []row{
	{name: "tar gtar bsdtar", doc: "packs and unpacks", judge: judgeTar, info: "--version --help"},
	{
		name: "unzip", doc: "unpacks", opts: "-lvtpcqzZ12aCLMhjU -x= -P= --help --version", check: checkUnzip,
		bad: []bad{{"-d= -o -n -f -u -X -K -B -T", Write, "unpacks files", "list with `unzip -l`, read with `unzip -p`"}},
	},
	reads("zipinfo lsar", "lists an archive"),
	{
		name: "gzip ggzip pigz", doc: "compresses files", opts: "-cdfhkLlnNqrtvV123456789 -p= -b= -S= --stdout --to-stdout --decompress --uncompress --force --help --keep --list --no-name --name --quiet --test --verbose --version --fast --best --license",
		check: checkCompress,
	},
	{name: "gunzip uncompress", doc: "unpacks files", opts: "-cfhkLlnNqrtvV -S= --stdout --to-stdout --force --help --keep --list --no-name --name --quiet --test --verbose --version --license", check: checkCompress},
	{name: "bzip2 bunzip2", doc: "compresses files", opts: "-cdfhkLqtsvV123456789z --stdout --decompress --force --help --keep --quiet --test --verbose --version --small", check: checkCompress},
	{
		name: "xz unxz lzma unlzma", doc: "compresses files", opts: "-cdfhHkltqQvV0123456789ez -T= --stdout --to-stdout --decompress --uncompress --force --help --long-help --keep --list --test --quiet --verbose --version --robot --threads= --format=", check: checkCompress,
		bad: []bad{{"--files? --files0?", Write, "takes file names from a list", ""}},
	},
	{name: "lz4 unlz4", doc: "compresses files", opts: "-cdfhklqtvV0123456789 --stdout --decompress --force --help --keep --list --quiet --test --verbose --version", max: 1, maxWhy: "is the output file", hint: "add -c", check: checkCompress},
	{name: "zstd unzstd brotli", doc: "compresses files", opts: "-cdfhkltqvV0123456789 --stdout --decompress --force --help --keep --list --test --quiet --verbose --version", check: checkCompress},
	{
		name: "7z 7za 7zr 7zz p7zip rar unrar", doc: "packs or unpacks files", style: first, verdict: Write, noSub: Read, info: "--version --help -h",
		subs: []row{{name: "l lb lt v t vb vt", style: first, opts: "-slt -ba -bd -scsUTF-8"}},
	},
	{name: "jar", doc: "packs or unpacks files", judge: judgeJar},
	{
		name: "cpio", doc: "packs or unpacks files", opts: "-t -i -v -n -c -z -F= -H= --list --verbose --quiet --numeric-uid-gid --format= --file= --extract --version --help", check: checkCpio,
		bad: []bad{{"-o -p -A -O= -E= -u -d -m --create --pass-through --append --make-directories --unconditional", Write, "packs or unpacks files", "list with `cpio -t`"}},
	},
	{name: "zip zipnote zipsplit pax compress lzip lzop zipcloak", doc: "packs or unpacks files", verdict: Write, info: "--version --help -h"},
	{name: "ar", doc: "changes a library", judge: judgeAr},
}

func checkUnzip(a *analyzer, c *call) {
	if len(c.operands) > 0 && !c.early("-l", "-v", "-t", "-p", "-c", "-z", "-Z") {
		a.reportWord(Write, c.name, c.path, "`unzip` unpacks files", "list with `unzip -l`, read with `unzip -p`")
	}
}

// checkCompress: without operands the compressors are filters; with -c, -l and -t they leave files alone.
func checkCompress(a *analyzer, c *call) {
	if len(c.operands) == 0 || c.early("-c", "-l", "-t", "--stdout", "--to-stdout", "--list", "--test", "-h", "-V", "--help", "--version") {
		return
	}
	a.reportWord(Write, c.operands[0], c.path, quote(c.path)+" replaces or creates files", "add -c: the result goes to standard output")
}

func judgeAr(a *analyzer, c *call) {
	if len(c.words) > 1 && c.words[0].lit {
		op := strings.TrimPrefix(c.words[0].text, "-")
		if op != "" && strings.Trim(op, "tpvOPT") == "" && (op[0] == 't' || op[0] == 'p') && !strings.Contains(op, "T") && plainOperands(c.words[1:]) {
			return
		}
	}
	a.reportWord(Write, c.name, c.path, "`ar` changes a library", "list with `ar t`")
}

// tarRow holds tar's options in their usual spelling; the first word without a dash is a cluster too.
var tarRow = row{
	name: "tar",
	opts: "-txczjJZaOvpPhkmnsSUwBiRbGldoW -f= -C= -T= -X= -b= -H= -V= -L= -K= -N= -g= --list --extract --get --create --file= --gzip --gunzip --ungzip --bzip2 --xz --zstd --lzip --lzma --lzop --compress --uncompress " +
		"--auto-compress --no-auto-compress --to-stdout --verbose --directory= --files-from= --exclude= --exclude-from= --exclude-vcs --exclude-vcs-ignores --exclude-caches --wildcards --no-wildcards --no-recursion --recursion " +
		"--strip-components= --strip= --absolute-names --dereference --hard-dereference --full-time --numeric-owner --owner= --group= --mode= --mtime= --sort= --format= --posix --null --no-null --verbatim-files-from --no-verbatim-files-from " +
		"--block-number --blocking-factor= --ignore-zeros --ignore-case --no-ignore-case --anchored --no-anchored --wildcards-match-slash --occurrence? --one-file-system --record-size= --restrict --seek --no-seek --show-defaults --show-omitted-dirs --show-transformed-names --show-stored-names " +
		"--starting-file= --totals? --transform= --xform= --utc --warning= --quoting-style= --quote-chars= --no-quote-chars= --checkpoint? --force-local --label= --test-label --help --version --usage --delay-directory-restore --diff --compare",
	bad: []bad{
		{"-I= --use-compress-program=", Contained, "runs a program", "use -z, -j, -J or --zstd"},
		{"--to-command= --checkpoint-action= --info-script= --new-volume-script= --rsh-command= --rmt-command= -F=", Contained, "runs a program", "leave it out"},
		{"--index-file=", Write, "writes its listing to a file", "leave it out"},
		{"-r -u -A --append --update --concatenate --catenate --delete", Write, "changes the archive", "list with `tar -tf`"},
		{"--remove-files --listed-incremental= --volno-file= --atime-preserve? --unlink-first --recursive-unlink --backup? --suffix= --overwrite --keep-newer-files", Write, "changes files", "leave it out"},
		{"-M --multi-volume --tape-length=", Write, "asks for volumes", "leave it out"},
	},
}

func judgeTar(a *analyzer, c *call) {
	words := c.words
	if len(words) > 0 && words[0].lit && words[0].text != "" && words[0].text[0] != '-' {
		words = oldTar(words)
	}
	if len(words) == 0 || words[0].text == "" && words[0].lit {
		return
	}
	c.row = &tarRow
	c.words = words
	if !a.options(c) {
		return
	}
	archive := word{lit: true, text: "-"}
	hasFile := false
	for _, o := range c.opts {
		if o.name == "-f" || o.name == "--file" {
			archive, hasFile = o.value, true
		}
	}
	if hasFile && cannotBe(archive)&host == 0 && !c.has("--force-local") {
		if strings.Contains(archive.text, ":") {
			a.reportWord(Network, archive, c.path, "an archive named HOST:FILE is fetched from another machine", "add --force-local")
		} else {
			a.reportWord(Contained, archive, c.path, "the archive "+quote(a.wordText(archive))+" is not known; HOST:FILE is another machine's", "add --force-local")
		}
		return
	}
	list := c.hasAny("-t", "--list", "-d", "--diff", "--compare", "--test-label")
	extract := c.hasAny("-x", "--extract", "--get")
	create := c.hasAny("-c", "--create")
	switch {
	case list && !extract && !create:
	case extract && !list && !create && c.hasAny("-O", "--to-stdout"):
	case create && !list && !extract && hasFile && archive.lit && (archive.text == "-" || sinks[archive.text]):
	case extract:
		a.reportWord(Write, c.name, c.path, "`tar` unpacks files", "list with `tar -tf`, read with `tar -xOf`")
	case create:
		a.reportWord(Write, c.name, c.path, "`tar` writes an archive", "list with `tar -tf`")
	case c.hasAny("--help", "--version", "--usage", "--show-defaults"):
	default:
		a.reportWord(Contained, c.name, c.path, "what `tar` is to do is not clear", "list with `tar -tf`")
	}
}

// oldTar rewrites `tar tf FILE` as `tar -t -f FILE`. The letters take their values in order.
func oldTar(words []word) []word {
	spec := tarRow.spec()
	rest := words[1:]
	var out []word
	for _, ch := range []byte(words[0].text) {
		w := words[0]
		w.text = "-" + string(rune(ch))
		out = append(out, w)
		if ch < 128 && spec.short[ch].kind == valueOpt && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

// plainOperands reports whether no word can be an option, wherever the program takes one, nor the name of
// a file with more of them.
func plainOperands(words []word) bool {
	for _, w := range words {
		if w.mayBeOption() || w.split && !w.num || strings.HasPrefix(w.text, "@") || w.text == "" && !w.lit && !w.num && !w.nodash {
			return false
		}
	}
	return true
}

// judgeJar: the launcher takes -J, with an agent to run, anywhere.
func judgeJar(a *analyzer, c *call) {
	if len(c.words) > 1 && c.words[0].lit && listed("tf -tf tvf -tvf --list", c.words[0].text) && plainOperands(c.words[1:]) {
		return
	}
	a.reportWord(Write, c.name, c.path, "`jar` packs or unpacks files", "list with `jar tf`")
}

func checkCpio(a *analyzer, c *call) {
	file, ok := c.opt("-F")
	if o, long := c.opt("--file"); long {
		file, ok = o, true
	}
	switch {
	case !c.hasAny("-t", "--list", "--version", "--help"):
		a.reportWord(Write, c.name, c.path, "`cpio` packs or unpacks files", "list with `cpio -t`")
	case ok && (!file.value.lit || strings.Contains(file.value.text, ":")):
		a.reportWord(Network, *file.at, c.path, "an archive named HOST:FILE is fetched from another machine", "read it from standard input")
	}
}
