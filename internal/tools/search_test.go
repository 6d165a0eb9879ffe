package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

// lines searches plainly: line by line with the standard library.
func plainSearch(t testing.TB, pattern string, text string) (numbers []int) {
	t.Helper()
	re, err := regexp.Compile(pattern)
	if err != nil {
		t.Skip("not a pattern")
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text == "" {
		return nil
	}
	for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if re.MatchString(l) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

func chunkSearch(t testing.TB, q query, text string, size int, slow bool) found {
	t.Helper()
	s := &searcher{q: q, buf: make([]byte, size), full: new(atomic.Bool)}
	var r io.Reader = strings.NewReader(text)
	if slow {
		r = iotest.OneByteReader(r)
	}
	f, err := s.file(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func matching(f found) (numbers []int) {
	for _, l := range f.lines {
		if l.match {
			numbers = append(numbers, l.number)
		}
	}
	return numbers
}

func searchFor(t testing.TB, pattern string, context int) query {
	t.Helper()
	q := query{limit: 1 << 20, context: context}
	var err error
	if q.re, q.literal, err = compileLines(pattern, false); err != nil {
		t.Skip("not a pattern")
	}
	return q
}

// TestSearchAgainstPlain compares with the plain search, whatever the size of the chunks.
func TestSearchAgainstPlain(t *testing.T) {
	patterns := []string{
		"a", "ab", "^a", "a$", "^$", "^", "$", "", "[^a]", `\s`, `\S+`, `a\s*b`, `\bab\b`, `(a|b)+c`, "a.*b", `\Aab`, `b\z`, "(?s)a.b",
		"(?i)AB", "x*", `[\s\S]b`, "ab+c?", "b{2}", `\x61b`,
	}
	queries := map[string]query{}
	for _, pattern := range patterns {
		queries[pattern] = searchFor(t, pattern, 0)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var b strings.Builder
		for range random.IntN(60) {
			b.WriteString([]string{"a", "b", "c", " ", "\n", "\n", "\r\n", "ab", "é"}[random.IntN(9)])
		}
		text := b.String()
		for _, pattern := range patterns {
			want := fmt.Sprint(plainSearch(t, pattern, text))
			q := queries[pattern]
			for _, size := range []int{128, 200} {
				f := chunkSearch(t, q, text, size, size == 200)
				if got := fmt.Sprint(matching(f)); got != want || f.matches != len(matching(f)) {
					t.Fatalf("%q in %q by %d: lines %s (%d), want %s", pattern, text, size, got, f.matches, want)
				}
			}
		}
	}
}

// TestSearchContext compares the shown lines with those that the definition gives.
func TestSearchContext(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		n := random.IntN(40)
		var lines []string
		for range n {
			lines = append(lines, []string{"x", "", "yyyy", "needle"}[random.IntN(4)])
		}
		text := strings.Join(lines, "\n")
		if n > 0 {
			text += "\n"
		}
		context := random.IntN(5)
		shown := map[int]bool{}
		for i, l := range lines {
			if l != "needle" {
				continue
			}
			for j := max(0, i-context); j <= min(n-1, i+context); j++ {
				shown[j+1] = true
			}
		}
		var want strings.Builder
		for i, l := range lines {
			if shown[i+1] {
				fmt.Fprintf(&want, "%d %v %s\n", i+1, l == "needle", l)
			}
		}
		for _, size := range []int{16, 64, 1024} {
			f := chunkSearch(t, searchFor(t, "needle", context), text, size, false)
			var got strings.Builder
			for _, l := range f.lines {
				fmt.Fprintf(&got, "%d %v %s\n", l.number, l.match, l.text)
			}
			if got.String() != want.String() {
				t.Fatalf("context %d, chunks of %d in %q:\n%s\nwant\n%s", context, size, lines, got.String(), want.String())
			}
		}
	}
}

func TestSearchLongLines(t *testing.T) {
	long := strings.Repeat("x", 3*chunkSize)
	text := "first\n" + long + "needle" + long + "needle\nlast needle\n"
	f := chunkSearch(t, searchFor(t, "needle", 1), text, chunkSize, false)
	if got := fmt.Sprint(matching(f), f.matches); got != "[2 3] 2" {
		t.Errorf("lines %s", got)
	}
	for _, l := range f.lines {
		if len(l.text) > maxGrepLine+60 {
			t.Errorf("line %d shows %d bytes", l.number, len(l.text))
		}
	}
	wide := strings.Repeat("é", 500) + "needle" + strings.Repeat("é", 500)
	f = chunkSearch(t, searchFor(t, "needle", 0), wide, chunkSize, false)
	if got := f.lines[0].text; !strings.Contains(got, "needle") || strings.Contains(got, "\ufffd") || !strings.HasPrefix(got, "[900 bytes cut] … é") {
		t.Errorf("shown %q", got)
	}
}

func TestSearchBinaryAndLimits(t *testing.T) {
	q := searchFor(t, "a", 0)
	if f := chunkSearch(t, q, "a\x00\n", 64, false); !f.binary || f.matches != 0 {
		t.Errorf("%+v", f)
	}
	q.limit = 3
	f := chunkSearch(t, q, strings.Repeat("a\n", 100), 64, false)
	if len(f.lines) != 3 || f.matches != 100 {
		t.Errorf("%d lines of %d", len(f.lines), f.matches)
	}
	q.limit, q.context = 1000, 20
	f = chunkSearch(t, q, strings.Repeat(strings.Repeat("a", 399)+"\n", 5000), 1<<16, false)
	if size := fmt.Sprint(f.lines); len(size) > 2*maxText || f.matches != 5000 {
		t.Errorf("%d bytes kept, %d matches", len(size), f.matches)
	}
}

func FuzzSearch(f *testing.F) {
	for _, p := range []string{"a", "^a|b$", `\s+x`, "[^x]y", "(?i)k", "a{2,3}"} {
		f.Add(p, "aa\nb x\r\n\nxy k", uint8(0))
	}
	f.Fuzz(func(t *testing.T, pattern, text string, size uint8) {
		if len(pattern) > 100 || strings.ContainsAny(pattern, "\r\n") || strings.Contains(text, "\x00") || len(text) > 1000 {
			t.Skip("beyond what the oracle compares")
		}
		q := searchFor(t, pattern, 0)
		if regexpSaysOtherwise(pattern) {
			t.Skip("a pattern that means something else across lines")
		}
		want := plainSearch(t, pattern, text)
		got := chunkSearch(t, q, text, 1024+int(size), false)
		if fmt.Sprint(matching(got)) != fmt.Sprint(want) {
			t.Errorf("%q in %q: lines %v, want %v", pattern, text, matching(got), want)
		}
	})
}

// regexpSaysOtherwise skips what the plain search cannot do: flags that turn off the line's bounds.
func regexpSaysOtherwise(pattern string) bool {
	return strings.Contains(pattern, "(?") && strings.ContainsAny(pattern, "ms")
}

func TestRequiredLiteral(t *testing.T) {
	for pattern, want := range map[string]string{
		"abc": "abc", "ab|cd": "", "(abc)+d": "abc", "x?abc.*de": "abc", "a": "", "(?i)abc": "", "ab*": "", "func (main|init)": "func ",
		`\bfoo\(`: "foo(", "(ab)*": "", "(abc){2}": "abcabc", "[a]bc": "abc",
	} {
		_, literal, err := compileLines(pattern, false)
		if err != nil {
			t.Fatal(err)
		}
		// A longer literal, or none, would be as right; too long a one would lose matches.
		if string(literal) != want && !(want != "" && literal == nil) {
			t.Errorf("%q: %q, want %q", pattern, literal, want)
		}
		if literal != nil && !bytes.Contains([]byte(want), literal) {
			t.Errorf("%q: %q is not in every match", pattern, literal)
		}
	}
}
