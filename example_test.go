package planmode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/planmode-dev/planmode"
	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

// folder is a temporary one for the examples' files.
func folder() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "planmode")
	if err != nil {
		panic(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

func example(dir string) *planmode.PlanMode {
	return planmode.New(planmode.Config{
		Registry: tool.NewRegistry(tools.Read(), tools.Write()), SessionDir: dir, TaskStore: tasks.NewStore(tasks.Options{}),
		Gate: tool.Config{Roots: tool.Roots{Workspace: dir}, Autonomy: tool.Hybrid},
	})
}

func ExampleNew() {
	dir, remove := folder()
	defer remove()
	pm := example(dir)
	fmt.Println(pm.Mode())
	if _, err := pm.Enter(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(pm.Mode())
	// Output:
	// off
	// planning
}

// Every call of the model goes through the gate. What it allows can be run, once.
func ExamplePlanMode_Gate() {
	dir, remove := folder()
	defer remove()
	pm := example(dir)
	write := tool.Call{ID: "1", Tool: "write", Input: json.RawMessage(`{"path": "a.txt", "content": "hello\n"}`)}
	try := func() {
		switch d := pm.Gate().Decide(pm.State(), write).(type) {
		case tool.Allow:
			res, err := pm.Gate().Run(context.Background(), d, nil)
			fmt.Println("ran:", !res.IsError, err)
		case tool.Ask:
			fmt.Println("the user is asked:", d.Reason)
		case tool.Deny:
			fmt.Println("refused:", d.Refusal.Code)
		}
	}
	_, _ = pm.Enter() // the error would be about the plan file
	try()
	pm.Exit()
	try()
	// Output:
	// refused: plan_mode_blocked
	// ran: true <nil>
}

// A plan is approved by the digest of the text that the user saw.
func ExamplePlanMode_ByUser() {
	dir, remove := folder()
	defer remove()
	pm := example(dir)
	_, _ = pm.Enter() // the error would be about the plan file
	fmt.Println(pm.ByModel(plan.Submit{Text: "1. Write a.txt\n"}))
	seen, _ := pm.State().Newest()
	fmt.Println(pm.ByUser(plan.Edit{Text: "1. Write b.txt\n"}))
	fmt.Println(pm.ByUser(plan.Approve{Digest: seen.Digest}))
	edited, _ := pm.State().Newest()
	fmt.Println(pm.ByUser(plan.Approve{Digest: edited.Digest}), pm.Mode(), pm.TaskStore().Items()[0].Content)
	// Output:
	// <nil>
	// <nil>
	// plan: approve while a plan waits for the user: the digest does not name the newest revision: 88eb274f4823 was named, fa2bc1adfc18 is the newest
	// <nil> executing Write b.txt
}

// An agent that runs its tools itself asks before each call.
func ExamplePlanMode_FilterToolCall() {
	dir, remove := folder()
	defer remove()
	pm := example(dir)
	path, _ := pm.Enter()
	for _, p := range []string{"a.txt", path} {
		ok, reason := pm.FilterToolCall("write", map[string]any{"path": p, "content": "x"})
		fmt.Println(ok, reason != "")
	}
	// Output:
	// false true
	// true false
}

func ExamplePlanMode_Tools() {
	dir, remove := folder()
	defer remove()
	pm := example(dir)
	show := func() {
		fmt.Print(pm.Mode(), ":")
		for _, t := range pm.Tools() {
			fmt.Print(" ", t.Name)
		}
		fmt.Println()
	}
	show()
	_, _ = pm.Enter() // the error would be about the plan file
	_ = pm.ByModel(plan.Submit{Text: "1. Look\n"})
	show()
	// Output:
	// off: read write
	// ready: read
}

func ExamplePlanMode_SaveState() {
	dir, remove := folder()
	defer remove()
	pm := example(dir)
	_, _ = pm.Enter() // the error would be about the plan file
	metadata := pm.SaveState()

	later := example(dir)
	later.RestoreState(metadata)
	later.ApplyRestoredState()
	fmt.Println(later.Mode(), later.PlanFilePath() == pm.PlanFilePath())
	// Output: planning true
}

func ExamplePlanMode_SetOnChange() {
	dir, remove := folder()
	defer remove()
	pm := example(dir)
	pm.SetOnChange(func(m planmode.Mode) { fmt.Println(m) })
	_, _ = pm.Enter() // the error would be about the plan file
	_ = pm.ByModel(plan.Submit{Text: "1. Look\n"})
	fmt.Println("submitted:", pm.OnPlanSubmitted())
	pm.ContinueRefining()
	pm.Exit()
	// Output:
	// planning
	// ready
	// submitted: true
	// planning
	// off
}

func ExampleReview() {
	dir, remove := folder()
	defer remove()
	path := filepath.Join(dir, "plan.md")
	if err := os.WriteFile(path, []byte("1. Look\n"), 0o600); err != nil {
		fmt.Println(err)
	}
	res, err := planmode.Review(context.Background(), planmode.ReviewConfig{
		ProviderFactory: func(llm.Model) (llm.Provider, error) {
			return speaker("Step 1 says nothing.\nVERDICT: CHANGES_REQUESTED"), nil
		},
	}, path, nil)
	fmt.Println(res.Approved, err)
	// Output: false <nil>
}

func ExampleReviewCode() {
	res, err := planmode.ReviewCode(context.Background(), planmode.ReviewConfig{
		ProviderFactory: func(llm.Model) (llm.Provider, error) { return speaker("VERDICT: APPROVED"), nil },
	}, "greets in two languages", []string{"greet.go"})
	fmt.Println(res.Approved, err)
	// Output: true <nil>
}

func ExampleIsSafeCommand() {
	fmt.Println(planmode.IsSafeCommand("git log --oneline | head -5"))
	fmt.Println(planmode.IsSafeCommand("sort -o out.txt in.txt"))
	// Output:
	// true
	// false
}

func ExampleRestoreFromMetadata() {
	s := planmode.RestoreFromMetadata(map[string]any{"planmode": map[string]any{"mode": "of a later version"}})
	fmt.Println(s.Mode)
	fmt.Println(planmode.RestoreFromMetadata(nil).Mode)
	// Output:
	// planning
	// off
}
