package plan

import (
	"encoding/json"
	"fmt"
	"time"
)

// An Event is something that happened to a session's plan. Every event is also exactly one of
// [UserEvent], [ModelEvent] and [HostEvent], by who may cause it: code that acts for the model takes
// a ModelEvent, and passing it an [Approve] does not compile.
type Event interface {
	event() string // the name in the journal
	stamp() Stamp
}

// A UserEvent is a person's act: [Start], [Enter], [Prompt], [Reject], [Edit], [StartReview],
// [CancelReview], [Approve] or [Leave].
type UserEvent interface {
	Event
	user()
}

// A ModelEvent is a model's act: [Submit], and nothing else.
type ModelEvent interface {
	Event
	model()
}

// A HostEvent is the program's: [ReviewDone], [Restarted] or [AllStepsDone].
type HostEvent interface {
	Event
	host()
}

// A Surface names where a person acted: "tui", "web", "api", "acp", "headless", "voice" or "library".
type Surface string

// The surfaces.
const (
	TUI      Surface = "tui"
	Web      Surface = "web"
	API      Surface = "api"
	ACP      Surface = "acp"
	Headless Surface = "headless"
	Voice    Surface = "voice"
	Library  Surface = "library"
)

// A Stamp says when and where an event happened. Surface is empty for events that no person caused.
type Stamp struct {
	At      time.Time `json:"at"`
	Surface Surface   `json:"surface,omitempty"`
}

func (s Stamp) stamp() Stamp { return s }

type (
	// Start is the first event of a session. It is the user's: their configuration or flag.
	Start struct {
		Stamp
		Mode Mode `json:"mode"` // Off or Planning
		// AfterDone is where a finished execution leads: Off or Planning.
		AfterDone Mode `json:"after_done"`
	}
	// Enter turns plan mode on.
	Enter struct{ Stamp }
	// Prompt says that the user wrote to the model.
	Prompt struct{ Stamp }
	// Reject sends the plan back.
	Reject struct {
		Stamp
		Feedback string `json:"feedback"`
	}
	// Edit replaces the plan's text by the user's.
	Edit struct {
		Stamp
		Text string `json:"text"`
	}
	// StartReview hands the plan to a reviewer.
	StartReview struct{ Stamp }
	// CancelReview ends a review that is not done.
	CancelReview struct{ Stamp }
	// Approve lets the named text be executed.
	Approve struct {
		Stamp
		Digest Digest `json:"digest"` // of the newest revision, as the user saw it
		How    How    `json:"how,omitempty"`
		Note   string `json:"note,omitempty"` // additional instructions
	}
	// Leave turns plan mode off. It is not an order to execute anything.
	Leave struct{ Stamp }

	// Submit hands in a plan.
	Submit struct {
		Stamp
		Text string `json:"text"`
		// Sandbox says what the kernel enforced while the plan was made, such as "namespaces".
		Sandbox string `json:"sandbox,omitempty"`
	}

	// ReviewDone brings a reviewer's verdict.
	ReviewDone struct {
		Stamp
		Approved bool   `json:"approved"`
		Feedback string `json:"feedback,omitempty"`
	}
	// Restarted says that the program was started again, so that no review is running.
	Restarted struct{ Stamp }
	// AllStepsDone says that the execution has settled with every step completed.
	AllStepsDone struct{ Stamp }
)

// How says in which context an approved plan is executed. The zero value keeps the context.
type How string

// The ways to execute.
const (
	Execute How = ""        // in the present context
	Compact How = "compact" // compact the context first
	Fresh   How = "fresh"   // in a fresh context that holds the plan alone
)

func (Start) event() string        { return "start" }
func (Enter) event() string        { return "enter" }
func (Prompt) event() string       { return "prompt" }
func (Reject) event() string       { return "reject" }
func (Edit) event() string         { return "edit" }
func (StartReview) event() string  { return "start_review" }
func (CancelReview) event() string { return "cancel_review" }
func (Approve) event() string      { return "approve" }
func (Leave) event() string        { return "leave" }
func (Submit) event() string       { return "submit" }
func (ReviewDone) event() string   { return "review_done" }
func (Restarted) event() string    { return "restarted" }
func (AllStepsDone) event() string { return "all_steps_done" }

func (Start) user()        {}
func (Enter) user()        {}
func (Prompt) user()       {}
func (Reject) user()       {}
func (Edit) user()         {}
func (StartReview) user()  {}
func (CancelReview) user() {}
func (Approve) user()      {}
func (Leave) user()        {}
func (Submit) model()      {}
func (ReviewDone) host()   {}
func (Restarted) host()    {}
func (AllStepsDone) host() {}

// EventName returns the event's name in a journal, such as "approve".
func EventName(e Event) string { return e.event() }

// EventStamp returns when and where the event happened.
func EventStamp(e Event) Stamp { return e.stamp() }

// EventAuthor returns "user", "model" or "host".
func EventAuthor(e Event) string {
	switch e.(type) {
	case UserEvent:
		return "user"
	case ModelEvent:
		return "model"
	}
	return "host"
}

// DecodeEvent reads the JSON form of the event of that name. An unknown name is an error: a program
// that does not know an event must not go on as if it had not happened.
func DecodeEvent(name string, data []byte) (Event, error) {
	switch name {
	case "start":
		return decode[Start](name, data)
	case "enter":
		return decode[Enter](name, data)
	case "prompt":
		return decode[Prompt](name, data)
	case "reject":
		return decode[Reject](name, data)
	case "edit":
		return decode[Edit](name, data)
	case "start_review":
		return decode[StartReview](name, data)
	case "cancel_review":
		return decode[CancelReview](name, data)
	case "approve":
		return decode[Approve](name, data)
	case "leave":
		return decode[Leave](name, data)
	case "submit":
		return decode[Submit](name, data)
	case "review_done":
		return decode[ReviewDone](name, data)
	case "restarted":
		return decode[Restarted](name, data)
	case "all_steps_done":
		return decode[AllStepsDone](name, data)
	}
	return nil, fmt.Errorf("plan: unknown event %q", name)
}

func decode[E Event](name string, data []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("plan: event %q: %w", name, err)
	}
	return e, nil
}
