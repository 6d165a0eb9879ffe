// Package agenttest is for tests of whole programs: servers on the loopback interface that speak the
// vendors' real streaming protocols and answer from a [scripted.Script], with the faults that real
// servers show. It needs no *testing.T, so that a program under test can be a process of its own.
//
// A server chooses the turn from the messages in the request, as scripted does; a client that was
// killed and resumed goes on where it was. The only thing it counts is how often a fault with times=
// has happened. Requests are judged as strictly as the vendors do where their rules trip agents up:
// every tool call has its result in the next message, no message is empty.
package agenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/scripted"
)

// A Request is what a client sent. The keys in Header are replaced by "***".
type Request struct {
	Path    string
	Header  http.Header
	Body    []byte      // as it came
	Decoded llm.Request // as the vendor understands it; Model has an ID only
	Line    int         // of the turn in the script that answered; 0 if none did
	Err     error       // why the request was refused: not JSON, against the vendor's rules, an expectation
}

// A Server is a fake vendor. It is safe for concurrent use.
type Server struct {
	// URL is the base URL for clients, in the form that the vendor's package takes.
	URL string

	script *scripted.Script
	key    string // "" accepts any
	http   *http.Server
	done   chan struct{}
	served chan struct{} // closed when Serve has returned
	busy   sync.WaitGroup

	mu       sync.Mutex
	requests []Request
	faults   map[int]int // by line: how often it happened
}

// Options of a server. The zero value serves the script to everybody.
type Options struct {
	// APIKey is demanded of clients when it is not "".
	APIKey string
	// Addr to listen on. "" means a free port on 127.0.0.1.
	Addr string
}

// vendor is one wire.
type vendor interface {
	decode(body []byte) (llm.Request, error)
	// key takes the key from the headers.
	key(http.Header) string
	// refuse writes an error with an HTTP status.
	refuse(w http.ResponseWriter, status int, kind llm.ErrorKind, message string)
	// stream returns what writes an answer in pieces.
	stream(o *out, req *llm.Request, turn *scripted.Turn) streamer
}

// streamer writes one answer.
type streamer interface {
	start()
	say(llm.Part)
	call(id string, c scripted.Call)
	fail(kind llm.ErrorKind, message string) // an error within the stream
	garbage()
	end(stop llm.StopReason, usage llm.Usage)
}

// StartAnthropic serves the Messages API.
func StartAnthropic(script *scripted.Script, o Options) (*Server, error) {
	return start(script, o, "", map[string]vendor{"/v1/messages": anthropicWire{}})
}

func start(script *scripted.Script, o Options, base string, routes map[string]vendor) (*Server, error) {
	addr := o.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("agenttest: %w", err)
	}
	s := &Server{
		URL: "http://" + l.Addr().String() + base, script: script, key: o.APIKey,
		done: make(chan struct{}), served: make(chan struct{}), faults: map[int]int{},
	}
	mux := http.NewServeMux()
	for path, v := range routes {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			s.busy.Add(1)
			defer s.busy.Done()
			s.serve(v, w, r)
		})
	}
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // always ends with an error once the server is closed
	}()
	return s, nil
}

// Close stops the server and cuts what it is answering.
func (s *Server) Close() error {
	close(s.done)
	err := s.http.Close()
	<-s.served
	s.busy.Wait()
	return err
}

