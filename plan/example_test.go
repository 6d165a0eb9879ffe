package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/planmode-dev/planmode/plan"
)

const text = "# Add a flag\n\n1. Add `--verbose`\n2. Test it\n"

// must folds events that are legal.
func must(s plan.State, events ...plan.Event) plan.State {
	for _, ev := range events {
		var err error
		if s, _, err = plan.Step(s, ev); err != nil {
			panic(err)
		}
	}
	return s
}

// A session from its start to the execution of a plan.
func Example() {
	s := plan.State{}
	for _, ev := range []plan.Event{
		plan.Start{Mode: plan.Planning, AfterDone: plan.Off},
		plan.Submit{Text: text},
		plan.Approve{Digest: plan.DigestOf(text)},
		plan.AllStepsDone{},
	} {
		next, effects, err := plan.Step(s, ev)
		fmt.Printf("%s: %s, read-only %v, %d effects, %v\n", plan.EventName(ev), next.Mode(), next.ReadOnly(), len(effects), err)
		s = next
	}
	// Output:
	// start: planning, read-only true, 0 effects, <nil>
	// submit: ready, read-only true, 2 effects, <nil>
	// approve: executing, read-only false, 4 effects, <nil>
	// all_steps_done: off, read-only false, 2 effects, <nil>
}

func ExampleStep() {
	s := must(plan.State{}, plan.Submit{Text: text})
	_, _, err := plan.Step(s, plan.Approve{Digest: plan.DigestOf("1. Something else")})
	fmt.Println(errors.Is(err, plan.ErrDigest))
	_, _, err = plan.Step(s, plan.AllStepsDone{})
	fmt.Println(err)
	s, effects, err := plan.Step(s, plan.Leave{})
	fmt.Println(s.Mode(), effects, err)
	// Output:
	// true
	// plan: all steps done is not possible while a plan waits for the user
	// off [{ready off leave}] <nil>
}

func ExampleModes() {
	for _, m := range plan.Modes() {
		fmt.Println(m, m.ReadOnly())
	}
	// Output:
	// off false
	// planning true
	// ready true
	// reviewing true
	// executing false
}

func ExampleParseMode() {
	m, err := plan.ParseMode("ready")
	fmt.Println(m, err)
	m, err = plan.ParseMode("on")
	fmt.Println(m, err)
	// Output:
	// ready <nil>
	// planning plan: unknown mode "on"
}

func ExampleDigestOf() {
	d := plan.DigestOf("1. Read\n")
	fmt.Println(d)
	fmt.Println(d.Short(), d == plan.DigestOf("\ufeff1. Read\r\n\r\n"))
	// Output:
	// sha256:5196d6432648eeca3078f9412232cee5283210476e97ac2e96126d994b535f92
	// 5196d6432648 true
}

func ExampleNormalize() {
	fmt.Printf("%q\n", plan.Normalize("\ufeff\n1. Read\r\n2. Write\n\n"))
	// Output: "1. Read\n2. Write\n"
}

func ExampleCheck() {
	fmt.Println(plan.Check(text))
	fmt.Println(plan.Check("Just do it."))
	fmt.Println(plan.Check("1. Read\n2. \x1b[2J"))
	// Output:
	// <nil>
	// the plan has no numbered or checkbox step: write each as `1. …` or `- [ ] …`
	// the plan holds characters that cannot be shown as they are: U+001B on line 2
}

func ExampleStepsOf() {
	for _, s := range plan.StepsOf("1. **Read** the `code`\n   - [ ] part of the first\n2. [x] Write\n") {
		fmt.Println(s.Number, s.Text, s.Done, s.Line)
	}
	// Output:
	// 1 Read the code false 1
	// 2 Write true 3
}

func ExampleTitleOf() {
	fmt.Println(plan.TitleOf(text))
	fmt.Println(plan.TitleOf("1. Read"))
	// Output:
	// Add a flag
	// 1. Read
}

