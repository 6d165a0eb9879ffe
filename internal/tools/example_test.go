package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

// call runs one call of the tool while planning, over a workspace with two files, and prints what the
// model is told. Where the mode is off, changes are allowed.
func call(t tool.Tool, mode plan.Mode, input string) {
	base, err := os.MkdirTemp("", "tools")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(base) }()
	for name, content := range map[string]string{"main.go": "package main\n\nfunc main() {\n\tgreet()\n}\n", "README.md": "# Greeter\n"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(content), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	state, _, err := plan.Step(plan.State{}, plan.Start{Mode: mode})
	if err != nil {
		log.Fatal(err)
	}
	store := tasks.NewStore(tasks.Options{})
	gate := tool.NewGate(tool.Config{
		Registry: tool.NewRegistry(t), Roots: tool.Roots{Workspace: base}, Autonomy: tool.Loose, Sandbox: tool.SandboxPrefer,
		Host: tool.Host{
			WriteTodos: func(_ context.Context, items []tasks.Item) (tasks.List, error) { return store.Replace(items) },
			AskUser: func(_ context.Context, q []tool.Question) ([]tool.Answer, error) {
				return []tool.Answer{{Chosen: []string{q[0].Options[0].Label}}}, nil
			},
			SubmitPlan: func(_ context.Context, text string) (plan.Revision, error) {
				next, _, err := plan.Step(state, plan.Submit{Text: text})
				rev, _ := next.Newest()
				return rev, err
			},
			Spawn: func(context.Context, tool.Assignment) (string, error) { return "It greets.", nil },
		},
	})
	gate.Observe(state)
	switch d := gate.Decide(state, tool.Call{ID: "1", Tool: t.Spec().Name, Input: json.RawMessage(input)}).(type) {
	case tool.Deny:
		fmt.Println("refused:", d.Refusal.Code)
	case tool.Allow:
		res, err := gate.Run(context.Background(), d, nil)
		if err != nil {
			log.Fatal(err)
		}
		// A blank line of a diff ends in a space, which the comment of an example cannot.
		fmt.Println(strings.ReplaceAll(strings.TrimRight(res.Text, "\n"), "\n \n", "\n\n"))
	}
}

func ExampleAll() {
	for _, t := range tools.All(tools.Options{}) {
		fmt.Print(t.Spec().Name, " ")
	}
	// Output: read ls find grep edit write bash todo_write ask_user submit_plan task
}

func ExampleRead() {
	call(tools.Read(), plan.Planning, `{"path":"main.go","offset":3,"limit":2}`)
	call(tools.Read(), plan.Planning, `{"path":"mani.go"}`)
	// Output:
	//      3	func main() {
	//      4		greet()
	// [lines 3 to 4 of 5; 1 more line; continue with offset=5]
	// mani.go is not there; did you mean main.go?
}

func ExampleLs() {
	call(tools.Ls(), plan.Planning, `{}`)
	// Output:
	// README.md  10 B
	// main.go  39 B
}

func ExampleFind() {
	call(tools.Find(), plan.Planning, `{"pattern":"*.{go,mod}"}`)
	// Output: main.go
}

func ExampleGrep() {
	call(tools.Grep(), plan.Planning, `{"pattern":"greet\\(","context":1}`)
	// Output:
	// main.go
	// 3-func main() {
	// 4:	greet()
	// 5-}
}

func ExampleEdit() {
	call(tools.Edit(), plan.Off, `{"path":"main.go","old_text":"greet()","new_text":"greet(\"you\")"}`)
	call(tools.Edit(), plan.Off, `{"path":"main.go","old_text":"    greet()","new_text":"greet(\"you\")"}`)
	call(tools.Edit(), plan.Planning, `{"path":"main.go","old_text":"greet()","new_text":"greet(\"you\")"}`)
	// Output:
	// edited main.go: 1 replacement (+1 −1)
	// --- a/main.go
	// +++ b/main.go
	// @@ -1,5 +1,5 @@
	//  package main
	//
	//  func main() {
	// -	greet()
	// +	greet("you")
	//  }
	// main.go is unchanged: old_text is not in the file; line 4 is the same but for indentation: line 4 is "\tgreet()", old_text has "    greet()"
	// refused: plan_mode_blocked
}

func ExampleWrite() {
	call(tools.Write(), plan.Off, `{"path":"docs/new.md","content":"# New\n"}`)
	call(tools.Write(), plan.Planning, `{"path":"docs/new.md","content":"# New\n"}`)
	// Output:
	// created docs/new.md with 1 line
	// refused: plan_mode_blocked
}

func ExampleBash() {
	call(tools.Bash(tools.Options{}), plan.Off, `{"command":"echo one; exit 2"}`)
	call(tools.Bash(tools.Options{}), plan.Planning, `{"command":"rm main.go"}`)
	// Output:
	// one
	// [exit code 2]
	// refused: plan_mode_blocked
}

func ExampleTodoWrite() {
	call(tools.TodoWrite(), plan.Planning, `{"todos":[{"id":"1","content":"look","status":"in_progress"}]}`)
	call(tools.TodoWrite(), plan.Planning, `{"todos":[{"content":"look","status":"blocked"}]}`)
	// Output:
	// {"todos":[{"id":"1","content":"look","status":"in_progress"}],"counts":{"pending":0,"in_progress":1,"completed":0,"total":1}}
	// {"success":false,"error_code":"invalid_status","field":"todos[0].status","message":"\"blocked\" is none of pending, in_progress, completed","hint":"the list is unchanged; correct it and send all of it again"}
}

func ExampleAskUser() {
	call(tools.AskUser(), plan.Planning, `{"questions":[{"question":"Greet whom?","options":[{"label":"the user"},{"label":"the world"}]}]}`)
	// Output:
	// 1. Greet whom?
	//    chosen: the user
	// {"answers":[{"question":"Greet whom?","chosen":["the user"]}]}
}

func ExampleSubmitPlan() {
	call(tools.SubmitPlan(), plan.Planning, `{"plan":"# Greet by name\n\n1. Add a parameter\n2. Pass the name\n"}`)
	call(tools.SubmitPlan(), plan.Planning, `{"summary":"Greet by name.","steps":"all of it"}`)
	call(tools.SubmitPlan(), plan.Off, `{"plan":"1. Greet."}`)
	// Output:
	// revision 1 of the plan (2 steps, digest b07af0273c3b) is recorded and with the user, who decides what is next. Nothing is approved and plan mode is on. Your turn ends here.
	// refused: invalid_input
	// refused: not_in_this_phase
}

func ExampleTask() {
	call(tools.Task(), plan.Planning, `{"title":"Look","prompt":"What does this program do?"}`)
	// Output: It greets.
}
