//go:build unix

package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

func TestEdit(t *testing.T) {
	tests := []struct {
		name, content string
		in            m
		want          string   // content afterwards; "" with words means unchanged
		words         []string // in the answer
	}{
		{"one", "a\nb\nc\n", m{"old_text": "b", "new_text": "B"}, "a\nB\nc\n", []string{"1 replacement (+1 −1)", "-b\n+B\n"}},
		{"delete", "a\nb\nc\n", m{"old_text": "b\n"}, "a\nc\n", []string{"(+0 −1)"}},
		{"insert", "a\nc\n", m{"old_text": "a\n", "new_text": "a\nb\n"}, "a\nb\nc\n", []string{"(+1 −0)"}},
		{"all", "x x\nx\n", m{"old_text": "x", "new_text": "yy", "replace_all": true}, "yy yy\nyy\n", []string{"3 replacements"}},
		{"several lines", "a\n\tb\nc\n", m{"old_text": "a\n\tb", "new_text": "z"}, "z\nc\n", nil},
		{"no newline at the end", "a\nb", m{"old_text": "b", "new_text": "c"}, "a\nc", []string{`\ No newline at end of file`}},
		{"to nothing", "a", m{"old_text": "a"}, "", []string{"(+0 −1)"}},
		{"regexp and $ are plain", "a.b $1\n", m{"old_text": "a.b $1", "new_text": "$2"}, "$2\n", nil},
		{"crlf", "a\r\nb\r\nc\r\n", m{"old_text": "a\nb", "new_text": "x\ny\nz"}, "x\r\ny\r\nz\r\nc\r\n", nil},
		{"crlf in the call too", "a\r\nb\r\n", m{"old_text": "a\r\nb\r\n", "new_text": "x\r\n"}, "x\r\n", nil},
		{"mixed, exact", "a\r\nb\nc\n", m{"old_text": "b\nc", "new_text": "d"}, "a\r\nd\n", nil},
		{"mixed, with its own end", "a\r\nb\n", m{"old_text": "a\r\n", "new_text": "x\r\n"}, "x\r\nb\n", nil},
		{"bom", "\ufeffa\nb\n", m{"old_text": "a", "new_text": "x"}, "\ufeffx\nb\n", nil},
		{"bom and crlf", "\ufeffa\r\nb\r\n", m{"old_text": "a\nb\n", "new_text": "x\n"}, "\ufeffx\r\n", nil},
		{"not utf-8 elsewhere", "a\xff\nb\n", m{"old_text": "b", "new_text": "c"}, "a\xff\nc\n", []string{"1 replacement"}},
		{
			"several edits", "a\nb\nc\n",
			m{"edits": []m{{"old_text": "a", "new_text": "1"}, {"old_text": "c", "new_text": "3"}}},
			"1\nb\n3\n",
			[]string{"2 replacements (+2 −2)"},
		},
		{
			"edits build on one another", "a\n", m{"edits": []m{{"old_text": "a", "new_text": "b"}, {"old_text": "b", "new_text": "c"}}}, "c\n", nil,
		},

		{"empty old", "a\n", m{"old_text": "", "new_text": "x"}, "", []string{"old_text is empty"}},
		{"nothing given", "a\n", nil, "", []string{"old_text is empty"}},
		{"same", "a\n", m{"old_text": "a", "new_text": "a"}, "", []string{"are the same"}},
		{"there and back", "a\n", m{"edits": []m{{"old_text": "a", "new_text": "b"}, {"old_text": "b", "new_text": "a"}}}, "", []string{"change nothing"}},
		{"twice", "x\ny\nx\n", m{"old_text": "x", "new_text": "z"}, "", []string{"occurs 2 times, at lines 1, 3;", "replace_all"}},
		{"many", strings.Repeat("x\n", 50), m{"old_text": "x", "new_text": "z"}, "", []string{"occurs 50 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"}},
		{"both forms", "a\n", m{"old_text": "a", "new_text": "b", "edits": []m{{"old_text": "a", "new_text": "c"}}}, "", []string{"not both"}},
		{"empty list", "a\n", m{"edits": []m{}}, "", []string{"edits: it is empty"}},
		{
			"second fails", "a\nb\n",
			m{"edits": []m{{"old_text": "a", "new_text": "x"}, {"old_text": "q", "new_text": "y"}}},
			"",
			[]string{"f.txt is unchanged", "edits[1]: old_text is not in the file"},
		},
		{"binary", "a\x00b", m{"old_text": "a", "new_text": "b"}, "", []string{"binary"}},

		{"indentation", "func f() {\n\treturn 1\n}\n", m{"old_text": "func f() {\n    return 1\n}", "new_text": "x"}, "", []string{
			"lines 1 to 3 is the same but for indentation", `line 2 is "\treturn 1", old_text has "    return 1"`,
		}},
		{"line ends", "a  \nb\n", m{"old_text": "a\nb", "new_text": "x"}, "", []string{"white space at line ends", `line 1 is "a  ", old_text has "a"`}},
		{"white space", "f( a,b )\n", m{"old_text": "f(a, b)", "new_text": "x"}, "", []string{"line 1 is the same but for white space"}},
		{"quotes", "say “hi”\n", m{"old_text": `say "hi"`, "new_text": "x"}, "", []string{"typographic characters"}},
		{"case", "Hello World\n", m{"old_text": "hello world", "new_text": "x"}, "", []string{"upper and lower case"}},
		{"numbers", "a\nb\n", m{"old_text": "     1\ta\n     2\tb", "new_text": "x"}, "", []string{"holds the line numbers"}},
		{"mixed ends", "a\r\nb\nc\r\n", m{"old_text": "a\nb\nc", "new_text": "x"}, "", []string{"at line 1 but for its line ends"}},
		{"crlf wanted, lf there", "a\nb\n", m{"old_text": "a\r\nb", "new_text": "x"}, "", []string{"but for its line ends"}},
		{"one line differs", "alpha\nbeta\ngamma\n", m{"old_text": "alpha\nBETTER\ngamma", "new_text": "x"}, "", []string{
			"the nearest is at lines 1 to 3", `line 2 is "beta", old_text has "BETTER"`,
		}},
		{"similar", "const limit = 10\nother\n", m{"old_text": "const limits = 20", "new_text": "x"}, "", []string{`line 1: "const limit = 10"`}},
		{"nothing similar", "abc\n", m{"old_text": "zzzzzz", "new_text": "x"}, "", []string{"nothing is similar"}},
		{"beyond the end", "one\ntwo\nthree\n", m{"old_text": "two\nthree\nfour\nfive", "new_text": "x"}, "", []string{"lines 2 to 5", "line 4"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, setup{mode: plan.Off})
			w.file("f.txt", tt.content)
			in := m{"path": "f.txt"}
			for k, v := range tt.in {
				in[k] = v
			}
			res := w.run("edit", in)
			w.holds(res.Text, tt.words...)
			if tt.want == "" && tt.name != "to nothing" {
				if !res.IsError {
					t.Errorf("succeeded: %s", res.Text)
				}
				tt.want = tt.content
			} else if res.IsError {
				t.Errorf("failed: %s", res.Text)
			}
			w.equal(w.content("f.txt"), tt.want)
		})
	}
}

