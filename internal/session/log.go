package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/planmode-dev/planmode/plan"
)

// A Journal keeps the lines of a session. Append returns when the lines would survive a crash; after an
// error none of them counts. It is called by one goroutine at a time.
type Journal interface {
	Append(lines ...[]byte) error
}

// A log is the entries of a session, on the journal and in memory, and those who read them.
type log struct {
	journal Journal
	now     func() time.Time
	newID   func() string

	mu      sync.Mutex
	entries []Entry
	index   map[string]int // by ID
	head    string         // the ID of the entry that the next one follows
	// grown is closed, and replaced, whenever there is something new.
	grown chan struct{}
	// live are the readers that want transient events.
	live map[*tail]struct{}
}

func newLog(j Journal, now func() time.Time) *log {
	return &log{journal: j, now: now, newID: newID, index: map[string]int{}, grown: make(chan struct{}), live: map[*tail]struct{}{}}
}

// append writes events and tells the readers. after, if given, is called with each entry under the
// lock, before any reader sees it.
func (l *log) append(by string, after func(Entry), events ...Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := make([]Entry, 0, len(events))
	lines := make([][]byte, 0, len(events))
	head := l.head
	for i, ev := range events {
		e := Entry{
			Seq: uint64(len(l.entries) + i + 1), ID: l.newID(), Parent: head,
			Time: l.now().UTC().Truncate(time.Microsecond), By: by, Event: ev,
		}
		line, err := e.MarshalJSON()
		if err != nil {
			return fmt.Errorf("session: %s cannot be written: %w", ev.event(), err)
		}
		entries, lines = append(entries, e), append(lines, line)
		head = e.ID
		if m, ok := ev.(Moved); ok {
			head = m.To
		}
	}
	if err := l.journal.Append(lines...); err != nil {
		return err
	}
	for _, e := range entries {
		l.add(e)
		if after != nil {
			after(e)
		}
	}
	close(l.grown)
	l.grown = make(chan struct{})
	return nil
}

func (l *log) add(e Entry) {
	l.index[e.ID] = len(l.entries)
	l.entries = append(l.entries, e)
	l.head = e.ID
	if m, ok := e.Event.(Moved); ok {
		l.head = m.To
	}
}

// load takes in the lines of an earlier run. What cannot be read is reported, and something stands in its
// place, so that every entry keeps its number.
func (l *log) load(journal iter.Seq[[]byte]) (problems []error, err error) {
	n := 0
	for line := range journal {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if v := versionOf(line); v > Version {
			return problems, fmt.Errorf("session: the session was written by a later version of planmode (format %d; this one knows %d): use that one; nothing was changed", v, Version)
		}
		var e Entry
		err := json.Unmarshal(line, &e)
		if _, known := l.index[e.ID]; err == nil && (known || e.ID == "") {
			err = fmt.Errorf("its id %q is not new", e.ID)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("line %d was skipped: %w", n, err))
			e = l.standIn(line, n)
		}
		e.Seq = uint64(len(l.entries) + 1)
		if _, known := l.index[e.Parent]; !known && len(l.entries) > 0 && e.Parent != "" {
			e.Parent = l.head // the line of its parent was skipped: it follows what was before that
		}
		l.add(e)
	}
	return problems, nil
}

// versionOf returns the version of the format that the first line of a journal states, 0 for any other
// line. It reads less than a whole entry: a later version may write the rest differently.
func versionOf(line []byte) int {
	if !bytes.Contains(line, []byte(`"started"`)) {
		return 0 // most lines; decoding each twice would double the cost of opening a session
	}
	var j struct {
		Type string `json:"type"`
		Data struct {
			Version int `json:"version"`
		} `json:"data"`
	}
	if json.Unmarshal(line, &j) != nil || j.Type != (Started{}).event() {
		return 0
	}
	return j.Data.Version
}

