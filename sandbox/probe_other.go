//go:build !linux && !darwin

package sandbox

import (
	"context"
	"fmt"
	"runtime"
)

// engine is what [Run] and [Probe] work on.
type engine struct{}

var std = &engine{}

func (e *engine) run(ctx context.Context, spec Spec) (Result, error) {
	j, err := newJob(spec)
	if err != nil {
		return Result{}, err
	}
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	if j.View != Full && j.Require {
		return Result{ExitCode: -1}, fmt.Errorf("%w: %s", ErrUnavailable, e.probe(ctx))
	}
	return j.runPlain(ctx)
}

func (e *engine) probe(context.Context) Report {
	return Report{OS: runtime.GOOS, Steps: []Step{{None, "system", false, "no enforcement is known for " + runtime.GOOS}}}
}
