// Package session is one conversation: commands go in, events come out, and everything that happened is
// on the journal before it counts. It owns the queues, the pending switch, compaction and branches. It
// knows no terminal, no network, no vendor and no file.
//
// A [Session] is safe for concurrent use. [Session.Do] takes one command at a time and returns when it
// is accepted and recorded, or refused; [Session.Events] is a cursor over what happened, so a screen
// that comes late, one that reconnects and a second one are all the same thing, and a slow one can
// neither lose anything nor hold anything up.
package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/planmode-dev/planmode"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

// Config is what a session is made of. ID, Workspace, Journal, Registry and Open are required.
type Config struct {
	ID        string
	Workspace string
	Journal   Journal
	// Lines are those of the session's earlier life; nil for a new one.
	Lines iter.Seq[[]byte]
	// Registry holds the tools. The session adds submit_plan and request_review.
	Registry *tool.Registry
	// Gate is what the session's gate is made of. The session sets Host and Autonomy.
	Gate tool.Config
	// PlanDir is the folder of the plan files.
	PlanDir string
	// Open returns the provider of a model that the settings name.
	Open func(model string) (llm.Provider, llm.Model, error)
	// Review and CodeReview name the reviewers' models; "" means the session's own.
	ReviewModel, ReviewThinking string
	// System is the part of the system prompt that never changes.
	System   string
	Settings Settings // of a new session
	// StartPlanning and AfterDone are the user's configuration of a new session.
	StartPlanning bool
	AfterDone     planmode.Mode
	Exposure      planmode.Exposure
	// ModelMayEnter lets the model ask the user to turn plan mode on.
	ModelMayEnter bool
	// Sandbox says what the kernel enforces while planning, for status lines and the plans' record.
	Sandbox func() string
	// Interactive says that somebody can answer. Without it a call that the user must be asked about
	// ends the turn.
	Interactive bool
	MaxRequests int // to the model in one turn; 200 by default
	Now         func() time.Time
}

// A Session is one conversation.
type Session struct {
	cfg   Config
	log   *log
	pm    *planmode.PlanMode
	todos *tasks.Store
	// problems are what was found wrong with the journal.
	problems []error

	// do is held while a command is carried out, so that what it found true still is.
	do sync.Mutex

	mu       sync.Mutex
	t        Transcript
	turn     *running       // nil while idle
	pending  plan.UserEvent // to be applied when the turn has settled
	due      bool           // an approval waits for its execution to begin
	notice   bool           // the next request carries the notice that plan mode was left
	wallTold bool           // the user knows that there is no wall of the kernel
	replying map[string]chan reply
	closed   bool
}

// running is a turn or a review that is under way.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
	what   string // "turn", "review" or "compaction"
	// cancelled is where a person cancelled it; "" if nobody did.
	cancelled plan.Surface
}

// Open makes a session, or takes one up again. It writes nothing to a journal that has lines. The error
// says why there is no session; [Session.Problems] says what was skipped.
func Open(cfg Config) (*Session, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Session{cfg: cfg, log: newLog(cfg.Journal, cfg.Now), todos: tasks.NewStore(tasks.Options{}), replying: map[string]chan reply{}}
	if cfg.Lines != nil {
		problems, err := s.log.load(cfg.Lines)
		if err != nil {
			return nil, err
		}
		s.problems = problems
	}
	s.t.settings = cfg.Settings
	if len(s.log.entries) == 0 {
		if err := s.begin(); err != nil {
			return nil, err
		}
	}
	s.restore()
	return s, nil
}

// begin writes the first entries of a new session, both or none. The mode that it starts in is the
// user's, by their configuration.
func (s *Session) begin() error {
	start := plan.Start{Stamp: plan.Stamp{At: s.cfg.Now(), Surface: plan.Library}, Mode: plan.Off, AfterDone: s.afterDone()}
	if s.cfg.StartPlanning {
		start.Mode = plan.Planning
	}
	return s.append(userPrefix+string(plan.Library),
		Started{Version: Version, Workspace: s.cfg.Workspace, Settings: s.cfg.Settings}, PlanStepped{start})
}

