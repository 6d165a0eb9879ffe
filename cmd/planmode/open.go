package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"time"

	"github.com/planmode-dev/planmode"
	"github.com/planmode-dev/planmode/internal/journal"
	"github.com/planmode-dev/planmode/internal/session"
	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/sandbox"
	"github.com/planmode-dev/planmode/tool"
)

//go:embed system.md
var systemPrompt string

// openOptions are what a command line says about a session.
type openOptions struct {
	// Session is the ID of one to take up again; Continue takes the project's newest.
	Session       string
	Continue      bool
	Model         string
	Autonomy      string
	MaxRequests   int
	StartPlanning bool
	// open replaces the providers; policy adds rules. For the demo.
	open   func(string) (llm.Provider, llm.Model, error)
	policy tool.Policy
}

// An opened is a session with its journal.
type opened struct {
	*session.Session
	file  *journal.File
	isNew bool
}

func (o *opened) Close() error {
	o.Session.Close()
	return o.file.Close()
}

// openSession makes a session in the place, or takes one up again.
func (p *place) openSession(o openOptions, warn io.Writer) (*opened, error) {
	at, isNew, err := p.locate(o)
	if err != nil {
		return nil, err
	}
	file, err := journal.Open(at.Path, &journal.Options{Complete: json.Valid})
	if err != nil {
		return nil, openError(at, err)
	}
	if r := file.Report(); r.TornBytes > 0 {
		fmt.Fprintf(warn, "planmode: the last %d bytes of the session were torn by a crash; they are kept in %s\n", r.TornBytes, r.TornFile)
	}
	cfg := p.sessionConfig(at, o)
	cfg.Journal = file
	if !isNew {
		cfg.Lines = linesOf(file)
	}
	s, err := session.Open(cfg)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	for _, problem := range s.Problems() {
		fmt.Fprintf(warn, "planmode: session %s: %s\n", at.ID, shown(problem.Error()))
	}
	return &opened{s, file, isNew}, nil
}

func openError(at sessionFile, err error) error {
	if errors.Is(err, journal.ErrLocked) {
		return fmt.Errorf("session %s is open in another planmode: close it there, or wait: %w", at.ID, err)
	}
	return fmt.Errorf("session %s cannot be opened, and nothing was changed: %w", at.ID, err)
}

func (p *place) locate(o openOptions) (at sessionFile, isNew bool, err error) {
	switch {
	case o.Session != "" && o.Continue:
		return at, false, usagef("--session and --continue exclude each other")
	case o.Session != "":
		at, err = p.findSession(o.Session)
		return at, false, err
	case o.Continue:
		files, err := p.sessionFiles(false)
		if err != nil {
			return at, false, err
		}
		if len(files) == 0 {
			return at, false, usagef("there is no session of %s to continue", p.workspace)
		}
		return files[0], false, nil
	}
	id := newSessionID(time.Now())
	project := projectKey(p.workspace)
	return sessionFile{ID: id, Project: project, Path: filepath.Join(p.sessionsDir(), id+journal.Ext)}, true, nil
}

// newSessionID sorts by time and tells apart what begins in the same second.
func newSessionID(now time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return now.UTC().Format("20060102-150405") + "-" + hex.EncodeToString(b[:])
}

func linesOf(f *journal.File) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line, err := range f.Lines() {
			if err != nil {
				// A line that cannot be read is one that cannot be trusted to have forbidden nothing.
				line.Data = []byte("unreadable: " + err.Error())
			}
			if !yield(line.Data) {
				return
			}
		}
	}
}

// sessionConfig is what the configuration and the command line make of a session.
func (p *place) sessionConfig(at sessionFile, o openOptions) session.Config {
	models := p.models()
	if o.open != nil {
		models = o.open
	}
	autonomy := p.cfg.Autonomy.String()
	if o.Autonomy != "" && !p.faulty() {
		autonomy = o.Autonomy
	}
	model := o.Model
	if model == "" {
		model = p.cfg.Model
	}
	requests := o.MaxRequests
	if requests == 0 {
		requests = p.cfg.Limits.MaxTurns
	}
	exposure := planmode.Filtered
	if p.cfg.Plan.Exposure == "stable" {
		exposure = planmode.Stable
	}
	return session.Config{
		ID: at.ID, Workspace: p.workspace, PlanDir: p.planDir(at.Project, at.ID),
		Registry: tool.NewRegistry(tools.All(tools.Options{})...),
		Gate:     p.gateConfig(at, o), Open: models,
		ReviewModel: p.cfg.ReviewModel, ReviewThinking: string(p.cfg.Thinking),
		System:        p.system(),
		Settings:      session.Settings{Model: model, Thinking: string(p.cfg.Thinking), Autonomy: autonomy},
		StartPlanning: o.StartPlanning || p.cfg.Plan.Default,
		AfterDone:     planmode.Mode(p.cfg.Plan.AfterDone.String()),
		ModelMayEnter: p.cfg.Plan.ModelMayEnter,
		Exposure:      exposure, MaxRequests: requests, Sandbox: p.sandbox,
	}
}

func (p *place) gateConfig(at sessionFile, o openOptions) tool.Config {
	policy := p.cfg.Permissions
	policy.Allow = append(policy.Allow[:len(policy.Allow):len(policy.Allow)], o.policy.Allow...)
	read := p.cfg.ReadRoots
	switch {
	case p.faulty():
		read = nil // what is to be hidden may stand in what could not be read: the workspace alone is open
	case len(read) == 0:
		read = []string{wholeMachine()}
	}
	hidden := append(sandbox.DefaultHidden(p.home, p.dirs.State, p.dirs.Config), hiddenNames...)
	return tool.Config{
		Roots: tool.Roots{
			Read: read, Hidden: append(hidden, p.cfg.Hidden...), Keep: p.keepDir(at.Project, at.ID), Home: p.home,
		},
		Policy: policy, Vouched: p.cfg.Plan.Tools, Shell: p.cfg.Plan.ShellAllow, Evidence: p.cfg.Plan.Evidence, Sandbox: p.cfg.Sandbox, Confine: p.cfg.Confine,
	}
}

// sandbox says what the kernel enforces while planning.
func (p *place) sandbox() string {
	if p.cfg.Sandbox == tool.SandboxOff {
		return "off"
	}
	return sandbox.Probe(context.Background()).Level.String()
}

// system is the part of the system prompt that never changes in a session.
func (p *place) system() string {
	return fmt.Sprintf("%s\nThe workspace is %s. The platform is %s.\n", systemPrompt, p.workspace, platform())
}
