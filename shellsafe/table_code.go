package shellsafe

import "strings"

// goRows is the Go tool chain.
var goRows = []row{
	{name: "go", doc: "runs a tool", style: first, noSub: Read, opts: "-C= -h --help", subs: []row{
		{name: "version", style: dash, opts: "-m -v -json"},
		{name: "env", style: dash, opts: "-json -changed", bad: []bad{{"-w -u", Write, "changes the settings", "leave it out"}}},
		{name: "list", style: dash, opts: goListOpts, bad: goListBad, check: checkGoList},
		{name: "doc", style: dash, opts: "-all -c -cmd -short -src -u -C= -ex", bad: []bad{{"-http", Contained, "starts a server", "leave it out"}}},
		{name: "help", open: true},
		{name: "mod", style: first, doc: "changes go.mod", verdict: Write, noSub: Read, subs: []row{
			{name: "graph", style: dash, opts: "-go= -x -C="},
			{name: "why", style: dash, opts: "-m -vendor -C="},
			{name: "verify", style: dash, opts: "-C="},
			{name: "edit", style: dash, open: true, check: checkModEdit},
			{name: "download", doc: "fetches modules", verdict: Network},
		}},
		{name: "work", style: first, doc: "changes go.work", verdict: Write, noSub: Read, subs: []row{{name: "edit", style: dash, open: true, check: checkModEdit}}},
		{name: "tool", judge: judgeGoTool},
		{name: "telemetry", max: -1, maxWhy: "changes a setting", opts: ""},
		{name: "get", doc: "fetches modules and changes go.mod", verdict: Network},
		{name: "install fmt fix clean", doc: "writes files", verdict: Write, hint: "use `gofmt -l` or `go list`"},
		{name: "build test run vet generate bug", doc: "compiles or runs the project's code", verdict: Contained, hint: "use `go list` and `go doc`, or run it in a throw-away view"},
	}},
	{
		name: "gofmt gofumpt goimports", doc: "formats", style: dash, opts: "-l -d -s -e -r= -lang= -modpath= -extra -local= -v -h -format-only -srcdir=",
		bad: []bad{{"-w", Write, "rewrites the files", "use -l or -d"}, {"-cpuprofile= -memprofile= -trace= -memrate=", Write, "writes a file", "leave it out"}},
	},
	{
		name: "staticcheck errcheck revive benchstat gotestsum mockgen stringer protoc buf wire air task mage gorelease",
		doc:  "compiles or runs the project's code", verdict: Contained, info: "--version -version",
	},
	{name: "golangci-lint gopls dlv ginkgo sqlc goreleaser ko", doc: "compiles or runs the project's code", verdict: Contained, info: "--version version"},
	{name: "govulncheck", doc: "compiles the project's code, and asks for what is known of it", verdict: Contained},
	{name: "gci", doc: "rewrites files", style: first, verdict: Write, noSub: Contained, info: "--version --help -v -h", subs: []row{
		{name: "print list diff", doc: "formats", opts: "-s= --section= --custom-order --skip-generated --skip-vendor -d --debug"},
	}},
}

const goListOpts = "-f= -json? -m -e -find -deps -test -tags= -C= -buildvcs= -mod= -p= -v -n -x -trimpath -race -msan -asan -buildmode= -compiler= -gcflags= -ldflags= -cover"

var goListBad = []bad{
	{"-export", Contained, "compiles the packages", "leave it out"},
	{"-compiled", Contained, "compiles cgo packages", "leave it out"},
	{"-toolexec= -exec= -overlay= -modfile= -pkgdir= -modcacherw -a -work -pgo= -covermode= -coverpkg= -modindex -debug-actiongraph= -debug-trace=", Contained, "changes what is compiled, read or run", "leave it out"},
	{"-u -versions -retracted -reuse=", Network, "asks the module proxy", "leave it out"},
}

