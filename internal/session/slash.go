package session

import (
	"fmt"
	"strings"

	"github.com/planmode-dev/planmode/plan"
)

// A SlashCommand is a command that a person types, on any surface, before the model sees anything. The
// first token must be its exact name.
type SlashCommand struct {
	Name  string // with the slash
	Usage string
	Help  string
	// Words are the arguments that a surface may complete.
	Words []string
	run   func(p person, rest string) (Reply, error)
}

// slashCommands is the one table of them.
var slashCommands []SlashCommand

func init() { //nolint:gochecknoinits // the table's /help lists the table
	slashCommands = []SlashCommand{
		{
			Name: "/plan", Usage: "/plan [PROMPT | on | off | status | menu | show [N] | approve [N] [compact | fresh] [with TEXT] | reject TEXT]",
			Help:  "turn plan mode on or off, show the plan, approve it, or begin planning with a prompt",
			Words: []string{"on", "off", "status", "menu", "show", "approve", "reject"},
			run:   person.slashPlan,
		},
		{Name: "/todos", Usage: "/todos", Help: "show the todo list", run: person.slashTodos},
		{Name: "/compact", Usage: "/compact", Help: "summarize the conversation for the model", run: func(p person, _ string) (Reply, error) {
			return Reply{Text: "compacting"}, p.compactNow()
		}},
		{Name: "/model", Usage: "/model [PROVIDER/MODEL]", Help: "show or change the model", run: person.slashModel},
		{
			Name: "/autonomy", Usage: "/autonomy [strict | hybrid | loose]", Help: "show or change how much you are asked",
			Words: []string{"strict", "hybrid", "loose"}, run: person.slashAutonomy,
		},
		{Name: "/help", Usage: "/help", Help: "list the commands", run: func(person, string) (Reply, error) {
			var b strings.Builder
			for _, c := range slashCommands {
				fmt.Fprintf(&b, "%s\n    %s\n", c.Usage, c.Help)
			}
			return Reply{Text: strings.TrimRight(b.String(), "\n")}, nil
		}},
	}
}

// SlashCommands returns the table.
func SlashCommands() []SlashCommand { return append([]SlashCommand(nil), slashCommands...) }

// slashPlan carries out /plan. Words that are none of its own are the first prompt of planning.
func (p person) slashPlan(rest string) (Reply, error) {
	verb, arg := firstWord(rest)
	switch verb {
	case "":
		return p.togglePlan()
	case "on", "start", "enter":
		if arg == "" {
			return p.step(plan.Enter{})
		}
		return p.planPrompt(arg)
	case "off", "exit", "cancel", "stop", "discard":
		if arg == "" {
			if !p.planActive() && p.pm.State().Mode() != plan.Executing {
				return Reply{Text: "plan mode is off"}, nil
			}
			return p.step(plan.Leave{})
		}
	case "status":
		if arg == "" {
			return Reply{Text: p.statusText()}, nil
		}
	case "menu":
		if arg == "" {
			return p.menu()
		}
	case "show":
		if !strings.Contains(arg, " ") {
			return p.show(arg)
		}
	case "approve", "accept", "ok":
		if ev, ok := p.approval(arg); ok {
			return p.step(ev)
		} else if len(strings.Fields(arg)) <= 1 {
			return Reply{}, p.noSuchPlan(arg)
		}
	case "reject":
		if arg != "" {
			return p.step(plan.Reject{Feedback: arg})
		}
		return Reply{}, fmt.Errorf("%w: /plan reject TEXT: say what should be different", ErrUsage)
	}
	return p.planPrompt(rest)
}

func (p person) planActive() bool { return p.pm.State().ReadOnly() }

// togglePlan is /plan without a word: it turns plan mode on or off, and opens the menu of a plan that
// waits. While a switch is pending it takes that back.
func (p person) togglePlan() (Reply, error) {
	st := p.pm.State()
	switch {
	case p.takeBack():
		return Reply{Text: p.statusText()}, nil
	case st.Mode() == plan.Ready:
		return p.menu()
	case st.Mode() == plan.Reviewing:
		return Reply{Text: "the plan is being reviewed; /plan off leaves, a cancel ends the review"}, nil
	case st.Mode() == plan.Planning:
		return p.step(plan.Leave{})
	}
	return p.step(plan.Enter{})
}

// planPrompt enters plan mode and gives the words to the model.
func (p person) planPrompt(text string) (Reply, error) {
	if _, err := p.step(plan.Enter{}); err != nil {
		return Reply{}, err
	}
	return p.prompt(Prompt{Text: text, Images: p.images})
}

