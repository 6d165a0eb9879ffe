package tool

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planmode-dev/planmode/sandbox"
	"github.com/planmode-dev/planmode/shellsafe"
)

// A repository can name programs for git to run under names that nobody can list beforehand: the
// filters, converters and diff programs that its attributes choose. So git may open only those
// repositories whose configuration was read first, with every such program set to a harmless one, and
// refuses all others.

const (
	maxRepositories = 64               // of one command line, submodules included
	maxDriverBytes  = 64 << 10         // of names of settings to override, of one command line
	maxGitOutput    = 64 << 20         // of one look at a repository
	gitLookTime     = 10 * time.Second // for one look
)

// gitVars are variables that turn off what git would run or write.
var gitVars = []string{
	"GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false",
	"GIT_SEQUENCE_EDITOR=false", "GIT_ASKPASS=false", "GIT_SSH_COMMAND=false", "GIT_NO_LAZY_FETCH=1",
	// A partial clone fetches what is missing from wherever its configuration says. Git before 2.45 does
	// not know GIT_NO_LAZY_FETCH; this allows no transport at all.
	"GIT_ALLOW_PROTOCOL=none",
	// Git opens repositories of other users only where safe.directory allows it. Taking everybody for
	// another user makes that list the list of all repositories that may be opened.
	"GIT_TEST_ASSUME_DIFFERENT_OWNER=1",
}

// gitSettings outrank every configuration file (git-config(1), GIT_CONFIG_COUNT).
var gitSettings = []gitSetting{
	{"core.hooksPath", os.DevNull},
	{"core.fsmonitor", "false"},
	{"core.pager", "cat"},
	{"core.sshCommand", "false"},
	{"core.askPass", "false"},
	{"core.alternateRefsCommand", "true"},
	{"credential.helper", ""},
	{"gpg.program", "false"},
	{"gpg.ssh.program", "false"},
	{"gpg.x509.program", "false"},
	{"log.showSignature", "false"},
	{"protocol.ext.allow", "never"},
	{"uploadpack.packObjectsHook", ""},
	// Showing a merge as the difference to a new one runs merge drivers and writes objects.
	{"log.diffMerges", "separate"},
	// These start git in submodules that are not in the index, and so were not looked at.
	{"diff.submodule", "short"},
	{"status.submoduleSummary", "false"},
	// A folder of the workspace that looks like a bare repository is not one (git 2.38).
	{"safe.bareRepository", "explicit"},
	// The user's own list is no list of what was looked at; the empty value resets it.
	{"safe.directory", ""},
}

type gitSetting struct{ key, value string }

// What stands in for the programs of a repository's configuration.
const (
	// Given path, old file, its digest and mode, new file, digest and mode. Git died of an empty value.
	gitPlainDiff = `f() { printf '%s:\n' "$1"; [ "$#" -lt 7 ] || git --no-pager diff --no-index --no-ext-diff --no-textconv -- "$2" "$5"; :; }; f`
	// Text as it is, and of everything else a checksum and the size, so that a change shows.
	gitPlainText = `f() { if grep -qI '' "$1" || ! [ -s "$1" ]; then cat "$1"; else cksum <"$1"; fi; }; f`
)

// gitDrivers are the settings that name a program under a name of the repository's choice, and what
// they are set to: section and key, as they are written around the name.
var gitDrivers = []struct{ section, key, value string }{
	{"filter.", ".clean", ""},
	{"filter.", ".smudge", ""},
	{"filter.", ".process", ""},
	{"filter.", ".required", "false"},
	{"diff.", ".command", gitPlainDiff},
	{"diff.", ".textconv", gitPlainText},
	{"diff.", ".cachetextconv", "false"}, // keeps the converted text in the repository
	{"diff.", ".trustexitcode", "false"}, // of a program that is not the one
	{"merge.", ".driver", "false"},
	{"hook.", ".command", "true"}, // git 2.54
}

