package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// attackName is argv[0] of the attack: this test program, started inside a view.
const attackName = "sandbox-attack"

func init() {
	if len(os.Args) == 2 && os.Args[0] == attackName {
		attackMain(os.Args[1])
	}
}

// mark is what the attack aims at.
type mark struct {
	Workspace, Home, Canary, Socket, Abstract, FIFO, TCP, UDP, Datagrams, Leaked string
	Sentinel, Host                                                               int
}

// An assault is one attempt. Refused, it returns an error; one that the view may allow, because
// what it does stays inside, is contained, and the world outside decides.
type assault struct {
	group, name string
	contained   bool
	try         func(m *mark) error
}

// outcome is how an attempt ended.
type outcome struct {
	Group, Name string
	Contained   bool
	Err         string // "" when it got through
}

// errNothing is for attempts that find nothing to attack, such as a device that is not there.
var errNothing = errors.New("nothing there")

func attackMain(arg string) {
	var m mark
	if err := json.Unmarshal([]byte(arg), &m); err != nil {
		os.Exit(2)
	}
	var all []outcome
	for _, a := range assaults() {
		o := outcome{Group: a.group, Name: a.name, Contained: a.contained}
		if err := a.try(&m); err != nil {
			o.Err = err.Error()
		}
		all = append(all, o)
	}
	out, err := json.Marshal(all)
	if err != nil {
		os.Exit(3)
	}
	if _, err := os.Stdout.Write(out); err != nil {
		os.Exit(4)
	}
	os.Exit(0)
}

func assaults() []assault {
	return slices.Concat(firstAssaults, fileAssaults, metadataAssaults, mountAssaults, processAssaults, kernelAssaults, socketAssaults(), otherAssaults)
}

// TestAttack runs every attempt at every level, and as it runs again as an ordinary user, for both.
func TestAttack(t *testing.T) {
	if n := len(assaults()); n < 80 {
		t.Fatalf("only %d attempts", n)
	}
	levels := backends(t)
	table := map[string]map[Level]string{}
	var names []string
	for level, e := range levels {
		w := newWorld(t)
		attackFrom(t, reExecuted(e), level, ReadOnly, w, w.workspace)
		for _, view := range []View{ReadOnly, Scratch, Workspace} {
			if view == Workspace && level == Landlock && testing.Short() {
				continue
			}
			w := newWorld(t)
			if view == Workspace {
				// Its workspace may be changed, so the attack gets an empty one and goes for the rest.
				own := t.TempDir()
				attackFrom(t, e, level, view, w, own)
				continue
			}
			for _, o := range attackFrom(t, e, level, view, w, w.workspace) {
				if view != ReadOnly {
					continue
				}
				key := o.Group + "\t" + o.Name
				if table[key] == nil {
					table[key] = map[Level]string{}
				}
				if table[key][level] = o.Err; o.Err == "" {
					table[key][level] = "contained"
				}
				if !slices.Contains(names, key) {
					names = append(names, key)
				}
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d attempts in the read-only view, as user %d:\n", len(names), os.Geteuid())
	fmt.Fprintf(&b, "%-10s %-44s %-34s %-34s\n", "", "attempt", Namespaces, Landlock)
	for _, key := range names {
		group, name, _ := strings.Cut(key, "\t")
		fmt.Fprintf(&b, "%-10s %-44s %-34s %-34s\n", group, name, table[key][Namespaces], table[key][Landlock])
	}
	t.Log(b.String())
}

func attackFrom(t *testing.T, e *engine, level Level, view View, w *world, dir string) []outcome {
	t.Helper()
	m := mark{
		Workspace: w.workspace, Home: w.home, Canary: w.canary, Socket: w.socket, Abstract: w.abstract, FIFO: w.fifo,
		TCP: w.port, UDP: w.udp, Datagrams: w.datagrams, Leaked: w.leaked.Name(), Sentinel: w.sentinel.Process.Pid, Host: os.Getpid(),
	}
	arg, err := json.Marshal(m)
	must(t, err)
	var out, errOut bytes.Buffer
	j, err := newJob(Spec{
		Argv: []string{selfInHelper, string(arg)}, Dir: dir, Env: w.env(), View: view, Hidden: w.hidden,
		Stdout: &out, Stderr: &errOut, Limits: Limits{Timeout: time.Minute},
	})
	must(t, err)
	j.Argv[0], j.program = attackName, selfInHelper
	have, ok := e.holding(t.Context(), level)
	if !ok {
		t.Fatalf("level %s does not hold", level)
	}
	r, err := j.runHelped(t.Context(), level, have, e.faults)
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%s, %s: the attack ended with %+v, %v\n%s", level, view, r, err, &errOut)
	}
	var all []outcome
	must(t, json.Unmarshal(out.Bytes(), &all))
	if errOut.Len() > 0 {
		t.Logf("%s, %s: %s", level, view, &errOut)
	}
	for _, o := range all {
		// In a throw-away view the workspace may be attacked: only the world outside counts.
		inside := view == Scratch && slices.Contains([]string{"file", "metadata"}, o.Group)
		// A loopback of its own, which nobody outside is on.
		inside = inside || view != ReadOnly && o.Group == "socket"
		if o.Err == "" && !o.Contained && !inside {
			t.Errorf("%s, %s: %s got through", level, view, o.Name)
		}
	}
	w.check(t, fmt.Sprintf("attack at %s, %s", level, view))
	return all
}

// sys is a raw system call.
func sys(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}
