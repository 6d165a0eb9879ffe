package tool

import (
	"maps"
	"sync"
)

// Counters count judged calls. Labels are bounded: a tool is a registered name or "unknown", a code is
// one of this package's, a surface one of the program's. The zero value is ready, a nil one counts
// nothing; it is safe for concurrent use.
type Counters struct {
	mu sync.Mutex
	n  map[Count]uint64
}

// A Count is what one counter counts.
type Count struct {
	Tool     string // registered name, or "unknown"
	Decision string // "allow", "ask", or a refusal's Code
	Surface  string // known surface, or "other"
}

// Snapshot returns the counters' values.
func (c *Counters) Snapshot() map[Count]uint64 {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

func (c *Counters) judged(g *Gate, call Call, d Decision) {
	if c == nil {
		return
	}
	n := Count{Tool: "unknown", Decision: string(Internal), Surface: "other"}
	if g.cfg.Registry.lookup(call.Tool) != nil {
		n.Tool = call.Tool
	}
	switch d := d.(type) {
	case Allow:
		n.Decision = "allow"
	case Ask:
		n.Decision = "ask"
	case Deny:
		n.Decision = string(d.Refusal.Code)
	}
	switch call.Surface {
	case "model", "child", "user", "mcp", "hook", "ui", "voice":
		n.Surface = call.Surface
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[Count]uint64{}
	}
	c.n[n]++
}