// checkGoList refuses -mod=mod, with which go updates go.mod.
func checkGoList(a *analyzer, c *call) {
	if o, ok := c.opt("-mod"); ok && o.value.text != "readonly" && o.value.text != "vendor" {
		a.reportWord(Write, *o.at, c.path, "`go list "+a.wordText(*o.at)+"` may change go.mod", "use -mod=readonly")
	}
	for _, w := range c.operands {
		if c.has("-m") && (strings.Contains(w.text, "@") || !w.lit && !w.num) {
			a.reportWord(Network, w, c.path, "for "+quote(a.wordText(w))+" go may ask the module proxy", "leave the version out: `go list -m PATH`")
			return
		}
	}
}

func checkModEdit(a *analyzer, c *call) {
	for _, o := range c.opts {
		if o.name != "-json" && o.name != "-print" {
			a.reportWord(Write, *o.at, c.path, quote(c.path+" "+o.name)+" changes the file", "use -json or -print")
			return
		}
	}
	if len(c.opts) == 0 {
		a.reportWord(Write, c.name, c.path, quote(c.path)+" may rewrite the file", "use -json or -print")
	}
}

func judgeGoTool(a *analyzer, c *call) {
	if len(c.words) == 0 {
		return
	}
	if w := c.words[0]; w.lit && w.text == "dist" && len(c.words) > 1 && c.words[1].lit && (c.words[1].text == "list" || c.words[1].text == "version") {
		return
	}
	a.reportWord(Contained, c.name, c.path, "`go tool` runs a tool", "")
}

// jsRows are JavaScript's runtimes and package managers. npm writes logs whatever it is asked.
var jsRows = []row{
	{name: "node nodejs", doc: "runs code", judge: judgeNode},
	{
		name: "npm", doc: "writes logs and may connect", style: first, verdict: Network, info: "--version -v", noSub: Contained,
		opts: "-s --silent --prefix= -C= -g --global -w= --workspace= --workspaces -ws --loglevel= --json --long --parseable --version -v",
		bad:  []bad{{"--script-shell= --node-options= --shell=", Contained, "chooses what runs", "leave it out"}},
		subs: []row{
			{name: "ls list la ll root prefix bin explain why query fund config c get help pkg docs home bugs repo completion", doc: "writes logs and may look for updates", verdict: Contained, hint: "read package.json and the lock file"},
			{name: "run run-script rum urn test t tst start stop restart exec x it install-test build rebuild rb prune dedupe ddp link ln pack init create innit edit explore version set set-script shrinkwrap cit ict clean-install-test", doc: "runs the project's scripts or writes its files", verdict: Contained},
		},
	},
	{name: "npx", doc: "fetches and runs code", verdict: Network, info: "--version -v"},
	{name: "bunx pnpx", doc: "fetches and runs code", verdict: Network},
	{
		name: "yarn yarnpkg", doc: "runs the version that the project pins", style: first, verdict: Contained, noSub: Network,
		subs: []row{{name: "add install remove up upgrade dlx npm publish import global create link unlink audit outdated", doc: "fetches packages", verdict: Network}},
	},
	{
		name: "pnpm", doc: "runs the version that the project pins", style: first, verdict: Contained, noSub: Contained, opts: "-C= -r -w -F= --filter= --dir= --recursive --silent -s",
		subs: []row{{name: "add install i remove rm update up upgrade dlx publish import fetch audit outdated create link ci deploy", doc: "fetches packages", verdict: Network}},
	},
	{
		name: "bun", doc: "runs code", style: first, verdict: Contained, noSub: Read, info: "--version -v --revision",
		subs: []row{{name: "add install i remove update upgrade link publish create x outdated pm", doc: "fetches packages", verdict: Network}},
	},
	{name: "deno", doc: "runs code", verdict: Contained, info: "--version -V"},
	{name: "corepack nvm fnm volta n", doc: "changes the installed versions", verdict: Network, info: "--version"},
	{
		// These load the copy that the project has installed, even for their version.
		name: "tsx ts-node rollup webpack vite next nuxt parcel turbo nx lerna rush jest vitest mocha ava playwright cypress stylelint standard xo babel swc gulp grunt nodemon pm2 electron storybook markdownlint markdownlint-cli2 dprint knip depcheck",
		doc:  "runs the project's code or rewrites files", verdict: Contained,
	},
	{
		name: "tsc esbuild eslint prettier biome oxlint",
		doc:  "runs the project's code or rewrites files", verdict: Contained, info: "--version -v -V",
	},
}