// approval reads "[N] [execute | compact | fresh] [with TEXT]": which revision is approved, "" being the
// newest, in which context, and with which additional instructions.
func (p person) approval(arg string) (ev plan.Approve, ok bool) {
	arg, ev.Note, _ = strings.Cut(" "+arg+" ", " with ")
	ev.Note = strings.TrimSpace(ev.Note)
	st := p.pm.State()
	r, ok := st.Newest()
	words := strings.Fields(arg)
	if len(words) > 0 {
		if named, found := st.Find(words[0]); found {
			r, ok, words = named, true, words[1:]
		}
	}
	if len(words) == 1 {
		switch words[0] {
		case "execute":
			words = nil
		case string(plan.Compact), string(plan.Fresh):
			ev.How, words = plan.How(words[0]), nil
		}
	}
	ev.Digest = r.Digest
	return ev, ok && len(words) == 0
}

func (p person) noSuchPlan(word string) error {
	if word == "" {
		return fmt.Errorf("%w: no plan was submitted; ask for one first", ErrUsage)
	}
	return fmt.Errorf("%w: there is no revision %q; /plan status lists them", ErrUsage, word)
}

// menu are the choices for a plan that waits. The default changes nothing.
func (p person) menu() (Reply, error) {
	st := p.pm.State()
	r, ok := st.Newest()
	if !st.ReadOnly() {
		return Reply{Text: "plan mode is off; /plan turns it on"}, nil
	}
	if !ok || st.Mode() != plan.Ready {
		return Reply{Text: "no plan waits for you; ask for one first"}, nil
	}
	return Reply{
		Text: fmt.Sprintf("Revision %d (%s): %s, %d steps", r.Number, r.Digest.Short(), r.Title, len(r.Steps())),
		Menu: []Choice{
			{"Stay in plan mode", "/plan status"},
			{"Execute", "/plan approve " + r.Digest.Short()},
			{"Compact the context, then execute", "/plan approve " + r.Digest.Short() + " compact"},
			{"Execute in a fresh context", "/plan approve " + r.Digest.Short() + " fresh"},
			{"Leave plan mode without executing", "/plan off"},
		},
	}, nil
}

func (p person) show(word string) (Reply, error) {
	st := p.pm.State()
	r, ok := st.Newest()
	if word != "" {
		r, ok = st.Find(word)
	}
	if !ok {
		return Reply{Text: "there is no such plan; /plan status lists them"}, nil
	}
	return Reply{Text: fmt.Sprintf("Revision %d (%s) by the %s, %s\n\n%s", r.Number, r.Digest.Short(), r.Author, r.Status, r.Text)}, nil
}

func (p person) statusText() string {
	st := p.pm.State()
	p.mu.Lock()
	next := p.nextMode(st)
	p.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "plan mode: %s", st.Mode())
	if next != st.Mode() {
		fmt.Fprintf(&b, " → %s when the turn has settled", next)
	}
	if n := p.pm.Gate().Running(); n > 0 {
		fmt.Fprintf(&b, "\n%d calls are running; a cancel ends them", n)
	}
	for _, r := range st.Revisions() {
		fmt.Fprintf(&b, "\nrevision %d (%s) by the %s, %s: %s", r.Number, r.Digest.Short(), r.Author, r.Status, r.Title)
	}
	if level := p.sandbox(); level != "" && st.ReadOnly() {
		fmt.Fprintf(&b, "\nsandbox while planning: %s", level)
	}
	if f := p.pm.PlanFilePath(); f != "" && st.Mode() != plan.Off {
		fmt.Fprintf(&b, "\nplan file: %s", f)
	}
	return b.String()
}

func (p person) slashTodos(string) (Reply, error) {
	items := p.todos.Items()
	if len(items) == 0 {
		return Reply{Text: "the todo list is empty"}, nil
	}
	marks := map[string]string{"pending": "☐", "in_progress": "▶", "completed": "☑"}
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "%s %s\n", marks[string(it.Status)], it.Content)
	}
	return Reply{Text: strings.TrimRight(b.String(), "\n")}, nil
}

func (p person) slashModel(rest string) (Reply, error) {
	if rest == "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		return Reply{Text: p.t.settings.Model}, nil
	}
	return p.change(Settings{Model: rest})
}

func (p person) slashAutonomy(rest string) (Reply, error) {
	if rest == "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		return Reply{Text: p.t.settings.Autonomy}, nil
	}
	return p.change(Settings{Autonomy: rest})
}
