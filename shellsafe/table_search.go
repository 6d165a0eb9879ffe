package shellsafe

// searchRows look for text and files.
var searchRows = []row{
	reads("grep egrep fgrep ggrep locate mlocate plocate whereis apropos whatis", "searches"),
	findRow,
	{
		name: "rg ripgrep", doc: "searches", opts: "-AxX -A= -B= -C= -E= -M= -T= -d= -e= -f= -g= -j= -m= -r= -t= -0FHILNPSUVachilnopqsuvwxbz. " +
			"--after-context= --before-context= --context= --auto-hybrid-regex --no-auto-hybrid-regex --binary --no-binary --block-buffered --no-block-buffered --byte-offset --no-byte-offset " +
			"--case-sensitive --color= --colors= --column --no-column --context-separator= --no-context-separator --count --count-matches --crlf --no-crlf --debug " +
			"--dfa-size-limit= --encoding= --no-encoding --engine= --field-context-separator= --field-match-separator= --file= --files --files-with-matches " +
			"--files-without-match --fixed-strings --no-fixed-strings --follow --no-follow --generate= --glob= --glob-case-insensitive --no-glob-case-insensitive --heading --help " +
			"--hidden --no-hidden --iglob= --ignore --ignore-case --ignore-dot --ignore-exclude --ignore-file= --ignore-file-case-insensitive --ignore-files --ignore-global --ignore-messages --ignore-parent --ignore-vcs " +
			"--include-zero --no-include-zero --invert-match --no-invert-match --json --no-json --line-buffered --no-line-buffered --line-number --no-line-number --line-regexp --max-columns= --max-columns-preview --no-max-columns-preview --max-count= --max-depth= --maxdepth= " +
			"--max-filesize= --messages --mmap --no-mmap --multiline --no-multiline --multiline-dotall --no-multiline-dotall --no-config --no-filename --no-heading --no-ignore " +
			"--no-ignore-dot --no-ignore-exclude --no-ignore-file-case-insensitive --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-messages " +
			"--no-pcre2-unicode --no-pre --no-require-git --require-git --no-search-zip --no-sort-files --no-stats --no-text --no-trim --no-unicode --null --null-data --one-file-system --no-one-file-system --only-matching --passthru --passthrough " +
			"--path-separator= --pcre2 --no-pcre2 --pcre2-unicode --pcre2-version --pre-glob= --pretty --quiet --regex-size-limit= --regexp= --replace= --search-zip --smart-case --sort= --sortr= --sort-files " +
			"--stats --stop-on-nonmatch --text --threads= --trace --trim --type= --type-add= --type-clear= --type-list --type-not= --unicode --unrestricted --version --vimgrep --with-filename --word-regexp --hyperlink-format=",
		bad: []bad{
			{"--pre=", Contained, "runs a program for every file", "leave it out"},
			{"--hostname-bin=", Contained, "runs a program", "leave it out"},
		},
	},
	{
		name: "fd fdfind", doc: "searches for files", judge: judgeFd, opts: "-0HILuUsighFlapqV1S -d= -t= -e= -E= -c= -j= -o= -C= --hidden --no-hidden --no-ignore --ignore --no-ignore-vcs --no-ignore-parent " +
			"--unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --and= --absolute-path --relative-path --list-details --follow --no-follow --full-path " +
			"--print0 --max-depth= --min-depth= --exact-depth= --exclude= --prune --type= --extension= --size= --changed-within= --changed-before= --newer= --older= --change-newer-than= --change-older-than= --owner= --format= " +
			"--color= --hyperlink? --threads= --max-buffer-time= --max-results= --quiet --show-errors --base-directory= --path-separator= --search-path= --strip-cwd-prefix? --one-file-system --no-ignore-file --ignore-file= --no-require-git --no-global-ignore-file --help --version --batch-size= --ignore-contain=",
		bad: []bad{
			{"-x? --exec? -X? --exec-batch?", Contained, "runs a program for what it finds", "pipe the names: `fd … -0 | xargs -0 grep …`"},
			{"--gen-completions?", Contained, "is not a search", ""},
		},
	},
	{
		name: "ag", doc: "searches", opts: "-acDfFgGhHiLlmnopqQrRsStuUvwz0 -A= -B= -C= -G= -m= -p= -W= --ackmate --after= --before= --context= --break --nobreak --color --nocolor --column --count --depth= --files-with-matches --files-without-matches --filename --nofilename --follow --nofollow --group --nogroup --heading --noheading --hidden --ignore= --ignore-case --ignore-dir= --literal --max-count= --numbers --nonumbers --only-matching --path-to-ignore= --print-long-lines --passthrough --silent --search-files --smart-case --case-sensitive --stats --unrestricted --vimgrep --invert-match --word-regexp --width= --search-zip --null --version --help --all-types --all-text --search-binary --list-file-types --print0 --skip-vcs-ignores",
		bad: []bad{{"--pager= --workers=", Contained, "runs a program", "leave it out"}},
	},
	{
		name: "ack", doc: "searches", opts: "-achHilLnosvwxQ1 -A= -B= -C= -g= -m= -t= -T= --ignore-case --smart-case --no-smart-case --invert-match --word-regexp --literal --files-with-matches --files-without-matches --count --no-filename --with-filename --after-context= --before-context= --context= --column --color --no-color --colour --nocolor --group --nogroup --heading --noheading --break --nobreak --ignore-dir= --ignore-directory= --ignore-file= --type= --help --version --noenv",
		bad: []bad{{"--pager= --output= --ackrc=", Contained, "runs a program or code", "leave it out"}},
	},
	{name: "updatedb", doc: "writes the file data base", verdict: Write},
	{name: "ast-grep semgrep comby", doc: "can rewrite files or run code", verdict: Contained, info: "--version"},
	{name: "mdfind", doc: "searches", open: true},
}
