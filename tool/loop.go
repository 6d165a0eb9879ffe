package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxRefusals is how often the same call may be refused in one turn before the turn ends;
// MaxRepeats, how often the same call may run with the same result before it does.
const (
	MaxRefusals = 3
	MaxRepeats  = 6
)

// A LoopGuard notices a model that makes the same call again and again. The zero value is ready. It
// belongs to one turn and one goroutine.
type LoopGuard struct {
	refused map[string]int
	last    string
	repeats int
}

// Refused counts a refused call and says whether the turn should end.
func (l *LoopGuard) Refused(c Call) (stop bool, why string) {
	if l.refused == nil {
		l.refused = map[string]int{}
	}
	key := callKey(c)
	l.refused[key]++
	if n := l.refused[key]; n >= MaxRefusals {
		return true, fmt.Sprintf("the model made the same refused call of %q %d times; the turn has ended", c.Tool, n)
	}
	return false, ""
}

// Ran counts a call that ran and says whether the turn should end.
func (l *LoopGuard) Ran(c Call, res Result) (stop bool, why string) {
	key := callKey(c) + "\x00" + res.Text
	if key != l.last {
		l.last, l.repeats = key, 0
	}
	l.repeats++
	if l.repeats >= MaxRepeats {
		return true, fmt.Sprintf("the model made the same call of %q %d times with the same result; the turn has ended", c.Tool, l.repeats)
	}
	return false, ""
}

// callKey is the tool and its input without insignificant white space.
func callKey(c Call) string {
	var b bytes.Buffer
	if json.Compact(&b, c.Input) != nil {
		b.Reset()
		b.Write(c.Input)
	}
	return c.Tool + "\x00" + b.String()
}
