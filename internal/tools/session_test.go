package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

// rejected makes a call that must fail with a code and a field.
func (w *world) rejected(name string, input any, code, field string, words ...string) {
	w.Helper()
	res := w.run(name, input)
	var r struct {
		Success bool   `json:"success"`
		Code    string `json:"error_code"`
		Field   string `json:"field"`
		Message string `json:"message"`
		Hint    string `json:"hint"`
	}
	if err := json.Unmarshal([]byte(res.Text), &r); err != nil || !res.IsError || res.EndTurn {
		w.Fatalf("%s gave %+v, %v", name, res, err)
	}
	if r.Success || r.Code != code || r.Field != field || r.Message == "" || r.Hint == "" {
		w.Errorf("%s gave %s, want %s of %s", name, res.Text, code, field)
	}
	w.holds(r.Message+"\n"+r.Hint, words...)
}

func TestTodoWrite(t *testing.T) {
	for _, mode := range plan.Modes() {
		w := newWorld(t, setup{mode: mode})
		w.equal(w.ok("todo_write", `{"todos":[{"id":"a","content":"one","status":"in_progress"},{"id":"b","content":"two"}]}`),
			`{"todos":[{"id":"a","content":"one","status":"in_progress"},{"id":"b","content":"two","status":"pending"}],"counts":{"pending":1,"in_progress":1,"completed":0,"total":2}}`)
	}
	w := newWorld(t, setup{})
	for _, in := range []string{
		`{"todos":["one","two"]}`, `{"todos":[{"title":"one"},{"content":"two","status":"Completed"}]}`,
		`{"todos":"[\"one\",{\"id\":7,\"content\":\"two\"}]"}`,
	} {
		text := w.ok("todo_write", in)
		w.holds(text, `"content":"one"`, `"content":"two"`, `"total":2`)
	}
	var many []m
	for i := range 41 {
		many = append(many, m{"content": fmt.Sprint(i)})
	}
	before := string(w.todos.List().JSON())
	for _, tt := range []struct {
		in          any
		code, field string
	}{
		{`{}`, "missing_required_field", "todos"},
		{`{"todos":null}`, "missing_required_field", "todos"},
		{`{"todos":"do it"}`, "invalid_args", "todos"},
		{`{"todos":{"0":"x"}}`, "invalid_args", "todos"},
		{`{"todos":17}`, "invalid_args", "todos"},
		{`{"todos":[17]}`, "invalid_args", "todos[0]"},
		{`{"todos":[{"content":"x"},null]}`, "invalid_args", "todos[1]"},
		{`{"todos":[{"content":{}}]}`, "invalid_args", "todos[0]"},
		{`{"todos":[{"content":"x","status":"blocked"}]}`, "invalid_status", "todos[0].status"},
		{`{"todos":[{"content":"x","status":"in_progress"},{"content":"y","status":"in_progress"}]}`, "multiple_in_progress", "todos"},
		{m{"todos": many}, "too_many_todos", "todos"},
		{m{"todos": []m{{"content": strings.Repeat("x", 501)}}}, "content_too_long", "todos[0].content"},
	} {
		w.rejected("todo_write", tt.in, tt.code, tt.field, "the list is unchanged")
		w.equal(string(w.todos.List().JSON()), before)
	}
	w.refused("todo_write", `{"todos":[],"session_id":"x"}`, tool.InvalidInput)
	w.holds(w.ok("todo_write", `{"todos":[]}`), `"todos":[]`)
}

// TestTodoEcho: the longest list in the script with the longest letters comes back whole.
func TestTodoEcho(t *testing.T) {
	w := newWorld(t, setup{})
	var todos []m
	for i := range tasks.MaxItems {
		todos = append(todos, m{"id": fmt.Sprintf("%064d", i), "content": strings.Repeat("𝔘", tasks.MaxContent)})
	}
	res := w.run("todo_write", m{"todos": todos})
	var list tasks.List
	w.must(json.Unmarshal([]byte(res.Text), &list))
	if len(list.Items) != tasks.MaxItems || list.Items[39].Content != strings.Repeat("𝔘", tasks.MaxContent) || string(res.Details) != res.Text {
		t.Errorf("%d items, %d bytes", len(list.Items), len(res.Text))
	}
}