func TestEditDetails(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Executing})
	w.file("f.txt", "a\n"+strings.Repeat("x\n", 2000))
	res := w.run("edit", m{"path": "f.txt", "old_text": "x", "new_text": "yy", "replace_all": true})
	if len(res.Text) > 10<<10 || !strings.Contains(res.Text, "more of the diff not shown") {
		t.Errorf("text of %d bytes", len(res.Text))
	}
	var d struct {
		Path, Diff                   string
		Added, Removed, Replacements int
	}
	w.must(json.Unmarshal(res.Details, &d))
	if d.Path != "f.txt" || d.Added != 2000 || d.Removed != 2000 || d.Replacements != 2000 || strings.Count(d.Diff, "\n+yy") != 2000 {
		t.Errorf("details %+v", d)
	}
}

func TestEditKeepsModeAndTrouble(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Off, hidden: []string{".env"}})
	p := w.file("run.sh", "a\n")
	w.must(os.Chmod(p, 0o751))
	w.ok("edit", m{"path": "run.sh", "old_text": "a", "new_text": "b"})
	info, err := os.Stat(p)
	w.must(err)
	if info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v", info.Mode())
	}
	w.file(".env", "A=1\n")
	outside := w.file(filepath.Join(w.home, "o.txt"), "a\n")
	w.must(os.Symlink(outside, filepath.Join(w.ws, "leak")))
	w.must(os.Symlink("run.sh", filepath.Join(w.ws, "alias")))
	w.must(os.Symlink(filepath.Join(w.ws, ".env"), filepath.Join(w.ws, "dotenv")))
	w.must(syscall.Mkfifo(filepath.Join(w.ws, "fifo"), 0o644))
	w.file("big.txt", strings.Repeat("x", 11<<20))

	ab := func(p string) m { return m{"path": p, "old_text": "a", "new_text": "b"} }
	w.fails("edit", ab("nope.sh"), "nope.sh is not there")
	w.fails("edit", ab("rum.sh"), "did you mean run.sh?")
	w.fails("edit", ab("."), "is a folder")
	w.fails("edit", ab("fifo"), "is a pipe")
	w.fails("edit", ab("big.txt"), "the limit is")
	w.fails("edit", ab("leak"), "outside")
	w.fails("edit", ab("dotenv"), "hidden")
	w.refused("edit", ab(".env"), tool.PolicyDenied, "hidden")
	w.refused("edit", ab(""), tool.InvalidInput)
	w.refused("edit", ab("a\x00"), tool.InvalidInput)
	w.ok("edit", m{"path": "alias", "old_text": "b", "new_text": "c"})
	w.equal(w.content("run.sh"), "c\n")
	w.equal(w.content(outside), "a\n")
	// Growth beyond the limit is seen before the memory is taken.
	w.file("seed.txt", strings.Repeat("x", 1<<20))
	w.fails("edit", m{"path": "seed.txt", "old_text": "x", "new_text": strings.Repeat("y", 1<<20), "replace_all": true}, "larger than")

	// Outside of the workspace the user is always asked; having said yes, they get the edit.
	w.ok("edit", ab(outside))
	w.equal(w.content(outside), "b\n")
}

