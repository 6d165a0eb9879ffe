package tools_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planmode-dev/planmode/plan"
)

// tree makes a project of 5,000 files in 250 folders, 40 lines each, a few of which hold "needle".
func tree(tb testing.TB, s setup) *world {
	tb.Helper()
	w := newWorld(tb, s)
	random := rand.New(rand.NewPCG(13, 14))
	words := strings.Fields("func return if err != nil { } for range package import string int error context value := append len")
	w.file(".gitignore", "*.log\n/dist/\nnode_modules/\n*.tmp\n.cache\n")
	for i := range 5000 {
		var b strings.Builder
		for range 40 {
			for range 8 {
				b.WriteString(words[random.IntN(len(words))] + " ")
			}
			b.WriteByte('\n')
		}
		if i%500 == 0 {
			b.WriteString("the needle is here\n")
		}
		w.file(fmt.Sprintf("d%02d/e%d/f%04d.go", i%50, i/50%5, i), b.String())
	}
	return w
}

// beside runs the tool and then the program, and reports the ratio of their times.
func beside(b *testing.B, run, program func()) {
	b.Helper()
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		run()
		middle := time.Now()
		program()
		ours, theirs = ours+middle.Sub(start), theirs+time.Since(middle)
	}
	n := time.Duration(b.N)
	b.ReportMetric(float64((ours / n).Nanoseconds()), "tool-ns/op")
	b.ReportMetric(float64((theirs / n).Nanoseconds()), "program-ns/op")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}

func (w *world) program(b *testing.B, argv ...string) func() {
	b.Helper()
	name, err := exec.LookPath(argv[0])
	if err != nil {
		b.Skipf("%s is what is compared with and is not installed", argv[0])
	}
	return func() {
		cmd := exec.CommandContext(context.Background(), name, argv[1:]...)
		cmd.Dir = w.ws
		if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
			b.Fatalf("%v: %v: %s", argv, err, out)
		}
	}
}

// BenchmarkGrep compares grep over a tree with programs that do the same work.
func BenchmarkGrep(b *testing.B) {
	w := tree(b, setup{hidden: []string{".env", "id_*", "*.pem", ".ssh"}})
	for _, q := range []struct {
		name, pattern string
		count         int
	}{
		{"literal", "needle is", 10},
		{"prefix", `needle\s+is`, 10},
		{"class", `[n]eedle\s+[i]s`, 10},
	} {
		run := func() {
			text := w.ok("grep", m{"pattern": q.pattern})
			if n := strings.Count(text, "the needle"); n != q.count {
				b.Fatalf("%d lines", n)
			}
		}
		b.Run(q.name+"/grep -rnE", func(b *testing.B) { beside(b, run, w.program(b, "grep", "-rnE", "--exclude-dir=.git", q.pattern, ".")) })
		b.Run(q.name+"/rg -n", func(b *testing.B) {
			beside(b, run, w.program(b, "rg", "--no-config", "-n", "--hidden", q.pattern, "."))
		})
	}
}

// BenchmarkFind compares find with the program.
func BenchmarkFind(b *testing.B) {
	w := tree(b, setup{hidden: []string{".env", "id_*", "*.pem", ".ssh"}})
	run := func() { w.holds(w.ok("find", m{"pattern": "f4999.go"}), "f4999.go") }
	b.Run("find -name", func(b *testing.B) { beside(b, run, w.program(b, "find", ".", "-name", "f4999.go")) })
	b.Run("rg --files", func(b *testing.B) {
		beside(b, run, w.program(b, "rg", "--no-config", "--files", "--hidden", "-g", "f4999.go"))
	})
}

// BenchmarkRipgrepByBash measures what an accelerator through a declared command line would cost:
// ripgrep run by bash in the view that a gate chooses.
func BenchmarkRipgrepByBash(b *testing.B) {
	if _, err := exec.LookPath("rg"); err != nil {
		b.Skip("rg is what is compared with and is not installed")
	}
	for name, s := range map[string]setup{"planning": {}} {
		w := tree(b, s)
		b.Run(name, func(b *testing.B) {
			beside(b,
				func() { w.holds(w.ok("grep", m{"pattern": "needle is"}), "needle is here") },
				func() {
					w.holds(w.ok("bash", m{"command": "rg --no-config -n --hidden 'needle is' ."}), "needle is here")
				})
		})
	}
}

// BenchmarkRead reads a page of a long file.
func BenchmarkRead(b *testing.B) {
	w := newWorld(b, setup{})
	w.file("f", strings.Repeat("a line of some text that is as long as lines are\n", 20_000))
	for b.Loop() {
		w.ok("read", m{"path": "f", "offset": 10_000})
	}
}

// BenchmarkEdit changes a line in a file of 10,000, durably.
func BenchmarkEdit(b *testing.B) {
	w := newWorld(b, setup{mode: plan.Off})
	lines := make([]string, 10_000)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d", i)
	}
	p := w.file("f", strings.Join(lines, "\n"))
	from, to := "line 5000\n", "line five thousand\n"
	for b.Loop() {
		w.ok("edit", m{"path": "f", "old_text": from, "new_text": to})
		from, to = to, from
	}
	if info, err := os.Stat(p); err != nil || info.Size() == 0 {
		b.Fatal(err, filepath.Base(p))
	}
}
