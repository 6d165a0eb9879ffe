// Package journal keeps append-only logs of lines, one writer each. It does not know what a line means.
//
// What it promises: when [File.Append] returns nil, the lines are on disk; when it returns an error,
// they are not in the file and a later append does not join to a rest of them; what was acknowledged is
// never cut. A tail that a crash tore is cut when the file is opened, kept in a file beside it, and
// reported.
//
// What it does not promise: a batch of several lines is one write and one wait, not a transaction, so that a
// crash of the machine before the acknowledgement may leave its first lines. And a file system that
// forgets after fsync forgets here too.
package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
)

// Ext is how the name of a journal ends. [List] finds files by it.
const Ext = ".jsonl"

// DefaultMaxLine is the default of [Options.MaxLine]: 16 MiB, more than a session's largest event with
// the pictures in it.
const DefaultMaxLine = 16 << 20

// Errors that a caller may branch on.
var (
	// ErrLocked: another process, or another File of this one, writes the journal.
	ErrLocked = errors.New("the journal is open for writing elsewhere")
	// ErrBadLine: a line that cannot be kept: empty, too long, or with a newline or a NUL in it.
	ErrBadLine = errors.New("not a line")
	// ErrChanged: something else wrote, cut, replaced or removed the file while it was open.
	ErrChanged = errors.New("the file was changed by something else")
	// ErrNotRegular: the path is a link, a folder or a device.
	ErrNotRegular = errors.New("not a regular file")
)

// Options tune [Open]. The zero value and nil are the default.
type Options struct {
	// MaxLine is the most bytes of one line, without its newline. 0 means [DefaultMaxLine].
	MaxLine int
	// Complete says whether the last line is whole, such as json.Valid. A last line that is not is
	// cut as a torn tail is. Nil means that every line which ends with a newline and holds no NUL is.
	Complete func(line []byte) bool
	// OpenFile opens the journal itself. Nil means the operating system. It is there for tests of
	// disks that fail; the file must be the one that the path names.
	OpenFile func(path string, flag int, perm fs.FileMode) (Handle, error)
}

// A Handle is an open journal as the operating system gives it; *os.File is one.
type Handle interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
}

// A Report says what [Open] found.
type Report struct {
	Created   bool   // the file did not exist
	Size      int64  // bytes of whole lines, after any cut
	TornBytes int64  // bytes that were cut from the end; 0 if the file was whole
	TornFile  string // where they are kept; "" if nothing was cut
}

// A Line is one line of a journal.
type Line struct {
	Number int    // from 1
	Offset int64  // of its first byte in the file
	Data   []byte // without the newline; the receiver owns it
}

// A File is a journal that is open for writing. Its methods may be called by several goroutines at once;
// appends are made one after another.
type File struct {
	path    string
	maxLine int
	report  Report
	id      fs.FileInfo // which file was opened

	mu   sync.Mutex
	h    Handle // nil when closed
	lock *lock
	// good is the end of the last acknowledged line. Bytes after it are of an append that failed.
	good int64
	// dirty says that such bytes could not be cut off yet. Nothing is appended before they are.
	dirty bool
}

// Open opens a journal for writing and makes it, with mode 0600, and its folders, with mode 0700, if
// there is none. The caller must Close it. A second writer gets [ErrLocked]; readers ([Read], [List])
// need no lock.
func Open(path string, opts *Options) (*File, error) {
	f, err := open(path, opts)
	if err != nil {
		return nil, fmt.Errorf("journal: %s: %w", path, err)
	}
	return f, nil
}

func open(path string, opts *Options) (_ *File, err error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := makeDir(filepath.Dir(path)); err != nil {
		return nil, explain(err)
	}
	l, err := acquire(path + lockExt)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, maxLine: opts.maxLine(), lock: l}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := f.openFile(opts); err != nil {
		return nil, explain(err)
	}
	if err := f.cutTail(opts); err != nil {
		return nil, explain(err)
	}
	f.report.Size = f.good
	return f, nil
}

