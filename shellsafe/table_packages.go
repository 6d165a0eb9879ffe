package shellsafe

import "strings"

// packageRows install software, or list what is installed.
var packageRows = []row{
	{
		name: "dpkg", doc: "changes packages", opts: "-l? -L -S -s -p -C? -I -c -V --list? --listfiles --search --status --print-avail --get-selections --print-architecture --print-foreign-architectures --audit? --info --contents --version --help --compare-versions --no-pager --field -f -W --show --verify?",
		bad: []bad{
			{"-i --install -r --remove -P --purge --unpack --configure --update-avail --clear-avail --set-selections --add-architecture --remove-architecture --record-avail -A -R -B --triggers-only --merge-avail --forget-old-unavail -x -X -e --extract --control", Write, "changes packages", "list with -l"},
			{"--admindir= --root= --instdir= --pre-invoke= --post-invoke= --status-logger=", Contained, "is a setting that may run a program", ""},
		},
	},
	{name: "dpkg-query", doc: "lists packages", open: true},
	{
		name: "apt apt-get aptitude", helps: 2, doc: "changes packages", style: first, verdict: Write, noSub: Read, hint: "use `apt-cache policy` or `dpkg -l`", info: "--version -v --help -h",
		opts: "-q -a --installed --upgradable --all-versions",
		subs: []row{
			{name: "list show search policy depends rdepends madison showsrc moo help", opts: "-a -q -n --installed --upgradable --upgradeable --manual-installed --all-versions --names-only -f --full"},
			{name: "changelog update download source", doc: "fetches packages", verdict: Network},
		},
	},
	{
		name: "apt-cache", doc: "shows packages", style: first, opts: "-q -n -a --names-only --all-versions --installed", noSub: Read,
		subs: []row{{name: "show search policy depends rdepends madison showpkg showsrc stats pkgnames dotty unmet", opts: "-q -n -a -f -i --names-only --all-versions --installed --full --important --recurse --no-suggests --no-recommends --no-conflicts --no-breaks --no-replaces --no-enhances"}},
	},
	{name: "apt-mark", doc: "marks packages", style: first, verdict: Write, noSub: Read, subs: []row{{name: "showauto showmanual showhold", open: true}}},
	{
		name: "rpm", doc: "changes packages", opts: "-q -a -i -l -f -p -c -d -R -v -V -K --query --all --info --list --file --package --provides --requires --whatprovides --whatrequires --changelog --last --qf= --queryformat= --version --verify --scripts --triggers --conflicts --obsoletes", check: checkRpm,
		bad: []bad{{"-e -U -F --erase --upgrade --freshen --install --import --initdb --rebuilddb --setperms --setugids --restore", Write, "changes packages", "query with -q"}},
	},
	{
		name: "zypper apk snap flatpak brew port scoop mas", doc: "changes packages or connects", style: first, verdict: Network, noSub: Contained, info: "--version -V --help --prefix --cellar --repository",
		hint: "list with the plain sub-command that only looks",
		subs: []row{
			{name: "list ls", opts: "-1 -l -v -a -q --installed --versions --formula --cask --full-name --pinned --user --system --app --runtime"},
			{name: "leaves", opts: "--formula --cask"},
		},
	},
	{name: "emerge xbps-install portage nix-env guix", doc: "changes packages or connects", verdict: Network, info: "--version --help"},
	// Their lists load what the repositories have, too.
	{name: "yum dnf choco winget", doc: "changes packages or connects", verdict: Network, info: "--version -V --help", hint: "list with `rpm -qa`"},
	{name: "pacman yay paru", doc: "changes packages or connects", judge: judgePacman, info: "--version -V --help -h"},
	{name: "add-apt-repository apt-key apt-add-repository dpkg-reconfigure debconf-set-selections tasksel alien", doc: "changes packages", verdict: Write},
	{
		name: "pip pip3", helps: 2, doc: "changes packages or connects", style: first, verdict: Network, noSub: Read, info: "--version -V --help -h",
		opts: "-q -v --quiet --verbose --disable-pip-version-check --no-color --no-input --isolated --require-virtualenv",
		subs: pipSubs,
	},
	{
		name: "conda mamba micromamba", doc: "changes packages or connects", style: first, verdict: Network, noSub: Read, info: "--version -V --help",
		subs: []row{
			{name: "list info", opts: "-n= -p= -e -f --json --name= --prefix= --export --full-name --explicit --envs -a --all --base -c --canonical --md5 --revisions -s --system"},
			{name: "run", doc: "runs a program", verdict: Contained},
		},
	},
	{
		name: "gem", doc: "changes packages or connects", style: first, verdict: Network, noSub: Read, info: "--version -v --help",
		subs: []row{{name: "list contents which environment env specification help", opts: "-a -d -l -i -q --local --all --details --no-versions --installed"}},
	},
	{name: "bundle bundler", doc: "runs the version that the project locks", verdict: Contained},
	{name: "rbenv rvm", doc: "runs the project's settings", verdict: Contained, info: "--version -v"},
	{name: "composer", doc: "runs the project's plug-ins", verdict: Contained},
	{name: "cpan cpanm luarocks opam cabal stack mix hex rebar3 pub dart flutter pod carthage", doc: "changes packages or connects", verdict: Network, info: "--version"},
}

var pipSubs = []row{
	{
		name: "list", opts: "-e -l -v -q --editable --local --user --format= --not-required --exclude-editable --include-editable --exclude= --pre --path= --disable-pip-version-check --verbose --quiet",
		bad: []bad{{"-o --outdated -u --uptodate", Network, "asks the index", "leave it out"}},
	},
	{name: "show", opts: "-f -v -q --files --verbose --quiet"},
	{name: "freeze", opts: "-l -r= --local --user --all --exclude-editable --exclude= --path= --requirement="},
	{name: "check help debug inspect", opts: "-v --verbose --local --user --path="},
	{name: "config", style: first, verdict: Write, doc: "changes the configuration", noSub: Read, subs: []row{{name: "list get debug", opts: "-v --global --user --site"}}},
	{name: "cache", style: first, verdict: Write, doc: "changes the cache", noSub: Read, subs: []row{{name: "dir info list", open: true}}},
	{name: "install uninstall download wheel index search hash lock", doc: "changes packages or connects", verdict: Network},
}

func checkRpm(a *analyzer, c *call) {
	for _, o := range c.opts {
		if o.has && (strings.Contains(o.value.text, "%(") || strings.Contains(o.value.text, "lua") || !o.value.lit && o.name != "-f" && o.name != "-p") {
			a.reportWord(Contained, *o.at, c.path, "the format "+quote(a.wordText(*o.at))+" may run a program", "leave it out")
			return
		}
	}
	query := c.hasAny("-q", "--query", "-V", "--verify", "--version")
	for _, w := range c.operands {
		if a.fetched(c, w) {
			return
		}
	}
	if !query {
		a.reportWord(Write, c.name, c.path, "`rpm` changes packages", "query with -q")
	}
}

func judgePacman(a *analyzer, c *call) {
	if len(c.words) > 0 && c.words[0].lit && plainOperands(c.words[1:]) {
		query, flags := c.words[0].text == "--query", strings.TrimPrefix(c.words[0].text, "-Q")
		// -u of the helpers asks for the packages that are built from source.
		if query || flags != c.words[0].text && strings.Trim(flags, "cdegiklmnopqst") == "" || flags == "u" && c.path == "pacman" {
			return
		}
	}
	a.reportWord(Network, c.name, c.path, quote(c.path)+" changes packages or connects", "query with -Q")
}