func TestTodoStoreFails(t *testing.T) {
	w := newWorld(t, setup{host: func(_ *world, h *tool.Host) {
		h.WriteTodos = func(context.Context, []tasks.Item) (tasks.List, error) { return tasks.List{}, errors.New("disk full") }
	}})
	w.fails("todo_write", `{"todos":[]}`, "the list is unchanged: disk full")
}

func question(options ...string) m {
	q := m{"question": "Which one?"}
	var list []m
	for _, o := range options {
		list = append(list, m{"label": o, "description": "d"})
	}
	if list != nil {
		q["options"] = list
	}
	return q
}

func asks(q ...m) m { return m{"questions": q} }

func TestAskUser(t *testing.T) {
	w := newWorld(t, setup{})
	second := question()
	second["question"], second["header"] = "Why\nso?", " Reason  why "
	w.equal(w.ok("ask_user", asks(question("A", "B "), second)),
		"1. Which one?\n   chosen: A\n2. Why so?\n   written: written\n"+
			`{"answers":[{"question":"Which one?","chosen":["A"]},{"question":"Why\nso?","chosen":[],"other":"written"}]}`)
	if len(w.asked) != 2 || w.asked[0].Options[1].Label != "B" || w.asked[1].Header != "Reason why" {
		t.Errorf("asked %+v", w.asked)
	}
	multiple := question("A", "B")
	multiple["multiple"] = true
	w.ok("ask_user", asks(multiple))
	if !w.asked[0].Several {
		t.Error("several answers were not offered")
	}

	long := question("A", "B")
	long["question"] = strings.Repeat("x", 1001)
	empty := question("A", "B")
	empty["question"] = " "
	header := question("A", "B")
	header["header"] = strings.Repeat("x", 31)
	openMultiple := question()
	openMultiple["multiple"] = true
	w.asked = nil
	for _, tt := range []struct {
		in   m
		word string
	}{
		{asks(), "questions: 0 given; 1 to 4 are due"},
		{asks(question(), question(), question(), question(), question()), "questions: 5 given"},
		{asks(question("A")), "questions[0].options: 1 given; 2 to 4"},
		{asks(question("A", "B", "C", "D", "E")), "questions[0].options: 5 given"},
		{asks(question("A", " a")), `questions[0].options[1].label: "a" is there twice`},
		{asks(question("A", "Other…")), "the user can always write something else"},
		{asks(question("A", "")), "questions[0].options[1].label: it is empty"},
		{asks(question("A", strings.Repeat("x", 101))), "101 characters; the limit is 100"},
		{asks(question("A", "B\u202e")), "control character"},
		{asks(question("A", "B"), question("C", "D")), "questions[1].question: it is asked twice"},
		{asks(long), "1001 characters"},
		{asks(empty), "questions[0].question: it is empty"},
		{asks(header), "31 characters"},
		{asks(openMultiple), "multiple asks for options"},
	} {
		w.fails("ask_user", tt.in, tt.word)
	}
	if w.asked != nil {
		t.Error("a question with a mistake reached the user")
	}
}

func TestAskUserTrouble(t *testing.T) {
	answer := func(answers []tool.Answer, err error) setup {
		return setup{host: func(_ *world, h *tool.Host) {
			h.AskUser = func(context.Context, []tool.Question) ([]tool.Answer, error) { return answers, err }
		}}
	}
	none := setup{host: func(_ *world, h *tool.Host) { h.AskUser = nil }}
	newWorld(t, none).rejected("ask_user", asks(question()), "no_user", "", "do not ask again", "state it in the plan")
	none.mode = plan.Off
	newWorld(t, none).rejected("ask_user", asks(question()), "no_user", "", "say so in your answer")
	newWorld(t, answer(nil, fmt.Errorf("headless: %w", tool.ErrNoUser))).rejected("ask_user", asks(question()), "no_user", "", "assumption")
	newWorld(t, answer(nil, nil)).fails("ask_user", asks(question()), "0 answers came back to 1 question")
	newWorld(t, answer(nil, context.Canceled)).fails("ask_user", asks(question()), "canceled")
	w := newWorld(t, answer([]tool.Answer{{}}, nil))
	w.holds(w.ok("ask_user", asks(question("A", "B"))), "not answered")
	w = newWorld(t, answer([]tool.Answer{{Chosen: []string{"A", "B"}, Other: "and\nmore"}}, nil))
	w.holds(w.ok("ask_user", asks(question("A", "B"))), "   chosen: A\n   chosen: B\n   written: and\n   more\n")
}

