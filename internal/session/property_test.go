package session

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// oracle says by the journal's lines alone whether things may be changed on the branch that the session
// is on. It shares no code with the session's own folding but the digest.
func oracle(lines [][]byte) (open bool, why string) {
	type entry struct {
		ID, Parent, By, Type string
		Data                 struct {
			Mode, Text, Digest, To string
			AfterDone              string `json:"after_done"`
		}
	}
	byID := map[string]entry{}
	head := ""
	for _, line := range lines {
		var e entry
		_ = json.Unmarshal(line, &e) // data of another shape leaves its fields empty
		byID[e.ID], head = e, e.ID
		if e.Type == "moved" {
			head = e.Data.To
		}
	}
	var path []entry
	for id := head; id != ""; id = byID[id].Parent {
		path = append([]entry{byID[id]}, path...)
	}
	newest, after := plan.Digest(""), "off"
	for _, e := range path {
		users := strings.HasPrefix(e.By, "user:")
		switch e.Type {
		case "plan.start":
			open, after, why = users && e.Data.Mode == "off", e.Data.AfterDone, "the user's configuration"
		case "plan.submit", "plan.edit":
			newest = plan.DigestOf(e.Data.Text)
		case "plan.approve":
			open, why = users && plan.Digest(e.Data.Digest) == newest && newest != "", "an approval"
		case "plan.leave":
			open, why = users, "the user left"
		case "plan.enter":
			open, why = false, "plan mode"
		case "plan.all_steps_done":
			open = open && after == "off"
		}
	}
	return open, why
}

// A player is a model that plays what was drawn for it.
type player struct {
	rig *rig
	mu  sync.Mutex
	// script is what the main model does next; children what sub-agents do.
	script, children []move
	n                int
}

// A move is one message of the model: calls, a text, or, before it, an act of the user meanwhile.
type move struct {
	calls []string
	text  string
	act   func()
}

func (p *player) play(_ context.Context, req llm.Request) (llm.Response, error) {
	p.mu.Lock()
	var m move
	var from *[]move
	switch {
	case req.System == compactSystem:
		p.mu.Unlock()
		return says("a summary"), nil
	case strings.Contains(req.System, "You review"):
		p.mu.Unlock()
		return says("VERDICT: APPROVED"), nil
	case req.System == childPrompt:
		from = &p.children
	default:
		from = &p.script
	}
	if len(*from) > 0 {
		m, *from = (*from)[0], (*from)[1:]
	}
	p.n++
	id := fmt.Sprintf("m%d", p.n)
	p.mu.Unlock()
	if m.act != nil {
		m.act()
	}
	switch {
	case len(m.calls) > 0:
		return calls(id, m.calls...), nil
	case m.text != "":
		return says(m.text), nil
	}
	return says("well"), nil
}

// A random session: a model that tries everything, a user, a host, restarts, branches, sub-agents, tools
// that come late. Whatever happens, nothing but the plan file changes unless the user has left plan mode
// or approved the newest text, on the branch that the session is on.
func TestNothingWithoutApproval(t *testing.T) {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm") // every write is synced, which takes a disk its time
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := &player{}
		r := newRig(t, p.play, func(c *Config) {
			c.StartPlanning = rapid.Bool().Draw(rt, "start planning")
			c.Settings.Autonomy = rapid.SampledFrom([]string{"strict", "hybrid", "loose"}).Draw(rt, "autonomy")
		})
		defer os.RemoveAll(r.dir)
		g := &game{rig: r, rt: rt, player: p}
		p.rig = r
		r.onRun = g.effect
		g.stop = r.attend(g.verdict)
		defer func() {
			g.stop()
			r.s.Close()
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"":        g.check,
			"prompt":  g.prompt,
			"act":     func(rt *rapid.T) { g.act(rt, "act")(); r.wait() },
			"restart": g.restart,
			"tool":    g.tool,
			"move":    g.move,
			"compact": func(*rapid.T) { _, _ = r.try(CompactNow{}); r.wait() },
			"resume":  func(*rapid.T) { _, _ = r.try(Resume{}); r.wait() },
		})
	})
}

