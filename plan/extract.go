package plan

import (
	"fmt"
	"strings"
)

// A Warning says why a <proposed_plan> block was not taken as it stands. Codes: "unclosed", "unopened",
// "empty", "no_steps", "several", "unusable".
type Warning struct {
	Code    string `json:"code"`
	Line    int    `json:"line"` // of the message, from 1
	Message string `json:"message"`
}

const (
	openTag  = "<proposed_plan>"
	closeTag = "</proposed_plan>"
)

// Extract finds the plan in a model's message: the last complete <proposed_plan> block that is a plan
// by [Check]. The opening tag begins a line and the closing tag ends one, in any case; tags inside
// code fences are text. The text is "" if there is none. Everything that was found and not taken is
// warned of, so that no plan is dropped in silence.
func Extract(message string) (text string, warnings []Warning) {
	blocks, warnings := blocksOf(message)
	taken := -1
	for i, b := range blocks {
		if w, bad := b.fault(); bad {
			warnings = append(warnings, w)
			continue
		}
		taken = i
	}
	if taken < 0 {
		return "", warnings
	}
	usable := 0
	for _, b := range blocks {
		if _, bad := b.fault(); !bad {
			usable++
		}
	}
	if usable > 1 {
		warnings = append(warnings, Warning{
			Code: "several", Line: blocks[taken].line,
			Message: fmt.Sprintf("the message holds %d plans; the last one, on line %d, was taken", usable, blocks[taken].line),
		})
	}
	return Normalize(blocks[taken].body), warnings
}

type block struct {
	line int // of the opening tag
	body string
}

// fault says why the block is no plan.
func (b block) fault() (Warning, bool) {
	err := Check(b.body)
	if err == nil {
		return Warning{}, false
	}
	code := "unusable"
	switch {
	case strings.TrimSpace(b.body) == "":
		code = "empty"
	case len(StepsOf(b.body)) == 0:
		code = "no_steps"
	}
	return Warning{Code: code, Line: b.line, Message: fmt.Sprintf("the plan on line %d was not taken: %v", b.line, err)}, true
}

// blocksOf returns the complete blocks. An opening tag inside an open block begins it anew: the first
// one was a mention.
func blocksOf(message string) (blocks []block, warnings []Warning) {
	var fence fenceScanner
	var body strings.Builder
	opened, hidden := 0, 0 // lines of the open tag, and of one inside the present code fence
	unclosed := func(line int) {
		warnings = append(warnings, Warning{
			Code: "unclosed", Line: line,
			Message: fmt.Sprintf("the plan that begins on line %d has no %s at the end of a line", line, closeTag),
		})
	}
	message = strings.ReplaceAll(message, "\r\n", "\n")
	for i, line := range strings.Split(message, "\n") {
		t := strings.TrimSpace(line)
		if fence.inside(line) {
			body.WriteString(line + "\n")
			if hidden == 0 && hasPrefixFold(t, openTag) {
				hidden = i + 1
			}
			continue
		}
		hidden = 0
		rest := line
		if hasPrefixFold(t, openTag) {
			if opened > 0 {
				unclosed(opened)
			}
			opened = i + 1
			body.Reset()
			rest = t[len(openTag):]
		}
		if t := strings.TrimRight(rest, " \t"); opened > 0 && hasSuffixFold(t, closeTag) {
			body.WriteString(t[:len(t)-len(closeTag)])
			blocks = append(blocks, block{line: opened, body: body.String()})
			opened = 0
			continue
		} else if hasSuffixFold(t, closeTag) {
			warnings = append(warnings, Warning{
				Code: "unopened", Line: i + 1,
				Message: fmt.Sprintf("%s on line %d closes nothing: %s has to begin a line, without attributes", closeTag, i+1, openTag),
			})
		}
		body.WriteString(rest + "\n")
	}
	switch {
	case opened > 0:
		unclosed(opened)
	case hidden > 0 && fence.width > 0:
		warnings = append(warnings, Warning{
			Code: "unclosed", Line: hidden,
			Message: fmt.Sprintf("the plan on line %d stands in a code fence that is never closed", hidden),
		})
	}
	return blocks, warnings
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

// Strip returns the message without its complete blocks, for showing it beside the plan. What is left
// of runs of blank lines is one.
func Strip(message string) string {
	var fence fenceScanner
	var kept, held []string
	open := false
	for _, line := range strings.Split(strings.ReplaceAll(message, "\r\n", "\n"), "\n") {
		if !fence.inside(line) {
			rest := line
			if t := strings.TrimSpace(line); hasPrefixFold(t, openTag) {
				kept = append(kept, held...)
				held, open, rest = nil, true, t[len(openTag):]
			}
			if open && hasSuffixFold(strings.TrimRight(rest, " \t"), closeTag) {
				held, open = nil, false
				continue
			}
		}
		if open {
			held = append(held, line)
		} else {
			kept = append(kept, line)
		}
	}
	kept = append(kept, held...) // an unclosed block is shown as it is
	var b strings.Builder
	blank := 0
	for _, line := range kept {
		if strings.TrimSpace(line) == "" {
			blank++
		} else {
			blank = 0
		}
		if blank < 2 {
			b.WriteString(line + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}
