package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/planmode-dev/planmode/sandbox/internal/stage"
)

// TestRungs simulates machines that lack something: the next rung must take over, and the report
// must say truly why.
func TestRungs(t *testing.T) {
	if r := std.probe(t.Context()); r.Level != Namespaces || r.LandlockABI < 6 {
		t.Skipf("the machine itself is not the strongest: %s", r)
	}
	for _, tt := range []struct {
		name    string
		faults  faults
		want    Level
		overlay bool
		why     string // of the first rung that failed
	}{
		{"everything", faults{}, Namespaces, true, ""},
		{"user namespaces refused", faults{NoUserNS: true}, Landlock, false, "namespaces: start: clone: operation not permitted (user namespaces are refused"},
		{"user namespaces without rights", faults{NoMounts: true}, Landlock, false, "namespaces: read-only mounts: "},
		{"first Landlock", faults{ABI: 1}, Namespaces, true, ""},
		{"first Landlock alone", faults{ABI: 1, NoUserNS: true}, Landlock, false, "namespaces: start: "},
		{"third Landlock alone", faults{ABI: 3, NoUserNS: true}, Landlock, false, "namespaces: start: "},
		{"no Landlock", faults{NoLandlock: true}, Mounts, true, "namespaces: landlock: the kernel has no Landlock"},
		{"neither", faults{NoLandlock: true, NoUserNS: true}, None, false, "namespaces: landlock: "},
		{"old /proc", faults{NoProc: true}, Namespaces, true, ""},
		{"old /proc without Landlock", faults{NoProc: true, NoLandlock: true}, None, false, "namespaces: landlock: "},
		{"no overlay", faults{NoOverlay: true}, Namespaces, false, "namespaces: overlay: overlay: no such device"},
		{"no programs in memory", faults{NoImage: true}, Namespaces, true, ""},
		{"no programs in memory, user namespaces refused", faults{NoImage: true, NoUserNS: true}, Landlock, false, "namespaces: start: clone: "},
		{"no seccomp", faults{NoSeccomp: true}, None, false, "namespaces: seccomp: invalid argument"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &engine{faults: tt.faults}
			r := e.probe(t.Context())
			if r.Level != tt.want || r.Overlay != tt.overlay {
				t.Errorf("level %s, overlay %v; want %s, %v\n%s", r.Level, r.Overlay, tt.want, tt.overlay, strings.Join(r.Why(), "\n"))
			}
			why := append(r.Why(), "")
			if !strings.HasPrefix(why[0], tt.why) || tt.why == "" && tt.want != None && why[0] != "" {
				t.Errorf("the report gives %q, want %q", why[0], tt.why)
			}
			checkRuns(t, e, tt.want)
		})
	}
}

// checkRuns runs every view at the level that is to hold and looks at what became of the workspace.
func checkRuns(t *testing.T, e *engine, want Level) {
	t.Helper()
	for _, view := range []View{ReadOnly, Scratch, Workspace} {
		for _, require := range []bool{false, true} {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("whole"), 0o644))
			r, err := e.run(t.Context(), Spec{
				Argv: []string{"bash", "-c", "echo x > new; rm -f file; echo own > $TMPDIR/own && exit 9"},
				Dir:  dir, View: view, Require: require, Hidden: []string{},
			})
			if require && !want.Enforces() {
				if !errors.Is(err, ErrUnavailable) {
					t.Errorf("%s, required: %v, want ErrUnavailable", view, err)
				}
				if _, err := os.Lstat(filepath.Join(dir, "file")); err != nil {
					t.Errorf("%s, required: something ran: %v", view, err)
				}
				continue
			}
			if err != nil || r.Level != want || r.ExitCode != 9 && want != None {
				t.Errorf("%s: %+v, %v; want level %s", view, r, err, want)
			}
			_, err1 := os.Lstat(filepath.Join(dir, "file"))
			_, err2 := os.Lstat(filepath.Join(dir, "new"))
			untouched := err1 == nil && err2 != nil
			if wantUntouched := view != Workspace && want != None; untouched != wantUntouched {
				t.Errorf("%s: untouched %v, want %v", view, untouched, wantUntouched)
			}
			if changed := strings.Join(r.Changed, " "); view == Scratch && want != None && changed != "file new" {
				t.Errorf("changed %q", changed)
			}
		}
	}
}

// TestRefusedForReal has the kernel itself refuse user namespaces, by the limit that administrators
// set, and probes there.
func TestRefusedForReal(t *testing.T) {
	if r := std.probe(t.Context()); r.Level != Namespaces {
		t.Skipf("there are no user namespaces to refuse: %s", r)
	}
	if os.Geteuid() != 0 {
		t.Skip("the limit is set by root, in a user namespace of its own")
	}
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "bash", "-c",
		`echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" -test.run '^TestPrintReport$'`, selfTest(t))
	cmd.Env = append(os.Environ(), printReport+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	line, _, _ := bytes.Cut(out, []byte("\n"))
	var r Report
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if r.Level != Landlock || len(r.Why()) == 0 || !strings.HasPrefix(r.Why()[0], "namespaces: start: ") {
		t.Errorf("the report is %s, %q", r, r.Why())
	}
}

