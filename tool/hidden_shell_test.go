package tool

import (
	"testing"

	"github.com/planmode-dev/planmode/plan"
)

// TestHiddenInShell: a command line that names something hidden is refused while planning, and never runs
// unasked, whatever the autonomy and the rules say.
func TestHiddenInShell(t *testing.T) {
	for _, mode := range plan.Modes() {
		for _, autonomy := range []Autonomy{Strict, Hybrid, Loose} {
			for _, command := range []string{"cat ~/.ssh/id_rsa", "cat .env | head -1", "wc -l < .env", "rm .env", "cp .env x"} {
				w := newWorld(t, func(c *Config) {
					c.Autonomy = autonomy
					c.Roots.Home = "/home/ann"
					c.Roots.Hidden = []string{"/home/ann/.ssh", ".env"}
					c.Policy.Allow = []Rule{{Tool: "bash"}}
				}).to(mode)
				d := w.decide("bash", shellInput{Command: command})
				want := "ask"
				if mode.ReadOnly() {
					want = string(PolicyDenied)
				}
				if word(d) != want {
					t.Errorf("%s, %s: %q is %s, want %s", mode, autonomy, command, word(d), want)
				}
				if a, ok := d.(Ask); ok && a.Reason == "" {
					t.Errorf("%q is asked for without a reason", command)
				}
			}
		}
	}
}
