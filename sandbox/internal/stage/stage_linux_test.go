//go:build linux && (amd64 || arm64)

package stage

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// outcome is what can be seen of a script that was performed.
type outcome struct {
	Reply
	replied bool
	out     string
	exit    int
}

// perform has s performed twice, by the image and by this test program under the interpreter's
// name, and check look at both.
func perform(t *testing.T, s *Script, check func(t *testing.T, o outcome)) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, Image(), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"image": image, "self": "/proc/self/exe"} {
		t.Run(name, func(t *testing.T) { check(t, start(t, program, s.Encode(), true)) })
	}
}

// start runs program as the interpreter of script; open keeps our end of the socket open for
// writing until it has ended.
func start(t *testing.T, program string, script []byte, open bool) (o outcome) {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Args[0] = Name
	cmd.ExtraFiles = []*os.File{theirs, self}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	if _, err := ours.Write(script); err != nil {
		t.Fatal(err)
	}
	if !open {
		if err := syscall.Shutdown(pair[0], syscall.SHUT_WR); err != nil {
			t.Fatal(err)
		}
	}
	body, err := io.ReadAll(ours)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) { // it ended without reading all
		t.Fatal(err)
	}
	_ = cmd.Wait()
	o.replied, o.exit, o.out = o.Decode(body), cmd.ProcessState.ExitCode(), out.String()
	return o
}

// writer is a script in the making.
type writer struct{ Script }

func (w *writer) text(s string) uint64 {
	for len(w.Data)%8 != 0 {
		w.Data = append(w.Data, 0)
	}
	at := uint64(len(w.Data))
	w.Data = append(append(w.Data, s...), 0)
	return at
}

func (w *writer) pointers(to ...uint64) uint64 {
	at := w.text(strings.Repeat("\x00", 8*len(to)+8))
	for i, off := range to {
		binary.NativeEndian.PutUint64(w.Data[at+uint64(8*i):], off)
		w.Reloc = append(w.Reloc, uint32(at)+uint32(8*i))
	}
	return at
}

func (w *writer) add(ops ...Op) { w.Ops = append(w.Ops, ops...) }

func op(nr uint32, args ...uint64) Op {
	o := Op{NR: nr}
	copy(o.Arg[:], args)
	return o
}

// of gives the arguments of o their kinds.
func (o Op) of(kinds ...uint8) Op {
	copy(o.Kind[:], kinds)
	return o
}

func (o Op) store(slot uint16) Op {
	o.Store = slot
	return o
}

func (o Op) flag(flags, skip uint16) Op {
	o.Flags, o.Skip = flags, skip
	return o
}

// execveat is a system call that package syscall does not know.
func execveat() uint32 {
	if runtime.GOARCH == "arm64" {
		return 281
	}
	return 322
}

// print writes text to the standard output.
func (w *writer) print(text string) {
	w.add(op(syscall.SYS_WRITE, 1, w.text(text), uint64(len(text))).of(Imm, Data))
}

func (w *writer) exit(code uint64) { w.add(op(syscall.SYS_EXIT_GROUP, code)) }

// executes adds the execution of a shell command.
func (w *writer) executes(command string) {
	argv := w.pointers(w.text("sh"), w.text("-c"), w.text(command))
	w.add(op(syscall.SYS_EXECVE, w.text("/bin/sh"), argv, w.pointers()).of(Data, Data, Data))
}

// waits adds what waits for the child in a slot, sends the reply and exits; a hang-up leads to the
// exit code 9.
func (w *writer) waits(child uint64, timeout uint64) {
	fds := w.text(string([]byte{FD, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0}))
	reply := w.text(string((&Reply{Phase: Ended}).Encode()))
	status := reply + uint64(StatusOffset)
	w.add(
		op(Wait, child, fds, status, w.text(strings.Repeat("\x00", 16)), 0, timeout).of(Slot, Data, Data, Data).flag(0, 2),
		op(syscall.SYS_SENDTO, FD, reply, uint64(ReplySize)).of(Imm, Data),
		op(syscall.SYS_EXIT_GROUP, 0),
		op(syscall.SYS_EXIT_GROUP, 9),
	)
}

const failed = 125

func TestSpawn(t *testing.T) {
	w := &writer{}
	w.add(op(Spawn, 5).store(1))
	w.waits(1, 10e6)
	w.executes("echo said; exit 7")
	perform(t, &w.Script, func(t *testing.T, o outcome) {
		if o.Phase != Ended || syscall.WaitStatus(o.Status).ExitStatus() != 7 || o.out != "said\n" || o.exit != 0 {
			t.Errorf("%+v", o)
		}
	})
}

