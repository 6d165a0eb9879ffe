package sandbox

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// tail is a writer whose lines can be waited for while the process still runs.
type tail struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (w *tail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// line waits for the next line and takes it.
func (w *tail) line(t *testing.T) string {
	t.Helper()
	for range 1000 {
		w.mu.Lock()
		before, _, ok := strings.Cut(w.buf.String(), "\n")
		if ok {
			w.buf.Next(len(before) + 1)
		}
		w.mu.Unlock()
		if ok {
			return before
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no line came")
	return ""
}
