package anthropic_test

import (
	"context"
	"fmt"

	"github.com/planmode-dev/planmode/internal/agenttest"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/anthropic"
	"github.com/planmode-dev/planmode/llm/scripted"
)

func ExampleNew() {
	// A stand-in for the vendor; leave BaseURL out to talk to the real one.
	script, err := scripted.Parse([]byte("=== turn\ntext: Four.\nusage: input=12 output=3\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := agenttest.StartAnthropic(script, agenttest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	p, err := anthropic.New(anthropic.Options{BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := p.Stream(context.Background(), llm.Request{
		Model:    llm.Model{ID: "claude-sonnet-5"},
		Messages: []llm.Message{llm.UserText("What is two and two?")},
	}, nil)
	fmt.Println(resp.Message.Text(), resp.Stop, resp.Usage.Input, resp.Usage.Output, err)
	// Output: Four. end_turn 12 3 <nil>
}
