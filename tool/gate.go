package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/shellsafe"
)

// A Call is a wish to run a tool, by a model, a sub-agent, a user's "!command" or anything else.
type Call struct {
	ID      string          `json:"id"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Session string          `json:"session,omitempty"`
	// Surface says where the call comes from, for the counters: "model", "child", "user", "mcp", …
	Surface string `json:"surface,omitempty"`
}

// Config is what a [Gate] needs to know. Registry and Roots.Workspace are required.
type Config struct {
	Registry *Registry
	Roots    Roots
	Policy   Policy
	Autonomy Autonomy // Strict by default
	// PlanFile returns the absolute path of the one file that may be written while planning, or "".
	PlanFile func() string
	// Vouched are names of tools, as patterns, that the user says change nothing. Tools whose access
	// is declared are not affected: a write stays a write.
	Vouched []string
	// Trusted are sources whose claims the user believes, such as "mcp:docs".
	Trusted []string
	// Shell extends what counts as read-only in a command line.
	Shell []shellsafe.Rule
	// Evidence says what happens while planning to a command that is harmless only in a throw-away
	// view. Off by default: it is refused.
	Evidence Evidence
	// Sandbox says what the kernel must enforce. The zero value requires a wall.
	Sandbox SandboxPolicy
	Host    Host
	// Counters, if given, counts judged and refused calls.
	Counters *Counters
	// TTL is how long a grant waits to be used; 10 minutes by default.
	TTL time.Duration
	now func() time.Time
}

// Evidence says whether commands may run in a throw-away view while planning.
type Evidence uint8

// The choices.
const (
	EvidenceOff Evidence = iota
	EvidenceAsk
	EvidenceOn
)

// SandboxPolicy says what to do where the kernel enforces nothing.
type SandboxPolicy uint8

// The choices. The zero value is the strictest.
const (
	SandboxRequire SandboxPolicy = iota // run nothing without a wall
	SandboxPrefer                       // use a wall where there is one
	SandboxOff                          // use none
)

// A Gate judges calls and runs those that it allowed. It is safe for concurrent use. Each session has
// one; a sub-agent has one made by [Gate.Child].
type Gate struct {
	cfg     Config
	ceiling *ceiling
	child   bool

	mu    sync.Mutex
	given []given // the user's "always" answers, good in their epoch alone
}

// ceiling is shared by a gate and its children at any depth.
type ceiling struct {
	epoch   atomic.Uint64
	running atomic.Int64
}

type given struct {
	epoch uint64
	rule  Rule
	call  Call // an exact call, where rule is zero
}

const defaultTTL = 10 * time.Minute

// NewGate returns a gate for a session in the zero [plan.State]. Call [Gate.Observe] on each change.
func NewGate(cfg Config) *Gate {
	if cfg.TTL <= 0 {
		cfg.TTL = defaultTTL
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	return &Gate{cfg: cfg, ceiling: &ceiling{}}
}

// Observe tells the gate and its children the session's state. Grants of another epoch are revoked:
// those not yet used are refused by [Gate.Run].
func (g *Gate) Observe(st plan.State) { g.ceiling.epoch.Store(st.Epoch()) }

// Running returns how many granted calls are running now, those of children included.
func (g *Gate) Running() int { return int(g.ceiling.running.Load()) }

// Child returns a gate for a sub-agent. It shares this gate's ceiling, policy and roots; it has its
// own tools, cannot submit a plan, and its host answers for it.
func (g *Gate) Child(tools *Registry, host Host) *Gate {
	cfg := g.cfg
	cfg.Registry, cfg.Host = tools, host
	cfg.PlanFile = nil
	return &Gate{cfg: cfg, ceiling: g.ceiling, child: true}
}

// A Decision is what the gate says of a call: [Allow], [Ask] or [Deny].
type Decision interface{ decision() }

// Allow is permission to run one call once. Only [Gate.Decide] and [Gate.Answer] make one that
// [Gate.Run] accepts.
type Allow struct{ p *permit }

// Ask says that the user must be asked. Only [Gate.Decide] makes one that [Gate.Answer] accepts.
type Ask struct {
	p *permit
	// Reason says why the user is asked, in a sentence.
	Reason string
	// Rule is what "always" would allow, as [ParseRule] reads it; "" if only this exact call.
	Rule string
}

// Deny is a judged no.
type Deny struct{ Refusal Refusal }

func (Allow) decision() {}
func (Ask) decision()   {}
func (Deny) decision()  {}

// A permit is a judged call.
type permit struct {
	gate    *Gate
	epoch   uint64
	state   plan.State
	call    Call // cloned at the door
	tool    *tool
	access  Access
	grade   grade
	view    view
	expires time.Time
	used    atomic.Bool
}

// Call returns the call that is permitted.
func (a Allow) Call() Call { return a.p.copyOfCall() }

// Parallel says whether the call only reads, so that it may run beside others. Calls that the user or
// the plan is waiting for, and all that write, are run in their order.
func (a Allow) Parallel() bool {
	if a.p == nil || a.p.grade != gradeRead {
		return false
	}
	for _, e := range a.p.access {
		switch e.(type) {
		case Nothing, ReadFile, Shell, Spawn:
		default:
			return false
		}
	}
	return true
}

// Call returns the call that is asked for.
func (a Ask) Call() Call { return a.p.copyOfCall() }

// Access returns what the call would do.
func (a Ask) Access() Access {
	if a.p == nil {
		return nil
	}
	return append(Access(nil), a.p.access...)
}

func (p *permit) copyOfCall() Call {
	if p == nil {
		return Call{}
	}
	c := p.call
	c.Input = bytes.Clone(c.Input)
	return c
}

// Decide judges a call in the given state. It changes nothing and looks at nothing outside its
// arguments and the gate's configuration.
func (g *Gate) Decide(st plan.State, call Call) (d Decision) {
	defer func() {
		if r := recover(); r != nil { // a tool's access function is foreign code
			d = g.deny(st, call, Refusal{Code: Internal, Reason: fmt.Sprintf("judging the call failed: %v", r)})
		}
		g.cfg.Counters.judged(g, call, d)
	}()
	return g.judge(st, call)
}

// judge holds the order of section "The gate" of docs/design.md.
func (g *Gate) judge(st plan.State, call Call) Decision {
	call.Input = bytes.Clone(call.Input)
	if len(bytes.TrimSpace(call.Input)) == 0 {
		call.Input = json.RawMessage(`{}`)
	}
	t := g.cfg.Registry.lookup(call.Tool)
	if t == nil {
		return g.deny(st, call, Refusal{
			Code: UnknownTool, Fixable: true, Reason: fmt.Sprintf("there is no tool %q", call.Tool), Hint: g.toolsHint(call.Tool),
		})
	}
	if err := t.validate(call.Input); err != nil {
		return g.deny(st, call, invalid(err))
	}
	access, err := t.prepare(call.Input)
	if err != nil {
		return g.deny(st, call, invalid(err))
	}
	p := &permit{gate: g, epoch: st.Epoch(), state: st, call: call, tool: t, access: access}
	if r := g.underCeiling(p); r != nil {
		return g.deny(st, call, *r)
	}
	return g.byRules(p)
}

// byRules asks the policy, then autonomy, about a call that the mode permits.
func (g *Gate) byRules(p *permit) Decision {
	stance, rule := g.cfg.Policy.of(&g.cfg.Roots, p.call.Tool, p.access)
	switch stance {
	case denied:
		return g.deny(p.state, p.call, Refusal{
			Code: PolicyDenied, Reason: fmt.Sprintf("the user's rule %q denies it", "deny "+rule.String()),
			Hint: "do without it, or ask the user to change the rule",
		})
	case asked:
		return g.ask(p, fmt.Sprintf("the rule %q", "ask "+rule.String()))
	case allowed:
		if p.grade < gradeProtected {
			return g.allow(p)
		}
	case silent:
		if g.wasGiven(p) || p.grade <= g.freely(p) {
			return g.allow(p)
		}
	}
	return g.ask(p, p.grade.String())
}

// freely returns the highest grade that the user need not be asked for.
func (g *Gate) freely(p *permit) grade {
	if p.view == viewScratch && g.cfg.Evidence == EvidenceOn {
		return gradeProcess
	}
	switch g.cfg.Autonomy {
	case Hybrid:
		return gradeWorkspace
	case Loose:
		return gradeProcess
	case Strict:
	}
	return gradeRead
}

func (g *Gate) allow(p *permit) Decision {
	p.expires = g.cfg.now().Add(g.cfg.TTL)
	return Allow{p}
}

func (g *Gate) ask(p *permit, why string) Decision {
	p.expires = g.cfg.now().Add(24 * time.Hour) // a person may be at lunch
	return Ask{p: p, Reason: why, Rule: suggestion(p)}
}

func (g *Gate) deny(st plan.State, call Call, r Refusal) Decision {
	r.Tool, r.Session, r.PlanMode = call.Tool, call.Session, st.ReadOnly()
	return Deny{r}
}

// A Verdict is a user's answer to an [Ask].
type Verdict struct {
	Yes bool
	// Always lets the same call, or what Rule covers, through without asking until the mode changes.
	Always bool
	Rule   string
	Note   string // for the model, with a no
}

// Answer turns a user's answer into a decision: [Allow] or [Deny], never [Ask]. The call is judged
// again in the state as it is now, so that a yes given after the mode changed is a no.
func (g *Gate) Answer(st plan.State, a Ask, v Verdict) Decision {
	switch {
	case a.p == nil || a.p.gate != g:
		return g.deny(st, a.Call(), Refusal{Code: StalePermission, Reason: "the question is not one that this session asked"})
	case !v.Yes:
		reason := "the user said no"
		if v.Note != "" {
			reason += ": " + v.Note
		}
		a.p.used.Store(true)
		return g.deny(st, a.p.call, Refusal{Code: UserDenied, Reason: reason, Hint: "do something else, or ask the user what they want instead"})
	case a.p.used.Swap(true):
		return g.deny(st, a.p.call, Refusal{Code: StalePermission, Reason: "the question was answered already"})
	case a.p.epoch != st.Epoch() || g.cfg.now().After(a.p.expires):
		return g.deny(st, a.p.call, Refusal{
			Code: StalePermission, Reason: "what may be done has changed since the user was asked", Hint: "make the call again if it is still due",
		})
	}
	switch d := g.judge(st, a.p.call).(type) {
	case Deny:
		return d
	case Allow:
		return d
	case Ask:
		if v.Always {
			if err := g.give(d.p, v.Rule); err != nil {
				return g.deny(st, a.p.call, Refusal{Code: InvalidInput, Reason: err.Error()})
			}
		}
		return g.allow(d.p)
	}
	return g.deny(st, a.p.call, Refusal{Code: Internal, Reason: "the call could not be judged again"})
}

func (g *Gate) give(p *permit, rule string) error {
	if p.grade >= gradeProtected {
		return nil // such a yes is for once, whatever the surface offered
	}
	gv := given{epoch: p.epoch, call: p.call}
	if rule != "" {
		r, err := ParseRule(rule)
		if err != nil {
			return err
		}
		if !r.covers(&g.cfg.Roots, p.call.Tool, p.access) {
			return fmt.Errorf("the rule %q does not cover the call that was asked for", rule)
		}
		gv.rule = r
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.given = append(g.given, gv)
	return nil
}

func (g *Gate) wasGiven(p *permit) bool {
	if p.grade >= gradeProtected {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, gv := range g.given {
		if gv.epoch != p.epoch {
			continue
		}
		if gv.rule.Tool == "" && gv.call.Tool == p.call.Tool && bytes.Equal(gv.call.Input, p.call.Input) {
			return true
		}
		if gv.rule.Tool != "" && gv.rule.covers(&g.cfg.Roots, p.call.Tool, p.access) {
			return true
		}
	}
	return false
}

// Run runs a permitted call, once. progress, if given, gets text as the tool produces it, from any
// goroutine. The error is a [*Refusal] and means that nothing ran; a tool's own failure is a Result
// with IsError.
func (g *Gate) Run(ctx context.Context, a Allow, progress func(string)) (res Result, err error) {
	p := a.p
	refuse := func(why string) (Result, error) {
		r := Refusal{Code: StalePermission, Reason: why, Hint: "make the call again"}
		if p != nil {
			r.Tool, r.Session, r.PlanMode = p.call.Tool, p.call.Session, p.state.ReadOnly()
		}
		return Result{}, &r
	}
	switch {
	case p == nil:
		return refuse("there is no permission")
	case p.gate != g:
		return refuse("the permission belongs to another session")
	case p.used.Swap(true):
		return refuse("the permission was used already")
	case g.cfg.now().After(p.expires):
		return refuse("the permission has expired")
	}
	g.ceiling.running.Add(1)
	defer g.ceiling.running.Add(-1)
	if p.epoch != g.ceiling.epoch.Load() {
		return refuse("the mode changed after the call was permitted")
	}
	grant := newGrant(p, progress)
	defer grant.close()
	defer func() {
		if r := recover(); r != nil {
			res, err = Result{Text: fmt.Sprintf("the tool %s broke: %v", p.call.Tool, r), IsError: true}, nil
		}
	}()
	res, err = p.tool.run(ctx, grant, bytes.Clone(p.call.Input))
	if err != nil {
		res.IsError = true
		if res.Text == "" {
			res.Text = err.Error()
		} else {
			res.Text += "\n" + err.Error()
		}
	}
	return res, nil
}

func invalid(err error) Refusal {
	return Refusal{Code: InvalidInput, Fixable: true, Reason: err.Error(), Hint: "correct the input as the tool's schema says and call again"}
}
