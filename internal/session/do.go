package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// A Command is what a person wants of a session: [Prompt], [Resume], [Cancel], [Step], [AnswerCall],
// [AnswerQuestions], [Change], [CompactNow] or [Move]. No tool and no model makes one.
type Command interface{ command() }

type (
	// Prompt gives text to the model, or carries out a slash command.
	Prompt struct {
		Text   string
		Images []llm.Image
		// Queue says what happens to it while a turn is running.
		Queue Queue
	}
	// Resume goes on with a turn that the program's end interrupted.
	Resume struct{}
	// Cancel ends what is running.
	Cancel struct{}
	// Step is an act on plan mode. Its stamp is set by the session.
	Step struct{ Event plan.UserEvent }
	// AnswerCall answers a [PermissionAsked].
	AnswerCall struct {
		ID      string
		Verdict tool.Verdict
	}
	// AnswerQuestions answers a [QuestionsAsked], one answer for each.
	AnswerQuestions struct {
		ID      string
		Answers []tool.Answer
	}
	// Change changes the settings that are not empty.
	Change struct{ Settings Settings }
	// CompactNow replaces the conversation, for the model, by a summary.
	CompactNow struct{}
	// Move goes on from an earlier entry, on a branch of its own.
	Move struct{ To string }
)

func (Prompt) command()          {}
func (Resume) command()          {}
func (Cancel) command()          {}
func (Step) command()            {}
func (AnswerCall) command()      {}
func (AnswerQuestions) command() {}
func (Change) command()          {}
func (CompactNow) command()      {}
func (Move) command()            {}

// A Reply is what a command has to say to the person who gave it.
type Reply struct {
	Text string `json:"text,omitempty"`
	// Menu are the choices that the person now has; the first is the default.
	Menu []Choice `json:"menu,omitempty"`
}

// A Choice is one entry of a menu.
type Choice struct {
	Label string `json:"label"`
	// Command is the slash command that chooses it.
	Command string `json:"command"`
}

// Errors that a surface may branch on.
var (
	ErrBusy   = errors.New("session: something is running: wait for it or cancel it")
	ErrClosed = errors.New("session: the session is closed")
	ErrUsage  = errors.New("session: usage")
)

// Do carries out a command for a person at the surface. When it returns without an error the command
// is accepted and recorded; a prompt's turn then runs on its own.
func (s *Session) Do(ctx context.Context, surface plan.Surface, c Command) (Reply, error) {
	s.do.Lock()
	defer s.do.Unlock()
	s.mu.Lock()
	closed := s.closed
	s.by = "user:" + string(surface)
	s.mu.Unlock()
	if closed {
		return Reply{}, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return Reply{}, err
	}
	who := person{s, surface}
	switch c := c.(type) {
	case Prompt:
		return who.prompt(c)
	case Resume:
		return Reply{}, who.resume()
	case Cancel:
		return s.cancel(), nil
	case Step:
		return who.step(c.Event)
	case AnswerCall:
		return Reply{}, s.reply(c.ID, reply{verdict: &c.Verdict})
	case AnswerQuestions:
		return Reply{}, s.reply(c.ID, reply{answers: c.Answers})
	case Change:
		return who.change(c.Settings)
	case CompactNow:
		return Reply{}, who.compactNow()
	case Move:
		return Reply{}, who.move(c.To)
	}
	return Reply{}, fmt.Errorf("session: unknown command %T", c)
}

// A person acts on a session at a surface. Its methods are called with s.do held.
type person struct {
	*Session
	surface plan.Surface
}

func (p person) name() string { return "user:" + string(p.surface) }

// prompt gives a prompt to the model, now or later.
func (p person) prompt(c Prompt) (Reply, error) {
	if reply, handled, err := p.slash(c.Text); handled {
		return reply, err
	}
	if strings.TrimSpace(c.Text) == "" && len(c.Images) == 0 {
		return Reply{}, fmt.Errorf("%w: the prompt is empty", ErrUsage)
	}
	p.mu.Lock()
	busy := ""
	if p.turn != nil {
		busy = p.turn.what
	}
	p.mu.Unlock()
	switch busy {
	case "":
		return Reply{}, p.begin(Prompted{Text: c.Text, Images: c.Images})
	case "turn":
	default:
		c.Queue = FollowUp // a review or a compaction takes no steering
	}
	if c.Queue == "" {
		c.Queue = Steer
	}
	if c.Queue != Steer && c.Queue != FollowUp {
		return Reply{}, fmt.Errorf("%w: unknown queue %q", ErrUsage, c.Queue)
	}
	err := p.append(p.name(), Queued{ID: newID(), Text: c.Text, Images: c.Images, Queue: c.Queue})
	return Reply{Text: "queued"}, err
}

