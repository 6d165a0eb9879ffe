package shellsafe

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// A labelled command of testdata/shell.tsv: id, verdict (safe or unsafe), category, command, why,
// evidence. In the command, \n, \t, \r and \\ are escapes.
type labelled struct {
	id, category, line, why string
	safe                    bool
}

func readCorpus(t testing.TB) []labelled {
	t.Helper()
	f, err := os.Open("testdata/shell.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r")
	var out []labelled
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		p := strings.Split(sc.Text(), "\t")
		if len(p) < 5 || p[0] == "id" {
			continue
		}
		out = append(out, labelled{id: p[0], safe: p[1] == "safe", category: p[2], line: unescape.Replace(p[3]), why: p[4]})
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	if len(out) < 1000 {
		t.Fatalf("only %d commands", len(out))
	}
	return out
}

// TestCorpus holds the goal: no unsafe command is Read, and every safe one is.
func TestCorpus(t *testing.T) {
	safe, unsafe, refused, leaked := 0, 0, 0, 0
	for _, c := range readCorpus(t) {
		r := Analyze(c.line, nil)
		switch {
		case c.safe && r.Verdict != Read:
			refused++
			t.Errorf("%s safe %s: %q is %s: %s (%s)", c.id, c.category, c.line, r.Verdict, r.Reason, r.Row)
		case !c.safe && r.Verdict == Read:
			leaked++
			t.Errorf("%s unsafe %s: %q is read, but %s", c.id, c.category, c.line, c.why)
		}
		if c.safe {
			safe++
		} else {
			unsafe++
		}
	}
	t.Logf("unsafe called read: %d of %d; safe not called read: %d of %d (%.1f %%)",
		leaked, unsafe, refused, safe, 100*float64(refused)/float64(safe))
}
