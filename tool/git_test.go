package tool

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var callsGit = regexp.MustCompile(`\bgit\b`)

// gitLines are the git command lines of the shell tables' corpora, and some more.
func gitLines(t testing.TB) []string {
	t.Helper()
	var lines []string
	text, err := os.ReadFile("../shellsafe/testdata/read.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	if text, err = os.ReadFile("../shellsafe/testdata/shell.tsv"); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if p := strings.Split(line, "\t"); len(p) > 3 && p[1] == "safe" && !strings.Contains(p[3], `\`) {
			lines = append(lines, p[3])
		}
	}
	for line := range strings.Lines(moreGitLines) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	git := lines[:0]
	for _, line := range lines {
		if callsGit.MatchString(line) {
			git = append(git, line)
		}
	}
	return git
}

// moreGitLines are read-only lines that go where a configuration is asked for a program.
const moreGitLines = `git log -p -m --all
git log -1 --show-linear-break
git log -S three -p
git log -G three -p
git log -L1,1:a.textconv
git log --alternate-refs --oneline
git log --format='%(trailers)'
git log --format='%(trailers:key=Signed-off-by)'
git log --format='%(describe)'
git for-each-ref --format='%(trailers)'
git show --no-textconv
git show HEAD~1 -- a.textconv
git show HEAD:a.textconv
git show stash@{0}
git diff main feature
git diff HEAD -- sub
git diff --ignore-submodules=none
git diff --submodule=log
git diff --no-index a.textconv a.command
git diff-files -p
git diff-index -p HEAD
git diff-tree -p HEAD~1 HEAD
git status -vv
git status --ignore-submodules=none
git blame a.textconv
git blame a.clean
git annotate a.process
git blame HEAD -- a.textconv
git grep --recurse-submodules three
git ls-files -m
git ls-files --eol
git ls-files --recurse-submodules
git ls-files -m --recurse-submodules
git ls-files -d -o -c --debug
git hash-object a.clean a.process
git hash-object --path=a.clean a
git cat-file --batch-all-objects --batch-check
git cat-file -p HEAD:a.clean
git submodule
git submodule status --recursive
git submodule summary
git archive HEAD | wc -c
git archive --worktree-attributes HEAD | wc -c
git archive --format=tar HEAD | wc -c
git stash show -p --include-untracked
git range-diff main~2..main main~1..feature
git format-patch --stdout -1
git rev-parse --show-superproject-working-tree
git describe --always
git bisect log
git rerere status
git rerere diff
git rerere remaining
git fsck --no-progress
git var -l
git help -a | head -3
git help --config | head -3
git check-attr -a a.clean a.info
git shortlog -s HEAD
git cherry -v feature
git show-branch --all
git branch -vv --all
git tag -n5
git apply --check --stat f
git remote show -n origin
git notes show
git reflog show --all
cd sub && git status
cd sub && git diff
cd sub; git log -p -3; git blame a.textconv
git -C sub status
git -C sub diff HEAD
(cd sub && git stash list)
find . -maxdepth 1 -name '*.clean' -exec git status -s {} +
env LC_ALL=C git diff
timeout 20 git status
nice git diff
bash -c 'git status; git diff'
command git diff
g'i't status
"git" diff`

// TestHostileRepository: whatever is proven to be read-only runs nothing that a repository's
// configuration, attributes, hooks or submodules name, and leaves the repository as it is.
func TestHostileRepository(t *testing.T) {
	h := newHostile(t)
	lines, before := gitLines(t), h.snapshot("repo")
	if testing.Short() {
		lines = strings.Split(moreGitLines, "\n")
	}
	for _, line := range lines {
		h.mustAllow("bash", shellInput{Command: line})
	}
	// Many lines in one call, each in a shell of its own; where something ran, one by one to name it.
	for batch := range slices.Chunk(lines, 25) {
		if h.execute("( "+strings.Join(batch, "\n)\n( ")+"\n)") == "" && !t.Failed() {
			continue
		}
		for _, line := range batch {
			if ran := h.execute(line); ran != "" {
				t.Errorf("%s: ran %s", line, ran)
			}
		}
	}
	if diff := changes(before, h.snapshot("repo")); len(diff) > 0 {
		t.Errorf("the repository is not as it was: %v", diff)
	}
}

// execute runs a line while planning and says which markers it left.
func (h *hostile) execute(line string) string {
	h.t.Helper()
	if _, err := h.run(h.mustAllow("bash", shellInput{Command: line})); err != nil {
		h.t.Fatal(err)
	}
	return strings.Join(h.ran(), " ")
}

