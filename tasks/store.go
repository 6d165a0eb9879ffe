package tasks

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Options say how a [Store] is made. The zero value is a store in memory.
type Options struct {
	// Path is the file that mirrors the list, in a folder that the caller has made. "" keeps the list
	// in memory alone.
	Path string
	// NewID makes ids for items without one. Nil means eight random hexadecimal digits. It is called
	// with the store locked and must not call the store.
	NewID func() string
}

// A Store holds the todo list of one session. All methods may be called by several goroutines at
// once. With a mirror, a write returns after the file is safe on disk; a write that cannot be made
// safe is an error and changes nothing.
type Store struct {
	newID   func() string
	problem error // of opening the mirror

	mu    sync.Mutex
	path  string // "" where there is no mirror
	state State  // items never nil, always valid
}

// A State is the whole of a store, for keeping it inside something else. Its JSON form is that of the
// mirror.
type State struct {
	Version int    `json:"version"`
	Plan    string `json:"plan"`
	Closed  bool   `json:"closed,omitempty"`
	Items   []Item `json:"items"`
}

// Version is the newest version of a [State] that this package reads, and the one that it writes.
const Version = 1

// NewStore is [Open] for callers who ask for the problem later, by [Store.Problem].
func NewStore(o Options) *Store {
	s := &Store{newID: o.NewID, path: o.Path, state: State{Version: Version, Items: []Item{}}}
	if s.newID == nil {
		s.newID = randomID
	}
	if s.path != "" {
		s.open()
	}
	return s
}

// Open makes a store and loads its mirror, if there is one. The store can always be used. A mirror
// that is corrupt, from a newer version or not a file is renamed to "<path>.corrupt-<n>" and the
// store starts empty; the error is then a [*SetAsideError].
func Open(o Options) (*Store, error) {
	s := NewStore(o)
	return s, s.Problem()
}

// Problem returns what [Open] returned as its error.
func (s *Store) Problem() error { return s.problem }

func randomID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return hex.EncodeToString(b[:])
}

// List returns the present list.
func (s *Store) List() List {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list()
}

// list needs s.mu.
func (s *Store) list() List {
	return List{
		Plan: s.state.Plan, Closed: s.state.Closed,
		Items: slices.Clone(s.state.Items), Counts: count(s.state.Items),
	}
}

// Items returns the present items. The caller owns the slice.
func (s *Store) Items() []Item { return s.List().Items }

// Counts returns how many items there are of each status.
func (s *Store) Counts() Counts { return s.List().Counts }

// Plan returns the id of the plan that the list belongs to, or "".
func (s *Store) Plan() string { return s.List().Plan }

// AllDone says whether there is work and all of it is completed. An empty list is not done, and
// neither is what is left of a cancelled plan's.
func (s *Store) AllDone() bool {
	l := s.List()
	return !l.Closed && l.Counts.Total > 0 && l.Counts.Completed == l.Counts.Total
}

// Replace puts the items in the place of the whole list, which stays the present plan's. Contents are
// folded to one line, statuses read in any case ("" is [Pending]), missing ids made, and the later of
// two items with the same id gets a fresh one. No items clear the list. A list that breaks a rule is
// refused with an [*Error]; any other error is the mirror's. Either way nothing has changed.
func (s *Store) Replace(items []Item) (List, error) {
	return s.update(func(st *State) error {
		valid, err := validate(items, s.newID)
		if err != nil {
			return err
		}
		st.Items = valid
		st.Closed = false
		return nil
	})
}

// SetStatus changes one item. Making it [InProgress] puts another that is back to [Pending]. An id
// that is not in the list is [UnknownTodo].
func (s *Store) SetStatus(id string, status Status) (List, error) {
	return s.update(func(st *State) error {
		status, err := cleanStatus(status, "status")
		if err != nil {
			return err
		}
		at := slices.IndexFunc(st.Items, func(it Item) bool { return it.ID == id })
		if at < 0 {
			return refuse(UnknownTodo, "id", "no todo has the id %.80q", id)
		}
		for i := range st.Items {
			if status == InProgress && st.Items[i].Status == InProgress {
				st.Items[i].Status = Pending
			}
		}
		st.Items[at].Status = status
		return nil
	})
}

