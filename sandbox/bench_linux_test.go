package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/planmode-dev/planmode/sandbox/internal/stage"
)

// BenchmarkRun times `bash -c true`, plain, then at each level, and prints medians beside the re-exec
// of this program and the helper, both doing nothing: what a level adds is the difference to plain.
func BenchmarkRun(b *testing.B) {
	dir := b.TempDir()
	argv := []string{"bash", "-c", "true"}
	medians := map[string]time.Duration{}
	measure := func(name string, run func() error) {
		b.Run(name, func(b *testing.B) {
			var times []time.Duration
			cpu := cpuTime()
			for b.Loop() {
				start := time.Now()
				if err := run(); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			medians[name] = times[len(times)/2]
			b.ReportMetric(float64(medians[name].Microseconds()), "median-µs")
			// On a busy machine this tells more than the clock.
			b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(len(times)), "cpu-µs/op")
		})
	}
	measure("plain", func() error {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		return cmd.Run()
	})
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	measure("re-exec", func() error {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), benchExit+"=1")
		return cmd.Run()
	})
	helper, err := helperProgram(faults{})
	if err != nil {
		b.Fatal(err)
	}
	measure("helper", func() error {
		cmd := exec.Command(helper.path)
		cmd.Args[0] = stage.Name
		cmd.ExtraFiles = append([]*os.File{nil}, helper.files...)
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != noScript {
			return fmt.Errorf("the helper without a script: %w", err)
		}
		return nil
	})
	for _, l := range benchLevels(b) {
		measure(l.name, func() error { return l.run(Spec{Argv: argv, Dir: dir}) })
	}
	for _, l := range benchLevels(b) {
		added := medians[l.name] - medians["plain"]
		fmt.Printf("%-24s adds %v, %.2f × the plain %v (re-exec of this program alone: %v, the helper alone: %v)\n",
			l.name, added, float64(added)/float64(medians["plain"]), medians["plain"], medians["re-exec"], medians["helper"])
	}
}

// cpuTime is what this process and its children have used.
func cpuTime() time.Duration {
	var total time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var usage unix.Rusage
		if unix.Getrusage(who, &usage) == nil {
			total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
	}
	return total
}

const benchExit = "SANDBOX_BENCH_EXIT"

func init() {
	if os.Getenv(benchExit) != "" {
		os.Exit(0)
	}
}

type benchLevel struct {
	name string
	run  func(Spec) error
}

// benchLevels are the views at the levels that hold here.
func benchLevels(b *testing.B) []benchLevel {
	var levels []benchLevel
	for _, l := range []struct {
		name   string
		view   View
		faults faults
		want   Level
	}{
		{"full", Full, faults{}, None},
		{"landlock/read-only", ReadOnly, faults{NoUserNS: true}, Landlock},
		{"mounts/read-only", ReadOnly, faults{NoLandlock: true}, Mounts},
		{"namespaces/read-only", ReadOnly, faults{}, Namespaces},
		{"namespaces/workspace", Workspace, faults{}, Namespaces},
		{"namespaces/scratch", Scratch, faults{}, Namespaces},
	} {
		e := &engine{faults: l.faults}
		if l.view != Full {
			if r := e.probe(b.Context()); r.Level != l.want {
				b.Logf("%s: left out: %s", l.name, r)
				continue
			}
		}
		levels = append(levels, benchLevel{l.name, func(s Spec) error {
			s.View = l.view
			_, err := e.run(b.Context(), s)
			return err
		}})
	}
	return levels
}
