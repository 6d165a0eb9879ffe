package tool

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/planmode-dev/planmode/sandbox"
)

// Output is where a process's streams go, and how long it may run.
type Output struct {
	Stdout, Stderr io.Writer     // may be the same writer; nil discards
	Timeout        time.Duration // none by default
}

// A Ran says how a process ended and in which view it ran.
type Ran struct {
	sandbox.Result
	// Scratch says that the process ran in a throw-away view, whose changes are discarded;
	// Result.Changed lists them.
	Scratch bool
}

// Shell runs the command line that the call declared with [Shell], with bash, in the view that the
// gate chose: a read-only one for what is proven to be read-only, a throw-away one for evidence, and
// the user's own where changes are allowed. An error means that it did not run.
func (g *Grant) Shell(ctx context.Context, out Output) (Ran, error) {
	var shell Shell
	if !g.declared(func(e Effect) bool { s, ok := e.(Shell); shell = s; return ok }) {
		return Ran{}, g.refused("the call did not say that it runs a command")
	}
	cfg := &g.p.gate.cfg
	dir := cfg.Roots.Workspace
	if shell.Dir != "" {
		abs, err := g.Path(shell.Dir)
		if err != nil {
			return Ran{}, err
		}
		dir = abs
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		return Ran{}, &Refusal{Code: Internal, Tool: g.p.call.Tool, Reason: "bash is not installed", Hint: "use read, grep, find and ls"}
	}
	spec := sandbox.Spec{
		// Neither start-up files nor the user's aliases: the judged text is the whole program.
		Argv: []string{bash, "--noprofile", "--norc", "-c", shell.Command},
		Dir:  dir, Root: cfg.Roots.Workspace,
		Stdout: out.Stdout, Stderr: out.Stderr,
		Limits: sandbox.Limits{Timeout: out.Timeout},
		Hidden: absoluteOnly(cfg.Roots.Hidden),
	}
	switch g.p.view {
	case viewReadOnly:
		spec.View, spec.Require = sandbox.ReadOnly, cfg.Sandbox == SandboxRequire
		spec.Env = readOnlyEnv(sandbox.CleanEnv(os.Environ()))
		if cfg.Sandbox == SandboxOff {
			spec.View = sandbox.Full
		}
		if g.p.state.Mode().ReadOnly() {
			break
		}
		// Where changes are allowed the proof alone is enough.
		spec.View, spec.Require = sandbox.Full, false
	case viewScratch:
		spec.View, spec.Require = sandbox.Scratch, true
		spec.Env = sandbox.CleanEnv(os.Environ())
	case viewFull:
		spec.View = sandbox.Full
		spec.Env = sandbox.CleanEnv(os.Environ())
	default:
		return Ran{}, g.refused("the gate chose no view")
	}
	res, err := sandbox.Run(ctx, spec)
	return Ran{Result: res, Scratch: g.p.view == viewScratch}, err
}

// absoluteOnly drops the entries of a hidden list that are patterns for base names: the kernel hides
// paths.
func absoluteOnly(hidden []string) []string {
	paths := []string{}
	for _, h := range hidden {
		if strings.HasPrefix(h, "/") {
			paths = append(paths, h)
		}
	}
	return paths
}

// readOnlyEnv makes programs that are configured to execute something not do so: a repository's own
// settings must not run anything while planning.
func readOnlyEnv(env []string) []string {
	kept := env[:0:0]
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if steers(name) {
			continue
		}
		kept = append(kept, kv)
	}
	return append(kept, gitEnv()...)
}

// steers says whether a variable of the user's makes programs execute something. BASH_ENV and ENV
// are read by bash itself; exported functions can stand in for a program that was judged by its name.
func steers(name string) bool {
	switch name {
	case "BASH_ENV", "ENV", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH", "GLOBIGNORE", "IFS",
		"LESSOPEN", "LESSCLOSE", "PAGER", "EDITOR", "VISUAL", "RIPGREP_CONFIG_PATH", "GREP_OPTIONS", "GREP_COLORS",
		"TAR_OPTIONS", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS", "FZF_DEFAULT_COMMAND":
		return true
	}
	return strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(name, "LD_") ||
		strings.HasPrefix(name, "DYLD_")
}

// gitEnv turns off what git can be configured to execute, and its optional writes. The variables
// outrank every configuration file (git-config(1), GIT_CONFIG_COUNT).
func gitEnv() []string {
	env := []string{
		"GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false",
		"GIT_SEQUENCE_EDITOR=false", "GIT_ASKPASS=false", "GIT_SSH_COMMAND=false", "GIT_NO_LAZY_FETCH=1",
	}
	settings := [][2]string{
		{"core.hooksPath", os.DevNull},
		{"core.fsmonitor", "false"},
		{"core.pager", "cat"},
		{"core.sshCommand", "false"},
		{"core.askPass", "false"},
		{"core.alternateRefsCommand", "true"},
		{"credential.helper", ""},
		{"diff.external", ""},
		{"gpg.program", "false"},
		{"gpg.ssh.program", "false"},
		{"gpg.x509.program", "false"},
		{"log.showSignature", "false"},
		{"protocol.ext.allow", "never"},
		{"uploadpack.packObjectsHook", ""},
	}
	for i, s := range settings {
		n := itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s[0], "GIT_CONFIG_VALUE_"+n+"="+s[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+itoa(len(settings)))
}
