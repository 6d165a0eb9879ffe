// Command planmode is a plan-first coding agent: it researches, proposes a plan, and carries out exactly
// the text that was approved.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes.
const (
	exitDone        = 0
	exitError       = 1
	exitUsage       = 2
	exitPlanReady   = 10 // a plan waits for approval; it is the output
	exitNeedsUser   = 11 // something needed a person's answer
	exitInterrupted = 130
)

func main() {
	ctx, stop := interrupts(context.Background())
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// interrupts returns a context that ends with the first signal that asks the program to end. The second
// one ends it at once, as if nobody had listened.
func interrupts(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // under nohup, say
			signal.Notify(signals, s)
		}
	}
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
		signal.Stop(signals)
	}()
	return ctx, cancel
}

// exitStatus is an error that is only an exit code: what it says has been said.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError marks what the caller typed wrong.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run carries out a command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot(streams{stdin, stdout, stderr})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var status exitStatus
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "planmode: interrupted; what was acknowledged is kept")
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "planmode: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(stderr, "planmode: %v\n", err)
	return exitError
}
