package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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
	c := &cobra.Command{Use: "list", Short: "List the sessions of the workspace, newest first", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
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
		for i, v := range lookAll(c.Context(), files) {
			f := files[i]
			switch {
			case v.err != nil:
				fmt.Fprintf(io.err, "planmode: session %s: %s\n", f.ID, shown(v.err.Error()))
				if asJSON {
					err = enc.Encode(map[string]any{"session": f.ID, "project": f.Project, "changed": f.Changed.UTC().Format(time.RFC3339), "error": v.err.Error()})
				}
			case asJSON:
				err = enc.Encode(map[string]any{
					"session": f.ID, "project": f.Project, "changed": f.Changed.UTC().Format(time.RFC3339), "mode": v.State.Mode(),
					"title": v.Title, "workspace": v.Workspace, "turns": v.Turns,
				})
			default:
				_, err = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", f.ID, f.Changed.Format("2006-01-02 15:04"), v.State.Mode(), counted(v.Turns, "turn"), oneLine(v.Title))
			}
			if err != nil {
				return err
			}
		}
		return errors.Join(w.Flush(), c.Context().Err())
	}}
	c.Flags().BoolVar(&all, "all", false, "of every workspace")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return c
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// A looked is a session that was looked at, without its entries, or why it cannot be.
type looked struct {
	session.View
	err error
}

// lookAll yields what the files hold, in their order, and reads several of them at a time. Journals are
// read whole: what a session is at follows from all of its lines, and nothing else is kept that could say
// something else.
func lookAll(ctx context.Context, files []sessionFile) iter.Seq2[int, looked] {
	return func(yield func(int, looked) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var readers sync.WaitGroup
		defer readers.Wait()
		defer cancel()
		results := make([]chan looked, len(files))
		for i := range results {
			results[i] = make(chan looked, 1)
		}
		next := make(chan int)
		for range min(runtime.GOMAXPROCS(0), len(files)) {
			readers.Go(func() {
				for i := range next {
					v, err := look(files[i])
					if err != nil {
						results[i] <- looked{err: err}
						continue
					}
					v.Entries = nil // the larger part
					results[i] <- looked{View: *v}
				}
			})
		}
		readers.Go(func() {
			defer close(next)
			for i := range files {
				select {
				case next <- i:
				case <-ctx.Done():
					return
				}
			}
		})
		for i := range files {
			select {
			case r := <-results[i]:
				if !yield(i, r) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// onFile is a command on one session's file.
func onFile(use, short string, run func(p *place, at sessionFile) error) *cobra.Command {
	return &cobra.Command{Use: use + " SESSION", Short: short, Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		p, err := findPlace("")
		if err != nil {
			return err
		}
		at, err := p.findSession(args[0])
		if err != nil {
			return err
		}
		return run(p, at)
	}}
}

// onSession is a command that reads one session.
func onSession(use, short string, run func(at sessionFile, v *session.View) error) *cobra.Command {
	return onFile(use, short, func(_ *place, at sessionFile) error {
		v, err := look(at)
		if err != nil {
			return fmt.Errorf("session %s: %w", at.ID, err)
		}
		return run(at, v)
	})
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
		return "session started in " + oneLine(ev.Workspace)
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
		return fmt.Sprintf("refused %s: %s", oneLine(ev.Call.Tool), oneLine(ev.Refusal.Reason))
	case session.CallFinished:
		return fmt.Sprintf("ran %s in %d ms", oneLine(ev.Tool), ev.Millis)
	case session.PermissionAsked:
		return "asked for " + oneLine(ev.Call.Tool) + ": " + oneLine(ev.Reason)
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
	case session.CallAllowed, session.Delta, session.Pending, session.PermissionClosed, session.Progress,
		session.QuestionsAsked, session.QuestionsClosed, session.SettingsChanged, session.Spent, session.Told,
		session.TurnStarted: // what they belong to says it
	case session.Unknown:
		return "an entry of type " + oneLine(ev.Type)
	}
	return ""
}

func describePlan(ev plan.Event) string {
	switch ev := ev.(type) {
	case plan.Submit:
		return "plan submitted: " + oneLine(plan.TitleOf(ev.Text)) + " (" + plan.DigestOf(ev.Text).Short() + ")"
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
		_, err := fmt.Fprint(io.out, shown(r.Text))
		return err
	})
}

// newSessionsExport prints the journal as it is kept, other branches and lines of a later version included:
// a copy of it under sessions/ is the session.
func newSessionsExport(io streams) *cobra.Command {
	return onFile("export", "Print a session's journal, a JSON object a line", func(_ *place, at sessionFile) error {
		out := bufio.NewWriter(io.out)
		for line, err := range journal.Read(at.Path, nil) {
			if err != nil {
				return fmt.Errorf("session %s: %w", at.ID, err)
			}
			if !json.Valid(line.Data) {
				fmt.Fprintf(io.err, "planmode: session %s: line %d is no JSON; it is printed as it is\n", at.ID, line.Number)
			}
			if _, err := out.Write(append(line.Data, '\n')); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}

func newSessionsRm(io streams) *cobra.Command {
	return onFile("rm", "Remove a session with its plans and outputs", func(p *place, at sessionFile) error {
		file, err := journal.Open(at.Path, nil) // nobody is writing it
		if err != nil {
			return openError(at, err)
		}
		err = errors.Join(p.removeSession(at), file.Close())
		if err == nil {
			err = os.Remove(at.Path + ".lock")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("session %s is not wholly removed; planmode sessions rm %s goes on with it: %w", at.ID, at.ID, err)
		}
		fmt.Fprintf(io.err, "session %s was removed\n", at.ID)
		return nil
	})
}

// removeSession removes what belongs to a session, and its journal last: as long as something is left, the
// session can be named.
func (p *place) removeSession(at sessionFile) error {
	torn, err := filepath.Glob(globQuote(at.Path) + ".torn-*")
	if err != nil {
		return err
	}
	for _, path := range append(torn, p.planDir(at.Project, at.ID), p.keepDir(at.Project, at.ID)) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return os.Remove(at.Path)
}

// globQuote makes a pattern that matches the path alone.
func globQuote(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}
