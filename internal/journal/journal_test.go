package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// collect returns the lines and the first error.
func collect(lines iter.Seq2[Line, error]) ([]string, error) {
	var out []string
	for l, err := range lines {
		if err != nil {
			return out, err
		}
		out = append(out, string(l.Data))
	}
	return out, nil
}

func mustOpen(t testing.TB, path string, opts *Options) *File {
	t.Helper()
	f, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return f
}

func mustAppend(t testing.TB, f *File, lines ...string) {
	t.Helper()
	if err := f.Append(raw(lines)...); err != nil {
		t.Fatal(err)
	}
}

func raw(lines []string) [][]byte {
	out := make([][]byte, len(lines))
	for i, l := range lines {
		out[i] = []byte(l)
	}
	return out
}

func wantLines(t testing.TB, lines iter.Seq2[Line, error], want ...string) {
	t.Helper()
	got, err := collect(lines)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %.200q, %v, want %.200q", got, err, want)
	}
}

func TestAppendAndReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "s1.jsonl")
	f := mustOpen(t, path, nil)
	if r := f.Report(); r != (Report{Created: true}) {
		t.Errorf("report of a new file: %+v", r)
	}
	mustAppend(t, f, `{"seq":1}`)
	mustAppend(t, f, `{"seq":2}`, `{"seq":3,"text":"日本語"}`)
	mustAppend(t, f)
	want := []string{`{"seq":1}`, `{"seq":2}`, `{"seq":3,"text":"日本語"}`}
	wantLines(t, f.Lines(), want...)
	wantLines(t, Read(path, nil), want...) // a reader needs no lock
	for l, err := range f.Lines() {
		if err != nil {
			t.Fatal(err)
		}
		if wantOffset := []int64{0, 10, 20}[l.Number-1]; l.Offset != wantOffset {
			t.Errorf("line %d at %d, want %d", l.Number, l.Offset, wantOffset)
		}
	}
	if runtime.GOOS != "windows" {
		for name, mode := range map[string]fs.FileMode{path: 0o600, path + lockExt: 0o600, filepath.Dir(path): 0o700 | fs.ModeDir, filepath.Dir(filepath.Dir(path)): 0o700 | fs.ModeDir} {
			if info, err := os.Stat(name); err != nil || info.Mode() != mode {
				t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, mode)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, path, nil)
	if r := again.Report(); r.Created || r.TornBytes != 0 || r.TornFile != "" || r.Size != int64(len(strings.Join(want, "\n"))+1) {
		t.Errorf("report of a whole file: %+v", r)
	}
	mustAppend(t, again, "4")
	wantLines(t, again.Lines(), append(want, "4")...)
}

func TestBadLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f := mustOpen(t, path, &Options{MaxLine: 10})
	mustAppend(t, f, "0123456789")
	for _, bad := range []string{"", "a\nb", "a\n", "\n", "a\x00", "01234567890"} {
		// A good line beside a bad one is not written either.
		if err := f.Append([]byte("good"), []byte(bad)); !errors.Is(err, ErrBadLine) || !strings.Contains(err.Error(), "lines[1]") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	wantLines(t, f.Lines(), "0123456789")
}

func TestClosed(t *testing.T) {
	f, err := Open(filepath.Join(t.TempDir(), "s.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Append([]byte("x")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	if _, err := collect(f.Lines()); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Lines: %v", err)
	}
}

