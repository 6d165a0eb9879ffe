package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/tool"
)

type readInput struct {
	Path   string `json:"path" jsonschema:"file to read: relative to the workspace, absolute, or beginning with ~/"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line to show, from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to show, 1 to 2000; 2000 by default"`
}

const (
	maxReadLines = 2000
	maxReadLine  = 2000 // bytes of one line
)

// Read returns the tool that reads a file. Lines are shown as by `cat -n`, the number in six columns
// and a tab before the text: the form that models have seen most. Images come as images.
func Read() tool.Tool {
	return tool.New(tool.Spec{
		Name: "read",
		Set:  Set,
		Description: "Read a file. Text is shown as by cat -n: line number, tab, line; the number and the tab are not part of " +
			"the file. Shows up to 2000 lines or 64 KiB; continue with offset. PNG, JPEG, GIF and WebP files are shown as images. " +
			"For a folder use ls.",
		Kinds: []tool.Effect{tool.ReadFile{}},
	}, func(in readInput) tool.Access {
		return tool.Access{tool.ReadFile{Path: in.Path}}
	}, read)
}

type readDetails struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	From  int    `json:"from,omitempty"` // first shown line
	To    int    `json:"to,omitempty"`   // last shown line
	Lines int    `json:"lines,omitempty"`
	Media string `json:"media_type,omitempty"`
}

func read(ctx context.Context, g *tool.Grant, in readInput) (tool.Result, error) {
	limit, err := limited("limit", in.Limit, maxReadLines, maxReadLines)
	if err != nil {
		return tool.Result{}, err
	}
	if in.Offset < 0 {
		return failed("offset: %d is not a line number; lines are numbered from 1", in.Offset)
	}
	info, err := g.Stat(in.Path)
	switch {
	case err != nil:
		return tool.Result{}, missing(g, in.Path, err)
	case info.IsDir():
		return failed("%s is a folder; use ls", in.Path)
	case !info.Mode().IsRegular():
		return failed("%s is a %s; only files can be read", in.Path, kindOf(info.Mode()))
	}
	f, err := g.Open(in.Path)
	if err != nil {
		return tool.Result{}, missing(g, in.Path, err)
	}
	defer func() { _ = f.Close() }()
	d := readDetails{Path: in.Path, Bytes: info.Size()}
	r := bufio.NewReaderSize(f, 64<<10)
	head, err := r.Peek(sniffLen)
	if err != nil && !errors.Is(err, io.EOF) {
		return tool.Result{}, fmt.Errorf("%s: %w", in.Path, err)
	}
	if media := imageType(head); media != "" {
		d.Media = media
		return readImage(r, d)
	}
	if isBinary(head) {
		return failed("%s is a binary file of %s (%s); it is not shown as text", in.Path, size(info.Size()), binaryKind(head))
	}
	if len(head) == 0 {
		return tool.Result{Text: fmt.Sprintf("[%s is empty]", in.Path), Details: details(d)}, nil
	}
	return readLines(ctx, r, d, max(in.Offset, 1), limit)
}

// A page collects the shown lines of a file.
type page struct {
	b           strings.Builder
	first, last int // of the shown lines; last is 0 if none
	full        bool
	line        int // the present line
	long        int // shown lines that were cut
	crlf, lf    int
	invalid     bool // not UTF-8 where shown
}

// readLines shows the lines from first on, and reads on to the end to know how many there are.
func readLines(ctx context.Context, r *bufio.Reader, d readDetails, first, limit int) (tool.Result, error) {
	p := &page{first: first}
	hasBOM := false
	if head, err := r.Peek(len(bom)); err == nil && string(head) == bom {
		hasBOM = true
		if _, err := r.Discard(len(bom)); err != nil {
			return tool.Result{}, err
		}
	}
	var l fileLine
	for {
		if p.line&1023 == 0 && ctx.Err() != nil {
			return tool.Result{}, context.Cause(ctx)
		}
		var err error
		l, err = nextLine(r, l, maxReadLine+utf8.UTFMax)
		if l.length > 0 || l.end != "" {
			p.add(l, limit)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return tool.Result{}, fmt.Errorf("%s: %w", d.Path, err)
		}
	}
	if p.last == 0 {
		return failed("offset: %s has only %s", d.Path, counted(p.line, "line"))
	}
	d.From, d.To, d.Lines = first, p.last, p.line
	p.notes(d, hasBOM)
	return tool.Result{Text: p.b.String(), Details: details(d)}, nil
}

