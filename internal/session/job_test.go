package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/sandbox"
	"github.com/planmode-dev/planmode/tool"
)

// paused is a model that stops before its answer until it is let go, and meanwhile the test acts.
type paused struct {
	next    func(context.Context, llm.Request) (llm.Response, error)
	asked   chan llm.Request
	goahead chan struct{}
}

func pausing(responses ...llm.Response) *paused {
	return &paused{next: script(responses...), asked: make(chan llm.Request, 64), goahead: make(chan struct{})}
}

func (p *paused) play(ctx context.Context, req llm.Request) (llm.Response, error) {
	p.asked <- req
	select {
	case <-p.goahead:
		return p.next(ctx, req)
	case <-ctx.Done():
		return llm.Response{}, ctx.Err()
	}
}

// step lets the model answer the request that it is asked, and returns that.
func (p *paused) step() llm.Request {
	req := <-p.asked
	p.goahead <- struct{}{}
	return req
}

func (r *rig) newest() plan.Revision {
	newest, _ := r.s.PlanMode().State().Newest()
	return newest
}

// A switch that loosens waits for the turn, is shown, can be taken back, and is applied at the end; one
// that tightens binds at the next call.
func TestSwitchesWhileRunning(t *testing.T) {
	write := `write {"path":"a.txt","content":"x"}`
	t.Run("leave waits", func(t *testing.T) {
		p := pausing(calls("1", write), says("refused"))
		r := newRig(t, p.play)
		r.start(Prompt{Text: "go"})
		req := <-p.asked
		r.start(Step{plan.Leave{}})
		if s := r.s.Status(); s.Mode != plan.Planning || s.Next != plan.Off || s.Busy != "turn" {
			t.Errorf("%+v", s)
		}
		p.goahead <- struct{}{}
		p.step()
		r.wait()
		r.wantMode(plan.Off)
		if ran := r.took(); len(ran) > 0 || !strings.Contains(textOf(req), "Plan mode is active") {
			t.Errorf("ran %v", ran)
		}
	})
	for _, back := range []Command{Step{plan.Enter{}}, Prompt{Text: "/plan on"}, Prompt{Text: "/plan"}} {
		p := pausing(says("hm"))
		r := newRig(t, p.play)
		r.start(Prompt{Text: "go"})
		<-p.asked
		r.start(Prompt{Text: "/plan off"})
		r.start(back)
		if s := r.s.Status(); s.Next != plan.Planning {
			t.Errorf("%+v: next %s", back, s.Next)
		}
		p.goahead <- struct{}{}
		r.wait()
		r.wantMode(plan.Planning)
	}
	t.Run("tightening binds", func(t *testing.T) {
		p := pausing(calls("1", write), calls("2", `write {"path":"b.txt","content":"x"}`), says("stopped"))
		r := newRig(t, p.play, func(c *Config) { c.StartPlanning, c.Settings.Autonomy = false, "loose" })
		r.start(Prompt{Text: "go"})
		p.step()
		<-p.asked
		r.start(Step{plan.Enter{}})
		r.wantMode(plan.Planning)
		p.goahead <- struct{}{}
		if text := textOf(p.step()); !strings.Contains(text, "Plan mode is active") {
			t.Errorf("the model is not told: %s", text)
		}
		r.wait()
		if ran := r.took(); !slices.Equal(ran, []string{"write a.txt"}) {
			t.Errorf("ran %v", ran)
		}
	})
	t.Run("approve waits, old digests do not", func(t *testing.T) {
		p := pausing(calls("1", submit(planText)), says("answer"), says("working"))
		r := newRig(t, p.play)
		r.start(Prompt{Text: "go"})
		p.step()
		r.wait()
		r.wantMode(plan.Ready)
		old := r.newest()
		r.start(Prompt{Text: "a question"}) // back to planning
		<-p.asked
		r.start(Step{plan.Approve{Digest: old.Digest}})
		r.wantMode(plan.Planning)
		p.goahead <- struct{}{}
		if text := textOf(p.step()); !strings.Contains(text, planText) {
			t.Errorf("the approved text is not in %s", text)
		}
		r.wait()
		r.wantMode(plan.Executing)
		r.do(Step{plan.Enter{}})
		if _, err := r.try(Step{plan.Approve{Digest: old.Digest}}); !errors.Is(err, plan.ErrNoPlan) {
			t.Errorf("%v", err)
		}
		r.do(Step{plan.Edit{Text: "1. Other\n"}})
		if _, err := r.try(Step{plan.Approve{Digest: old.Digest}}); !errors.Is(err, plan.ErrDigest) {
			t.Errorf("an old digest: %v", err)
		}
	})
}

