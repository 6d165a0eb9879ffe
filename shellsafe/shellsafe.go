// Package shellsafe says what a command line can do, without running it.
//
// A command line is parsed into a syntax tree, and every program, option, operand, redirection,
// assignment and substitution in it must be known to be read-only before the whole is called [Read].
// What is not proven is not read-only. The package knows nothing of sessions, files or processes: it
// is a pure function of its input and its tables.
//
// # How a line is judged
//
// Each program has a row in a table: which of its options are harmless, which write, run or connect,
// and what its operands mean. A row is strict, so that an option it does not list is refused, unless no
// option of the program can do harm. Programs that run others (env, xargs, find -exec, sh -c, …) are
// judged by what they run. The programs of sed, awk and sqlite3 are read, not guessed at. A word whose
// value is not known before the line runs is refused where it could matter: as a program's name, as the
// target of a redirection, in arithmetic (of which bash evaluates the text), and as an operand that may
// turn out to be an option. The worst part of a line decides; see [Explain] for all of them.
//
// # What is not promised
//
// It is a classifier, not a boundary: run what it allows in a read-only view (package sandbox) where
// there is one. A verdict is about the text and takes for granted that
//
//   - the names in the tables mean the usual programs: PATH, aliases and functions of the user's own
//     shell are not seen, nor is an installed program that is not what its name says;
//   - the user's own settings are benign. Git in particular runs programs that a repository's
//     configuration names (hooks, file system monitors, pagers, diff drivers): whoever runs the line
//     turns them off;
//   - programs keep to their documentation. Tool chains such as go keep caches up to date even when they
//     are only asked for something.
//
// Nor does Read mean harmless in every other sense: a line may print secrets, wait for ever or read
// more than memory holds.
package shellsafe

// A Verdict says what a command line can do to the world. The zero value is [Invalid]; larger values
// are never more dangerous than smaller ones when the line runs in a throw-away view without network.
type Verdict uint8

const (
	// Invalid: the text cannot be judged: unparsable, over-long, or with control characters.
	Invalid Verdict = iota
	// Network: the line talks to other machines, or to a local daemon that changes things.
	Network
	// Write: the line changes files, processes or settings.
	Write
	// Contained: the line runs project code or an unknown program. It is harmless only in a
	// throw-away view.
	Contained
	// Read: the line is proven to change nothing.
	Read
)

// A Dialect is the grammar of a command line. The zero value is [Bash].
type Dialect uint8

const (
	// Bash is GNU bash, and what it shares with POSIX sh.
	Bash Dialect = iota
	// POSIX is the POSIX shell command language.
	POSIX
	// PowerShell is PowerShell 7 and Windows PowerShell 5.1.
	PowerShell
	// Cmd is the Windows command interpreter.
	Cmd
)

// MaxLen is the length in bytes above which a command line is [Invalid] unread.
const MaxLen = 10_000

// A Span is a piece of the judged text.
type Span struct {
	Offset int    `json:"offset"` // in bytes from the start of the command line
	Text   string `json:"text"`
}

// A Result is the judgement of one command line.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Reason says in one sentence what made the verdict; empty only for [Read].
	Reason string `json:"reason,omitempty"`
	// At is the piece that made the verdict.
	At Span `json:"at,omitzero"`
	// Hint names a form that would be read-only, where one exists.
	Hint string `json:"hint,omitempty"`
	// Row names the table row that decided, such as "git branch" or "redirect".
	Row string `json:"row,omitempty"`
}

// A Rule lets a user vouch for a program. It extends the tables; it never overrides the grammar: a
// vouched program in a line that redirects to a file is still a write.
type Rule struct {
	Program string   `json:"program"`           // base name, such as "gh"
	Sub     []string `json:"sub,omitempty"`     // sub-command path, such as {"issue", "view"}
	Options []string `json:"options,omitempty"` // options that may appear, spelled with dashes; "*" allows any
}

// Options tune [Analyze]. The zero value is the default.
type Options struct {
	Dialect Dialect
	Allow   []Rule // user's additions; none by default
}

// String returns "read", "contained", "write", "network" or "invalid".
func (v Verdict) String() string {
	switch v {
	case Read:
		return "read"
	case Contained:
		return "contained"
	case Write:
		return "write"
	case Network:
		return "network"
	case Invalid:
	}
	return "invalid"
}

// MarshalText writes the word that [Verdict.String] returns.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }
