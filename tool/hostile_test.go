package tool

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/plan"
)

// A hostile is a workspace whose repository does what it can to run a program: a script outside the
// workspace that leaves a marker. There is no sandbox around it.
type hostile struct {
	*world
	script string // run with a name as its first argument, it leaves a marker of that name
	marks  string // the folder of the markers
}

// newHostile makes the workspace, with a repository in it, which holds a submodule.
func newHostile(t testing.TB, change ...func(*Config)) *hostile {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	h := &hostile{world: newWorld(t, append([]func(*Config){func(c *Config) {
		c.Roots.Workspace = filepath.Join(filepath.Dir(c.Roots.Workspace), "repo")
		c.Roots.Hidden = []string{"~/.ssh"}
	}}, change...)...)}
	h.ws, h.marks, h.script = h.path("repo"), h.path("marks"), h.path("evil.sh")
	h.mkdir("marks")
	h.executable("evil.sh", "#!/bin/sh\n: > "+h.marks+"/\"${1:-run}\"\n")
	// What the user's own configuration is must not matter, in either direction.
	t.Setenv("HOME", h.path("home"))
	t.Setenv("XDG_CONFIG_HOME", h.path("home/.config"))
	h.repository("repo/sub")
	h.repository("repo")
	h.arm("repo/sub")
	h.arm("repo")
	h.to(plan.Planning)
	return h
}

