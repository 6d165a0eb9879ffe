package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planmode-dev/planmode/internal/agenttest"
)

// A wire is a vendor's protocol, and how the program is told of its server.
type wire struct {
	name, model, keyEnv, urlEnv string
	start                       func(t *testing.T, script string) *agenttest.Server
}

var wires = []wire{
	{"anthropic", "anthropic/claude-test", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", func(t *testing.T, script string) *agenttest.Server {
		return agenttest.Start(t, agenttest.StartAnthropic, script, agenttest.Options{APIKey: "test-key"})
	}},
	{"openai", "openai/gpt-test", "OPENAI_API_KEY", "OPENAI_BASE_URL", func(t *testing.T, script string) *agenttest.Server {
		return agenttest.Start(t, agenttest.StartOpenAI, script, agenttest.Options{APIKey: "test-key"})
	}},
}

// bareRig is a rig without a repository, and with a configuration.
func bareRig(t *testing.T, config string) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, workspace: filepath.Join(dir, "ws"), env: []string{
		beMain + "=1", "HOME=" + filepath.Join(dir, "home"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
	}}
	for _, d := range []string{r.workspace, filepath.Join(dir, "home"), filepath.Join(dir, "config", "planmode")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if config != "" {
		r.write(filepath.Join(dir, "config", "planmode", "config.json"), config)
	}
	return r
}

func (r *rig) write(path, text string) {
	r.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.workspace, path)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// outcome runs the program with --output json.
func (r *rig) outcome(args ...string) outcome {
	r.t.Helper()
	out, code := r.planmode(append(args, "--output", "json")...)
	var o outcome
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		r.t.Fatalf("exit code %d, output %q: %v", code, out, err)
	}
	if o.ExitCode != code {
		r.t.Errorf("exit code %d, and %d in the outcome", code, o.ExitCode)
	}
	return o
}

// Whatever a vendor does wrong, over its real wire: it is told, or survived, the session is kept, and goes
// on from there once the vendor is well again.
func TestVendorFaults(t *testing.T) {
	const stall = 1 // second
	for i, c := range []struct {
		name, fault string
		survived    bool
		code        string // of the failure
		says        string
	}{
		{"rate limit with Retry-After", "fault: rate_limit retry_after=10ms times=1", true, "", ""},
		{"rate limit for ever", "fault: rate_limit retry_after=1ms", false, "rate_limit", "rate"},
		{"500 for ever", "fault: overloaded status=500", false, "overloaded", ""},
		{"wrong key", "fault: auth", false, "auth", "ANTHROPIC_API_KEY|OPENAI_API_KEY|key"},
		{"too long", "fault: too_long", false, "too_long", ""},
		{"bad request", "fault: bad_request", false, "bad_request", ""},
		{"garbage", "fault: garbage", false, "garbage", ""},
		{"empty", "fault: empty", false, "empty", ""},
		{"cut once", "text: I am about\nfault: cut times=1", true, "", ""},
		{"cut for ever", "text: I am about\nfault: cut", false, "cut", ""},
		{"stalled", "text: I am about\nstall:", false, "stalled", ""},
	} {
		for n, w := range wires {
			if testing.Short() && n != i%len(wires) {
				continue // a wire each: what waits for retries is long
			}
			t.Run(c.name+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				r := bareRig(t, fmt.Sprintf(`{"limits": {"stall_seconds": %d}}`, stall))
				sick := w.start(t, "=== turn\n"+c.fault+"\ntext: Well again.\n")
				r.env = append(r.env, w.keyEnv+"=test-key", w.urlEnv+"="+sick.URL)
				o := r.outcome("run", "-p", "hello", "--model", w.model)
				if c.survived {
					if o.ExitCode != exitDone || !strings.HasSuffix(o.Text, "Well again.") {
						t.Errorf("outcome %+v", o)
					}
					return
				}
				if o.ExitCode != exitError || o.Stop != "error" || o.Error == nil || o.Error.Code != c.code {
					t.Fatalf("exit code %d, stop %q, error %+v", o.ExitCode, o.Stop, o.Error)
				}
				if c.says != "" && !containsAny(o.Note, strings.Split(c.says, "|")) {
					t.Errorf("note %q says nothing of %s", o.Note, c.says)
				}
				well := w.start(t, "=== turn\nexpect: last user contains hello\ntext: Well again.\n")
				r.env = append(r.env, w.urlEnv+"="+well.URL)
				if o := r.outcome("run", "--session", o.Session); o.ExitCode != exitDone || o.Text != "Well again." {
					t.Errorf("resumed: %+v", o)
				}
			})
		}
	}
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// A server that is not there: told, kept, resumable.
func TestNoServer(t *testing.T) {
	r := bareRig(t, `{"providers": {"local": {"api": "openai", "base_url": "http://127.0.0.1:1/v1", "models": {"m": {"context_window": 9000}}}}}`)
	start := time.Now()
	o := r.outcome("run", "-p", "hello", "--model", "local/m")
	t.Logf("given up after %v: %s", time.Since(start).Round(time.Millisecond), o.Note)
	if o.ExitCode != exitError || o.Error == nil || o.Error.Code != "network" || !strings.Contains(o.Note, "127.0.0.1:1") {
		t.Errorf("outcome %+v", o)
	}
	r.write("hi.txt", "=== turn\nexpect: last user contains hello\ntext: Hi.\n")
	if o := r.outcome("run", "--session", o.Session, "--model", "scripted/hi.txt"); o.ExitCode != exitDone || o.Text != "Hi." {
		t.Errorf("resumed: %+v", o)
	}
}