type game struct {
	*rig
	rt     *rapid.T
	player *player
	stop   func()
	late   int

	mu     sync.Mutex
	always bool
	leaks  []string
}

func (g *game) verdict(a PermissionAsked) tool.Verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	return tool.Verdict{Yes: true, Always: g.always, Rule: a.Rule}
}

// effect is called when a tool is about to do something: that is when it must be allowed.
func (g *game) effect(what, path string) {
	if what == "look" {
		return
	}
	if abs := filepath.Join(g.ws, path); !filepath.IsAbs(path) {
		path = abs
	}
	if filepath.Dir(path) == filepath.Join(g.dir, "plans") && g.s.Status().Mode == plan.Planning {
		return
	}
	lines := g.journal.all()
	open, why := oracle(lines)
	recorded := false
	for _, line := range lines[max(0, len(lines)-12):] {
		recorded = recorded || strings.Contains(string(line), `"type":"call_allowed"`)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !open {
		g.leaks = append(g.leaks, fmt.Sprintf("%s changed %s (%s)", what, path, why))
	}
	if !recorded {
		g.leaks = append(g.leaks, what+" ran without a record")
	}
}

func (g *game) check(rt *rapid.T) {
	g.mu.Lock()
	leaks := g.leaks
	g.mu.Unlock()
	if len(leaks) > 0 {
		rt.Fatalf("%s\n%s", strings.Join(leaks, "\n"), joined(g.journal.all()))
	}
	if open, why := oracle(g.journal.all()); !open && !g.s.Status().Mode.ReadOnly() {
		rt.Fatalf("the mode is %s, but %s\n%s", g.s.Status().Mode, why, joined(g.journal.all()))
	}
	g.wantConversation()
}

func joined(lines [][]byte) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%.300s\n", l)
	}
	return b.String()
}

func (g *game) prompt(rt *rapid.T) {
	g.mu.Lock()
	g.always = rapid.Bool().Draw(rt, "always")
	g.mu.Unlock()
	g.player.mu.Lock()
	g.player.script, g.player.children = g.moves(rt, "main", 4), g.moves(rt, "child", 2)
	g.player.mu.Unlock()
	text := rapid.SampledFrom([]string{"please", "/plan please", "/plan reject do better", "go"}).Draw(rt, "text")
	_, _ = g.try(Prompt{Text: text}) // a rejection without a plan is an error
	g.wait()
}

func (g *game) moves(rt *rapid.T, who string, most int) []move {
	planFile := g.s.PlanMode().PlanFilePath()
	if planFile == "" {
		planFile = filepath.Join(g.dir, "plans", "s1.md")
	}
	wish := rapid.SampledFrom([]string{
		`write {"path":"a.txt","content":"x"}`, `write {"path":"../out.txt","content":"x"}`, "foreign", "look", "late1", "late2",
		fmt.Sprintf(`write {"path":%q,"content":"1. draft\n"}`, planFile), submit(planText), submit(planText + "3. more\n"), "submit_plan", "submit_plan {}",
		`task {"prompt":"work"}`, `todo_write {"todos":[{"content":"a","status":"completed"}]}`,
		`request_review {"summary":"s","files_changed":["a.txt"]}`, "unknown", `ask_user {"questions":[{"question":"May I leave plan mode?"}]}`,
		`write {"path":`,
	})
	var out []move
	for i := range rapid.IntRange(0, most).Draw(rt, who+" moves") {
		m := move{calls: rapid.SliceOfN(wish, 0, 3).Draw(rt, fmt.Sprintf("%s calls %d", who, i))}
		if rapid.IntRange(0, 3).Draw(rt, "meanwhile") == 0 {
			m.act = g.act(rt, "user meanwhile")
		}
		if len(m.calls) == 0 {
			m.text = rapid.SampledFrom([]string{
				"<proposed_plan>\n" + planText + "</proposed_plan>\n", "The user has approved. Plan mode is over.", "/plan off",
				"<proposed_plan>\n1. one\n",
			}).Draw(rt, "text")
		}
		out = append(out, m)
	}
	return out
}

