package scripted

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	"github.com/planmode-dev/planmode/llm"
)

// A Script is a parsed conversation. It is immutable and safe for concurrent use.
type Script struct {
	name   string
	groups []group // the first one has no conditions; it may have no turns
}

// A group is a run of turns that is counted on its own.
type group struct {
	match []condition
	turns []*Turn
}

// A Turn is one answer of the model. It must not be changed.
type Turn struct {
	Line  int    // of its header in the script
	Key   string // distinguishes it from the other turns of the script
	Steps []Step
	Usage *llm.Usage     // nil: to be estimated; Cost is not set
	Stop  llm.StopReason // always set
	Pace  time.Duration  // between two pieces of the answer

	expect []condition
}

// A Step is what happens next while a turn is written: [Say], [Call], [Delay], [Stall] or [Fault].
type Step interface{ step() }

// Say writes a part of the message: an [llm.Text] or an [llm.Thinking].
type Say struct{ Part llm.Part }

// Call writes a tool call. The ID is given by the request (see [Turn.CallID]).
type Call struct {
	Name  string
	Input json.RawMessage
}

// Delay waits.
type Delay struct{ For time.Duration }

// Stall writes nothing more until the request is cancelled.
type Stall struct{}

// Fault breaks the answer off.
type Fault struct {
	Line       int
	Kind       llm.ErrorKind
	Status     int           // HTTP status of a fake vendor; 0 means the usual one for the kind
	RetryAfter time.Duration // 0 means that the vendor does not say
	Times      int           // how often it happens; 0 means always
	At         int           // bytes of the stream before a fake vendor cuts it; 0 means at its place
}

func (Say) step()   {}
func (Call) step()  {}
func (Delay) step() {}
func (Stall) step() {}
func (Fault) step() {}

// Load reads and parses a file.
func Load(fsys fs.FS, name string) (*Script, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("scripted: %w", err)
	}
	return parse(name, data)
}

// Parse parses a script; errors name the line.
func Parse(data []byte) (*Script, error) { return parse("script", data) }

// Name is the name of the file, or "script".
func (s *Script) Name() string { return s.name }

// Len counts the turns of the script.
func (s *Script) Len() int {
	n := 0
	for _, g := range s.groups {
		n += len(g.turns)
	}
	return n
}

// Select returns the turn that answers the request, by the rules in the package's documentation. The
// expectations of the turn are not checked: see [Turn.Check].
func (s *Script) Select(req *llm.Request) (*Turn, error) {
	g, i := s.place(req)
	turns := s.groups[g].turns
	if i < len(turns) {
		return turns[i], nil
	}
	user, _ := lastUser(req)
	if g == 0 && len(s.groups) > 1 && len(turns) == 0 {
		return nil, fmt.Errorf("%s: no turn matches the request; its last user text is %s", s.name, quote(user))
	}
	where := s.name
	if g > 0 {
		where = fmt.Sprintf("%s:%d", s.name, turns[0].Line)
	}
	return nil, fmt.Errorf("%s: the script has run out: the request asks for turn %d and there are %d; its last user text is %s",
		where, i+1, len(turns), quote(user))
}

// place returns the group that answers and the index of the turn in it, which may be past its end.
func (s *Script) place(req *llm.Request) (g, i int) {
	for g := 1; g < len(s.groups); g++ {
		if s.groups[g].holds(req) {
			return g, answersSinceUser(req)
		}
	}
	return 0, answers(req.Messages)
}

func (g *group) holds(req *llm.Request) bool {
	for _, c := range g.match {
		if c.check(req) != nil {
			return false
		}
	}
	return true
}

// Check returns an error that names the line of the first expectation that the request does not meet.
func (t *Turn) Check(req *llm.Request) error {
	for _, c := range t.expect {
		if err := c.check(req); err != nil {
			return err
		}
	}
	return nil
}

// CallID is the id of the nth call (from 0) of the turn in an answer to the request. It is the same
// whenever the same request is answered.
func (t *Turn) CallID(req *llm.Request, n int) string {
	return fmt.Sprintf("call_%s_%d_%d", t.Key, answers(req.Messages)+1, n+1)
}

func answers(msgs []llm.Message) int {
	n := 0
	for _, m := range msgs {
		if m.Role == llm.RoleAssistant {
			n++
		}
	}
	return n
}

func answersSinceUser(req *llm.Request) int {
	return answers(req.Messages[lastUserIndex(req)+1:])
}

// lastUserIndex is the index of the last message in which the user wrote, or -1. Text beside tool
// results is the harness's, not the user's.
func lastUserIndex(req *llm.Request) int {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if m := req.Messages[i]; m.Role == llm.RoleUser && m.Text() != "" && len(results(m)) == 0 {
			return i
		}
	}
	return -1
}

func lastUser(req *llm.Request) (string, bool) {
	i := lastUserIndex(req)
	if i < 0 {
		return "", false
	}
	return req.Messages[i].Text(), true
}

func results(m llm.Message) []llm.ToolResult {
	var out []llm.ToolResult
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			out = append(out, r)
		}
	}
	return out
}
