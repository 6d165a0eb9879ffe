package scripted

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/planmode-dev/planmode/llm"
)

// A condition is a statement about a request: subject, verb, objects.
type condition struct {
	pos     string // "file:line"
	source  string
	subject subject
	verb    string
	texts   []string
	re      *regexp.Regexp // of the verb "matches"
}

// A subject is a text of the request, a set of words, or a tool result.
type subject struct {
	text   func(*llm.Request) (string, bool) // false: the request has none
	words  func(*llm.Request) []string
	result func(*llm.Request) (llm.ToolResult, bool)
}

// subjects by name; no name is the beginning of another one.
var subjects = []struct {
	name string
	subject
}{
	{"system", subject{text: func(r *llm.Request) (string, bool) { return r.System, true }}},
	{"last user", subject{text: lastUser}},
	{"last message", subject{text: lastMessage}},
	{"last tool result", subject{result: lastResult}},
	{"conversation", subject{text: func(r *llm.Request) (string, bool) { return allText(r.Messages), true }}},
	{"model", subject{text: func(r *llm.Request) (string, bool) { return r.Model.ID, true }}},
	{"thinking", subject{text: thinkingLevel}},
	{"tools", subject{words: toolNames}},
}

type token struct {
	text   string
	quoted bool
}

func parseCondition(source string) (condition, error) {
	c := condition{source: source}
	toks, err := tokens(source)
	if err != nil {
		return c, err
	}
	if len(toks) == 0 {
		return c, fmt.Errorf("the condition is empty")
	}
	if toks[0].quoted {
		c.subject, c.verb, c.texts = subject{text: lastUser}, "contains", texts(toks)
		return c, nil
	}
	var used int
	if c.subject, used, err = parseSubject(toks); err != nil {
		return c, err
	}
	if toks = toks[used:]; len(toks) == 0 {
		return c, fmt.Errorf("%q lacks a verb: contains, lacks, is, matches", source)
	}
	verbs := map[string]string{"contain": "contains", "lack": "lacks", "are": "is"}
	c.verb = toks[0].text
	if v, ok := verbs[c.verb]; ok {
		c.verb = v
	}
	c.texts = texts(toks[1:])
	return c, c.validate()
}

func (c *condition) validate() error {
	switch c.verb {
	case "contains", "lacks":
		if len(c.texts) == 0 {
			return fmt.Errorf("%q lacks a text to look for", c.source)
		}
	case "is":
		if c.subject.words == nil && len(c.texts) != 1 {
			return fmt.Errorf("%q needs exactly one text", c.source)
		}
	case "matches":
		if c.subject.words != nil || len(c.texts) != 1 {
			return fmt.Errorf("%q: matches is for one text and one regular expression", c.source)
		}
		var err error
		c.re, err = regexp.Compile(c.texts[0])
		return err
	case "fails", "succeeds":
		if c.subject.result == nil || len(c.texts) > 0 {
			return fmt.Errorf("%q: only a tool result fails or succeeds", c.source)
		}
	default:
		return fmt.Errorf("%q: verb %q is none of contains, lacks, is, matches, fails, succeeds", c.source, c.verb)
	}
	return nil
}

func parseSubject(toks []token) (subject, int, error) {
	word := func(i int) string {
		if i < len(toks) && !toks[i].quoted {
			return toks[i].text
		}
		return ""
	}
	for _, s := range subjects {
		words := strings.Fields(s.name)
		if len(toks) >= len(words) && slices.Equal(texts(toks[:len(words)]), words) {
			return s.subject, len(words), nil
		}
	}
	if word(0) == "tool" && word(1) == "result" {
		n, err := strconv.Atoi(word(2))
		if err != nil || n < 1 {
			return subject{}, 0, fmt.Errorf("tool result %q is no number from 1", word(2))
		}
		return subject{result: func(r *llm.Request) (llm.ToolResult, bool) { return nthResult(r, n) }}, 3, nil
	}
	return subject{}, 0, fmt.Errorf("no subject starts with %q; there are system, last user, last message, last tool result, tool result N, conversation, model, thinking, tools", word(0))
}

func texts(toks []token) []string {
	out := make([]string, len(toks))
	for i, t := range toks {
		out[i] = t.text
	}
	return out
}

// tokens splits at white space outside of Go strings.
func tokens(s string) ([]token, error) {
	var out []token
	for {
		s = strings.TrimLeft(s, " \t\n")
		if s == "" {
			return out, nil
		}
		if s[0] == '"' || s[0] == '`' {
			q, err := strconv.QuotedPrefix(s)
			if err != nil {
				return nil, fmt.Errorf("the text at %s is not closed or has a bad escape", quote(s))
			}
			text, err := strconv.Unquote(q)
			if err != nil {
				return nil, fmt.Errorf("the text %s: %w", q, err)
			}
			out = append(out, token{text, true})
			s = s[len(q):]
			continue
		}
		end := strings.IndexAny(s, " \t\n")
		if end < 0 {
			end = len(s)
		}
		out = append(out, token{s[:end], false})
		s = s[end:]
	}
}

