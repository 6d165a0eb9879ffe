package tools

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
)

// chunkSize is how much of a file is searched at a time. A line that is longer is searched in pieces,
// and a match across the end of one is not seen.
const chunkSize = 256 << 10

// found is what one file holds.
type found struct {
	lines   []foundLine // the first of them
	matches int         // lines that match
	binary  bool
	err     error
}

type foundLine struct {
	number int
	match  bool
	text   string
}

// A searcher searches one file at a time. It is for one goroutine.
type searcher struct {
	q   query
	buf []byte
	// full is set when no more lines will be shown, so that it is enough to count.
	full *atomic.Bool

	found
	line   int      // number of the present line
	before []string // the last lines before it, for context
	after  int      // lines still to show after a match
	last   int      // number of the last line shown
	shown  int      // bytes of the lines to show

	inLong  bool // the present line began in an earlier chunk
	longHit bool // and has matched already
}

func newSearcher(q query) *searcher {
	return &searcher{q: q, buf: make([]byte, chunkSize), full: new(atomic.Bool)}
}

// file searches a file to its end or, where only the path is asked for, to its first match.
func (s *searcher) file(ctx context.Context, r io.Reader) (found, error) {
	*s = searcher{q: s.q, buf: s.buf, full: s.full, line: 1}
	kept, first := 0, true
	for {
		if ctx.Err() != nil {
			return s.found, context.Cause(ctx)
		}
		n, err := io.ReadFull(r, s.buf[kept:])
		end := kept + n
		atEnd := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !atEnd {
			return s.found, err
		}
		if first && isBinary(s.buf[:end]) {
			return found{binary: true}, nil
		}
		first = false
		chunk, partial := s.buf[:end], false
		if !atEnd {
			i := bytes.LastIndexByte(chunk, '\n')
			partial = i < 0
			if !partial {
				chunk = chunk[:i+1]
			}
		}
		s.chunk(chunk, partial)
		if atEnd || s.q.files && s.matches > 0 {
			return s.found, nil
		}
		kept = copy(s.buf, s.buf[len(chunk):end])
	}
}

// chunk searches whole lines or, if partial, a piece of one.
func (s *searcher) chunk(chunk []byte, partial bool) {
	if bytes.Contains(chunk, []byte("\r\n")) {
		chunk = bytes.ReplaceAll(chunk, []byte("\r\n"), []byte("\n"))
	}
	if partial || s.inLong {
		piece, rest, ended := bytes.Cut(chunk, []byte{'\n'})
		s.piece(piece)
		if !ended {
			return
		}
		s.line++
		s.inLong, s.longHit = false, false
		chunk = rest
	}
	at := 0 // everything before has been dealt with
	for at < len(chunk) {
		from, to := s.nextMatch(chunk, at)
		if from < 0 {
			break
		}
		s.pass(chunk[at:from])
		s.hit(chunk[from:to])
		s.line++
		at = min(to+1, len(chunk))
		if s.q.files {
			return
		}
	}
	s.pass(chunk[at:])
}

// piece searches a part of a long line, which counts once.
func (s *searcher) piece(piece []byte) {
	switch {
	case s.longHit:
	case s.q.re.Match(piece):
		s.hit(piece)
		s.longHit = true
	case s.inLong:
	case s.after > 0:
		s.show(piece, false)
		s.after--
	default:
		s.remember(piece)
	}
	s.inLong = true
}

// nextMatch returns the bounds of the next line that matches, without its newline.
func (s *searcher) nextMatch(chunk []byte, at int) (from, to int) {
	for at < len(chunk) {
		i := -1
		if s.q.literal != nil {
			i = bytes.Index(chunk[at:], s.q.literal)
		} else if loc := s.q.re.FindIndex(chunk[at:]); loc != nil {
			i = loc[0]
		}
		if i < 0 || at+i == len(chunk) && chunk[len(chunk)-1] == '\n' { // an empty match after the last line is none
			return -1, -1
		}
		from = bytes.LastIndexByte(chunk[:at+i], '\n') + 1
		to = len(chunk)
		if n := bytes.IndexByte(chunk[from:], '\n'); n >= 0 {
			to = from + n
		}
		if s.q.literal == nil || s.q.re.Match(chunk[from:to]) {
			return from, to
		}
		at = to + 1
	}
	return -1, -1
}

