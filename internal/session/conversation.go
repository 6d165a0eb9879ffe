package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/planmode-dev/planmode/internal/turn"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// A Transcript is what the events of a branch come to: what the model has seen, and what is open. It
// grows by one event at a time, at a cost that does not depend on its length.
type Transcript struct {
	messages []llm.Message
	// waiting are the prompts that the model has not answered: no summary takes their place.
	waiting  []llm.Message
	settings Settings
	title    string
	// told is the mode that the model was last told it is in; telling is due when it differs.
	told     plan.Mode
	toldPlan int
	toldOnce bool
	// open are the calls of the last message that have neither run nor been refused; true means that
	// the call was allowed, so that it may have run.
	open    []llm.ToolCall
	allowed map[string]bool
	// unsure says that something which cannot be read happened since the last message.
	unsure  bool
	running bool // a turn has begun and not ended
	spoke   bool // the model has answered in it
	handed  bool // a plan was handed in in it
	awaited bool // the model is to speak next
	due     bool // a plan is approved, and the model was not given the order
	// feedback is what the user said in rejecting a plan, until the model is given a prompt.
	feedback string
	queue    []waiting
	asks     map[string]PermissionAsked
	quizzes  map[string]QuestionsAsked
	usage    llm.Usage // of the whole branch
	filled   int64     // tokens that the last answer's context held
	turns    int
}

// A waiting prompt is one in the queue, and who gave it.
type waiting struct {
	prompt Queued
	by     string
}

// fold adds an entry.
func (t *Transcript) fold(e Entry) {
	switch ev := e.Event.(type) {
	case Started:
		t.settings = ev.Settings
	case SettingsChanged:
		t.settings = ev.Settings
	case Queued:
		t.queue = append(t.queue, waiting{ev, e.By})
	case Prompted:
		t.prompted(ev)
	case Told:
		t.told, t.toldPlan, t.toldOnce = ev.Mode, ev.Revision, true
		t.say(llm.Text{Text: ev.Text})
	case TurnStarted:
		t.running, t.spoke, t.handed = true, false, false
		t.turns++
	case Answered:
		t.answered(ev)
	case CallRefused:
		t.result(ev.Call.ID, ev.Refusal.Result())
	case CallAllowed:
		put(&t.allowed, ev.CallID, true)
	case CallFinished:
		t.result(ev.CallID, ev.Result)
	case PermissionAsked:
		put(&t.asks, ev.ID, ev)
	case PermissionClosed:
		delete(t.asks, ev.ID)
	case QuestionsAsked:
		put(&t.quizzes, ev.ID, ev)
	case QuestionsClosed:
		delete(t.quizzes, ev.ID)
	case Compacted:
		t.compacted(ev)
	case TurnEnded:
		t.running = false
		t.asks, t.quizzes = nil, nil
		if ev.Stop == string(turn.PlanReady) || ev.Stop == string(turn.EndTurn) {
			t.awaited = false // it is the user's turn
		}
	case PlanStepped:
		t.stepped(ev.Event)
	case Spent:
		t.usage = t.usage.Add(ev.Usage)
	case Unknown:
		t.unsure = true
	case TodosChanged, Moved, Warned, Delta, Progress, Pending:
	}
}

func (t *Transcript) stepped(ev plan.Event) {
	switch ev := ev.(type) {
	case plan.Approve:
		t.due, t.feedback = true, ""
	case plan.Enter:
		t.due = false
	case plan.Leave:
		t.due, t.feedback = false, ""
	case plan.Submit:
		t.handed = true
	case plan.Reject:
		t.feedback = ev.Feedback
	}
}

func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

func (t *Transcript) prompted(ev Prompted) {
	for i, q := range t.queue {
		if q.prompt.ID == ev.Queued {
			t.queue = append(t.queue[:i:i], t.queue[i+1:]...)
			break
		}
	}
	if t.title == "" && !ev.Auto {
		t.title = titleOf(ev.Text)
	}
	var parts []llm.Part
	if ev.Text != "" {
		parts = append(parts, llm.Text{Text: ev.Text})
	}
	for _, img := range ev.Images {
		parts = append(parts, img)
	}
	m := llm.Message{Role: llm.RoleUser, Parts: parts}
	t.messages, t.waiting = append(t.messages, m), append(t.waiting, m)
	t.awaited, t.due, t.feedback = true, false, ""
}

