package tool

import (
	"testing"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/sandbox"
)

// TestThrowAwayView: which commands run in it, by mode, by what the model asked for, and by what the
// machine can enforce. Nothing that reaches another machine ever does.
func TestThrowAwayView(t *testing.T) {
	none := func() sandbox.Level { return sandbox.None }
	for _, tt := range []struct {
		name     string
		mode     plan.Mode
		command  string
		scratch  bool
		evidence Evidence
		level    func() sandbox.Level
		want     string
		view     view
	}{
		{"tests while planning", plan.Planning, "go test ./...", false, EvidenceOn, walled, "allow", viewScratch},
		{"tests while planning, asked", plan.Planning, "go test ./...", true, EvidenceOn, walled, "allow", viewScratch},
		{"tests, no wall", plan.Planning, "go test ./...", false, EvidenceOn, none, "plan_mode_blocked", 0},
		{"tests, off", plan.Planning, "go test ./...", true, EvidenceOff, walled, "plan_mode_blocked", 0},
		{"a write that is not asked for", plan.Planning, "sed -i s/a/b/ a.go", false, EvidenceOn, walled, "plan_mode_blocked", 0},
		{"a write to try", plan.Planning, "sed -i s/a/b/ a.go && go test ./...", true, EvidenceOn, walled, "allow", viewScratch},
		{"a write to try, user is asked", plan.Ready, "sed -i s/a/b/ a.go", true, EvidenceAsk, walled, "ask", viewScratch},
		{"a write to try, no wall", plan.Planning, "sed -i s/a/b/ a.go", true, EvidenceOn, none, "plan_mode_blocked", 0},
		{"network to try", plan.Planning, "curl example.com", true, EvidenceOn, walled, "plan_mode_blocked", 0},
		{"not a command to try", plan.Planning, "echo 'x", true, EvidenceOn, walled, "plan_mode_blocked", 0},
		{"reading needs no copy", plan.Planning, "cat a.go", true, EvidenceOn, walled, "allow", viewReadOnly},
		{"with changes allowed, asked", plan.Off, "rm a.go", true, EvidenceOn, walled, "allow", viewScratch},
		{"with changes allowed, no wall", plan.Off, "rm a.go", true, EvidenceOn, none, "sandbox_required", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, func(c *Config) { c.Evidence, c.Level, c.Sandbox = tt.evidence, tt.level, SandboxPrefer }).to(tt.mode)
			d := w.decide("bash", shellInput{Command: tt.command, Scratch: tt.scratch})
			if word(d) != tt.want {
				t.Fatalf("%s, want %s", word(d), tt.want)
			}
			switch d := d.(type) {
			case Allow:
				if d.p.view != tt.view {
					t.Errorf("view %d, want %d", d.p.view, tt.view)
				}
			case Ask:
				if d.p.view != tt.view {
					t.Errorf("view %d, want %d", d.p.view, tt.view)
				}
			case Deny:
				if d.Refusal.Reason == "" || d.Refusal.Hint == "" {
					t.Errorf("refusal %+v", d.Refusal)
				}
			}
		})
	}
}

// TestConfined: with changes allowed, the user's policy can keep commands in the workspace.
func TestConfined(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Confine, c.Autonomy = true, Loose }).to(plan.Off)
	a, ok := w.decide("bash", shellInput{Command: "rm a.go"}).(Allow)
	if !ok || a.p.view != viewConfined {
		t.Fatalf("%v", a)
	}
}
