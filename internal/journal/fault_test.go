package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A disk is a real file that fails as it is told. Its fields are set between calls.
type disk struct {
	*os.File
	writeErr, syncErr, truncErr, statErr, readErr error
	short                                         int // bytes that a failing write still writes
	silent                                        bool
}

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	if d.writeErr == nil && !d.silent {
		return d.File.WriteAt(p, off)
	}
	n, err := d.File.WriteAt(p[:min(d.short, len(p))], off)
	if err != nil {
		return n, err
	}
	return n, d.writeErr // silent: fewer bytes and no error, against the contract of io.WriterAt
}

func (d *disk) Sync() error {
	if d.syncErr != nil {
		return d.syncErr
	}
	return d.File.Sync()
}

func (d *disk) Truncate(size int64) error {
	if d.truncErr != nil {
		return d.truncErr
	}
	return d.File.Truncate(size)
}

func (d *disk) Stat() (fs.FileInfo, error) {
	if d.statErr != nil {
		return nil, d.statErr
	}
	return d.File.Stat()
}

func (d *disk) ReadAt(p []byte, off int64) (int, error) {
	if d.readErr != nil {
		return 0, d.readErr
	}
	return d.File.ReadAt(p, off)
}

// on returns options that open files on d.
func on(d *disk) *Options {
	return &Options{OpenFile: func(path string, flag int, perm fs.FileMode) (Handle, error) {
		h, err := os.OpenFile(path, flag, perm)
		d.File = h
		return d, err
	}}
}

// An append that fails at any byte leaves the file as it was; the next one works when the disk does.
func TestFailedAppend(t *testing.T) {
	const line = "the second line"
	for short := range len(line) + 2 {
		for name, fail := range map[string]func(*disk){
			"full disk":     func(d *disk) { d.writeErr, d.short = syscall.ENOSPC, short },
			"fault":         func(d *disk) { d.writeErr, d.short = syscall.EIO, short },
			"silent":        func(d *disk) { d.silent, d.short = short <= len(line), short },
			"fsync":         func(d *disk) { d.syncErr = syscall.EIO },
			"and truncate":  func(d *disk) { d.writeErr, d.short, d.truncErr = syscall.ENOSPC, short, syscall.EIO },
			"fsync of both": func(d *disk) { d.writeErr, d.short, d.syncErr = syscall.ENOSPC, short, syscall.EIO },
		} {
			d := &disk{}
			path := filepath.Join(t.TempDir(), "s.jsonl")
			f := mustOpen(t, path, on(d))
			mustAppend(t, f, "one")
			fail(d)
			broken := d.writeErr != nil || d.silent || d.syncErr != nil
			for range 2 { // the second time the file may still hold the first time's rest
				err := f.Append([]byte(line))
				if broken == (err == nil) {
					t.Fatalf("%s at %d: %v", name, short, err)
				}
				if !broken {
					break
				}
				if !strings.Contains(err.Error(), "everything before it is kept") {
					t.Errorf("%s at %d: %v", name, short, err)
				}
				wantLines(t, f.Lines(), "one")
			}
			if d.truncErr == nil && broken && read(t, path) != "one\n" {
				t.Errorf("%s at %d: left %q", name, short, read(t, path))
			}
			*d = disk{File: d.File} // works again
			if broken {
				mustAppend(t, f, line)
			}
			mustAppend(t, f, "three")
			if got := read(t, path); broken && got != "one\n"+line+"\nthree\n" {
				t.Errorf("%s at %d: the file is %q", name, short, got)
			}
			if err := f.Close(); err != nil {
				t.Errorf("%s at %d: %v", name, short, err)
			}
		}
	}
}

// Where not even cutting works, the rest stays on disk until the next opening cuts and keeps it.
func TestFailedAppendThenCrash(t *testing.T) {
	d := &disk{}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f := mustOpen(t, path, on(d))
	mustAppend(t, f, "one")
	d.writeErr, d.short, d.truncErr = syscall.EIO, 4, syscall.EIO
	if err := f.Append([]byte("second")); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if err := f.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close hid that the file holds a rest: %v", err)
	}
	again := mustOpen(t, path, nil)
	if r := again.Report(); r.TornBytes != 4 || read(t, r.TornFile) != "seco" {
		t.Errorf("report %+v", r)
	}
	wantLines(t, again.Lines(), "one")
}

func TestAdvice(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC: "free some space",
		syscall.EROFS:  "read-only",
		syscall.EIO:    "disk reports a fault",
		syscall.EACCES: "change its mode",
		syscall.EFBIG:  "raise the limit",
	} {
		d := &disk{}
		f := mustOpen(t, filepath.Join(t.TempDir(), "s.jsonl"), on(d))
		d.writeErr = err
		got := f.Append([]byte("x"))
		if !errors.Is(got, err) || !strings.Contains(got.Error(), want) || !strings.Contains(got.Error(), f.Path()) {
			t.Errorf("%v: %v", err, got)
		}
		d.writeErr = nil
	}
}

// A file that cannot be opened, read or cut is refused as a whole, unchanged, and its lock is given back.
func TestFailedOpen(t *testing.T) {
	const torn = "one\ntorn"
	for name, fail := range map[string]func(*disk) *Options{
		"open": func(*disk) *Options {
			return &Options{OpenFile: func(string, int, fs.FileMode) (Handle, error) { return nil, syscall.EACCES }}
		},
		"stat":     func(d *disk) *Options { d.statErr = syscall.EIO; return on(d) },
		"read":     func(d *disk) *Options { d.readErr = syscall.EIO; return on(d) },
		"truncate": func(d *disk) *Options { d.truncErr = syscall.EROFS; return on(d) },
		"another file": func(*disk) *Options {
			return &Options{OpenFile: func(string, int, fs.FileMode) (Handle, error) { return os.CreateTemp(t.TempDir(), "") }}
		},
	} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		write(t, path, torn)
		if _, err := Open(path, fail(&disk{})); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if got := read(t, path); got != torn {
			t.Errorf("%s: the file became %q", name, got)
		}
		f := mustOpen(t, path, nil)
		wantLines(t, f.Lines(), "one")
	}
}

func TestReadFaultEndsLines(t *testing.T) {
	d := &disk{}
	f := mustOpen(t, filepath.Join(t.TempDir(), "s.jsonl"), on(d))
	mustAppend(t, f, "one")
	d.readErr = io.ErrUnexpectedEOF
	n := 0
	for _, err := range f.Lines() {
		n++
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d steps, want the error alone", n)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("root, and Windows, write into read-only folders; the refusals are also injected above")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := Open(filepath.Join(dir, "new", "s.jsonl"), nil)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("error %v", err)
	}
	_, err = Open(filepath.Join(dir, "s.jsonl"), nil)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("error %v", err)
	}
	// A folder that cannot be: a file stands in its place.
	if _, err := Open(filepath.Join(os.Args[0], "s.jsonl"), nil); err == nil {
		t.Error("opened below a file")
	}
}
