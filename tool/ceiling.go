package tool

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/shellsafe"
)

// A grade is what a call needs, least first.
type grade uint8

const (
	gradeRead      grade = iota // proven to change nothing of the user's
	gradeWorkspace              // writes files in the workspace
	gradeProcess                // runs commands, uses the network, or is a foreign tool
	gradeProtected              // writes outside the workspace, or what other programs execute
)

// String says why the user is asked.
func (g grade) String() string {
	switch g {
	case gradeRead:
		return "it reads"
	case gradeWorkspace:
		return "it writes a file in the workspace"
	case gradeProcess:
		return "it runs something that may change things"
	case gradeProtected:
	}
	return "it writes where other programs would execute it, or outside the workspace"
}

// A view is where a call's process runs.
type view uint8

const (
	viewReadOnly view = iota
	viewScratch
	viewConfined
	viewFull
)

// underCeiling holds every effect of the call against what the session's mode permits, and grades it.
// A nil refusal means that the mode permits the call; whether the user must be asked is another
// question.
func (g *Gate) underCeiling(p *permit) *Refusal {
	access := p.access
	if len(access) == 0 {
		access = Access{Opaque{Why: "the tool does not say what it does"}}
	}
	shells := 0
	for _, e := range access {
		if _, ok := e.(Shell); ok {
			if shells++; shells > 1 { // a permit has one view to run in
				return &Refusal{Code: Internal, Reason: "the tool wants to run several command lines in one call", Hint: "use another tool"}
			}
		}
		grade, r := g.effect(p, e)
		if r != nil {
			return r
		}
		p.grade = max(p.grade, grade)
	}
	return nil
}

// effect is the table of effects × modes. The default is no.
func (g *Gate) effect(p *permit, e Effect) (grade, *Refusal) {
	readOnly := p.state.ReadOnly()
	switch e := e.(type) {
	case Nothing, WriteTodos, AskUser, Spawn:
		return gradeRead, nil
	case ReadFile:
		return gradeRead, g.mayRead(e.Path)
	case WriteFile:
		return g.mayWrite(p, e.Path)
	case Shell:
		return g.mayShell(p, e)
	case Fetch:
		if readOnly {
			return 0, blocked("it uses the network", "read what is on this machine; the plan can name what must be fetched")
		}
		return gradeProcess, nil
	case SubmitPlan:
		switch {
		case g.child:
			return 0, &Refusal{Code: WrongPhase, Reason: "a sub-agent cannot submit a plan", Hint: "give your findings as your answer"}
		case p.state.Mode() != plan.Planning:
			return 0, &Refusal{
				Code: WrongPhase, Reason: fmt.Sprintf("a plan is due while planning; the mode is %s", p.state.Mode()),
				Hint: "answer in text; the user decides what is next",
			}
		}
		return gradeRead, nil
	case Claimed:
		if e.ReadOnly && slices.Contains(g.cfg.Trusted, e.Source) || g.vouched(p.call.Tool) {
			return gradeRead, nil
		}
		if readOnly {
			return 0, blocked(fmt.Sprintf("nothing proves that the tool of %q changes nothing", e.Source),
				"use read, grep, find, ls or a read-only command; the user can trust the source in the configuration")
		}
		return gradeProcess, nil
	case Opaque:
		if g.vouched(p.call.Tool) {
			return gradeRead, nil
		}
		if readOnly {
			return 0, blocked("nothing proves that it changes nothing: "+e.Why, "use read, grep, find, ls or a read-only command")
		}
		return gradeProcess, nil
	}
	return 0, &Refusal{Code: Internal, Reason: fmt.Sprintf("the gate does not know the effect %T", e), Hint: "use another tool"}
}

func blocked(reason, hint string) *Refusal {
	return &Refusal{Code: PlanModeBlocked, Reason: reason, Hint: hint}
}

