package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planmode-dev/planmode/internal/config"
	"github.com/planmode-dev/planmode/internal/session"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/scripted"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// The sample project's files end in ".txt", so that they are not this module's.
//
//go:embed demo/script.txt demo/project
var demoFiles embed.FS

func newDemo(io streams) *cobra.Command {
	var yes, keep bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Play a whole session on a sample project, with a scripted model and real tools",
		Long: `Play a whole session on a sample project in a temporary folder: the model reads, tries to change things
and is refused, hands in a plan, and carries it out after it was approved. It needs no account and no network.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runDemo(c.Context(), io, yes, keep)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "approve the plan without asking")
	c.Flags().BoolVar(&keep, "keep", false, "keep the sample project")
	return c
}

// A demo is one playing of the sample session.
type demo struct {
	io      streams
	dir     string // of everything
	project string
	yes     bool
	s       *opened
	last    uint64
	hash    string // of the project's tree before anything
	broken  error  // why nothing can be shown any more
}

func runDemo(ctx context.Context, io streams, yes, keep bool) (err error) {
	restore := brokenPipesAreErrors() // so that the folder is removed
	defer restore()
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("the sample project is written in Go, and its tests need the go command, which is not on the PATH")
	}
	dir, err := os.MkdirTemp("", "planmode-demo-")
	if err != nil {
		return fmt.Errorf("the demo needs a temporary folder; set TMPDIR to one that can be written: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	d := &demo{io: io, dir: dir, project: filepath.Join(dir, "shop"), yes: yes}
	defer func() {
		if d.s != nil {
			err = errors.Join(err, d.s.Close())
		}
		if keep {
			fmt.Fprintf(io.err, "\nThe sample project is kept in %s\n", d.project)
		} else {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if err := d.unpack(); err != nil {
		return err
	}
	if err := d.open(); err != nil {
		return err
	}
	return d.play(ctx)
}

// unpack writes the sample project.
func (d *demo) unpack() error {
	err := fs.WalkDir(demoFiles, "demo/project", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := demoFiles.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(d.project, filepath.FromSlash(strings.TrimSuffix(strings.TrimPrefix(path, "demo/project/"), ".txt")))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
	if err != nil {
		return err
	}
	d.hash, err = treeHash(d.project)
	return err
}

// open makes the session: everything but the model is what a real one has, and the user's own
// configuration plays no part.
func (d *demo) open() error {
	script, err := scripted.Load(demoFiles, "demo/script.txt")
	if err != nil {
		return err
	}
	model := scripted.New(script)
	home, _ := os.UserHomeDir() // without one "~" is not understood
	p := &place{home: home, workspace: d.project, cfg: config.Default(), dirs: config.Dirs{State: filepath.Join(d.dir, "state"), Config: filepath.Join(d.dir, "config")}}
	goTest, err := tool.ParseRule("bash(go test *)")
	if err != nil {
		return err
	}
	d.s, err = p.openSession(openOptions{
		Model: scripted.Name + "/demo", policy: tool.Policy{Allow: []tool.Rule{goTest}},
		open: func(string) (llm.Provider, llm.Model, error) { return model, scripted.Model(), nil },
	}, d.io.err)
	return err
}

const demoPrompt = "/plan Orders of 100 or more should get 10 % off. Please also fix the test that fails."

func (d *demo) play(ctx context.Context) error {
	d.head("A sample project")
	d.say("%s\ntree %s", d.project, d.hash[:16])
	d.head("The user: " + demoPrompt)
	if err := d.do(ctx, session.Prompt{Text: demoPrompt}); err != nil {
		return err
	}
	st := d.s.PlanMode().State()
	r, ok := st.Newest()
	if !ok || st.Mode() != plan.Ready {
		return fmt.Errorf("the demo went wrong: no plan is ready (mode %s)", st.Mode())
	}
	if err := d.unchanged(); err != nil {
		return err
	}
	d.head(fmt.Sprintf("The plan (revision %d, digest %s)", r.Number, r.Digest.Short()))
	d.say("%s", r.Text)
	if yes, err := d.approved(ctx); err != nil || !yes {
		return err
	}
	d.head("Approved: exactly the text above is executed")
	if err := d.do(ctx, session.Step{Event: plan.Approve{Digest: r.Digest}}); err != nil {
		return err
	}
	if mode := d.s.PlanMode().State().Mode(); mode != plan.Off {
		return fmt.Errorf("the demo went wrong: the execution did not end (mode %s)", mode)
	}
	d.head("What changed")
	if err := d.diff(ctx); err != nil {
		return err
	}
	return errors.Join(d.tests(ctx), d.broken)
}

// do carries out a command, waits for what it started, and shows what happened.
func (d *demo) do(ctx context.Context, c session.Command) error {
	if _, err := d.s.Do(ctx, plan.TUI, c); err != nil {
		return err
	}
	if err := d.s.Wait(ctx); err != nil {
		return err
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	for e := range d.s.Events(over, d.last) {
		d.last = max(d.last, e.Seq)
		if err := d.show(e); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) show(e session.Entry) error {
	switch ev := e.Event.(type) {
	case session.Answered:
		if text := ev.Message.Text(); text != "" {
			d.say("\nmodel    %s", text)
		}
		for _, c := range ev.Message.Calls() {
			d.say("  calls  %s %s", c.Name, oneLine(string(c.Input)))
		}
	case session.CallRefused:
		d.say("  REFUSED %s: %s", ev.Call.Tool, ev.Refusal.Reason)
		if ev.Refusal.At != nil {
			d.say("          at byte %d: %s", ev.Refusal.At.Offset, ev.Refusal.At.Text)
		}
		if ev.Refusal.Hint != "" {
			d.say("          instead: %s", ev.Refusal.Hint)
		}
	case session.CallFinished:
		word := "ran"
		if ev.Result.IsError {
			word = "failed"
		}
		d.say("  %-6s %s: %s", word, ev.Tool, oneLine(ev.Result.Text))
	case session.TurnEnded:
		if ev.Stop != "end_turn" && ev.Stop != "plan_ready" {
			return fmt.Errorf("the demo went wrong: the turn ended with %s: %s", ev.Stop, ev.Note)
		}
	case session.CallAllowed, session.Compacted, session.Delta, session.Moved, session.Pending,
		session.PermissionAsked, session.PermissionClosed, session.PlanStepped, session.Progress,
		session.Prompted, session.QuestionsAsked, session.QuestionsClosed, session.Queued,
		session.SettingsChanged, session.Spent, session.Started, session.TodosChanged, session.Told,
		session.TurnStarted, session.Unknown, session.Warned: // the demo shows them in other ways, or has none
	}
	return nil
}

// unchanged holds the tree against what it was: the proof that planning changed nothing.
func (d *demo) unchanged() error {
	now, err := treeHash(d.project)
	if err != nil {
		return err
	}
	if now != d.hash {
		return fmt.Errorf("the demo went wrong: planning changed the project's tree from %s to %s", d.hash[:16], now[:16])
	}
	d.say("\nUntil here nothing was changed: the project's tree is still %s", now[:16])
	return nil
}

// approved asks on a terminal. Without one, and without --yes, nobody has approved. What nobody was shown
// nobody approves.
func (d *demo) approved(ctx context.Context) (bool, error) {
	if d.broken != nil || d.yes {
		return d.yes, d.broken
	}
	if !onTerminal(d.io.in) || !onTerminal(d.io.out) {
		d.say("Nobody is there to approve the plan, so it is not executed. Use --yes to approve it.")
		if d.broken != nil {
			return false, d.broken
		}
		return false, exitStatus(exitPlanReady)
	}
	fmt.Fprint(d.io.out, "\nApprove this plan? [y/N] ")
	line, err := bufio.NewReader(interruptible(ctx, d.io.in)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if a := strings.ToLower(strings.TrimSpace(line)); a != "y" && a != "yes" {
		d.say("Not approved: nothing was changed.")
		return false, nil
	}
	return true, nil
}

func (d *demo) head(title string) { d.say("\n── %s", title) }

func (d *demo) say(format string, args ...any) {
	if _, err := fmt.Fprintln(d.io.out, shown(fmt.Sprintf(format, args...))); err != nil && d.broken == nil {
		d.broken = err
	}
}

// tests runs the sample project's tests once more, outside the session.
func (d *demo) tests(ctx context.Context) error {
	d.head("The project's tests")
	cmd := exec.CommandContext(ctx, "go", "test", "./...")
	cmd.Dir, cmd.Env = d.project, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	d.say("%s", strings.TrimSpace(string(out)))
	if err != nil {
		return fmt.Errorf("the demo went wrong: the sample project's tests: %w", err)
	}
	return nil
}

// treeHash is a digest of the names, modes and contents below a folder.
func treeHash(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %s %d\n", rel, info.Mode(), sizeOf(info))
		if !info.Mode().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		h.Write(data)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

func sizeOf(info fs.FileInfo) int64 {
	if info.IsDir() {
		return 0 // file systems disagree about it
	}
	return info.Size()
}
