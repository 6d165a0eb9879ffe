package journal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/planmode-dev/planmode/internal/journal"
)

func folder() (string, func()) {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		panic(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

func ExampleOpen() {
	dir, remove := folder()
	defer remove()
	path := filepath.Join(dir, "s1.jsonl")
	// The machine went down in the middle of the second line.
	if err := os.WriteFile(path, []byte("{\"seq\":1}\n{\"seq\":2,\"te"), 0o600); err != nil {
		panic(err)
	}
	f, err := journal.Open(path, &journal.Options{Complete: json.Valid})
	if err != nil {
		panic(err)
	}
	defer f.Close()
	r := f.Report()
	fmt.Println(r.TornBytes, "bytes kept in", filepath.Base(r.TornFile))
	_, err = journal.Open(path, nil)
	fmt.Println(errors.Is(err, journal.ErrLocked))
	// Output:
	// 12 bytes kept in s1.jsonl.torn-1
	// true
}

func ExampleFile_Append() {
	dir, remove := folder()
	defer remove()
	f, err := journal.Open(filepath.Join(dir, "s1.jsonl"), nil)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Println(f.Append([]byte(`{"seq":1}`), []byte(`{"seq":2}`)))
	err = f.Append([]byte("two\nlines"))
	fmt.Println(strings.ReplaceAll(err.Error(), dir, ""))
	// Output:
	// <nil>
	// journal: /s1.jsonl: not a line: lines[0] holds '\n' at byte 3
}

func ExampleFile_Lines() {
	dir, remove := folder()
	defer remove()
	f, err := journal.Open(filepath.Join(dir, "s1.jsonl"), nil)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if err := f.Append([]byte(`{"seq":1}`), []byte(`{"seq":2}`)); err != nil {
		panic(err)
	}
	for line, err := range f.Lines() {
		fmt.Println(line.Number, line.Offset, string(line.Data), err)
	}
	// Output:
	// 1 0 {"seq":1} <nil>
	// 2 10 {"seq":2} <nil>
}

func ExampleRead() {
	dir, remove := folder()
	defer remove()
	path := filepath.Join(dir, "s1.jsonl")
	if err := os.WriteFile(path, []byte("whole\nbeing writ"), 0o600); err != nil {
		panic(err)
	}
	for line, err := range journal.Read(path, nil) {
		fmt.Println(string(line.Data), err)
	}
	// Output: whole <nil>
}

func ExampleList() {
	dir, remove := folder()
	defer remove()
	for _, name := range []string{"s2.jsonl", "s1.jsonl", "s1.jsonl.lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}\n"), 0o600); err != nil {
			panic(err)
		}
	}
	entries, err := journal.List(dir)
	for _, e := range entries {
		fmt.Println(e.Name, e.Size)
	}
	fmt.Println(err)
	// Output:
	// s1 3
	// s2 3
	// <nil>
}
