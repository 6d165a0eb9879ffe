package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/plan"
)

// decisionRows are calls, one of each kind of effect and where it lies.
var decisionRows = []struct{ name, tool, input string }{
	{"nothing", "nothing", `{}`},
	{"read: workspace", "read", `{"path":"a.go"}`},
	{"read: outside", "read", `{"path":"../elsewhere/c.txt"}`},
	{"read: hidden", "read", `{"path":"~/.ssh/id_rsa"}`},
	{"read: hidden name", "read", `{"path":".env"}`},
	{"read: plan file", "read", `{"path":"../state/plans/plan.md"}`},
	{"read: state", "read", `{"path":"../state/journal"}`},
	{"read: kept output", "read", `{"path":"../state/keep/output-1"}`},
	{"write: workspace", "write", `{"path":"a.go"}`},
	{"write: .git", "write", `{"path":".git/hooks/pre-commit"}`},
	{"write: outside", "write", `{"path":"../elsewhere/c.txt"}`},
	{"write: hidden", "write", `{"path":"~/.ssh/authorized_keys"}`},
	{"write: plan file", "write", `{"path":"../state/plans/plan.md"}`},
	{"write: beside it", "write", `{"path":"../state/plans/other.md"}`},
	{"shell: read", "bash", `{"command":"ls -la"}`},
	{"shell: project code", "bash", `{"command":"./build.sh"}`},
	{"shell: write", "bash", `{"command":"rm -rf build"}`},
	{"shell: network", "bash", `{"command":"curl https://example.com/x"}`},
	{"shell: unparsable", "bash", `{"command":"if"}`},
	{"try: project code", "try_code", `{}`},
	{"try: write", "try_write", `{}`},
	{"try: network", "try_curl", `{}`},
	{"shell: elsewhere", "bash", `{"command":"ls","dir":"/nowhere"}`},
	{"fetch", "fetch", `{}`},
	{"submit", "submit", `{}`},
	{"todos", "todos", `{}`},
	{"ask the user", "ask", `{}`},
	{"sub-agent", "task", `{}`},
	{"claim: trusted", "mcp_docs", `{}`},
	{"claim: not read-only", "mcp_write", `{}`},
	{"claim: not trusted", "mcp_lies", `{}`},
	{"claim: vouched", "vouched_mc", `{}`},
	{"opaque", "opaque", `{}`},
	{"opaque: vouched", "vouched_op", `{}`},
	{"write: vouched", "vouched_wr", `{}`},
	{"undeclared", "undeclared", `{}`},
	{"foreign effect", "foreign", `{}`},
	{"pointer to an effect", "pointer", `{}`},
	{"read and write", "two", `{}`},
	{"two command lines", "two_lines", `{}`},
	{"unknown tool", "rm_rf", `{}`},
	{"invalid input", "write", `{"path":5}`},
}

// TestDecisionTable holds the whole table of effects, modes and autonomy. After a change that is meant,
// run
//
//	go test ./tool -run TestDecisionTable -update
func TestDecisionTable(t *testing.T) {
	type cell struct {
		m plan.Mode
		a Autonomy
	}
	worlds := map[cell]*world{}
	for _, m := range plan.Modes() {
		for _, a := range []Autonomy{Strict, Hybrid, Loose} {
			worlds[cell{m, a}] = newWorld(t, func(c *Config) { c.Autonomy = a }).to(m)
		}
	}
	var b strings.Builder
	b.WriteString("# Each cell: strict, hybrid, loose.\n")
	fmt.Fprintf(&b, "%-22s", "")
	for _, m := range plan.Modes() {
		fmt.Fprintf(&b, " | %-47s", m)
	}
	b.WriteByte('\n')
	for _, row := range decisionRows {
		fmt.Fprintf(&b, "%-22s", row.name)
		for _, m := range plan.Modes() {
			var words []string
			for _, a := range []Autonomy{Strict, Hybrid, Loose} {
				d := worlds[cell{m, a}].decide(row.tool, row.input)
				if word(d) != "allow" && word(d) != "ask" {
					r := refusalOf(t, d)
					if r.PlanMode != m.ReadOnly() || r.Session != "s" || r.Tool != row.tool {
						t.Errorf("%s in %s: %+v", row.name, m, r)
					}
					if r.Code == PlanModeBlocked && !m.ReadOnly() {
						t.Errorf("%s in %s: blocked by plan mode", row.name, m)
					}
				}
				words = append(words, word(d))
			}
			if words[0] == words[1] && words[1] == words[2] {
				words = words[:1]
			}
			fmt.Fprintf(&b, " | %-47s", strings.Join(words, " "))
		}
		b.WriteByte('\n')
	}
	golden(t, "decisions.txt", trimLines(b.String()))
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s is not what it was; with -update it is written. Now:\n%s", file, got)
	}
}