// Seed replaces the list by the steps of an approved plan, all pending, with ids "1", "2", … as the
// steps are numbered. What does not fit is folded, not dropped: of more than [MaxItems] steps, the last item says
// "… and N more steps of the plan", and a step of more than [MaxContent] characters ends, at a word where
// there is one, with "… (the plan has the rest)". The plan's text is the place to read both.
func (s *Store) Seed(plan string, contents []string) (List, error) {
	if err := checkWord(plan, "plan", MaxPlan); err != nil {
		return s.List(), err
	}
	steps := contents
	if len(steps) > MaxItems {
		steps = steps[:MaxItems-1]
	}
	items := make([]Item, 0, MaxItems)
	for i, c := range steps {
		items = append(items, Item{ID: fmt.Sprint(i + 1), Content: fold(c)})
	}
	if more := len(contents) - len(steps); more > 0 {
		items = append(items, Item{ID: "more", Content: fmt.Sprintf("… and %d more steps of the plan", more)})
	}
	return s.update(func(st *State) error {
		valid, err := validate(items, s.newID)
		if err != nil {
			return err
		}
		*st = State{Version: Version, Plan: plan, Items: valid}
		return nil
	})
}

// fold shortens a step that is too long for an item and says so.
func fold(content string) string {
	const rest = "… (the plan has the rest)"
	content = strings.Join(strings.Fields(content), " ")
	if utf8.RuneCountInString(content) <= MaxContent {
		return content
	}
	kept := string([]rune(content)[:MaxContent-utf8.RuneCountInString(rest)])
	if i := strings.LastIndexByte(kept, ' '); i > len(kept)/2 {
		kept = kept[:i]
	}
	return kept + rest
}

// Cancel closes the list of a plan that is given up: open items are taken off and returned, completed ones
// stay as a record, and the list belongs to no plan any more.
func (s *Store) Cancel() (closed []Item, err error) {
	_, err = s.update(func(st *State) error {
		done := []Item{}
		for _, it := range st.Items {
			if it.Status == Completed {
				done = append(done, it)
			} else {
				closed = append(closed, it)
			}
		}
		*st = State{Version: Version, Closed: len(st.Items) > 0, Items: done}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return closed, nil
}

// State returns the whole store as a value that shares nothing with it.
func (s *Store) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	st.Items = slices.Clone(st.Items)
	return st
}

// Load replaces everything by a state that [Store.State] returned, maybe in an earlier life of the program.
// A state that breaks a rule or is from a newer version is an error and changes nothing.
func (s *Store) Load(st State) error {
	_, err := s.update(func(into *State) error {
		valid, err := st.valid()
		if err != nil {
			return err
		}
		*into = valid
		return nil
	})
	return err
}

// valid judges a state from outside by the same rules as a write. Ids are kept, so one that is
// missing or double is a fault here.
func (st State) valid() (State, error) {
	if st.Version < 1 || st.Version > Version {
		return State{}, fmt.Errorf("tasks: version %d; this program reads 1 to %d", st.Version, Version)
	}
	if err := checkWord(st.Plan, "plan", MaxPlan); err != nil {
		return State{}, err
	}
	seen := map[string]bool{"": true}
	for i, it := range st.Items {
		if seen[it.ID] {
			return State{}, refuse(InvalidArgs, fmt.Sprintf("items[%d].id", i), "%.80q is empty or not the first of its kind", it.ID)
		}
		seen[it.ID] = true
	}
	items, err := validate(st.Items, randomID)
	if err != nil {
		return State{}, err
	}
	st.Items = items
	return st, nil
}

// update is the only door to the state: it changes a copy, makes that safe, and only then takes it.
func (s *Store) update(change func(*State) error) (List, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.state
	next.Items = slices.Clone(next.Items)
	if err := change(&next); err != nil {
		return s.list(), err
	}
	if s.path != "" {
		if err := save(s.path, next); err != nil {
			return s.list(), fmt.Errorf("tasks: the list was not changed: %w", err)
		}
	}
	s.state = next
	return s.list(), nil
}
