package sandbox

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// wholeCorpus has every command run instead of a sample.
	wholeCorpus = "SANDBOX_CORPUS"
	corpusPath  = "SANDBOX_CORPUS_FILE"
	corpusFile  = "../shellsafe/testdata/shell.tsv"
	sampleEvery = 40
)

// unescape undoes how the table writes newlines, tabs and backslashes.
var unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t")

type corpusCommand struct{ id, verdict, command string }

// readCorpus reads the commands that package shellsafe is tested with: id, verdict, category,
// command, why, evidence.
func readCorpus(t *testing.T) []corpusCommand {
	t.Helper()
	path := corpusFile
	if p := os.Getenv(corpusPath); p != "" {
		path = p
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []corpusCommand
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) < 4 || f[0] == "id" {
			continue
		}
		all = append(all, corpusCommand{f[0], f[1], unescape.Replace(f[3])})
	}
	if len(all) < 500 {
		t.Fatalf("%s holds only %d commands", path, len(all))
	}
	return all
}

// TestCorpusWithoutAnalysis runs the commands that the analysis of commands is tested with, safe
// and unsafe, as if there were no analysis: the kernel alone must keep the world as it is.
func TestCorpusWithoutAnalysis(t *testing.T) {
	commands := readCorpus(t)
	if os.Getenv(wholeCorpus) == "" {
		every := sampleEvery
		if testing.Short() {
			every *= 4
		}
		var sample []corpusCommand
		for i := 0; i < len(commands); i += every {
			sample = append(sample, commands[i])
		}
		commands = sample
	}
	for level, e := range backends(t) {
		for _, view := range []View{ReadOnly, Scratch} {
			t.Run(level.String()+"/"+view.String(), func(t *testing.T) {
				start := time.Now()
				w := newWorld(t)
				runCorpus(t, e, level, view, w, commands)
				t.Logf("%d commands in %v", len(commands), time.Since(start).Round(time.Millisecond))
			})
		}
	}
}

// runCorpus runs two commands at a time and looks at the world after every few.
func runCorpus(t *testing.T, e *engine, level Level, view View, w *world, commands []corpusCommand) {
	t.Helper()
	const batch, parallel = 16, 2
	ended, changed := 0, 0
	var mu sync.Mutex
	for len(commands) > 0 {
		now := commands[:min(batch, len(commands))]
		commands = commands[len(now):]
		work := make(chan corpusCommand)
		var wg sync.WaitGroup
		for range parallel {
			wg.Go(func() {
				for c := range work {
					r, err := e.run(t.Context(), Spec{
						Argv: []string{"bash", "-c", c.command}, Dir: w.workspace, Env: w.env(), View: view, Hidden: w.hidden,
						Limits: Limits{Timeout: 2 * time.Second, Scratch: 64 << 20, Processes: 64}, Require: true,
					})
					if err != nil && !strings.Contains(err.Error(), "sandbox: stopped: ") {
						t.Errorf("%s %q: %v", c.id, c.command, err)
					} else if r.Level != level {
						t.Errorf("%s ran at level %s", c.id, r.Level)
					}
					mu.Lock()
					if err == nil && !r.TimedOut {
						ended++
					}
					if len(r.Changed) > 0 {
						changed++
					}
					mu.Unlock()
				}
			})
		}
		var ids []string
		for _, c := range now {
			work <- c
			ids = append(ids, c.id)
		}
		close(work)
		wg.Wait()
		w.check(t, strings.Join(ids, " "))
	}
	t.Logf("%d ended by themselves; %d would have changed the workspace", ended, changed)
}
