package tools

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Limits of the search for what was meant, which may cost no more than the edit itself.
const (
	maxMeantLines = 50_000
	maxMeantOld   = 200
)

// notFound says why the text does not hold old: what it holds that is nearly the same, where, and
// what differs.
func notFound(text, old string) error {
	const plain = "old_text is not in the file"
	if err := lineEndTrouble(text, old); err != nil {
		return err
	}
	if bare := withoutNumbers(old); bare != old && strings.Contains(text, bare) {
		return errors.New(plain + ": it holds the line numbers that read shows; leave them and the tab after them out")
	}
	lines := strings.Split(text, "\n")
	want := strings.Split(strings.Trim(old, "\n"), "\n")
	if len(lines) > maxMeantLines || len(want) > maxMeantOld {
		return errors.New(plain + "; read the part again and copy it exactly")
	}
	for _, f := range folds {
		if at := foldedMatch(lines, want, f.fold); at >= 0 {
			return fmt.Errorf("%s; %s is the same but for %s: %s", plain, lineSpan(at, len(want)), f.name, firstDifference(lines, want, at))
		}
	}
	if at := mostEqual(lines, want); at >= 0 {
		return fmt.Errorf("%s; the nearest is at %s: %s", plain, lineSpan(at, len(want)), firstDifference(lines, want, at))
	}
	if similar := similarLines(lines, want); similar != "" {
		return fmt.Errorf("%s; similar lines are\n%s", plain, similar)
	}
	return errors.New(plain + ", and nothing is similar; read it again")
}

// lineEndTrouble explains a mismatch that is one of line ends alone.
func lineEndTrouble(text, old string) error {
	lf := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	i := strings.Index(lf(text), lf(old))
	if i < 0 {
		return nil
	}
	at := strings.Count(lf(text)[:i], "\n") + 1
	return fmt.Errorf("old_text is at line %d but for its line ends: the file mixes CRLF and LF; "+
		"replace one line at a time, without its line end", at)
}

// numberedLine is a line as read shows it.
var numberedLine = regexp.MustCompile(`(?m)^ *[0-9]+\t`)

func withoutNumbers(old string) string { return numberedLine.ReplaceAllString(old, "") }

// folds are ways of looking at lines in which near misses are equal, the mildest first.
var folds = []struct {
	name string
	fold func(string) string
}{
	{"white space at line ends", func(s string) string { return strings.TrimRight(s, " \t\r") }},
	{"indentation", strings.TrimSpace},
	{"white space", func(s string) string { return strings.Join(strings.Fields(s), "") }},
	{"typographic characters", func(s string) string { return typographic.Replace(strings.Join(strings.Fields(s), "")) }},
	{"upper and lower case", func(s string) string {
		return strings.ToLower(typographic.Replace(strings.Join(strings.Fields(s), "")))
	}},
}

// typographic are characters that models and word processors exchange for plain ones.
var typographic = strings.NewReplacer(
	"‘", "'", "’", "'", "“", `"`, "”", `"`, "–", "-", "—", "-", "−", "-", "…", "...", "\u00a0", "", "\u200b", "",
)

// foldedMatch returns the first line of the text from which the wanted lines are equal, folded. The
// first and the last wanted line may be parts of lines.
func foldedMatch(lines, want []string, fold func(string) string) int {
	folded := make([]string, len(want))
	empty := true
	for i, w := range want {
		folded[i] = fold(w)
		empty = empty && folded[i] == ""
	}
	if empty {
		return -1
	}
	for at := 0; at+len(want) <= len(lines); at++ {
		if foldedAt(lines[at:], folded, fold) {
			return at
		}
	}
	return -1
}

func foldedAt(lines, folded []string, fold func(string) string) bool {
	for i, w := range folded {
		have := fold(lines[i])
		first, last := i == 0, i == len(folded)-1
		switch {
		case first && last && !strings.Contains(have, w),
			first && !last && !strings.HasSuffix(have, w),
			last && !first && !strings.HasPrefix(have, w),
			!first && !last && have != w:
			return false
		}
	}
	return true
}

// mostEqual returns the line from which most of the wanted lines are equal, white space aside, and at
// least a third of them; -1 if there is none.
func mostEqual(lines, want []string) int {
	if len(want) < 2 {
		return -1
	}
	fold := folds[2].fold
	where := map[string][]int{} // folded wanted line → its places
	for i, w := range want {
		if f := fold(w); f != "" {
			where[f] = append(where[f], i)
		}
	}
	votes := map[int]int{}
	best, most := -1, 0
	for i, l := range lines {
		for _, j := range where[fold(l)] {
			at := i - j
			if at < 0 {
				continue
			}
			if votes[at]++; votes[at] > most {
				best, most = at, votes[at]
			}
		}
	}
	if most*3 < len(want) {
		return -1
	}
	return best
}

// firstDifference shows the first line that differs, in the text and in what was wanted.
func firstDifference(lines, want []string, at int) string {
	for i, w := range want {
		if at+i >= len(lines) {
			return fmt.Sprintf("the file ends before line %d", at+i+1)
		}
		have := lines[at+i]
		if have == w || i == 0 && strings.HasSuffix(have, w) || i == len(want)-1 && strings.HasPrefix(have, w) {
			continue
		}
		return fmt.Sprintf("line %d is %s, old_text has %s", at+i+1, quoted(have), quoted(w))
	}
	return fmt.Sprintf("line %d is %s", at+1, quoted(lines[at]))
}

// similarLines shows the lines most like the first wanted line that says something.
func similarLines(lines, want []string) string {
	wanted := ""
	for _, w := range want {
		if w = strings.TrimSpace(w); len(w) > len(wanted) {
			wanted = w
		}
	}
	if len(wanted) < 3 || len(wanted) > 500 {
		return ""
	}
	candidates := make([]string, 0, len(lines))
	number := map[string]int{}
	for i, l := range lines {
		if len(l) > 500 {
			continue
		}
		if _, seen := number[l]; !seen {
			number[l] = i + 1
			candidates = append(candidates, l)
		}
	}
	var b strings.Builder
	for _, l := range nearest(wanted, candidates, 3) {
		fmt.Fprintf(&b, "line %d: %s\n", number[l], quoted(l))
	}
	return strings.TrimRight(b.String(), "\n")
}

// quoted shows a line with its white space visible.
func quoted(line string) string {
	const most = 200
	return fmt.Sprintf("%q", cutLine([]byte(line), len(line), most))
}

func lineSpan(at, n int) string {
	if n == 1 {
		return fmt.Sprintf("line %d", at+1)
	}
	return fmt.Sprintf("lines %d to %d", at+1, at+n)
}
