package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Read returns the whole lines of a journal without taking its lock, as [File.Lines] does. A tail without a
// newline is left out without a word: it may be a write that is going on. It never changes the file.
func Read(path string, opts *Options) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		info, err := os.Lstat(path)
		if err == nil && !info.Mode().IsRegular() {
			err = ErrNotRegular
		}
		if err != nil {
			yield(Line{}, fmt.Errorf("journal: %s: %w", path, err))
			return
		}
		f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
		if err != nil {
			yield(Line{}, fmt.Errorf("journal: %s: %w", path, err))
			return
		}
		defer f.Close()
		scan(path, f, -1, opts.maxLine(), yield)
	}
}

// scan gives every line of r that ends with a newline to yield. Where there should be size bytes of lines, fewer
// are an error; -1 says that nobody knows.
func scan(path string, r io.Reader, size int64, maxLine int, yield func(Line, error) bool) {
	br := bufio.NewReaderSize(r, 64<<10)
	offset := int64(0)
	for number := 1; ; number++ {
		line, n, err := readLine(br, maxLine)
		if errors.Is(err, io.EOF) {
			if size >= 0 && offset != size {
				yield(Line{Number: number, Offset: offset}, fmt.Errorf("journal: %s: %w: it ends at byte %d and should at %d", path, ErrChanged, offset, size))
			}
			return // what came before it has no newline
		}
		l := Line{Number: number, Offset: offset, Data: line}
		switch {
		case err != nil:
			yield(Line{Number: number, Offset: offset}, fmt.Errorf("journal: %s: line %d at byte %d: %w", path, number, offset, err))
			return
		case n-1 > int64(maxLine):
			err = fmt.Errorf("journal: %s: %w: line %d at byte %d has %d bytes; the limit is %d", path, ErrBadLine, number, offset, n-1, maxLine)
		}
		if !yield(l, err) {
			return
		}
		offset += n
	}
}

// readLine returns the next line without its newline, and its size with it. Of a line over the limit it keeps nothing
// and returns the size alone.
func readLine(br *bufio.Reader, maxLine int) (line []byte, size int64, err error) {
	for {
		part, err := br.ReadSlice('\n')
		size += int64(len(part))
		if size-1 <= int64(maxLine) {
			line = append(line, part...)
		} else {
			line = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, size, err
		}
		return bytes.TrimSuffix(line, []byte("\n")), size, nil
	}
}

// lastNewline returns the offset of the last newline before end, or -1.
func lastNewline(r io.ReaderAt, end int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end > 0 {
		n := min(end, int64(len(buf)))
		if _, err := r.ReadAt(buf[:n], end-n); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i), nil
		}
		end -= n
	}
	return -1, nil
}

// An Entry is one journal of a folder.
type Entry struct {
	Name string // of the file, without [Ext]
	Path string
	Size int64
	Time time.Time // of the last write
}

// List returns the journals of a folder by name, without opening them. A folder that does not exist has
// none. Links and everything whose name does not end with [Ext] are left out.
func List(dir string) ([]Entry, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var entries []Entry
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), Ext)
		if !ok || name == "" || !file.Type().IsRegular() {
			continue
		}
		info, err := file.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since
		}
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		entries = append(entries, Entry{Name: name, Path: filepath.Join(dir, file.Name()), Size: info.Size(), Time: info.ModTime()})
	}
	return entries, nil
}
