package scripted

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planmode-dev/planmode/llm"
)

const header = "==="

type parser struct {
	name    string
	script  *Script
	pace    time.Duration // of the turns to come
	turn    *Turn         // the one being read; nil before the first
	stopped bool          // turn has a stop of its own
	match   []condition   // of turn
}

// A directive is "key: value"; further lines of the value are joined by newlines.
type directive struct {
	line       int
	key, value string
}

func parse(name string, data []byte) (*Script, error) {
	p := &parser{name: name, script: &Script{name: name, groups: make([]group, 1)}}
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); {
		line := lines[i]
		n := i + 1
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			i++
		case strings.HasPrefix(line, header):
			if f := strings.Fields(line[len(header):]); len(f) == 0 || f[0] != "turn" {
				return nil, p.errorf(n, "%q is no header; a turn starts with %q", line, header+" turn")
			}
			if err := p.endTurn(); err != nil {
				return nil, err
			}
			p.turn = &Turn{Line: n, Pace: p.pace}
			i++
		case line[0] == ' ' || line[0] == '\t':
			return nil, p.errorf(n, "an indented line continues a directive, and there is none above")
		default:
			key, value, ok := strings.Cut(line, ":")
			if !ok {
				return nil, p.errorf(n, "%q is no directive; one looks like %q", line, "text: Hello.")
			}
			value, i = continued(strings.TrimPrefix(value, " "), lines, i+1)
			if err := p.directive(directive{n, key, value}); err != nil {
				return nil, err
			}
		}
	}
	if err := p.endTurn(); err != nil {
		return nil, err
	}
	if p.script.Len() == 0 {
		return nil, p.errorf(len(lines), "no turn: a turn starts with %q", header+" turn")
	}
	return p.script, nil
}

// continued adds the indented lines from lines[i] on to the value and returns the index after them.
func continued(value string, lines []string, i int) (string, int) {
	var more []string
	end := i
	for ; i < len(lines); i++ {
		rest, ok := strings.CutPrefix(lines[i], "\t")
		if !ok {
			rest, ok = strings.CutPrefix(lines[i], "  ")
		}
		switch {
		case ok:
			more = append(more, rest)
			end = i + 1
		case strings.TrimSpace(lines[i]) == "":
			more = append(more, "")
		default:
			i = len(lines)
		}
	}
	more = more[:max(0, len(more)-trailingEmpty(more))]
	if len(more) == 0 {
		return value, end
	}
	if value == "" {
		return strings.Join(more, "\n"), end
	}
	return value + "\n" + strings.Join(more, "\n"), end
}

func trailingEmpty(lines []string) int {
	n := 0
	for n < len(lines) && strings.TrimSpace(lines[len(lines)-1-n]) == "" {
		n++
	}
	return n
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("scripted: %s:%d: %s", p.name, line, fmt.Sprintf(format, args...))
}

func (p *parser) endTurn() error {
	t := p.turn
	if t == nil {
		return nil
	}
	if len(t.Steps) == 0 {
		return p.errorf(t.Line, "the turn is empty; write what the model says, or %q", "fault: empty")
	}
	if !p.stopped {
		t.Stop = llm.StopEndTurn
		if slices.ContainsFunc(t.Steps, func(s Step) bool { _, ok := s.(Call); return ok }) {
			t.Stop = llm.StopToolUse
		}
	}
	if p.match != nil {
		p.script.groups = append(p.script.groups, group{match: p.match})
	}
	g := len(p.script.groups) - 1
	turns := &p.script.groups[g].turns
	t.Key = strconv.Itoa(len(*turns) + 1)
	if g > 0 {
		t.Key = fmt.Sprintf("m%d_%s", g, t.Key)
	}
	*turns = append(*turns, t)
	p.turn, p.match, p.stopped = nil, nil, false
	return nil
}

