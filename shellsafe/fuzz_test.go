package shellsafe

import (
	"strings"
	"sync"
	"testing"
)

// FuzzAnalyze: whatever the text, the same judgement twice, spans that lie in it, and no wrapping that
// makes a line better than it is.
func FuzzAnalyze(f *testing.F) {
	for _, c := range readCorpus(f) {
		f.Add(c.line)
	}
	for _, name := range []string{"read.txt", "refused.txt", "bash.txt"} {
		for _, l := range readLines(f, name) {
			if _, rest, ok := strings.Cut(l, "\t"); ok {
				l = rest
			}
			f.Add(unescapeLine.Replace(l))
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		r := Analyze(line, nil)
		checkPromises(t, line, r)
		if strings.HasPrefix(r.Reason, "internal fault") {
			t.Errorf("%q: %s", line, r.Reason)
		}
		if again := Analyze(line, nil); again != r {
			t.Errorf("%q: first %+v, then %+v", line, r, again)
		}
		e := Explain(line, nil)
		if e.Result != r {
			t.Errorf("%q: Analyze %+v, Explain %+v", line, r, e.Result)
		}
		for _, s := range e.Steps {
			end := s.At.Offset + len(s.At.Text)
			if s.At.Offset < 0 || end > len(line) || line[s.At.Offset:end] != s.At.Text {
				t.Errorf("%q: the step %+v is not in the line", line, s)
			}
			if r.Verdict != Invalid && s.Verdict < r.Verdict {
				t.Errorf("%q is %s, yet its step %q is %s", line, r.Verdict, s.At.Text, s.Verdict)
			}
		}
		if p := Analyze(line, &Options{Dialect: POSIX}); strings.HasPrefix(p.Reason, "internal fault") {
			t.Errorf("%q in POSIX: %s", line, p.Reason)
		}
	})
}

// TestWrapped: what is read on its own is not when its output goes to a file, when its output is run or
// when something that writes stands beside it; and what is not read stays so in a group.
func TestWrapped(t *testing.T) {
	for _, l := range readLines(t, "read.txt") {
		line := unescapeLine.Replace(l)
		if strings.Contains(line, "<<") || strings.Contains(line, "#") || strings.HasSuffix(line, "&") {
			continue // ends at its line's end
		}
		for _, w := range []string{
			"{ %; } > f", "{ %; } >> f", "( % ) &> f", "{ %; } 2> f", "$(%) x", "`touch x`; %", "%; rm x", "%\nrm x", "{ %; } | tee f", "rm x; %",
			"if %; then rm x; fi", "{ %; } | sh", "f() { %; rm x; }", "cat <(%; rm x)", "eval \"$(%)\"", "{ %; } &", "while %; do rm x; done",
		} {
			wrapped := strings.Replace(w, "%", line, 1)
			if r := Analyze(wrapped, nil); r.Verdict == Read {
				t.Errorf("%q is read", wrapped)
			}
		}
	}
	for _, l := range readLines(t, "refused.txt") {
		_, l, _ := strings.Cut(l, "\t")
		line := unescapeLine.Replace(l)
		if r := Analyze(line, nil); strings.Contains(line, "<<") || strings.Contains(line, "#") ||
			strings.Contains(r.Reason, "terminal") || strings.Contains(r.Reason, "viewer") {
			continue // a pager is harmless within $(…)
		}
		for _, w := range []string{"{ %\n}", "(%)", "if %\nthen ls; fi", "ls && %", "ls; %", "echo \"$(%)\"", "! %", "f() { %\n}; f"} {
			wrapped := strings.Replace(w, "%", line, 1)
			if r := Analyze(wrapped, nil); r.Verdict == Read {
				t.Errorf("%q is read", wrapped)
			}
		}
	}
}

// TestConcurrent: analyzers from the pool do not see one another's lines.
func TestConcurrent(t *testing.T) {
	lines := readLines(t, "read.txt")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, l := range lines {
				line := unescapeLine.Replace(l)
				if r := Analyze(line, nil); r.Verdict != Read {
					t.Errorf("%q is %s: %s", line, r.Verdict, r.Reason)
				}
			}
		})
	}
	wg.Wait()
}