func (s *Session) afterDone() plan.Mode {
	if s.cfg.AfterDone == planmode.ModePlanning {
		return plan.Planning
	}
	return plan.Off
}

// Problems returns what was found wrong with the journal when it was opened.
func (s *Session) Problems() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.problems...)
}

// restore folds the branch and builds plan mode on it. It writes nothing.
func (s *Session) restore() {
	history := s.foldBranch()
	s.pm = planmode.New(planmode.Config{
		Registry: s.cfg.Registry, PlanDir: s.cfg.PlanDir, TaskStore: s.todos, Gate: s.gateConfig(),
		ReviewCfg: s.reviewConfig(), Exposure: s.cfg.Exposure, ModelMayEnter: s.cfg.ModelMayEnter, History: history, PlanName: s.cfg.ID, Spent: s.spent,
		Sandbox: s.cfg.Sandbox, Record: s.recordPlan, Effects: s.effects, Report: s.reportPlan, Now: s.cfg.Now,
	})
}

// foldBranch folds the entries of the branch, and returns those of plan mode.
func (s *Session) foldBranch() []plan.Event {
	entries := s.log.branch()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t = Transcript{settings: s.cfg.Settings}
	var st plan.State
	history := planEvents(entries, s.afterDone())
	todos := tasks.NewStore(tasks.Options{}) // of a branch that never had any
	st, _, _ = plan.Step(st, history[0])     // which need not stand in the entries
	for _, e := range entries {
		s.t.fold(e)
		switch ev := e.Event.(type) {
		case PlanStepped:
			if next, effects, err := plan.Step(st, ev.Event); err == nil {
				st = next
				s.problem(planmode.FollowTodos(todos, effects, st.Plan()))
			}
		case TodosChanged:
			s.problem(todos.Load(ev.State))
		default: // neither a plan nor a todo list
		}
	}
	s.problem(s.todos.Load(todos.State()))
	return history
}

// problem keeps an error. It is called with s.mu held.
func (s *Session) problem(err error) {
	if err != nil {
		s.problems = append(s.problems, err)
	}
}

// planEvents returns the entries' events of plan mode. A branch without the first one, the user's
// configuration, is planning: nothing says that it may be more.
func planEvents(entries []Entry, afterDone plan.Mode) []plan.Event {
	var history []plan.Event
	for _, e := range entries {
		if ev, ok := e.Event.(PlanStepped); ok {
			history = append(history, ev.Event)
		}
	}
	if len(history) > 0 {
		if _, ok := history[0].(plan.Start); ok {
			return history
		}
	}
	return append([]plan.Event{plan.Start{Mode: plan.Planning, AfterDone: afterDone}}, history...)
}

// append writes events and folds them.
func (s *Session) append(by string, events ...Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.append(by, s.t.fold, events...)
}

// recordPlan is called before a plan event takes effect.
func (s *Session) recordPlan(ev plan.Event) error {
	by := userPrefix + string(plan.EventStamp(ev).Surface)
	switch ev.(type) {
	case plan.ModelEvent:
		by = "model"
	case plan.HostEvent:
		by = "host"
	}
	return s.append(by, PlanStepped{ev})
}

// spent counts what a reviewer used.
func (s *Session) spent(u llm.Usage) {
	s.warnIf("usage", s.append("host", Spent{What: "review", Usage: u}))
}

// effects is called after a plan event has taken effect.
func (s *Session) effects(_ plan.Event, effects []plan.Effect) {
	for _, e := range effects {
		switch e.(type) {
		case plan.ExecutionDue:
			s.mu.Lock()
			s.due = true
			s.mu.Unlock()
		case plan.NoticeDue:
			s.mu.Lock()
			s.notice = true
			s.mu.Unlock()
		case plan.TodosDue, plan.TodosClosed:
			s.warnIf("todos", s.append("host", TodosChanged{State: s.todos.State(), Counts: s.todos.Counts()}))
		case plan.ModeChanged, plan.RevisionAdded, plan.RevisionChanged:
		}
	}
}

