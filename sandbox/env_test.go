package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestCleanEnv(t *testing.T) {
	for _, entry := range []string{
		"ANTHROPIC_API_KEY=x", "ANTHROPIC_BASE_URL=x", "OPENAI_API_KEY=x", "OPENAI_ORG=x", "GEMINI_API_KEY=x", "openai_api_key=x",
		"GITHUB_TOKEN=x", "GH_TOKEN=x", "NPM_TOKEN=x", "TOKEN=x", "CI_JOB_TOKEN=x", "SLACK_TOKEN_ID=x", "HF_HOME=x",
		"AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_REGION=x", "AZURE_CLIENT_ID=x", "GOOGLE_APPLICATION_CREDENTIALS=/x",
		"DB_PASSWORD=x", "PGPASSWORD=x", "MYSQL_PWD=x", "MY_SECRET_THING=x", "CLIENT_SECRET=x", "SIGNING_KEY=x", "SSH_PASSPHRASE=x",
		"SENTRY_DSN=x", "KUBECONFIG=x", "VAULT_ADDR=x", "DOCKER_AUTH_CONFIG={}", "npm_config__auth=x", "AZURE_STORAGE_CONNECTION_STRING=x",
		"INNOCENT=sk-ant-abc", "INNOCENT=ghp_abc", "INNOCENT=-----BEGIN PRIVATE KEY-----", "DATABASE_URL=postgres://u:p@host/db",
		"HTTPS_PROXY=http://u:p@proxy:1", "NOTHING",
	} {
		if got := CleanEnv([]string{entry}); len(got) != 0 {
			t.Errorf("%q passes", entry)
		}
	}
	kept := []string{
		"PATH=/bin", "HOME=/root", "LANG=C", "TERM=xterm", "GOFLAGS=-mod=mod", "KEYBOARD=us", "SSH_AUTH_SOCK=/run/x", "PWD=/", "OLDPWD=/x",
		"EMPTY=", "DATABASE_URL=postgres://host/db", "EDITOR=vi", "GIT_ASKPASS=/x", "DISPLAY=:0", "XDG_STATE_HOME=/x", "=C:=C:\\x", "MONKEY=x",
		"URL=https://example.com/@a:b", "GOPROXY=https://proxy.golang.org,direct",
	}
	if got := CleanEnv(kept); !slices.Equal(got, kept) {
		t.Errorf("kept %q of %q", got, kept)
	}
}

func TestSetEnv(t *testing.T) {
	env := setEnv([]string{"A=1", "TMP=x", "TMPDIR=y", "A=2"}, "TMPDIR=z", "B=3")
	if want := []string{"A=1", "TMP=x", "A=2", "TMPDIR=z", "B=3"}; !slices.Equal(env, want) {
		t.Errorf("%q, want %q", env, want)
	}
	if got := getEnv(env, "A"); got != "2" {
		t.Errorf("A is %q, want the last one", got)
	}
}

func TestExistingHidden(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights on Windows")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "ho[me") // a name that must not be taken for a pattern
	for _, name := range []string{"ho[me/.ssh/id_rsa", "ho[me/.ssh-old/x", "ho[me/a.pem", "ho[me/b.pem", "ho[me/.netrc", "keys/k", "ho[me/.config/gh/hosts.yml", "state/s"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "keys"), filepath.Join(home, ".aws")); err != nil {
		t.Fatal(err)
	}
	entries := append(DefaultHidden(home, filepath.Join(dir, "state"), ""), filepath.Join(home, ".ssh/id_rsa"), filepath.Join(home, ".ssh-old"), "relative")
	var got []string
	for _, p := range existingHidden(entries) {
		got = append(got, strings.TrimPrefix(p, dir+"/"))
	}
	want := []string{"ho[me/.config/gh", "ho[me/.netrc", "ho[me/.ssh", "ho[me/.ssh-old", "ho[me/a.pem", "ho[me/b.pem", "keys", "state"}
	if !slices.Equal(got, want) {
		t.Errorf("hidden %q,\nwant %q", got, want)
	}
	if h := DefaultHidden(""); len(h) != 0 {
		t.Errorf("without a home: %q", h)
	}
}

func TestSeatbeltProfile(t *testing.T) {
	got := seatbeltProfile([]string{"/private/tmp/run/tmp", `/w/a "b" \c`}, []string{"/Users/me/.ssh"})
	lines := strings.Split(got, "\n")
	index := func(line string) int {
		i := slices.Index(lines, line)
		if i < 0 {
			t.Errorf("no line %s in\n%s", line, got)
		}
		return i
	}
	if lines[0] != "(version 1)" {
		t.Errorf("begins with %q", lines[0])
	}
	if strings.Count(got, "(") != strings.Count(got, ")") {
		t.Error("parentheses do not match")
	}
	// Later rules win, so the order is the meaning.
	for _, order := range [][2]string{
		{"(allow default)", "(deny file-write*)"},
		{"(deny file-write*)", `(allow file-write* (subpath "/private/tmp/run/tmp"))`},
		{"(deny file-write*)", `(allow file-write* (subpath "/w/a \"b\" \\c"))`},
		{`(allow file-write* (subpath "/private/tmp/run/tmp"))`, `(deny file-read* file-write* (subpath "/Users/me/.ssh"))`},
		{"(allow default)", "(deny network*)"},
		{"(deny signal)", "(allow signal (target same-sandbox))"},
	} {
		if index(order[0]) > index(order[1]) {
			t.Errorf("%s stands after %s", order[0], order[1])
		}
	}
}

func TestLevelText(t *testing.T) {
	for level := None; level <= Namespaces; level++ {
		text, err := level.MarshalText()
		var back Level
		if err != nil || back.UnmarshalText(text) != nil || back != level {
			t.Errorf("%d becomes %q, %v, %d", level, text, err, back)
		}
	}
	var l Level
	if err := l.UnmarshalText([]byte("iron")); err == nil || l != None {
		t.Errorf("an unknown level is read as %s", l)
	}
	for level, want := range map[Level]bool{None: false, Mounts: false, Seatbelt: true, Landlock: true, Namespaces: true, 77: false} {
		if level.Enforces() != want {
			t.Errorf("%s enforces: %v", level, !want)
		}
	}
}
