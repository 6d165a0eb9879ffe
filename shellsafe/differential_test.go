//go:build unix

package shellsafe

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// fuzzTime is how long the differential tests run: a few seconds, or PLANMODE_SHELL_FUZZ (a duration).
func fuzzTime(t *testing.T) time.Duration {
	if s := os.Getenv("PLANMODE_SHELL_FUZZ"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if testing.Short() {
		return 500 * time.Millisecond
	}
	return 3 * time.Second
}

func fuzzSeed(t *testing.T) uint64 {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return seed
}

// TestDifferential runs generated lines that are judged Read under bash, and holds that they change
// nothing. The seed is printed; a failure names the line.
func TestDifferential(t *testing.T) {
	f := newFixture(t)
	g := newGenerator(fuzzSeed(t))
	end := time.Now().Add(fuzzTime(t))
	tried, run := 0, 0
	for time.Now().Before(end) {
		line := g.line(2)
		tried++
		if Analyze(line, nil).Verdict != Read {
			continue
		}
		run++
		if f.runs(t, line) {
			f = newFixture(t)
		}
	}
	t.Logf("%d lines made, %d judged read and run", tried, run)
}

// runs runs a line and reports whether it changed the fixture, which is an error.
func (f *fixture) runs(t *testing.T, line string) bool {
	t.Helper()
	_, _ = f.bash(line, 2*time.Second) // how it ends does not matter
	changed := f.changes(t)
	if changed == nil {
		return false
	}
	t.Errorf("judged read, but changes %v: %q", changed, line)
	return true
}

// soupTokens are pieces of shell grammar around a command that writes. Strung together at random they
// are mostly nonsense; what the parser makes of the rest must be what bash makes of it.
var soupTokens = [][]string{
	{
		"ls", "touch pw", "touch pw", " ", " ", " ", ";", "\n", "\\", "'", `"`, "$(", ")", "`", "((", "))", "{ ", "; }", "|", "&&", "||",
		"#", " #", "<<X\n", "<<'X'\n", "<<-X\n\t", "\nX\n", "X", "!(", "@(", "[[ ", " ]]", "${x:-", "${x#", "${x/", "}", "echo ", "x=", "a=(",
		"<(", "case x in ", "x) ", ";; ", "esac", "if ", "; then ", "; fi", "for f in ", "; do ", "; done", "f() ", "f", "$((", "$[", "]", "=",
		"! ", "!", "-", ">/dev/null", "2>&1", "<", "$'", `\'`, `$"`, "a[", "*", ",", "{", "eval ", "[ ", "time ", "function f ", "while ", "true",
		"&", "${x@P}", `"${x:-'`, `'}"`, "=~ ", "(", "%", "declare -a a=", "let ", "test ", "x", "\\\n",
	},
	{
		"x='a[$(touch pw)0]'", "x=", "x", "$x", `"$x"`, "${x}", ";", ";", " ", " ", " ", " ", "echo ", "((", "))", "[[ ", " ]]", " -eq ", " -gt ", "[ ", " ] ",
		"test ", "-v ", "declare ", "-i ", "-n ", "-a ", "-A ", "local ", "f() { ", "; }", "f ", "$1", `"$1"`, `"$@"`, "$@", "y=", "y", "$y", "a=(", ")", "a",
		"${a[", "]", "[", "]", "+=", "=", "'a[$(touch pw)0]'", `"a[\$(touch pw)0]"`, "printf -v ", "printf ", "read ", "<<< ", "unset ", "for x in ", "do ", "done",
		"while ", "; do ", "; done", "let ", "$((", "${x:", "${!x}", "${x@P}", "${#a[", "export ", "readonly ", "typeset ", "mapfile ", "set -- ", "shift",
		"eval ", "trap ", " EXIT", "'touch pw'", "bash -c ", "sh -c ", "xargs ", "| ", "wait -p ", "getopts ", "case ", " in ", ") ", ";; esac", "if ", "; then ",
		"; fi", "&&", "||", "1", "0", "+", "-", "'(", "[$(touch pw)]=1)'", "-r ", "-d '' ", "> ", "pw", "/dev/null", ">&2", "-c ", "\n", "'", `"`, `\`, ",", "{", "}", "..", "*",
		"?", "(", ")", "$(", "$(touch pw)", `$'\x74ouch pw'`, "touch", "touch pw", "set -x; ", "PS4=", "RANDOM=", "OPTIND=", "IFS=", "declare -p ", "type ", "command ",
		"builtin ", "exec ", "time ", "! ", "env ", "nice ", "timeout 1 ", "seq 1 ", "nproc", "wc -l", "pwd",
	},
}

// TestSoup strings pieces of grammar together and runs what is judged Read although it mentions a
// command that writes.
func TestSoup(t *testing.T) {
	f := newFixture(t)
	r := rand.New(rand.NewPCG(fuzzSeed(t), 9))
	end := time.Now().Add(fuzzTime(t))
	tried, run := 0, 0
	var b strings.Builder
	for time.Now().Before(end) {
		tokens := soupTokens[r.IntN(len(soupTokens))]
		b.Reset()
		for n := 2 + r.IntN(15); n > 0; n-- {
			b.WriteString(tokens[r.IntN(len(tokens))])
		}
		line := b.String()
		if !strings.Contains(line, "touch") {
			continue
		}
		tried++
		if Analyze(line, nil).Verdict != Read {
			continue
		}
		run++
		if f.runs(t, line) {
			f = newFixture(t)
		}
	}
	t.Logf("%d lines made, %d judged read and run", tried, run)
}

// TestCorpusUnderBash runs some of the corpus's commands that are judged Read; all of them in a long run.
func TestCorpusUnderBash(t *testing.T) {
	f := newFixture(t)
	all := readCorpus(t)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	end := time.Now().Add(fuzzTime(t))
	for _, c := range all {
		if time.Now().After(end) {
			break
		}
		// The tool chains keep caches, and top a directory of settings: the labels say so.
		if !c.safe || c.category == "go" || c.category == "rust" || strings.Contains(c.line, "top ") || strings.Contains(c.line, "npm") || strings.Contains(c.line, "go version") ||
			c.category == "container" || c.category == "forge" || c.category == "pkg-py" || c.category == "system" || c.category == "network" {
			continue
		}
		if f.runs(t, c.line) {
			f = newFixture(t)
		}
	}
}

// TestOddCorners runs the lines of bash.txt that are judged Read.
func TestOddCorners(t *testing.T) {
	f := newFixture(t)
	for _, l := range readLines(t, "bash.txt") {
		line := unescapeLine.Replace(l)
		if Analyze(line, nil).Verdict == Read && f.runs(t, line) {
			f = newFixture(t)
		}
	}
}
