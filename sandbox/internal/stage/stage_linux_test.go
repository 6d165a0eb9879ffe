//go:build linux && (amd64 || arm64)

package stage

import (
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// perform starts this test program as the interpreter and has it perform s.
func perform(t *testing.T, s *Script) (Reply, string) {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Args[0] = Name
	cmd.ExtraFiles = []*os.File{theirs}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	if _, err := ours.Write(s.Encode()); err != nil {
		t.Fatal(err)
	}
	var r Reply
	body, err := io.ReadAll(ours)
	if err != nil || !r.Decode(body) {
		t.Fatalf("reply %x, %v", body, err)
	}
	_ = cmd.Wait()
	return r, out.String()
}

// data collects C strings.
type data struct{ Script }

func (d *data) text(s string) uint64 {
	for len(d.Data)%8 != 0 {
		d.Data = append(d.Data, 0)
	}
	at := uint64(len(d.Data))
	d.Data = append(append(d.Data, s...), 0)
	return at
}

func (d *data) pointers(to ...uint64) uint64 {
	at := d.text(strings.Repeat("\x00", 8*len(to)+8))
	for i, off := range to {
		binary.NativeEndian.PutUint64(d.Data[at+uint64(8*i):], off)
		d.Reloc = append(d.Reloc, uint32(at)+uint32(8*i))
	}
	return at
}

// executes appends the execution of a shell command to the child.
func (d *data) executes(command string) {
	argv := d.pointers(d.text("sh"), d.text("-c"), d.text(command))
	d.Child = append(d.Child, Op{
		NR: syscall.SYS_EXECVE, Kind: [6]uint8{Data, Data, Data}, Arg: [6]uint64{d.text("/bin/sh"), argv, d.pointers()},
	})
}

func TestEnds(t *testing.T) {
	d := &data{}
	d.executes("echo said; exit 7")
	r, out := perform(t, &d.Script)
	if r.Phase != Ended || syscall.WaitStatus(r.Status).ExitStatus() != 7 || out != "said\n" {
		t.Errorf("%+v, %q", r, out)
	}
}

func TestSetupFails(t *testing.T) {
	d := &data{}
	missing := Op{NR: syscall.SYS_CHDIR, Kind: [6]uint8{Data}, Arg: [6]uint64{d.text("/no/such/place")}}
	tolerated, skipping := missing, missing
	tolerated.Flags = MayMiss
	skipping.Flags, skipping.Skip = MayFail, 1
	// The third is passed over with the second, the fourth fails.
	d.Setup = []Op{tolerated, skipping, {NR: syscall.SYS_EXIT_GROUP}, missing}
	d.executes("echo ran")
	r, out := perform(t, &d.Script)
	if r.Phase != SetupFailed || r.Index != 3 || syscall.Errno(r.Errno) != syscall.ENOENT || out != "" {
		t.Errorf("%+v, %q", r, out)
	}
}

// TestMayMissIsNarrow has another error than a missing file.
func TestMayMissIsNarrow(t *testing.T) {
	d := &data{}
	d.Setup = []Op{{NR: syscall.SYS_CLOSE, Flags: MayMiss, Arg: [6]uint64{999}}}
	d.executes("echo ran")
	if r, out := perform(t, &d.Script); r.Phase != SetupFailed || syscall.Errno(r.Errno) != syscall.EBADF || out != "" {
		t.Errorf("%+v, %q", r, out)
	}
}

func TestChildFails(t *testing.T) {
	d := &data{}
	d.Child = []Op{
		{NR: syscall.SYS_CLOSE, Flags: MayFail, Arg: [6]uint64{999}},
		{NR: syscall.SYS_CLOSE, Arg: [6]uint64{999}},
	}
	d.executes("echo ran")
	if r, out := perform(t, &d.Script); r.Phase != ChildFailed || r.Index != 1 || syscall.Errno(r.Errno) != syscall.EBADF || out != "" {
		t.Errorf("%+v, %q", r, out)
	}
	d = &data{}
	d.Child = []Op{{NR: syscall.SYS_EXECVE, Kind: [6]uint8{Data}, Arg: [6]uint64{d.text("/no/such/program")}}}
	if r, _ := perform(t, &d.Script); r.Phase != ChildFailed || r.Index != 0 || syscall.Errno(r.Errno) != syscall.ENOENT {
		t.Errorf("%+v", r)
	}
}

// TestSlots writes through a descriptor that an earlier call stored, and through one that was
// patched into the data.
func TestSlots(t *testing.T) {
	d := &data{}
	text := d.text("slot ")
	number := d.text("\x00\x00\x00\x00")
	d.Setup = []Op{
		{NR: syscall.SYS_DUP, Store: 5, Arg: [6]uint64{1}},
		{NR: syscall.SYS_WRITE, Kind: [6]uint8{Slot, Data}, Arg: [6]uint64{5, text, 5}},
		{NR: Patch, Arg: [6]uint64{5, number}},
	}
	// The number lies in the data now: the child writes its low byte.
	d.Child = []Op{{NR: syscall.SYS_WRITE, Kind: [6]uint8{Imm, Data}, Arg: [6]uint64{1, number, 1}}}
	d.executes("exit 0")
	r, out := perform(t, &d.Script)
	if r.Phase != Ended || len(out) != 6 || !strings.HasPrefix(out, "slot ") || out[5] < 3 {
		t.Errorf("%+v, %q", r, out)
	}
}

// TestNamed leaves other programs alone.
func TestNamed(t *testing.T) {
	for _, name := range []string{Name + "x", Name[:len(Name)-1], "x" + Name, ""} {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^$")
		cmd.Args[0] = name
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q was taken over: %v\n%s", name, err, out)
		}
	}
}

func TestDecode(t *testing.T) {
	var r Reply
	for _, b := range [][]byte{nil, make([]byte, ReplySize), make([]byte, ReplySize+1), {1}} {
		if r.Decode(b) {
			t.Errorf("%x is taken for a reply", b)
		}
	}
}
