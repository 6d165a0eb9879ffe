//go:build unix

package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const childEnv = "PLANMODE_JOURNAL_TEST_CHILD"

func TestMain(m *testing.M) {
	if job, path, ok := strings.Cut(os.Getenv(childEnv), ":"); ok {
		run := map[string]func(string) error{"write": writeUntilKilled, "limit": writeUntilFull}[job]
		if err := run(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, job, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+job+":"+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// writeUntilKilled appends numbered lines of changing length and prints each number after it was acknowledged.
func writeUntilKilled(path string) error {
	f, err := Open(path, nil)
	if err != nil {
		return err
	}
	n := 0
	for _, err := range f.Lines() {
		if err != nil {
			return err
		}
		n++
	}
	for ; ; n++ {
		if err := f.Append([]byte(numbered(n))); err != nil {
			return err
		}
		if _, err := fmt.Println(n); err != nil {
			return err
		}
	}
}

func numbered(n int) string { return fmt.Sprintf("%d:%s", n, strings.Repeat("x", n*7919%20_000)) }

// A writer that is killed at any moment has lost nothing that it acknowledged. (This shows the order of
// write and acknowledgement; that fsync holds when the power fails is the file system's promise.)
func TestKilledWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	acked, torn := -1, int64(0)
	for round := range 8 {
		cmd := child(t, "write", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acks := bufio.NewScanner(out)
		// Let it acknowledge something, then strike at a random moment of the next few appends.
		for range 1 + rand.IntN(5) {
			if acks.Scan() {
				acked = parse(t, acks.Text())
			}
		}
		time.Sleep(time.Duration(rand.IntN(8000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for acks.Scan() { // what it had said before the blow
			acked = parse(t, acks.Text())
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		f, err := Open(path, nil)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		torn += f.Report().TornBytes
		lines, err := collect(f.Lines())
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if len(lines) <= acked {
			t.Fatalf("round %d: %d was acknowledged and there are %d lines", round, acked, len(lines))
		}
		if len(lines) > acked+2 {
			t.Errorf("round %d: %d lines, only %d acknowledged: an append ran ahead", round, len(lines), acked+1)
		}
		for i, line := range lines {
			if line != numbered(i) {
				t.Fatalf("round %d: line %d is %.40q", round, i, line)
			}
		}
	}
	if acked < 8 {
		t.Errorf("only %d acknowledged lines were tested", acked+1)
	}
	t.Logf("%d lines acknowledged over 8 kills, %d torn bytes", acked+1, torn)
}

func parse(t *testing.T, s string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatalf("acknowledgement %q: %v", s, err)
	}
	return n
}

// writeUntilFull meets a real short write: the kernel cuts one off at the size limit of the process.
func writeUntilFull(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	full := limit
	full.Cur = 5500 // in the middle of the sixth line
	f, err := Open(path, nil)
	if err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		return err
	}
	line := []byte(strings.Repeat("y", 999))
	acked := 0
	for ; acked < 20; acked++ {
		if err = f.Append(line); err != nil {
			break
		}
	}
	if acked != 5 || !errors.Is(err, syscall.EFBIG) && !errors.Is(err, io.ErrShortWrite) {
		return fmt.Errorf("%d acknowledged, then %w", acked, err)
	}
	if err := f.Append(line); err == nil {
		return errors.New("an append beyond the limit was acknowledged")
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if err := f.Append([]byte("after")); err != nil {
		return fmt.Errorf("after the limit was lifted: %w", err)
	}
	return f.Close()
}

func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := child(t, "limit", path).Run(); err != nil {
		t.Fatal(err)
	}
	y := strings.Repeat("y", 999)
	wantLines(t, Read(path, nil), y, y, y, y, y, "after")
}

// Two processes: the second is told who has the journal, and gets it when the first is killed.
func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	cmd := child(t, "write", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !bufio.NewScanner(out).Scan() {
		t.Error("the child wrote nothing")
	}
	_, err = Open(path, nil)
	if who := fmt.Sprintf("process %d on ", cmd.Process.Pid); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), who) {
		t.Errorf("error %v, want one that names %q", err, who)
	}
	for l, err := range Read(path, nil) { // reading goes on meanwhile
		if err != nil || string(l.Data) != numbered(l.Number-1) {
			t.Fatalf("line %d: %.40q, %v", l.Number, l.Data, err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended by itself")
	}
	mustAppend(t, mustOpen(t, path, nil), "mine")
}
