package tasks_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/planmode-dev/planmode/tasks"
)

func ExampleNewStore() {
	s := tasks.NewStore(tasks.Options{})
	fmt.Println(s.Counts().Total, s.AllDone(), s.Problem())
	// Output: 0 false <nil>
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "tasks")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "todos.json")
	if err := os.WriteFile(path, []byte("{ not JSON"), 0o600); err != nil {
		panic(err)
	}
	s, err := tasks.Open(tasks.Options{Path: path})
	var aside *tasks.SetAsideError
	if errors.As(err, &aside) {
		fmt.Println("kept as", filepath.Base(aside.Kept))
	}
	_, err = s.Replace([]tasks.Item{{Content: "start afresh"}})
	fmt.Println(s.Counts().Total, err)
	// Output:
	// kept as todos.json.corrupt-1
	// 1 <nil>
}

func ExampleStore_Replace() {
	s := tasks.NewStore(tasks.Options{NewID: func() string { return "7f3a" }})
	list, err := s.Replace([]tasks.Item{{Content: "read the code", Status: "Completed"}, {ID: "b", Content: "fix it", Status: tasks.InProgress}})
	fmt.Println(string(list.JSON()), err)
	_, err = s.Replace([]tasks.Item{{Content: "a", Status: tasks.InProgress}, {Content: "b", Status: tasks.InProgress}})
	var refused *tasks.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Code, "-", refused.Message)
	}
	fmt.Println(s.Counts())
	// Output:
	// {"todos":[{"id":"7f3a","content":"read the code","status":"completed"},{"id":"b","content":"fix it","status":"in_progress"}],"counts":{"pending":0,"in_progress":1,"completed":1,"total":2}} <nil>
	// multiple_in_progress - 2 items are in_progress; at most one may be
	// {0 1 1 2}
}

func ExampleStore_Seed() {
	s := tasks.NewStore(tasks.Options{})
	list, err := s.Seed("1", []string{"Add the flag", "Test it"})
	fmt.Println(list.Plan, list.Items, err)
	// Output: 1 [{1 Add the flag pending} {2 Test it pending}] <nil>
}

func ExampleStore_SetStatus() {
	s := tasks.NewStore(tasks.Options{})
	if _, err := s.Seed("1", []string{"Add the flag"}); err != nil {
		panic(err)
	}
	list, err := s.SetStatus("1", tasks.Completed)
	fmt.Println(list.Counts.Completed, s.AllDone(), err)
	_, err = s.SetStatus("9", tasks.Completed)
	fmt.Println(err)
	// Output:
	// 1 true <nil>
	// tasks: id: no todo has the id "9"
}

func ExampleStore_Cancel() {
	s := tasks.NewStore(tasks.Options{})
	if _, err := s.Seed("1", []string{"Add the flag", "Test it"}); err != nil {
		panic(err)
	}
	if _, err := s.SetStatus("1", tasks.Completed); err != nil {
		panic(err)
	}
	closed, err := s.Cancel()
	fmt.Println(closed, s.Items(), s.AllDone(), err)
	// Output: [{2 Test it pending}] [{1 Add the flag completed}] false <nil>
}

func ExampleStore_State() {
	s := tasks.NewStore(tasks.Options{})
	if _, err := s.Seed("3", []string{"Add the flag"}); err != nil {
		panic(err)
	}
	saved := s.State()
	other := tasks.NewStore(tasks.Options{})
	fmt.Println(other.Load(saved), other.Plan(), other.Items())
	// Output: <nil> 3 [{1 Add the flag pending}]
}

func ExampleParseItems() {
	items, err := tasks.ParseItems([]byte(`["read the code", {"title": "fix it", "status": "pending"}]`))
	fmt.Println(len(items), items[0].Content, items[1].Content, err)
	_, err = tasks.ParseItems(nil)
	fmt.Println(err)
	// Output:
	// 2 read the code fix it <nil>
	// tasks: todos: the complete list is required; [] clears it
}

func ExampleList_Current() {
	s := tasks.NewStore(tasks.Options{})
	list, err := s.Replace([]tasks.Item{{Content: "later"}, {Content: "now", Status: tasks.InProgress}})
	if err != nil {
		panic(err)
	}
	it, ok := list.Current()
	fmt.Println(it.Content, ok)
	// Output: now true
}