// TestSpawnFails has the process that shares the memory fail: its parent tells which operation.
func TestSpawnFails(t *testing.T) {
	for _, missing := range []bool{false, true} {
		w := &writer{}
		w.add(op(Spawn, 5).store(1))
		w.waits(1, 10e6)
		w.add(op(syscall.SYS_CLOSE, 999).flag(MayFail, 0))
		want, errno := uint32(6), syscall.EBADF
		if missing {
			errno = syscall.ENOENT
			w.add(op(syscall.SYS_EXECVE, w.text("/no/such/program"), 0, 0).of(Data))
		} else {
			w.add(op(syscall.SYS_CLOSE, 999))
			w.executes("echo ran")
		}
		perform(t, &w.Script, func(t *testing.T, o outcome) {
			if o.Phase != Failed || o.Index != want || syscall.Errno(o.Errno) != errno || o.out != "" || o.exit != failed {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestFails(t *testing.T) {
	w := &writer{}
	missing := op(syscall.SYS_CHDIR, w.text("/no/such/place")).of(Data)
	// The third is passed over with the second, the fourth fails.
	w.add(missing.flag(MayMiss, 0), missing.flag(MayFail, 1), op(syscall.SYS_EXIT_GROUP), missing)
	w.print("ran")
	perform(t, &w.Script, func(t *testing.T, o outcome) {
		if o.Phase != Failed || o.Index != 3 || syscall.Errno(o.Errno) != syscall.ENOENT || o.out != "" || o.exit != failed {
			t.Errorf("%+v", o)
		}
	})
}

// TestFlagsAreNarrow has each flag meet what it does not tolerate.
func TestFlagsAreNarrow(t *testing.T) {
	for name, tt := range map[string]struct {
		op    Op
		errno syscall.Errno
		quiet bool
	}{
		"no flag":                   {op(syscall.SYS_CLOSE, 999), syscall.EBADF, false},
		"another error":             {op(syscall.SYS_CLOSE, 999).flag(MayMiss, 0), syscall.EBADF, false},
		"a result of 0":             {op(syscall.SYS_CLOSE, 1).flag(NotZero, 0), 0, false},
		"an error for 0":            {op(syscall.SYS_CLOSE, 999).flag(NotZero, 0), syscall.EBADF, false},
		"an error, quietly":         {op(syscall.SYS_CLOSE, 999).flag(Quiet, 0), 0, true},
		"a result of 0, quietly":    {op(syscall.SYS_CLOSE, 1).flag(NotZero|Quiet, 0), 0, true},
		"no operation of that sort": {op(Wait + 1), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{}
			w.add(op(syscall.SYS_DUP, 1).store(1), tt.op)
			w.add(op(syscall.SYS_WRITE, 1, w.text("ran"), 3).of(Slot, Data))
			w.exit(0)
			perform(t, &w.Script, func(t *testing.T, o outcome) {
				if o.replied == tt.quiet || o.out != "" || o.exit != failed {
					t.Errorf("%+v", o)
				}
				if !tt.quiet && (o.Phase != Failed || o.Index != 1 || syscall.Errno(o.Errno) != tt.errno) {
					t.Errorf("%+v", o)
				}
			})
		})
	}
}

// TestRunsOut has a script without an end.
func TestRunsOut(t *testing.T) {
	w := &writer{}
	w.print("ran")
	perform(t, &w.Script, func(t *testing.T, o outcome) {
		if o.replied || o.out != "ran" || o.exit != failed {
			t.Errorf("%+v", o)
		}
	})
}

// TestSlots writes through descriptors that earlier calls stored, in the first slot and the last,
// and one that was patched into the data. All six arguments are read from slots.
func TestSlots(t *testing.T) {
	w := &writer{}
	number := w.text("\x00\x00\x00\x00")
	w.add(
		op(syscall.SYS_DUP, 1).store(1),
		op(syscall.SYS_DUP, 1).store(MaxSlots),
		op(syscall.SYS_WRITE, 1, w.text("slot "), 5).of(Slot, Data),
		op(syscall.SYS_WRITE, MaxSlots, w.text("last "), 5).of(Slot, Data),
		op(Patch, 1, number).of(Slot, Data),
		op(syscall.SYS_WRITE, 1, number, 1).of(Imm, Data),
		op(syscall.SYS_LSEEK, FD, 0, 0).flag(MayFail, 0).store(2), // which fails, and stores nothing
		op(syscall.SYS_CLOSE, 2).of(Slot),                         // so this closes descriptor 0
	)
	// A mapping with every argument from a slot: umask gives numbers back.
	for i, v := range []uint64{0, 0o100, 3, 0x22, 0, 0} {
		w.add(op(syscall.SYS_UMASK, v), op(syscall.SYS_UMASK, v).store(uint16(10+i)))
	}
	w.add(
		op(syscall.SYS_MMAP, 10, 11, 12, 13, 14, 15).of(Slot, Slot, Slot, Slot, Slot, Slot).flag(NotZero, 0).store(20),
		op(Patch, 'm', 20).of(Imm, Slot),
		op(syscall.SYS_WRITE, 1, 20, 1).of(Imm, Slot),
	)
	w.exit(3)
	perform(t, &w.Script, func(t *testing.T, o outcome) {
		if o.replied || o.exit != 3 || len(o.out) != 12 || !strings.HasPrefix(o.out, "slot last ") || o.out[10] < 3 || o.out[11] != 'm' {
			t.Errorf("%+v", o)
		}
	})
}

func TestDecimal(t *testing.T) {
	for _, n := range []uint64{0, 7, 10, 4194304, 1<<64 - 1} {
		w := &writer{}
		buf := w.text("/proc/" + strings.Repeat("x", 24))
		w.add(op(Decimal, n, buf+6).of(Imm, Data), op(syscall.SYS_WRITE, 1, buf, 30).of(Imm, Data))
		w.exit(0)
		perform(t, &w.Script, func(t *testing.T, o outcome) {
			if got, _, _ := strings.Cut(o.out, "\x00"); got != fmt.Sprint("/proc/", n) || strings.Count(o.out, "x") != 23-len(fmt.Sprint(n)) {
				t.Errorf("%q", o.out)
			}
		})
	}
}

// TestFork has both processes write, the second after it has heard from the first over a pipe, and
// the first wait for the second. With early, the first ends without a word.
func TestFork(t *testing.T) {
	for _, early := range []bool{false, true} {
		w := &writer{}
		const in, out, closeRange = 4, 5, 436
		ends := w.text(strings.Repeat("\x00", 8))
		w.add(
			op(closeRange, in, 1<<31), // so that the pipe has known numbers
			op(syscall.SYS_PIPE2, ends, syscall.O_CLOEXEC).of(Data),
			op(Fork, 0, 8).store(1).flag(NotZero, 0),
		)
		w.print("first ")
		if early {
			w.add(op(syscall.SYS_CLOSE, out))
		} else {
			w.add(op(syscall.SYS_WRITE, out, ends, 1).of(Imm, Data))
		}
		status := w.text(strings.Repeat("\x00", 8))
		w.add(
			op(syscall.SYS_WAIT4, 1, status, 0, 0).of(Slot, Data).flag(NotZero, 0),
			op(syscall.SYS_WRITE, 1, status+1, 1).of(Imm, Data), // the exit code
		)
		w.exit(4)
		w.add(op(syscall.SYS_CLOSE, out), op(syscall.SYS_READ, in, ends, 1).of(Imm, Data).flag(NotZero|Quiet, 0))
		w.print("second ")
		w.exit('5')
		want := "first second 5"
		if early {
			want = "first \x7d" // 125
		}
		perform(t, &w.Script, func(t *testing.T, o outcome) {
			if o.replied || o.exit != 4 || o.out != want {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestForkFails has flags that contradict one another.
func TestForkFails(t *testing.T) {
	w := &writer{}
	w.print("before ")
	w.add(op(Fork, syscall.CLONE_THREAD, 0))
	w.print("after")
	perform(t, &w.Script, func(t *testing.T, o outcome) {
		if o.Phase != Failed || o.Index != 1 || syscall.Errno(o.Errno) != syscall.EINVAL || o.out != "before " {
			t.Errorf("%+v", o)
		}
	})
}

// TestWait has the program leave an orphan, which must be reaped on the way, and then one look at
// the clock only: nothing tells of the end, because there is no pidfd.
func TestWait(t *testing.T) {
	const subreaper = 36
	w := &writer{}
	w.add(op(syscall.SYS_PRCTL, subreaper, 1), op(Spawn, 6).store(7))
	w.waits(7, 1e6)
	w.executes("(sleep 0.01 &); sleep 0.2; kill -9 $$")
	perform(t, &w.Script, func(t *testing.T, o outcome) {
		if o.Phase != Ended || syscall.WaitStatus(o.Status).Signal() != syscall.SIGKILL || o.exit != 0 {
			t.Errorf("%+v", o)
		}
	})
}

// TestWaitPidfd has an hour to wait, unless the end is told.
func TestWaitPidfd(t *testing.T) {
	const pidfdOpen = 434
	w := &writer{}
	w.add(op(Spawn, 7).store(1), op(pidfdOpen, 1, 0).of(Slot).store(2), op(Patch, 2, 0).of(Slot, Data))
	w.waits(1, 0)
	wait := &w.Ops[3]
	wait.Arg[4] = 3600
	w.Ops[2].Arg[1] = wait.Arg[1] + 8
	w.executes("sleep 0.05; exit 6")
	perform(t, &w.Script, func(t *testing.T, o outcome) {
		if o.Phase != Ended || syscall.WaitStatus(o.Status).ExitStatus() != 6 {
			t.Errorf("%+v", o)
		}
	})
}

// TestHangUp closes our end while the program runs.
func TestHangUp(t *testing.T) {
	w := &writer{}
	w.add(op(Spawn, 5).store(1))
	w.waits(1, 0)
	w.Ops[1].Arg[4] = 3600
	// The program must not keep the helper's end: its death is not what is waited for.
	w.add(op(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uint64(syscall.SIGKILL)), op(syscall.SYS_CLOSE, FD))
	w.executes("exec sleep 4321")
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, Image(), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{image, "/proc/self/exe"} {
		if o := start(t, program, w.Encode(), false); o.replied || o.exit != 9 {
			t.Errorf("%s: %+v", program, o)
		}
	}
}

// TestEnder leaves processes behind, some of them in sessions of their own.
func TestEnder(t *testing.T) {
	const subreaper, emptyPath = 36, 0x1000
	sleep := fmt.Sprint("sleep 4321.", os.Getpid())
	w := &writer{}
	w.add(op(syscall.SYS_PRCTL, subreaper, 1), op(Spawn, 6).store(1))
	w.waits(1, 10e6)
	w.Ops[4] = op(execveat(), ExeFD, w.text(""), w.pointers(w.text(Ender)), w.pointers(), emptyPath).of(Imm, Data, Data, Data)
	w.executes(strings.ReplaceAll("S & setsid S & (setsid sh -c 'S & exec S' &) ; until [ $(pgrep -fxc 'S') = 4 ]; do :; done; echo all", "S", sleep))
	perform(t, &w.Script, func(t *testing.T, o outcome) {
		if o.Phase != Ended || o.exit != 0 || o.out != "all\n" {
			t.Errorf("%+v", o)
		}
		if left, _ := exec.Command("pgrep", "-fx", sleep).Output(); len(left) > 0 {
			t.Errorf("still there: %q", left)
		}
	})
}

// TestCutShort has scripts that are none: nothing of them may be performed.
func TestCutShort(t *testing.T) {
	w := &writer{}
	w.print("ran")
	w.exit(0)
	whole := w.Encode()
	wrong := bytes.Clone(whole)
	wrong[0]++
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, Image(), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{image, "/proc/self/exe"} {
		for _, script := range [][]byte{nil, whole[:1], whole[:15], whole[:16], whole[:17], whole[:len(whole)-1], wrong, make([]byte, 16)} {
			if o := start(t, program, script, false); o.replied || o.out != "" || o.exit != failed {
				t.Errorf("%s, %d bytes: %+v", program, len(script), o)
			}
		}
	}
	// Without the descriptor there is nobody to tell.
	if err := exec.Command(image).Run(); err == nil || err.Error() != "exit status 125" {
		t.Errorf("alone: %v", err)
	}
}

// TestLong has a script that no single read brings.
func TestLong(t *testing.T) {
	w := &writer{}
	w.Data = make([]byte, 3<<20)
	for range 20000 {
		w.add(op(syscall.SYS_UMASK, 0))
	}
	last := w.text("end")
	w.add(op(syscall.SYS_WRITE, 1, last, 3).of(Imm, Data))
	w.exit(0)
	perform(t, &w.Script, func(t *testing.T, o outcome) {
		if o.out != "end" || o.exit != 0 {
			t.Errorf("%+v", o)
		}
	})
}

// TestImage reads the image as a debugger does.
func TestImage(t *testing.T) {
	image := Image()
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	if len(image) > codeMax || len(f.Progs) != 2 || bytes.Contains(image, []byte(codeEnd)) {
		t.Errorf("%d bytes, %d segments", len(image), len(f.Progs))
	}
	code := f.Progs[0]
	if code.Type != elf.PT_LOAD || code.Flags != elf.PF_R|elf.PF_X || code.Filesz != uint64(len(image)) ||
		f.Entry <= code.Vaddr || f.Entry >= code.Vaddr+code.Filesz || f.Entry%16 != 0 {
		t.Errorf("entry %#x of %+v", f.Entry, code.ProgHeader)
	}
	if stack := f.Progs[1]; stack.Type != elf.PT_GNU_STACK || stack.Flags != elf.PF_R|elf.PF_W {
		t.Errorf("the stack is %+v", stack.ProgHeader)
	}
}

// TestNamed leaves other programs alone.
func TestNamed(t *testing.T) {
	for _, name := range []string{Name + "x", Name[:len(Name)-1], "x" + Name, Ender + "x", ""} {
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
