package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planmode-dev/planmode/internal/agenttest"
	"github.com/planmode-dev/planmode/internal/session"
	"github.com/planmode-dev/planmode/llm/scripted"
	"github.com/planmode-dev/planmode/plan"
)

// job is a whole session on this repository: it researches, is refused, plans, and executes three
// steps, each of which leaves one line in a file.
const job = `
=== turn
match: last user contains "Count the packages"
expect: conversation contains "Plan mode is active"
text: I look around.
call: bash {"command": "git log --oneline -3; ls | head; grep -rn 'package plan' --include=*.go . | head -3"}
call: read {"path": "go.mod"}
pace: 2ms

=== turn
text: Let me try to write, by every way that there is.
call: write {"path": "STEPS", "content": "x"}
call: bash {"command": "echo x > STEPS"}
call: bash {"command": "git checkout -b leak"}
call: edit {"path": "go.mod", "old_text": "module", "new_text": "modules"}
pace: 2ms

=== turn
call: submit_plan {"title": "Count", "summary": "Leave a line for each step.", "steps": ["First", "Second", "Third"]}

# Asked again only if the program was killed before the plan was taken in.
=== turn
call: submit_plan {"title": "Count", "summary": "Leave a line for each step.", "steps": ["First", "Second", "Third"]}

=== turn
call: submit_plan {"title": "Count", "summary": "Leave a line for each step.", "steps": ["First", "Second", "Third"]}

=== turn
call: submit_plan {"title": "Count", "summary": "Leave a line for each step.", "steps": ["First", "Second", "Third"]}

=== turn
call: submit_plan {"title": "Count", "summary": "Leave a line for each step.", "steps": ["First", "Second", "Third"]}


=== turn
match: last user contains "I have approved revision 1"
expect: conversation contains "<approved_plan"
text: The first.
call: bash {"command": "echo first >> STEPS"}
pace: 2ms

=== turn
text: The second.
call: bash {"command": "echo second >> STEPS"}
call: read {"path": "STEPS"}
pace: 2ms

=== turn
text: The third.
call: bash {"command": "echo third >> STEPS; sleep 0.05"}
call: todo_write {"todos": [{"content": "First", "status": "completed"}, {"content": "Second", "status": "completed"}, {"content": "Third", "status": "completed"}]}
pace: 2ms

=== turn
text: All three are done.
pace: 2ms

# The same, if it was killed before the answer was written down.
=== turn
text: All three are done.
pace: 2ms

=== turn
text: All three are done.
pace: 2ms

=== turn
text: All three are done.
pace: 2ms

=== turn
text: All three are done.
pace: 2ms

`

// A rig is a workspace, a fake vendor, and the program as processes.
type rig struct {
	t         *testing.T
	workspace string
	env       []string
	model     string
}

func newRig(t *testing.T, wire string) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, workspace: filepath.Join(dir, "repo")}
	r.clone()
	r.env = []string{
		beMain + "=1", "HOME=" + filepath.Join(dir, "home"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
	}
	switch wire {
	case "anthropic":
		s := agenttest.Start(t, agenttest.StartAnthropic, job, agenttest.Options{APIKey: "test-key"})
		r.model = "anthropic/claude-test"
		r.env = append(r.env, "ANTHROPIC_API_KEY=test-key", "ANTHROPIC_BASE_URL="+s.URL)
	case "openai":
		s := agenttest.Start(t, agenttest.StartOpenAI, job, agenttest.Options{APIKey: "test-key"})
		r.model = "openai/gpt-test"
		r.env = append(r.env, "OPENAI_API_KEY=test-key", "OPENAI_BASE_URL="+s.URL)
	case "scripted":
		file := filepath.Join(dir, "job.script")
		if err := os.WriteFile(file, []byte(job), 0o600); err != nil {
			t.Fatal(err)
		}
		r.model = scripted.Name + "/" + file
	}
	return r
}

