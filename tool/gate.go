package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/sandbox"
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
	// view. Off by default, and where no kernel enforces such a view: it is refused.
	Evidence Evidence
	// Sandbox says what the kernel must enforce. The zero value requires a wall.
	Sandbox SandboxPolicy
	// Confine runs commands that may change things in a view where only the workspace can be written
	// and there is no network; where the kernel cannot enforce that, they are refused.
	Confine bool
	// Level returns what the kernel enforces here; nil asks [sandbox.Probe], when it first matters.
	Level func() sandbox.Level
	Host  Host
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
	state    atomic.Pointer[plan.State]
	revoked  atomic.Uint64 // how often everything was revoked
	autonomy atomic.Uint32
	running  atomic.Int64
}

const defaultTTL = 10 * time.Minute

// NewGate returns a gate for a session in the zero [plan.State]. Call [Gate.Observe] on each change.
func NewGate(cfg Config) *Gate {
	if cfg.TTL <= 0 {
		cfg.TTL = defaultTTL
	}
	if cfg.Level == nil {
		cfg.Level = func() sandbox.Level { return sandbox.Probe(context.Background()).Level }
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	cfg.Roots = cfg.Roots.ready()
	g := &Gate{cfg: cfg, ceiling: &ceiling{}}
	g.ceiling.state.Store(&plan.State{})
	g.SetAutonomy(cfg.Autonomy)
	return g
}

// Observe tells the gate and its children the session's state; call it on every change. Grants of
// another epoch are revoked: those not yet used are refused by [Gate.Run], and a call that is running
// can begin no further change. On a gate made by [Gate.Child] it does nothing: a sub-agent does not say
// what may be done.
func (g *Gate) Observe(st plan.State) {
	if !g.child {
		g.ceiling.state.Store(&st)
	}
}

// SetAutonomy changes how much confirmation the user wants, for this gate and its children.
func (g *Gate) SetAutonomy(a Autonomy) { g.ceiling.autonomy.Store(uint32(a)) }

// Revoke takes back every grant that was not used yet, and every question that was not answered, of
// this gate and its children. It is for a session whose state is replaced as a whole.
func (g *Gate) Revoke() { g.ceiling.revoked.Add(1) }

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

// Decide judges a call in the given state. It changes nothing and looks at nothing outside its
// arguments and the gate's configuration.
func (g *Gate) Decide(st plan.State, call Call) Decision {
	d := g.judge(st, call)
	g.cfg.Counters.judged(g, call, d)
	return d
}

// judge holds the order of section "The gate" of docs/design.md.
func (g *Gate) judge(st plan.State, call Call) (d Decision) {
	defer func() {
		if r := recover(); r != nil { // a tool's access function is foreign code
			d = g.deny(st, call, Refusal{
				Code: Internal, Reason: fmt.Sprintf("judging the call failed: %v", r), Hint: "use another tool; this one is broken",
			})
		}
	}()
	call.Input = bytes.Clone(call.Input)
	if len(bytes.TrimSpace(call.Input)) == 0 {
		call.Input = json.RawMessage(`{}`)
	}
	t := g.cfg.Registry.lookup(call.Tool)
	if t == nil {
		return g.deny(st, call, Refusal{
			Code: UnknownTool, Fixable: true, Reason: fmt.Sprintf("there is no tool %q", clip(call.Tool)), Hint: g.toolsHint(call.Tool),
		})
	}
	if err := t.check.check(call.Input); err != nil {
		return g.deny(st, call, invalid(err))
	}
	access, err := t.prepare(call.Input)
	if err != nil {
		return g.deny(st, call, invalid(err))
	}
	// The tool may keep the slice: what was judged must be what is granted.
	p := &permit{gate: g, revoked: g.ceiling.revoked.Load(), state: st, call: call, tool: t, access: slices.Clone(access)}
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
	if p.why != "" {
		return g.ask(p, p.why)
	}
	return g.ask(p, p.grade.String())
}

// freely returns the highest grade that the user need not be asked for.
func (g *Gate) freely(p *permit) grade {
	if p.state.ReadOnly() || p.view == viewScratch { // autonomy is for changes that stay
		if g.cfg.Evidence == EvidenceOn {
			return gradeProcess
		}
		return gradeRead
	}
	switch Autonomy(g.ceiling.autonomy.Load()) {
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
	return Ask{p: p, Reason: why, Rule: g.suggestion(p)}
}

func (g *Gate) deny(st plan.State, call Call, r Refusal) Decision {
	r.Tool, r.Session, r.PlanMode = clip(call.Tool), call.Session, st.ReadOnly()
	return Deny{r}
}

func invalid(err error) Refusal {
	return Refusal{Code: InvalidInput, Fixable: true, Reason: err.Error(), Hint: "correct the input as the tool's schema says and call again"}
}

// clip bounds a name that a model made up. No registered name is longer.
func clip(name string) string {
	const most = 64
	if len(name) > most {
		return strings.ToValidUTF8(name[:most], "") + "…"
	}
	return name
}