func ExampleCompose() {
	text, err := plan.Compose(plan.Draft{
		Title: "Add a flag", Summary: "People ask for it.",
		Steps: []plan.DraftStep{{Title: "Add it", Tools: []string{"edit"}}, {Title: "Test it", Detail: "Both ways."}},
		Risks: []string{"A name that is taken"},
	})
	fmt.Println(text, err)
	_, err = plan.Compose(plan.Draft{Summary: "x", Steps: []plan.DraftStep{{}}})
	fmt.Println(err)
	// Output:
	// # Add a flag
	//
	// People ask for it.
	//
	// ## Steps
	//
	// 1. Add it
	//    Tools: edit
	// 2. Test it
	//
	//    Both ways.
	//
	//
	// ## Risks
	//
	// - A name that is taken
	//  <nil>
	// plan: steps[0].title: the plan is empty
}

func ExampleExtract() {
	text, warnings := plan.Extract("Here it is.\n<proposed_plan>\n1. Read\n</proposed_plan>\n")
	fmt.Printf("%q %v\n", text, warnings)
	text, warnings = plan.Extract("<proposed_plan>\n1. Read\n")
	fmt.Printf("%q %s: %s\n", text, warnings[0].Code, warnings[0].Message)
	// Output:
	// "1. Read\n" []
	// "" unclosed: the plan that begins on line 1 has no </proposed_plan> at the end of a line
}

func ExampleStrip() {
	fmt.Println(plan.Strip("Here it is.\n<proposed_plan>\n1. Read\n</proposed_plan>\nShall I?"))
	// Output:
	// Here it is.
	// Shall I?
}

func ExampleEventName() {
	fmt.Println(plan.EventName(plan.StartReview{}), plan.EventName(plan.AllStepsDone{}))
	// Output: start_review all_steps_done
}

func ExampleEventAuthor() {
	fmt.Println(plan.EventAuthor(plan.Approve{}), plan.EventAuthor(plan.Submit{}), plan.EventAuthor(plan.Restarted{}))
	// Output: user model host
}

func ExampleEventStamp() {
	ev := plan.Enter{Stamp: plan.Stamp{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Surface: plan.Web}}
	fmt.Println(plan.EventStamp(ev).Surface, plan.EventStamp(ev).At.Year())
	// Output: web 2026
}

func ExampleDecodeEvent() {
	ev := plan.Reject{Feedback: "smaller steps"}
	data, err := json.Marshal(ev)
	if err != nil {
		panic(err)
	}
	back, err := plan.DecodeEvent(plan.EventName(ev), data)
	fmt.Println(back == plan.Event(ev), err)
	_, err = plan.DecodeEvent("execute", data)
	fmt.Println(err)
	// Output:
	// true <nil>
	// plan: unknown event "execute"
}

func ExampleState_Newest() {
	s := must(plan.State{}, plan.Submit{Text: text}, plan.Edit{Text: "1. Only this"})
	r, ok := s.Newest()
	fmt.Println(r.Number, r.Author, r.Status, r.Title, ok)
	fmt.Println(s.Revisions()[0].Status)
	// Output:
	// 2 user submitted 1. Only this true
	// superseded
}

func ExampleState_Find() {
	s := must(plan.State{}, plan.Submit{Text: text})
	r, ok := s.Find(plan.DigestOf(text).Short())
	fmt.Println(r.Number, ok)
	_, ok = s.Find("2")
	fmt.Println(ok)
	// Output:
	// 1 true
	// false
}

func ExampleState_Approved() {
	s := must(plan.State{}, plan.Submit{Text: text}, plan.Approve{Digest: plan.DigestOf(text), How: plan.Fresh, Note: "carefully"})
	r, ok := s.Approved()
	how, note := s.Instructions()
	fmt.Println(r.Title, len(r.Steps()), how, note, ok)
	// Output: Add a flag 2 fresh carefully true
}

func ExampleState_Epoch() {
	s := must(plan.State{}, plan.Submit{Text: text})
	before := s.Epoch()
	s = must(s, plan.Approve{Digest: plan.DigestOf(text)})
	fmt.Println(before == s.Epoch())
	// Output: false
}

func ExampleState_NoticePending() {
	s := must(plan.State{}, plan.Leave{})
	fmt.Println(s.NoticePending())
	s = must(s, plan.Prompt{})
	fmt.Println(s.NoticePending())
	// Output:
	// true
	// false
}
