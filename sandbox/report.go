package sandbox

import (
	"context"
	"fmt"
	"strings"
)

// A Report says what the kernel really enforces here, and why not more. It is what [Probe] measured,
// not what the kernel's version promises.
type Report struct {
	Level       Level  `json:"level"`
	OS          string `json:"os"`
	Kernel      string `json:"kernel,omitempty"`
	LandlockABI int    `json:"landlock_abi,omitempty"`
	Overlay     bool   `json:"overlay"` // Scratch is copy-on-write; otherwise it is a copy
	Steps       []Step `json:"steps,omitempty"`
}

// A Step is one thing that was tried, in order.
type Step struct {
	Level Level  `json:"level"` // the rung that it belongs to
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Why   string `json:"why,omitempty"` // why it is not OK
}

// Why lists the steps that did not hold, one line each.
func (r Report) Why() []string {
	var why []string
	for _, s := range r.Steps {
		if !s.OK {
			why = append(why, fmt.Sprintf("%s: %s: %s", s.Level, s.Name, s.Why))
		}
	}
	return why
}

// String is one line for a status bar: the level, what it stands on, and the first reason why it
// is not the strongest.
func (r Report) String() string {
	facts := []string{r.OS}
	if r.Kernel != "" {
		facts = append(facts, r.Kernel)
	}
	if r.LandlockABI > 0 {
		facts = append(facts, fmt.Sprintf("Landlock %d", r.LandlockABI))
	}
	if r.Overlay {
		facts = append(facts, "overlay")
	}
	line := fmt.Sprintf("%s (%s)", r.Level, strings.Join(facts, ", "))
	if why := r.Why(); len(why) > 0 && r.Level != Namespaces {
		line += "; " + why[0]
	}
	return line
}

// Probe reports what is enforced here. The first call tries, with processes that attempt to break
// out of each rung, and takes some tens of milliseconds; later calls return the same report. When
// ctx ends first, the report is that nothing is enforced and is not kept.
func Probe(ctx context.Context) Report { return std.probe(ctx) }