// begin records a prompt and starts its turn.
func (p person) begin(ev Prompted) error {
	if err := p.closeDangling(); err != nil {
		return err
	}
	if err := p.tellPlan(); err != nil {
		return err
	}
	if err := p.append(p.name(), ev); err != nil {
		return err
	}
	p.startTurn()
	return nil
}

// tellPlan folds the user's prompt into plan mode where that means something: a ready plan goes back to
// planning, and the notice that plan mode was left is due.
func (p person) tellPlan() error {
	st := p.pm.State()
	if st.Mode() == plan.Ready || st.NoticePending() {
		return p.pm.ByUser(plan.Prompt{Stamp: p.stamp()})
	}
	return nil
}

func (p person) stamp() plan.Stamp { return plan.Stamp{At: p.cfg.Now(), Surface: p.surface} }

func (p person) resume() error {
	p.mu.Lock()
	busy, open := p.turn != nil, p.t.running || len(p.t.open) > 0
	queued := len(p.t.queue) > 0
	p.mu.Unlock()
	if busy {
		return ErrBusy
	}
	if err := p.closeDangling(); err != nil {
		return err
	}
	if !open && !queued && !p.unanswered() {
		return fmt.Errorf("%w: nothing was interrupted; give a prompt", ErrUsage)
	}
	p.startTurn()
	return nil
}

// unanswered says whether the conversation waits for the model.
func (s *Session) unanswered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.t.messages)
	return n > 0 && s.t.messages[n-1].Role == llm.RoleUser && s.t.turns > 0 && s.pm.State().Mode() != plan.Ready
}

// closeDangling writes down what a stopped program left open.
func (s *Session) closeDangling() error {
	s.mu.Lock()
	if s.settled {
		s.mu.Unlock()
		return nil
	}
	events := s.t.dangling(s.cfg.ID)
	s.mu.Unlock()
	if len(events) > 0 {
		if err := s.append("host", events...); err != nil {
			return err
		}
	}
	s.pm.ApplyRestoredState()
	s.mu.Lock()
	s.settled = true
	s.mu.Unlock()
	return nil
}

func (s *Session) cancel() Reply {
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	if t == nil {
		return Reply{Text: "nothing is running"}
	}
	t.cancel()
	return Reply{Text: "cancelling the " + t.what}
}

func (p person) change(want Settings) (Reply, error) {
	p.mu.Lock()
	now := p.t.settings
	p.mu.Unlock()
	if want.Autonomy != "" {
		if _, err := tool.ParseAutonomy(want.Autonomy); err != nil {
			return Reply{}, err
		}
		now.Autonomy = want.Autonomy
	}
	if want.Thinking != "" {
		if _, err := llm.ParseThinkingLevel(want.Thinking); err != nil {
			return Reply{}, err
		}
		now.Thinking = want.Thinking
	}
	if want.Model != "" {
		if _, _, err := p.cfg.Open(want.Model); err != nil {
			return Reply{}, err
		}
		now.Model = want.Model
	}
	if want.Title != "" {
		now.Title = want.Title
	}
	if err := p.append(p.name(), SettingsChanged{now}); err != nil {
		return Reply{}, err
	}
	if a, err := tool.ParseAutonomy(now.Autonomy); err == nil {
		p.pm.Gate().SetAutonomy(a)
	}
	return Reply{Text: "settings changed"}, nil
}

// move goes on from an earlier entry. Plan mode becomes what it was there.
func (p person) move(to string) error {
	p.mu.Lock()
	busy := p.turn != nil
	p.mu.Unlock()
	if busy {
		return ErrBusy
	}
	if err := p.closeDangling(); err != nil {
		return err
	}
	p.log.mu.Lock()
	_, known := p.log.index[to]
	p.log.mu.Unlock()
	if !known {
		return fmt.Errorf("%w: no entry %q", ErrUsage, to)
	}
	if err := p.append(p.name(), Moved{To: to}); err != nil {
		return err
	}
	history := p.foldBranch()
	p.mu.Lock()
	p.settled, p.due, p.notice, p.pending = false, nil, false, nil
	p.mu.Unlock()
	p.pm.Refold(history)
	return p.closeDangling()
}

// slash carries out a slash command. It is not handled if the first token is none.
func (p person) slash(text string) (Reply, bool, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "/") {
		return Reply{}, false, nil
	}
	name, rest, _ := strings.Cut(text, " ")
	if n, r, ok := strings.Cut(name, "\n"); ok {
		name, rest = n, r+" "+rest
	}
	rest = strings.TrimSpace(rest)
	i := slices.IndexFunc(slashCommands, func(c SlashCommand) bool { return c.Name == name })
	if i < 0 {
		if isWord(name[1:]) {
			return Reply{}, true, fmt.Errorf("%w: there is no command %s; /help lists them", ErrUsage, name)
		}
		return Reply{}, false, nil // a path, say
	}
	reply, err := slashCommands[i].run(p, rest)
	return reply, true, err
}

func isWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") == ""
}
