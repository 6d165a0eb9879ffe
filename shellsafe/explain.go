package shellsafe

import "mvdan.cc/sh/v3/syntax"

// A Step is the judgement of one simple command within a line, such as each part of a pipeline. Its
// verdict does not include the redirections and substitutions around it.
type Step struct {
	// At is the command as written; for a command within a nested script (`sh -c '…'`) it is the
	// script's word.
	At Span `json:"at"`
	// Row names the table row that the command was judged by; empty where there is none.
	Row     string  `json:"row,omitempty"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
	Hint    string  `json:"hint,omitempty"`
}

// An Explanation is a judgement with everything that led to it.
type Explanation struct {
	Result
	// Steps are the simple commands in the order in which they stand in the line.
	Steps []Step `json:"steps"`
}

// Explain judges a line as [Analyze] does and lists what each simple command in it was judged to be.
func Explain(line string, opts *Options) Explanation {
	if opts == nil {
		opts = &Options{}
	}
	if opts.Dialect != Bash && opts.Dialect != POSIX {
		return Explanation{Result: Analyze(line, opts), Steps: []Step{}}
	}
	if r, bad := refuseText(line); bad {
		return Explanation{Result: r, Steps: []Step{}}
	}
	a := newAnalyzer()
	a.explain = true
	r := a.run(line, opts)
	if a.steps == nil {
		a.steps = []Step{}
	}
	return Explanation{Result: r, Steps: a.steps}
}

func (a *analyzer) beginStep(c *syntax.CallExpr) {
	off, end := int(c.Pos().Offset()), int(c.End().Offset())
	if a.inner {
		off, end = a.outer[0], a.outer[1]
	}
	off, end = a.clamp(off, end)
	a.step = len(a.steps)
	a.steps = append(a.steps, Step{At: Span{Offset: off, Text: a.line[off:end]}, Verdict: Read})
}

// add records a finding of the command.
func (s *Step) add(_ *analyzer, f finding) {
	if f.verdict < s.Verdict {
		s.Verdict, s.Reason, s.Hint = f.verdict, f.reason, f.hint
	}
}

// decidedBy notes the row that a command is judged by.
func (a *analyzer) decidedBy(row string) {
	if a.step >= 0 && a.mute == 0 {
		a.steps[a.step].Row = row
	}
}
