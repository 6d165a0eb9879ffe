package shellsafe

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

var benchLines = []struct{ name, line string }{
	{"pipeline", `git log --oneline -20 --no-merges | grep -v 'chore' | head -5`},
	{"loop", `for f in $(git ls-files '*.go'); do n=$(wc -l < "$f"); echo "$f $n"; done | sort -k2 -n`},
	{"script2KB", strings.Repeat(`if [ -f go.mod ]; then grep -n "^module" go.mod | cut -d' ' -f2; fi; find . -name '*.go' -not -path './vendor/*' | head -20
`, 16)},
}

// BenchmarkAnalyze stands beside BenchmarkParse, the parser's share of the same lines.
func BenchmarkAnalyze(b *testing.B) {
	for _, l := range benchLines {
		b.Run(l.name, func(b *testing.B) {
			if r := Analyze(l.line, nil); r.Verdict != Read {
				b.Fatalf("%s: %s", r.Verdict, r.Reason)
			}
			b.SetBytes(int64(len(l.line)))
			b.ReportAllocs()
			for b.Loop() {
				Analyze(l.line, nil)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, l := range benchLines {
		b.Run(l.name, func(b *testing.B) {
			p := syntax.NewParser(syntax.Variant(syntax.LangBash))
			var r strings.Reader
			b.SetBytes(int64(len(l.line)))
			b.ReportAllocs()
			for b.Loop() {
				r.Reset(l.line)
				if _, err := p.Parse(&r, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
