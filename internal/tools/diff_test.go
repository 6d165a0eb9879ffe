package tools

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// applyDiff applies a unified diff to a text, strictly: every context line and number must agree.
func applyDiff(from, diff string) (string, error) {
	if diff == "" {
		return from, nil
	}
	lines := splitLines(from)
	var out strings.Builder
	at := 0
	rows := splitLines(diff)
	if len(rows) < 3 || !strings.HasPrefix(rows[0], "--- ") || !strings.HasPrefix(rows[1], "+++ ") {
		return "", fmt.Errorf("no header")
	}
	var a, na, b, nb, outLines int
	for i := 2; i < len(rows); i++ {
		row := rows[i]
		if strings.HasPrefix(row, "@@ ") {
			if na != 0 || nb != 0 {
				return "", fmt.Errorf("row %d: the hunk before is short by %d, %d", i, na, nb)
			}
			a, na, b, nb = parseHunk(row)
			if na > 0 {
				a--
			}
			if nb > 0 {
				b--
			}
			for ; at < a; at++ {
				out.WriteString(lines[at])
				outLines++
			}
			if outLines != b {
				return "", fmt.Errorf("row %d: the hunk says line %d, it is %d", i, b, outLines)
			}
			continue
		}
		text := row[1:]
		if i+1 < len(rows) && strings.HasPrefix(rows[i+1], `\`) {
			text = strings.TrimSuffix(text, "\n")
		}
		switch row[0] {
		case '\\':
		case ' ', '-':
			if at >= len(lines) || lines[at] != text {
				return "", fmt.Errorf("row %d: %q is not line %d", i, text, at+1)
			}
			at, na = at+1, na-1
			if row[0] == ' ' {
				out.WriteString(text)
				nb, outLines = nb-1, outLines+1
			}
		case '+':
			out.WriteString(text)
			nb, outLines = nb-1, outLines+1
		default:
			return "", fmt.Errorf("row %d: %q", i, row)
		}
	}
	if na != 0 || nb != 0 {
		return "", fmt.Errorf("the last hunk is short by %d, %d", na, nb)
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String(), nil
}

func parseHunk(row string) (a, na, b, nb int) {
	fields := strings.Fields(row)
	one := func(s string) (from, n int) {
		if _, err := fmt.Sscanf(s[1:], "%d,%d", &from, &n); err != nil {
			n = 1
		}
		return from, n
	}
	a, na = one(fields[1])
	b, nb = one(fields[2])
	return a, na, b, nb
}

func checkDiff(t *testing.T, from, to string) change {
	t.Helper()
	c := diffOf("f", from, to)
	got, err := applyDiff(from, c.Diff)
	if err != nil || got != to {
		t.Fatalf("%q to %q: applied gives %q, %v:\n%s", from, to, got, err, c.Diff)
	}
	if (c.Diff == "") != (from == to) {
		t.Fatalf("%q to %q: diff %q", from, to, c.Diff)
	}
	if len(splitLines(to))-len(splitLines(from)) != c.Added-c.Removed {
		t.Fatalf("%q to %q: %s", from, to, c)
	}
	return c
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString([]string{"a\n", "b\n", "c\n", "\n", "a\r\n", "d"}[r.IntN(6)])
	}
	return b.String()
}

func TestDiff(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"", "", ""},
		{"a\n", "a\n", ""},
		{"", "a\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"},
		{"a\n", "", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
		{"a", "a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n", "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+X\n 6\n 7\n 8\n"},
		{"x\n1\n2\n3\n4\n5\n6\n7\ny\n", "X\n1\n2\n3\n4\n5\n6\n7\nY\n", "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-y\n+Y\n"},
		{"x\n1\n2\n3\n4\n5\n6\ny\n", "X\n1\n2\n3\n4\n5\n6\nY\n", "--- a/f\n+++ b/f\n@@ -1,8 +1,8 @@\n-x\n+X\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n+Y\n"},
	} {
		if c := checkDiff(t, tt.from, tt.to); c.Diff != tt.want {
			t.Errorf("%q to %q:\n%s\nwant\n%s", tt.from, tt.to, c.Diff, tt.want)
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		checkDiff(t, randomText(r), randomText(r))
	}
}

// TestDiffIsShort: the diff is as short as the one that a table of longest common subsequences gives.
func TestDiffIsShort(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		from, to := randomText(r), randomText(r)
		a, b := splitLines(from), splitLines(to)
		common := make([][]int, len(a)+1)
		for i := range common {
			common[i] = make([]int, len(b)+1)
		}
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					common[i][j] = common[i+1][j+1] + 1
				} else {
					common[i][j] = max(common[i+1][j], common[i][j+1])
				}
			}
		}
		c := diffOf("f", from, to)
		if want := len(a) + len(b) - 2*common[0][0]; c.Added+c.Removed != want {
			t.Fatalf("%q to %q: %s, want %d changes", from, to, c, want)
		}
	}
}

// TestDiffBeyondTheBound changes more lines than are searched for a short diff.
func TestDiffBeyondTheBound(t *testing.T) {
	var from, to strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&from, "old %d\n", i)
		fmt.Fprintf(&to, "new %d\n", i)
	}
	c := checkDiff(t, "head\n"+from.String()+"tail\n", "head\n"+to.String()+"tail\n")
	if c.Added != 3000 || c.Removed != 3000 {
		t.Error(c)
	}
}

// TestDiffAgainstGit lets git apply the diffs.
func TestDiffAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is the oracle and is not installed")
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(9, 10))
	var patch strings.Builder
	want := map[string]string{}
	for i := range 60 {
		name := fmt.Sprintf("f%d", i)
		from, to := randomText(r)+"x\n", randomText(r)+"y\n" // never empty: git's header for that says more
		if err := os.WriteFile(filepath.Join(dir, name), []byte(from), 0o644); err != nil {
			t.Fatal(err)
		}
		patch.WriteString(diffOf(name, from, to).Diff)
		want[name] = to
	}
	cmd := exec.CommandContext(t.Context(), git, "apply", "--unidiff-zero", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch.String())
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v: %s", err, out)
	}
	for name, to := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != to {
			t.Errorf("%s is %q, want %q, %v", name, got, to, err)
		}
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc")
	f.Add("", "\n\n")
	f.Add("a\nb\na\nb\na\n", "b\na\nb\na\nb\n")
	f.Fuzz(func(t *testing.T, from, to string) { checkDiff(t, from, to) })
}

// FuzzEdit holds what an edit promises whatever it is given: either an error, or the file with
// exactly the text replaced, its byte order mark and its kind of line ends kept.
func FuzzEdit(f *testing.F) {
	f.Add("a\nb\nc\n", "b", "x", false)
	f.Add("\ufeffa\r\nb\r\n", "a\nb", "q\n", false)
	f.Add("x x x", "x", "xx", true)
	f.Add("a\r\nb\n", "a\nb", "c", false)
	f.Add("\tif x {\n\t\ty()\n\t}\n", "    if x {\n        y()\n    }", "z", false)
	f.Fuzz(func(t *testing.T, file, old, now string, all bool) {
		got, n, err := applyEdits(file, []textEdit{{old, now, all}})
		if err != nil {
			if got != "" || err.Error() == "" {
				t.Errorf("an error with a text %q", got)
			}
			return
		}
		text, hadBOM := strings.CutPrefix(file, bom)
		if hadBOM && !strings.HasPrefix(got, bom) {
			t.Errorf("%q to %q lost its byte order mark", file, got)
		}
		if n < 1 || n > 1 && !all || got == file {
			t.Errorf("%d replacements, %q", n, got)
		}
		if lineEndsOf(text) == endsCRLF {
			if body := strings.TrimPrefix(got, bom); strings.Count(body, "\n") != strings.Count(body, "\r\n") {
				t.Errorf("%q to %q lost CRLF", file, got)
			}
			return
		}
		if want := strings.ReplaceAll(text, old, now); strings.TrimPrefix(got, bom) != want && hadBOM || !hadBOM && got != want {
			t.Errorf("%q: %q to %q gives %q, want %q", file, old, now, got, want)
		}
	})
}
