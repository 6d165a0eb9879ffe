package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/planmode-dev/planmode/tool"
)

type writeInput struct {
	Path    string `json:"path" jsonschema:"file to create or replace; missing folders are created"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

// Write returns the tool that creates or replaces a file as a whole.
func Write() tool.Tool {
	return tool.New(tool.Spec{
		Name: "write",
		Set:  Set,
		Description: "Create a file, or replace all of its content. To change a part use edit. In plan mode only the plan file " +
			"can be written.",
		Kinds: []tool.Effect{tool.WriteFile{}},
	}, func(in writeInput) tool.Access {
		return tool.Access{tool.WriteFile{Path: in.Path}}
	}, write)
}

type writeDetails struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
	Lines   int    `json:"lines"`
	change
}

func write(ctx context.Context, g *tool.Grant, in writeInput) (tool.Result, error) {
	if len(in.Content) > maxEditFile {
		return failed("content: %s; the limit is %s", size(int64(len(in.Content))), size(maxEditFile))
	}
	old, err := present(ctx, g, in.Path)
	created := false
	if _, statErr := g.Stat(in.Path); err != nil && errors.Is(statErr, fs.ErrNotExist) {
		old, created, err = []byte{}, true, nil
	}
	if err != nil {
		return tool.Result{}, err
	}
	lines := len(splitLines(in.Content))
	if !created && sameBytes(old, in.Content) {
		return tool.Result{
			Text:    fmt.Sprintf("%s holds exactly that already (%s); nothing was written", in.Path, counted(lines, "line")),
			Details: details(writeDetails{Path: in.Path, Lines: lines}),
		}, nil
	}
	if err := g.WriteFile(in.Path, old, []byte(in.Content)); err != nil {
		return tool.Result{}, notWritten(in.Path, err)
	}
	d := writeDetails{Path: in.Path, Created: created, Lines: lines}
	if !isBinary(old) && !isBinary([]byte(in.Content)) {
		d.change = diffOf(in.Path, string(old), in.Content)
	}
	if created {
		return tool.Result{Text: fmt.Sprintf("created %s with %s", in.Path, counted(lines, "line")), Details: details(d)}, nil
	}
	text := fmt.Sprintf("replaced %s: %s, was %s (%s)", in.Path, counted(lines, "line"), fmt.Sprint(len(splitLines(string(old)))), d.change)
	if lineEndsOf(string(old)) == endsCRLF && !strings.Contains(in.Content, "\r\n") {
		text += "; its line ends were CRLF and are LF now"
	}
	return tool.Result{Text: text, Details: details(d)}, nil
}