// TestHostileControl holds that the repository of these tests is hostile: without the settings, its
// programs run.
func TestHostileControl(t *testing.T) {
	h := newHostile(t)
	for line, want := range map[string]string{
		"git status":                    "filter.clean filter.process fsmonitor",
		"git diff -- a.command":         "diff.command",
		"git log -p -- a.textconv":      "textconv",
		"git -C sub status":             "filter.clean filter.process fsmonitor",
		"git log --remerge-diff":        "merge.driver",
		"git archive --format=zip HEAD": "tar",
	} {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = h.ws
		_ = cmd.Run() // its programs do not do what git expects of them
		ran := strings.Join(h.ran(), " ")
		for _, name := range strings.Fields(want) {
			if !strings.Contains(ran, name) {
				t.Errorf("%s: ran %q, want %s too", line, ran, name)
			}
		}
	}
}

// TestHostileRepositoryIsShown: what the repository's programs would have shown is still told.
func TestHostileRepositoryIsShown(t *testing.T) {
	h := newHostile(t)
	h.write("repo/a.textconv", "2wo\x00\n")
	h.write("repo/f.go", "2wo\n")
	for line, want := range map[string][]string{
		"git status --short":                  {" M a.clean\n", " M a.process\n", " M a.odd\n", " m sub\n", "?? .gitattributes\n"},
		"git diff -- a.command":               {"a.command:\n", "-two\n", "+2wo\n"},
		"git diff -- a.clean a.process a.odd": {"+++ b/a.clean\n", "+++ b/a.process\n", "+++ b/a.odd\n"},
		"git diff -- a.textconv":              {"-two\n", " 5\n"}, // a checksum and the size
		"git diff main~1 feature -- f":        {"+three\n"},
		"git diff --quiet -- sub || echo no":  {"no\n"},
		"git blame -s a.textconv":             {" 1) "},
		"git log --oneline -1":                {"merged"},
		"cd sub && git diff -- f":             {"-two\n", "+2wo\n"},
		"git -C sub log -p -1 feature -- f":   {"+three\n"},
		"g'i't stash list":                    {"stash@{0}"},
	} {
		res, err := h.run(h.mustAllow("bash", shellInput{Command: line}))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(res.Text, w) {
				t.Errorf("%s: no %q in\n%s", line, w, res.Text)
			}
		}
		if res.IsError {
			t.Errorf("%s: failed\n%s", line, res.Text)
		}
	}
	if ran := h.ran(); len(ran) > 0 {
		t.Errorf("ran %v", ran)
	}
}

