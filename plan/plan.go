// Package plan is the pure heart of plan mode: which mode a session is in, which plan texts were
// submitted, and what may happen next. [Step] folds an event into a [State]; nothing else makes one.
// The package imports only the standard library, does no I/O and reads no clock.
//
// A [State] has unexported fields and its zero value is [Planning]: an uninitialized session is the
// most restricted one. [Off] and [Executing] are reached only by folding a user's event.
package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Mode is the phase that a session is in. The zero value is [Planning].
type Mode uint8

// The modes. Off and Executing may change things; the three others are read-only.
const (
	Planning  Mode = iota // the model researches and writes a plan
	Ready                 // a plan waits for the user
	Reviewing             // a reviewer reads the plan
	Executing             // the user has approved a plan, which is being carried out
	Off                   // plan mode is not active
)

var modeNames = [...]string{Planning: "planning", Ready: "ready", Reviewing: "reviewing", Executing: "executing", Off: "off"}

// Modes lists every mode.
func Modes() []Mode { return []Mode{Off, Planning, Ready, Reviewing, Executing} }

// String returns the mode's name in lower case; an impossible value is "planning".
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return modeNames[Planning]
}

// ReadOnly says whether plan mode is active, so that nothing may be changed.
func (m Mode) ReadOnly() bool {
	switch m {
	case Off, Executing:
		return false
	case Planning, Ready, Reviewing:
	}
	return true
}

// MarshalText writes the mode's name.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a mode's name; another word is an error and leaves Planning.
func (m *Mode) UnmarshalText(text []byte) error {
	var err error
	*m, err = ParseMode(string(text))
	return err
}

// ParseMode reads a mode's name. Another word is Planning, the most restricted mode, and an error.
func ParseMode(s string) (Mode, error) {
	for m, name := range modeNames {
		if name == s {
			return Mode(m), nil
		}
	}
	return Planning, fmt.Errorf("plan: unknown mode %q", s)
}

// A Digest identifies a plan text: "sha256:" and the hexadecimal SHA-256 of its normalized form.
type Digest string

// DigestOf returns the digest of the text in its normalized form.
func DigestOf(text string) Digest {
	sum := sha256.Sum256([]byte(Normalize(text)))
	return Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// Short returns the first twelve hexadecimal digits, for people. [State.Find] takes them too.
func (d Digest) Short() string {
	s := strings.TrimPrefix(string(d), "sha256:")
	if len(s) > shortDigest {
		s = s[:shortDigest]
	}
	return s
}

// shortDigest is the length of a digest's short form: 48 bits, which no session's handful of
// revisions will collide in.
const shortDigest = 12

// Normalize returns the text with line ends as newlines, without byte order marks and blank lines
// before it, without blank lines after it and with one newline at the end. An empty text stays empty.
// Normalizing twice is normalizing once.
func Normalize(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	for {
		rest := strings.TrimPrefix(text, "\ufeff")
		if line, after, ok := strings.Cut(rest, "\n"); ok && strings.TrimSpace(line) == "" {
			rest = after
		}
		if len(rest) == len(text) {
			break
		}
		text = rest
	}
	// The last newline of the text before the white space at its end: white space behind that on its own
	// line goes, that of a line with text stays.
	end := len(strings.TrimRightFunc(text, unicode.IsSpace))
	if end == 0 {
		return ""
	}
	if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
		text = text[:end+i]
	}
	return text + "\n"
}

// Limits of a plan's text.
const (
	MaxText  = 100_000 // bytes of a normalized text
	MaxSteps = 200
)

// Errors that a caller may branch on. Texts that the user or the model sees are built around them.
var (
	ErrEmpty     = errors.New("the plan is empty")
	ErrNoSteps   = errors.New("the plan has no numbered or checkbox step")
	ErrTooLong   = errors.New("the plan is too long")
	ErrUnclean   = errors.New("the plan holds characters that cannot be shown as they are")
	ErrUnchanged = errors.New("the plan is the one that was rejected, unchanged")
	ErrDigest    = errors.New("the digest does not name the newest revision")
	ErrNoPlan    = errors.New("no plan was submitted")
)

// Check says whether a text can be a plan: not empty, not over the limits, at least one numbered or
// checkbox step, and no character that would make what a person sees differ from what the text says
// (control characters, bidirectional overrides, characters without a shape, invalid UTF-8).
func Check(text string) error {
	text = Normalize(text)
	if text == "" {
		return ErrEmpty
	}
	if len(text) > MaxText {
		return fmt.Errorf("%w: %d bytes; the limit is %d", ErrTooLong, len(text), MaxText)
	}
	line := 1
	for i, r := range text {
		switch {
		case r == '\n':
			line++
		case r == '\t':
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), unicode.Is(shapeless, r):
			if r == utf8.RuneError && strings.HasPrefix(text[i:], "\ufffd") {
				continue // a replacement character that is really there
			}
			return fmt.Errorf("%w: %U on line %d", ErrUnclean, r, line)
		}
	}
	steps := StepsOf(text)
	if len(steps) == 0 {
		return fmt.Errorf("%w: write each as `1. …` or `- [ ] …`", ErrNoSteps)
	}
	if len(steps) > MaxSteps {
		return fmt.Errorf("%w: %d steps; the limit is %d", ErrTooLong, len(steps), MaxSteps)
	}
	return nil
}

// shapeless are characters that no screen shows and a model reads: separators that are no newline,
// spaces without width, and the tags, which spell ASCII. The joiners U+200C and U+200D are not among
// them: whole scripts and many emoji are written with them.
var shapeless = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00ad, Hi: 0x00ad, Stride: 1}, // soft hyphen
		{Lo: 0x180e, Hi: 0x180e, Stride: 1}, // Mongolian vowel separator
		{Lo: 0x200b, Hi: 0x200b, Stride: 1}, // zero width space
		{Lo: 0x2028, Hi: 0x2029, Stride: 1}, // line and paragraph separator
		{Lo: 0x2060, Hi: 0x2064, Stride: 1}, // word joiner, invisible operators
		{Lo: 0xfeff, Hi: 0xfeff, Stride: 1}, // byte order mark
	},
	R32:         []unicode.Range32{{Lo: 0xe0000, Hi: 0xe007f, Stride: 1}}, // tags
	LatinOffset: 1,
}

// A Status says what became of a revision.
type Status string

// The statuses of a revision.
const (
	Submitted  Status = "submitted"
	Approved   Status = "approved"
	Rejected   Status = "rejected"
	Superseded Status = "superseded"
	Done       Status = "done"
)

// An Author says who wrote a revision.
type Author string

// The authors.
const (
	ByModel Author = "model"
	ByUser  Author = "user"
)

// A Revision is one text of a plan.
type Revision struct {
	Number int       `json:"number"` // from 1, in the session
	Plan   int       `json:"plan"`   // from 1: which plan of the session it is a text of
	Digest Digest    `json:"digest"`
	Title  string    `json:"title"`
	Text   string    `json:"text"` // normalized
	Author Author    `json:"author"`
	At     time.Time `json:"at"`
	Status Status    `json:"status"`
	// Feedback is what the user said in rejecting the revision, or the last reviewer in reviewing it.
	Feedback string `json:"feedback,omitempty"`
	// Sandbox says what the kernel enforced while the plan was made; "" if nothing is known.
	Sandbox string `json:"sandbox,omitempty"`
}

// Steps returns the steps of the revision's text.
func (r Revision) Steps() []Item { return StepsOf(r.Text) }