// override returns the harmless value for a setting of a repository that names a program.
func override(key string) (string, bool) {
	switch key {
	case "diff.external":
		return gitPlainDiff, true
	case "diff.trustexitcode":
		return "false", true
	}
	for _, d := range gitDrivers {
		if len(key) >= len(d.section)+len(d.key) && strings.HasPrefix(key, d.section) && strings.HasSuffix(key, d.key) {
			return d.value, true
		}
	}
	return "", false
}

// gitEnv adds to env what makes git run nothing that a repository names, and write nothing that is
// optional, when line runs in dir. Strict also keeps `git diff` from refreshing the index, at the price
// of an empty difference for a file that was touched. A repository that cannot be looked at stays
// closed to git.
func gitEnv(ctx context.Context, env []string, line, dir string, strict bool) []string {
	settings := slices.Clone(gitSettings)
	if strict {
		settings = append(settings, gitSetting{"diff.autoRefreshIndex", "false"})
	}
	base := append(slices.Clip(env), gitVars...)
	l := gitLook{ctx: ctx, env: base, settings: settings, names: map[string]bool{}}
	if namesGit(line) {
		if l.git = findProgram(env, "git"); l.git != "" {
			for _, dir := range gitFolders(line, dir) {
				l.above(dir)
			}
		}
	}
	return append(base, configVars(append(settings, l.found...))...)
}

func configVars(settings []gitSetting) []string {
	env := make([]string, 0, 2*len(settings)+1)
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
}