// TestHostilePlaces: repositories that lie where git finds them on its way.
func TestHostilePlaces(t *testing.T) {
	h := newHostile(t)
	for _, dir := range []string{"repo/nested", "repo/nested2", "elsewhere/far", "repo/*"} {
		h.repository(dir)
		h.arm(dir)
	}
	// What looks like a bare repository, with a work tree by its own word.
	h.git("elsewhere", "clone", "-q", "--bare", h.path("elsewhere/far"), h.path("repo/bare"))
	h.write("repo/bare/config", "[core]\n\tbare = false\n\tworktree = "+h.path("elsewhere/far")+"\n\trepositoryformatversion = 0\n"+
		strings.ReplaceAll(hostileConfig, "EVIL", h.script)+h.drivers("one")+h.drivers("two"))
	// One whose .git is a file that points elsewhere.
	h.mkdir("repo/pointed")
	h.write("repo/pointed/.git", "gitdir: "+h.path("elsewhere/far/.git")+"\n")
	// A repository of whose submodules one cannot be understood.
	h.mkdir("repo/broken")
	h.git("repo/broken", "init", "-q", "-b", "main")
	h.repository("repo/broken/inner")
	h.git("repo/broken", "add", "inner")
	h.git("repo/broken", "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "one")
	h.arm("repo/broken/inner")
	h.write("repo/broken/inner/.git/config", "[core\n")
	for line, want := range map[string]string{
		"cd nested && git status --short":                          " M a.clean",
		"git -C nested diff -- f":                                  "+2wo",
		"cd nested; git diff; cd ../nested2; git diff -- f":        "+2wo",
		"cd nested && cd .. && cd nested2 && git diff":             "+2wo",
		"git -C " + h.path("elsewhere/far") + " diff -- f":         "+2wo",
		"cd pointed && git diff":                                   "deleted file",
		"for d in nested nested2; do (cd $d; git diff -- f); done": "+2wo",
		"for d in neste*; do git -C \"./$d\" diff -- f; done":      "+2wo",
		"d=nested; d=../elsewhere/far; cd $d && git status":        "dubious ownership",
		"cd \\* && git status; cd ../nested2 && git diff -- f":     "dubious ownership",
		"cd broken && git status":                                  "dubious ownership",
		"cd bare && git status":                                    "fatal",
		"cd bare && git show":                                      "fatal",
		"cd bare/refs && git log -p":                               "fatal",
		"cd .git && git show HEAD":                                 "fatal",
		"cd .git/refs && git log -1":                               "fatal",
		"bash -c 'cd nested && git status'":                        "dubious ownership",
	} {
		res, err := h.run(h.mustAllow("bash", shellInput{Command: line}))
		if err != nil {
			t.Fatal(err)
		}
		if ran := h.ran(); len(ran) > 0 {
			t.Errorf("%s: ran %v", line, ran)
		}
		if !strings.Contains(res.Text, want) {
			t.Errorf("%s: no %q in\n%s", line, want, res.Text)
		}
	}
	// The folder that a call names counts like one that a line names.
	res, err := h.run(h.mustAllow("bash", shellInput{Command: "git diff -- f", Dir: "nested"}))
	if ran := h.ran(); err != nil || len(ran) > 0 || !strings.Contains(res.Text, "+2wo") {
		t.Errorf("ran %v, %v\n%s", ran, err, res.Text)
	}
}

// TestHostilePartialClone: what a repository lacks is not fetched, since its configuration says how.
func TestHostilePartialClone(t *testing.T) {
	h := newHostile(t)
	h.repository("repo/partial")
	id := h.git("repo/partial", "rev-parse", "HEAD~1:f")
	if err := os.Remove(h.path("repo/partial/.git/objects/" + id[:2] + "/" + id[2:])); err != nil {
		t.Fatal(err)
	}
	config := h.read("repo/partial/.git/config")
	for _, remote := range []string{"url = " + h.path("elsewhere") + "\n\tuploadpack = EVIL uploadpack", "url = ext::EVIL remote", "vcs = evil\n\turl = x", "url = ssh://host/x"} {
		h.write("repo/partial/.git/config", strings.Replace(config, "repositoryformatversion = 0", "repositoryformatversion = 1", 1)+
			strings.ReplaceAll("[extensions]\n\tpartialClone = far\n[protocol]\n\tallow = always\n[core]\n\tsshCommand = EVIL ssh\n"+
				"[protocol \"ext\"]\n\tallow = always\n[remote \"far\"]\n\tpromisor = true\n\t"+remote+"\n", "EVIL", h.script))
		for _, line := range []string{"git log -p --all", "git cat-file -p " + id, "git show HEAD~1:f", "git diff HEAD~1 HEAD"} {
			if ran := h.execute("cd partial && " + line); ran != "" {
				t.Errorf("%s, %s: ran %s", remote, line, ran)
			}
		}
	}
}

// TestGitLook: what cannot be taken in stays closed.
func TestGitLook(t *testing.T) {
	h := newHostile(t)
	many := func(n, size int) {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "[filter \"%s%d\"]\n\tclean = %s\n", strings.Repeat("x", size), i, h.script)
		}
		h.write("repo/.git/more", b.String())
	}
	for _, tt := range []struct {
		n, size int
		want    string
	}{{100, 10, " M f\n"}, {1000, 100, "dubious ownership"}} {
		many(tt.n, tt.size)
		res, err := h.run(h.mustAllow("bash", shellInput{Command: "git status --short -- f"}))
		if ran := h.ran(); err != nil || len(ran) > 0 || !strings.Contains(res.Text, tt.want) {
			t.Errorf("%d names: ran %v, %v\n%s", tt.n, ran, err, res.Text)
		}
	}
	for line, want := range map[string]bool{
		"git status": true, `g'i't status`: true, `g\it status`: true, "ls": false, "cat .gitignore": true, "g\\\nit status": true,
	} {
		if namesGit(line) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
	h.repository("repo/plain")
	for dir, want := range map[string]bool{"repo/.git": true, "repo/sub/.git": false, "repo/plain/.git": false, "elsewhere": false, "nowhere": true} {
		if maySubmodules(h.path(dir)) != want {
			t.Errorf("submodules in %s: %v", dir, !want)
		}
	}
	// An index may be split, with a part in another file.
	if err := os.Rename(h.path("repo/.git/index"), h.path("repo/plain/.git/sharedindex.1234")); err != nil {
		t.Fatal(err)
	}
	if !maySubmodules(h.path("repo/plain/.git")) {
		t.Error("no submodules in a split index")
	}
	for key, want := range map[string]bool{
		"filter.x.clean": true, "filter..clean": true, "filter.a.b.process": true, "diff.x.textconv": true, "diff.external": true,
		"merge.x.driver": true, "hook.x.command": true, "diff.command": false, "filter.x.other": false, "core.pager": false, "xfilter.x.clean": false,
	} {
		if _, ok := override(key); ok != want {
			t.Errorf("%q: %v", key, ok)
		}
	}
}