// The last record is torn at every offset: what was acknowledged before it stays, what is cut is kept, and
// the next append does not join to it.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	head := "{\"seq\":1}\n{\"seq\":2}\n"
	last := `{"seq":3,"text":"é\n…"}` + "\n"
	for n := range len(last) {
		path := filepath.Join(dir, fmt.Sprintf("s%d.jsonl", n))
		write(t, path, head+last[:n])
		f := mustOpen(t, path, nil)
		r := f.Report()
		if r.TornBytes != int64(n) || r.Size != int64(len(head)) || (r.TornFile == "") != (n == 0) {
			t.Fatalf("cut at %d: %+v", n, r)
		}
		if n > 0 {
			if got := read(t, r.TornFile); got != last[:n] {
				t.Errorf("cut at %d: kept %q, want %q", n, got, last[:n])
			}
		}
		mustAppend(t, f, "next")
		wantLines(t, f.Lines(), `{"seq":1}`, `{"seq":2}`, "next")
		if got := read(t, path); got != head+"next\n" {
			t.Errorf("cut at %d: the file is %q", n, got)
		}
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTailRules(t *testing.T) {
	long := strings.Repeat("x", 200_000) // longer than the buffer of the backward search
	tests := []struct {
		name, data string
		opts       *Options
		keep       string
	}{
		{"empty file", "", nil, ""},
		{"only a torn line", "abc", nil, ""},
		{"one newline", "\n", nil, "\n"},
		{"long torn line", "a\n" + long, nil, "a\n"},
		{"long whole line", "a\n" + long + "\n", nil, "a\n" + long + "\n"},
		{"long lines", long + "\n" + long + "\n" + long, nil, long + "\n" + long + "\n"},
		{"zeros from a crash", "a\n\x00\x00\x00", nil, "a\n"},
		{"zeros with a newline", "a\n\x00\x00\x00b\n", nil, "a\n"},
		{"incomplete last line", "{}\n{\"a\":\n", &Options{Complete: json.Valid}, "{}\n"},
		{"incomplete only line", "{\n", &Options{Complete: json.Valid}, ""},
		{"incomplete and torn", "{}\n{\n{", &Options{Complete: json.Valid}, "{}\n"},
		{"only the last line is judged", "{\n{\n{\n", &Options{Complete: json.Valid}, "{\n{\n"},
		{"over the limit is for the reader", "a\nbcdef\n", &Options{MaxLine: 3, Complete: json.Valid}, "a\nbcdef\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			write(t, path, tt.data)
			write(t, path+".torn-1", "older")
			f := mustOpen(t, path, tt.opts)
			if got := read(t, path); got != tt.keep {
				t.Errorf("left %.40q, want %.40q", got, tt.keep)
			}
			r := f.Report()
			if r.Size != int64(len(tt.keep)) || r.TornBytes != int64(len(tt.data)-len(tt.keep)) {
				t.Errorf("report %+v", r)
			}
			if r.TornBytes > 0 {
				if r.TornFile != path+".torn-2" || read(t, r.TornFile) != tt.data[len(tt.keep):] {
					t.Errorf("kept in %s", r.TornFile)
				}
			}
			if read(t, path+".torn-1") != "older" {
				t.Error("an older torn tail was overwritten")
			}
		})
	}
}

// A line that is too long is reported with its place, and the lines behind it still come.
func TestLineOverTheLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	write(t, path, "one\n"+strings.Repeat("x", 150_000)+"\nthree\n"+strings.Repeat("y", 101)+"\n"+strings.Repeat("z", 100)+"\n")
	var got []string
	for l, err := range Read(path, &Options{MaxLine: 100}) {
		if err != nil {
			if !errors.Is(err, ErrBadLine) || l.Data != nil {
				t.Errorf("line %d: %v", l.Number, err)
			}
			got = append(got, fmt.Sprintf("bad %d at %d", l.Number, l.Offset))
			continue
		}
		got = append(got, string(l.Data))
	}
	if want := []string{"one", "bad 2 at 4", "three", "bad 4 at 150011", strings.Repeat("z", 100)}; !slices.Equal(got, want) {
		t.Errorf("got %.60q, want %.60q", got, want)
	}
}

func TestReadLeavesTornTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	write(t, path, "a\nb")
	wantLines(t, Read(path, nil), "a")
	if got := read(t, path); got != "a\nb" {
		t.Errorf("reading changed the file: %q", got)
	}
	if _, err := collect(Read(path+".none", nil)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestIterationStops(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "s.jsonl"), nil)
	mustAppend(t, f, "a", "b", "c")
	for l, err := range f.Lines() {
		if err != nil || l.Number > 1 {
			t.Fatalf("line %d, %v after a break", l.Number, err)
		}
		break
	}
	// What is appended during an iteration belongs to the next one.
	n := 0
	for range f.Lines() {
		mustAppend(t, f, "more")
		n++
	}
	if n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
}

// The receiver owns a line's bytes: keeping one does not see the next.
func TestLinesAreOwned(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "s.jsonl"), nil)
	mustAppend(t, f, "aaaa", "bbbb")
	var kept [][]byte
	for l, err := range f.Lines() {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, l.Data)
		_ = append(l.Data, "overrun"...)
	}
	if string(bytes.Join(kept, nil)) != "aaaabbbb" {
		t.Errorf("kept %q", kept)
	}
}

func TestTwoWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f := mustOpen(t, path, nil)
	mustAppend(t, f, "a")
	_, err := Open(path, nil)
	if !errors.Is(err, ErrLocked) {
		t.Fatalf("second writer: %v", err)
	}
	if who := fmt.Sprintf("process %d on ", os.Getpid()); runtime.GOOS != "windows" && !strings.Contains(err.Error(), who) {
		t.Errorf("the error does not name %q: %v", who, err)
	}
	mustAppend(t, f, "b")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wantLines(t, mustOpen(t, path, nil).Lines(), "a", "b")
}

// A lock file with what is no name in it must not reach a terminal.
func TestHolderIsShowable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	for text, want := range map[string]string{
		"process 7 on box\n": "process 7 on box", "process \x1b[2J": "another process", "": "another process", "root": "another process",
		"process " + strings.Repeat("x", 500): "process " + strings.Repeat("x", 192),
	} {
		write(t, path, text)
		if got := holder(path); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := holder(path + "none"); got != "another process" {
		t.Errorf("no file: %q", got)
	}
}

func TestRefusesWhatIsNoFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	write(t, target, "secret\n")
	links := map[string]string{
		"link.jsonl":        target,
		"dangling.jsonl":    filepath.Join(dir, "nowhere"),
		"locked.jsonl.lock": target,
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link.jsonl", "dangling.jsonl", "locked.jsonl", "folder.jsonl"} {
		path := filepath.Join(dir, name)
		if _, err := Open(path, nil); !errors.Is(err, ErrNotRegular) {
			t.Errorf("Open %s: %v", name, err)
		}
		if name == "locked.jsonl" {
			continue
		}
		if _, err := collect(Read(path, nil)); !errors.Is(err, ErrNotRegular) {
			t.Errorf("Read %s: %v", name, err)
		}
	}
	if got := read(t, target); got != "secret\n" {
		t.Errorf("the target of a link was changed: %q", got)
	}
	if _, err := os.Lstat(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target of a dangling link was made: %v", err)
	}
}

// Lines that went into a removed or replaced file would be lost; lines behind another writer's would join.
func TestChangedUnderneath(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"grown": func(path string) error {
			h, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = h.WriteString("foreign")
			return errors.Join(err, h.Close())
		},
		"cut":      func(path string) error { return os.Truncate(path, 1) },
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, []byte("a\n"), 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			f := mustOpen(t, path, nil)
			mustAppend(t, f, "a")
			if err := change(path); err != nil {
				t.Skipf("this system keeps open files from being %s: %v", name, err)
			}
			before, _ := os.ReadFile(path)
			if err := f.Append([]byte("b")); !errors.Is(err, ErrChanged) {
				t.Errorf("Append: %v", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Errorf("%q became %q", before, after)
			}
			if name == "cut" {
				if _, err := collect(f.Lines()); !errors.Is(err, ErrChanged) {
					t.Errorf("Lines: %v", err)
				}
			}
		})
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.jsonl", "a.jsonl", "a.jsonl.lock", "a.jsonl.torn-1", "note.txt", ".jsonl"} {
		write(t, filepath.Join(dir, name), "x\n")
	}
	if err := os.Mkdir(filepath.Join(dir, "d.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("a.jsonl", filepath.Join(dir, "l.jsonl")); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := List(dir)
	if err != nil || len(entries) != 2 || entries[0].Name != "a" || entries[1].Name != "b" || entries[1].Size != 2 || entries[0].Time.IsZero() {
		t.Errorf("got %+v, %v", entries, err)
	}
	if entries, err := List(filepath.Join(dir, "none")); err != nil || entries != nil {
		t.Errorf("a missing folder: %v, %v", entries, err)
	}
	if _, err := List(filepath.Join(dir, "a.jsonl")); err == nil {
		t.Error("a file was listed")
	}
}

func TestConcurrentAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f := mustOpen(t, path, nil)
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for n := range each {
				if err := f.Append(fmt.Appendf(nil, "%d.%d.a", g, n), fmt.Appendf(nil, "%d.%d.b", g, n)); err != nil {
					t.Error(err)
				}
				if _, err := collect(f.Lines()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	lines, err := collect(f.Lines())
	if err != nil || len(lines) != writers*each*2 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for i := 0; i < len(lines); i += 2 {
		if a, ok := strings.CutSuffix(lines[i], ".a"); !ok || lines[i+1] != a+".b" {
			t.Errorf("a batch was split: %q, %q", lines[i], lines[i+1])
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, s := range []string{"", "a", "a\n", "a\nb", "\n\n", "a\n\x00\n", "\x00", "{}\n{\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		write(t, path, string(data))
		j, err := Open(path, &Options{MaxLine: 50, Complete: json.Valid})
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		r := j.Report()
		left := read(t, path)
		if !strings.HasPrefix(string(data), left) || r.Size != int64(len(left)) || r.TornBytes != int64(len(data)-len(left)) {
			t.Fatalf("%q became %q: %+v", data, left, r)
		}
		if r.TornBytes > 0 && left+read(t, r.TornFile) != string(data) {
			t.Fatalf("bytes were lost: %q + %q", left, read(t, r.TornFile))
		}
		if left != "" && !strings.HasSuffix(left, "\n") {
			t.Fatalf("%q ends without a newline", left)
		}
		mustAppend(t, j, "{}")
		n := 0
		last := ""
		for l, err := range j.Lines() {
			if err != nil && !errors.Is(err, ErrBadLine) {
				t.Fatal(err)
			}
			n, last = l.Number, string(l.Data)
		}
		if n != strings.Count(left, "\n")+1 || last != "{}" {
			t.Fatalf("%d lines, the last %q, after %q", n, last, left)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := Open(path, &Options{MaxLine: 50, Complete: json.Valid})
		if err != nil || again.Report().TornBytes != 0 {
			t.Fatalf("second opening: %+v, %v", again.Report(), err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
