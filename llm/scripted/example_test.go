package scripted_test

import (
	"context"
	"fmt"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/scripted"
)

func ExampleNew() {
	script, err := scripted.Parse([]byte(`
=== turn
expect: "who are you"
text: I am a file.
usage: input=10 output=5
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	model := scripted.New(script)
	req := llm.Request{Model: scripted.Model(), Messages: []llm.Message{llm.UserText("Say who are you?")}}
	resp, err := model.Stream(context.Background(), req, func(d llm.Delta) { fmt.Printf("%q ", d.Text) })
	fmt.Println(resp.Message.Text(), resp.Stop, resp.Usage.Input, err)

	req.Messages = []llm.Message{llm.UserText("Hello?")}
	_, err = model.Stream(context.Background(), req, nil)
	fmt.Println(err)
	// Output:
	// "I am a file." I am a file. end_turn 10 <nil>
	// llm: scripted: bad_request: script:3: expected "who are you", but it is "Hello?"
}

func ExampleParse() {
	_, err := scripted.Parse([]byte("=== turn\ncall: read {path}\n"))
	fmt.Println(err)
	// Output:
	// scripted: script:2: the input of read is not JSON (badcall allows that): invalid character 'p' looking for beginning of object key string
}
