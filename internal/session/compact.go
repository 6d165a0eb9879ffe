package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/planmode-dev/planmode/internal/turn"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
)

const compactSystem = `You summarize a session between a user and a coding agent for the agent itself, which will go
on with your summary alone. Keep what it needs: what the user wants, in their words where they matter; what
was found, with files, names and lines; what was decided and why; what was done and what is still open;
what failed. The plan, the mode and the todo list are kept elsewhere: leave them out. Write plain Markdown.`

// fullness is the part of a model's context at which the conversation is compacted by itself: the rest
// is for the next answer and its results.
const fullness = 0.8

// compactIfFull compacts a conversation that has nearly filled the model's context. Where that fails the
// turn goes on with what there is.
func (k *sink) compactIfFull(ctx context.Context) error {
	k.s.mu.Lock()
	filled := k.s.t.filled
	k.s.mu.Unlock()
	if k.overfull || k.model.ContextWindow <= 0 || float64(filled) < fullness*float64(k.model.ContextWindow) {
		return nil
	}
	err := k.s.compactWith(ctx, k.provider, k.model)
	if err == nil || ctx.Err() != nil {
		return err
	}
	k.overfull = true
	k.s.warn("compaction_failed", "the conversation has nearly filled the model's context and could not be compacted: "+err.Error())
	return nil
}

// compactNow compacts in the background.
func (p person) compactNow() error {
	p.mu.Lock()
	busy, empty := p.turn != nil, len(p.t.messages) == 0
	p.mu.Unlock()
	switch {
	case busy:
		return ErrBusy
	case empty:
		return fmt.Errorf("%w: there is nothing to compact yet", ErrUsage)
	}
	if err := p.closeDangling(); err != nil {
		return err
	}
	p.startCompaction()
	return nil
}

// compaction is what a session is busy with while it compacts.
const compaction = "compaction"

// startCompaction compacts in the background. An approval that waits for it is dropped if it fails.
func (s *Session) startCompaction() {
	s.startJob(compaction, func(ctx context.Context) func() bool {
		err := s.compact(ctx)
		return func() bool {
			if err == nil {
				return true
			}
			s.mu.Lock()
			a, waits := s.pending.(plan.Approve)
			waits = waits && a.How == plan.Compact
			if waits {
				s.pending = nil
			}
			s.mu.Unlock()
			text := "the conversation was not compacted, and is as it was: "
			if waits {
				text = "the conversation could not be compacted, so the plan was not approved; it still waits for you: "
			}
			s.warn("compaction_failed", text+err.Error())
			return true
		}
	})
}

func (s *Session) compact(ctx context.Context) error {
	s.mu.Lock()
	name := s.t.settings.Model
	s.mu.Unlock()
	provider, model, err := s.cfg.Open(name)
	if err != nil {
		return err
	}
	return s.compactWith(ctx, provider, model)
}

// compactWith asks the model for a summary and puts it in the conversation's place.
func (s *Session) compactWith(ctx context.Context, provider llm.Provider, model llm.Model) error {
	s.mu.Lock()
	messages := append(s.t.Messages(), llm.UserText("Summarize the session so far."))
	s.mu.Unlock()
	resp, err := turn.Stream(ctx, provider, llm.Request{
		Model: model, System: compactSystem, Messages: messages, Tools: s.pm.Tools(), CacheKey: s.cfg.ID,
	}, func(llm.Delta) {})
	if err != nil {
		return err
	}
	summary := resp.Message.Text()
	if summary == "" {
		return errors.New("the model gave no summary")
	}
	return s.append("host", Compacted{Summary: summary, Usage: resp.Usage})
}
