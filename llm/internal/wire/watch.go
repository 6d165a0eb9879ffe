package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxError is more than any explanation; a server must not fill our memory with one.
	maxError = 1 << 20
	// maxStream is more than any model's answer with all of its framing.
	maxStream = 256 << 20
)

var errTooLarge = errors.New("the answer is larger than 256 MB")

// A watch sees one attempt's bytes arrive. It is armed only while we wait for the server, so that a
// slow reader of ours does not look like a stalled server.
type watch struct {
	stall  time.Duration // negative: never
	cancel context.CancelFunc

	mu      sync.Mutex
	timer   *time.Timer
	stalled bool
	status  int    // 0 until the headers are there
	readErr error  // of the body, other than io.EOF
	read    int64  // bytes of the body
	tail    []byte // the last of them
}

type watchKey struct{}

func newWatch(ctx context.Context, stall time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{stall: stall, cancel: cancel}
	return context.WithValue(ctx, watchKey{}, w), w
}

func (w *watch) close() {
	w.disarm()
	w.cancel()
}

func (w *watch) arm() {
	if w.stall < 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.stall, w.fire)
		return
	}
	w.timer.Reset(w.stall)
}

func (w *watch) disarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *watch) fire() {
	w.mu.Lock()
	w.stalled = true
	w.mu.Unlock()
	w.cancel()
}

func (w *watch) seen() (stalled bool, status int, readErr error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stalled, w.status, w.readErr
}

func (w *watch) bytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read
}

// keepTail remembers the end of the stream; w.mu is held.
func (w *watch) keepTail(p []byte) {
	const most = 64 // enough for a closing mark and what may follow it
	w.tail = append(w.tail, p[max(0, len(p)-most):]...)
	w.tail = w.tail[max(0, len(w.tail)-most):]
}

// Tail returns the last bytes of the stream, for closing marks that an SDK keeps to itself.
func Tail(ctx context.Context) string {
	w, ok := ctx.Value(watchKey{}).(*watch)
	if !ok {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.tail)
}

// Client returns a client that reports to the watch of [Policy.Stream] and follows no redirect: the
// headers carry a key that is meant for one server. A nil base means connections of its own.
func Client(base *http.Client) *http.Client {
	c := &http.Client{}
	if base != nil {
		*c = *base
	}
	if c.Transport == nil {
		c.Transport = &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			// A header may take as long as a model thinks; the watch is the limit.
			ForceAttemptHTTP2: true, TLSHandshakeTimeout: 15 * time.Second, MaxIdleConns: 16, IdleConnTimeout: 90 * time.Second,
		}
	}
	c.Transport = transport{c.Transport}
	c.CheckRedirect = func(req *http.Request, _ []*http.Request) error {
		return fmt.Errorf("the server redirects to %s; set that as the base URL if you trust it", req.URL.Redacted())
	}
	return c
}

type transport struct{ base http.RoundTripper }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	w, ok := req.Context().Value(watchKey{}).(*watch)
	if !ok {
		return t.base.RoundTrip(req)
	}
	w.arm()
	resp, err := t.base.RoundTrip(req)
	w.disarm()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.status = resp.StatusCode
	w.mu.Unlock()
	limit := int64(maxStream)
	if resp.StatusCode >= http.StatusBadRequest {
		limit = maxError
	}
	resp.Body = &watchedBody{resp.Body, w, limit}
	return resp, nil
}

type watchedBody struct {
	io.ReadCloser
	w    *watch
	left int64
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.w.mu.Lock()
		b.w.readErr = errTooLarge
		b.w.mu.Unlock()
		return 0, errTooLarge
	}
	b.w.arm()
	n, err := b.ReadCloser.Read(p)
	b.w.disarm()
	b.left -= int64(n)
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	b.w.read += int64(n)
	b.w.keepTail(p[:n])
	if err != nil && err != io.EOF {
		b.w.readErr = err
	}
	return n, err
}