// TestImageRefusedForReal has the kernel refuse to execute files in memory, by the setting that
// administrators make.
func TestImageRefusedForReal(t *testing.T) {
	backends(t)
	if os.Geteuid() != 0 {
		t.Skip("the setting is made by root, in a pid namespace of its own")
	}
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "bash", "-c",
		`echo 2 > /proc/sys/vm/memfd_noexec && exec "$0" -test.run '^TestPrintReport$'`, selfTest(t))
	cmd.Env = append(os.Environ(), printReport+"=1")
	out, err := cmd.CombinedOutput()
	if bytes.Contains(out, []byte("memfd_noexec: No such file")) {
		t.Skip("a kernel without the setting, before Linux 6.3")
	}
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) < 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	var r Report
	must(t, json.Unmarshal([]byte(lines[0]), &r))
	if want := std.probe(t.Context()); r.Level != want.Level || r.Overlay != want.Overlay {
		t.Errorf("the report is %s, %q; want %s", r, r.Why(), want)
	}
	if lines[1] != selfExe {
		t.Errorf("the helper is %q", lines[1])
	}
}

const printReport = "SANDBOX_PRINT_REPORT"

// TestPrintReport is the other half of the tests for real.
func TestPrintReport(t *testing.T) {
	if os.Getenv(printReport) == "" {
		t.Skip("only run by the tests for real")
	}
	must(t, json.NewEncoder(os.Stdout).Encode(Probe(t.Context())))
	helper, err := helperProgram(faults{})
	must(t, err)
	fmt.Println(helper.path)
}

func selfTest(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	return path
}

// TestNested runs the sandbox in the sandbox: nothing there can be enforced once more but
// Landlock, and nothing may break.
func TestNested(t *testing.T) {
	backends(t)
	var out bytes.Buffer
	r, err := Run(t.Context(), Spec{
		Argv: []string{selfTest(t), "-test.run", "^TestPrintReport$"}, Dir: t.TempDir(), Hidden: []string{},
		Env: append(os.Environ(), printReport+"=1"), Stdout: &out, Stderr: &out,
	})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%+v, %v\n%s", r, err, &out)
	}
	line, _, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	var report Report
	must(t, json.Unmarshal(line, &report))
	if report.Level == Namespaces || report.Level == Mounts {
		t.Errorf("inside, the report is %s", report)
	}
	t.Logf("inside: %s", report)
}

func TestReportForms(t *testing.T) {
	r := Report{
		Level: Landlock, OS: "linux", Kernel: "6.8.0", LandlockABI: 4,
		Steps: []Step{{Namespaces, "start", false, "clone: operation not permitted"}, {Level: Landlock, Name: "break-out", OK: true}},
	}
	if got, want := r.String(), "landlock (linux, 6.8.0, Landlock 4); namespaces: start: clone: operation not permitted"; got != want {
		t.Errorf("String is %q, want %q", got, want)
	}
	body, err := json.Marshal(r)
	must(t, err)
	const want = `{"level":"landlock","os":"linux","kernel":"6.8.0","landlock_abi":4,"overlay":false,"steps":[` +
		`{"level":"namespaces","name":"start","ok":false,"why":"clone: operation not permitted"},{"level":"landlock","name":"break-out","ok":true}]}`
	if string(body) != want {
		t.Errorf("JSON is %s", body)
	}
	var back Report
	must(t, json.Unmarshal(body, &back))
	if back.Level != Landlock || back.Steps[0].Level != Namespaces {
		t.Errorf("read back as %+v", back)
	}
}

// TestStageImports holds the helper to what makes it start before everything else.
func TestStageImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{join .Imports \" \"}}", "./internal/stage").Output()
	if err != nil {
		t.Skipf("go list is not at hand: %v", err)
	}
	if got := strings.TrimSpace(string(out)); got != "syscall unsafe" {
		t.Errorf("package stage imports %q, not only syscall and unsafe", got)
	}
	if len(stage.Name) < 8 {
		t.Error("the helper's name could be that of a program")
	}
}

// TestForeignArchitecture executes the system call instruction of 32-bit programs, which must kill.
func TestForeignArchitecture(t *testing.T) {
	if auditArch != unix.AUDIT_ARCH_X86_64 {
		t.Skip("only amd64 has an instruction for another architecture's calls")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler to make the program with")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "int80.c")
	must(t, os.WriteFile(source, []byte(`int main(void){int r;__asm__ volatile("int $0x80":"=a"(r):"a"(20));return r>0?0:1;}`), 0o644))
	program := filepath.Join(dir, "int80")
	if out, err := exec.Command(gcc, "-o", program, source).CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	if err := exec.Command(program).Run(); err != nil {
		t.Skipf("this kernel runs no 32-bit calls at all: %v", err)
	}
	for level, e := range backends(t) {
		r, err := e.run(t.Context(), Spec{Argv: []string{program}, Dir: dir, Require: true})
		if err != nil || r.Signal != "SIGSYS" {
			t.Errorf("%s: %+v, %v; want SIGSYS", level, r, err)
		}
	}
}