// TestEditsRace lets edits change one file at once: none may lose another's change, and one that
// comes too late says so.
func TestEditsRace(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Off})
	w.file("f.txt", "start\n")
	const writers, rounds = 4, 10
	var group sync.WaitGroup
	var mu sync.Mutex
	applied := 0
	for i := range writers {
		group.Go(func() {
			for j := range rounds {
				res, refusal := w.try(context.Background(), "edit", m{"path": "f.txt", "old_text": "start\n", "new_text": fmt.Sprintf("start\n%d-%d\n", i, j)})
				switch {
				case refusal != nil:
					t.Errorf("refused: %v", refusal)
				case !res.IsError:
					mu.Lock()
					applied++
					mu.Unlock()
				case !strings.Contains(res.Text, "changed by something else meanwhile"):
					t.Errorf("failed: %s", res.Text)
				}
			}
		})
	}
	group.Wait()
	if got := strings.Count(w.content("f.txt"), "\n") - 1; got != applied || applied == 0 {
		t.Errorf("%d lines of %d edits that were said to have been made", got, applied)
	}
}

func TestWrite(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Off, hidden: []string{".env"}})
	w.equal(w.ok("write", m{"path": "new/deep/f.txt", "content": "a\nb\n"}), "created new/deep/f.txt with 2 lines")
	w.equal(w.content("new/deep/f.txt"), "a\nb\n")
	w.equal(w.ok("write", m{"path": "new/deep/f.txt", "content": "a\nc"}), "replaced new/deep/f.txt: 2 lines, was 2 (+1 −1)")
	w.equal(w.ok("write", m{"path": "new/deep/f.txt", "content": "a\nc"}), "new/deep/f.txt holds exactly that already (2 lines); nothing was written")
	w.equal(w.ok("write", m{"path": "empty", "content": ""}), "created empty with 0 lines")
	w.equal(w.ok("write", m{"path": "empty", "content": "x\n"}), "replaced empty: 1 line, was 0 (+1 −0)")
	w.file("crlf", "a\r\nb\r\n")
	w.holds(w.ok("write", m{"path": "crlf", "content": "a\nc\n"}), "its line ends were CRLF and are LF now")
	w.file("bin", "a\x00b")
	w.holds(w.ok("write", m{"path": "bin", "content": "text\n"}), "replaced bin")

	res := w.run("write", m{"path": "d", "content": "x\ny\n"})
	var d struct {
		Created      bool
		Lines, Added int
		Diff         string
	}
	w.must(json.Unmarshal(res.Details, &d))
	if !d.Created || d.Lines != 2 || d.Added != 2 || !strings.HasPrefix(d.Diff, "--- /dev/null\n+++ b/d\n@@ -0,0 +1,2 @@\n+x\n") {
		t.Errorf("details %+v", d)
	}

	w.must(os.Mkdir(filepath.Join(w.ws, "dir"), 0o755))
	w.must(os.Symlink("nowhere", filepath.Join(w.ws, "dangling")))
	w.must(os.Symlink(w.home, filepath.Join(w.ws, "homelink")))
	w.must(syscall.Mkfifo(filepath.Join(w.ws, "fifo"), 0o644))
	w.fails("write", m{"path": "dir", "content": ""}, "dir is a folder")
	w.fails("write", m{"path": "fifo", "content": ""}, "fifo is a pipe")
	w.fails("write", m{"path": "d/below", "content": ""}, "d/below")
	w.fails("write", m{"path": "homelink/x", "content": "x"}, "symbolic link")
	w.fails("write", m{"path": "x", "content": strings.Repeat("x", 11<<20)}, "the limit is")
	w.run("write", m{"path": "dangling", "content": "x"})
	w.refused("write", m{"path": ".env", "content": "x"}, tool.PolicyDenied, "hidden")
	w.refused("write", m{"path": "sub/.env", "content": "x"}, tool.PolicyDenied, "hidden")
	w.refused("write", m{"path": "", "content": "x"}, tool.InvalidInput)
	if _, err := os.Stat(filepath.Join(w.home, "x")); err == nil {
		t.Error("a link led the write out of the workspace")
	}
	for _, left := range leftovers(t, w.ws) {
		t.Errorf("left behind: %s", left)
	}
}

