package vendortest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planmode-dev/planmode/llm"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Fuzz feeds the package with a stream of any bytes. It must return an answer that holds something, or
// an error with a kind, and never panic.
func (v Vendor) Fuzz(f *testing.F, seeds ...string) {
	for _, s := range seeds {
		f.Add(200, "text/event-stream", s)
	}
	f.Add(200, "text/html", "<html>")
	f.Add(429, "application/json", `{"error":{"type":"rate_limit_error","message":5}}`)
	f.Add(500, "application/json", `{"error":"x"}`)
	f.Add(400, "application/json", `[]`)
	f.Fuzz(v.feed)
}

// Mutate does the same with damaged copies of the seeds. It needs no instrumented build of the SDKs,
// which takes many minutes.
func (v Vendor) Mutate(t *testing.T, seeds ...string) {
	all := strings.Join(seeds, "")
	words := []string{"null", "[]", "{}", `""`, "-1", "1e400", "9223372036854775808", "\n\n", "\x00", "\xff", "data: ", `\u`, `"index":`}
	rapid.Check(t, func(rt *rapid.T) {
		body := rapid.SampledFrom(seeds).Draw(rt, "seed")
		for range rapid.IntRange(1, 4).Draw(rt, "mutations") {
			from := rapid.IntRange(0, len(body)).Draw(rt, "from")
			to := min(len(body), from+rapid.IntRange(0, 20).Draw(rt, "cut"))
			insert := rapid.SampledFrom(words).Draw(rt, "word")
			if rapid.Bool().Draw(rt, "splice") {
				at := rapid.IntRange(0, len(all)).Draw(rt, "at")
				insert = all[at:min(len(all), at+rapid.IntRange(0, 200).Draw(rt, "length"))]
			}
			body = body[:from] + insert + body[to:]
		}
		v.feed(t, 200, "text/event-stream", body)
	})
}

func (v Vendor) feed(t *testing.T, status int, contentType, body string) {
	if status < 200 || status > 599 {
		return // net/http lets no other through as an answer
	}
	tr := roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
		}, nil
	})
	p, err := v.New(Config{URL: "http://vendor.test", HTTPClient: &http.Client{Transport: tr}, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.Stream(t.Context(), v.request(), func(llm.Delta) {})
	var e *llm.Error
	switch {
	case err == nil:
		if len(resp.Message.Parts) == 0 && resp.Stop != llm.StopMaxTokens && resp.Stop != llm.StopRefusal {
			t.Errorf("an empty answer was accepted: %+v, of %q", resp, body)
		}
	case !errors.As(err, &e) || e.Kind == "" || e.Err == nil:
		t.Errorf("%#v is no *llm.Error with a kind, of %q", err, body)
	case strings.Contains(err.Error(), "broke its reader"):
		t.Errorf("the SDK panicked, and only the guard held: %v, of %q", err, body)
	}
}
