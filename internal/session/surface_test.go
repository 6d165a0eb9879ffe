package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// Questions and permissions.
func TestAsking(t *testing.T) {
	ask := `ask_user {"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}]}`
	write := `write {"path":"a.txt","content":"x"}`
	r := newRig(t, script(calls("1", ask, write), says("ok")), func(c *Config) { c.StartPlanning = false })
	seen := r.s.Status().Seq
	r.start(Prompt{Text: "go"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for e := range r.s.Events(ctx, seen) {
		switch ev := e.Event.(type) {
		case QuestionsAsked:
			for _, bad := range []Command{
				AnswerQuestions{ID: "nobody"},
				AnswerQuestions{ID: ev.ID},
				AnswerQuestions{ID: ev.ID, Answers: []tool.Answer{{}}},
				AnswerQuestions{ID: ev.ID, Answers: []tool.Answer{{Chosen: []string{"C"}}}},
				AnswerQuestions{ID: ev.ID, Answers: []tool.Answer{{Chosen: []string{"A", "B"}}}},
				AnswerCall{ID: ev.ID, Verdict: tool.Verdict{Yes: true}},
			} {
				if _, err := r.try(bad); !errors.Is(err, ErrUsage) {
					t.Errorf("%+v: %v", bad, err)
				}
			}
			r.start(AnswerQuestions{ID: ev.ID, Answers: []tool.Answer{{Chosen: []string{"B"}}}})
			if _, err := r.try(AnswerQuestions{ID: ev.ID, Answers: []tool.Answer{{Chosen: []string{"A"}}}}); !errors.Is(err, ErrUsage) {
				t.Errorf("a second answer: %v", err)
			}
		case PermissionAsked:
			if r.s.Status().Asking[0] != ev.ID {
				t.Errorf("asking %v", r.s.Status().Asking)
			}
			r.start(AnswerCall{ID: ev.ID, Verdict: tool.Verdict{Note: "not now"}})
		case TurnEnded:
			cancel()
		}
	}
	r.wait()
	if ran := r.took(); len(ran) > 0 {
		t.Errorf("ran %v", ran)
	}
	if c := last[CallRefused](r); c.Refusal.Code != tool.UserDenied || !strings.Contains(c.Refusal.Reason, "not now") {
		t.Errorf("%+v", c.Refusal)
	}
	if c := all[CallFinished](r)[0]; !strings.Contains(c.Result.Text, "chosen: B") {
		t.Errorf("%+v", c)
	}

	alone := newRig(t, script(calls("1", write, "look"), says("ok")), func(c *Config) { c.StartPlanning, c.Interactive = false, false })
	alone.do(Prompt{Text: "go"})
	if e := last[TurnEnded](alone); e.Stop != "needs_user" {
		t.Errorf("%+v", e)
	}
	alone.wantConversation()
}

// Branches: what happened on one does not count on another, whatever is done after.
func TestBranchesDoNotLeak(t *testing.T) {
	r := newRig(t, script(calls("1", submit(planText)), calls("2", "foreign"), says("ok")), func(c *Config) { c.Settings.Autonomy = "strict" })
	r.do(Prompt{Text: "go"})
	entries := r.entries()
	ready := entries[len(entries)-1].ID
	r.do(Change{Settings{Autonomy: "loose"}})
	r.do(Step{plan.Approve{Digest: r.newest().Digest}})
	r.wantMode(plan.Executing)
	if ran := r.took(); !slices.Equal(ran, []string{"foreign " + r.ws + "/foreign"}) {
		t.Fatalf("ran %v", ran)
	}
	r.do(Move{To: ready})
	r.wantMode(plan.Ready)
	if got := r.s.Status(); got.Settings.Autonomy != "strict" || got.Todos.Total != 0 || got.Next != plan.Ready {
		t.Errorf("%+v", got)
	}
	r.reopen()
	r.wantMode(plan.Ready)
	if _, err := r.try(Move{To: "nowhere"}); !errors.Is(err, ErrUsage) {
		t.Errorf("%v", err)
	}
	if _, err := r.try(Move{}); !errors.Is(err, ErrUsage) {
		t.Errorf("%v", err)
	}
	r.do(Prompt{Text: "again"})
	r.wantConversation()
}

// The table of slash commands: the first token is the exact name, words that are none of a command's are a prompt.
func TestSlash(t *testing.T) {
	for _, tt := range []struct {
		text   string
		mode   string
		prompt string // that the model is given
		err    bool
	}{
		{"/plan", "planning", "", false},
		{"/plan on", "planning", "", false},
		{"/plan add a thing", "planning", "add a thing", false},
		{"/plan\tadd", "planning", "add", false},
		{"/plan\nadd\nthis", "planning", "add\nthis", false},
		{"  /plan on ", "planning", "", false},
		{"/plan /plan off", "planning", "/plan off", false},
		{"/plan off", "off", "", false},
		{"/plan off the record", "planning", "off the record", false},
		{"/plan status", "off", "", false},
		{"/plan approve", "off", "", true},
		{"/plan approve 7", "off", "", true},
		{"/plan reject", "off", "", true},
		{"/plan reject that", "off", "", true},
		{"/plan menu", "off", "", false},
		{"/plan show", "off", "", false},
		{"/planning", "off", "", true},
		{"/nothing", "off", "", true},
		{"/etc/hosts is what?", "off", "/etc/hosts is what?", false},
		{"please /plan this", "off", "please /plan this", false},
		{"let us enter plan mode", "off", "let us enter plan mode", false},
		{"/help", "off", "", false},
		{"/todos", "off", "", false},
		{"/model", "off", "", false},
		{"/model y/z", "off", "", true},
		{"/autonomy loose", "off", "", false},
		{"/autonomy wild", "off", "", true},
		{"/compact", "off", "", true},
		{"", "off", "", true},
	} {
		r := newRig(t, script(says("ok")), func(c *Config) { c.StartPlanning = false })
		_, err := r.try(Prompt{Text: tt.text})
		r.wait()
		if (err != nil) != tt.err {
			t.Errorf("%q: %v", tt.text, err)
		}
		if got := r.s.Status().Mode; got.String() != tt.mode {
			t.Errorf("%q: mode %s, want %s", tt.text, got, tt.mode)
		}
		var given string
		if p := all[Prompted](r); len(p) > 0 {
			given = p[0].Text
		}
		if given != tt.prompt {
			t.Errorf("%q: the model is given %q, want %q", tt.text, given, tt.prompt)
		}
	}
}

// Readers: late ones, slow ones, several; pieces come before the message that they are pieces of.
func TestEvents(t *testing.T) {
	r := newRig(t, nil)
	r.model = func(context.Context, llm.Request) (llm.Response, error) {
		r.s.log.transient("model", Delta{Text: "he"})
		return says("hello"), nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	live := make(chan Entry, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range r.s.Events(ctx, 0) {
			live <- e
		}
	}()
	<-live // it is listening
	for range 3 {
		r.do(Prompt{Text: "go"})
	}
	want := r.entries()
	for _, after := range []uint64{0, 1, uint64(len(want)) - 1, uint64(len(want)), 1 << 60} {
		past, stop := context.WithCancel(t.Context())
		stop()
		n := int(min(after, uint64(len(want))))
		for e := range r.s.Events(past, after) {
			if e.ID != want[n].ID || e.Seq != uint64(n+1) {
				t.Fatalf("after %d: entry %d is %s, want %s", after, e.Seq, e.ID, want[n].ID)
			}
			n++
		}
		if n != len(want) {
			t.Errorf("after %d: ended at %d of %d", after, n, len(want))
		}
	}
	deltas, answers := 0, 0
	for seq := uint64(1); seq < uint64(len(want)); {
		switch e := <-live; ev := e.Event.(type) {
		case Delta:
			deltas++
		case Answered:
			answers++
			seq = e.Seq
			if deltas != answers {
				t.Errorf("%d pieces before message %d (%v)", deltas, answers, ev.Stop)
			}
		default:
			seq = e.Seq
		}
	}
	cancel()
	<-done
}

// A journal of a later version is not opened; what is not known is kept.
func TestOtherVersions(t *testing.T) {
	r := newRig(t, script())
	r.do(Prompt{Text: "go"})
	r.s.Close()
	lines := r.journal.all()
	for _, first := range []string{
		`{"seq":1,"id":"a","time":"2026-11-30T12:00:00Z","by":"host","type":"started","data":{"version":2,"workspace":"/w"}}`,
		`{"seq":1,"id":"a","time":"2026-11-30T12:00:00Z","by":"host","type":"started","data":{"version":3,"workspace":{"of":"another shape"}}}`,
	} {
		cfg := r.s.cfg
		cfg.Registry, cfg.Lines = r.tools(), slices.Values([][]byte{[]byte(first)})
		if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), "later version") {
			t.Errorf("%s: %v", first, err)
		}
	}
	unknown := `{"seq":99,"id":"u1","parent":"` + r.entries()[len(lines)-1].ID + `","time":"2026-11-30T12:00:00Z","by":"host","type":"sung","data":{"song":[1,2]}}`
	r.open(append(lines, []byte(unknown)))
	for e := range r.s.Events(closed(t), uint64(len(lines))) {
		u, ok := e.Event.(Unknown)
		if data, err := e.MarshalJSON(); !ok || u.Type != "sung" || err != nil || !strings.Contains(string(data), `"data":{"song":[1,2]}`) {
			t.Errorf("%+v, %v", e, err)
		}
	}
	for _, tt := range []struct {
		line string
		mode plan.Mode
	}{
		{`garbage`, plan.Planning},
		{`{"id":"x","by":"host","type":"plan.leave","data":7}`, plan.Planning},
		{`{"id":"x","by":"host","type":"plan.of_a_later_version","data":{}}`, plan.Planning},
		{`{"id":"x","by":"user:tui","type":"moved","data":7}`, plan.Planning},
		{`{"id":"x","by":"host","type":"answered","data":7}`, plan.Off},
		{`{"by":"host","type":"warned","data":{}}`, plan.Off},
		{string(lines[0]), plan.Off},
	} {
		r := newRig(t, script(), func(c *Config) { c.StartPlanning = false })
		r.open(append(r.journal.all(), []byte(tt.line)))
		if got := r.s.Status().Mode; got != tt.mode && tt.line != string(lines[0]) || tt.line != string(lines[0]) && len(r.s.Problems()) != 1 {
			t.Errorf("%s: mode %s, want %s; %v", tt.line, got, tt.mode, r.s.Problems())
		}
	}
}

func closed(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
