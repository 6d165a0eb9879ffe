package tools

import (
	"fmt"
	"strings"
)

// A change says what a diff would do, in lines.
type change struct {
	Diff    string `json:"diff,omitempty"` // unified, with three lines of context
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// String returns "+added −removed".
func (c change) String() string { return fmt.Sprintf("+%d −%d", c.Added, c.Removed) }

// diffContext is how many unchanged lines stand around a change, as in diff -u.
const diffContext = 3

// maxEdits bounds the search for the shortest diff: its cost grows with the square of the number of
// changed lines. Beyond, the changed middle is shown as one replacement, which is still right.
const maxEdits = 1000

// diffOf returns the difference between two texts in unified form, under the name in its header. A
// text that is empty is no file.
func diffOf(name, from, to string) change {
	a, b := splitLines(from), splitLines(to)
	ops := diffLines(a, b)
	var c change
	for _, o := range ops {
		c.Removed += o.aEnd - o.a
		c.Added += o.bEnd - o.b
	}
	if len(ops) == 0 {
		return c
	}
	var w strings.Builder
	writeHeader(&w, "--- ", "a/"+name, from)
	writeHeader(&w, "+++ ", "b/"+name, to)
	for start := 0; start < len(ops); {
		end := start + 1
		for end < len(ops) && ops[end].a-ops[end-1].aEnd <= 2*diffContext {
			end++
		}
		writeHunk(&w, a, b, ops[start:end])
		start = end
	}
	c.Diff = w.String()
	return c
}

func writeHeader(w *strings.Builder, mark, name, text string) {
	if text == "" {
		name = "/dev/null"
	}
	fmt.Fprintf(w, "%s%s\n", mark, printable(name))
}

func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// An op replaces the lines a to aEnd of the old text by the lines b to bEnd of the new one.
type op struct{ a, aEnd, b, bEnd int }

// writeHunk writes ops that are near one another as one hunk.
func writeHunk(w *strings.Builder, a, b []string, ops []op) {
	first, last := ops[0], ops[len(ops)-1]
	before := min(diffContext, first.a)
	after := min(diffContext, len(a)-last.aEnd)
	fromA, toA := first.a-before, last.aEnd+after
	fromB, toB := first.b-before, last.bEnd+after
	fmt.Fprintf(w, "@@ -%s +%s @@\n", lineRange(fromA, toA), lineRange(fromB, toB))
	at := fromA
	for _, o := range ops {
		writeMarked(w, ' ', a[at:o.a])
		writeMarked(w, '-', a[o.a:o.aEnd])
		writeMarked(w, '+', b[o.b:o.bEnd])
		at = o.aEnd
	}
	writeMarked(w, ' ', a[at:toA])
}

// lineRange writes a range as unified diffs do: an empty one names the line before it.
func lineRange(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeMarked(w *strings.Builder, mark byte, lines []string) {
	for _, l := range lines {
		w.WriteByte(mark)
		w.WriteString(l)
		if !strings.HasSuffix(l, "\n") {
			w.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// diffLines returns the shortest list of ops from one text to the other, in order (Myers, "An O(ND)
// Difference Algorithm and Its Variations", 1986), within maxEdits.
func diffLines(a, b []string) []op {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	midA, midB := numbered(a[head:len(a)-tail], b[head:len(b)-tail])
	switch {
	case len(midA) == 0 && len(midB) == 0:
		return nil
	case len(midA) == 0 || len(midB) == 0:
		return []op{{head, head + len(midA), head, head + len(midB)}}
	}
	trace := shortestEdit(midA, midB)
	if trace == nil {
		return []op{{head, head + len(midA), head, head + len(midB)}}
	}
	ops := backtrack(trace, len(midA), len(midB))
	for i := range ops {
		ops[i] = op{ops[i].a + head, ops[i].aEnd + head, ops[i].b + head, ops[i].bEnd + head}
	}
	return ops
}

// numbered replaces equal lines by equal numbers, which are compared faster.
func numbered(a, b []string) (numA, numB []int32) {
	ids := map[string]int32{}
	number := func(lines []string) []int32 {
		nums := make([]int32, len(lines))
		for i, l := range lines {
			id, ok := ids[l]
			if !ok {
				id = int32(len(ids)) //nolint:gosec // a file of 10 MiB has fewer lines
				ids[l] = id
			}
			nums[i] = id
		}
		return nums
	}
	return number(a), number(b)
}

// shortestEdit returns, for each number d of edits, how far along a each diagonal k is reached, at
// index k+d; nil if maxEdits are not enough.
func shortestEdit(a, b []int32) [][]int {
	n, m := len(a), len(b)
	var trace [][]int
	prev := []int{0, 0, 0} // d = -1 reaches diagonal 1 at 0
	for d := 0; d <= min(n+m, maxEdits); d++ {
		cur := make([]int, 2*d+1)
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && prev[k-1+d-1] < prev[k+1+d-1]:
				x = prev[k+1+d-1] // down: a line of b is added
			default:
				x = prev[k-1+d-1] + 1 // right: a line of a is removed
			}
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			cur[k+d] = x
			if x >= n && y >= m {
				return append(trace, cur)
			}
		}
		trace = append(trace, cur)
		prev = cur
	}
	return nil
}

// backtrack follows the trace from the end and joins neighbouring edits.
func backtrack(trace [][]int, n, m int) []op {
	var ops []op // last first
	x, y := n, m
	for d := len(trace) - 1; d > 0; d-- {
		prev, k := trace[d-1], x-y
		at := func(k int) int { return prev[k+d-1] }
		down := k == -d || k != d && at(k-1) < at(k+1)
		var o op
		if down {
			px := at(k + 1)
			py := px - (k + 1)
			o = op{px, px, py, py + 1}
		} else {
			px := at(k - 1)
			py := px - (k - 1)
			o = op{px, px + 1, py, py}
		}
		if len(ops) > 0 && ops[len(ops)-1].a == o.aEnd && ops[len(ops)-1].b == o.bEnd {
			next := &ops[len(ops)-1]
			next.a, next.b = o.a, o.b
		} else {
			ops = append(ops, o)
		}
		x, y = o.a, o.b
	}
	for i, j := 0, len(ops)-1; i < j; i, j = i+1, j-1 {
		ops[i], ops[j] = ops[j], ops[i]
	}
	return ops
}