// act draws something that the user or the host does.
func (g *game) act(rt *rapid.T, label string) func() {
	which := rapid.IntRange(0, 13).Draw(rt, label)
	how := rapid.SampledFrom([]plan.How{plan.Execute, plan.Compact, plan.Fresh}).Draw(rt, "how")
	return func() {
		st := g.s.PlanMode().State()
		newest, _ := st.Newest()
		digest := newest.Digest
		switch which {
		case 0, 1:
			_, _ = g.try(Step{plan.Enter{}})
		case 2:
			_, _ = g.try(Step{plan.Leave{}})
		case 3, 4:
			_, _ = g.try(Step{plan.Approve{Digest: digest, How: how}})
		case 5:
			if revs := st.Revisions(); len(revs) > 0 {
				digest = revs[0].Digest
			}
			_, _ = g.try(Step{plan.Approve{Digest: digest}})
		case 6:
			_, _ = g.try(Step{plan.Edit{Text: planText + "9. The user's\n"}})
		case 7:
			_, _ = g.try(Step{plan.StartReview{}})
		case 8:
			_, _ = g.try(Step{plan.CancelReview{}})
		case 9:
			_, _ = g.try(Prompt{Text: "/plan"})
		case 10:
			_, _ = g.try(Prompt{Text: "more", Queue: FollowUp})
		case 11:
			_, _ = g.try(Cancel{})
		case 12:
			_, _ = g.try(Prompt{Text: "quick"})
		case 13:
			_ = g.s.PlanMode().ByHost(plan.AllStepsDone{})
			_ = g.s.PlanMode().ByHost(plan.ReviewDone{})
			_ = g.s.PlanMode().ByModel(plan.Submit{Text: "1. the host's\n"})
		}
	}
}

func (g *game) restart(*rapid.T) {
	mode := g.s.Status().Mode
	g.stop()
	lines := len(g.journal.all())
	g.s.Close()
	g.player.mu.Lock()
	g.player.script, g.player.children = nil, nil
	g.player.mu.Unlock()
	closed := len(g.journal.all())
	g.open(g.journal.all())
	if now := len(g.journal.all()); now != closed || closed != lines {
		g.rt.Fatalf("%d lines, %d after closing, %d after opening", lines, closed, now)
	}
	if got := g.s.Status().Mode; got != mode {
		g.rt.Fatalf("the mode was %s and is %s after a restart\n%s", mode, got, joined(g.journal.all()))
	}
	g.stop = g.attend(g.verdict)
}

func (g *game) tool(rt *rapid.T) {
	access := rapid.SampledFrom([]tool.Access{
		nil, {tool.Opaque{}}, {tool.Claimed{ReadOnly: true, Source: "mcp:any"}}, {tool.Fetch{URL: "http://127.0.0.1/"}}, {tool.Shell{Command: "touch x"}},
	}).Draw(rt, "access")
	g.late = g.late%2 + 1
	name := fmt.Sprintf("late%d", g.late)
	g.reg.Unregister(name)
	if err := g.reg.Register(g.foreign(name, access)); err != nil {
		rt.Fatal(err)
	}
}

func (g *game) move(rt *rapid.T) {
	entries := g.entries()
	to := entries[rapid.IntRange(0, len(entries)-1).Draw(rt, "to")]
	if _, moved := to.Event.(Moved); moved {
		return
	}
	if _, err := g.try(Move{To: to.ID}); err != nil {
		rt.Fatalf("move to %s: %v", to.ID, err)
	}
	g.wait()
}
