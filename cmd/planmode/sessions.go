package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/planmode-dev/planmode/internal/journal"
	"github.com/planmode-dev/planmode/internal/session"
	"github.com/planmode-dev/planmode/plan"
)

func newSessions(io streams) *cobra.Command {
	c := &cobra.Command{Use: "sessions", Short: "List, show, export and remove sessions", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		return usagef("name one of list, show, plan, export, rm")
	}}
	c.AddCommand(newSessionsList(io), newSessionsShow(io), newSessionsPlan(io), newSessionsExport(io), newSessionsRm(io))
	return c
}

// look reads a session without taking its lock and without writing anything.
func look(at sessionFile) (*session.View, error) {
	return session.Look(func(yield func([]byte) bool) {
		for line, err := range journal.Read(at.Path, nil) {
			if err != nil {
				line.Data = []byte("unreadable: " + err.Error())
			}
			if !yield(line.Data) {
				return
			}
		}
	})
}

func newSessionsList(io streams) *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{Use: "list", Short: "List the sessions of the workspace, newest first", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		p, err := findPlace("")
		if err != nil {
			return err
		}
		files, err := p.sessionFiles(all)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(io.out, 0, 8, 2, ' ', 0)
		enc := json.NewEncoder(io.out)
		for _, f := range files {
			v, err := look(f)
			if err != nil {
				fmt.Fprintf(io.err, "planmode: session %s: %v\n", f.ID, err)
				continue
			}
			if asJSON {
				err = enc.Encode(map[string]any{
					"session": f.ID, "project": f.Project, "changed": f.Changed.UTC().Format(time.RFC3339), "mode": v.State.Mode(),
					"title": v.Title, "workspace": v.Workspace, "turns": v.Turns,
				})
			} else {
				_, err = fmt.Fprintf(w, "%s\t%s\t%s\t%d turns\t%s\n", f.ID, f.Changed.Format("2006-01-02 15:04"), v.State.Mode(), v.Turns, v.Title)
			}
			if err != nil {
				return err
			}
		}
		return w.Flush()
	}}
	c.Flags().BoolVar(&all, "all", false, "of every workspace")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return c
}

// onSession is a command that reads one session.
func onSession(use, short string, run func(at sessionFile, v *session.View) error) *cobra.Command {
	return &cobra.Command{Use: use + " SESSION", Short: short, Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		p, err := findPlace("")
		if err != nil {
			return err
		}
		at, err := p.findSession(args[0])
		if err != nil {
			return err
		}
		v, err := look(at)
		if err != nil {
			return err
		}
		return run(at, v)
	}}
}

func newSessionsShow(io streams) *cobra.Command {
	return onSession("show", "Show what happened in a session", func(_ sessionFile, v *session.View) error {
		for _, e := range v.Entries {
			if line := describe(e); line != "" {
				if _, err := fmt.Fprintf(io.out, "%s  %-14s %s\n", e.Time.Local().Format("15:04:05"), e.By, line); err != nil {
					return err
				}
			}
		}
		_, err := fmt.Fprintf(io.out, "mode: %s\n", v.State.Mode())
		return err
	})
}

// describe is one line of an entry for people; "" for what says nothing to them.
func describe(e session.Entry) string {
	switch ev := e.Event.(type) {
	case session.Started:
		return "session started in " + ev.Workspace
	case session.PlanStepped:
		return describePlan(ev.Event)
	case session.Queued:
		return "queued: " + oneLine(ev.Text)
	case session.Prompted:
		return "prompt: " + oneLine(ev.Text)
	case session.Answered:
		if text := ev.Message.Text(); text != "" {
			return "answer: " + oneLine(text)
		}
		return fmt.Sprintf("%d calls", len(ev.Message.Calls()))
	case session.CallRefused:
		return fmt.Sprintf("refused %s: %s", ev.Call.Tool, oneLine(ev.Refusal.Reason))
	case session.CallFinished:
		return fmt.Sprintf("ran %s in %d ms", ev.Tool, ev.Millis)
	case session.PermissionAsked:
		return "asked for " + ev.Call.Tool + ": " + ev.Reason
	case session.Compacted:
		return "context compacted"
	case session.TurnEnded:
		return "turn ended: " + ev.Stop + " " + oneLine(ev.Note)
	case session.Moved:
		return "went back to " + ev.To
	case session.Warned:
		return "warning: " + oneLine(ev.Text)
	case session.TodosChanged:
		return fmt.Sprintf("todos: %d of %d completed", ev.Counts.Completed, ev.Counts.Total)
	}
	return ""
}

func describePlan(ev plan.Event) string {
	switch ev := ev.(type) {
	case plan.Submit:
		return "plan submitted: " + plan.TitleOf(ev.Text) + " (" + plan.DigestOf(ev.Text).Short() + ")"
	case plan.Approve:
		return "plan approved: " + ev.Digest.Short()
	case plan.Reject:
		return "plan rejected: " + oneLine(ev.Feedback)
	}
	return "plan mode: " + plan.EventName(ev)
}

func newSessionsPlan(io streams) *cobra.Command {
	return onSession("plan", "Print the newest plan of a session", func(at sessionFile, v *session.View) error {
		r, ok := v.State.Newest()
		if !ok {
			return fmt.Errorf("session %s has no plan", at.ID)
		}
		fmt.Fprintf(io.err, "revision %d, %s, digest %s\n", r.Number, r.Status, r.Digest)
		_, err := fmt.Fprint(io.out, r.Text)
		return err
	})
}

func newSessionsExport(io streams) *cobra.Command {
	return onSession("export", "Print a session's journal, a JSON object a line", func(_ sessionFile, v *session.View) error {
		enc := json.NewEncoder(io.out)
		enc.SetEscapeHTML(false)
		for _, e := range v.Entries {
			if err := enc.Encode(e); err != nil {
				return err
			}
		}
		return nil
	})
}

func newSessionsRm(io streams) *cobra.Command {
	return &cobra.Command{Use: "rm SESSION", Short: "Remove a session with its plans and outputs", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		p, err := findPlace("")
		if err != nil {
			return err
		}
		at, err := p.findSession(args[0])
		if err != nil {
			return err
		}
		file, err := journal.Open(at.Path, nil) // nobody is writing it
		if err != nil {
			return openError(at, err)
		}
		err = errors.Join(os.Remove(at.Path), file.Close())
		for _, dir := range []string{p.planDir(at.Project, at.ID), p.keepDir(at.Project, at.ID)} {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		if e := os.Remove(at.Path + ".lock"); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		if err == nil {
			fmt.Fprintf(io.err, "session %s was removed\n", at.ID)
		}
		return err
	}}
}
