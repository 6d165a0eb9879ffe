package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planmode-dev/planmode"
	"github.com/planmode-dev/planmode/internal/session"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// formats are what --output takes.
var formats = []string{"text", "json", "stream-json"}

// headless are the flags of every command that runs a session without a screen.
type headless struct {
	openOptions
	cwd    string
	output string
}

func (h *headless) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&h.cwd, "cwd", "", "the workspace; the working directory by default")
	f.StringVar(&h.output, "output", "text", "text, json (one object at the end) or stream-json (every event, a line each)")
	f.StringVar(&h.Autonomy, "autonomy", "", "strict, hybrid or loose: how much you want to be asked while changes are allowed")
	f.StringVar(&h.Model, "model", "", "provider/model")
	f.IntVar(&h.MaxRequests, "max-turns", 0, "requests to the model in one turn")
}

func (h *headless) check() error {
	if !slices.Contains(formats, h.output) {
		return usagef("--output %q is none of %s", h.output, strings.Join(formats, ", "))
	}
	if h.Autonomy != "" {
		if _, err := tool.ParseAutonomy(h.Autonomy); err != nil {
			return usageError{err}
		}
	}
	if h.MaxRequests < 0 {
		return usagef("--max-turns %d is negative", h.MaxRequests)
	}
	return nil
}

// An action is what a command does to a session, and what the session has to say to it.
type action func(s *opened) (session.Reply, error)

// with opens the session and follows what do does to it.
func (h *headless) with(ctx context.Context, io streams, do action) error {
	if err := h.check(); err != nil {
		return err
	}
	p, err := h.place()
	if err != nil {
		return err
	}
	p.complain(io.err)
	if p.faulty() && h.Autonomy != "" {
		fmt.Fprintf(io.err, "planmode: --autonomy %s does not count before the configuration is mended; autonomy is strict\n", h.Autonomy)
		h.Autonomy = ""
	}
	return h.in(ctx, p, io, do)
}

// place is where the command works: for a session that is taken up again, in that session's workspace,
// wherever the command is given.
func (h *headless) place() (*place, error) {
	p, err := findPlace(h.cwd)
	if err != nil || h.Session == "" {
		return p, err
	}
	at, err := p.findSession(h.Session)
	if err != nil || at.Project == projectKey(p.workspace) {
		return p, err
	}
	home, err := workspaceOf(at)
	switch {
	case err != nil:
		return nil, err
	case projectKey(home) != at.Project:
		return nil, usagef("session %s is kept for another folder than %s, and does not say which; go on from that one", at.ID, p.workspace)
	case h.cwd != "":
		return nil, usagef("session %s works in %s, not in %s", at.ID, home, p.workspace)
	}
	if p, err = findPlace(home); err != nil {
		return nil, fmt.Errorf("session %s: %w", at.ID, err)
	}
	return p, nil
}

func (h *headless) in(ctx context.Context, p *place, io streams, do action) (err error) {
	s, err := p.openSession(h.openOptions, io.err)
	if err != nil {
		return err
	}
	defer func() {
		if e := s.Close(); err == nil {
			err = e
		}
	}()
	if p.faulty() { // rules are missing, and one of them might have forbidden what the session's setting lets through
		s.PlanMode().Gate().SetAutonomy(tool.Strict)
	}
	if (h.Session != "" || h.Continue) && (h.Model != "" || h.Autonomy != "") {
		if _, err := s.Do(ctx, plan.Headless, session.Change{Settings: session.Settings{Model: h.Model, Autonomy: h.Autonomy}}); err != nil {
			return err
		}
	}
	return follow(ctx, s, h.output, io, do)
}

func newRun(io streams) *cobra.Command {
	var h headless
	var prompt string
	var planning bool
	c := &cobra.Command{
		Use:   "run [-p PROMPT]",
		Short: "Run one prompt without a screen; the prompt may come on standard input",
		Long: `Run one prompt to its end and print what came of it.

Exit codes: 0 done; 1 error; 2 usage; 10 a plan is ready and waits for approval (the plan is the output);
11 something needed a person's answer; 130 interrupted.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			text, err := promptText(c.Context(), prompt, c.Flags().Changed("prompt"), io.in)
			if err != nil {
				return err
			}
			if text == "" && h.Session == "" && !h.Continue {
				return usagef("give a prompt with -p, or on standard input")
			}
			h.StartPlanning = planning
			return h.with(c.Context(), io, func(s *opened) (session.Reply, error) {
				return runPrompt(c.Context(), s, text, planning)
			})
		},
	}
	c.Flags().StringVarP(&prompt, "prompt", "p", "", "what to do")
	c.Flags().BoolVar(&planning, "plan", false, "in plan mode: research, and end with a plan")
	c.Flags().StringVar(&h.Session, "session", "", "go on with this session; without a prompt, with its interrupted turn")
	c.Flags().BoolVar(&h.Continue, "continue", false, "go on with the newest session of the workspace")
	h.flags(c)
	return c
}

// runPrompt gives the prompt to the session, which answers a slash command itself.
func runPrompt(ctx context.Context, s *opened, text string, planning bool) (session.Reply, error) {
	if planning && !s.PlanMode().State().ReadOnly() {
		if reply, err := s.Do(ctx, plan.Headless, session.Step{Event: plan.Enter{}}); err != nil {
			return reply, err
		}
	}
	if text != "" {
		return s.Do(ctx, plan.Headless, session.Prompt{Text: text})
	}
	if s.PlanMode().Mode() == planmode.ModeReady {
		return session.Reply{}, nil // the plan is still what there is to say
	}
	return s.Do(ctx, plan.Headless, session.Resume{})
}
