package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/planmode-dev/planmode/internal/session"
	"github.com/planmode-dev/planmode/plan"
)

func newApprove(io streams) *cobra.Command {
	var h headless
	var digest, how, note string
	c := &cobra.Command{
		Use:   "approve SESSION",
		Short: "Approve the plan that a session waits with, and execute it",
		Long: `Approve the plan that a session waits with, and execute exactly that text.

With --digest the plan must be the one that you saw: if another revision has come since, nothing happens.
Every change of the execution still goes through your rules and your autonomy setting.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ev := plan.Approve{Note: note}
			switch how {
			case "execute":
			case string(plan.Compact), string(plan.Fresh):
				ev.How = plan.How(how)
			default:
				return usagef("--how %q is none of execute, compact, fresh", how)
			}
			if err := checkText("--note", note); err != nil {
				return err
			}
			h.Session = args[0]
			return h.with(c.Context(), io, func(s *opened) (session.Reply, error) {
				st := s.PlanMode().State()
				r, ok := st.Newest()
				if digest != "" {
					if r, ok = st.Find(digest); !ok {
						return session.Reply{}, usagef("session %s has no revision %q; planmode sessions plan %s shows the newest", s.ID(), digest, s.ID())
					}
				}
				if !ok {
					return session.Reply{}, usagef("session %s has no plan", s.ID())
				}
				ev.Digest = r.Digest
				return s.Do(c.Context(), plan.Headless, session.Step{Event: ev})
			})
		},
	}
	c.Flags().StringVar(&digest, "digest", "", "the digest, or its first digits, of the text that you approve")
	c.Flags().StringVar(&how, "how", "execute", "execute, compact (the context first) or fresh (in a context that holds the plan alone)")
	c.Flags().StringVar(&note, "note", "", "additional instructions, which outrank the plan")
	h.flags(c)
	return c
}

func newReject(io streams) *cobra.Command {
	var h headless
	var feedback string
	c := &cobra.Command{
		Use:   "reject SESSION --feedback TEXT",
		Short: "Send a plan back, and let the model make another",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkText("--feedback", feedback); err != nil {
				return err
			}
			if strings.TrimSpace(feedback) == "" {
				return usagef("say with --feedback what should be different")
			}
			h.Session = args[0]
			return h.with(c.Context(), io, func(s *opened) (session.Reply, error) {
				return s.Do(c.Context(), plan.Headless, session.Prompt{Text: "/plan reject " + feedback})
			})
		},
	}
	c.Flags().StringVar(&feedback, "feedback", "", "what should be different")
	h.flags(c)
	return c
}