const planText = "# Title\n\nWhy.\n\n1. first\n2. second\n"

func TestSubmitPlan(t *testing.T) {
	parts := m{
		"title": "Title", "summary": "Why.", "open_questions": []string{"Which?"}, "risks": []string{"None."},
		"steps": []any{"first", m{"title": "second", "detail": "in a.go\n\n1. sub\n2. sub", "tools": []string{"edit", "bash"}}},
	}
	for _, tt := range []struct {
		name  string
		in    any
		words []string
	}{
		{"text", m{"plan": planText}, []string{planText}},
		{"text with other line ends", m{"plan": strings.ReplaceAll(planText, "\n", "\r\n")}, []string{"1. first"}},
		{"parts", parts, []string{"# Title\n", "1. first\n2. second\n", "Tools: edit, bash\n", "## Open questions\n\n- Which?\n", "## Risks\n"}},
		{
			"parts that look like steps",
			m{"summary": "Why.\n\n1. no step\n```\nopen", "steps": []any{m{"title": "first", "detail": "```\nopen"}, "second"}},
			[]string{"1. first", "2. second"},
		},
		{"file", m{}, []string{"from the file"}},
		{"file, with a title", m{"title": "ignored"}, []string{"from the file"}},
		{"no input at all", ``, []string{"from the file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, setup{})
			w.file(w.planFile, "# P\n\n1. from the file\n2. second\n")
			res := w.run("submit_plan", tt.in)
			if res.IsError || !res.EndTurn || len(w.submitted) != 1 {
				t.Fatalf("%+v", res)
			}
			w.holds(w.submitted[0], tt.words...)
			digest := plan.DigestOf(w.submitted[0])
			w.holds(res.Text, "revision 1 of the plan (2 steps, digest "+digest.Short()+")", "the user, who decides", "Nothing is approved and plan mode is on")
			var d struct {
				Revision, Steps int
				Digest          plan.Digest
				Status          plan.Status
			}
			w.must(json.Unmarshal(res.Details, &d))
			if d.Revision != 1 || d.Steps != 2 || d.Digest != digest || d.Status != plan.Submitted {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestSubmitPlanRefused(t *testing.T) {
	w := newWorld(t, setup{})
	var many []string
	for i := range 201 {
		many = append(many, fmt.Sprint("step ", i))
	}
	for _, tt := range []struct {
		in   any
		word string
	}{
		{`{"plan":""}`, "plan: it is empty"},
		{`{"plan":7}`, "plan: a JSON number was given where a string is due"},
		{m{"plan": planText, "summary": "s"}, "plan: give either"},
		{m{"plan": planText, "title": "t"}, "plan: give either"},
		{m{"summary": "s"}, "steps: there are none"},
		{m{"summary": "s", "steps": []string{}}, "steps: there are none"},
		{m{"steps": []string{"a"}}, "summary: it is missing"},
		{m{"summary": " ", "steps": []string{"a"}}, "summary: it is missing"},
		{m{"summary": "s", "steps": "do it all"}, "steps: a JSON string was given where an array is due"},
		{m{"summary": "s", "steps": []any{1}}, "steps[0]: "},
		{m{"summary": "s", "steps": []any{nil}}, "steps[0]: null is not a step"},
		{m{"summary": "s", "steps": []any{"a", m{"titel": "b"}}}, `steps[1]: unknown field "titel"`},
		{m{"summary": "s", "steps": []any{m{"detail": "b"}}}, "steps[0].title: it is empty"},
		{m{"summary": "s", "steps": []any{m{"title": "a", "tools": "edit"}}}, "steps[0]: tools: a JSON string"},
		{m{"summary": "s", "steps": []string{" "}}, "steps[0]: it is empty"},
		{m{"summary": "s", "steps": []string{strings.Repeat("x", 301)}}, "steps[0]: 301 characters; the limit is 300"},
		{m{"summary": "s", "steps": many}, "steps: 201 of them; the limit is 200"},
		{m{"summary": "s", "steps": []string{"a"}, "open_questions": "?"}, "open_questions: a JSON string"},
		{m{"summary": "s", "steps": []string{"a"}, "risks": []string{strings.Repeat("x", 1001)}}, "risks[0]: 1001 characters"},
		{m{"pan": "x"}, `unknown field "pan"`},
	} {
		w.refused("submit_plan", tt.in, tool.InvalidInput, tt.word)
	}
	for _, tt := range []struct {
		in                any
		code, field, word string
	}{
		{m{"plan": "just prose"}, "plan_has_no_steps", "plan", "1. …"},
		{m{"plan": "```\n1. in a fence\n```\n"}, "plan_has_no_steps", "plan", "outside code fences"},
		{m{"plan": "1. a\u202eb"}, "plan_not_clean", "plan", "U+202E on line 1"},
		{m{"plan": "1. " + strings.Repeat("x", plan.MaxText)}, "plan_too_long", "plan", "the limit is 100000"},
		{m{"summary": "s\x07", "steps": []string{"a"}}, "plan_not_clean", "steps", "U+0007"},
		{m{}, "plan_not_taken", "the plan file", "no such file"},
	} {
		w.rejected("submit_plan", tt.in, tt.code, tt.field, tt.word)
	}
	w.file(w.planFile, "nothing yet\n")
	w.rejected("submit_plan", m{}, "plan_has_no_steps", "the plan file", "1. …")
	if len(w.submitted) != 0 {
		t.Errorf("submitted %q", w.submitted)
	}
	for _, mode := range plan.Modes() {
		if mode != plan.Planning {
			newWorld(t, setup{mode: mode}).refused("submit_plan", m{"plan": planText}, tool.WrongPhase, mode.String())
		}
	}
	fails := func(err error) *world {
		return newWorld(t, setup{host: func(_ *world, h *tool.Host) {
			h.SubmitPlan = func(context.Context, string) (plan.Revision, error) { return plan.Revision{}, err }
		}})
	}
	fails(&plan.TransitionError{Mode: plan.Planning, Event: "submit", Err: plan.ErrUnchanged}).
		rejected("submit_plan", m{"plan": planText}, "plan_unchanged", "plan", "the user's feedback")
	fails(&plan.TransitionError{Mode: plan.Ready, Event: "submit"}).
		rejected("submit_plan", m{"plan": planText}, "not_in_this_phase", "plan", "answer in text")
	fails(errors.New("disk full")).rejected("submit_plan", m{"plan": planText}, "plan_not_taken", "plan", "disk full", "no plan was recorded")
}

func TestTask(t *testing.T) {
	w := newWorld(t, setup{})
	w.equal(w.ok("task", m{"title": "look", "prompt": " look around "}), "did: look around")
	w.fails("task", m{"prompt": " "}, "prompt: it is empty")
	w.fails("task", m{"prompt": "x", "title": strings.Repeat("x", 101)}, "title: 101 characters")
	w.fails("task", m{"prompt": strings.Repeat("x", 50_001)}, "prompt: 50001 characters")
	long := newWorld(t, setup{host: func(_ *world, h *tool.Host) {
		h.Spawn = func(context.Context, tool.Assignment) (string, error) { return strings.Repeat("word\n", 20_000), nil }
	}})
	text := long.ok("task", m{"prompt": "x"})
	if long.holds(text, "not shown; all of it is in "+long.keep); len(text) > 40<<10 {
		t.Errorf("%d bytes", len(text))
	}
	none := newWorld(t, setup{host: func(_ *world, h *tool.Host) {
		h.Spawn = func(context.Context, tool.Assignment) (string, error) { return "", nil }
	}})
	none.holds(none.ok("task", m{"prompt": "x"}), "without an answer")
	broken := newWorld(t, setup{host: func(_ *world, h *tool.Host) { h.Spawn = nil }})
	broken.fails("task", m{"prompt": "x"}, "does not offer")
}

// TestServicesMissing: a session without a service says so, whatever the tool.
func TestServicesMissing(t *testing.T) {
	w := newWorld(t, setup{host: func(_ *world, h *tool.Host) { *h = tool.Host{} }})
	w.fails("todo_write", `{"todos":[]}`, "does not offer")
	w.rejected("submit_plan", m{"plan": planText}, "plan_not_taken", "plan", "does not offer")
	w.rejected("ask_user", asks(question()), "no_user", "")
}
