package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// A Command is what a person wants of a session: [Prompt], [Resume], [Cancel], [Step], [AnswerCall],
// [AnswerQuestions], [Change], [CompactNow] or [Move]. No tool and no model makes one.
//
//sumtype:decl
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
	s.mu.Unlock()
	if closed {
		return Reply{}, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return Reply{}, err
	}
	who := person{Session: s, surface: surface}
	switch c := c.(type) {
	case Prompt:
		return who.slashOr(c)
	case Resume:
		return who.resume()
	case Cancel:
		return who.cancel(), nil
	case Step:
		return who.step(c.Event)
	case AnswerCall:
		return Reply{}, who.reply(c.ID, reply{verdict: &c.Verdict})
	case AnswerQuestions:
		return Reply{}, who.reply(c.ID, reply{answers: c.Answers})
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
	// images came with the prompt that is being carried out.
	images []llm.Image
}

// userPrefix begins the author of an entry that a person caused; the surface follows.
const userPrefix = "user:"

func (p person) name() string { return userPrefix + string(p.surface) }

// slashOr carries out a slash command, or gives the prompt to the model.
func (p person) slashOr(c Prompt) (Reply, error) {
	p.images = c.Images
	if reply, handled, err := p.slash(c.Text); handled {
		return reply, err
	}
	return p.prompt(c)
}

// prompt gives a prompt to the model, now or later.
func (p person) prompt(c Prompt) (Reply, error) {
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
	err := p.append(p.name(), Queued{ID: p.log.newID(), Text: c.Text, Images: c.Images, Queue: c.Queue})
	return Reply{Text: "queued"}, err
}

// begin records a prompt and starts its turn.
func (p person) begin(ev Prompted) error {
	if err := p.closeDangling(); err != nil {
		return err
	}
	if err := p.tellPlan(p.stamp()); err != nil {
		return err
	}
	if err := p.append(p.name(), ev); err != nil {
		return err
	}
	p.startTurn()
	return nil
}

// tellPlan folds a user's prompt into plan mode where that means something: a ready plan goes back to
// planning, and the notice that plan mode was left is due.
func (s *Session) tellPlan(by plan.Stamp) error {
	st := s.pm.State()
	if st.Mode() == plan.Ready || st.NoticePending() {
		return s.pm.ByUser(plan.Prompt{Stamp: by})
	}
	return nil
}

func (p person) stamp() plan.Stamp { return plan.Stamp{At: p.cfg.Now(), Surface: p.surface} }

// resume goes on where the program's end, a cancel or a failure broke off.
func (p person) resume() (Reply, error) {
	p.mu.Lock()
	busy, broken := p.turn != nil, p.t.running || len(p.t.open) > 0
	p.mu.Unlock()
	if busy {
		return Reply{}, ErrBusy
	}
	if err := p.closeDangling(); err != nil {
		return Reply{}, err
	}
	p.mu.Lock()
	awaited, queued, due, feedback := p.t.awaited, len(p.t.queue) > 0, p.t.due, p.t.feedback
	p.mu.Unlock()
	switch mode := p.pm.State().Mode(); {
	case due && mode == plan.Executing:
		return Reply{Text: "executing"}, p.execute()
	case feedback != "":
		return Reply{}, p.begin(Prompted{Text: rejection(feedback)})
	case queued:
	case broken && mode == plan.Ready: // the turn was over but for writing that down
		return p.menu()
	case broken && !awaited:
		return Reply{Text: p.statusText()}, nil
	case !awaited || mode == plan.Ready:
		return Reply{}, fmt.Errorf("%w: nothing was interrupted; give a prompt", ErrUsage)
	}
	p.startTurn()
	return Reply{}, nil
}

// closeDangling writes down what was left open: by a program that was stopped, on a branch that was left,
// or by a turn that could not be recorded to its end. It is called while nothing is running.
func (s *Session) closeDangling() error {
	s.mu.Lock()
	events, running, out := s.t.dangling(s.cfg.ID), s.t.running, s.t.ending()
	s.mu.Unlock()
	if len(events) > 0 {
		if err := s.append("host", events...); err != nil {
			return err
		}
	}
	if running {
		if err := s.endTurn(out); err != nil {
			return err
		}
	}
	if s.pm.State().Mode() == plan.Reviewing { // and no review is running
		s.pm.ApplyRestoredState()
	}
	return nil
}

func (p person) cancel() Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn == nil {
		return Reply{Text: "nothing is running"}
	}
	p.turn.cancelled = p.surface
	p.turn.cancel()
	return Reply{Text: "cancelling the " + p.turn.what}
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
	p.setAutonomy()
	return Reply{Text: "settings changed"}, nil
}

// setAutonomy makes the gate follow the settings.
func (s *Session) setAutonomy() {
	s.mu.Lock()
	autonomy := s.autonomy()
	s.mu.Unlock()
	s.pm.Gate().SetAutonomy(autonomy)
}

// autonomy is what the settings say, or else the configuration. It is called with s.mu held.
func (s *Session) autonomy() tool.Autonomy {
	if a, err := tool.ParseAutonomy(s.t.settings.Autonomy); err == nil {
		return a
	}
	return s.cfg.Gate.Autonomy
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
	p.due, p.notice = false, false
	p.mu.Unlock()
	p.pm.Refold(history)
	p.setAutonomy()
	return p.closeDangling()
}

// slash carries out a slash command. It is not handled if the first token is none.
func (p person) slash(text string) (Reply, bool, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "/") {
		return Reply{}, false, nil
	}
	name, rest := firstWord(text)
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

// firstWord cuts the text at the first white space.
func firstWord(text string) (word, rest string) {
	i := strings.IndexFunc(text, unicode.IsSpace)
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimSpace(text[i:])
}

func isWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") == ""
}
