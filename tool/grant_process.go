package tool

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
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
	done, err := g.begin()
	if err != nil {
		return Ran{}, err
	}
	defer done()
	ctx, cancel := g.bound(ctx)
	defer cancel()
	cfg := &g.p.gate.cfg
	dir := cfg.Roots.Workspace
	if shell.Dir != "" {
		if dir, err = g.shellDir(shell.Dir); err != nil {
			return Ran{}, err
		}
	}
	env := sandbox.CleanEnv(os.Environ())
	if g.p.view == viewReadOnly {
		// Without a wall nothing may be written, not even what git remembers of the files' times.
		strict := g.p.state.ReadOnly() && !g.p.gate.Walled()
		if g.p.state.ReadOnly() {
			env = append(env, fetchNothing...)
		}
		env = gitEnv(ctx, readOnlyEnv(env, cfg.Roots.Workspace), shell.Command, dir, strict)
	}
	bash := findProgram(env, "bash")
	if bash == "" {
		return Ran{}, &Refusal{
			Code: Internal, Tool: g.p.call.Tool, Session: g.p.call.Session, PlanMode: g.PlanMode(),
			Reason: "bash is not installed", Hint: "use read, grep, find and ls",
		}
	}
	spec := sandbox.Spec{
		// Neither start-up files nor the user's aliases: the judged text is the whole program.
		Argv: []string{bash, "--noprofile", "--norc", "-c", shell.Command},
		Dir:  dir, Root: cfg.Roots.Workspace, Env: env,
		Stdout: out.Stdout, Stderr: out.Stderr,
		Limits: sandbox.Limits{Timeout: out.Timeout},
		Hidden: absoluteOnly(cfg.Roots.hiding.onDisk),
	}
	switch g.p.view {
	case viewReadOnly:
		spec.View, spec.Require = sandbox.ReadOnly, cfg.Sandbox == SandboxRequire
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
	case viewConfined:
		spec.View, spec.Require = sandbox.Workspace, true
	case viewFull:
		spec.View = sandbox.Full
	default:
		return Ran{}, g.refused("the gate chose no view")
	}
	res, err := sandbox.Run(ctx, spec)
	if errors.Is(err, sandbox.ErrUnavailable) {
		err = &Refusal{
			Code: SandboxMissing, Tool: g.p.call.Tool, Session: g.p.call.Session, PlanMode: g.PlanMode(),
			Reason: err.Error(), Hint: "use read, grep, find and ls; the user can change what the sandbox must enforce",
		}
	}
	return Ran{Result: res, Scratch: g.p.view == viewScratch}, err
}

// shellDir returns the folder to run in. It may be one that is read by another name: links are
// followed as far as what may be read goes.
func (g *Grant) shellDir(p string) (string, error) {
	abs, err := g.Path(p)
	if err != nil {
		return "", err
	}
	real, _, err := g.resolve(abs)
	return real, err
}

// findProgram returns the first program of that name on the path that is named absolutely: "." on the
// path must not let a workspace bring its own.
func findProgram(env []string, name string) string {
	for _, dir := range pathOf(env) {
		for _, name := range []string{name, name + ".exe"} {
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && (info.Mode().Perm()&0o111 != 0 || strings.HasSuffix(name, ".exe")) {
				return file
			}
		}
	}
	return ""
}

// pathOf returns the absolute folders of PATH.
func pathOf(env []string) []string {
	var dirs []string
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			dirs = dirs[:0] // the last one counts
			for _, dir := range filepath.SplitList(value) {
				if filepath.IsAbs(dir) {
					dirs = append(dirs, filepath.Clean(dir))
				}
			}
		}
	}
	return dirs
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
// settings must not run anything while planning, nor a program of the workspace stand in for one that
// was judged by its name.
func readOnlyEnv(env []string, workspace string) []string {
	kept := env[:0:0]
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if steers(name) || strings.EqualFold(name, "PATH") {
			continue
		}
		kept = append(kept, kv)
	}
	var path []string
	for _, dir := range pathOf(env) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || within(workspace, dir) || within(workspace, real) {
			continue
		}
		path = append(path, dir)
	}
	return append(kept, "PATH="+strings.Join(path, string(filepath.ListSeparator)))
}

// fetchNothing keeps programs that only read from looking for news of themselves, and from fetching the
// toolchain or the modules that a file of the project names.
var fetchNothing = []string{
	"GOTOOLCHAIN=local", "GOPROXY=off", "RUSTUP_AUTO_INSTALL=0", "PIP_DISABLE_PIP_VERSION_CHECK=1",
	"HOMEBREW_NO_AUTO_UPDATE=1", "CHECKPOINT_DISABLE=1", "NO_UPDATE_NOTIFIER=1", "GH_NO_UPDATE_NOTIFIER=1",
}

// steers says whether a variable of the user's makes programs execute something. BASH_ENV and ENV
// are read by bash itself; exported functions can stand in for a program that was judged by its name.
func steers(name string) bool {
	switch name {
	case "BASH_ENV", "ENV", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH", "GLOBIGNORE", "IFS",
		"PAGER", "EDITOR", "VISUAL", "RIPGREP_CONFIG_PATH", "GREP_OPTIONS", "GREP_COLORS",
		"TAR_OPTIONS", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "RUBYOPT", "RUBYLIB",
		"NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "FZF_DEFAULT_COMMAND", "GOFLAGS", "GCONV_PATH",
		"MANPAGER", "MANOPT", "SYSTEMD_PAGER", "BAT_PAGER", "BAT_OPTS", "GH_PAGER", "DELTA_PAGER", "EXINIT", "VIMINIT", "LOCATE_CONFIG":
		return true
	}
	for _, prefix := range []string{"GIT_", "BASH_FUNC_", "LD_", "DYLD_", "LESS", "LUA_INIT", "DEBUGINFOD_", "NPM_CONFIG_", "npm_config_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
