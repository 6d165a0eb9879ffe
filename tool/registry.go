package tool

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/planmode-dev/planmode/llm"
)

// A Registry holds the tools of a session. It is safe for concurrent use. A tool registered at any
// time is judged like any other.
type Registry struct {
	mu      sync.RWMutex
	tools   map[string]*tool
	changes uint64
}

// NewRegistry returns a registry of the tools. It panics on a mistake in one: use
// [Registry.Register] for tools that come from outside the program.
func NewRegistry(tools ...Tool) *Registry {
	r := &Registry{}
	for _, t := range tools {
		if err := r.Register(t); err != nil {
			panic(err)
		}
	}
	return r
}

// ErrDuplicate: a tool of that name is registered already.
var ErrDuplicate = errors.New("tool: a tool of that name is registered already")

// Register adds the tool. A name that is taken is [ErrDuplicate]: a tool that comes later cannot
// shadow one that is there.
func (r *Registry) Register(t Tool) error {
	if t.t == nil {
		return errors.New("tool: the zero Tool cannot be registered")
	}
	if t.t.err != nil {
		return t.t.err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.tools[t.t.spec.Name]; taken {
		return fmt.Errorf("%w: %q", ErrDuplicate, t.t.spec.Name)
	}
	if r.tools == nil {
		r.tools = map[string]*tool{}
	}
	r.tools[t.t.spec.Name] = t.t
	r.changes++
	return nil
}

// Unregister removes the tool and says whether it was there.
func (r *Registry) Unregister(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.tools[name]
	delete(r.tools, name)
	if ok {
		r.changes++
	}
	return ok
}

// Get returns the tool of that name.
func (r *Registry) Get(name string) (Tool, bool) {
	t := r.lookup(name)
	return Tool{t}, t != nil
}

// All returns the tools in order of their names.
func (r *Registry) All() []Tool {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]Tool, 0, len(r.tools))
	for _, t := range r.tools {
		all = append(all, Tool{t})
	}
	slices.SortFunc(all, func(a, b Tool) int { return cmp.Compare(a.t.spec.Name, b.t.spec.Name) })
	return all
}

// Changes counts registrations and removals, so that a view of the registry knows when it is stale.
func (r *Registry) Changes() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.changes
}

func (r *Registry) lookup(name string) *tool {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.tools[name]
}

// ForModel returns the tool as a model sees it.
func (s Spec) ForModel() llm.ToolSpec {
	return llm.ToolSpec{Name: s.Name, Description: s.Description, Schema: s.Schema}
}