// check returns what is wrong, or nil.
func (c *condition) check(req *llm.Request) error {
	fail := func(is string) error {
		return fmt.Errorf("%s: expected %s, but it is %s", c.pos, c.source, is)
	}
	if c.subject.words != nil {
		return c.checkWords(c.subject.words(req), fail)
	}
	var text string
	var ok bool
	if c.subject.result != nil {
		var r llm.ToolResult
		if r, ok = c.subject.result(req); ok && c.verb == "fails" != r.IsError && (c.verb == "fails" || c.verb == "succeeds") {
			return fail(fmt.Sprintf("marked is_error=%t: %s", r.IsError, quote(partsText(r.Parts))))
		}
		text = partsText(r.Parts)
	} else {
		text, ok = c.subject.text(req)
	}
	if !ok {
		return fmt.Errorf("%s: expected %s, but the request has no such thing", c.pos, c.source)
	}
	switch c.verb {
	case "contains":
		for _, t := range c.texts {
			if !strings.Contains(text, t) {
				return fail(quote(text))
			}
		}
	case "lacks":
		for _, t := range c.texts {
			if strings.Contains(text, t) {
				return fail(quote(text))
			}
		}
	case "is":
		if text != c.texts[0] {
			return fail(quote(text))
		}
	case "matches":
		if !c.re.MatchString(text) {
			return fail(quote(text))
		}
	}
	return nil
}

func (c *condition) checkWords(have []string, fail func(string) error) error {
	bad := false
	switch c.verb {
	case "contains":
		bad = slices.ContainsFunc(c.texts, func(t string) bool { return !slices.Contains(have, t) })
	case "lacks":
		bad = slices.ContainsFunc(c.texts, func(t string) bool { return slices.Contains(have, t) })
	case "is":
		a, b := slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(c.texts))
		bad = !slices.Equal(a, b)
	}
	if bad {
		return fail("[" + strings.Join(have, " ") + "]")
	}
	return nil
}

// quote shortens long texts to their two ends, where the interesting part usually is.
func quote(s string) string {
	const most = 400
	if len(s) <= most {
		return strconv.Quote(s)
	}
	head, tail := most*3/4, len(s)-most/4
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for !utf8.RuneStart(s[tail]) {
		tail++
	}
	return strconv.Quote(s[:head]) + "…" + strconv.Quote(s[tail:])
}

func lastMessage(r *llm.Request) (string, bool) {
	if len(r.Messages) == 0 {
		return "", false
	}
	return partsText(r.Messages[len(r.Messages)-1].Parts), true
}

func lastResult(r *llm.Request) (llm.ToolResult, bool) {
	for _, m := range slices.Backward(r.Messages) {
		if rs := results(m); len(rs) > 0 {
			return rs[len(rs)-1], true
		}
	}
	return llm.ToolResult{}, false
}

func nthResult(r *llm.Request, n int) (llm.ToolResult, bool) {
	if len(r.Messages) == 0 {
		return llm.ToolResult{}, false
	}
	rs := results(r.Messages[len(r.Messages)-1])
	if n > len(rs) {
		return llm.ToolResult{}, false
	}
	return rs[n-1], true
}

func thinkingLevel(r *llm.Request) (string, bool) {
	if r.Thinking == llm.ThinkingOff {
		return "off", true
	}
	return string(r.Thinking), true
}

func toolNames(r *llm.Request) []string {
	names := make([]string, len(r.Tools))
	for i, t := range r.Tools {
		names[i] = t.Name
	}
	return names
}

func allText(msgs []llm.Message) string {
	texts := make([]string, len(msgs))
	for i, m := range msgs {
		texts[i] = partsText(m.Parts)
	}
	return strings.Join(texts, "\n")
}

// partsText is everything that can be read in the parts.
func partsText(parts []llm.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		switch p := p.(type) {
		case llm.Text:
			b.WriteString(p.Text)
		case llm.Thinking:
			b.WriteString(p.Text)
		case llm.Image:
			fmt.Fprintf(&b, "[%s, %d bytes]", p.MediaType, len(p.Data))
		case llm.ToolCall:
			fmt.Fprintf(&b, "%s %s", p.Name, p.Input)
		case llm.ToolResult:
			b.WriteString(partsText(p.Parts))
		}
	}
	return b.String()
}
