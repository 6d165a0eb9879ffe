package shellsafe

// The options of git's history and diff machinery. Every command that walks revisions accepts them,
// --output and --ext-diff included, documented or not.
const (
	gitDiffOpts = "-p -u -s -U= -z -t -R -a -b -w -W -r -c -m -D -N -B? -M? -C? -l= -S= -G= -O= -I= -X? --cc --patch --no-patch --unified= " +
		"--output-indicator-new= --output-indicator-old= --output-indicator-context= --raw --patch-with-raw " +
		"--indent-heuristic --no-indent-heuristic --minimal --patience --histogram --anchored= --diff-algorithm= --stat? " +
		"--stat-width= --stat-name-width= --stat-count= --stat-graph-width= --compact-summary --numstat --shortstat --dirstat? " +
		"--cumulative --dirstat-by-file? --summary --patch-with-stat --name-only --name-status --submodule? --color? --no-color " +
		"--color-moved? --no-color-moved --color-moved-ws= --no-color-moved-ws --word-diff? --word-diff-regex= --color-words? " +
		"--no-renames --rename-empty --no-rename-empty --check --ws-error-highlight= --full-index --binary --abbrev? " +
		"--no-abbrev --break-rewrites? --find-renames? --find-copies? --find-copies-harder --irreversible-delete --diff-filter= " +
		"--find-object= --pickaxe-all --pickaxe-regex --skip-to= --rotate-to= --relative? --no-relative --text " +
		"--ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines " +
		"--ignore-matching-lines= --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv " +
		"--ignore-submodules? --src-prefix= --dst-prefix= --no-prefix --default-prefix --line-prefix= --ita-invisible-in-index " +
		"--ita-visible-in-index --combined-all-paths --diff-merges= --no-diff-merges --dd --root --full-diff "
	gitRevOpts = "-n= -NUM -i -E -F -P -g -h -L= --max-count= --skip= --since= --after= --until= --before= --since-as-filter= --max-age= " +
		"--min-age= --author= --committer= --grep-reflog= --grep= --all-match --invert-grep --regexp-ignore-case " +
		"--basic-regexp --extended-regexp --fixed-strings --perl-regexp --remove-empty --merges --no-merges --min-parents= " +
		"--max-parents= --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --not --all --branches? " +
		"--tags? --remotes? --glob= --exclude= --exclude-hidden= --reflog --alternate-refs --single-worktree --ignore-missing " +
		"--bisect --stdin --cherry-mark --cherry-pick --left-only --right-only --cherry --walk-reflogs --merge --boundary " +
		"--simplify-by-decoration --show-pulls --full-history --dense --sparse --simplify-merges --ancestry-path? --date-order " +
		"--author-date-order --topo-order --reverse --no-walk? --do-walk --in-commit-order --end-of-options " +
		"--objects --objects-edge --unpacked --filter= --count --use-bitmap-index --disk-usage? --left-right --timestamp "
	gitLogOpts = gitDiffOpts + gitRevOpts +
		"--follow --decorate? --no-decorate --decorate-refs= --decorate-refs-exclude= --clear-decorations --source --mailmap " +
		"--no-mailmap --use-mailmap --no-use-mailmap --log-size --pretty? --format= --abbrev-commit --no-abbrev-commit " +
		"--oneline --encoding= --expand-tabs? --no-expand-tabs --notes? --no-notes --show-notes? --standard-notes " +
		"--no-standard-notes --relative-date --date= --parents --children --graph --no-graph --show-linear-break? " +
		"--no-show-signature --early-output? "
	gitShortlogOpts = "-n -s -e -c -w? --numbered --summary --email --format= --date= --group= --committer --end-of-options " + gitRevNoShort
	gitRevNoShort   = "-NUM -i -E -F -P --max-count= --skip= --since= --after= --until= --before= --author= --grep= --all-match --invert-grep " +
		"--merges --no-merges --first-parent --not --all --branches? --tags? --remotes? --glob= --exclude= --reverse --no-mailmap "
	gitRefListOpts = "--sort= --format= --count= --color? --no-color --column? --no-column --contains? --no-contains? --merged? --no-merged? " +
		"--points-at= --ignore-case --omit-empty --abbrev? --no-abbrev --end-of-options "
)

