package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/planmode-dev/planmode/internal/session"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
)

// An outcome is how a headless command ended, as --output json writes it. docs/using.md has the table.
type outcome struct {
	Type     string           `json:"type"` // "outcome"
	Session  string           `json:"session"`
	Workdir  string           `json:"workspace"`
	Mode     plan.Mode        `json:"mode"`
	Stop     string           `json:"stop"` // "" if no turn was played
	ExitCode int              `json:"exit_code"`
	Note     string           `json:"note,omitempty"`
	Error    *session.Failure `json:"error,omitempty"`
	Reply    string           `json:"reply,omitempty"` // to a slash command
	Text     string           `json:"text,omitempty"`
	Plan     *planOutcome     `json:"plan,omitempty"`
	Todos    string           `json:"todos,omitempty"` // completed/total
	Usage    llm.Usage        `json:"usage"`
	Ran      map[string]int   `json:"calls,omitempty"` // by tool
	Refused  int              `json:"refused_calls"`
	Warnings []session.Warned `json:"warnings,omitempty"`
	Problems []string         `json:"problems,omitempty"` // such as what could not be written
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
	known  int    // problems that were told when the session was opened
	// broken is why standard output takes nothing any more; stop then ends the turn, for nobody hears of it.
	broken error
	stop   context.CancelFunc
}

// settleTime is how long a cancelled turn may take to write down how it ended.
const settleTime = 10 * time.Second

// follow carries out a command on a session and reports what comes of it, until the session has settled.
// An interrupt, and a standard output that takes nothing any more, cancel what is running.
func follow(ctx context.Context, s *opened, format string, io streams, do action) error {
	restore := brokenPipesAreErrors()
	defer restore()
	heard, stop := context.WithCancel(ctx)
	defer stop()
	f := &follower{
		s: s, format: format, io: io, enc: json.NewEncoder(io.out), out: outcome{Type: "outcome", Ran: map[string]int{}},
		known: len(s.Problems()), stop: stop,
	}
	f.enc.SetEscapeHTML(false)
	if !s.isNew {
		f.last = s.Status().Seq
	}
	before := f.last
	reply, err := do(s)
	if errors.Is(err, session.ErrUsage) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	f.out.Reply = replyText(reply)
	watching, stopWatching := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for e := range s.Events(watching, before) {
			f.see(e)
		}
	}()
	if err := s.Wait(heard); err != nil {
		_, _ = s.Do(context.Background(), plan.Headless, session.Cancel{})
		settle, cancel := context.WithTimeout(context.Background(), settleTime)
		defer cancel()
		_ = s.Wait(settle) // what is not written by then is closed when the session is opened again
	}
	stopWatching()
	<-watched
	for e := range s.Events(watching, f.last) { // what came since, for the context has ended
		f.see(e)
	}
	return f.finish(ctx)
}

// replyText is what the session says to a command, with the choices that the person has.
func replyText(r session.Reply) string {
	text := r.Text
	for _, c := range r.Menu {
		text += fmt.Sprintf("\n  %-40s %s", c.Command, c.Label)
	}
	return text
}

// see shows an entry, and keeps of it what the outcome needs.
func (f *follower) see(e session.Entry) {
	if e.Seq > 0 {
		f.last = e.Seq
	}
	if f.format == "stream-json" && f.broken == nil {
		if f.broken = f.enc.Encode(e); f.broken != nil {
			f.stop()
		}
	}
	switch ev := e.Event.(type) {
	case session.Answered:
		f.out.Usage = f.out.Usage.Add(ev.Usage)
		if text := ev.Message.Text(); text != "" {
			f.out.Text = plan.Strip(text)
		}
	case session.CallAllowed:
		f.out.Ran[ev.Tool]++
		f.progress("· %s", oneLine(ev.Tool))
	case session.CallRefused:
		f.out.Refused++
		f.progress("✗ %s: %s", oneLine(ev.Call.Tool), oneLine(ev.Refusal.Reason))
	case session.Delta:
		if ev.Void != "" {
			f.progress("… asking again: %s", oneLine(ev.Void))
		}
	case session.Warned:
		f.out.Warnings = append(f.out.Warnings, ev)
		f.progress("! %s", oneLine(ev.Text))
	case session.TurnEnded:
		f.out.Stop, f.out.Note, f.out.Error = ev.Stop, ev.Note, ev.Error
	case session.CallFinished, session.Compacted, session.Moved, session.Pending, session.PermissionAsked,
		session.PermissionClosed, session.PlanStepped, session.Progress, session.Prompted,
		session.QuestionsAsked, session.QuestionsClosed, session.Queued, session.SettingsChanged,
		session.Spent, session.Started, session.TodosChanged, session.Told, session.TurnStarted,
		session.Unknown: // the outcome says what came of them
	}
}