var directives = map[string]func(*parser, directive) error{
	"text":      (*parser).text,
	"huge":      (*parser).huge,
	"thinking":  (*parser).thinking,
	"signature": (*parser).signature,
	"redacted":  (*parser).redacted,
	"call":      (*parser).call,
	"badcall":   (*parser).badCall,
	"stop":      (*parser).stop,
	"usage":     (*parser).usage,
	"delay":     (*parser).delay,
	"stall":     (*parser).stall,
	"fault":     (*parser).fault,
	"pace":      (*parser).setPace,
	"expect":    (*parser).expect,
	"match":     (*parser).addMatch,
}

// directiveNames is for messages; the map's order is random and it cannot refer to itself.
const directiveNames = "badcall, call, delay, expect, fault, huge, match, pace, redacted, signature, stall, stop, text, thinking, usage"

func (p *parser) directive(d directive) error {
	read, ok := directives[d.key]
	if !ok {
		return p.errorf(d.line, "%q is no directive; there are %s", d.key, directiveNames)
	}
	if p.turn == nil && d.key != "pace" {
		return p.errorf(d.line, "%q stands before the first %q", d.key, header+" turn")
	}
	return read(p, d)
}

func (p *parser) add(s Step) error {
	p.turn.Steps = append(p.turn.Steps, s)
	return nil
}

func (p *parser) text(d directive) error {
	if d.value == "" {
		return p.errorf(d.line, "the text is empty; %q makes an empty message", "fault: empty")
	}
	return p.add(Say{llm.Text{Text: d.value}})
}

func (p *parser) huge(d directive) error {
	digits, unit := strings.TrimSpace(d.value), 1
	for suffix, n := range map[string]int{"kB": 1000, "MB": 1000 * 1000} {
		if s, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = strings.TrimSpace(s), n
		}
	}
	n, err := strconv.Atoi(digits)
	const most = 64 << 20 // more than any answer; a typo must not fill the memory
	if err != nil || n < 1 || n > most/unit {
		return p.errorf(d.line, "%q is no number of bytes such as 500 or 2MB", d.value)
	}
	const filler = "All work and no play makes a dull day. "
	n *= unit
	return p.add(Say{llm.Text{Text: strings.Repeat(filler, n/len(filler)+1)[:n]}})
}

func (p *parser) thinking(d directive) error {
	return p.add(Say{llm.Thinking{Text: d.value}})
}

func (p *parser) signature(d directive) error {
	if n := len(p.turn.Steps); n > 0 {
		if say, ok := p.turn.Steps[n-1].(Say); ok {
			if th, ok := say.Part.(llm.Thinking); ok && th.Redacted == "" {
				th.Signature = d.value
				p.turn.Steps[n-1] = Say{th}
				return nil
			}
		}
	}
	return p.errorf(d.line, "a signature must follow its thinking")
}

func (p *parser) redacted(d directive) error {
	if d.value == "" {
		return p.errorf(d.line, "redacted needs the data")
	}
	return p.add(Say{llm.Thinking{Redacted: d.value}})
}

func (p *parser) call(d directive) error {
	name, input := cutCall(d.value)
	if name == "" {
		return p.errorf(d.line, "a call needs the name of a tool")
	}
	if input == "" {
		input = "{}"
	}
	if !json.Valid([]byte(input)) {
		return p.errorf(d.line, "the input of %s is not JSON (badcall allows that): %s", name, jsonError(input))
	}
	return p.add(Call{Name: name, Input: json.RawMessage(input)})
}

func (p *parser) badCall(d directive) error {
	name, input := cutCall(d.value)
	if name == "" {
		return p.errorf(d.line, "a call needs the name of a tool")
	}
	return p.add(Call{Name: name, Input: json.RawMessage(input)})
}

func cutCall(value string) (name, input string) {
	name, input = value, ""
	if i := strings.IndexAny(value, " \t\n"); i >= 0 {
		name, input = value[:i], value[i+1:]
	}
	return name, strings.TrimSpace(input)
}

func jsonError(input string) error {
	var v any
	return json.Unmarshal([]byte(input), &v)
}

func (p *parser) stop(d directive) error {
	switch r := llm.StopReason(d.value); r {
	case llm.StopEndTurn, llm.StopToolUse, llm.StopMaxTokens, llm.StopRefusal:
		p.turn.Stop, p.stopped = r, true
		return nil
	}
	return p.errorf(d.line, "stop %q is none of end_turn, tool_use, max_tokens, refusal", d.value)
}