func (o *Options) maxLine() int {
	if o == nil || o.MaxLine <= 0 {
		return DefaultMaxLine
	}
	return o.MaxLine
}

// openFile opens the very file that the path names, never what a link there leads to.
func (f *File) openFile(opts *Options) error {
	before, err := os.Lstat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.report.Created = true
	case err != nil:
		return err
	case !before.Mode().IsRegular():
		return fmt.Errorf("%w: %s", ErrNotRegular, before.Mode().Type())
	}
	openFile := opts.OpenFile
	if openFile == nil {
		openFile = openOS
	}
	if f.h, err = openFile(f.path, os.O_RDWR|os.O_CREATE|noFollow, 0o600); err != nil {
		return err
	}
	if f.id, err = f.h.Stat(); err != nil {
		return err
	}
	now, err := os.Lstat(f.path)
	if err != nil {
		return err
	}
	if !now.Mode().IsRegular() || !os.SameFile(now, f.id) {
		return ErrChanged
	}
	f.good = f.id.Size()
	if f.report.Created {
		return syncDir(filepath.Dir(f.path)) // or the first lines could be safe in a file without a name
	}
	return nil
}

func openOS(path string, flag int, perm fs.FileMode) (Handle, error) {
	h, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err // not h: a nil *os.File is no nil Handle
	}
	return h, nil
}

// cutTail finds the end of the last whole line, looking at the end of the file alone, and moves what is
// behind it to a file of its own.
func (f *File) cutTail(opts *Options) error {
	size := f.good
	newline, err := lastNewline(f.h, size)
	if err != nil {
		return err
	}
	end := newline + 1
	if end > 0 {
		whole, err := f.lastIsWhole(end, opts)
		if err != nil {
			return err
		}
		if !whole {
			if newline, err = lastNewline(f.h, end-1); err != nil {
				return err
			}
			end = newline + 1
		}
	}
	if end == size {
		return nil
	}
	kept, err := keepTail(f.path, io.NewSectionReader(f.h, end, size-end))
	if err != nil {
		return fmt.Errorf("the torn end (%d bytes) could not be kept aside, so nothing was cut: %w", size-end, err)
	}
	if err := errors.Join(f.h.Truncate(end), f.h.Sync()); err != nil {
		return err
	}
	f.good = end
	f.report.TornBytes, f.report.TornFile = size-end, kept
	return nil
}

// lastIsWhole judges the line whose newline is the last byte before end. A line that is over the limit
// cannot be torn by a write of ours; whoever reads it is told.
func (f *File) lastIsWhole(end int64, opts *Options) (bool, error) {
	newline, err := lastNewline(f.h, end-1)
	if err != nil {
		return false, err
	}
	n := end - 1 - (newline + 1)
	if n > int64(f.maxLine) {
		return true, nil
	}
	line := make([]byte, n)
	if _, err := f.h.ReadAt(line, newline+1); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	// A crash of the machine can leave the new length without the new bytes: they are zeros then.
	if bytes.IndexByte(line, 0) >= 0 {
		return false, nil
	}
	return opts.Complete == nil || opts.Complete(line), nil
}

// keepTail copies the bytes to the first free "<path>.torn-<n>" and makes that durable.
func keepTail(path string, tail io.Reader) (string, error) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.torn-%d", path, n)
		side, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = io.Copy(side, tail)
		if err := errors.Join(err, side.Sync(), side.Close(), syncDir(filepath.Dir(path))); err != nil {
			return "", errors.Join(err, os.Remove(name))
		}
		return name, nil
	}
}

// Report returns what was found when the file was opened.
func (f *File) Report() Report { return f.report }

// Path returns the path that the file was opened by.
func (f *File) Path() string { return f.path }

