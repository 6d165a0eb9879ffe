package plan

import (
	"fmt"
	"strings"
)

// An Item is one step of a plan.
type Item struct {
	Number int    `json:"number"` // from 1
	Text   string `json:"text"`   // without its marker, emphasis and code marks
	Done   bool   `json:"done,omitempty"`
	Line   int    `json:"line"` // of the plan's text, from 1
}

// StepsOf returns the steps of a plan: the numbered (`1. x`, `1) x`) and checkbox (`- [ ] x`) lines
// outside code fences. A step indented below another is part of it.
func StepsOf(text string) []Item {
	var items []Item
	var indents []int
	var fence fenceScanner
	for i, line := range strings.Split(Normalize(text), "\n") {
		if fence.inside(line) {
			continue
		}
		indent, body, done, ok := stepLine(line)
		if !ok {
			continue
		}
		items = append(items, Item{Text: body, Done: done, Line: i + 1})
		indents = append(indents, indent)
	}
	return topLevel(items, indents)
}

// topLevel keeps the items that no earlier item encloses by indentation, and numbers them.
func topLevel(items []Item, indents []int) []Item {
	var kept []Item
	base := -1
	for i, item := range items {
		if base >= 0 && indents[i] >= base+2 {
			continue
		}
		base = indents[i]
		item.Number = len(kept) + 1
		kept = append(kept, item)
	}
	return kept
}

// stepLine splits a line into its indentation (a tab counts four), and the step's text.
func stepLine(line string) (indent int, body string, done, ok bool) {
	for i := 0; ; i++ {
		if i == len(line) {
			return 0, "", false, false
		}
		switch line[i] {
		case ' ':
			indent++
			continue
		case '\t':
			indent += 4
			continue
		}
		line = line[i:]
		break
	}
	digits := 0
	for digits < len(line) && digits < 4 && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	numbered := digits > 0 && len(line) > digits+1 && (line[digits] == '.' || line[digits] == ')') && line[digits+1] == ' '
	switch {
	case numbered:
		line = strings.TrimSpace(line[digits+2:])
	case len(line) > 1 && strings.IndexByte("-*+", line[0]) >= 0 && line[1] == ' ':
		line = strings.TrimSpace(line[2:])
	default:
		return 0, "", false, false
	}
	box := ""
	if len(line) >= 3 && line[0] == '[' && line[2] == ']' && strings.IndexByte(" xX", line[1]) >= 0 {
		box, line = line[:3], strings.TrimSpace(line[3:])
	}
	if !numbered && box == "" {
		return 0, "", false, false
	}
	body = plainText(line)
	return indent, body, box == "[x]" || box == "[X]", body != ""
}

// plainText takes ** for emphasis and the marks of code off, and folds white space. What stands in
// code stays: __init__.py and docs/** are names there.
func plainText(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "`")
		width := 1
		for ok && strings.HasPrefix(rest, "`") {
			width, rest = width+1, rest[1:]
		}
		marks := strings.Repeat("`", width)
		code, after, closed := strings.Cut(rest, marks)
		if !ok || !closed {
			b.WriteString(withoutStrong(s))
			return strings.Join(strings.Fields(b.String()), " ")
		}
		b.WriteString(withoutStrong(before) + code)
		s = after
	}
}

// withoutStrong takes off ** that stand around words: the first before a word at the start or after a space or
// bracket, the second behind one, at the end or before a space or punctuation.
func withoutStrong(s string) string {
	const mark = "**"
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, mark)
		if !ok {
			return b.String() + s
		}
		inner, after, closed := strings.Cut(rest, mark)
		opens := (before == "" || strings.ContainsAny(before[len(before)-1:], " \t([{\"'")) && inner != "" && inner == strings.TrimSpace(inner)
		if !closed || !opens || after != "" && !strings.ContainsAny(after[:1], " \t.,:;!?)]}\"'") {
			b.WriteString(before + mark)
			s = rest
			continue
		}
		b.WriteString(before + inner)
		s = after
	}
}

// TitleOf returns the plan's first heading, or its first line of text, outside code fences; at most 80
// characters.
func TitleOf(text string) string {
	const limit = 80
	title := ""
	var fence fenceScanner
	for line := range strings.Lines(Normalize(text)) {
		line = strings.TrimSpace(line)
		if fence.inside(line) || line == "" { // a # in a script is no heading
			continue
		}
		if h := strings.TrimLeft(line, "#"); h != line && strings.HasPrefix(h, " ") {
			title = plainText(h)
			break
		}
		if title == "" {
			title = plainText(line)
		}
	}
	if r := []rune(title); len(r) > limit {
		title = string(r[:limit-1]) + "…"
	}
	return title
}

// A fenceScanner tells which lines are inside a fenced code block (CommonMark: three or more
// backticks or tildes, closed by at least as many of the same).
type fenceScanner struct {
	mark  byte
	width int
}

// inside says whether the line is a fence or inside one.
func (f *fenceScanner) inside(line string) bool {
	t := strings.TrimSpace(line)
	width := 0
	for width < len(t) && t[width] == t[0] {
		width++
	}
	isFence := width >= 3 && (t[0] == '`' || t[0] == '~')
	switch {
	case f.width == 0 && isFence && !(t[0] == '`' && strings.Contains(t[width:], "`")):
		f.mark, f.width = t[0], width
		return true
	case f.width == 0:
		return false
	case isFence && t[0] == f.mark && width >= f.width && width == len(t):
		f.width = 0
	}
	return true
}

// A Draft is a plan in parts, as a model submits it.
type Draft struct {
	Title         string
	Summary       string
	Steps         []DraftStep
	OpenQuestions []string
	Risks         []string
}

// A DraftStep is one step of a [Draft]. Tools are names of tools that the step will use.
type DraftStep struct {
	Title  string
	Detail string
	Tools  []string
}

// Compose writes the draft as Markdown whose steps are the draft's, whatever its texts hold: lists in the
// summary are written so that they are no steps, and a code fence that was left open is closed. A
// draft without a summary or a usable step is an error that names the field.
func Compose(d Draft) (string, error) {
	if strings.TrimSpace(d.Summary) == "" {
		return "", fmt.Errorf("plan: summary: %w", ErrEmpty)
	}
	if len(d.Steps) == 0 {
		return "", fmt.Errorf("plan: steps: %w", ErrNoSteps)
	}
	var b strings.Builder
	if t := oneLine(d.Title); t != "" {
		fmt.Fprintf(&b, "# %s\n\n", t)
	} else {
		b.WriteString("# Plan\n\n")
	}
	fmt.Fprintf(&b, "%s\n## Steps\n\n", withoutSteps(closeFence(Normalize(d.Summary))))
	for i, s := range d.Steps {
		title := withoutBox(oneLine(s.Title))
		if plainText(title) == "" {
			return "", fmt.Errorf("plan: steps[%d].title: %w", i, ErrEmpty)
		}
		marker := fmt.Sprintf("%d. ", i+1)
		indent := strings.Repeat(" ", len(marker)) // what Markdown counts as part of the step
		b.WriteString(marker + title + "\n")
		writeIndented(&b, indent, s.Detail)
		if tools := oneLine(strings.Join(s.Tools, ", ")); tools != "" {
			fmt.Fprintf(&b, "%sTools: %s\n", indent, tools)
		}
	}
	writeList(&b, "Open questions", d.OpenQuestions)
	writeList(&b, "Risks", d.Risks)
	return Normalize(b.String()), nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// withoutBox takes a checkbox off the front: in a list it would make the row a step, or a step done.
func withoutBox(s string) string {
	for len(s) >= 3 && s[0] == '[' && s[2] == ']' && strings.IndexByte(" xX", s[1]) >= 0 {
		s = strings.TrimSpace(s[3:])
	}
	return s
}

// withoutSteps puts a backslash into the marker of each line that would be a step. Markdown shows the same.
func withoutSteps(text string) string {
	var b strings.Builder
	var fence fenceScanner
	for line := range strings.Lines(text) {
		if !fence.inside(line) {
			if _, _, _, ok := stepLine(strings.TrimSuffix(line, "\n")); ok {
				i := strings.IndexAny(line, ".)[")
				line = line[:i] + `\` + line[i:]
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// closeFence closes a code fence that the text leaves open. The text is normalized, and so is the result.
func closeFence(text string) string {
	var fence fenceScanner
	for line := range strings.Lines(text) {
		fence.inside(line)
	}
	if fence.width > 0 {
		text += strings.Repeat(string(fence.mark), fence.width) + "\n"
	}
	return text
}

// writeIndented puts the text under its step, deep enough that its own lists are not steps.
func writeIndented(b *strings.Builder, indent, text string) {
	text = closeFence(Normalize(text))
	if text == "" {
		return
	}
	b.WriteByte('\n')
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(indent)
		}
		b.WriteString(line)
	}
	b.WriteByte('\n')
}

func writeList(b *strings.Builder, title string, rows []string) {
	if len(rows) == 0 {
		return
	}
	if !strings.HasSuffix(b.String(), "\n\n") { // a detail ends with a blank line already
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "## %s\n\n", title)
	for _, r := range rows {
		if r = withoutBox(oneLine(r)); r != "" {
			fmt.Fprintf(b, "- %s\n", r)
		}
	}
}