func judgeNode(a *analyzer, c *call) {
	if len(c.words) == 1 && c.words[0].lit && listed("-v --version -h --help --v8-options", c.words[0].text) {
		return
	}
	if len(c.words) == 2 && c.words[0].lit && (c.words[0].text == "--check" || c.words[0].text == "-c") && !c.words[1].mayBeOption() && !c.words[1].split {
		return // parses the file and does not run it
	}
	at := c.name
	if len(c.words) > 0 {
		at = c.words[0]
	}
	a.reportWord(Contained, at, c.path, quote(c.path)+" runs code", "read the file, or check it with `node --check FILE`")
}

// pythonRows is Python and what is written in it. Even `-m json.tool` imports from the working
// directory first.
var pythonRows = []row{
	{name: "python python2 python3 pypy pypy3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14", doc: "runs code", judge: judgePython},
	{name: "ipython jupyter ptpython bpython", doc: "runs code", verdict: Contained, info: "--version"},
	{
		// These load settings, plug-ins or tests of the project even when asked for their version.
		name: "pytest py.test tox nox unittest pylint flake8 pre-commit sphinx-build mkdocs alembic django-admin flask uvicorn gunicorn celery invoke fab ansible ansible-playbook ansible-lint dvc snakemake",
		doc:  "runs the project's code or rewrites files", verdict: Contained,
	},
	{
		name: "coverage mypy pyflakes pycodestyle bandit ruff black isort autopep8 yapf",
		doc:  "runs the project's code or rewrites files", verdict: Contained, info: "--version -V",
	},
	// These fetch themselves, or load plug-ins of the project, even for their version.
	{name: "pyright", doc: "checks types", verdict: Contained},
	{name: "poetry pdm hatch", doc: "changes packages or connects", verdict: Network},
	{name: "uv", doc: "changes packages or connects", style: first, verdict: Network, info: "--version -V --help", noSub: Read, subs: []row{
		{name: "pip", style: first, doc: "changes packages", verdict: Network, noSub: Read, subs: []row{{name: "list show freeze check", doc: "runs the python of the project's environment", verdict: Contained, hint: "use `pip list`, or read uv.lock"}}},
		{name: "run tool tree", doc: "runs code", verdict: Contained},
	}},
	{name: "rye pixi", doc: "changes packages or connects", verdict: Network, info: "--version -V"},
	{name: "uvx pipx", doc: "fetches and runs code", verdict: Network, info: "--version"},
	{name: "virtualenv venv", doc: "creates an environment", verdict: Write, info: "--version"},
}

func judgePython(a *analyzer, c *call) {
	if len(c.words) == 1 && c.words[0].lit && listed("-V --version -VV -h --help", c.words[0].text) {
		return
	}
	if pythonIsolatedJSON(c.words) {
		return
	}
	if len(c.words) > 2 && c.words[0].lit && c.words[0].text == "-m" && c.words[1].lit && c.words[1].text == "pip" {
		pip := a.index.rows["pip"]
		if sub := pip.sub(c.words[2].text); sub != nil && sub.effect() == Network || c.words[2].lit && pip.sub(c.words[2].text) == nil {
			a.reportWord(Network, c.words[2], c.path, "`python -m pip` changes packages or connects", "use `pip list` or `pip show`")
			return
		}
	}
	at, what := c.name, " runs what it reads from standard input"
	if len(c.words) > 0 {
		at, what = c.words[0], " runs code"
	}
	a.reportWord(Contained, at, c.path, quote(c.path)+what, "use `jq`, `grep`, `awk` or `sed -n`")
}