func (h *hostile) executable(rel, text string) {
	h.t.Helper()
	h.write(rel, text)
	if err := os.Chmod(h.path(rel), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

// git runs git as the test's author, before the repository turns hostile.
func (h *hostile) git(dir string, args ...string) string {
	h.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = h.path(dir)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=0",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000")
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// hostileFiles are named after the attribute that applies to them.
var hostileFiles = []string{"a.command", "a.textconv", "a.clean", "a.process", "a.merge", "a.included", "a.odd", "a.info", "f", "a", "b", "f.go", "README.md", "main.go"}

// repository makes a repository with everything in it that its configuration can say something about.
func (h *hostile) repository(dir string) {
	h.t.Helper()
	h.mkdir(dir)
	files := func(text string) {
		for _, f := range hostileFiles {
			h.write(dir+"/"+f, text)
		}
	}
	h.git(dir, "init", "-q", "-b", "main")
	files("one\n")
	h.git(dir, "add", "--all")
	h.git(dir, "commit", "-q", "-m", "one")
	h.git(dir, "branch", "feature")
	files("two\n")
	h.git(dir, "commit", "-q", "-a", "-m", "two")
	h.git(dir, "checkout", "-q", "feature")
	files("three\n")
	h.git(dir, "commit", "-q", "-a", "-m", "three")
	h.git(dir, "checkout", "-q", "main")
	h.git(dir, "merge", "-q", "-s", "ours", "feature", "-m", "merged\n\nSigned-off-by: A <a@example.com>")
	files("four\n")
	h.git(dir, "stash", "push", "-q")
	h.signed(dir)
	h.git(dir, "tag", "v1.0")
	h.git(dir, "notes", "add", "-m", "a note")
}

// arm turns a repository hostile.
func (h *hostile) arm(dir string) {
	h.t.Helper()
	// Same size, other content: only reading the files, through their filters, tells.
	for _, f := range hostileFiles {
		h.write(dir+"/"+f, "2wo\n")
	}
	h.write(dir+"/.gitattributes", "*.command diff=one\n*.textconv diff=two\n*.clean filter=one\n*.process filter=two\n"+
		"*.merge merge=one\n*.included filter=included diff=included\n*.odd filter=\xff diff=\xfe\n")
	h.mkdir(dir + "/.git/info")
	h.write(dir+"/.git/info/attributes", "*.info filter=info diff=info\n")
	hooks := dir + "/.git/hooks"
	h.mkdir(hooks)
	for _, name := range strings.Fields("post-index-change reference-transaction post-checkout pre-commit fsmonitor-watchman pre-auto-gc " +
		"post-rewrite sendemail-validate pre-push update post-update") {
		h.executable(hooks+"/"+name, "#!/bin/sh\nexec "+h.script+" hook."+name+"\n")
	}
	h.write(dir+"/.git/more", h.drivers("included")+h.drivers("info"))
	config := h.read(dir + "/.git/config")
	h.write(dir+"/.git/config", config+strings.ReplaceAll(hostileConfig, "EVIL", h.script)+
		h.drivers("one")+h.drivers("two")+h.drivers("\xff")+h.drivers("\xfe")+"[include]\n\tpath = more\n")
}

// signed adds a commit with a signature, which git verifies where it is told to.
func (h *hostile) signed(dir string) {
	h.t.Helper()
	text := h.git(dir, "cat-file", "commit", "HEAD")
	head, body, _ := strings.Cut(text, "\n\n")
	h.write("commit", head+"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abcd\n -----END PGP SIGNATURE-----\n\n"+body+"\n")
	h.git(dir, "update-ref", "refs/heads/main", h.git(dir, "hash-object", "-t", "commit", "-w", h.path("commit")))
}

// drivers is the configuration of all kinds of drivers, under one name.
func (h *hostile) drivers(name string) string {
	filter := "\tclean = EVIL filter.clean\n\tsmudge = EVIL filter.smudge\n"
	diff := "\ttextconv = EVIL textconv\n\tcachetextconv = true\n"
	if name == "two" || name == "included" {
		filter = "\tprocess = EVIL filter.process\n\trequired = true\n"
	}
	if name == "one" || name == "info" {
		diff = "\tcommand = EVIL diff.command\n\ttrustExitCode = true\n"
	}
	text := "[filter \"NAME\"]\n" + filter + "[diff \"NAME\"]\n" + diff + "[merge \"NAME\"]\n\tdriver = EVIL merge.driver\n" +
		"[hook \"NAME\"]\n\tcommand = EVIL hook.command\n\tevent = post-index-change\n\tevent = reference-transaction\n"
	return strings.NewReplacer("NAME", name, "EVIL", h.script).Replace(text)
}

const hostileConfig = `
[core]
	fsmonitor = EVIL fsmonitor
	pager = EVIL pager
	editor = EVIL editor
	askPass = EVIL askpass
	sshCommand = EVIL ssh
	gitProxy = EVIL gitproxy
	alternateRefsCommand = EVIL alternaterefs
	untrackedCache = true
[alias]
	st = !EVIL alias
	status = !EVIL alias
	log = !EVIL alias
	whatchanged = !EVIL alias
	refs = !EVIL alias
[alias "whatchanged"]
	command = !EVIL alias
[alias "refs"]
	command = !EVIL alias
[gpg]
	program = EVIL gpg
[gpg "ssh"]
	program = EVIL gpg
[log]
	showSignature = true
	diffMerges = remerge
[format]
	pretty = %H %G? %s
[credential]
	helper = !EVIL credential
[pager]
	log = EVIL pager
	diff = EVIL pager
	show = EVIL pager
	status = EVIL pager
	branch = EVIL pager
	config = EVIL pager
[interactive]
	diffFilter = EVIL difffilter
[sequence]
	editor = EVIL editor
[trailer "Signed-off-by"]
	command = EVIL trailer
	cmd = EVIL trailer
[tar "zip"]
	command = EVIL tar
[tar "tgz"]
	command = EVIL tar
[tar "tar"]
	command = EVIL tar
[submodule]
	recurse = true
[submodule "sub"]
	update = !EVIL submodule
	ignore = none
	active = true
[diff]
	submodule = diff
	tool = evil
	guitool = evil
[status]
	submoduleSummary = true
[merge]
	tool = evil
[difftool "evil"]
	cmd = EVIL difftool
[mergetool "evil"]
	cmd = EVIL mergetool
[web]
	browser = evil
[browser "evil"]
	cmd = EVIL browser
[man]
	viewer = evil
[man "evil"]
	cmd = EVIL man
[help]
	browser = evil
	autoCorrect = immediate
[uploadpack]
	packObjectsHook = EVIL packobjects
[protocol]
	allow = always
[remote "origin"]
	url = ext::EVIL remote
	uploadpack = EVIL uploadpack
`

// ran returns the markers there are, and removes them.
func (h *hostile) ran() []string {
	h.t.Helper()
	entries, err := os.ReadDir(h.marks)
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if err := os.Remove(filepath.Join(h.marks, e.Name())); err != nil {
			h.t.Fatal(err)
		}
	}
	return names
}

// snapshot describes every file below a folder: content and time of change.
func (h *hostile) snapshot(dir string) map[string]string {
	h.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(h.path(dir), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(p)
		files[p] = fmt.Sprintf("%x %v %s", sha256.Sum256(text), info.Mode(), info.ModTime())
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return files
}

// changes lists what is not the same in two snapshots.
func changes(before, after map[string]string) []string {
	var list []string
	for p, s := range before {
		switch now, ok := after[p]; {
		case !ok:
			list = append(list, "deleted "+p)
		case now != s:
			list = append(list, "changed "+p)
		}
	}
	for p := range after {
		if _, ok := before[p]; !ok {
			list = append(list, "created "+p)
		}
	}
	sort.Strings(list)
	return list
}
