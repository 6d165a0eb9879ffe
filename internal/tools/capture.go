package tools

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of a command's output.
const (
	maxHead = 12 << 10 // shown from the beginning
	maxTail = 20 << 10 // shown from the end, where errors stand
	maxKept = 64 << 20 // written to the file with the whole
)

// A capture holds the beginning and the end of a stream in memory, and writes all of it to a file once
// it is more than that. It is written by one goroutine at a time.
type capture struct {
	keep func() (namedWriter, error)
	live io.Writer

	head, tail []byte
	total      int64
	file       io.WriteCloser
	path       string
	written    int64
	keepErr    error
}

// A namedWriter is an open file.
type namedWriter interface {
	io.WriteCloser
	Name() string
}

// Write never fails, so that a full disk does not end the command.
func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	_, _ = c.live.Write(p) // never fails
	before := c.total
	c.total += int64(n)
	if c.total > maxHead+maxTail {
		c.spill(before)
		c.toFile(p)
	}
	if room := maxHead - len(c.head); room > 0 {
		take := min(room, len(p))
		c.head = append(c.head, p[:take]...)
		p = p[take:]
	}
	// The tail may grow to twice its size before it is cut, so that each byte is moved about once.
	if len(p) > maxTail {
		p = p[len(p)-maxTail:]
	}
	if len(c.tail)+len(p) > 2*maxTail {
		c.tail = append(c.tail[:0], c.tail[max(0, len(c.tail)-maxTail):]...)
	}
	c.tail = append(c.tail, p...)
	return n, nil
}

// spill opens the file when the first byte would be lost, and writes what was held until then.
func (c *capture) spill(before int64) {
	if c.file != nil || c.keepErr != nil {
		return
	}
	f, err := c.keep()
	if err != nil {
		c.keepErr = err
		return
	}
	c.file, c.path = f, f.Name()
	if before > 0 {
		c.toFile(c.head)
		c.toFile(c.tail)
	}
}

func (c *capture) toFile(p []byte) {
	if c.file == nil || c.keepErr != nil {
		return
	}
	p = p[:min(int64(len(p)), maxKept-c.written)]
	n, err := c.file.Write(p)
	c.written += int64(n)
	c.keepErr = err
}

// close ends the capture and returns the path of the file with the whole output, if there is one.
func (c *capture) close() string {
	if c.file == nil {
		return ""
	}
	if err := c.file.Close(); err != nil && c.keepErr == nil {
		c.keepErr = err
	}
	return c.path
}

// text returns what the model sees.
func (c *capture) text(kept string) string {
	tail := c.tail[max(0, len(c.tail)-maxTail):]
	left := c.total - int64(len(c.head)) - int64(len(tail))
	if left <= 0 {
		return plainOutput(append(append([]byte(nil), c.head...), tail...))
	}
	head := c.head
	if i := bytes.LastIndexByte(head, '\n'); i > 0 { // whole lines, where there are lines
		left += int64(len(head) - i - 1)
		head = head[:i+1]
	}
	if i := bytes.IndexByte(tail, '\n'); i >= 0 && i < len(tail)-1 {
		left += int64(i + 1)
		tail = tail[i+1:]
	}
	where := "all of it is in " + kept + ", for read and grep"
	switch {
	case kept == "":
		where = "it could not be kept: " + errorText(c.keepErr)
	case c.keepErr != nil:
		where = fmt.Sprintf("the first %s are in %s; then writing failed: %v", size(c.written), kept, c.keepErr)
	case c.written < c.total:
		where = fmt.Sprintf("the first %s are in %s, for read and grep", size(c.written), kept)
	}
	mark := fmt.Sprintf("[… %s not shown; %s …]\n", size(left), where)
	return join(plainOutput(head), mark) + plainOutput(tail)
}

func errorText(err error) string {
	if err == nil {
		return "nowhere to keep it"
	}
	return err.Error()
}

// escapes are the control sequences of terminals: CSI, OSC and two-byte ones (ECMA-48, section 5).
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// plainOutput returns output as text: without colours, and of a line that a program wrote over again
// and again, as progress bars do, what it wrote last.
func plainOutput(out []byte) string {
	text := cleanText(string(escapes.ReplaceAll(out, nil)))
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !strings.Contains(text, "\r") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}

// How often output is shown while it comes, and how much of it at a time.
const (
	tick    = 100 * time.Millisecond
	maxTick = 8 << 10
)

// A ticker shows a stream while it comes: at once when it has been quiet, then at most ten times a
// second, and each time at most the last 8 KiB, so that a flood of output does not flood the screens.
type ticker struct {
	show func(string)

	mu      sync.Mutex
	pending []byte
	skipped bool
	timer   *time.Timer // runs while the last showing was less than a tick ago
	stopped bool
}

func newTicker(show func(string)) *ticker { return &ticker{show: show} }

// Write never fails.
func (t *ticker) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if len(p) > maxTick {
		p, t.skipped, t.pending = p[len(p)-maxTick:], true, t.pending[:0]
	}
	if over := len(t.pending) + len(p) - maxTick; over > 0 {
		t.skipped = true
		t.pending = append(t.pending[:0], t.pending[over:]...)
	}
	t.pending = append(t.pending, p...)
	if t.timer == nil && !t.stopped {
		t.flush(false)
		t.timer = time.AfterFunc(tick, t.elapsed)
	}
	return n, nil
}

func (t *ticker) elapsed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = nil
	if t.stopped || len(t.pending) == 0 {
		return
	}
	t.flush(false)
	t.timer = time.AfterFunc(tick, t.elapsed)
}

// flush shows what is pending; a character that is not complete yet waits, unless it is the end.
func (t *ticker) flush(end bool) {
	out := t.pending
	if !end {
		for back := 1; back < utf8.UTFMax && back <= len(out); back++ {
			if at := len(out) - back; utf8.RuneStart(out[at]) {
				if !utf8.FullRune(out[at:]) {
					out = out[:at]
				}
				break
			}
		}
	}
	if len(out) == 0 {
		return
	}
	text := cleanText(string(out))
	if t.skipped {
		text = "\n[…]\n" + text
		t.skipped = false
	}
	t.pending = append(t.pending[:0], t.pending[len(out):]...)
	t.show(text)
}

// stop shows the rest. Nothing is shown afterwards.
func (t *ticker) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	t.flush(true)
	t.stopped = true
}