// pythonIsolatedJSON accepts `python3 -I -m json.tool [FILE]`: -I keeps the working directory out of the
// module path. A second operand would be written.
func pythonIsolatedJSON(words []word) bool {
	if len(words) < 3 || len(words) > 4 || !words[0].lit || words[0].text != "-I" || !words[1].lit || words[1].text != "-m" ||
		!words[2].lit || words[2].text != "json.tool" {
		return false
	}
	return len(words) == 3 || !words[3].mayBeOption() && !words[3].split && !words[3].glob
}

// buildRows are other languages, compilers and build tools.
var buildRows = []row{
	{
		name: "tclsh wish Rscript R julia ghc ghci runghc clojure clj iex swift sbcl ocaml octave crystal gjs jshell",
		doc:  "runs code", verdict: Contained, info: "--version",
	},
	{name: "perl ruby php lua luajit groovy elixir racket guile nim", doc: "runs code", verdict: Contained, info: "-v --version"},
	{name: "erl kotlin", doc: "runs code", verdict: Contained, info: "-version"},
	{name: "zig v", doc: "runs code", verdict: Contained, info: "version"},
	{name: "scala", doc: "runs code", verdict: Contained},
	{name: "javap", doc: "shows a class", style: loose, opts: "-c -p -v -s -l -public -protected -package -private -sysinfo -constants -verbose -classpath= -cp= -help -version", check: checkURLs},
	{name: "jps", doc: "lists processes", opts: "-q -m -l -v -V", max: -1, maxWhy: "is another machine", maxV: Network},
	{name: "java javac kotlinc scalac", doc: "runs or compiles code", verdict: Contained, info: "-version --version"},
	{name: "cargo", doc: "runs build scripts", style: first, verdict: Contained, info: "--version -V --help -h --list", noSub: Read, subs: []row{
		{name: "version help", open: true},
		{name: "locate-project", opts: "--workspace --message-format= --manifest-path="},
		{name: "install search publish login logout owner yank fetch update add", doc: "connects to the registry", verdict: Network},
		{name: "new init remove rm clean fmt fix vendor uninstall package generate-lockfile", doc: "writes files", verdict: Write},
		{name: "build check test run bench doc clippy rustc rustdoc tree metadata pkgid audit nextest expand", doc: "may run build scripts or touch the lock file", verdict: Contained, hint: "read Cargo.toml and Cargo.lock"},
	}},
	{name: "rustc", doc: "compiles", judge: judgeRustc},
	{name: "rustdoc rustfmt clippy-driver miri", doc: "compiles", verdict: Contained, info: "--version -V -vV --help --print=cfg --print=target-list --print=sysroot"},
	{name: "rustup", doc: "changes tool chains or connects", style: first, verdict: Network, info: "--version -V --help", noSub: Read, subs: []row{
		{name: "show", style: first, noSub: Read, opts: "-v --verbose", subs: []row{{name: "active-toolchain home profile", open: true}}},
		{name: "which", opts: "--toolchain="},
		{name: "toolchain target component override", style: first, doc: "changes tool chains", verdict: Write, subs: []row{{name: "list", opts: "-v --verbose --installed --toolchain= -q --quiet"}}},
		{name: "run", doc: "runs a program", verdict: Contained},
	}},
	// These start what the project pins or configures, even for their version.
	{name: "mvn mvnw gradle gradlew bazel bazelisk sbt lein", doc: "runs the project's build", verdict: Contained},
	{name: "bmake", doc: "runs the project's recipes", verdict: Contained},
	{name: "make gmake remake", doc: "runs the project's recipes", verdict: Contained, info: "--version -v --help -h", hint: "read the Makefile: `grep -n '^[a-z].*:' Makefile`"},
	{
		name: "cmake ctest cpack ninja meson just rake swiftc autoconf automake autoreconf aclocal libtool qmake earthly dagger tilt skaffold",
		doc:  "runs the project's build", verdict: Contained, info: "--version --help",
	},
	{name: "ant xcodebuild", doc: "runs the project's build", verdict: Contained, info: "-version"},
	{
		// As above: the version of the project, or its build file first.
		name: "buck buck2 pants scons waf xmake premake5 dotnet msbuild nuget xbuild fastlane configure autogen.sh",
		doc:  "runs the project's build", verdict: Contained,
	},
	{
		name: "cpp icc nvcc gnat as lld clang-format clang-tidy gcov gprof nasm yasm",
		doc:  "compiles", verdict: Contained, info: "--version --help",
	},
	{name: "emcc", doc: "compiles", verdict: Contained},
	{
		name: "gcc cc g++ c++ clang clang++ tcc gfortran ld gold arm-none-eabi-gcc x86_64-linux-gnu-gcc",
		doc:  "compiles", verdict: Contained, info: "--version -v --help -dumpversion -dumpfullversion -dumpmachine -print-search-dirs -print-sysroot",
	},
	{name: "strip objcopy ranlib dlltool windres chrpath patchelf install_name_tool codesign lipo", doc: "changes object files", verdict: Write, info: "--version --help"},
	{name: "pkg-config pkgconf", doc: "prints flags", opts: "--modversion --cflags --libs --libs-only-l --libs-only-L --cflags-only-I --exists --list-all --version --variable= --print-variables --print-requires --atleast-version= --max-version= --exact-version= --static --print-errors --short-errors --silence-errors --path --list-package-names"},
	{name: "llvm-config", doc: "prints flags", open: true},
}