// progress writes to standard error: standard output is the outcome's.
func (f *follower) progress(format string, args ...any) {
	if f.format == "text" {
		fmt.Fprintf(f.io.err, format+"\n", args...)
	}
}

// finish writes the outcome and returns it as an exit code.
func (f *follower) finish(ctx context.Context) error {
	f.collect()
	f.out.ExitCode = f.exitCode(ctx)
	err := f.broken
	switch {
	case err != nil:
	case f.format == "text":
		err = f.text()
	default:
		err = f.enc.Encode(&f.out)
	}
	if err != nil {
		return fmt.Errorf("standard output cannot be written: %w\nThe session is kept: go on with\n  planmode run --session %s", err, f.s.ID())
	}
	if f.out.ExitCode != exitDone {
		return exitStatus(f.out.ExitCode)
	}
	return nil
}

// collect takes the rest of the outcome from the session.
func (f *follower) collect() {
	st, status := f.s.PlanMode().State(), f.s.Status()
	f.out.Session, f.out.Mode, f.out.Workdir = f.s.ID(), st.Mode(), status.Workspace
	if status.Todos.Total > 0 {
		f.out.Todos = fmt.Sprintf("%d/%d", status.Todos.Completed, status.Todos.Total)
	}
	if r, ok := st.Newest(); ok {
		f.out.Plan = &planOutcome{r.Number, r.Digest, r.Status, r.Title, r.Text, status.PlanFile}
	}
	for _, problem := range f.s.Problems()[f.known:] {
		f.out.Problems = append(f.out.Problems, problem.Error())
	}
}

func (f *follower) exitCode(ctx context.Context) int {
	switch stop := f.out.Stop; {
	case ctx.Err() != nil || stop == "cancelled":
		return exitInterrupted
	case stop == "needs_user":
		return exitNeedsUser
	case stop == "" && len(f.out.Problems) > 0: // how it ended could not be recorded
		return exitError
	case f.out.Mode == plan.Ready && slices.Contains([]string{"", "plan_ready", "end_turn", "interrupted"}, stop):
		return exitPlanReady
	case stop == "", stop == "end_turn", stop == "plan_ready": // "": a command that needed no turn
		return exitDone
	}
	return exitError
}

// text writes the outcome for people: the plan or the answer on standard output, the rest beside it.
func (f *follower) text() error {
	o := &f.out
	for _, problem := range o.Problems {
		fmt.Fprintf(f.io.err, "planmode: %s\n", shown(problem))
	}
	if o.ExitCode == exitPlanReady {
		return f.planText()
	}
	answer := o.Text
	if o.Stop == "" {
		answer = o.Reply
	}
	if answer != "" {
		if _, err := fmt.Fprintln(f.io.out, shown(answer)); err != nil {
			return err
		}
	}
	switch o.ExitCode {
	case exitDone:
		if o.Mode == plan.Executing && o.Todos != "" {
			fmt.Fprintf(f.io.err, "planmode: %s steps of the plan are completed; the session is still executing it\n", o.Todos)
		}
	case exitNeedsUser:
		fmt.Fprintf(f.io.err, "planmode: %s\nThe session is kept: allow it by a rule or by --autonomy and go on with\n  planmode run --session %s\n", shown(o.Note), o.Session)
	case exitInterrupted:
		fmt.Fprintf(f.io.err, "planmode: interrupted; the session is kept: go on with\n  planmode run --session %s\n", o.Session)
	default:
		why := o.Note
		if why == "" {
			why = "the turn ended: " + orText(o.Stop, "its end could not be recorded")
		}
		fmt.Fprintf(f.io.err, "planmode: %s\nThe session is kept: go on with\n  planmode run --session %s\n", shown(why), o.Session)
	}
	return nil
}

// planText writes the plan that waits, and what can be done with it.
func (f *follower) planText() error {
	o := &f.out
	for _, beside := range []string{o.Text, o.Reply} {
		if beside != "" {
			fmt.Fprintf(f.io.err, "\n%s\n", shown(beside))
		}
	}
	if _, err := fmt.Fprint(f.io.out, shown(o.Plan.Text)); err != nil {
		return err
	}
	fmt.Fprintf(f.io.err, `
Revision %d waits for your approval. Nothing was changed.
  planmode approve %s --digest %s
  planmode reject %s --feedback "what should be different"
`, o.Plan.Revision, o.Session, o.Plan.Digest.Short(), o.Session)
	return nil
}

func orText(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
