package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// interruptible returns a reader of r whose reads end when ctx does: a program that waits for a person, or
// for a pipe that nobody closes, must still be stopped by Ctrl-C. It reads ahead of what it is asked for.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	pr, pw := io.Pipe()
	go func() {
		_, err := io.Copy(pw, r)
		pw.CloseWithError(err) // a nil error is the end of the input
	}()
	context.AfterFunc(ctx, func() { pw.CloseWithError(ctx.Err()) })
	return pr
}

// brokenPipesAreErrors makes a reader of our output that is gone an error of the write instead of our end,
// until the function that it returns is called.
func brokenPipesAreErrors() (restore func()) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return func() { signal.Stop(pipe) }
}

// onTerminal says whether somebody can type what is read, or see what is written.
func onTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isTerminal(f)
}

// checkText refuses what is no text: it would be kept as something else than what was given.
func checkText(what, s string) error {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return usagef("%s is not UTF-8 text: byte %d is 0x%02x", what, i, s[i])
			}
		}
		if r == 0 {
			return usagef("%s holds a NUL at byte %d: it is no text", what, i)
		}
	}
	return nil
}

// longestPrompt bounds what is read from standard input.
const longestPrompt = 1 << 20

// promptText is the flag's text, or what standard input holds when it is no terminal.
func promptText(ctx context.Context, flag string, given bool, in io.Reader) (string, error) {
	text := flag
	if !given {
		if onTerminal(in) {
			return "", nil // nobody has typed anything
		}
		data, err := io.ReadAll(io.LimitReader(interruptible(ctx, in), longestPrompt+1))
		if err != nil {
			return "", fmt.Errorf("standard input: %w", err)
		}
		if len(data) > longestPrompt {
			return "", usagef("the prompt is longer than %d bytes", longestPrompt)
		}
		text = string(data)
	}
	if err := checkText("the prompt", text); err != nil {
		return "", err
	}
	text = strings.TrimSpace(text)
	if given && text == "" {
		return "", usagef("the prompt is empty")
	}
	return text, nil
}

// shown returns the text as a terminal may be given it: what would steer the terminal, or make a text look
// like another one, stands there as an escape sequence.
func shown(s string) string {
	if !strings.ContainsFunc(s, steers) {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		switch {
		case !steers(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func steers(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029')
}

// oneLine is the text's beginning, without line ends.
func oneLine(s string) string {
	const limit = 200
	s = shown(strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit-1]) + "…"
	}
	return s
}
