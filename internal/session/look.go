package session

import (
	"iter"
	"time"

	"github.com/planmode-dev/planmode/plan"
)

// A View is a session as its journal tells it, for looking at it without taking part.
type View struct {
	Entries   []Entry // of the branch
	State     plan.State
	Title     string
	Workspace string
	Turns     int
	Problems  []error
}

// Look reads a journal. It writes nothing and needs no lock.
func Look(lines iter.Seq[[]byte]) (*View, error) {
	l := newLog(nil, time.Now)
	problems, err := l.load(lines)
	if err != nil {
		return nil, err
	}
	v := &View{Entries: l.branch(), Problems: problems}
	var t Transcript
	for _, e := range v.Entries {
		t.fold(e)
		if ev, ok := e.Event.(Started); ok {
			v.Workspace = ev.Workspace
		}
	}
	for _, ev := range planEvents(v.Entries, plan.Off) {
		next, _, err := plan.Step(v.State, ev)
		if err != nil {
			v.Problems = append(v.Problems, err)
			continue
		}
		v.State = next
	}
	v.Title, v.Turns = t.title, t.turns
	if t.settings.Title != "" {
		v.Title = t.settings.Title
	}
	return v, nil
}