func leftovers(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(p), ".planmode-") {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestReadOnlyModes: while plan mode is active nothing is written but, while planning, the plan file.
func TestReadOnlyModes(t *testing.T) {
	for _, mode := range []plan.Mode{plan.Planning, plan.Ready, plan.Reviewing} {
		t.Run(mode.String(), func(t *testing.T) {
			w := newWorld(t, setup{mode: mode})
			w.file("f.txt", "a\n")
			edit := func(p string) m { return m{"path": p, "old_text": "1. x", "new_text": "1. y"} }
			for _, p := range []string{"f.txt", "new.txt", w.planFile + ".bak", filepath.Dir(w.planFile), "~/x", w.planFile + "/../other.md"} {
				w.refused("write", m{"path": p, "content": "x"}, tool.PlanModeBlocked)
				w.refused("edit", edit(p), tool.PlanModeBlocked)
			}
			w.refused("bash", m{"command": "touch f.txt"}, tool.PlanModeBlocked)
			w.equal(w.content("f.txt"), "a\n")
			if mode != plan.Planning {
				w.refused("write", m{"path": w.planFile, "content": "1. x\n"}, tool.PlanModeBlocked)
				w.refused("edit", edit(w.planFile), tool.PlanModeBlocked)
				return
			}
			w.equal(w.ok("write", m{"path": w.planFile, "content": "1. x\n"}), "created "+w.planFile+" with 1 line")
			w.ok("edit", edit(w.planFile))
			w.equal(w.content(w.planFile), "1. y\n")
			w.must(os.Remove(w.planFile))
			w.must(os.Symlink(filepath.Join(w.ws, "f.txt"), w.planFile))
			w.fails("write", m{"path": w.planFile, "content": "1. z\n"})
			w.fails("edit", m{"path": w.planFile, "old_text": "a", "new_text": "b"})
			w.equal(w.content("f.txt"), "a\n")
		})
	}
}