// dataRows read structured data.
var dataRows = []row{
	{name: "jq gojq", doc: "filters JSON", open: true},
	{name: "jaq", doc: "filters JSON", open: true, bad: []bad{{"-i --in-place", Write, "edits the file in place", "leave -i out"}}},
	{
		name: "yq", doc: "filters YAML", opts: "-rcnejPNMCIyYSjaAMtvVhxl -o= -p= -I= --raw-output --compact-output --slurp --null-input --exit-status --prettyPrint --no-doc --no-colors --colors --indent= --output-format= --input-format= --unwrapScalar? --arg= --tojson --yaml-output --yml-output --yaml-roundtrip --version --help --header-preprocess --verbose --string-interpolation --xml-attribute-prefix= --xml-content-name= --csv-auto-parse --security-disable-env-ops --security-disable-file-ops",
		bad: []bad{
			{"-i --inplace --in-place", Write, "edits the file in place", "leave -i out: the result goes to standard output"},
			{"-s= --split-exp= --split-exp-file=", Write, "writes files", "leave it out"},
			{"--from-file= -f= --expression-file=", Contained, "reads the expression from a file", "write it out"},
			{"--security-enable-system-operator", Contained, "runs programs", "leave it out"},
		}, check: checkYq,
	},
	{name: "gron", doc: "flattens JSON", opts: "-u -c -m -s -v -j --ungron --colorize --monochrome --stream --no-sort --values --json --version --help", check: checkURLs},
	{
		name: "xmllint", doc: "reads XML", opts: "--noout --format --xpath= --nonet --recover --html --xmlout --c14n --huge --pretty= --debug --noblanks --nocdata --version --encode=",
		bad: []bad{{"--output= -o=", Write, "writes a file", "leave it out"}, {"--shell", Contained, "starts a shell", ""}}, check: checkURLs,
	},
	{name: "xmlstarlet xml", doc: "edits XML", style: first, noSub: Read, opts: "--version --help", subs: []row{
		{
			name: "sel select fo format el elements esc escape unesc unescape val validate c14n pyx", open: true,
			bad: []bad{{"--net", Network, "may fetch", "leave it out"}}, check: checkURLs,
		},
		{
			name: "ed edit", style: first, opts: "-P -S -O -N=", doc: "edits XML", check: checkXmlEd,
			bad: []bad{{"-L --inplace", Write, "edits the file in place", "leave -L out: the result goes to standard output"}},
		},
	}},
	{name: "xsv", doc: "reads tables", style: first, noSub: Read, subs: []row{{name: "headers count select search slice stats table frequency flatten sample cat fmt join sort", opts: "-d= -n -i -l= -s= -e= -c= --delimiter= --no-headers --select= --limit= --start= --end= --len= --index= -v --invert-match -R -N --numeric --reverse", bad: []bad{{"-o= --output=", Write, "writes a file", "leave it out"}}}}},
	{name: "sqlite3", doc: "runs SQL", judge: judgeSqlite},
	{name: "duckdb", doc: "runs SQL", verdict: Contained, info: "--version -version"},
	{name: "json_pp", doc: "formats JSON", style: loose, opts: "-f= -t= -json_opt= -V -v"},
	{name: "jsonlint prettyjson", doc: "formats JSON", opts: "-c -q -s --quiet --sort-keys --compact -V -v", bad: []bad{{"-i --in-place", Write, "edits the file in place", "leave it out"}}},
	{name: "exiftool", doc: "can write files", verdict: Contained},
	{name: "identify", doc: "can run helpers", verdict: Contained},
	{name: "convert magick mogrify ffmpeg ffprobe sox", doc: "writes files or runs helpers", verdict: Contained, info: "-version --version"},
	{name: "pdftotext", doc: "writes a file", verdict: Contained},
	{name: "pdfinfo", doc: "shows a document", open: true, check: checkURLs},
}

