// Package planmode brings plan mode to a coding agent: the agent researches with what provably changes
// nothing, hands in a plan, and carries out exactly the text that the user approved.
//
// A [PlanMode] is one session's. It holds the mode as a [plan.State], which only events can change, a
// [tool.Gate] through which every tool call must go, the view of the tool list that a model is
// offered, the plan file, and the prompts. The model can hand in a plan and nothing else: every
// method that loosens stands for an act of the user, and no tool reaches one.
//
// An agent adopts it with [New], [PlanMode.Enter], [PlanMode.Tools] and [PlanMode.Gate]; one that runs
// its tools itself asks [PlanMode.FilterToolCall] before each call. The package does not promise that
// an agent which runs tools without asking is held back: use the gate.
package planmode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

// Mode is the phase of plan mode, as it is stored and shown.
type Mode string

// The modes. In ModeOff and ModeExecuting things may be changed; the others are read-only.
const (
	ModeOff       Mode = "off"
	ModePlanning  Mode = "planning"
	ModeReady     Mode = "ready"
	ModeReviewing Mode = "reviewing"
	ModeExecuting Mode = "executing"
)

// Config configures a [PlanMode]. Registry is required.
type Config struct {
	// Registry is the agent's live tool registry. New adds submit_plan and request_review to it,
	// unless tools of those names are there. Nothing is taken out of it: what a mode offers is a view,
	// so tools that come and go meanwhile are neither lost nor brought back.
	Registry *tool.Registry
	// SessionDir is the folder in which the plan files are kept, in a folder "plans"; "" is the
	// user's state folder (XDG_STATE_HOME, else ~/.local/state) under "planmode".
	SessionDir string
	// ReviewCfg and CodeReviewCfg say who reviews plans and code; a zero CodeReviewCfg is ReviewCfg.
	ReviewCfg     ReviewConfig
	CodeReviewCfg ReviewConfig
	// TaskStore is seeded with the steps of an approved plan; nil means that there are no todos.
	TaskStore *tasks.Store

	// Gate is what the session's gate is made of. Its Registry and PlanFile are set by New; so are
	// Host.SubmitPlan and Host.WriteTodos where they are nil. A zero Roots.Workspace is the working
	// directory.
	Gate tool.Config
	// PlanDir overrides the folder of the plan files.
	PlanDir string
	// PlanName names the session's plan files, such as the session's ID: a session that is taken up again
	// finds its file by it. It must be no other session's. "" is a random name that nobody has.
	PlanName string
	// Exposure says how the tool list follows the mode; filtered by default.
	Exposure Exposure
	// History is what has happened in the session before. Events that are not legal where they stand
	// are skipped and reported. A session without history starts off, or planning if StartPlanning is
	// set. Nothing of the history is recorded again.
	History       []plan.Event
	StartPlanning bool
	// ModelMayEnter adds a tool by which the model can ask the user to turn plan mode on. Off by default.
	ModelMayEnter bool
	// AfterDone is where a finished execution leads: off by default.
	AfterDone Mode
	// Sandbox says what the kernel enforces, for the record of each plan; nil says nothing.
	Sandbox func() string
	// Record is called with each event before it takes effect; an error stops it. It must not call
	// back. Nil records nothing.
	Record func(plan.Event) error
	// Spent is told what each review used.
	Spent func(llm.Usage)
	// Effects is called after each event with what it led to, in order. It must not call back.
	Effects func(plan.Event, []plan.Effect)
	// Report is told of every transition that was refused, and of what could not be restored.
	Report func(error)
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Exposure says which tools a model is offered. It never decides what runs: the gate does.
type Exposure uint8

const (
	// Filtered: tools that the mode would refuse whatever their input are not offered.
	Filtered Exposure = iota
	// Stable: the list never changes, so that a provider's prompt cache survives every transition.
	Stable
)

// PlanMode manages the plan-then-execute workflow of one session. All methods are safe for concurrent
// use.
type PlanMode struct {
	cfg  Config
	gate *tool.Gate
	// reviewing is what a reviewer's gate is made of: the session's roots and rules.
	reviewing tool.Config

	// step serializes whole transitions, with their record, file and callbacks.
	step sync.Mutex

	mu        sync.Mutex
	state     plan.State
	history   []plan.Event // that made the state
	file      planFile
	submitted bool // since the last OnPlanSubmitted
	onChange  func(Mode)
	view      view
}

// New returns the plan mode of a session. The registry is the agent's live one.
func New(cfg Config) *PlanMode {
	if cfg.Registry == nil {
		cfg.Registry = tool.NewRegistry()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	pm := &PlanMode{cfg: cfg}
	pm.file.dir, pm.file.own = planDir(cfg), cfg.PlanName
	pm.refold(cfg.History)
	gc := cfg.Gate
	gc.Registry, gc.PlanFile = cfg.Registry, pm.PlanFilePath
	if gc.Roots.Workspace == "" {
		if wd, err := os.Getwd(); err == nil {
			gc.Roots.Workspace = wd
		}
	}
	if gc.Host.SubmitPlan == nil {
		gc.Host.SubmitPlan = pm.submit
	}
	if gc.Host.WriteTodos == nil && cfg.TaskStore != nil {
		gc.Host.WriteTodos = func(_ context.Context, items []tasks.Item) (tasks.List, error) {
			return cfg.TaskStore.Replace(items)
		}
	}
	pm.gate, pm.reviewing = tool.NewGate(gc), gc
	pm.reviewing.Registry, pm.reviewing.PlanFile, pm.reviewing.Host = nil, nil, tool.Host{}
	pm.gate.Observe(pm.state)
	own := []tool.Tool{pm.SubmitPlanTool(), pm.requestReviewTool()}
	if cfg.ModelMayEnter {
		own = append(own, pm.enterTool())
	}
	for _, t := range own {
		if err := cfg.Registry.Register(t); err != nil && !errors.Is(err, tool.ErrDuplicate) {
			pm.report(err)
		}
	}
	pm.start()
	return pm
}

// start folds the user's configuration, the first event of a session, and opens the plan file of a
// session that is in a plan.
func (pm *PlanMode) start() {
	if !pm.state.Started() {
		ev := plan.Start{Stamp: pm.stamp(plan.Library), Mode: plan.Off, AfterDone: plan.Off}
		if pm.cfg.StartPlanning {
			ev.Mode = plan.Planning
		}
		if pm.cfg.AfterDone == ModePlanning {
			ev.AfterDone = plan.Planning
		}
		pm.report(pm.apply(ev))
	}
	pm.mu.Lock()
	err := pm.file.follow(pm.state)
	pm.mu.Unlock()
	pm.report(err)
}

func (pm *PlanMode) stamp(s plan.Surface) plan.Stamp {
	return plan.Stamp{At: pm.cfg.Now(), Surface: s}
}

// Gate returns the session's gate. Every tool call goes through it.
func (pm *PlanMode) Gate() *tool.Gate { return pm.gate }

// State returns the session's state.
func (pm *PlanMode) State() plan.State {
	pm.mu.Lock()
	defer pm.mu.Unlock()
	return pm.state
}

// Mode returns the current plan mode.
func (pm *PlanMode) Mode() Mode { return modeOf(pm.State().Mode()) }

func modeOf(m plan.Mode) Mode { return Mode(m.String()) }

// TaskStore returns the shared task store; it may be nil.
func (pm *PlanMode) TaskStore() *tasks.Store { return pm.cfg.TaskStore }

// GetReviewConfig returns the plan review configuration.
func (pm *PlanMode) GetReviewConfig() ReviewConfig { return pm.cfg.ReviewCfg }

// GetCodeReviewConfig returns the code review configuration.
func (pm *PlanMode) GetCodeReviewConfig() ReviewConfig {
	if pm.cfg.CodeReviewCfg.ProviderFactory == nil {
		return pm.cfg.ReviewCfg
	}
	return pm.cfg.CodeReviewCfg
}

// SetOnChange registers a callback fired after every state transition. It runs in the goroutine that
// made the transition and must not make one itself.
func (pm *PlanMode) SetOnChange(fn func(Mode)) {
	pm.mu.Lock()
	defer pm.mu.Unlock()
	pm.onChange = fn
}

// ByUser folds an act of the user's. It is the one way to loosen: what the caller passes must come
// from a person, never from a model's output. A refused transition changes nothing.
func (pm *PlanMode) ByUser(ev plan.UserEvent) error { return pm.apply(ev) }

// ByHost folds an event of the program's.
func (pm *PlanMode) ByHost(ev plan.HostEvent) error { return pm.apply(ev) }

// ByModel folds an act of the model's.
func (pm *PlanMode) ByModel(ev plan.ModelEvent) error { return pm.apply(ev) }

// apply is the one function that every transition passes through.
func (pm *PlanMode) apply(ev plan.Event) error {
	pm.step.Lock()
	defer pm.step.Unlock()
	before := pm.State()
	next, effects, err := plan.Step(before, ev)
	if err != nil {
		return err
	}
	if pm.cfg.Record != nil {
		if err := pm.cfg.Record(ev); err != nil {
			return fmt.Errorf("planmode: %s could not be recorded, and did not happen: %w", plan.EventName(ev), err)
		}
	}
	fileErr := pm.commit(ev, next, effects)
	pm.todos(effects)
	if pm.cfg.Effects != nil {
		pm.cfg.Effects(ev, effects)
	}
	pm.mu.Lock()
	changed := pm.onChange
	pm.mu.Unlock()
	if changed != nil && next.Mode() != before.Mode() {
		changed(modeOf(next.Mode()))
	}
	if fileErr != nil { // the revision is safe in the record; the file is for the user's editor
		pm.report(fileErr)
	}
	return nil
}

// commit makes the state the session's, tightening the gate before anybody can see it.
func (pm *PlanMode) commit(ev plan.Event, next plan.State, effects []plan.Effect) error {
	pm.mu.Lock()
	defer pm.mu.Unlock()
	pm.state = next
	pm.history = append(pm.history, ev)
	pm.gate.Observe(next)
	var err error
	for _, e := range effects {
		switch e := e.(type) {
		case plan.ModeChanged:
			pm.submitted = pm.submitted && e.To.ReadOnly() && e.To != plan.Planning
			if e.To == plan.Planning {
				err = errors.Join(err, pm.file.open(next.Plan()))
			}
		case plan.RevisionAdded:
			pm.submitted = pm.submitted || e.Revision.Author == plan.ByModel
			err = errors.Join(err, pm.file.open(e.Revision.Plan), pm.file.write(e.Revision.Text))
		case plan.RevisionChanged, plan.ExecutionDue, plan.TodosDue, plan.TodosClosed, plan.NoticeDue:
		}
	}
	return err
}

// todos keeps the todo list with the plan that it belongs to.
func (pm *PlanMode) todos(effects []plan.Effect) {
	if pm.cfg.TaskStore != nil {
		pm.report(FollowTodos(pm.cfg.TaskStore, effects, pm.State().Plan()))
	}
}

// FollowTodos makes the todo list what the effects of a step, in the numbered plan of the session, ask
// for: the steps of a plan that was approved, and none of one that is given up. It is for a host that
// restores a list from the session's events.
func FollowTodos(store *tasks.Store, effects []plan.Effect, number int) error {
	var err error
	for _, e := range effects {
		switch e := e.(type) {
		case plan.TodosDue:
			contents := make([]string, len(e.Steps))
			for i, s := range e.Steps {
				contents[i] = s.Text
			}
			_, seedErr := store.Seed(fmt.Sprintf("plan-%d", number), contents)
			err = errors.Join(err, seedErr)
		case plan.TodosClosed:
			_, closeErr := store.Cancel()
			err = errors.Join(err, closeErr)
		case plan.ModeChanged, plan.RevisionAdded, plan.RevisionChanged, plan.ExecutionDue, plan.NoticeDue:
		}
	}
	return err
}

func (pm *PlanMode) report(err error) {
	if err != nil && pm.cfg.Report != nil {
		pm.cfg.Report(err)
	}
}