// say adds a text to what the user's side says.
func (t *Transcript) say(p llm.Part) {
	if n := len(t.messages); n > 0 && t.messages[n-1].Role == llm.RoleUser {
		m := t.messages[n-1]
		m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], p)
		t.messages[n-1] = m
		return
	}
	t.messages = append(t.messages, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{p}})
}

func (t *Transcript) answered(ev Answered) {
	if len(ev.Message.Parts) > 0 { // vendors refuse to be shown a message without any
		t.messages = append(t.messages, ev.Message)
	}
	t.open, t.allowed, t.unsure, t.waiting = ev.Message.Calls(), nil, false, nil
	t.awaited, t.spoke = len(t.open) > 0, true
	t.usage = t.usage.Add(ev.Usage)
	t.filled = ev.Usage.Context()
}

func (t *Transcript) result(callID string, res tool.Result) {
	for i, c := range t.open {
		if c.ID == callID {
			t.open = append(t.open[:i:i], t.open[i+1:]...)
			t.messages = turn.AppendResult(t.messages, callID, res)
			return
		}
	}
	// A second result of the same call would confuse vendors; the journal has it.
}

func (t *Transcript) compacted(ev Compacted) {
	t.messages, t.open, t.allowed = nil, nil, nil
	t.toldOnce = false
	t.usage = t.usage.Add(ev.Usage)
	t.filled = 0
	if ev.Summary != "" {
		t.messages = []llm.Message{llm.UserText("What has happened so far in this session, summarized:\n\n" + ev.Summary)}
	}
	if ev.Summary == "" {
		t.waiting = nil
	}
	t.messages = append(t.messages, t.waiting...)
}

// dangling returns the events that close what was broken off: by the end of the program, by going to
// another branch, or by a journal that could not be written. A call that was allowed may have run: it is
// never run again by itself.
func (t *Transcript) dangling(session string) []Event {
	var events []Event
	for _, c := range t.open {
		call := recordable(tool.Call{ID: c.ID, Tool: c.Name, Input: c.Input, Session: session})
		r := tool.Refusal{Code: tool.Interrupted, Tool: c.Name, Session: session, Fixable: true}
		if t.allowed[c.ID] || t.unsure {
			r.Reason = "the turn was broken off while this call was running: it may have done all, some or none of its work"
			r.Hint = "look at what is there before you repeat it"
		} else {
			r.Reason = "the turn was broken off before this call was run: nothing happened"
			r.Hint = "call it again if it is still due"
		}
		events = append(events, CallRefused{Call: call, Refusal: r})
	}
	for _, id := range slices.Sorted(maps.Keys(t.asks)) {
		events = append(events, PermissionClosed{ID: id})
	}
	for _, id := range slices.Sorted(maps.Keys(t.quizzes)) {
		events = append(events, QuestionsClosed{ID: id})
	}
	return events
}

// interrupted is how a turn ended whose program was stopped.
const interrupted turn.StopReason = "interrupted"

// ending is how a turn ended of which nothing says it: it may have been over but for writing that down.
func (t *Transcript) ending() turn.Outcome {
	switch {
	case t.handed:
		return turn.Outcome{Stop: turn.PlanReady}
	case t.spoke && !t.awaited:
		return turn.Outcome{Stop: turn.EndTurn}
	}
	return turn.Outcome{Stop: interrupted, Note: "the program stopped during the turn"}
}

// recordable is the call with an input that can stand in an entry: one that is no JSON, as a model may
// write it, becomes a string.
func recordable(c tool.Call) tool.Call {
	if !json.Valid(c.Input) {
		c.Input, _ = json.Marshal(string(c.Input)) // a string always can
	}
	return c
}

// Messages returns what the model has seen. The caller must not change them.
func (t *Transcript) Messages() []llm.Message { return t.messages[:len(t.messages):len(t.messages)] }

const titleLength = 72

// titleOf makes a title of a prompt's first line.
func titleOf(text string) string {
	for line := range lines(text) {
		r := []rune(line)
		if len(r) > titleLength {
			return string(r[:titleLength-1]) + "…"
		}
		return line
	}
	return fmt.Sprintf("%d bytes", len(text))
}