func (p *parser) usage(d directive) error {
	var u llm.Usage
	fields := map[string]*int64{
		"input": &u.Input, "output": &u.Output, "cache_read": &u.CacheRead, "cache_write": &u.CacheWrite,
	}
	for _, f := range strings.Fields(d.value) {
		key, value, _ := strings.Cut(f, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if fields[key] == nil || err != nil || n < 0 {
			return p.errorf(d.line, "usage %q is not input=N, output=N, cache_read=N or cache_write=N", f)
		}
		*fields[key] = n
	}
	p.turn.Usage = &u
	return nil
}

func (p *parser) duration(d directive) (time.Duration, error) {
	v, err := time.ParseDuration(strings.TrimSpace(d.value))
	if err != nil || v < 0 {
		return 0, p.errorf(d.line, "%s: %q is no duration such as 20ms", d.key, d.value)
	}
	return v, nil
}

func (p *parser) delay(d directive) error {
	v, err := p.duration(d)
	if err != nil {
		return err
	}
	return p.add(Delay{v})
}

func (p *parser) setPace(d directive) error {
	v, err := p.duration(d)
	if err != nil {
		return err
	}
	if p.turn == nil {
		p.pace = v
	} else {
		p.turn.Pace = v
	}
	return nil
}

func (p *parser) stall(d directive) error {
	if d.value != "" {
		return p.errorf(d.line, "stall takes no value, not %q", d.value)
	}
	return p.add(Stall{})
}

var faultKinds = []llm.ErrorKind{
	llm.ErrAuth, llm.ErrRate, llm.ErrOverloaded, llm.ErrNetwork, llm.ErrStalled, llm.ErrCut,
	llm.ErrGarbage, llm.ErrEmpty, llm.ErrTooLong, llm.ErrBadRequest,
}

func (p *parser) fault(d directive) error {
	words := strings.Fields(d.value)
	if len(words) == 0 || !slices.Contains(faultKinds, llm.ErrorKind(words[0])) {
		return p.errorf(d.line, "fault %q is none of %v", d.value, faultKinds)
	}
	f := Fault{Line: d.line, Kind: llm.ErrorKind(words[0])}
	numbers := map[string]*int{"status": &f.Status, "times": &f.Times, "at": &f.At}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		var err error
		switch {
		case key == "retry_after":
			f.RetryAfter, err = time.ParseDuration(value)
		case numbers[key] != nil:
			*numbers[key], err = strconv.Atoi(value)
		default:
			return p.errorf(d.line, "fault: %q is none of status=, retry_after=, times=, at=", w)
		}
		if err != nil {
			return p.errorf(d.line, "fault: %q: %v", w, err)
		}
	}
	if f.Kind == llm.ErrEmpty && len(p.turn.Steps) > 0 {
		return p.errorf(d.line, "fault: an answer is not empty after something was said")
	}
	if f.Status < 0 || f.Times < 0 || f.At < 0 || f.RetryAfter < 0 {
		return p.errorf(d.line, "fault %q: a number is negative", d.value)
	}
	if f.Times > 0 && !(&llm.Error{Kind: f.Kind}).Temporary() {
		return p.errorf(d.line, "fault %q: %s is not tried again, so times= has no meaning", d.value, f.Kind)
	}
	return p.add(f)
}

func (p *parser) expect(d directive) error {
	c, err := parseCondition(d.value)
	if err != nil {
		return p.errorf(d.line, "expect: %v", err)
	}
	c.pos = fmt.Sprintf("%s:%d", p.name, d.line)
	p.turn.expect = append(p.turn.expect, c)
	return nil
}

func (p *parser) addMatch(d directive) error {
	c, err := parseCondition(d.value)
	if err != nil {
		return p.errorf(d.line, "match: %v", err)
	}
	c.pos = fmt.Sprintf("%s:%d", p.name, d.line)
	p.match = append(p.match, c)
	return nil
}
