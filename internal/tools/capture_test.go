package tools

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type memFile struct {
	bytes.Buffer
	fail   int // bytes after which writing fails; 0 never
	closed bool
}

func (f *memFile) Name() string { return "/keep/x.txt" }

func (f *memFile) Close() error { f.closed = true; return nil }

func (f *memFile) Write(p []byte) (int, error) {
	if f.fail > 0 && f.Len()+len(p) > f.fail {
		return 0, errors.New("disk full")
	}
	return f.Buffer.Write(p)
}

// TestCapture writes texts in pieces of any size: what is short is shown whole, what is long is kept
// whole and shown as its beginning and end.
func TestCapture(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{0, 1, 1000, maxHead, maxHead + 1, maxHead + maxTail, maxHead + maxTail + 1, 100_000, 1_000_000} {
		for range 20 {
			all := make([]byte, n)
			for i := range all {
				all[i] = "abcdefgh\n"[random.IntN(9)]
			}
			f := &memFile{}
			c := &capture{live: io.Discard, keep: func() (namedWriter, error) { return f, nil }}
			for rest := all; len(rest) > 0; {
				k := min(len(rest), 1+random.IntN(60_000))
				if n, err := c.Write(rest[:k]); n != k || err != nil {
					t.Fatal(n, err)
				}
				rest = rest[k:]
			}
			kept := c.close()
			text := c.text(kept)
			if n <= maxHead+maxTail {
				if text != string(all) || kept != "" || f.Len() > 0 {
					t.Fatalf("%d bytes: %d shown, kept %q", n, len(text), kept)
				}
				continue
			}
			if !bytes.Equal(f.Bytes(), all) || kept != f.Name() || !f.closed {
				t.Fatalf("%d bytes: %d kept in %q", n, f.Len(), kept)
			}
			head, tail, _ := strings.Cut(text, "[… ")
			_, tail, _ = strings.Cut(tail, "…]\n")
			if len(head) < maxHead-100 || len(tail) < maxTail-100 || !bytes.HasPrefix(all, []byte(head)) || !bytes.HasSuffix(all, []byte(tail)) {
				t.Fatalf("%d bytes: %d and %d shown", n, len(head), len(tail))
			}
			if cap(c.head) > 2*maxHead || cap(c.tail) > 4*maxTail {
				t.Fatalf("%d and %d bytes held", cap(c.head), cap(c.tail))
			}
		}
	}
}

func TestCaptureTrouble(t *testing.T) {
	big := bytes.Repeat([]byte("x\n"), 100_000)
	show := func(c *capture) string {
		for range 4 {
			if _, err := c.Write(big); err != nil {
				t.Fatal(err)
			}
		}
		return c.text(c.close())
	}
	none := &capture{live: io.Discard, keep: func() (namedWriter, error) { return nil, errors.New("no folder") }}
	if text := show(none); !strings.Contains(text, "it could not be kept: no folder") {
		t.Errorf("%.300s", text[maxHead-100:])
	}
	full := &capture{live: io.Discard, keep: func() (namedWriter, error) { return &memFile{fail: 300_000}, nil }}
	if text := show(full); !strings.Contains(text, "the first 200.0 kB are in /keep/x.txt; then writing failed: disk full") {
		t.Errorf("%.300s", text[maxHead-100:])
	}
}

func TestPlainOutput(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n":                                  "plain\n",
		"\x1b[1mbold\x1b[22m":                      "bold",
		"\x1b[38;5;196mx\x1b[K\x1b[m":              "x",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b(Bx":                                  "x",
		"a\r\nb":                                   "a\nb",
		"1\r2\r3\n":                                "3\n",
		"1\r2\r\n":                                 "2\n",
		"x\x1b":                                    "x\x1b",
		"\x1b[31mé\x1b[":                           "é",
	} {
		if got := plainOutput([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTicker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var shown []string
		tk := newTicker(func(s string) {
			mu.Lock()
			defer mu.Unlock()
			shown = append(shown, s)
		})
		write := func(s string) {
			if _, err := tk.Write([]byte(s)); err != nil {
				t.Error(err)
			}
		}
		write("at once")
		write(" later")
		write(" still\xc3")
		time.Sleep(tick + time.Millisecond)
		write("\xa9")
		write(strings.Repeat("x", 3*maxTick))
		write("end")
		time.Sleep(10 * tick)
		write("\xc3")
		tk.stop()
		write("after the end")
		time.Sleep(10 * tick)
		want := []string{"at once", " later still", "\n[…]\n" + strings.Repeat("x", maxTick-3) + "end", "\ufffd"}
		mu.Lock()
		defer mu.Unlock()
		if len(shown) != len(want) {
			t.Fatalf("%d times: %.100q", len(shown), shown)
		}
		for i := range want {
			if shown[i] != want[i] {
				t.Errorf("%d: %.100q, want %.100q", i, shown[i], want[i])
			}
		}
	})
}