// What is given as text is text, or it is refused before anything is kept.
func TestPromptText(t *testing.T) {
	r := bareRig(t, "")
	r.write("echo.txt", "=== turn\nexpect: last user contains äöü\ntext: Heard.\n")
	for _, c := range []struct {
		name, in string
		code     int
		says     string
	}{
		{"UTF-8", "äöü\nline two\n", exitDone, ""},
		{"empty", "", exitUsage, "give a prompt with -p"},
		{"blank", " \n\t", exitUsage, "give a prompt with -p"},
		{"not UTF-8", "a\xffb", exitUsage, "not UTF-8 text: byte 1 is 0xff"},
		{"NUL", "a\x00b", exitUsage, "holds a NUL at byte 1"},
		{"huge", strings.Repeat("x", longestPrompt+1), exitUsage, "longer than 1048576 bytes"},
		{"largest", "äöü" + strings.Repeat("x", longestPrompt-6), exitDone, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := r.command(t.Context(), "run", "--model", "scripted/echo.txt")
			var diag strings.Builder
			cmd.Stdin, cmd.Stderr = strings.NewReader(c.in), &diag
			_ = cmd.Run() // the exit code says it
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(diag.String(), c.says) {
				t.Errorf("exit code %d: %s", code, diag.String())
			}
		})
	}
	if out, _ := r.planmode("sessions", "list"); strings.Count(out, "\n") != 2 {
		t.Errorf("refused prompts left sessions:\n%s", out)
	}
}

// What a model or a person wrote does not steer the terminal, and is exact where a program reads it.
func TestNothingSteersTheTerminal(t *testing.T) {
	r := bareRig(t, "")
	const evil = "red \x1b[31m, gone \x1b[2K\x1b]0;title\x07, turned \u202e."
	r.write("evil.txt", "=== turn\ncall: read {\"path\": \"\\u001b[31m\"}\n\n=== turn\ntext: "+evil+"\n")
	for _, args := range [][]string{
		{"run", "-p", evil, "--model", "scripted/evil.txt"},
		{"sessions", "list"},
		{"sessions", "show", "2"},
		{"explain", evil},
	} {
		cmd := r.command(t.Context(), args...)
		out, _ := cmd.CombinedOutput() // the exit codes differ
		if strings.ContainsFunc(string(out), steers) || !strings.Contains(string(out), `\x1b`) {
			t.Errorf("planmode %s: %q", strings.Join(args[:2], " "), out)
		}
	}
	out, _ := r.planmode("sessions", "export", "2")
	if !strings.Contains(out, `\u001b[31m`) {
		t.Errorf("export: %q", out)
	}
}

// A standard output that takes nothing ends the turn, is told, and the session goes on later.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no /dev/full on this system: %v", err)
	}
	defer full.Close()
	r := bareRig(t, "")
	r.write("hi.txt", "=== turn\ntext: Hi.\n")
	for _, args := range [][]string{
		{"run", "-p", "x", "--model", "scripted/hi.txt"},
		{"run", "-p", "x", "--model", "scripted/hi.txt", "--output", "json"},
		{"run", "-p", "x", "--model", "scripted/hi.txt", "--output", "stream-json"},
		{"sessions", "list"},
		{"sessions", "list", "--json"},
		{"config", "show"},
		{"explain", "ls"},
		{"version"},
		{"demo"},
		{"config", "path"},
		{"doctor"},
		{"models"},
	} {
		cmd := r.command(t.Context(), args...)
		var diag strings.Builder
		cmd.Stdout, cmd.Stderr = full, &diag
		_ = cmd.Run() // the exit code says it
		if code := cmd.ProcessState.ExitCode(); code != exitError || !strings.Contains(diag.String(), "no space left") {
			t.Errorf("planmode %s: exit code %d: %s", strings.Join(args, " "), code, diag.String())
		}
		if args[0] == "run" && !strings.Contains(diag.String(), "The session is kept") {
			t.Errorf("planmode %s: %s", strings.Join(args, " "), diag.String())
		}
	}
}
