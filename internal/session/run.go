package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planmode-dev/planmode"
	"github.com/planmode-dev/planmode/internal/turn"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// startJob runs something in the background, as the one thing that the session is busy with. What work
// returns is done when the job has settled, with s.do held; it says whether the session may go on by
// itself. It is called with s.do held.
func (s *Session) startJob(what string, work func(context.Context) (after func() (goOn bool))) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, done: make(chan struct{}), what: what}
	s.mu.Lock()
	s.turn = r
	s.mu.Unlock()
	go func() {
		defer close(r.done)
		defer cancel()
		after := work(ctx)
		s.settle(ctx, r, after)
	}()
}

// settle ends a job: it applies what was pending, and begins what is due. The session is not idle before
// all of that is done.
func (s *Session) settle(ctx context.Context, r *running, after func() bool) {
	s.do.Lock()
	defer s.do.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turn == r { // nothing else has begun
			s.turn = nil
		}
	}()
	goOn := after() && ctx.Err() == nil
	s.mu.Lock()
	pending, closed := s.pending, s.closed
	s.pending = nil
	s.mu.Unlock()
	if closed {
		return // what was pending is not kept
	}
	if a, ok := pending.(plan.Approve); ok && a.How == plan.Compact && r.what != compaction && s.compactFirst(a) {
		return
	}
	if pending != nil {
		if err := s.pm.ByUser(pending); err != nil {
			s.warn("switch_dropped", "the switch that waited for the turn was dropped: "+err.Error())
		}
	}
	s.mu.Lock()
	due, queued := s.due, len(s.t.queue) > 0
	s.mu.Unlock()
	switch {
	case due:
		s.warnIf("execute", s.execute())
	case queued && goOn:
		s.startTurn()
	}
}

// startTurn begins a turn with what the conversation holds. It is called with s.do held.
func (s *Session) startTurn() {
	s.startJob("turn", func(ctx context.Context) func() bool {
		out := s.playTurn(ctx)
		return func() bool { return s.turnEnded(out) }
	})
}

func (s *Session) playTurn(ctx context.Context) turn.Outcome {
	st := s.pm.State()
	if err := s.append("host", TurnStarted{Mode: st.Mode()}); err != nil {
		return turn.FailedBy(err)
	}
	s.mu.Lock()
	model := s.t.settings.Model
	s.mu.Unlock()
	provider, m, err := s.cfg.Open(model)
	if err != nil {
		return turn.FailedBy(err)
	}
	k := &sink{s: s, provider: provider, model: m}
	return turn.Run(ctx, turn.Config{
		Provider: provider, Gate: s.pm.Gate(), State: s.pm.State, Sink: k, Session: s.cfg.ID, Surface: "model",
		Request: k.request, More: s.deliver, MaxRequests: s.cfg.MaxRequests,
	})
}

// turnEnded writes down how a turn ended and what follows from it. What is queued is not tried after a
// failure: it would fail in the same way, again and again.
func (s *Session) turnEnded(out turn.Outcome) (goOn bool) {
	s.warnIf("turn", s.endTurn(out))
	return out.Stop != turn.Failed
}

// endTurn writes the end of the turn last, so that a turn without one is known to be unfinished.
func (s *Session) endTurn(out turn.Outcome) error {
	ev := TurnEnded{Stop: string(out.Stop), Note: out.Note, Usage: out.Usage}
	if out.Err != nil {
		ev.Error = failureOf(out.Err)
	}
	if out.Stop == turn.EndTurn {
		s.takeProposal(&ev)
		if s.pm.State().Mode() == plan.Executing && s.todos.AllDone() {
			s.warnIf("done", s.pm.ByHost(plan.AllStepsDone{Stamp: plan.Stamp{At: s.cfg.Now()}}))
		}
	}
	return s.append("host", ev)
}

// takeProposal submits the <proposed_plan> of the model's last message, where there is one.
func (s *Session) takeProposal(ev *TurnEnded) {
	if s.pm.State().Mode() != plan.Planning {
		return
	}
	text, warnings := plan.Extract(s.lastText())
	for _, w := range warnings {
		s.warn("plan_"+w.Code, w.Message)
	}
	if text == "" {
		return
	}
	if err := s.pm.ByModel(plan.Submit{Stamp: plan.Stamp{At: s.cfg.Now()}, Text: text, Sandbox: s.sandbox()}); err != nil {
		s.warn("plan_not_taken", err.Error())
		return
	}
	ev.Stop = string(turn.PlanReady)
}

// lastText returns the text of the model's last message.
func (s *Session) lastText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.t.messages) - 1; i >= 0; i-- {
		if s.t.messages[i].Role == llm.RoleAssistant {
			return s.t.messages[i].Text()
		}
	}
	return ""
}