// pass goes over lines that do not match.
func (s *searcher) pass(lines []byte) {
	for s.after > 0 && len(lines) > 0 {
		var l []byte
		l, lines, _ = bytes.Cut(lines, []byte{'\n'})
		s.show(l, false)
		s.after--
		s.line++
	}
	s.line += bytes.Count(lines, []byte{'\n'})
	s.remember(lines)
}

// remember keeps the last lines, as context of a match that may follow.
func (s *searcher) remember(lines []byte) {
	if len(lines) == 0 || s.q.context == 0 || s.full.Load() {
		return
	}
	lines = bytes.TrimSuffix(lines, []byte{'\n'})
	from := len(lines)
	for range s.q.context {
		from = bytes.LastIndexByte(lines[:from], '\n')
		if from < 0 {
			break
		}
	}
	for l := range bytes.SplitSeq(lines[from+1:], []byte{'\n'}) {
		s.before = append(s.before, cleanText(cutLine(l, len(l), maxGrepLine)))
	}
	if over := len(s.before) - s.q.context; over > 0 {
		s.before = append(s.before[:0], s.before[over:]...)
	}
}

func (s *searcher) hit(line []byte) {
	s.matches++
	for i, l := range s.before {
		s.add(foundLine{s.line - len(s.before) + i, false, l})
	}
	s.before = s.before[:0]
	s.show(line, true)
	s.after = s.q.context
}

func (s *searcher) show(line []byte, match bool) {
	if !s.room() {
		return
	}
	text := cutLine(line, len(line), maxGrepLine)
	if match {
		text = aroundMatch(s.q.re, line)
	}
	s.add(foundLine{s.line, match, cleanText(text)})
}

// room says whether another line could still be shown.
func (s *searcher) room() bool {
	return !s.q.files && s.matches <= s.q.limit && s.shown <= maxText && !s.full.Load()
}

func (s *searcher) add(l foundLine) {
	if s.room() && l.number > s.last {
		s.lines = append(s.lines, l)
		s.last = l.number
		s.shown += len(l.text)
	}
}

// aroundMatch shows of a long line the part around the first match.
func aroundMatch(re *regexp.Regexp, line []byte) string {
	if len(line) <= maxGrepLine {
		return string(line)
	}
	const lead = maxGrepLine / 4
	loc := re.FindIndex(line)
	if loc == nil || loc[0] < maxGrepLine/2 {
		return cutLine(line, len(line), maxGrepLine)
	}
	from := loc[0] - lead
	return "[" + counted(from, "byte") + " cut] … " + cutLine(line[from:], len(line)-from, maxGrepLine)
}

// A job is one file of a tree.
type job struct {
	entry
	done chan found
}

// searchTree searches the files of a tree, several at a time, and gives what they hold to add in the
// order of paths, from one goroutine.
func searchTree(ctx context.Context, w *walker, q query, add func(rel string, f found)) error {
	ctx, cancel := context.WithCancel(ctx)
	workers := min(runtime.GOMAXPROCS(0), 8)
	jobs, ordered := make(chan job, workers), make(chan job, 16*workers)
	full := new(atomic.Bool)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for range workers {
		group.Go(func() {
			s := newSearcher(q)
			s.full = full
			for j := range jobs {
				j.done <- s.open(ctx, j.entry)
				j.in.release()
			}
		})
	}
	var walkErr error
	group.Go(func() {
		defer close(jobs)
		defer close(ordered)
		walkErr = w.walk(ctx, func(e entry) error {
			if !e.Type().IsRegular() || q.match != nil && !q.match(e.path) {
				return nil
			}
			j := job{e, make(chan found, 1)}
			e.in.hold()
			for _, c := range []chan job{ordered, jobs} {
				select {
				case c <- j:
				case <-ctx.Done():
					e.in.release()
					return context.Cause(ctx)
				}
			}
			return nil
		})
	})
	shown := 0
	for j := range ordered {
		select {
		case f := <-j.done:
			add(j.path, f)
			if shown += f.matches; shown > q.limit {
				full.Store(true)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return walkErr
}

func (s *searcher) open(ctx context.Context, e entry) found {
	f, err := e.in.dir.Open(e.Name())
	if err != nil {
		return found{err: err}
	}
	defer func() { _ = f.Close() }()
	got, err := s.file(ctx, f)
	if err != nil {
		return found{err: err}
	}
	if got.binary {
		return found{}
	}
	return got
}