// A fileLine is a line as far as it may be shown, so that memory does not grow with it.
type fileLine struct {
	head   []byte // the beginning, without the line end
	length int    // of the whole line, without the line end
	end    string // "\n", "\r\n", or "" at the end of the file
}

// nextLine reads a line into l.head, and keeps at most limit bytes of it. Its error is io.EOF with the last line,
// which is none if its length is 0.
func nextLine(r *bufio.Reader, l fileLine, limit int) (fileLine, error) {
	l = fileLine{head: l.head[:0]}
	last := byte(0)
	for {
		piece, err := r.ReadSlice('\n')
		body, ended := bytes.CutSuffix(piece, []byte("\n"))
		l.head = append(l.head, body[:min(max(limit-len(l.head), 0), len(body))]...)
		l.length += len(body)
		if len(body) > 0 {
			last = body[len(body)-1]
		}
		if ended {
			l.end = "\n"
			if l.length > 0 && last == '\r' {
				l.end = "\r\n"
				l.length--
				l.head = l.head[:min(len(l.head), l.length)]
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l, err
		}
	}
}

func (p *page) add(l fileLine, limit int) {
	p.line++
	switch l.end {
	case "\n":
		p.lf++
	case "\r\n":
		p.crlf++
	}
	if p.line < p.first || p.full {
		return
	}
	text := cutLine(l.head, l.length, maxReadLine)
	if p.line-p.first >= limit || p.last > 0 && p.b.Len()+len(text) > maxText {
		p.full = true
		return
	}
	p.last = p.line
	if l.length > maxReadLine {
		p.long++
	}
	if clean := cleanText(text); clean != text {
		text, p.invalid = clean, true
	}
	fmt.Fprintf(&p.b, "%6d\t%s\n", p.line, text)
}

// notes says what the shown lines do not show.
func (p *page) notes(d readDetails, hasBOM bool) {
	if p.first > 1 || p.last < p.line {
		fmt.Fprintf(&p.b, "[lines %d to %d of %d", p.first, p.last, p.line)
		if p.last < p.line {
			fmt.Fprintf(&p.b, "; %s; continue with offset=%d", counted(p.line-p.last, "more line"), p.last+1)
		}
		p.b.WriteString("]\n")
	}
	if p.long > 0 {
		fmt.Fprintf(&p.b, "[%s cut at %d bytes; grep shows the part that matches]\n", counted(p.long, "long line"), maxReadLine)
	}
	switch {
	case p.crlf > 0 && p.lf == 0:
		p.b.WriteString("[line ends are CRLF; edit keeps them]\n")
	case p.crlf > 0:
		fmt.Fprintf(&p.b, "[line ends are mixed: %d CRLF, %d LF]\n", p.crlf, p.lf)
	}
	if hasBOM {
		p.b.WriteString("[begins with a byte order mark; edit keeps it]\n")
	}
	if p.invalid {
		p.b.WriteString("[what is not UTF-8 text is shown as \ufffd]\n")
	}
}

// readImage returns the whole file as an image.
func readImage(r io.Reader, d readDetails) (tool.Result, error) {
	if d.Bytes > maxImage {
		return failed("%s is a %s of %s; the limit is %s", d.Path, d.Media, size(d.Bytes), size(maxImage))
	}
	data, err := io.ReadAll(io.LimitReader(r, maxImage+1))
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s: %w", d.Path, err)
	}
	if len(data) > maxImage {
		return failed("%s has grown over the limit of %s", d.Path, size(maxImage))
	}
	width, height, err := imageSize(d.Media, data)
	switch {
	case err != nil:
		return failed("%s is a broken %s: %v", d.Path, d.Media, err)
	case width > maxImageSide || height > maxImageSide:
		return failed("%s is a %s of %d×%d pixels; the limit is %d a side", d.Path, d.Media, width, height, maxImageSide)
	}
	return tool.Result{
		Text:    fmt.Sprintf("[%s: %s, %d×%d pixels, %s]", d.Path, d.Media, width, height, size(int64(len(data)))),
		Images:  []llm.Image{{MediaType: d.Media, Data: data}},
		Details: details(d),
	}, nil
}
