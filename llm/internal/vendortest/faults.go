package vendortest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/planmode-dev/planmode/llm"
)

func (v Vendor) faults(t *testing.T) {
	tests := []struct {
		script string
		kind   llm.ErrorKind
		status int
	}{
		{"fault: auth", llm.ErrAuth, 401},
		{"fault: auth status=403", llm.ErrAuth, 403},
		{"fault: rate_limit", llm.ErrRate, 429},
		{"fault: overloaded", llm.ErrOverloaded, 503},
		{"fault: overloaded status=500", llm.ErrOverloaded, 500},
		{"fault: too_long", llm.ErrTooLong, 400},
		{"fault: bad_request", llm.ErrBadRequest, 400},
		{"fault: network", llm.ErrNetwork, 0},
		{"fault: cut", llm.ErrCut, 0},
		{"text: some\nfault: cut", llm.ErrCut, 0},
		{"fault: garbage", llm.ErrGarbage, 0},
		{"text: some\ncall: read\nfault: garbage", llm.ErrGarbage, 0},
		{"fault: empty", llm.ErrEmpty, 0},
		{"text: some\nfault: overloaded", llm.ErrOverloaded, 0},
		{"text: some\nfault: rate_limit", llm.ErrRate, 0},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.script, "\n", ", "), func(t *testing.T) {
			s, p := v.start(t, "=== turn\n"+tt.script, Config{})
			resp, err := p.Stream(t.Context(), v.request(), nil)
			e := wantKind(t, err, tt.kind)
			if e.Status != tt.status {
				t.Errorf("status %d, want %d: %v", e.Status, tt.status, err)
			}
			if len(resp.Message.Parts) > 0 || resp.Usage != (llm.Usage{}) {
				t.Errorf("something of an incomplete answer was returned: %+v", resp)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests, want 1 without retries", n)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		url := "http://" + l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = v.provider(t, Config{URL: url}).Stream(t.Context(), v.request(), nil)
		wantKind(t, err, llm.ErrNetwork)
	})
	for name, body := range map[string]string{
		"html": "<!DOCTYPE html><html><body>It works!</body></html>", "json": `{"id": 1, "choices": []}`, "binary": "\x00\xff\n\ndata\n\n",
	} {
		t.Run("200 with "+name, func(t *testing.T) {
			_, err := v.against(t, Config{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
			wantKind(t, err, llm.ErrGarbage)
		})
	}
	t.Run("200 with nothing", func(t *testing.T) {
		_, err := v.against(t, Config{}, func(http.ResponseWriter, *http.Request) {})
		wantKind(t, err, llm.ErrEmpty)
	})
	t.Run("502 with html", func(t *testing.T) {
		_, err := v.against(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("<html>" + strings.Repeat("x", 1<<16)))
		})
		if e := wantKind(t, err, llm.ErrOverloaded); e.Status != 502 || len(err.Error()) > 1000 {
			t.Errorf("got %d bytes of error: %v", len(err.Error()), err)
		}
	})
}

// against asks a server of one function.
func (v Vendor) against(t *testing.T, c Config, h http.HandlerFunc) (llm.Response, error) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c.URL = s.URL
	return v.provider(t, c).Stream(t.Context(), v.request(), nil)
}

func (v Vendor) retry(t *testing.T) {
	for _, fault := range []string{"overloaded", "rate_limit", "network", "cut", "garbage", "empty"} {
		t.Run(fault, func(t *testing.T) {
			s, p := v.start(t, "=== turn\nfault: "+fault+" times=2\ntext: Here I am.", Config{Retries: 2})
			var retries []llm.ErrorKind
			text := ""
			resp, err := p.Stream(t.Context(), v.request(), func(d llm.Delta) {
				if text += d.Text; d.Retry != nil {
					text = ""
					retries = append(retries, d.Retry.Kind)
				}
			})
			if err != nil || text != "Here I am." || resp.Message.Text() != text {
				t.Fatalf("got %+v, shown %q, %v", resp, text, err)
			}
			if len(retries) != 2 || string(retries[0]) != fault || len(s.Requests()) != 3 {
				t.Errorf("announced %v, sent %d requests", retries, len(s.Requests()))
			}
		})
	}
	t.Run("after text was shown", func(t *testing.T) {
		_, p := v.start(t, "=== turn\ntext: I was here.\nfault: cut times=1\ntext: And now.", Config{Retries: 1})
		shown := ""
		_, err := p.Stream(t.Context(), v.request(), func(d llm.Delta) {
			if d.Retry != nil {
				shown += "|"
			}
			shown += d.Text
		})
		if err != nil || !strings.HasPrefix(shown, "I was here.|I was here.") {
			t.Errorf("shown %q, %v", shown, err)
		}
	})
	t.Run("gives up", func(t *testing.T) {
		s, p := v.start(t, "=== turn\nfault: overloaded", Config{Retries: 3})
		_, err := p.Stream(t.Context(), v.request(), nil)
		wantKind(t, err, llm.ErrOverloaded)
		if n := len(s.Requests()); n != 4 {
			t.Errorf("%d requests, want 1 and 3 retries", n)
		}
	})
	t.Run("not for what does not pass", func(t *testing.T) {
		for _, fault := range []string{"auth", "too_long", "bad_request"} {
			s, p := v.start(t, "=== turn\nfault: "+fault, Config{Retries: 3})
			if _, err := p.Stream(t.Context(), v.request(), nil); err == nil || len(s.Requests()) != 1 {
				t.Errorf("%s: %d requests, %v", fault, len(s.Requests()), err)
			}
		}
	})
}