func failureOf(err error) *Failure {
	f := &Failure{Code: "internal", Message: err.Error()}
	var le *llm.Error
	if errors.As(err, &le) {
		f.Code, f.Retry = string(le.Kind), le.Temporary()
	}
	return f
}

// deliver gives the model the prompts that waited for it to stop, and says whether there were any.
func (s *Session) deliver() bool {
	n, err := s.drain(false)
	s.warnIf("queue", err)
	return n > 0
}

// drain makes prompts of queued ones: of those that steer, or of all.
func (s *Session) drain(steerOnly bool) (int, error) {
	s.mu.Lock()
	var due []waiting
	for _, q := range s.t.queue {
		if !steerOnly || q.prompt.Queue == Steer {
			due = append(due, q)
		}
	}
	s.mu.Unlock()
	for _, q := range due {
		surface := plan.Surface(strings.TrimPrefix(q.by, userPrefix))
		if err := s.tellPlan(plan.Stamp{At: s.cfg.Now(), Surface: surface}); err != nil {
			return 0, err
		}
		if err := s.append(q.by, Prompted{Text: q.prompt.Text, Images: q.prompt.Images, Queued: q.prompt.ID}); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// A sink writes what happens in a turn.
type sink struct {
	s        *Session
	provider llm.Provider
	model    llm.Model
	// overfull says that the conversation could not be compacted in this turn.
	overfull bool
}

// request builds what the model is asked next.
func (k *sink) request(ctx context.Context) (llm.Request, error) {
	s := k.s
	s.mu.Lock()
	fresh := len(s.t.messages) == 0 || s.t.messages[len(s.t.messages)-1].Role == llm.RoleAssistant
	s.mu.Unlock()
	if _, err := s.drain(!fresh); err != nil {
		return llm.Request{}, err
	}
	if err := k.compactIfFull(ctx); err != nil {
		return llm.Request{}, err
	}
	if err := s.tell(); err != nil {
		return llm.Request{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	level, err := llm.ParseThinkingLevel(s.t.settings.Thinking)
	if err != nil {
		return llm.Request{}, err
	}
	return llm.Request{
		Model: k.model, System: s.cfg.System, Messages: s.t.Messages(), Tools: s.pm.Tools(), Thinking: level, CacheKey: s.cfg.ID,
	}, nil
}

// tell tells the model the mode that it is in, when that is news. The system prompt stays as it is, so
// that the provider's cache of everything before survives the transition.
func (s *Session) tell() error {
	st := s.pm.State()
	approved := 0
	if r, ok := st.Approved(); ok {
		approved = r.Number
	}
	s.mu.Lock()
	known := s.t.toldOnce && s.t.told == st.Mode() && s.t.toldPlan == approved
	first := !s.t.toldOnce
	notice := s.notice
	s.notice = false
	s.mu.Unlock()
	ev := Told{Mode: st.Mode(), Revision: approved}
	switch {
	case notice && !st.ReadOnly():
		ev.Text = planmode.LeftNotice
		if p := s.pm.Prompt(); p != "" && !known {
			ev.Text += "\n" + p
		}
	case known, first && st.Mode() == plan.Off:
		return nil
	case st.Mode() == plan.Off:
		ev.Text = planmode.LeftNotice
	default:
		ev.Text = s.pm.Prompt()
	}
	return s.append("host", ev)
}

func (k *sink) Delta(d llm.Delta) {
	ev := Delta{Text: d.Text, Thinking: d.Thinking, Tool: d.ToolName, Input: d.Input}
	if d.Retry != nil {
		ev.Void = d.Retry.Error()
	}
	k.s.log.transient("model", ev)
}

func (k *sink) Answered(r llm.Response) error {
	return k.s.append("model", Answered{Message: r.Message, Stop: r.Stop, Usage: r.Usage, Model: k.model.String()})
}

func (k *sink) Refused(c tool.Call, r tool.Refusal) error {
	k.s.tellOfWall(c.Tool)
	return k.s.append("host", CallRefused{Call: recordable(c), Refusal: r})
}

func (k *sink) Allowed(c tool.Call) error {
	k.s.tellOfWall(c.Tool)
	return k.s.append("host", CallAllowed{CallID: c.ID, Tool: c.Tool})
}

// tellOfWall warns the user, when the first command is judged while planning, that no wall of the
// kernel stands behind the judgement. Where the user required one the refusal says it, and where the
// user switched it off it is no news.
func (s *Session) tellOfWall(toolName string) {
	if s.cfg.Gate.Sandbox != tool.SandboxPrefer || !s.pm.State().ReadOnly() {
		return
	}
	t, ok := s.cfg.Registry.Get(toolName)
	isShell := func(e tool.Effect) bool { _, ok := e.(tool.Shell); return ok }
	if !ok || !slices.ContainsFunc(t.Spec().Kinds, isShell) {
		return
	}
	s.mu.Lock()
	told := s.wallTold
	s.wallTold = true
	s.mu.Unlock()
	if !told && !s.pm.Gate().Walled() {
		s.warn("no_kernel_wall", "this machine gives no wall of the kernel: while planning, only commands run that are proven "+
			"to read, and nothing can be tried in a throw-away view; planmode doctor says why")
	}
}

func (k *sink) Progress(callID, text string) {
	k.s.log.transient("host", Progress{CallID: callID, Text: text})
}

func (k *sink) Finished(c tool.Call, res tool.Result, took time.Duration) error {
	return k.s.append("host", CallFinished{CallID: c.ID, Tool: c.Tool, Result: res, Millis: took.Milliseconds()})
}

func (k *sink) Ask(ctx context.Context, a tool.Ask) (tool.Verdict, error) {
	return k.ask(ctx, a, a.Call())
}

func (k *sink) ask(ctx context.Context, a tool.Ask, shown tool.Call) (tool.Verdict, error) {
	r, err := k.s.askUser(ctx, func(id string) Event {
		return PermissionAsked{ID: id, Call: recordable(shown), Reason: a.Reason, Rule: a.Rule}
	}, func(id string) Event { return PermissionClosed{ID: id} })
	if err != nil {
		return tool.Verdict{}, err
	}
	if r.verdict == nil {
		return tool.Verdict{}, nil
	}
	return *r.verdict, nil
}

// A reply is a person's answer to something asked.
type reply struct {
	verdict *tool.Verdict
	answers []tool.Answer
}

// askUser asks and waits as long as it takes. Nobody's silence is an answer.
func (s *Session) askUser(ctx context.Context, asked, closed func(id string) Event) (reply, error) {
	if !s.cfg.Interactive {
		return reply{}, tool.ErrNoUser
	}
	id := s.log.newID()
	ch := make(chan reply, 1)
	s.mu.Lock()
	s.replying[id] = ch
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.replying, id)
		s.mu.Unlock()
	}()
	if err := s.append("host", asked(id)); err != nil {
		return reply{}, err
	}
	select {
	case r := <-ch:
		return r, nil
	case <-ctx.Done():
		s.warnIf("ask", s.append("host", closed(id)))
		return reply{}, ctx.Err()
	}
}

// reply delivers the person's answer, once it is recorded.
func (s person) reply(id string, r reply) error {
	s.mu.Lock()
	ch, ok := s.replying[id]
	ask, isAsk := s.t.asks[id]
	quiz, isQuiz := s.t.quizzes[id]
	s.mu.Unlock()
	if !ok || !isAsk && !isQuiz {
		return fmt.Errorf("%w: the question %q is not open", ErrUsage, id)
	}
	var ev Event
	switch {
	case isAsk && r.verdict != nil:
		ev = PermissionClosed{ID: ask.ID, Answered: true, Verdict: r.verdict}
	case isQuiz && r.verdict == nil:
		if err := checkAnswers(quiz.Questions, r.answers); err != nil {
			return err
		}
		ev = QuestionsClosed{ID: quiz.ID, Answered: true, Answers: r.answers}
	default:
		return fmt.Errorf("%w: that is not an answer to the question %q", ErrUsage, id)
	}
	if err := s.append(s.name(), ev); err != nil {
		return err
	}
	ch <- r
	return nil
}

// checkAnswers holds a person's answers against the questions. An empty answer is never made up.
func checkAnswers(questions []tool.Question, answers []tool.Answer) error {
	if len(answers) != len(questions) {
		return fmt.Errorf("%w: %d answers to %d questions", ErrUsage, len(answers), len(questions))
	}
	for i, a := range answers {
		q := questions[i]
		if len(a.Chosen) == 0 && strings.TrimSpace(a.Other) == "" {
			return fmt.Errorf("%w: question %d is not answered", ErrUsage, i+1)
		}
		if len(a.Chosen) > 1 && !q.Several {
			return fmt.Errorf("%w: question %d takes one answer", ErrUsage, i+1)
		}
		for _, label := range a.Chosen {
			if !hasOption(q, label) {
				return fmt.Errorf("%w: question %d has no option %q", ErrUsage, i+1, label)
			}
		}
	}
	return nil
}

func hasOption(q tool.Question, label string) bool {
	for _, o := range q.Options {
		if o.Label == label {
			return true
		}
	}
	return false
}