// The ways to execute: what the model is sent holds the approved text word for word, after each compaction too.
func TestWaysToExecute(t *testing.T) {
	for _, how := range []plan.How{plan.Execute, plan.Compact, plan.Fresh} {
		var reqs []llm.Request
		play := script(calls("1", submit(planText)), says("first"), says("second"))
		r := newRig(t, func(ctx context.Context, req llm.Request) (llm.Response, error) {
			if req.System != compactSystem {
				reqs = append(reqs, req)
			}
			return play(ctx, req)
		})
		r.do(Prompt{Text: "the secret word is xyzzy"})
		r.do(Step{plan.Approve{Digest: r.newest().Digest, How: how, Note: "mind the gap"}})
		r.wantMode(plan.Executing)
		text := textOf(reqs[len(reqs)-1])
		for _, want := range []string{planText, "mind the gap", "I have approved revision 1"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q: the request lacks %q: %s", how, want, text)
			}
		}
		if kept := strings.Contains(text, "xyzzy"); kept != (how == plan.Execute) {
			t.Errorf("%q: the conversation before is in the request: %v", how, kept)
		}
		if strings.Contains(text, "the summary") != (how == plan.Compact) {
			t.Errorf("%q: summary: %s", how, text)
		}
		r.do(Prompt{Text: "/compact"})
		r.do(Prompt{Text: "go on"})
		if text := textOf(reqs[len(reqs)-1]); !strings.Contains(text, planText) || strings.Count(text, "<approved_plan") != 1 {
			t.Errorf("%q: after a compaction: %s", how, text)
		}
		r.do(Prompt{Text: "and on"})
		if text := textOf(reqs[len(reqs)-1]); strings.Count(text, "<approved_plan") != 1 {
			t.Errorf("%q: the plan is told again: %s", how, text)
		}
	}
}

func TestCompactionFailsBeforeApproval(t *testing.T) {
	for _, pending := range []bool{false, true} {
		broken := &llm.Error{Kind: llm.ErrOverloaded, Err: errors.New("too busy")}
		p := pausing(calls("1", submit(planText)), says("hm"))
		r := newRig(t, func(ctx context.Context, req llm.Request) (llm.Response, error) {
			if req.System == compactSystem {
				return llm.Response{}, broken
			}
			return p.play(ctx, req)
		})
		r.start(Prompt{Text: "go"})
		p.step()
		r.wait()
		approve := Step{plan.Approve{Digest: r.newest().Digest, How: plan.Compact}}
		if pending {
			r.start(Prompt{Text: "a question"})
			<-p.asked
			r.start(approve)
			p.goahead <- struct{}{}
			r.wait()
			r.wantMode(plan.Planning)
		} else {
			r.do(approve)
			r.wantMode(plan.Ready)
		}
		if w := last[Warned](r); w.Code != "compaction_failed" || !strings.Contains(w.Text, "too busy") {
			t.Errorf("pending %v: %+v", pending, w)
		}
	}
}

// Where the kernel gives no wall, the user is told, once, when the first command is judged while
// planning.
func TestNoWall(t *testing.T) {
	for _, tt := range []struct {
		name    string
		sandbox tool.SandboxPolicy
		level   sandbox.Level
		command string
		want    int
	}{
		{"read", tool.SandboxPrefer, sandbox.None, "true", 1},
		{"refused", tool.SandboxPrefer, sandbox.Mounts, "touch x", 1},
		{"a wall", tool.SandboxPrefer, sandbox.Landlock, "true", 0},
		{"required", tool.SandboxRequire, sandbox.None, "true", 0},
		{"off", tool.SandboxOff, sandbox.None, "true", 0},
		{"no command", tool.SandboxPrefer, sandbox.None, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call := "look"
			if tt.command != "" {
				call = fmt.Sprintf(`bash {"command": %q}`, tt.command)
			}
			r := newRig(t, script(calls("1", call), calls("2", call), says("done")), func(c *Config) {
				if err := c.Registry.Register(tools.Bash(tools.Options{})); err != nil {
					t.Fatal(err)
				}
				c.Gate.Sandbox, c.Gate.Level = tt.sandbox, func() sandbox.Level { return tt.level }
			})
			r.do(Prompt{Text: "go"})
			warned := all[Warned](r)
			if len(warned) != tt.want || tt.want > 0 && warned[0].Code != "no_kernel_wall" {
				t.Errorf("%+v", warned)
			}
		})
	}
}

