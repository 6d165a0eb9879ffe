package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/planmode-dev/planmode/tool"
)

type editInput struct {
	Path       string     `json:"path" jsonschema:"file to change"`
	OldText    string     `json:"old_text,omitempty" jsonschema:"the text to replace, exactly as in the file and only once in it; without the line numbers that read shows"`
	NewText    string     `json:"new_text,omitempty" jsonschema:"what replaces it; empty deletes it"`
	ReplaceAll bool       `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
	Edits      []textEdit `json:"edits,omitempty" jsonschema:"several edits in the place of old_text and new_text, applied in order, all or none"`
}

type textEdit struct {
	OldText    string `json:"old_text" jsonschema:"as above"`
	NewText    string `json:"new_text" jsonschema:"as above"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"as above"`
}

const (
	maxEditFile = 10 << 20
	maxEditList = 100
	// maxDiffText bounds the diff that the model sees; a screen gets all of it.
	maxDiffText = 8 << 10
)

// Edit returns the tool that replaces exact text in a file. It keeps the file's mode, byte order mark
// and, where all are CRLF, its line ends. The file must not change between reading and writing.
func Edit() tool.Tool {
	return tool.New(tool.Spec{
		Name: "edit",
		Set:  Set,
		Description: "Change a file by replacing old_text, which must occur exactly once, by new_text. Several edits of one " +
			"file go in edits. Nothing is changed unless all edits apply. In plan mode only the plan file can be edited.",
		Kinds: []tool.Effect{tool.WriteFile{}},
	}, func(in editInput) tool.Access {
		return tool.Access{tool.WriteFile{Path: in.Path}}
	}, edit)
}

type editDetails struct {
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	change
}

func edit(ctx context.Context, g *tool.Grant, in editInput) (tool.Result, error) {
	edits, err := in.list()
	if err != nil {
		return tool.Result{}, err
	}
	old, err := present(ctx, g, in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	if isBinary(old) {
		return failed("%s is a binary file; edit changes text", in.Path)
	}
	now, n, err := applyEdits(string(old), edits)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s is unchanged: %w", in.Path, err)
	}
	if err := g.WriteFile(in.Path, old, []byte(now)); err != nil {
		return tool.Result{}, notWritten(in.Path, err)
	}
	c := diffOf(in.Path, string(old), now)
	text := fmt.Sprintf("edited %s: %s (%s)\n%s", in.Path, counted(n, "replacement"), c, boundedDiff(c.Diff))
	return tool.Result{Text: text, Details: details(editDetails{in.Path, n, c})}, nil
}

// list returns the edits in either form.
func (in editInput) list() ([]textEdit, error) {
	single := in.OldText != "" || in.NewText != "" || in.ReplaceAll
	switch {
	case single && in.Edits != nil:
		return nil, errors.New("give either old_text and new_text, or edits, not both")
	case in.Edits != nil && len(in.Edits) == 0:
		return nil, errors.New("edits: it is empty")
	case len(in.Edits) > maxEditList:
		return nil, fmt.Errorf("edits: %d of them; the limit is %d", len(in.Edits), maxEditList)
	case in.Edits != nil:
		return in.Edits, nil
	}
	return []textEdit{{in.OldText, in.NewText, in.ReplaceAll}}, nil
}

// present reads the whole file that is to be changed.
func present(ctx context.Context, g *tool.Grant, p string) ([]byte, error) {
	info, err := g.Stat(p)
	switch {
	case err != nil:
		return nil, missing(g, p, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder", p)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a %s, not a file", p, kindOf(info.Mode()))
	case info.Size() > maxEditFile:
		return nil, tooLarge(p, info.Size())
	}
	f, err := g.Open(p)
	if err != nil {
		return nil, missing(g, p, err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxEditFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", p, err)
	case len(data) > maxEditFile:
		return nil, tooLarge(p, int64(len(data)))
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return append([]byte{}, data...), nil // never nil, which would mean that anything may be there
}

func tooLarge(p string, n int64) error {
	return fmt.Errorf("%s is a file of %s; the limit is %s", p, size(n), size(maxEditFile))
}

// notWritten says what became of a write that failed.
func notWritten(p string, err error) error {
	var refusal *tool.Refusal
	switch {
	case errors.Is(err, tool.ErrChanged):
		return fmt.Errorf("%s was changed by something else meanwhile and was left as it is; read it again", p)
	case errors.As(err, &refusal):
		return err
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is unchanged: %w", p, err)
	}
	return fmt.Errorf("%s could not be written: %w", p, err)
}

// boundedDiff cuts a diff at a line's end.
func boundedDiff(d string) string {
	if len(d) <= maxDiffText {
		return cleanText(d)
	}
	cut := strings.LastIndexByte(d[:maxDiffText], '\n') + 1
	return fmt.Sprintf("%s[%s more of the diff not shown]\n", cleanText(d[:cut]), counted(strings.Count(d[cut:], "\n"), "line"))
}

// applyEdits returns the file's text after the edits, and how many replacements they made. The text
// is matched without its byte order mark and, if all its lines end in CRLF, as if they ended in LF.
func applyEdits(file string, edits []textEdit) (string, int, error) {
	text, hadBOM := strings.CutPrefix(file, bom)
	ends := lineEndsOf(text)
	if ends == endsCRLF {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	total := 0
	for i, e := range edits {
		field := ""
		if len(edits) > 1 {
			field = fmt.Sprintf("edits[%d]: ", i)
		}
		if ends == endsCRLF {
			e.OldText = strings.ReplaceAll(e.OldText, "\r\n", "\n")
			e.NewText = strings.ReplaceAll(e.NewText, "\r\n", "\n")
		}
		next, n, err := applyEdit(text, e)
		if err != nil {
			return "", 0, fmt.Errorf("%s%w", field, err)
		}
		text, total = next, total+n
	}
	if ends == endsCRLF {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if hadBOM {
		text = bom + text
	}
	switch {
	case text == file:
		return "", 0, errors.New("the edits together change nothing")
	case len(text) > maxEditFile:
		return "", 0, fmt.Errorf("the file would have %s; the limit is %s", size(int64(len(text))), size(maxEditFile))
	}
	return text, total, nil
}

func applyEdit(text string, e textEdit) (string, int, error) {
	switch {
	case e.OldText == "":
		return "", 0, errors.New("old_text is empty; give the text to replace, or use write for a whole file")
	case e.OldText == e.NewText:
		return "", 0, errors.New("old_text and new_text are the same")
	}
	n := strings.Count(text, e.OldText)
	switch {
	case n == 0:
		return "", 0, notFound(text, e.OldText)
	case n > 1 && !e.ReplaceAll:
		return "", 0, fmt.Errorf("old_text occurs %d times, at %s; add lines around it to say which, or set replace_all",
			n, linesOf(text, e.OldText))
	case len(text)+n*(len(e.NewText)-len(e.OldText)) > maxEditFile:
		return "", 0, fmt.Errorf("the file would be larger than %s", size(maxEditFile))
	}
	return strings.ReplaceAll(text, e.OldText, e.NewText), n, nil
}

// linesOf names the lines at which the occurrences begin.
func linesOf(text, part string) string {
	const most = 10
	var lines []string
	line, at := 1, 0
	for len(lines) < most {
		i := strings.Index(text[at:], part)
		if i < 0 {
			break
		}
		line += strings.Count(text[at:at+i], "\n")
		lines = append(lines, fmt.Sprint(line))
		line += strings.Count(part, "\n")
		at += i + len(part)
	}
	more := ""
	if strings.Contains(text[at:], part) {
		more = ", …"
	}
	return "lines " + strings.Join(lines, ", ") + more
}

// sameBytes says whether two contents are equal.
func sameBytes(a []byte, b string) bool { return bytes.Equal(a, []byte(b)) }
