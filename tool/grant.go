package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tasks"
)

// A Grant is permission to run one call, and the only handle on the world that its tool is given. It
// does what the call's [Access] declared and refuses everything else with a [*Refusal]. It ends when
// the call returns. It is safe for concurrent use.
type Grant struct {
	p        *permit
	progress func(string)
	ended    atomic.Bool
	over     chan struct{} // closed when the call has returned

	mu      sync.Mutex
	changes sync.WaitGroup // writes and processes that were begun
	closers []io.Closer
}

func newGrant(p *permit, progress func(string)) *Grant {
	if progress == nil {
		progress = func(string) {}
	}
	return &Grant{p: p, progress: progress, over: make(chan struct{})}
}

// close ends the grant. A tool may have leaked it to a goroutine: what that began is cancelled and
// waited for, so that nothing happens after the call.
func (g *Grant) close() {
	g.mu.Lock()
	g.ended.Store(true)
	g.mu.Unlock()
	close(g.over)
	g.changes.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.closers {
		_ = c.Close() // reading handles; what was written was checked by its writer
	}
}

// begin opens a change of the world: a write, a process, a request. The mode is looked at once more,
// for a call may run long. The caller calls done when the change is complete.
func (g *Grant) begin() (done func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended.Load() {
		return nil, g.refused("the call is over")
	}
	if g.p.void() {
		return nil, &Refusal{
			Code: StalePermission, Tool: g.p.call.Tool, Session: g.p.call.Session, PlanMode: g.p.gate.ceiling.state.Load().ReadOnly(),
			Reason: "the mode changed while the call was running", Hint: askAgain,
		}
	}
	g.changes.Add(1)
	return g.changes.Done, nil
}

// bound returns a context that ends with the call too.
func (g *Grant) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-g.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// keepOpen closes the handle when the call ends, if not before.
func (g *Grant) keepOpen(c io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended.Load() {
		_ = c.Close() // a handle that came too late
		return
	}
	g.closers = append(g.closers, c)
}

// Call returns the call that is granted.
func (g *Grant) Call() Call { return g.p.copyOfCall() }

// PlanMode says whether plan mode is active.
func (g *Grant) PlanMode() bool { return g.p.state.ReadOnly() }

// Workspace returns the absolute path of the workspace.
func (g *Grant) Workspace() string { return g.p.gate.cfg.Roots.Workspace }

// Progress shows text to the user while the call runs. The model does not see it.
func (g *Grant) Progress(text string) {
	if !g.ended.Load() {
		g.progress(text)
	}
}

// refused is a reach for more than was declared.
func (g *Grant) refused(format string, args ...any) *Refusal {
	return &Refusal{
		Code: NotGranted, Tool: g.p.call.Tool, Session: g.p.call.Session, PlanMode: g.PlanMode(),
		Reason: fmt.Sprintf(format, args...),
		Hint:   "the tool asked for less than it needs: use another one, and tell the user",
	}
}

// declared says whether the call's access holds an effect that the test accepts.
func (g *Grant) declared(test func(Effect) bool) bool {
	return !g.ended.Load() && slices.ContainsFunc(g.p.access, test)
}

func declaredAs[E Effect](g *Grant) bool {
	return g.declared(func(e Effect) bool { _, ok := e.(E); return ok })
}

// SubmitPlan hands in a plan: the text, or the plan file's if text is empty. The call must have
// declared [SubmitPlan].
func (g *Grant) SubmitPlan(ctx context.Context, text string) (plan.Revision, error) {
	if !declaredAs[SubmitPlan](g) {
		return plan.Revision{}, g.refused("the call did not say that it submits a plan")
	}
	if g.p.gate.cfg.Host.SubmitPlan == nil {
		return plan.Revision{}, errNoService
	}
	ctx, cancel := g.bound(ctx)
	defer cancel()
	return g.p.gate.cfg.Host.SubmitPlan(ctx, text)
}

// WriteTodos replaces the todo list. The call must have declared [WriteTodos].
func (g *Grant) WriteTodos(ctx context.Context, items []tasks.Item) (tasks.List, error) {
	if !declaredAs[WriteTodos](g) {
		return tasks.List{}, g.refused("the call did not say that it writes todos")
	}
	if g.p.gate.cfg.Host.WriteTodos == nil {
		return tasks.List{}, errNoService
	}
	ctx, cancel := g.bound(ctx)
	defer cancel()
	return g.p.gate.cfg.Host.WriteTodos(ctx, items)
}

// AskUser asks the user. The call must have declared [AskUser].
func (g *Grant) AskUser(ctx context.Context, questions []Question) ([]Answer, error) {
	if !declaredAs[AskUser](g) {
		return nil, g.refused("the call did not say that it asks the user")
	}
	if g.p.gate.cfg.Host.AskUser == nil {
		return nil, ErrNoUser
	}
	ctx, cancel := g.bound(ctx)
	defer cancel()
	return g.p.gate.cfg.Host.AskUser(ctx, questions)
}

// Spawn runs a sub-agent. The call must have declared [Spawn].
func (g *Grant) Spawn(ctx context.Context, a Assignment) (string, error) {
	if !declaredAs[Spawn](g) {
		return "", g.refused("the call did not say that it starts a sub-agent")
	}
	if g.p.gate.cfg.Host.Spawn == nil {
		return "", errNoService
	}
	ctx, cancel := g.bound(ctx)
	defer cancel()
	return g.p.gate.cfg.Host.Spawn(ctx, a)
}

// maxRedirects is the net/http default.
const maxRedirects = 10

// Get fetches the URL that the call declared with [Fetch]. Redirects stay on the declared host. The
// caller closes the response's body.
func (g *Grant) Get(ctx context.Context, url string) (*http.Response, error) {
	if !g.declared(func(e Effect) bool { f, ok := e.(Fetch); return ok && f.URL == url }) {
		return nil, g.refused("the call did not say that it reads %s", url)
	}
	done, err := g.begin()
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := g.bound(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		cancel()
		return nil, err
	}
	client := &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= maxRedirects:
			return errors.New("too many redirects")
		case next.URL.Host != req.URL.Host:
			return fmt.Errorf("the server leads to another host, %s", next.URL.Host)
		case next.URL.Scheme != req.URL.Scheme && next.URL.Scheme != "https":
			return fmt.Errorf("the server leads to a connection that is not encrypted, %s", next.URL)
		}
		return nil
	}}
	resp, err := client.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &body{resp.Body, cancel}
	g.keepOpen(resp.Body)
	return resp, nil
}

// A body ends its request when it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
