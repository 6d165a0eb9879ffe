package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/planmode-dev/planmode"
	"github.com/planmode-dev/planmode/internal/turn"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
	"github.com/planmode-dev/planmode/tool"
)

// gateConfig is the session's gate: what the caller configured, with the session as the tools' host.
func (s *Session) gateConfig() tool.Config {
	cfg := s.cfg.Gate
	cfg.Roots.Workspace = s.cfg.Workspace
	cfg.Host = tool.Host{WriteTodos: s.writeTodos, AskUser: s.askQuestions, Spawn: s.spawn}
	s.mu.Lock()
	defer s.mu.Unlock()
	cfg.Autonomy = s.autonomy()
	return cfg
}

func (s *Session) writeTodos(_ context.Context, items []tasks.Item) (tasks.List, error) {
	before := s.todos.State()
	list, err := s.todos.Replace(items)
	if err != nil {
		return list, err
	}
	if err := s.append("model", TodosChanged{State: s.todos.State(), Counts: list.Counts}); err != nil {
		return s.todos.List(), errors.Join(err, s.todos.Load(before)) // what is not recorded did not happen
	}
	return list, nil
}

func (s *Session) askQuestions(ctx context.Context, questions []tool.Question) ([]tool.Answer, error) {
	r, err := s.askUser(ctx, func(id string) Event {
		return QuestionsAsked{ID: id, Questions: questions}
	}, func(id string) Event { return QuestionsClosed{ID: id} })
	return r.answers, err
}

// reviewConfig says who reviews: the configured model, or the session's own.
func (s *Session) reviewConfig() planmode.ReviewConfig {
	return planmode.ReviewConfig{
		ThinkingLevel: s.cfg.ReviewThinking,
		ProviderFactory: func(llm.Model) (llm.Provider, error) {
			name := s.cfg.ReviewModel
			if name == "" {
				s.mu.Lock()
				name = s.t.settings.Model
				s.mu.Unlock()
			}
			p, m, err := s.cfg.Open(name)
			return fixedModel{p, m}, err
		},
	}
}

// fixedModel asks one model, whatever the request names: which one that is can change between reviews.
type fixedModel struct {
	llm.Provider
	model llm.Model
}

func (f fixedModel) Stream(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	req.Model = f.model
	return f.Provider.Stream(ctx, req, onDelta)
}

// parentOnly are tools that a sub-agent does not get: it cannot hand in plans, write the session's
// todos, question the user, or have sub-agents of its own.
var parentOnly = map[string]bool{"submit_plan": true, "request_review": true, "todo_write": true, "ask_user": true, "task": true, "enter_plan_mode": true}

const childPrompt = `You are a sub-agent. Do the assignment and give your findings as your answer: it is all
that your caller sees. Be exact: name files and lines.`

// spawn runs a sub-agent to its end. It shares the session's ceiling at every call.
func (s *Session) spawn(ctx context.Context, a tool.Assignment) (string, error) {
	s.mu.Lock()
	name := s.t.settings.Model
	s.mu.Unlock()
	provider, model, err := s.cfg.Open(name)
	if err != nil {
		return "", err
	}
	tools := tool.NewRegistry()
	for _, t := range s.cfg.Registry.All() {
		if !parentOnly[t.Spec().Name] {
			if err := tools.Register(t); err != nil {
				return "", err
			}
		}
	}
	gate := s.pm.Gate().Child(tools, tool.Host{})
	prompt := a.Prompt
	if s.pm.State().ReadOnly() {
		prompt += "\n\nPlan mode is active: calls that would change something are refused."
	}
	c := &child{sink: sink{s: s, provider: provider, model: model}, id: s.log.newID(), messages: []llm.Message{llm.UserText(prompt)}}
	out := turn.Run(ctx, turn.Config{
		Provider: provider, Gate: gate, State: s.pm.State, Sink: c, Session: s.cfg.ID, Surface: "child", MaxRequests: childRequests,
		Request: func(context.Context) (llm.Request, error) { return c.request(gate, tools, s.pm.State()), nil },
	})
	if err := s.append("host", Spent{What: "sub-agent", Usage: out.Usage}); err != nil {
		return "", err
	}
	if out.Err != nil {
		return "", out.Err
	}
	if out.Stop != turn.EndTurn {
		return out.Text, fmt.Errorf("the sub-agent stopped early: %s", out.Note)
	}
	return out.Text, nil
}

// childRequests bounds a sub-agent's turn.
const childRequests = 60

// A child is the sink of a sub-agent's turn. Its calls are on the session's journal, under names of
// their own, before they run; its conversation is not: its answer is its caller's result.
type child struct {
	sink
	id string

	mu       sync.Mutex
	messages []llm.Message
}

func (c *child) request(gate *tool.Gate, tools *tool.Registry, st plan.State) llm.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	req := llm.Request{Model: c.model, System: childPrompt, Messages: c.messages[:len(c.messages):len(c.messages)]}
	for _, t := range tools.All() {
		if gate.Offered(st, t.Spec().Name) {
			req.Tools = append(req.Tools, t.Spec().ForModel())
		}
	}
	return req
}

func (c *child) Delta(llm.Delta) {}

func (c *child) Answered(r llm.Response) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = append(c.messages, r.Message)
	return nil
}

func (c *child) named(call tool.Call) tool.Call {
	call.ID = c.id + "/" + call.ID
	return call
}

func (c *child) Ask(ctx context.Context, a tool.Ask) (tool.Verdict, error) {
	return c.ask(ctx, a, c.named(a.Call()))
}

func (c *child) took(id string, res tool.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = turn.AppendResult(c.messages, id, res)
}

func (c *child) Refused(call tool.Call, r tool.Refusal) error {
	c.took(call.ID, r.Result())
	return c.sink.Refused(c.named(call), r)
}

func (c *child) Allowed(call tool.Call) error { return c.sink.Allowed(c.named(call)) }

func (c *child) Progress(callID, text string) { c.sink.Progress(c.id+"/"+callID, text) }

func (c *child) Finished(call tool.Call, res tool.Result, d time.Duration) error {
	c.took(call.ID, res)
	return c.sink.Finished(c.named(call), res, d)
}

func (s *Session) sandbox() string {
	if s.cfg.Sandbox == nil {
		return ""
	}
	return s.cfg.Sandbox()
}