func (v Vendor) retryAfter(t *testing.T) {
	_, p := v.start(t, "=== turn\nfault: rate_limit retry_after=60ms times=1\ntext: x", Config{Retries: 1})
	var asked time.Duration
	start := time.Now()
	_, err := p.Stream(t.Context(), v.request(), func(d llm.Delta) {
		if d.Retry != nil {
			asked = d.Retry.RetryAfter
		}
	})
	if waited := time.Since(start); err != nil || asked != 60*time.Millisecond || waited < asked {
		t.Errorf("the server asked for %s and got %s, %v", asked, waited, err)
	}
	// Nobody waits for an hour behind a spinner.
	s, p := v.start(t, "=== turn\nfault: rate_limit retry_after=1h", Config{Retries: 3})
	_, err = p.Stream(t.Context(), v.request(), nil)
	if e := wantKind(t, err, llm.ErrRate); e.RetryAfter != time.Hour || len(s.Requests()) != 1 {
		t.Errorf("%d requests, %v", len(s.Requests()), e)
	}
	// A wait for a retry ends with the context.
	_, p = v.start(t, "=== turn\nfault: rate_limit retry_after=1m", Config{Retries: 3})
	ctx, cancel := context.WithCancel(t.Context())
	_, err = p.Stream(ctx, v.request(), func(d llm.Delta) {
		if d.Retry != nil {
			cancel()
		}
	})
	wantKind(t, err, llm.ErrCancelled)
}

func (v Vendor) stall(t *testing.T) {
	for _, script := range []string{"fault: stalled", "text: some\nstall:", "call: read {\"a\": 1}\nstall:", "delay: 1h\ntext: x"} {
		_, p := v.start(t, "=== turn\n"+script, Config{StallTimeout: 50 * time.Millisecond})
		_, err := p.Stream(t.Context(), v.request(), nil)
		wantKind(t, err, llm.ErrStalled)
	}
	// Slow is not stalled, however long it takes in all; nor is a slow reader of ours.
	_, p := v.start(t, "pace: 10ms\n=== turn\ntext: "+strings.Repeat("drip drop drip. ", 20), Config{StallTimeout: 100 * time.Millisecond})
	slept := false
	_, err := p.Stream(t.Context(), v.request(), func(d llm.Delta) {
		if d.Text != "" && !slept {
			time.Sleep(150 * time.Millisecond)
			slept = true
		}
	})
	if err != nil {
		t.Errorf("a slow answer: %v", err)
	}
}

// cutAnywhere cuts the stream after every so many bytes: each time it is an error of a kind that is
// sent again, or the answer is complete.
func (v Vendor) cutAnywhere(t *testing.T) {
	const turn = "=== turn\nthinking: Hm.\ntext: Some text.\ncall: read {\"path\": \"a\"}\n"
	step := 37 // a prime, so that all places of an event are met
	if testing.Short() {
		step = 211
	}
	for at, done := 1, false; !done; at += step {
		// A test of its own, so that its server is closed before the next one starts.
		ok := t.Run(strconv.Itoa(at), func(t *testing.T) {
			_, p := v.start(t, strings.Replace(turn, "\n", fmt.Sprintf("\nfault: cut at=%d\n", at), 1), Config{})
			resp, err := p.Stream(t.Context(), v.request(), nil)
			if err != nil {
				wantKind(t, err, llm.ErrCut)
				return
			}
			done = true
			if at == 1 || len(resp.Message.Calls()) != 1 || resp.Message.Text() != "Some text." {
				t.Errorf("accepted %+v", resp)
			}
		})
		if !ok {
			return
		}
	}
}

func (v Vendor) huge(t *testing.T) {
	_, p := v.start(t, "=== turn\nhuge: 3MB\n", Config{})
	n := 0
	resp, err := p.Stream(t.Context(), v.request(), func(d llm.Delta) { n += len(d.Text) })
	if err != nil || n != 3_000_000 || len(resp.Message.Text()) != n {
		t.Errorf("streamed %d bytes, returned %d, %v", n, len(resp.Message.Text()), err)
	}
}

// key: it is sent, and it is told to nobody else, not even when a server repeats it.
func (v Vendor) key(t *testing.T) {
	s, p := v.start(t, "=== turn\ntext: x", Config{})
	if _, err := p.Stream(t.Context(), v.request(), nil); err != nil {
		t.Error(err) // the server demands the key
	}
	if got := fmt.Sprint(s.Requests()[0].Header); strings.Contains(got, Key) {
		t.Errorf("the recorder tells the key: %s", got)
	}
	_, err := v.against(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"type":"authentication_error","message":"bad key %s%s"}}`, r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"))
	})
	if e := wantKind(t, err, llm.ErrAuth); !strings.Contains(e.Error(), "check the API key") {
		t.Errorf("%v does not say what to do", e)
	}
}

func (v Vendor) redirect(t *testing.T) {
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect took the request, with the headers %v", r.Header)
	}))
	defer thief.Close()
	_, err := v.against(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	})
	if err == nil || !strings.Contains(err.Error(), "base URL") {
		t.Errorf("got %v", err)
	}
}