// gitDiffBad is what makes a history command write or run something.
var gitDiffBad = []bad{
	{"--output=", Write, "writes a file", "leave it out: the text goes to standard output"},
	{"--ext-diff", Contained, "runs the diff program of the configuration", "leave it out"},
	{"--textconv", Contained, "runs the converters of the configuration", "leave it out"},
	{"--show-signature", Contained, "runs the signature program of the configuration", "leave it out"},
	{"--remerge-diff", Contained, "writes objects for a while", "use --cc"},
}

// gitRows is git. Its run-time settings (hooks, fsmonitor, pager, external diff) are for the runner to
// turn off; here the command line is judged.
var gitRows = []row{
	{
		name: "git", doc: "runs an alias or an external command", style: first, check: checkGitGlobals,
		opts: "-C= -P -v -h --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice --literal-pathspecs --glob-pathspecs " +
			"--noglob-pathspecs --icase-pathspecs --bare --version --html-path --man-path --info-path -c= --help",
		bad: []bad{
			{"--git-dir=", Contained, "uses another repository's configuration, which can run programs", "use -C"},
			{"--work-tree=", Contained, "uses another work tree", "use -C"},
			{"--exec-path?", Contained, "runs sub-commands from another directory", "leave it out"},
			{"--config-env=", Contained, "sets configuration, which can run programs", "leave it out"},
			{"--namespace= --super-prefix= --attr-source= --list-cmds=", Contained, "changes how git reads the repository", "leave it out"},
			{"-p --paginate", Contained, "starts the pager of the configuration", "leave it out"},
		},
		subs: gitSubs,
	},
	{name: "tig gitk lazygit gitui git-gui", doc: "is interactive", verdict: Contained},
	{name: "svn hg bzr jj cvs fossil", doc: "may run programs of its configuration or connect", verdict: Contained, info: "--version"},
}