// While the context is being compacted for it, the approval can be taken back.
func TestApprovalTakenBackWhileCompacting(t *testing.T) {
	hold := make(chan struct{})
	play := script(calls("1", submit(planText)))
	r := newRig(t, func(ctx context.Context, req llm.Request) (llm.Response, error) {
		if req.System == compactSystem {
			<-hold
		}
		return play(ctx, req)
	})
	r.do(Prompt{Text: "go"})
	r.start(Step{plan.Approve{Digest: r.newest().Digest, How: plan.Compact}})
	if s := r.s.Status(); s.Next != plan.Executing || s.Busy != compaction {
		t.Errorf("%+v", s)
	}
	r.start(Prompt{Text: "/plan on"})
	close(hold)
	r.wait()
	r.wantMode(plan.Ready)
}

// The notice that plan mode is over comes once, with the next real prompt.
func TestLeftNotice(t *testing.T) {
	var texts []string
	r := newRig(t, func(_ context.Context, req llm.Request) (llm.Response, error) {
		texts = append(texts, textOf(req))
		return says("ok"), nil
	})
	r.do(Prompt{Text: "one"})
	r.do(Prompt{Text: "/plan off"})
	r.reopen()
	r.do(Prompt{Text: "two"})
	r.do(Prompt{Text: "three"})
	for i, want := range []int{0, 1, 1} {
		if got := strings.Count(texts[i], "Plan mode is over"); got != want {
			t.Errorf("request %d holds the notice %d times, want %d", i, got, want)
		}
	}
	if got := strings.Count(texts[2], "Plan mode is active"); got != 1 {
		t.Errorf("told %d times that plan mode is active", got)
	}
}

func TestProposals(t *testing.T) {
	for _, tt := range []struct {
		text, warn string
		mode       plan.Mode
	}{
		{"Here:\n<proposed_plan>\n" + planText + "</proposed_plan>\n", "", plan.Ready},
		{"Just an answer.\n1. not a plan\n", "", plan.Planning},
		{"<proposed_plan>\n1. x\n", "plan_unclosed", plan.Planning},
		{"<proposed_plan>\nno steps\n</proposed_plan>", "plan_no_steps", plan.Planning},
		{"<proposed_plan>\n</proposed_plan>", "plan_empty", plan.Planning},
		{"<proposed_plan>\n1. a\n</proposed_plan>\n<proposed_plan>\n1. b\n</proposed_plan>", "plan_several", plan.Ready},
	} {
		r := newRig(t, script(says(tt.text)))
		r.do(Prompt{Text: "go"})
		r.wantMode(tt.mode)
		warned := all[Warned](r)
		if tt.warn == "" && len(warned) > 0 || tt.warn != "" && (len(warned) != 1 || warned[0].Code != tt.warn) {
			t.Errorf("%q: %+v", tt.text, warned)
		}
		if stop := last[TurnEnded](r).Stop; (stop == "plan_ready") != (tt.mode == plan.Ready) {
			t.Errorf("%q: stop %q", tt.text, stop)
		}
	}
	off := newRig(t, script(says("<proposed_plan>\n"+planText+"</proposed_plan>")), func(c *Config) { c.StartPlanning = false })
	off.do(Prompt{Text: "go"})
	off.wantMode(plan.Off)
}

// Prompts that come while a turn is running: one that steers after the calls, one that follows when the
// model would stop; a plan that was handed in meanwhile goes back to planning.
func TestQueues(t *testing.T) {
	p := pausing(calls("1", "look"), says("done"), says("followed"))
	r := newRig(t, p.play)
	r.start(Prompt{Text: "go"})
	<-p.asked
	r.start(Prompt{Text: "later", Queue: FollowUp})
	r.start(Prompt{Text: "at once"})
	p.goahead <- struct{}{}
	if text := textOf(p.step()); !strings.Contains(text, "at once") || strings.Contains(text, "later") {
		t.Errorf("second request: %s", text)
	}
	if text := textOf(p.step()); !strings.Contains(text, "later") {
		t.Errorf("third request: %s", text)
	}
	r.wait()
	if _, err := r.try(Prompt{Text: "x", Queue: "sideways"}); err != nil {
		t.Error("the queue of a prompt that is not queued matters") // it is given at once
	}
	p.step()
	r.wait()

	p = pausing(calls("1", submit(planText)), says("revised"))
	r = newRig(t, p.play)
	r.start(Prompt{Text: "go"})
	<-p.asked
	if _, err := r.s.Do(t.Context(), plan.Web, Prompt{Text: "wait, another thing"}); err != nil {
		t.Fatal(err)
	}
	p.goahead <- struct{}{}
	p.step()
	r.wait()
	r.wantMode(plan.Planning)
	entries := r.entries()
	i := slices.IndexFunc(entries, func(e Entry) bool { p, ok := e.Event.(Prompted); return ok && p.Queued != "" })
	if i < 0 || entries[i].By != "user:web" {
		t.Errorf("the queued prompt is not the web user's: %d", i)
	}
}