func checkYq(a *analyzer, c *call) {
	for i, w := range c.operands {
		if i == 0 && (w.lit && (w.text == "shell-completion" || w.text == "completion")) {
			continue
		}
		if i == 0 && !w.lit && w.text == "" || strings.Contains(w.text, "system") || strings.Contains(w.text, "load") && strings.Contains(w.text, "(") && i == 0 && strings.Contains(w.text, "://") {
			a.reportWord(Contained, w, c.path, "the expression "+quote(a.wordText(w))+" may run a program", "write it out")
			return
		}
	}
}

// checkURLs refuses what a program may fetch that takes a URL where it takes a file.
func checkURLs(a *analyzer, c *call) {
	for _, w := range c.operands {
		if a.fetched(c, w) {
			return
		}
	}
}

func (a *analyzer) fetched(c *call, w word) bool {
	switch {
	case cannotBe(w)&url != 0:
		return false
	case strings.Contains(w.text, "://"):
		a.reportWord(Network, w, c.path, quote(a.wordText(w))+" is fetched", "name a local file")
	default:
		a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may be a URL, which is fetched", "write `./` in front of a file's name")
	}
	return true
}

func checkXmlEd(a *analyzer, c *call) {
	for _, w := range c.words {
		if w.lit && (w.text == "-L" || w.text == "--inplace" || strings.HasPrefix(w.text, "--inp")) || !w.lit && w.mayBeOption() {
			a.reportWord(Write, w, c.path, "`xmlstarlet ed -L` edits the file in place", "leave -L out: the result goes to standard output")
			return
		}
	}
}

// editorRows start editors and pagers.
var editorRows = []row{
	{
		name: "vim vi nvim gvim vimdiff view ex ed emacs emacsclient nano pico micro helix hx kak joe ne jed mcedit code codium subl atom idea pycharm goland webstorm clion zed gedit kate notepad",
		doc:  "is an editor", verdict: Write, info: "--version -version --help", hint: "read with `cat` or `sed -n A,Bp`",
	},
	{
		name: "less", doc: "is a pager", piped: true, opts: "-aABcCdeEfFgGiIJKLmMnNqQrRsSuUwWX -b= -h= -j= -p= -P= -x= -y= -z= -NUM --quit-if-one-screen --raw-control-chars --RAW-CONTROL-CHARS --chop-long-lines --line-numbers --LINE-NUMBERS --ignore-case --IGNORE-CASE --squeeze-blank-lines --no-init --quit-at-eof --QUIT-AT-EOF --pattern= --tabs= --version --help -V",
		bad:   []bad{{"-o= -O= --log-file= --LOG-FILE=", Write, "writes a file", "leave it out"}, {"-k= --lesskey-file= --lesskey-src= --lesskey-context= -t= -T= --tag= --tag-file= -+? -D=", Contained, "reads commands or settings", "leave it out"}},
		check: checkPager,
	},
	{name: "zless bzless xzless zstdless zmore bzmore xzmore", doc: "is a pager", piped: true, opts: "-S -N -R -F -X -i -NUM", check: checkPager},
	{name: "more most pg", doc: "is a pager", piped: true, opts: "-dlfpcsuNeFSi -n= -NUM --silent --logical --no-pause --print-over --clean-print --squeeze --plain --lines= --version --help", check: checkPager},
	{name: "man gman", doc: "shows pages", judge: judgeMan},
	{name: "info pinfo", doc: "is interactive", piped: true, opts: "-w -k= --where --apropos= --subnodes --version --help -a", bad: []bad{{"-o= --output= --dribble= --restore=", Write, "writes a file", "leave it out"}}},
	{name: "mc ranger nnn lf vifm yazi broot ncdu", doc: "is interactive", verdict: Contained, info: "--version"},
}

