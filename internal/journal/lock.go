package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/gofrs/flock"
)

// lockExt is added to a journal's path for its lock. The lock is a file of its own because locking is
// mandatory on Windows, where readers of a locked journal would be turned away. It is never removed: a
// writer could then lock a file that the next one does not see.
const lockExt = ".lock"

// A lock is held until release or the end of the process, however that ends.
type lock struct{ l *flock.Flock }

// acquire takes the lock at once or says who has it.
func acquire(path string) (*lock, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the lock %s: %w", path, ErrNotRegular)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, explain(err)
	}
	l := flock.New(path, flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("the lock %s: %w", path, explain(err))
	}
	if !ok {
		return nil, fmt.Errorf("%w, by %s: use it there, or end that process first", ErrLocked, holder(path))
	}
	// Who holds it is a courtesy to the next one who asks; the lock is good without.
	_ = sign(path)
	return &lock{l}, nil
}

func (l *lock) release() error { return l.l.Unlock() }

// sign writes who holds the lock into its file.
func sign(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|noFollow, 0)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	_, err = fmt.Fprintf(f, "process %d on %s\n", os.Getpid(), host)
	return errors.Join(err, f.Close())
}

// holder reads what sign wrote, if it can be shown.
func holder(path string) string {
	const unknown = "another process"
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return unknown
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 200))
	who := strings.TrimSpace(string(data))
	if err != nil || !strings.HasPrefix(who, "process ") || strings.ContainsFunc(who, func(r rune) bool { return r < ' ' || r > '~' }) {
		return unknown
	}
	return who
}
