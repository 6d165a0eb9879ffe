package session

import (
	"time"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

// An Event is something that happened in a session. The same type is the line of the journal, the
// frame of a socket and the message of a screen. The durable ones have a number and are told again to
// whoever comes late: [Started], [PlanStepped], [Queued], [Prompted], [Told], [TurnStarted],
// [Answered], [CallRefused], [PermissionAsked], [PermissionClosed], [CallAllowed], [CallFinished],
// [QuestionsAsked], [QuestionsClosed], [TodosChanged], [Compacted], [TurnEnded], [Moved],
// [SettingsChanged], [Spent], [Warned] and [Unknown]. The transient ones have none and may be missed: [Delta],
// [Progress] and [Pending].
//
//sumtype:decl
type Event interface{ event() string }

type (
	// Started is the first event of a session.
	Started struct {
		Version   int    `json:"version"`
		Workspace string `json:"workspace"`
		Settings
	}
	// Settings are what the user may change while the session goes on.
	Settings struct {
		Model    string `json:"model,omitempty"` // provider/model
		Thinking string `json:"thinking,omitempty"`
		Autonomy string `json:"autonomy,omitempty"`
		Title    string `json:"title,omitempty"`
	}
	// PlanStepped is an event of plan mode. Its name in the journal is "plan." and the event's own.
	PlanStepped struct{ Event plan.Event }
	// Queued is a prompt that came while a turn was running.
	Queued struct {
		ID     string      `json:"id"`
		Text   string      `json:"text"`
		Images []llm.Image `json:"images,omitempty"`
		Queue  Queue       `json:"queue"`
	}
	// Prompted is a prompt that the model is given.
	Prompted struct {
		Text   string      `json:"text"`
		Images []llm.Image `json:"images,omitempty"`
		// Queued is the ID of the [Queued] event that it was, if any.
		Queued string `json:"queued,omitempty"`
		// Auto says that the program wrote it, to carry out what the user decided.
		Auto bool `json:"auto,omitempty"`
	}
	// Told is what the program told the model beside the user's words, such as the mode it is in.
	Told struct {
		Text string    `json:"text"`
		Mode plan.Mode `json:"mode"`
		// Revision is the number of the plan's revision that it holds, if it does.
		Revision int `json:"revision,omitempty"`
	}
	// TurnStarted begins a turn. The mode is the one it began in.
	TurnStarted struct {
		Mode plan.Mode `json:"mode"`
	}
	// Answered is a complete message of the model.
	Answered struct {
		Message llm.Message    `json:"message"`
		Stop    llm.StopReason `json:"stop"`
		Usage   llm.Usage      `json:"usage"`
		Model   string         `json:"model"`
	}
	// CallRefused is a call that will not run.
	CallRefused struct {
		Call    tool.Call    `json:"call"`
		Refusal tool.Refusal `json:"refusal"`
	}
	// PermissionAsked asks the user about a call.
	PermissionAsked struct {
		ID     string    `json:"id"`
		Call   tool.Call `json:"call"`
		Reason string    `json:"reason"`
		Rule   string    `json:"rule,omitempty"` // what "always" would allow
	}
	// PermissionClosed ends what PermissionAsked began: by an answer, or because the turn is over.
	PermissionClosed struct {
		ID       string        `json:"id"`
		Answered bool          `json:"answered"`
		Verdict  *tool.Verdict `json:"verdict,omitempty"`
	}
	// CallAllowed is written before a call runs.
	CallAllowed struct {
		CallID string `json:"call_id"`
		Tool   string `json:"tool"`
	}
	// CallFinished is written after a call ran.
	CallFinished struct {
		CallID string      `json:"call_id"`
		Tool   string      `json:"tool"`
		Result tool.Result `json:"result"`
		Millis int64       `json:"millis"`
	}
	// QuestionsAsked asks the user the model's questions.
	QuestionsAsked struct {
		ID        string          `json:"id"`
		Questions []tool.Question `json:"questions"`
	}
	// QuestionsClosed ends what QuestionsAsked began.
	QuestionsClosed struct {
		ID       string        `json:"id"`
		Answered bool          `json:"answered"`
		Answers  []tool.Answer `json:"answers,omitempty"`
	}
	// TodosChanged is the whole todo list.
	TodosChanged struct {
		State  tasks.State  `json:"state"`
		Counts tasks.Counts `json:"counts"`
	}
	// Compacted says that everything before it is for the model the summary alone. An empty summary
	// is a fresh context.
	Compacted struct {
		Summary string    `json:"summary"`
		Usage   llm.Usage `json:"usage"`
	}
	// TurnEnded ends a turn.
	TurnEnded struct {
		Stop  string    `json:"stop"`
		Note  string    `json:"note,omitempty"`
		Error *Failure  `json:"error,omitempty"`
		Usage llm.Usage `json:"usage"`
	}
	// Failure is an error as data.
	Failure struct {
		Code    string `json:"code"` // an [llm.ErrorKind], or "internal"
		Message string `json:"message"`
		Retry   bool   `json:"retry"` // the same may work later
	}
	// Moved says that the session goes on from an earlier entry, on a branch of its own.
	Moved struct {
		To string `json:"to"` // an entry's ID; "" is the beginning
	}
	// SettingsChanged is the whole of the settings.
	SettingsChanged struct{ Settings }
	// Spent counts what was used beside the conversation itself: by a sub-agent, or by a reviewer.
	Spent struct {
		What  string    `json:"what"`
		Usage llm.Usage `json:"usage"`
	}
	// Warned tells the user what the program noticed.
	Warned struct {
		Code string `json:"code"`
		Text string `json:"text"`
	}
	// Unknown is an event that this version does not know, or, as type "unreadable", a line of the
	// journal that could not be read. It is kept and passed on as it is.
	Unknown struct {
		Type string
		Data []byte
	}

	// Delta is a piece of the message that the model is writing.
	Delta struct {
		Text     string `json:"text,omitempty"`
		Thinking string `json:"thinking,omitempty"`
		Tool     string `json:"tool,omitempty"` // a call of this tool begins
		Input    string `json:"input,omitempty"`
		// Void says that what was shown of the message is void: the request is sent again.
		Void string `json:"void,omitempty"`
	}
	// Progress is a piece of what a running call prints.
	Progress struct {
		CallID string `json:"call_id"`
		Text   string `json:"text"`
	}
	// Pending says which mode the session will be in when the turn has settled; the same as the
	// present one if nothing is pending any more.
	Pending struct {
		Now  plan.Mode `json:"now"`
		Next plan.Mode `json:"next"`
	}
)

// A Queue says when a prompt that comes while a turn is running reaches the model.
type Queue string

// The queues. Steer is the default.
const (
	Steer    Queue = "steer"     // after the tool calls that are running
	FollowUp Queue = "follow_up" // when the model would stop
)

func (Started) event() string          { return "started" }
func (e PlanStepped) event() string    { return planPrefix + plan.EventName(e.Event) }
func (Queued) event() string           { return "queued" }
func (Prompted) event() string         { return "prompted" }
func (Told) event() string             { return "told" }
func (TurnStarted) event() string      { return "turn_started" }
func (Answered) event() string         { return "answered" }
func (CallRefused) event() string      { return "call_refused" }
func (PermissionAsked) event() string  { return "permission_asked" }
func (PermissionClosed) event() string { return "permission_closed" }
func (CallAllowed) event() string      { return "call_allowed" }
func (CallFinished) event() string     { return "call_finished" }
func (QuestionsAsked) event() string   { return "questions_asked" }
func (QuestionsClosed) event() string  { return "questions_closed" }
func (TodosChanged) event() string     { return "todos_changed" }
func (Compacted) event() string        { return "compacted" }
func (TurnEnded) event() string        { return "turn_ended" }
func (Moved) event() string            { return "moved" }
func (SettingsChanged) event() string  { return "settings_changed" }
func (Spent) event() string            { return "spent" }
func (Warned) event() string           { return "warned" }
func (e Unknown) event() string        { return e.Type }
func (Delta) event() string            { return "delta" }
func (Progress) event() string         { return "progress" }
func (Pending) event() string          { return "pending" }

// An Entry is an event with its place in the session. Transient events have Seq 0 and no ID.
type Entry struct {
	Seq    uint64
	ID     string
	Parent string // the entry that it follows on its branch; "" for the first
	Time   time.Time
	By     string // "user:" and the surface, "model", or "host"
	Event  Event
}