// standIn is what counts in the place of a line that cannot be read. It has the line's place on its
// branch as far as that can be told, and the same ID whenever the journal is read.
func (l *log) standIn(line []byte, n int) Entry {
	var j entryJSON
	_ = json.Unmarshal(line, &j) // what of it can be read
	e := Entry{ID: j.ID, Parent: j.Parent, Time: j.Time, By: "host", Event: Unknown{Type: unreadable, Data: []byte("null")}}
	if _, known := l.index[e.ID]; known || e.ID == "" {
		e.ID, e.Parent = fmt.Sprintf("line-%d", n), l.head
	}
	if e.Parent == "" {
		e.Parent = l.head
	}
	if mayForbid(line) {
		e.Event = PlanStepped{plan.Enter{Stamp: plan.Stamp{At: e.Time}}}
	}
	return e
}

// unreadable is the type of the [Unknown] event that stands for a line which cannot be read.
const unreadable = "unreadable"

// mayForbid says whether a line that cannot be read could have turned plan mode on, or led to a branch
// where it is on. Only a line that is surely something else could not.
func mayForbid(line []byte) bool {
	var j struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(line, &j) != nil || j.Type == "" {
		return true
	}
	return strings.HasPrefix(j.Type, planPrefix) || j.Type == (Moved{}).event()
}

// branch returns the entries from the first to the head.
func (l *log) branch() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.branchTo(l.head)
}

func (l *log) branchTo(id string) []Entry {
	var path []Entry
	for seen := 0; id != "" && seen <= len(l.entries); seen++ { // a loop of parents ends
		i, ok := l.index[id]
		if !ok {
			break // the parent's line was skipped: what is before it is still on its own lines
		}
		path = append(path, l.entries[i])
		id = l.entries[i].Parent
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return path
}

// A tail is one reader's cursor.
type tail struct {
	mu     sync.Mutex
	pieces []piece
}

// A piece is a transient entry, with the number of entries that there were before it.
type piece struct {
	entry Entry
	after uint64
}

// maxTransient bounds what a slow reader is told late; older pieces are dropped, for the complete
// message follows.
const maxTransient = 256

// transient tells the readers of something that is not kept.
func (l *log) transient(by string, ev Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.live) == 0 {
		return
	}
	p := piece{Entry{Time: l.now().UTC(), By: by, Event: ev}, uint64(len(l.entries))}
	for t := range l.live {
		t.mu.Lock()
		if len(t.pieces) >= maxTransient {
			t.pieces = t.pieces[1:]
		}
		t.pieces = append(t.pieces, p)
		t.mu.Unlock()
	}
	close(l.grown)
	l.grown = make(chan struct{})
}

// events is the cursor: every entry after the number, then what comes, until ctx ends.
func (l *log) events(ctx context.Context, after uint64) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		t := &tail{}
		l.mu.Lock()
		l.live[t] = struct{}{}
		l.mu.Unlock()
		defer func() {
			l.mu.Lock()
			delete(l.live, t)
			l.mu.Unlock()
		}()
		next := int(min(after, 1<<40))
		for {
			l.mu.Lock()
			batch := l.entries[min(next, len(l.entries)):]
			grown := l.grown
			t.mu.Lock()
			pieces := t.pieces
			t.pieces = nil
			t.mu.Unlock()
			l.mu.Unlock()
			next += len(batch)
			for e := range merged(batch, pieces) {
				if !yield(e) {
					return
				}
			}
			if len(batch) > 0 {
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-grown:
			}
		}
	}
}

// merged yields two lists in the order in which they came about.
func merged(durable []Entry, transient []piece) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for len(durable) > 0 || len(transient) > 0 {
			var e Entry
			if len(transient) == 0 || len(durable) > 0 && durable[0].Seq <= transient[0].after {
				e, durable = durable[0], durable[1:]
			} else {
				e, transient = transient[0].entry, transient[1:]
			}
			if !yield(e) {
				return
			}
		}
	}
}

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}

// lines yields the lines of a text that are not blank, trimmed.
func lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !yield(line) {
				return
			}
		}
	}
}