// checkPager refuses the initial commands of pagers: `more +!touch`.
func checkPager(a *analyzer, c *call) {
	for _, w := range c.operands {
		if strings.HasPrefix(w.text, "+") {
			a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" gives the pager a command", "leave it out")
			return
		}
	}
}

// manRow's options choose pages; man starts a pager unless its output is piped.
var manRow = row{
	name: "man",
	opts: "-fkKwWaiIdD -M= -S= -s= -e= -m= -L= -E= -7 --whatis --apropos --global-apropos --where --path --location --where-cat --location-cat --all --ignore-case --match-case --sections= --section= --extension= --manpath= --regex --wildcard --names-only --encoding= --locale= --systems= --no-subpages --no-hyphenation --no-justification --ascii --debug --version --help -V",
	bad: []bad{
		{"-P= --pager=", Contained, "runs a program", "pipe its output instead"},
		{"-H? --html?", Contained, "starts a browser", "leave it out"},
		{"-X? --gxditview? -T? --troff-device? -Z --ditroff -t --troff -p= --preprocessor= -R= --recode= -C= --config-file= -l --local-file -u --update -r= --prompt=", Contained, "runs other programs", "leave it out"},
		{"-c --catman", Write, "writes formatted pages", "leave it out"},
	},
}

func judgeMan(a *analyzer, c *call) {
	c.row = &manRow
	if !a.options(c) {
		return
	}
	if c.io.outPiped || c.hasAny("-f", "-k", "-K", "-w", "-W", "--whatis", "--apropos", "--global-apropos", "--where", "--path", "--location", "--where-cat", "--location-cat", "--version", "-V", "--help") {
		return
	}
	a.reportWord(Contained, c.name, c.path, "`man` on a terminal starts a pager", "pipe its output: `man … | cat`")
}

// rustcKnows lists what rustc prints without compiling. KIND=FILE writes it to a file.
func rustcKnows(kind string) bool {
	return listed("cfg check-cfg target-list target-cpus target-features relocation-models code-models tls-models "+
		"sysroot target-libdir host-tuple calling-conventions target-spec-json all-target-specs-json split-debuginfo "+
		"stack-protector-strategies crate-name file-names supported-crate-types deployment-target", kind)
}

// judgeRustc: rustc compiles, unless it is asked for what it knows.
func judgeRustc(a *analyzer, c *call) {
	if len(c.words) > 0 && c.words[0].lit {
		switch w := c.words[0].text; {
		case len(c.words) == 1 && listed("--version -V -vV --help", w):
			return
		case len(c.words) == 1 && strings.HasPrefix(w, "--print=") && rustcKnows(w[len("--print="):]):
			return
		case len(c.words) == 2 && c.words[1].lit && w == "--print" && rustcKnows(c.words[1].text):
			return
		case len(c.words) == 2 && c.words[1].lit && w == "--explain" && !strings.HasPrefix(c.words[1].text, "-"):
			return
		case w == "--version" && len(c.words) == 2 && c.words[1].lit && c.words[1].text == "--verbose":
			return
		}
	}
	a.reportWord(Contained, c.name, c.path, "`rustc` compiles", "")
}