func (g *Gate) vouched(name string) bool {
	return slices.ContainsFunc(g.cfg.Vouched, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

func (g *Gate) mayRead(p string) *Refusal {
	abs, err := g.cfg.Roots.abs(p)
	if err != nil {
		r := invalid(err)
		return &r
	}
	if h, hidden := g.cfg.Roots.hidden(abs); hidden && !g.kept(abs) {
		return isHidden(abs, h)
	}
	if within("/proc", abs) && !within("/proc", g.cfg.Roots.Workspace) {
		return &Refusal{Code: PolicyDenied, Reason: "/proc shows the memory and the environment of running programs", Hint: "do without it"}
	}
	if _, ok := g.cfg.Roots.readable(abs); !ok && !g.isPlanFile(abs) {
		return &Refusal{Code: PolicyDenied, Reason: abs + " is outside the folders that this session may read", Hint: "read inside " + g.cfg.Roots.Workspace}
	}
	return nil
}

func isHidden(abs, entry string) *Refusal {
	return &Refusal{
		Code: PolicyDenied, Reason: fmt.Sprintf("%s is hidden (by the entry %q)", abs, entry),
		Hint: "do without it; the user can change what is hidden",
	}
}

// kept says whether the path is in the session's own folder of long outputs, or its plan file: both
// lie in the program's state, which is hidden as a whole.
func (g *Gate) kept(abs string) bool {
	return within(g.cfg.Roots.Keep, abs) || g.isPlanFile(abs)
}

func (g *Gate) isPlanFile(abs string) bool {
	if g.cfg.PlanFile == nil {
		return false
	}
	file := g.cfg.PlanFile()
	return file == abs || file != "" && filepath.Clean(file) == abs
}

func (g *Gate) mayWrite(p *permit, file string) (grade, *Refusal) {
	abs, err := g.cfg.Roots.abs(file)
	if err != nil {
		r := invalid(err)
		return 0, &r
	}
	if g.isPlanFile(abs) {
		if p.state.Mode() == plan.Planning {
			return gradeRead, nil
		}
		if p.state.ReadOnly() {
			return 0, blocked("the plan is with the user; its file can be written while planning", "answer in text")
		}
	}
	if p.state.ReadOnly() {
		hint := "put the change into the plan"
		if g.cfg.PlanFile != nil && g.cfg.PlanFile() != "" {
			hint += "; the only file you may write is " + g.cfg.PlanFile()
		}
		return 0, blocked(fmt.Sprintf("it writes %s", abs), hint)
	}
	if h, hidden := g.cfg.Roots.hidden(abs); hidden {
		return 0, isHidden(abs, h)
	}
	if !within(g.cfg.Roots.Workspace, abs) || g.cfg.Roots.protected(abs) {
		return gradeProtected, nil
	}
	return gradeWorkspace, nil
}

func (g *Gate) mayShell(p *permit, e Shell) (grade, *Refusal) {
	if strings.TrimSpace(e.Command) == "" {
		return 0, &Refusal{Code: InvalidInput, Fixable: true, Reason: "the command is empty", Hint: "give the command line to run"}
	}
	if e.Dir != "" {
		if r := g.mayRead(e.Dir); r != nil {
			return 0, r
		}
	}
	if word, entry, found := g.cfg.Roots.hiddenInLine(e.Command, e.Dir); found {
		reason := fmt.Sprintf("%q names something hidden (by the entry %q)", word, entry)
		if !p.state.ReadOnly() && !e.Scratch { // it may be what the user wants, but only they can say so
			p.why, p.view = reason, viewFull
			return gradeProtected, nil
		}
		return 0, &Refusal{
			Code: PolicyDenied, Reason: reason,
			Hint: "do without it, or search with grep and find, which leave it out; the user can change what is hidden",
		}
	}
	res := shellsafe.Analyze(e.Command, &shellsafe.Options{Allow: g.cfg.Shell})
	switch {
	case res.Verdict == shellsafe.Read:
		return gradeRead, nil
	case g.inScratch(p, e, res.Verdict):
		p.view = viewScratch
		return gradeProcess, nil
	case e.Scratch:
		return 0, g.noScratch(p, res)
	case !p.state.ReadOnly():
		p.view = viewFull
		if g.cfg.Confine {
			p.view = viewConfined
		}
		return gradeProcess, nil
	}
	return 0, refusedLine(res)
}

// inScratch says whether a command may run in the throw-away view. While planning, one that is
// harmless there goes there by itself; one that is known to write goes only if the model asked for
// it, so that it does not take what it changed for done.
func (g *Gate) inScratch(p *permit, e Shell, v shellsafe.Verdict) bool {
	asked := e.Scratch && v == shellsafe.Write
	if v != shellsafe.Contained && !asked || !p.state.ReadOnly() && !e.Scratch {
		return false
	}
	return g.cfg.Evidence != EvidenceOff && g.Walled()
}

// Walled says whether commands run behind a wall of the kernel while planning. It may have to try.
func (g *Gate) Walled() bool { return g.cfg.Sandbox != SandboxOff && g.cfg.Level().Enforces() }

// noScratch says why a command that asked for the throw-away view cannot have it.
func (g *Gate) noScratch(p *permit, res shellsafe.Result) *Refusal {
	switch {
	case res.Verdict != shellsafe.Write && res.Verdict != shellsafe.Contained:
		r := refusedLine(res)
		if !p.state.ReadOnly() { // the mode forbids nothing here
			r.Code, r.Hint = SandboxMissing, "a throw-away view has no network and runs only what can be understood: call it without one"
		}
		return r
	case g.cfg.Evidence == EvidenceOff || g.cfg.Sandbox == SandboxOff:
		return &Refusal{Code: g.codeFor(p), Reason: "throw-away views are off in the user's configuration", Hint: "make the command a step of the plan"}
	}
	return &Refusal{Code: g.codeFor(p), Reason: "this machine's kernel cannot enforce a throw-away view", Hint: "make the command a step of the plan"}
}

func (g *Gate) codeFor(p *permit) Code {
	if p.state.ReadOnly() {
		return PlanModeBlocked
	}
	return SandboxMissing
}

func refusedLine(res shellsafe.Result) *Refusal {
	r := blocked(res.Reason, res.Hint)
	if res.At.Text != "" {
		r.At = &res.At
	}
	if r.Hint == "" {
		r.Hint = verdictHint(res.Verdict)
	}
	return r
}

func verdictHint(v shellsafe.Verdict) string {
	switch v {
	case shellsafe.Invalid:
		return "write it as a plain bash command line"
	case shellsafe.Contained:
		return "read the files that it would run instead, or make running it a step of the plan"
	case shellsafe.Network:
		return "read what is on this machine, or make it a step of the plan"
	case shellsafe.Write, shellsafe.Read:
	}
	return "make the change a step of the plan"
}

// toolsHint names the tools there are, nearest first.
func (g *Gate) toolsHint(name string) string {
	var names []string
	for _, t := range g.cfg.Registry.All() {
		if strings.EqualFold(t.t.spec.Name, name) {
			return fmt.Sprintf("its name is %q", t.t.spec.Name)
		}
		names = append(names, t.t.spec.Name)
	}
	const most = 30
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "the tools are " + strings.Join(names, ", ")
}

// suggestion is the rule that a user may want to answer "always" with.
func (g *Gate) suggestion(p *permit) string {
	if p.grade >= gradeProtected || len(p.access) != 1 {
		return ""
	}
	rule := Rule{Tool: p.call.Tool}
	switch e := p.access[0].(type) {
	case Shell:
		if rule.Arg = suggestWords(e.Command); rule.Arg == "" {
			return ""
		}
	case WriteFile:
		// With a slash in it, so that it is that file and not every file of the name.
		abs, err := g.cfg.Roots.abs(e.Path)
		if err != nil {
			return ""
		}
		rule.Arg = filepath.ToSlash(abs)
		if rel, err := filepath.Rel(g.cfg.Roots.Workspace, abs); err == nil && within(g.cfg.Roots.Workspace, abs) {
			rule.Arg = "./" + filepath.ToSlash(rel)
		}
		if strings.ContainsAny(rule.Arg, `*?[]{}\`) {
			return ""
		}
	case Claimed, Opaque:
	case Nothing, ReadFile, Fetch, SubmitPlan, WriteTodos, AskUser, Spawn:
		return ""
	default:
		return ""
	}
	parsed, err := ParseRule(rule.String())
	if err != nil || !parsed.covers(&subject{roots: &g.cfg.Roots, tool: p.call.Tool, access: p.access}) {
		return ""
	}
	return rule.String()
}
