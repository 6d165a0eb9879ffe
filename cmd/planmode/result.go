package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planmode-dev/planmode/internal/session"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
)

// An outcome is how a headless command ended, as --output json writes it.
type outcome struct {
	Session  string           `json:"session"`
	Mode     plan.Mode        `json:"mode"`
	Stop     string           `json:"stop"`
	Note     string           `json:"note,omitempty"`
	Error    *session.Failure `json:"error,omitempty"`
	Text     string           `json:"text,omitempty"`
	Plan     *planOutcome     `json:"plan,omitempty"`
	Todos    string           `json:"todos,omitempty"` // done/total
	Usage    llm.Usage        `json:"usage"`
	Refused  int              `json:"refused_calls"`
	Warnings []session.Warned `json:"warnings,omitempty"`
	ExitCode int              `json:"exit_code"`
	Workdir  string           `json:"workspace"`
	Ran      map[string]int   `json:"calls,omitempty"` // by tool
}

type planOutcome struct {
	Revision int         `json:"revision"`
	Digest   plan.Digest `json:"digest"`
	Status   plan.Status `json:"status"`
	Title    string      `json:"title"`
	Text     string      `json:"text"`
	File     string      `json:"file,omitempty"`
}

// A follower watches a session through one command.
type follower struct {
	s      *opened
	format string
	io     streams
	out    outcome
	enc    *json.Encoder
	last   uint64 // the newest entry that was seen
}

// follow carries out a command on a session and reports what comes of it, until the session has settled.
// An interrupt cancels what is running.
func follow(ctx context.Context, s *opened, format string, io streams, do func() error) error {
	f := &follower{s: s, format: format, io: io, enc: json.NewEncoder(io.out), out: outcome{Ran: map[string]int{}}}
	f.enc.SetEscapeHTML(false)
	before := s.Status().Seq
	f.last = before
	if err := do(); err != nil {
		if errors.Is(err, session.ErrUsage) {
			err = usageError{err}
		}
		return err
	}
	watching, stop := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for e := range s.Events(watching, before) {
			f.see(e)
		}
	}()
	if err := s.Wait(ctx); err != nil {
		_, _ = s.Do(context.Background(), plan.Headless, session.Cancel{})
		settle, cancel := context.WithTimeout(context.Background(), settleTime)
		defer cancel()
		_ = s.Wait(settle) // what is not written by then is closed when the session is opened again
	}
	stop()
	<-watched
	for e := range s.Events(watching, f.last) { // what came since, for the context has ended
		f.see(e)
	}
	return f.finish(ctx)
}

// settleTime is how long a cancelled turn may take to write down how it ended.
const settleTime = 10 * time.Second

// see shows an entry, and keeps of it what the outcome needs.
func (f *follower) see(e session.Entry) {
	if e.Seq > 0 {
		f.last = e.Seq
	}
	if f.format == "stream-json" {
		_ = f.enc.Encode(e) // a reader that is gone ends the process by SIGPIPE
	}
	switch ev := e.Event.(type) {
	case session.Answered:
		f.out.Usage = f.out.Usage.Add(ev.Usage)
		if text := ev.Message.Text(); text != "" {
			f.out.Text = plan.Strip(text)
		}
	case session.CallAllowed:
		f.out.Ran[ev.Tool]++
		f.progress("· %s", ev.Tool)
	case session.CallRefused:
		f.out.Refused++
		f.progress("✗ %s: %s", ev.Call.Tool, oneLine(ev.Refusal.Reason))
	case session.Delta:
		if ev.Void != "" {
			f.progress("… asking again: %s", oneLine(ev.Void))
		}
	case session.Warned:
		f.out.Warnings = append(f.out.Warnings, ev)
		f.progress("! %s", oneLine(ev.Text))
	case session.TurnEnded:
		f.out.Stop, f.out.Note, f.out.Error = ev.Stop, ev.Note, ev.Error
	}
}

// progress writes to standard error: standard output is the outcome's.
func (f *follower) progress(format string, args ...any) {
	if f.format == "text" {
		fmt.Fprintf(f.io.err, format+"\n", args...)
	}
}

func oneLine(s string) string {
	const limit = 200
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit-1]) + "…"
	}
	return s
}

// finish writes the outcome and returns it as an exit code.
func (f *follower) finish(ctx context.Context) error {
	st := f.s.PlanMode().State()
	status := f.s.Status()
	f.out.Session, f.out.Mode, f.out.Workdir = f.s.ID(), st.Mode(), status.Workspace
	if status.Todos.Total > 0 {
		f.out.Todos = fmt.Sprintf("%d/%d", status.Todos.Completed, status.Todos.Total)
	}
	if r, ok := st.Newest(); ok {
		f.out.Plan = &planOutcome{r.Number, r.Digest, r.Status, r.Title, r.Text, status.PlanFile}
	}
	f.out.ExitCode = f.exitCode(ctx, st.Mode())
	var err error
	switch f.format {
	case "json", "stream-json":
		err = f.enc.Encode(struct {
			Type string `json:"type"`
			*outcome
		}{"outcome", &f.out})
	default:
		err = f.text()
	}
	if err != nil {
		return err
	}
	if f.out.ExitCode != exitDone {
		return exitStatus(f.out.ExitCode)
	}
	return nil
}

func (f *follower) exitCode(ctx context.Context, mode plan.Mode) int {
	switch {
	case ctx.Err() != nil || f.out.Stop == "cancelled":
		return exitInterrupted
	case f.out.Stop == "needs_user":
		return exitNeedsUser
	case mode == plan.Ready && slices.Contains([]string{"", "plan_ready", "end_turn", "interrupted"}, f.out.Stop):
		return exitPlanReady
	case f.out.Stop == "end_turn", f.out.Stop == "plan_ready":
		return exitDone
	}
	return exitError
}

// text writes the outcome for people: the plan or the answer on standard output, the rest beside it.
func (f *follower) text() error {
	o := &f.out
	switch {
	case o.ExitCode == exitPlanReady:
		if o.Text != "" {
			fmt.Fprintf(f.io.err, "\n%s\n", o.Text)
		}
		if _, err := fmt.Fprint(f.io.out, o.Plan.Text); err != nil {
			return err
		}
		fmt.Fprintf(f.io.err, `
Revision %d waits for your approval. Nothing was changed.
  planmode approve %s --digest %s
  planmode reject %s --feedback "what should be different"
`, o.Plan.Revision, o.Session, o.Plan.Digest.Short(), o.Session)
		return nil
	case o.Text != "":
		if _, err := fmt.Fprintln(f.io.out, o.Text); err != nil {
			return err
		}
	}
	switch o.ExitCode {
	case exitDone:
		if o.Mode == plan.Executing && o.Todos != "" {
			fmt.Fprintf(f.io.err, "planmode: %s steps of the plan are completed; the session is still executing it\n", o.Todos)
		}
	case exitNeedsUser:
		fmt.Fprintf(f.io.err, "planmode: %s\nThe session is kept: allow it by a rule or by --autonomy and go on with\n  planmode run --session %s\n", o.Note, o.Session)
	case exitInterrupted:
		fmt.Fprintf(f.io.err, "planmode: interrupted; the session is kept: go on with\n  planmode run --session %s\n", o.Session)
	default:
		fmt.Fprintf(f.io.err, "planmode: %s\nThe session is kept: go on with\n  planmode run --session %s\n", orText(o.Note, "the turn ended: "+o.Stop), o.Session)
	}
	return nil
}

func orText(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