// clone makes the workspace a clone of this repository; of its files alone where there is no git.
func (r *rig) clone() {
	r.t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := exec.CommandContext(r.t.Context(), "git", "clone", "-q", "--no-hardlinks", root, r.workspace).CombinedOutput()
	if err != nil {
		r.t.Fatalf("git clone: %v\n%s", err, out)
	}
}

func (r *rig) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir, cmd.Env = r.workspace, r.env
	return cmd
}

// planmode runs the program to its end.
func (r *rig) planmode(args ...string) (stdout string, code int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := r.command(ctx, args...)
	var out, diag strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &diag
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	if s := diag.String(); s != "" {
		r.t.Logf("planmode %s: %s", strings.Join(args, " "), s)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func (r *rig) tree() string {
	r.t.Helper()
	h, err := treeHash(r.workspace)
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

// The whole job, headless, over the vendors' real wires, on a clone of this repository.
func TestWholeJob(t *testing.T) {
	for _, wire := range []string{"anthropic", "openai"} {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, wire)
			before := r.tree()
			out, code := r.planmode("run", "--plan", "-p", "Count the packages", "--model", r.model, "--output", "json")
			if code != exitPlanReady {
				t.Fatalf("exit code %d: %s", code, out)
			}
			var o outcome
			if err := json.Unmarshal([]byte(out), &o); err != nil {
				t.Fatal(err)
			}
			if o.Plan == nil || o.Plan.Digest != plan.DigestOf(o.Plan.Text) || o.Mode != plan.Ready || o.Refused != 4 {
				t.Errorf("outcome %+v", o)
			}
			if o.Usage.Output == 0 {
				t.Error("no usage was counted")
			}
			if after := r.tree(); after != before {
				t.Errorf("planning changed the workspace: %s became %s", before, after)
			}
			out, code = r.planmode("approve", o.Session, "--digest", string(o.Plan.Digest), "--autonomy", "loose")
			if code != exitDone || !strings.Contains(out, "All three are done.") {
				t.Fatalf("exit code %d: %s", code, out)
			}
			r.wantSteps(1, 1)
		})
	}
}

// wantSteps holds how often each step was executed.
func (r *rig) wantSteps(least, most int) {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.workspace, "STEPS"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, step := range []string{"first", "second", "third"} {
		if n := strings.Count(string(data), step+"\n"); n < least || n > most {
			r.t.Errorf("step %q was executed %d times", step, n)
		}
	}
}

// Killed at any point, the program loses nothing that it had acknowledged, is in no weaker mode than
// before, and executes nothing twice.
func TestKilledAnywhere(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 2
	}
	for i := range rounds {
		wire := []string{"anthropic", "openai"}[i%2]
		t.Run(fmt.Sprintf("%s-%d", wire, i), func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			t.Logf("seed %d", seed)
			killAnywhere(t, newRig(t, wire), rnd)
		})
	}
}

func killAnywhere(t *testing.T, r *rig, rnd *rand.Rand) {
	before := r.tree()
	// Planning, killed and resumed until the plan is ready.
	id, code := r.untilKilled(rnd, "", "run", "--plan", "-p", "Count the packages", "--model", r.model)
	for n := 0; code != exitPlanReady; n++ {
		if n > 20 {
			t.Fatalf("no plan after %d resumptions; the last exit code was %d", n, code)
		}
		_, code = r.untilKilled(rnd, id, "run", "--session", id)
	}
	if after := r.tree(); after != before {
		t.Fatalf("planning changed the workspace")
	}
	// Execution, the same.
	_, code = r.untilKilled(rnd, id, "approve", id, "--autonomy", "loose")
	for n := 0; code != exitDone && r.mode(id) != plan.Off; n++ {
		if n > 20 {
			t.Fatalf("not done after %d resumptions; the last exit code was %d", n, code)
		}
		if code == exitUsage { // the turn is over, with steps that were interrupted
			break
		}
		args := []string{"run", "--session", id, "--autonomy", "loose"}
		if r.mode(id) == plan.Ready { // killed before the approval was recorded
			args = []string{"approve", id, "--autonomy", "loose"}
		}
		_, code = r.untilKilled(rnd, id, args...)
	}
	// A step that was allowed when the program was killed may not have run: it is never run again by itself.
	r.wantSteps(0, 1)
	if mode := r.mode(id); mode != plan.Off && mode != plan.Executing {
		t.Errorf("mode %s at the end", mode)
	}
}

