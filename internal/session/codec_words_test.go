package session

import (
	"encoding/json"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

// Every event is written in the words of the protocol (lower case, with underscores), and is read back
// as it was.
func TestEventsInTheirOwnWords(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)
	call := tool.Call{ID: "c", Tool: "read", Input: json.RawMessage(`{"path":"a"}`), Session: "s", Surface: "model"}
	message := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "hi"}}}
	question := tool.Question{Header: "H", Text: "T", Options: []tool.Option{{Label: "a", Description: "d"}}, Several: true}
	events := []Event{
		Started{Version: Version, Workspace: "/w", Settings: Settings{Model: "a/b", Thinking: "low", Autonomy: "strict", Title: "t"}},
		PlanStepped{plan.Approve{Stamp: plan.Stamp{At: at, Surface: plan.TUI}, Digest: "sha256:0", How: plan.Fresh, Note: "n"}},
		Queued{ID: "q", Text: "t", Queue: FollowUp},
		Prompted{Text: "t", Images: []llm.Image{{MediaType: "image/png", Data: []byte{1}}}, Queued: "q", Auto: true},
		Told{Text: "t", Mode: plan.Executing, Revision: 2},
		TurnStarted{Mode: plan.Off},
		Answered{Message: message, Stop: llm.StopEndTurn, Usage: llm.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Cost: 5}, Model: "a/b"},
		CallRefused{Call: call, Refusal: tool.Refusal{Code: tool.PlanModeBlocked, Tool: "bash", Session: "s", PlanMode: true, Reason: "r", Hint: "h"}},
		PermissionAsked{ID: "p", Call: call, Reason: "r", Rule: "read"},
		PermissionClosed{ID: "p", Answered: true, Verdict: &tool.Verdict{Yes: true, Always: true, Rule: "read", Note: "n"}},
		CallAllowed{CallID: "c", Tool: "read"},
		CallFinished{CallID: "c", Tool: "read", Result: tool.Result{Text: "x", IsError: true, EndTurn: true, Details: json.RawMessage(`{}`)}, Millis: 3},
		QuestionsAsked{ID: "q", Questions: []tool.Question{question}},
		QuestionsClosed{ID: "q", Answered: true, Answers: []tool.Answer{{Chosen: []string{"a"}, Other: "o"}}},
		TodosChanged{State: tasks.NewStore(tasks.Options{}).State(), Counts: tasks.Counts{Pending: 1, Total: 1}},
		Compacted{Summary: "s", Usage: llm.Usage{Input: 1}},
		TurnEnded{Stop: "error", Note: "n", Error: &Failure{Code: "rate_limit", Message: "m", Retry: true}, Usage: llm.Usage{Output: 1}},
		Moved{To: "e"},
		SettingsChanged{Settings{Model: "a/b"}},
		Warned{Code: "c", Text: "t"},
		Delta{Text: "t", Thinking: "h", Tool: "n", Input: "i", Void: "v"},
		Progress{CallID: "c", Text: "t"},
		Pending{Now: plan.Ready, Next: plan.Off},
	}
	word := regexp.MustCompile(`"([A-Za-z_.]+)":`)
	for _, ev := range events {
		line, err := Entry{Seq: 1, ID: "i", Parent: "p", Time: at, By: "host", Event: ev}.MarshalJSON()
		if err != nil {
			t.Errorf("%T: %v", ev, err)
			continue
		}
		for _, m := range word.FindAllStringSubmatch(string(line), -1) {
			if regexp.MustCompile(`[A-Z]`).MatchString(m[1]) {
				t.Errorf("%T is written with the key %q: %s", ev, m[1], line)
			}
		}
		var got Entry
		if err := json.Unmarshal(line, &got); err != nil {
			t.Errorf("%T: %v", ev, err)
		} else if !reflect.DeepEqual(got.Event, ev) {
			t.Errorf("%T was written as\n%s\nand read as %#v", ev, line, got.Event)
		}
	}
}