// reportPlan is told what plan mode could not do. Refused transitions are returned to whoever asked for
// them; this is for the rest.
func (s *Session) reportPlan(err error) {
	var refused *plan.TransitionError
	if errors.As(err, &refused) {
		return
	}
	s.mu.Lock()
	s.problems = append(s.problems, err)
	s.mu.Unlock()
}

// warnIf keeps an error that nobody waits for.
func (s *Session) warnIf(code string, err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	s.problems = append(s.problems, fmt.Errorf("%s: %w", code, err))
	s.mu.Unlock()
}

// ID returns the session's name.
func (s *Session) ID() string { return s.cfg.ID }

// PlanMode returns the session's plan mode, for looking at it. Transitions go through [Session.Do].
func (s *Session) PlanMode() *planmode.PlanMode { return s.pm }

// Events yields every entry after the given number, then what comes, transient events included, until
// ctx ends.
func (s *Session) Events(ctx context.Context, after uint64) iter.Seq[Entry] {
	return s.log.events(ctx, after)
}

// A Status is what a screen shows of a session all the time.
type Status struct {
	ID        string       `json:"id"`
	Title     string       `json:"title,omitempty"`
	Workspace string       `json:"workspace"`
	Mode      plan.Mode    `json:"mode"`
	Next      plan.Mode    `json:"next"` // the mode after the turn; the same as Mode if no switch is pending
	Busy      string       `json:"busy,omitempty"`
	Settings  Settings     `json:"settings"`
	Plan      *PlanStatus  `json:"plan,omitempty"`
	PlanFile  string       `json:"plan_file,omitempty"`
	Todos     tasks.Counts `json:"todos"`
	Usage     llm.Usage    `json:"usage"`
	Turns     int          `json:"turns"`
	Asking    []string     `json:"asking,omitempty"` // IDs of open questions and permissions
	Seq       uint64       `json:"seq"`              // of the newest entry
}

// A PlanStatus is the newest revision in short.
type PlanStatus struct {
	Number int         `json:"number"`
	Digest plan.Digest `json:"digest"`
	Title  string      `json:"title"`
	Steps  int         `json:"steps"`
	Status plan.Status `json:"status"`
	Author plan.Author `json:"author"`
}

// Status returns what the session is at.
func (s *Session) Status() Status {
	st, file := s.pm.State(), s.pm.PlanFilePath()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Status{
		ID: s.cfg.ID, Title: s.t.title, Workspace: s.cfg.Workspace, Mode: st.Mode(), Next: s.nextMode(st), Settings: s.t.settings,
		PlanFile: file, Todos: s.todos.Counts(), Usage: s.t.usage, Turns: s.t.turns, Seq: uint64(len(s.log.entries)),
	}
	if s.t.settings.Title != "" {
		out.Title = s.t.settings.Title
	}
	if s.turn != nil {
		out.Busy = s.turn.what
	}
	if r, ok := st.Newest(); ok {
		out.Plan = &PlanStatus{r.Number, r.Digest, r.Title, len(r.Steps()), r.Status, r.Author}
	}
	for id := range s.t.asks {
		out.Asking = append(out.Asking, id)
	}
	for id := range s.t.quizzes {
		out.Asking = append(out.Asking, id)
	}
	slices.Sort(out.Asking)
	return out
}

// Wait returns when the session is idle with nothing due, or ctx ends.
func (s *Session) Wait(ctx context.Context) error {
	for {
		s.mu.Lock()
		t := s.turn
		s.mu.Unlock()
		if t == nil {
			return nil
		}
		select {
		case <-t.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close cancels what is running and waits for it. The session takes no commands any more.
func (s *Session) Close() {
	s.do.Lock()
	s.mu.Lock()
	s.closed = true
	t := s.turn
	s.mu.Unlock()
	s.do.Unlock()
	if t != nil {
		t.cancel()
		<-t.done
	}
}