// untilKilled runs the program and kills it after a random number of entries, or not at all. What it
// had acknowledged must be on the journal, in the mode that it had then or a stricter one.
func (r *rig) untilKilled(rnd *rand.Rand, id string, args ...string) (session string, code int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := r.command(ctx, append(args, "--output", "stream-json")...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	limit := 1 + rnd.IntN(14)
	delay := time.Duration(rnd.IntN(12)) * time.Millisecond
	seen := r.watch(stdout, limit, func() {
		time.Sleep(delay)
		_ = cmd.Process.Kill()
	})
	_ = cmd.Wait() // the exit code says it
	if id == "" {
		id = r.newestID()
	}
	r.acknowledged(id, seen)
	return id, cmd.ProcessState.ExitCode()
}

// watch reads entries, and calls kill once when the limit is reached.
func (r *rig) watch(stdout io.Reader, limit int, kill func()) (seen []session.Entry) {
	in := bufio.NewScanner(stdout)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var e session.Entry
		if json.Unmarshal(in.Bytes(), &e) != nil || e.Seq == 0 {
			continue // the outcome, a delta, or a line that the kill cut
		}
		seen = append(seen, e)
		if len(seen) == limit {
			kill()
		}
	}
	return seen
}

// acknowledged holds what was seen against the journal.
func (r *rig) acknowledged(id string, seen []session.Entry) {
	r.t.Helper()
	stored := map[string]string{}
	out, code := r.planmode("sessions", "export", id)
	if code != exitDone {
		r.t.Fatalf("export: exit code %d", code)
	}
	var st plan.State
	mode := plan.Planning
	for line := range strings.Lines(out) {
		var e session.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			r.t.Fatal(err)
		}
		stored[e.ID] = strings.TrimSpace(line)
		if ev, ok := e.Event.(session.PlanStepped); ok {
			next, _, err := plan.Step(st, ev.Event)
			if err != nil {
				r.t.Fatal(err)
			}
			st = next
		}
		if len(seen) > 0 && e.ID == seen[len(seen)-1].ID {
			mode = st.Mode()
		}
	}
	for _, e := range seen {
		line, ok := stored[e.ID]
		if !ok {
			r.t.Errorf("entry %d (%T) was acknowledged and is lost", e.Seq, e.Event)
			continue
		}
		want, err := e.MarshalJSON()
		if err != nil {
			r.t.Fatal(err)
		}
		if line != string(want) {
			r.t.Errorf("entry %d was acknowledged as\n%s\nand is stored as\n%s", e.Seq, want, line)
		}
	}
	if mode.ReadOnly() && !st.ReadOnly() && !approved(st) {
		r.t.Errorf("the mode was %s and is %s without an approval", mode, st.Mode())
	}
}

func approved(st plan.State) bool {
	r, ok := st.Newest()
	return ok && (r.Status == plan.Approved || r.Status == plan.Done)
}

func (r *rig) newestID() string {
	r.t.Helper()
	out, _ := r.planmode("sessions", "list", "--json")
	var row struct {
		Session string `json:"session"`
	}
	first, _, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(first), &row); err != nil || row.Session == "" {
		r.t.Fatalf("no session in %q: %v", out, err)
	}
	return row.Session
}

func (r *rig) mode(id string) plan.Mode {
	r.t.Helper()
	out, _ := r.planmode("sessions", "list", "--json", "--all")
	for line := range strings.Lines(out) {
		var row struct {
			Session string    `json:"session"`
			Mode    plan.Mode `json:"mode"`
		}
		if err := json.Unmarshal([]byte(line), &row); err == nil && row.Session == id {
			return row.Mode
		}
	}
	r.t.Fatalf("no session %s in %s", id, out)
	return plan.Planning
}