var gitSubs = []row{
	{name: "status", opts: "-s -b -v -z -u? -h --short --branch --show-stash --porcelain? --long --verbose --untracked-files? --ignore-submodules? " +
		"--ignored? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames? -M?"},
	{name: "log", opts: gitLogOpts, bad: gitDiffBad, check: checkGitFormat},
	{name: "show", opts: gitLogOpts, bad: gitDiffBad, check: checkGitFormat},
	{name: "diff", opts: gitDiffOpts + "-NUM --cached --staged --merge-base --no-index --base --ours --theirs --end-of-options --follow", bad: gitDiffBad, check: checkGitFormat},
	{name: "diff-tree diff-index diff-files", opts: gitLogOpts + "-v --no-commit-id --cached --merge-base -q", bad: gitDiffBad, check: checkGitFormat},
	{name: "range-diff", opts: gitDiffOpts + "--creation-factor= --no-dual-color --left-only --right-only --no-notes --notes?", bad: gitDiffBad, check: checkGitFormat},
	{name: "shortlog", opts: gitShortlogOpts, bad: gitDiffBad, check: checkGitFormat},
	{
		name: "blame annotate", bad: gitDiffBad,
		opts: "-b -l -t -s -e -w -f -n -c -p -h -L= -S= -M? -C? --root --show-stats --reverse= --first-parent --porcelain --line-porcelain " +
			"--incremental --encoding= --contents= --date= --progress --no-progress --ignore-rev= --ignore-revs-file= " +
			"--color-lines --color-by-age --score-debug --show-name --show-number --show-email --abbrev= --since= --minimal --end-of-options",
	},
	{
		name: "grep",
		opts: "-a -i -I -r -w -v -h -H -E -G -P -F -n -l -L -z -o -c -p -C= -A= -B= -W -m= -f= -e= -q -NUM --cached --untracked --no-index " +
			"--exclude-standard --no-exclude-standard --recurse-submodules --text --no-textconv --ignore-case --max-depth= " +
			"--recursive --no-recursive --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp " +
			"--fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null " +
			"--only-matching --count --color? --no-color --break --heading --show-function --context= --after-context= " +
			"--before-context= --function-context --max-count= --threads= --and --or --not --all-match --quiet --end-of-options",
		bad: []bad{
			{"-O? --open-files-in-pager?", Contained, "opens the hits with a program", "leave it out"},
			{"--textconv", Contained, "runs the converters of the configuration", "leave it out"},
			{"--ext-grep", Contained, "runs a program", "leave it out"},
		},
	},
	{
		name: "ls-files ls-tree name-rev show-ref check-ignore check-attr check-mailmap check-ref-format merge-base " +
			"rev-parse count-objects get-tar-commit-id patch-id stripspace column cherry show-branch var show-index verify-pack version",
		open: true,
	},
	{
		name: "describe", open: true,
		bad: []bad{{"--dirty? --broken?", Contained, "refreshes the index", "use `git describe --always` and `git status --porcelain`"}},
	},
	{name: "rev-list", opts: gitLogOpts + "--header --no-commit-header --commit-header --quiet --objects-edge-aggressive --missing= --progress=", bad: gitDiffBad, check: checkGitFormat},
	{
		name: "cat-file", opts: "-p -t -s -e -z -Z --batch? --batch-check? --batch-command? --batch-all-objects --buffer --unordered --follow-symlinks --allow-unknown-type --path= --mailmap --no-mailmap --use-mailmap --filter=",
		bad: []bad{{"--textconv --filters", Contained, "runs the converters of the configuration", "use `git show REV:FILE`"}},
	},
	{name: "for-each-ref", opts: gitRefListOpts + "--shell -s --perl -p --python --tcl --stdin --include-root-refs --exclude= --start-after=", check: checkGitFormat},
	{
		name: "branch", opts: gitRefListOpts + "-a -r -v -l -i -q --all --remotes --list --verbose --show-current --quiet", check: checkGitBranch,
		bad: []bad{
			{"-d -D --delete", Write, "deletes a branch", "list with `git branch --list`"},
			{"-m -M --move", Write, "renames a branch", "list with `git branch --list`"},
			{"-c -C --copy", Write, "copies a branch", "list with `git branch --list`"},
			{"-f --force", Write, "moves a branch", "list with `git branch --list`"},
			{"-u= --set-upstream-to= --set-upstream --unset-upstream", Write, "changes the configuration", "show with `git branch -vv`"},
			{"--edit-description", Write, "starts an editor", "list with `git branch --list`"},
			{"-t --track? --no-track --create-reflog --recurse-submodules", Write, "creates a branch", "list with `git branch --list`"},
		},
	},
	{
		name: "tag", opts: gitRefListOpts + "-l -n? -i --list", check: checkGitTag,
		bad: []bad{
			{"-d --delete", Write, "deletes a tag", "list with `git tag --list`"},
			{"-a --annotate -s --sign --no-sign -u= --local-user= -f --force -m= --message= -F= --file= -e --edit --create-reflog --cleanup= --trailer=", Write, "creates a tag", "list with `git tag --list`"},
			{"-v --verify", Contained, "runs the signature program of the configuration", "use `git show`"},
		},
	},
	{
		name: "remote", style: first, opts: "-v --verbose", noSub: Read, doc: "changes the configuration", verdict: Write, hint: "list with `git remote -v`",
		subs: []row{
			{name: "get-url", opts: "--push --all"},
			{name: "show", opts: "-n", check: checkRemoteShow},
			{name: "update prune", doc: "contacts the remote", verdict: Network},
			{name: "add rename remove rm set-head set-branches set-url", doc: "changes the configuration", verdict: Write, hint: "list with `git remote -v`"},
		},
	},
	{
		name: "stash", style: first, doc: "moves changes away", verdict: Write, noSub: Write, hint: "list with `git stash list`, read with `git stash show -p`",
		subs: []row{
			{name: "list", opts: gitLogOpts, bad: gitDiffBad, check: checkGitFormat},
			{name: "show", opts: gitLogOpts + "--include-untracked --only-untracked --no-include-untracked", bad: gitDiffBad, check: checkGitFormat},
			{name: "push save pop apply drop clear branch create store", doc: "changes the stash or the work tree", verdict: Write, hint: "list with `git stash list`"},
		},
	},
	{name: "reflog", judge: judgeGitReflog},
	{name: "config", judge: judgeGitConfig},
	{
		name: "worktree", style: first, doc: "changes work trees", verdict: Write, noSub: Write,
		subs: []row{{name: "list", opts: "-v -z --verbose --porcelain --expire="}},
	},
	{
		name: "submodule", style: first, opts: "--quiet --cached", doc: "changes submodules", verdict: Write, noSub: Read,
		subs: []row{
			{name: "status", opts: "--cached --recursive --quiet -q"},
			{name: "summary", opts: "--cached --files -n= --summary-limit="},
			{name: "foreach", doc: "runs a command in every submodule", verdict: Contained},
			{name: "update", doc: "fetches submodules", verdict: Network},
		},
	},
	{
		name: "notes", style: first, opts: "--ref=", doc: "changes notes", verdict: Write, noSub: Read,
		subs: []row{{name: "list show get-ref", open: true}},
	},
	{
		name: "bisect", style: first, doc: "changes the state of a bisection", verdict: Write, noSub: Write,
		subs: []row{
			{name: "log terms", open: true},
			{name: "run", doc: "runs a script", verdict: Contained},
		},
	},
	{name: "sparse-checkout", style: first, doc: "changes the work tree", verdict: Write, noSub: Write, subs: []row{{name: "list", open: true}}},
	{name: "rerere", style: first, doc: "changes recorded resolutions", verdict: Write, noSub: Write, subs: []row{{name: "status diff remaining", open: true}}},
	{name: "bundle", style: first, doc: "writes a bundle", verdict: Write, noSub: Write, subs: []row{{name: "verify list-heads", opts: "-q --quiet"}}},
	{
		name: "commit-graph multi-pack-index", style: first, doc: "writes files of the repository", verdict: Write, noSub: Write, opts: "--object-dir=",
		subs: []row{{name: "verify", opts: "--shallow --progress --no-progress --object-dir="}},
	},
	{
		name: "fsck", opts: "-v --verbose --tags --root --unreachable --no-reflogs --full --no-full --strict --connectivity-only --progress --no-progress --dangling --no-dangling --name-objects --cache",
		bad: []bad{{"--lost-found", Write, "writes files", "leave it out"}},
	},
	{
		name: "archive", opts: "-l -v -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 --list --verbose --prefix= --add-file= --worktree-attributes --format= --mtime=", check: checkGitArchive,
		bad: []bad{
			{"-o= --output=", Write, "writes an archive", "leave it out and pipe it on"},
			{"--remote=", Network, "contacts a remote", ""},
			{"--exec=", Contained, "runs a program", ""},
		},
	},
	{
		name: "hash-object", opts: "-t= --stdin --stdin-paths --no-filters --path= --literally",
		bad: []bad{{"-w", Write, "writes an object", "leave -w out"}},
	},
	{
		name: "symbolic-ref", opts: "-q --quiet --short --recurse --no-recurse", max: 1, maxWhy: "moves the reference", hint: "give only the name",
		bad: []bad{{"-d --delete -m=", Write, "changes a reference", "give only the name"}},
	},
	{name: "apply", opts: "--stat --numstat --summary -v --verbose -p= -C= --include= --exclude= --directory= --check --index --cached -R --reverse -q --quiet --recount --unidiff-zero -3 --3way " +
		"--whitespace= --ignore-whitespace --ignore-space-change --inaccurate-eof --allow-empty --unsafe-paths --reject --apply --build-fake-ancestor=", check: checkGitApply},
	{
		name: "format-patch", opts: gitLogOpts + "--stdout -k -x --keep-subject --signoff --no-signoff --cover-letter --numbered --no-numbered --subject-prefix= --zero-commit --base= --no-base",
		check: checkFormatPatch,
		bad:   append([]bad{{"--output-directory= -o=", Write, "writes files", "use --stdout"}}, gitDiffBad...),
	},
	{
		name: "help", opts: "-a -g -c --all --guides --config --no-external-commands --no-aliases --verbose --no-verbose --user-interfaces --developer-interfaces",
		bad: []bad{{"-w --web -i --info -m --man", Contained, "starts a viewer", "pipe the text"}}, check: checkGitHelp,
	},
	// A git that has no such command looks for an alias, and the newest takes one for whatchanged.
	{name: "refs", doc: "is an alias of the configuration where git does not know it", verdict: Contained, hint: "use `git for-each-ref`"},
	{name: "whatchanged", doc: "is an alias of the configuration where git has it no more", verdict: Contained, hint: "use `git log --raw`"},
	{name: "lfs", doc: "runs an external command", verdict: Contained},
	{name: "verify-commit verify-tag", doc: "runs the signature program of the configuration", verdict: Contained},
	{name: "difftool mergetool", doc: "runs a tool of the configuration", verdict: Contained, hint: "use `git diff`"},
	{
		name: "for-each-repo interpret-trailers filter-branch credential gui citool instaweb daemon shell send-email web--browse",
		doc:  "runs programs", verdict: Contained,
	},
	{
		name: "fetch pull push clone ls-remote fetch-pack send-pack http-fetch http-push remote-http remote-https remote-ext request-pull p4 svn cvsimport cvsserver imap-send upload-pack receive-pack upload-archive",
		doc:  "contacts a remote", verdict: Network, hint: "use what is there already: `git log origin/main`, `git branch -r`",
	},
	{name: "checkout", doc: "changes the work tree", verdict: Write, hint: "use `git show REV:FILE` to read a file of another revision"},
	{name: "restore", doc: "changes the work tree", verdict: Write, hint: "use `git show REV:FILE` to read a file of another revision"},
	{name: "switch", doc: "changes the branch", verdict: Write, hint: "use `git log BRANCH` or `git show BRANCH:FILE`"},
	{name: "commit", doc: "writes a commit", verdict: Write, hint: "use `git diff --cached` to see what would be committed"},
	{name: "add stage", doc: "changes the index", verdict: Write, hint: "use `git status` or `git diff`"},
	{name: "merge", doc: "changes the branch", verdict: Write, hint: "use `git log HEAD..BRANCH` or `git diff HEAD...BRANCH`"},
	{name: "reset", doc: "changes the branch, the index or the work tree", verdict: Write, hint: "use `git diff` against the revision"},
	{name: "clean", doc: "deletes files", verdict: Write, hint: "list with `git status --ignored` or `git ls-files --others`"},
	{name: "rm mv", doc: "changes the index and the work tree", verdict: Write, hint: "use `git ls-files`"},
	{name: "am rebase cherry-pick revert init gc repack prune prune-packed pack-refs pack-objects pack-redundant unpack-objects unpack-file " +
		"update-ref update-index update-server-info read-tree write-tree commit-tree mktree mktag checkout-index replace " +
		"fast-import fast-export mailsplit mailinfo index-pack maintenance merge-file merge-index merge-one-file merge-tree merge-recursive " +
		"quiltimport relink backfill history replay subtree filter-repo flow", doc: "changes the repository", verdict: Write},
}
