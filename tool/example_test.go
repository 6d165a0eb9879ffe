package tool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// newNote returns a tool that writes one file.
func newNote() tool.Tool {
	type input struct {
		Path string `json:"path" jsonschema:"where to write it"`
		Text string `json:"text"`
	}
	return tool.New(
		tool.Spec{Name: "note", Description: "Writes a note."},
		func(in input) tool.Access { return tool.Access{tool.WriteFile{Path: in.Path}} },
		func(_ context.Context, g *tool.Grant, in input) (tool.Result, error) {
			return tool.Result{Text: "noted in " + in.Path}, g.WriteFile(in.Path, nil, []byte(in.Text))
		},
	)
}

// newGate returns a gate for a workspace of its own, and the states of a session that is planning and
// of one that is not.
func newGate() (gate *tool.Gate, workspace string, planning, off plan.State) {
	workspace, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	gate = tool.NewGate(tool.Config{
		Registry: tool.NewRegistry(newNote()),
		Roots:    tool.Roots{Workspace: workspace},
	})
	if off, _, err = plan.Step(plan.State{}, plan.Start{Mode: plan.Off, AfterDone: plan.Off}); err != nil {
		panic(err)
	}
	if planning, _, err = plan.Step(off, plan.Enter{}); err != nil {
		panic(err)
	}
	return gate, workspace, planning, off
}

func ExampleNew() {
	note := newNote()
	fmt.Println(note.Spec().Name, note.Spec().Set)
	fmt.Println(string(note.Spec().Schema))
	// Output:
	// note host
	// {"type":"object","properties":{"path":{"type":"string","description":"where to write it"},"text":{"type":"string"}},"required":["path","text"],"additionalProperties":false}
}

func ExampleRegistry() {
	r := tool.NewRegistry(newNote())
	fmt.Println(r.Register(newNote()))
	for _, t := range r.All() {
		fmt.Println(t.Spec().ForModel().Name)
	}
	fmt.Println(r.Unregister("note"), r.Changes())
	_, ok := r.Get("note")
	fmt.Println(ok)
	// Output:
	// tool: a tool of that name is registered already: "note"
	// note
	// true 2
	// false
}

func ExampleGate_Decide() {
	gate, workspace, planning, off := newGate()
	defer os.RemoveAll(workspace)
	call := tool.Call{ID: "1", Tool: "note", Input: []byte(`{"path":"a.txt","text":"hello"}`)}
	for _, st := range []plan.State{planning, off} {
		gate.Observe(st)
		switch d := gate.Decide(st, call).(type) {
		case tool.Allow:
			fmt.Println("runs")
		case tool.Ask:
			fmt.Printf("%s: the user is asked, because %s; always would be %s\n", st.Mode(), d.Reason, d.Rule)
		case tool.Deny:
			fmt.Printf("%s: %s; %s\n", st.Mode(), d.Refusal.Code, d.Refusal.Hint)
		}
	}
	// Output:
	// planning: plan_mode_blocked; put the change into the plan
	// off: the user is asked, because it writes a file in the workspace; always would be note(./a.txt)
}

func ExampleGate_Answer() {
	gate, workspace, planning, off := newGate()
	defer os.RemoveAll(workspace)
	gate.Observe(off)
	call := tool.Call{ID: "1", Tool: "note", Input: []byte(`{"path":"a.txt","text":"hello"}`)}
	ask := gate.Decide(off, call).(tool.Ask)
	later := gate.Decide(off, call).(tool.Ask)
	_, yes := gate.Answer(off, ask, tool.Verdict{Yes: true}).(tool.Allow)
	fmt.Println("allowed:", yes)

	// A yes that comes after the mode has changed is a no.
	gate.Observe(planning)
	deny := gate.Answer(planning, later, tool.Verdict{Yes: true}).(tool.Deny)
	fmt.Println(deny.Refusal.Code, "-", deny.Refusal.Reason)
	// Output:
	// allowed: true
	// stale_permission - what may be done has changed since the user was asked
}

func ExampleGate_Run() {
	gate, workspace, _, off := newGate()
	defer os.RemoveAll(workspace)
	gate.Observe(off)
	ctx := context.Background()
	ask := gate.Decide(off, tool.Call{ID: "1", Tool: "note", Input: []byte(`{"path":"a.txt","text":"hello"}`)}).(tool.Ask)
	allow := gate.Answer(off, ask, tool.Verdict{Yes: true}).(tool.Allow)
	res, err := gate.Run(ctx, allow, nil)
	text, _ := os.ReadFile(filepath.Join(workspace, "a.txt"))
	fmt.Printf("%s, %v: %s\n", res.Text, err, text)

	// A permission is for once.
	_, err = gate.Run(ctx, allow, nil)
	fmt.Println(err)
	// Output:
	// noted in a.txt, <nil>: hello
	// stale_permission: the permission was used already
}

func ExampleGate_Child() {
	gate, workspace, planning, off := newGate()
	defer os.RemoveAll(workspace)
	gate.Observe(planning)
	child := gate.Child(tool.NewRegistry(newNote()), tool.Host{})
	child.Observe(off) // says nothing: a sub-agent has its session's ceiling
	deny := child.Decide(planning, tool.Call{Tool: "note", Input: []byte(`{"path":"a.txt","text":""}`)}).(tool.Deny)
	fmt.Println(deny.Refusal.Code)
	// Output: plan_mode_blocked
}

func ExampleParseRule() {
	r, err := tool.ParseRule("bash(go test *)")
	fmt.Printf("%s: tool %q, argument %q, %v\n", r, r.Tool, r.Arg, err)
	_, err = tool.ParseRule("bash(go test *")
	fmt.Println(err)
	// Output:
	// bash(go test *): tool "bash", argument "go test *", <nil>
	// tool: rule "bash(go test *": no closing parenthesis
}

func ExampleParseAutonomy() {
	a, err := tool.ParseAutonomy("hybrid")
	fmt.Println(a, err)
	a, err = tool.ParseAutonomy("reckless")
	fmt.Println(a, err)
	// Output:
	// hybrid <nil>
	// strict tool: autonomy "reckless" is none of strict, hybrid, loose
}

func ExampleRefusal_Result() {
	gate, workspace, planning, _ := newGate()
	defer os.RemoveAll(workspace)
	d := gate.Decide(planning, tool.Call{Tool: "note", Input: []byte(`{"path":5}`), Session: "7f3a"})
	refusal := d.(tool.Deny).Refusal
	fmt.Println(refusal.Result().Text)
	// Output:
	// {"success":false,"is_error":true,"error_code":"invalid_input","tool_name":"note","session_id":"7f3a","plan_mode":true,"fixable_by_llm":true,"reason":"path: an integer was given where a string is due","hint":"correct the input as the tool's schema says and call again"}
}

func ExampleLoopGuard() {
	var loop tool.LoopGuard
	call := tool.Call{Tool: "bash", Input: []byte(`{"command":"rm -rf /"}`)}
	for range tool.MaxRefusals {
		stop, why := loop.Refused(call)
		fmt.Printf("%t %q\n", stop, why)
	}
	// Output:
	// false ""
	// false ""
	// true "the model made the same refused call of \"bash\" 3 times; the turn has ended"
}

func ExampleCounters() {
	counters := &tool.Counters{}
	gate := tool.NewGate(tool.Config{Registry: tool.NewRegistry(newNote()), Counters: counters})
	gate.Decide(plan.State{}, tool.Call{Tool: "a name that a model made up", Surface: "model"})
	fmt.Println(counters.Snapshot())
	// Output: map[{unknown unknown_tool model}:1]
}
