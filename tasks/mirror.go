package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxMirror is the size in bytes above which a mirror is corrupt unread. A valid one is smaller even
// when another program has written it again with every character escaped.
const maxMirror = 1 << 20

// A SetAsideError says that a mirror could not be used and what became of it.
type SetAsideError struct {
	Path string // of the mirror
	Kept string // where it is now; "" if it could not be renamed, and is left alone
	Err  error  // why
}

// Error says what happened, what was kept and what follows.
func (e *SetAsideError) Error() string {
	if e.Kept == "" {
		return fmt.Sprintf("tasks: %s cannot be used and could not be set aside; the list starts empty and lives in memory only: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("tasks: %s cannot be used and was kept as %s; the list starts empty: %v", e.Path, e.Kept, e.Err)
}

// Unwrap returns the reason.
func (e *SetAsideError) Unwrap() error { return e.Err }

// open loads the mirror. Whatever cannot be used is moved out of the way of the next write, which
// would otherwise destroy it; where that fails too, the store keeps its hands off the file.
func (s *Store) open() {
	st, err := load(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		kept, asideErr := setAside(s.path)
		if asideErr != nil {
			err = errors.Join(err, asideErr)
		}
		s.problem = &SetAsideError{Path: s.path, Kept: kept, Err: err}
		if kept == "" {
			s.path = ""
		}
	default:
		s.state = st
	}
}

func load(path string) (State, error) {
	// Opening a FIFO would wait and following a link would read what the user did not mean.
	info, err := os.Lstat(path)
	if err != nil {
		return State{}, err
	}
	if !info.Mode().IsRegular() {
		return State{}, fmt.Errorf("not a regular file but %s", info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return State{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxMirror+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return State{}, err
	}
	if len(data) > maxMirror {
		return State{}, fmt.Errorf("larger than %d bytes", maxMirror)
	}
	var st State
	if err := json.Unmarshal(data, &st); err != nil {
		return State{}, err
	}
	return st.valid()
}

// setAside renames the file to the first free ".corrupt-<n>".
func setAside(path string) (string, error) {
	for n := 1; ; n++ {
		kept := fmt.Sprintf("%s.corrupt-%d", path, n)
		if _, err := os.Lstat(kept); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := os.Rename(path, kept); err != nil {
			return "", err
		}
		return kept, nil
	}
}

// save replaces the mirror so that a reader, or the next start after a crash, finds the old list or the
// new one and never a part.
func save(path string, st State) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(st); err != nil {
		return err
	}
	return replaceFile(path, b.Bytes())
}