// Requests returns what came so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Err returns the first refusal of a request that the script did not ask for, or nil.
func (s *Server) Err() error {
	for _, r := range s.Requests() {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

var secretHeaders = []string{"Authorization", "X-Api-Key", "Api-Key", "Cookie"}

func redacted(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range secretHeaders {
		if h.Get(name) != "" {
			h.Set(name, "***")
		}
	}
	return h
}

// errKey is the refusal of a client with a wrong key.
var errKey = errors.New("agenttest: the API key is wrong or missing")

func (s *Server) serve(v vendor, w http.ResponseWriter, r *http.Request) {
	const most = 256 << 20
	body, err := io.ReadAll(io.LimitReader(r.Body, most))
	if err != nil {
		return // the client is gone
	}
	rec := Request{Path: r.URL.Path, Header: redacted(r.Header), Body: body}
	var turn *scripted.Turn
	switch {
	case s.key != "" && v.key(r.Header) != s.key:
		rec.Err = errKey
	default:
		rec.Decoded, turn, rec.Err = s.choose(v, body)
	}
	if turn != nil {
		rec.Line = turn.Line
	}
	s.mu.Lock()
	s.requests = append(s.requests, rec)
	s.mu.Unlock()
	switch {
	case errors.Is(rec.Err, errKey):
		v.refuse(w, http.StatusUnauthorized, llm.ErrAuth, rec.Err.Error())
	case rec.Err != nil:
		v.refuse(w, http.StatusBadRequest, llm.ErrBadRequest, rec.Err.Error())
	default:
		s.play(v, w, r, &rec.Decoded, turn)
	}
}

func (s *Server) choose(v vendor, body []byte) (llm.Request, *scripted.Turn, error) {
	req, err := v.decode(body)
	if err != nil {
		return req, nil, fmt.Errorf("agenttest: the request cannot be read: %w", err)
	}
	if err := judge(req.Messages); err != nil {
		return req, nil, fmt.Errorf("agenttest: the vendor would refuse the request: %w", err)
	}
	turn, err := s.script.Select(&req)
	if err != nil {
		return req, nil, err
	}
	return req, turn, turn.Check(&req)
}

// judge holds the rules that both vendors have.
func judge(msgs []llm.Message) error {
	if len(msgs) == 0 {
		return errors.New("there are no messages")
	}
	var open []string // ids of calls that wait for their results
	for i, m := range msgs {
		if len(m.Parts) == 0 {
			return fmt.Errorf("message %d is empty", i+1)
		}
		for _, p := range m.Parts {
			r, ok := p.(llm.ToolResult)
			if !ok {
				continue
			}
			at := slices.Index(open, r.CallID)
			if at < 0 {
				return fmt.Errorf("message %d has a result for %q, which the message before does not call", i+1, r.CallID)
			}
			open = slices.Delete(open, at, at+1)
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d lacks the results of the calls %q", i+1, open)
		}
		for _, c := range m.Calls() {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the calls %q have no results", open)
	}
	return nil
}

// happens says whether the fault happens now, and counts it.
func (s *Server) happens(f scripted.Fault) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[f.Line]++
	return f.Times == 0 || s.faults[f.Line] <= f.Times
}

// play writes the turn. What comes before the first piece of the answer can still be an HTTP status.
func (s *Server) play(v vendor, w http.ResponseWriter, r *http.Request, req *llm.Request, turn *scripted.Turn) {
	o := &out{w: w, ctx: r.Context(), done: s.done, pace: turn.Pace}
	faults := map[int]bool{}
	for _, step := range turn.Steps {
		if f, ok := step.(scripted.Fault); ok && s.happens(f) {
			faults[f.Line] = true
			if f.Kind == llm.ErrCut && f.At > 0 {
				o.limit = f.At
			}
			break // what comes after a fault is not reached, so later faults do not count yet
		}
	}
	st := v.stream(o, req, turn)
	var said []llm.Part
	calls := 0
	begin := func() {
		if !o.began {
			o.begin()
			st.start()
		}
	}
	for _, step := range turn.Steps {
		switch step := step.(type) {
		case scripted.Say:
			begin()
			said = append(said, step.Part)
			st.say(step.Part)
		case scripted.Call:
			begin()
			said = append(said, llm.ToolCall{Name: step.Name, Input: step.Input})
			st.call(turn.CallID(req, calls), step)
			calls++
		case scripted.Delay:
			o.wait(step.For)
		case scripted.Stall:
			begin()
			o.stall()
		case scripted.Fault:
			if faults[step.Line] && (step.Kind != llm.ErrCut || step.At == 0) {
				fault(v, o, st, step, begin)
				return
			}
		}
	}
	begin()
	usage := scripted.Estimate(req, said)
	if turn.Usage != nil {
		usage = *turn.Usage
	}
	st.end(turn.Stop, usage)
}

func fault(v vendor, o *out, st streamer, f scripted.Fault, begin func()) {
	message := fmt.Sprintf("fault in line %d of the script", f.Line)
	switch f.Kind {
	case llm.ErrNetwork:
		panic(http.ErrAbortHandler)
	case llm.ErrStalled:
		begin()
		o.stall()
	case llm.ErrCut:
		begin()
		panic(http.ErrAbortHandler)
	case llm.ErrGarbage:
		begin()
		st.garbage()
	case llm.ErrEmpty:
		begin()
		st.end(llm.StopEndTurn, llm.Usage{Input: 1})
	case llm.ErrAuth, llm.ErrRate, llm.ErrOverloaded, llm.ErrTooLong, llm.ErrBadRequest:
		if f.Kind == llm.ErrTooLong {
			message = "prompt is too long: " + message
		}
		if o.began {
			st.fail(f.Kind, message)
			return
		}
		if f.RetryAfter > 0 {
			o.w.Header().Set("Retry-After", strconv.FormatInt(int64((f.RetryAfter+time.Second-1)/time.Second), 10))
			o.w.Header().Set("Retry-After-Ms", strconv.FormatInt(f.RetryAfter.Milliseconds(), 10))
		}
		status := f.Status
		if status == 0 {
			status = statusOf[f.Kind]
		}
		v.refuse(o.w, status, f.Kind, message)
	case llm.ErrCancelled, llm.ErrConfig: // the parser does not let them through
	}
}

var statusOf = map[llm.ErrorKind]int{
	llm.ErrAuth: http.StatusUnauthorized, llm.ErrRate: http.StatusTooManyRequests, llm.ErrOverloaded: http.StatusServiceUnavailable,
	llm.ErrTooLong: http.StatusBadRequest, llm.ErrBadRequest: http.StatusBadRequest,
}

// out is the stream of server-sent events.
type out struct {
	w     http.ResponseWriter
	ctx   context.Context // of the HTTP request
	done  chan struct{}   // closed with the server
	pace  time.Duration
	limit int // bytes after which the connection is cut; 0 for none
	began bool
	wrote int
}

func (o *out) begin() {
	o.began = true
	o.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	o.w.Header().Set("Cache-Control", "no-cache")
	o.w.WriteHeader(http.StatusOK)
	o.flush()
}

func (o *out) flush() {
	if f, ok := o.w.(http.Flusher); ok {
		f.Flush()
	}
}

// event writes one event; name may be "". A client that is gone ends the handler.
func (o *out) event(name string, data any) {
	var b bytes.Buffer
	if name != "" {
		fmt.Fprintf(&b, "event: %s\n", name)
	}
	text, ok := data.(string)
	if !ok {
		j, err := json.Marshal(data)
		if err != nil {
			panic(fmt.Sprintf("agenttest: event %s: %v", name, err)) // our own maps and strings always marshal
		}
		text = string(j)
	}
	fmt.Fprintf(&b, "data: %s\n\n", text)
	o.raw(b.Bytes())
}

func (o *out) raw(b []byte) {
	cut := o.limit > 0 && o.wrote+len(b) >= o.limit
	if cut {
		b = b[:o.limit-o.wrote]
	}
	n, err := o.w.Write(b)
	o.wrote += n
	o.flush()
	if err != nil || cut {
		panic(http.ErrAbortHandler)
	}
}

func (o *out) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-o.ctx.Done():
		panic(http.ErrAbortHandler)
	case <-o.done:
		panic(http.ErrAbortHandler)
	}
}

func (o *out) stall() {
	select {
	case <-o.ctx.Done():
	case <-o.done:
	}
	panic(http.ErrAbortHandler)
}

// pieces calls write for each piece, at the turn's pace.
func (o *out) pieces(s string, write func(string)) {
	for p := range scripted.Pieces(s) {
		o.wait(o.pace)
		write(p)
	}
}

// T is the part of [testing.TB] that [Start] needs.
type T interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Start parses the script and starts a server with one of the functions above. When the test ends the
// server is closed, and a request that it refused without being told to fails the test.
func Start(t T, startServer func(*scripted.Script, Options) (*Server, error), script string, o Options) *Server {
	t.Helper()
	parsed, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	s, err := startServer(parsed, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the fake vendor: %v", err)
		}
		if err := s.Err(); err != nil {
			t.Errorf("the fake vendor refused a request: %v", err)
		}
	})
	return s
}