// namesGit says whether the line may call git by its name, whatever quotes are in it. A line that
// starts it by any other means finds every repository closed.
func namesGit(line string) bool {
	return strings.Contains(strings.NewReplacer(`'`, "", `"`, "", `\`, "", "\n", "").Replace(line), "git")
}

// gitFolders returns the folders from which the line may start git: the one that it runs in, and what
// its words name from there on, since one of them may follow -C or cd.
func gitFolders(line, dir string) []string {
	dirs := []string{dir}
	commands, _, err := shellsafe.Commands(line)
	if err != nil {
		return dirs
	}
	for _, c := range commands {
		if goes := c.Words[0]; (goes == "cd" || goes == "pushd" || goes == "git") && slices.Contains(c.Known, false) {
			dirs = append(dirs, repositoriesIn(dir)...) // a loop over them, as a rule
		}
		for i, word := range c.Words {
			if i == 0 || !c.Known[i] || word == "" || strings.HasPrefix(word, "-") {
				continue
			}
			for _, base := range slices.Clone(dirs) {
				p := word
				if !filepath.IsAbs(p) {
					p = filepath.Join(base, p)
				}
				if info, err := os.Stat(p); err == nil && info.IsDir() && !slices.Contains(dirs, p) && len(dirs) < maxRepositories {
					dirs = append(dirs, p)
				}
			}
		}
	}
	return dirs
}

// repositoriesIn returns the folders directly below dir that have a repository.
func repositoriesIn(dir string) []string {
	var dirs []string
	entries, _ := os.ReadDir(dir) // a folder that cannot be listed has none that git could find
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		if _, err := os.Lstat(filepath.Join(p, ".git")); err == nil && len(dirs) < maxRepositories {
			dirs = append(dirs, p)
		}
	}
	return dirs
}

// A gitLook collects the repositories that git may open and the settings that make them harmless.
type gitLook struct {
	ctx      context.Context //nolint:containedctx // a look lives inside one call, whose context this is
	git      string
	env      []string
	settings []gitSetting // of every look
	names    map[string]bool
	repos    int
	bytes    int
	found    []gitSetting
}

// above looks at the repositories that git may find from a folder upwards. It takes the nearest that is
// whole, and which one that is only git knows.
func (l *gitLook) above(dir string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return
	}
	for {
		if _, err := os.Lstat(filepath.Join(real, ".git")); err == nil {
			l.open(real)
		}
		up := filepath.Dir(real)
		if up == real {
			return
		}
		real = up
	}
}

// open looks at a repository and all that git would start itself in below it, and lets git open them if
// every one of them is understood.
func (l *gitLook) open(top string) {
	before, repos, size := len(l.found), l.repos, l.bytes
	var seen []string
	if !l.look(top, &seen) {
		// Git starts itself in submodules without asking whether it may: then the whole stays closed.
		for _, s := range seen {
			delete(l.names, s)
		}
		l.found, l.repos, l.bytes = l.found[:before], repos, size
	}
}

func (l *gitLook) look(top string, seen *[]string) bool {
	if l.names[top] {
		return true
	}
	// Git takes a last part "*" of safe.directory for every folder there.
	if l.repos++; l.repos > maxRepositories || filepath.Base(top) == "*" {
		return false
	}
	l.names[top] = true
	*seen = append(*seen, top)
	l.found = append(l.found, gitSetting{"safe.directory", filepath.ToSlash(top)})
	// All names, and not a pattern's: to a pattern a byte that is no letter in the user's language is
	// no character at all.
	out, ok := l.run(top, "config", "--list", "--name-only", "-z")
	if !ok {
		return false
	}
	done := map[string]bool{}
	for name := range bytes.SplitSeq(out, []byte{0}) {
		key := string(name)
		value, ok := override(key)
		if !ok || done[key] {
			continue
		}
		done[key] = true
		if l.bytes += len(key); l.bytes > maxDriverBytes {
			return false
		}
		l.found = append(l.found, gitSetting{key, value})
	}
	if !maySubmodules(filepath.Join(top, ".git")) {
		return true
	}
	if out, ok = l.run(top, "ls-files", "--stage", "-z"); !ok {
		return false
	}
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		if !bytes.HasPrefix(entry, []byte("160000 ")) { // a submodule
			continue
		}
		_, name, _ := bytes.Cut(entry, []byte{'\t'})
		sub := filepath.Join(top, string(name))
		if _, err := os.Lstat(filepath.Join(sub, ".git")); err != nil {
			continue // not checked out
		}
		if !l.look(sub, seen) {
			return false
		}
	}
	return true
}

// maySubmodules says whether the index of a repository may list submodules; only git reads one for
// sure. It looks for the bytes of their mode, which stand in the index as they are in all its versions
// (gitformat-index(5)), and saves a process where there are none.
func maySubmodules(gitDir string) bool {
	if info, err := os.Lstat(gitDir); err != nil || !info.IsDir() {
		return true // a link or a file that names another folder
	}
	entries, err := os.ReadDir(gitDir)
	if err != nil {
		return true
	}
	for _, e := range entries {
		if e.Name() != "index" && !strings.HasPrefix(e.Name(), "sharedindex.") {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxGitOutput {
			return true
		}
		text, err := os.ReadFile(filepath.Join(gitDir, e.Name()))
		if err != nil || bytes.Contains(text, []byte{0, 0, 0o160000 >> 8, 0}) {
			return true
		}
	}
	return false
}

// run runs git for a look at a repository: with all that is known to be off, and nothing else open.
func (l *gitLook) run(top string, args ...string) ([]byte, bool) {
	out := cappedBuffer{max: maxGitOutput}
	settings := append(slices.Clip(l.settings), gitSetting{"safe.directory", filepath.ToSlash(top)})
	res, err := sandbox.Run(l.ctx, sandbox.Spec{
		Argv: append([]string{l.git, "-C", top}, args...), Dir: top, View: sandbox.Full,
		Env: append(slices.Clip(l.env), configVars(settings)...), Stdout: &out, Limits: sandbox.Limits{Timeout: gitLookTime},
	})
	return out.text, err == nil && res.ExitCode == 0 && !out.full
}

// A cappedBuffer takes no more than it may hold.
type cappedBuffer struct {
	text []byte
	max  int
	full bool
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if len(b.text)+len(p) > b.max {
		b.full = true
		return 0, errors.New("tool: more output than expected")
	}
	b.text = append(b.text, p...)
	return len(p), nil
}
