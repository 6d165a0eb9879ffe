//go:build unix

package shellsafe

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A fixture is a small world in which judged lines are run: a git repository with a home, and a
// directory outside both. Nothing that a line judged Read does may change any of it.
type fixture struct {
	root, repo, home string
	tmp              string // for what programs put there for a moment; what they leave counts
	before           map[string]string
}

var fixtureFiles = map[string]string{
	"README.md": "# Demo\nTODO one\nTODO two\n\nend x\n", "go.mod": "module demo\n\ngo 1.22\n",
	"main.go": "package main\n\n// TODO\nfunc main() {}\n", "my notes.txt": "a note\n",
	"data/list.txt": "b\na\na\nc\n", "data/list2.txt": "a\nb\n", "data/nums.csv": "k,n\nx,3\ny,20\n",
	"data/cfg.json": `{"name":"demo","deps":[{"n":"a"}]}` + "\n", "data/cfg.yaml": "name: demo\n",
	"data/cmds.txt": "touch pwned\n", "data/p.awk": "BEGIN { system(\"touch pwned\") }\n", "data/s.sed": "w pwned\n",
	"docs/guide.md": "guide\nTODO\n", "docs/-dash.md": "dash\n", "evil.sh": "#!/bin/sh\ntouch pwned \"$HOME/pwned\"\n",
	"bin/ls": "#!/bin/sh\ntouch pwned\n", "bin/cat": "#!/bin/sh\ntouch pwned\n", "scratch.txt": "scratch\n",
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	for _, p := range []string{"bash", "git", "tar"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("the oracle needs %s", p)
		}
	}
	f := &fixture{root: t.TempDir(), tmp: t.TempDir()}
	f.repo, f.home = filepath.Join(f.root, "repo"), filepath.Join(f.root, "home")
	put := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range fixtureFiles {
		put(filepath.Join(f.repo, name), text)
	}
	put(filepath.Join(f.home, ".gitconfig"), "[user]\n\tname = Dev\n\temail = dev@example.com\n[alias]\n\tpwn = !touch pwned\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n")
	put(filepath.Join(f.home, "precious"), "p\n")
	put(filepath.Join(f.root, "outside", "canary"), "c\n")
	if err := os.Symlink("README.md", filepath.Join(f.repo, "link")); err != nil {
		t.Fatal(err)
	}
	setup := `set -e
git init -q -b main --template= . && git add README.md go.mod main.go data docs && git commit -qm one && git tag v0.1.0
echo more >> README.md && git commit -qam two && git branch feature && echo wip >> main.go
echo x > s.tmp && git add s.tmp && git stash -q && echo wip2 >> main.go
tar cf data/plain.tar docs && gzip -k data/list.txt
git status >/dev/null`
	if out, err := f.bash(setup, 20*time.Second); err != nil {
		t.Fatalf("fixture: %v\n%s", err, out)
	}
	f.before = f.snapshot(t)
	return f
}

// bash runs a line as the sandboxed runner would: git's configured programs off, its own process group.
func (f *fixture) bash(line string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "--norc", "--noprofile", "-c", line)
	c.Dir = f.repo
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.home, "TMPDIR=" + f.tmp, "LC_ALL=C", "TERM=dumb", "GIT_OPTIONAL_LOCKS=0",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat", "PAGER=cat", "FROM_ENV=-ofrom_env",
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	var out limitedBuffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // what it left behind; ESRCH where nothing is
	}
	return out.String(), err
}

// A limitedBuffer keeps the first kilobyte.
type limitedBuffer struct{ strings.Builder }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := 1024 - b.Len(); room > 0 {
		b.Builder.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// snapshot describes every entry: kind and mode, size, time of change, target or content.
func (f *fixture) snapshot(t testing.TB) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(f.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s := fmt.Sprintf("%v %d", info.Mode(), info.ModTime().UnixNano())
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			s += " -> " + target
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s += fmt.Sprintf(" %x", sha256.Sum256(text))
		}
		m[strings.TrimPrefix(path, f.root)] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(f.tmp) // bash keeps a long here-document there while it reads it
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		m["tmp/"+e.Name()] = "left behind"
	}
	return m
}

// changes lists what a line changed.
func (f *fixture) changes(t testing.TB) []string {
	t.Helper()
	after := f.snapshot(t)
	if maps.Equal(f.before, after) {
		return nil
	}
	var diff []string
	for p, s := range after {
		switch old, ok := f.before[p]; {
		case !ok:
			diff = append(diff, "+"+p)
		case old != s:
			diff = append(diff, "~"+p)
		}
	}
	for p := range f.before {
		if _, ok := after[p]; !ok {
			diff = append(diff, "-"+p)
		}
	}
	return diff
}