// A provider that is not there, and a queue that waits for it: one failure, no loop.
func TestQueueAfterFailure(t *testing.T) {
	p := pausing()
	r := newRig(t, p.play)
	r.start(Prompt{Text: "go"})
	<-p.asked
	r.start(Prompt{Text: "more", Queue: FollowUp})
	r.journal.setRoom(0)
	p.goahead <- struct{}{}
	r.wait()
	r.journal.setRoom(-1)
	if s := r.s.Status(); s.Turns != 1 {
		t.Errorf("%d turns", s.Turns)
	}
	r.start(Resume{})
	p.step()
	p.step()
	r.wait()
	if got := last[Prompted](r).Text; got != "more" {
		t.Errorf("the queued prompt became %q", got)
	}
}

// Disk full at the nth append: a clear error, nothing executed without a record, the session usable afterwards.
func TestDiskFull(t *testing.T) {
	for n := range 90 {
		r := newRig(t, brain, func(c *Config) { c.Settings.Autonomy = "loose" })
		stop := r.attend(yes)
		r.onRun = func(what, path string) {
			lines := r.journal.all()
			if what != "look" && !slices.ContainsFunc(lines, func(l []byte) bool {
				return strings.Contains(string(l), `"type":"call_allowed"`) && strings.Contains(string(l), `"tool":"write"`)
			}) {
				t.Errorf("%d: %s %s ran without a record", n, what, path)
			}
		}
		r.journal.setRoom(n)
		var failed error
		for _, c := range []Command{Prompt{Text: "two files"}, Prompt{Text: "/plan approve"}} {
			if _, err := r.try(c); err != nil {
				failed = err
			}
			r.wait()
		}
		full := len(r.s.Problems()) > 0 || failed != nil
		before := r.took()
		r.journal.setRoom(-1)
		stop()
		r.bringToEnd()
		r.wantConversation()
		ran := append(before, r.took()...)
		for _, f := range []string{"write a.txt", "write b.txt"} {
			count := 0
			for _, w := range ran {
				if w == f {
					count++
				}
			}
			if count != 1 {
				t.Errorf("%d: %s ran %d times", n, f, count)
			}
		}
		if failed != nil && !errors.Is(failed, errFull) && !errors.Is(failed, ErrUsage) {
			t.Errorf("%d: %v", n, failed)
		}
		if !full {
			return // everything had room
		}
		r.s.Close()
	}
	t.Error("the session never had room enough")
}

// Reviews: done, failed, cancelled, and left meanwhile.
func TestReviews(t *testing.T) {
	for name, tt := range map[string]struct {
		verdict llm.Response
		err     error
		act     Command // while it runs
		mode    plan.Mode
		event   string
	}{
		"done":      {verdict: says("VERDICT: APPROVED"), mode: plan.Ready, event: "plan.review_done"},
		"failed":    {err: errors.New("no such model"), mode: plan.Ready, event: "plan.restarted"},
		"cancelled": {act: Cancel{}, mode: plan.Ready, event: "plan.cancel_review"},
		"stepped":   {act: Step{plan.CancelReview{}}, mode: plan.Ready, event: "plan.cancel_review"},
		"left":      {act: Step{plan.Leave{}}, mode: plan.Off, event: "plan.leave"},
	} {
		started := make(chan struct{}, 1)
		play := script(calls("1", submit(planText)))
		r := newRig(t, func(ctx context.Context, req llm.Request) (llm.Response, error) {
			if !strings.Contains(req.System, "You review") {
				return play(ctx, req)
			}
			started <- struct{}{}
			if tt.act != nil {
				<-ctx.Done()
				return llm.Response{}, ctx.Err()
			}
			return tt.verdict, tt.err
		})
		r.do(Prompt{Text: "go"})
		r.start(Step{plan.StartReview{}})
		<-started
		if tt.act != nil {
			r.wantMode(plan.Reviewing)
			r.start(tt.act)
		}
		r.wait()
		if got := r.s.Status().Mode; got != tt.mode {
			t.Errorf("%s: mode %s, problems %v\n%s", name, got, r.s.Problems(), joined(r.journal.all()))
			continue
		}
		steps := all[PlanStepped](r)
		if got := steps[len(steps)-1].event(); got != tt.event {
			t.Errorf("%s: the last event is %s, want %s", name, got, tt.event)
		}
		if name == "done" && (r.newest().Feedback != "VERDICT: APPROVED" || len(all[Spent](r)) != 1) {
			t.Errorf("%s: %+v", name, r.newest())
		}
		r.reopen()
		r.wantMode(tt.mode)
	}
}