// Append adds lines at the end in one write, each with a newline, and returns when they are on disk. Lines
// are refused with [ErrBadLine] when one is empty, longer than the limit, or holds a newline or a NUL.
// After any error none of the lines is in the file, nothing that was acknowledged is lost, and Append may be called
// again: it works when the disk does. Only a crash right after an error can bring a refused line back.
func (f *File) Append(lines ...[]byte) error {
	buf, err := f.join(lines)
	if err != nil {
		return fmt.Errorf("journal: %s: %w", f.path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.h == nil {
		return fmt.Errorf("journal: %s: %w", f.path, fs.ErrClosed)
	}
	if len(buf) == 0 {
		return nil
	}
	if err := f.write(buf); err != nil {
		return fmt.Errorf("journal: %s: not written, everything before it is kept: %w", f.path, explain(err))
	}
	return nil
}

func (f *File) join(lines [][]byte) ([]byte, error) {
	size := 0
	for i, line := range lines {
		at := bytes.IndexAny(line, "\n\x00")
		switch {
		case len(line) == 0:
			return nil, fmt.Errorf("%w: lines[%d] is empty", ErrBadLine, i)
		case len(line) > f.maxLine:
			return nil, fmt.Errorf("%w: lines[%d] has %d bytes; the limit is %d", ErrBadLine, i, len(line), f.maxLine)
		case at >= 0:
			return nil, fmt.Errorf("%w: lines[%d] holds %q at byte %d", ErrBadLine, i, line[at], at)
		}
		size += len(line) + 1
	}
	buf := make([]byte, 0, size)
	for _, line := range lines {
		buf = append(append(buf, line...), '\n')
	}
	return buf, nil
}

// write needs f.mu.
func (f *File) write(buf []byte) error {
	if err := f.repair(); err != nil {
		return err
	}
	// A file that was removed would take the lines and lose them; one that grew has another writer.
	now, err := os.Lstat(f.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if !os.SameFile(now, f.id) {
		return fmt.Errorf("%w: it was replaced", ErrChanged)
	}
	if now.Size() != f.good {
		return fmt.Errorf("%w: it has %d bytes and should have %d", ErrChanged, now.Size(), f.good)
	}
	n, err := f.h.WriteAt(buf, f.good)
	if err == nil && n < len(buf) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = f.h.Sync()
	}
	if err != nil {
		f.dirty = true
		if again := f.repair(); again != nil {
			return errors.Join(err, again)
		}
		return err
	}
	f.good += int64(len(buf))
	return nil
}

// repair cuts off what an append left that failed. After a failed fsync the kernel may believe that its pages
// are clean; cutting them off makes the next write give them to the disk again.
func (f *File) repair() error {
	if !f.dirty {
		return nil
	}
	if err := errors.Join(f.h.Truncate(f.good), f.h.Sync()); err != nil {
		return fmt.Errorf("the rest of a failed write is still at byte %d: %w", f.good, err)
	}
	f.dirty = false
	return nil
}

// Lines returns the lines that were acknowledged when the iteration began, oldest first. A line over the limit comes as an
// error with its number and offset, and the iteration goes on behind it; after an error of the disk it ends.
func (f *File) Lines() iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		f.mu.Lock()
		h, end := f.h, f.good
		f.mu.Unlock()
		if h == nil {
			yield(Line{}, fmt.Errorf("journal: %s: %w", f.path, fs.ErrClosed))
			return
		}
		scan(f.path, io.NewSectionReader(h, 0, end), end, f.maxLine, yield)
	}
}

// Close gives the file and its lock back. A second Close does nothing. An iteration over Lines that
// is still going ends with an error.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if f.h != nil {
		err = errors.Join(f.repair(), f.h.Close())
		f.h = nil
	}
	if f.lock != nil {
		err = errors.Join(err, f.lock.release())
		f.lock = nil
	}
	if err != nil {
		return fmt.Errorf("journal: %s: %w", f.path, err)
	}
	return nil
}
