package shellsafe

import (
	"strings"
	"sync"
)

// A row says what one program, or one sub-command, can do. The zero verdict of a row means Read.
//
// A row is strict unless open: an option that it does not list is not read-only. open says that no
// option of any known version writes, runs or connects, apart from those listed as bad.
type row struct {
	name    string // names, separated by blanks
	doc     string // what it does; completes "`rm` …" where the verdict is not Read
	verdict Verdict
	hint    string
	style   style
	open    bool
	opts    string // options that are read-only, in the notation of optSpec.addAll
	bad     []bad
	max     int    // operands that are read-only: 0 any number, -1 none, n at most n
	maxWhy  string // completes "the operand `x` …" beyond max
	maxV    Verdict
	info    string // words which, alone behind the name, make any row Read: "--version"; for each of its programs
	piped   bool   // a pager: read-only when its output is not a terminal
	subs    []row  // sub-commands; the first operand chooses
	noSub   Verdict
	helps   int                        // `PROGRAM SUB --help` prints, with at most so many words
	check   func(a *analyzer, c *call) // what tables cannot say; runs after the options
	judge   func(a *analyzer, c *call) // instead of the options
}

// read is the verdict of a row whose arguments pass; the tables leave it out.
func (r *row) effect() Verdict {
	if r.verdict == Invalid {
		return Read
	}
	return r.verdict
}

// reads makes an open row: names of programs of which no option does harm.
func reads(names, doc string) row { return row{name: names, doc: doc, open: true} }

// writes makes a row for programs that are there to change things. Asking them for help is harmless.
func writes(names, doc string) row {
	return row{name: names, doc: doc, verdict: Write, info: "--help --version"}
}

// connects makes a row for programs that talk to other machines. The short options are not in it: -v makes
// some of them work, and tell of it.
func connects(names, doc string) row {
	return row{name: names, doc: doc, verdict: Network, info: "--version --help"}
}

// families are the tables, one file each.
func families() [][]row {
	return [][]row{
		builtinRows, fileRows, textRows, searchRows, gitRows, goRows, jsRows, pythonRows,
		buildRows, containerRows, systemRows, packageRows, networkRows, archiveRows, dataRows, wrapperRows,
		editorRows,
	}
}

// An index finds rows by program name. Functions in the tables reach it through their analyzer, since the
// tables cannot refer to themselves.
type index struct {
	rows map[string]*row
	// shell marks the rows of what only a shell has.
	shell map[*row]bool
	// wrapper marks the rows of what runs other programs.
	wrapper map[*row]bool
	// short are the names "-a" and so on, which are wanted often.
	short [128]string
}

func (x *index) shortName(c byte) string {
	if c < 128 {
		return x.short[c]
	}
	return "-?"
}

var programs = sync.OnceValue(func() *index {
	m := make(map[string]*row, 1500)
	shell := make(map[*row]bool, len(builtinRows))
	for i := range builtinRows {
		shell[&builtinRows[i]] = true
	}
	for _, rows := range families() {
		for i := range rows {
			for name := range strings.FieldsSeq(rows[i].name) {
				m[name] = &rows[i]
			}
		}
	}
	wrapper := make(map[*row]bool, len(wrapperRows))
	for i := range wrapperRows {
		wrapper[&wrapperRows[i]] = true
	}
	x := &index{rows: m, shell: shell, wrapper: wrapper}
	for c := range x.short {
		x.short[c] = "-" + string(rune(c))
	}
	return x
})

// sub finds a sub-command.
func (r *row) sub(name string) *row {
	for i := range r.subs {
		for n := range strings.FieldsSeq(r.subs[i].name) {
			if n == name {
				return &r.subs[i]
			}
		}
	}
	return nil
}

// systemDirs hold the programs that their base name promises.
var systemDirs = []string{
	"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/usr/local/sbin/",
	"/opt/homebrew/bin/", "/usr/local/go/bin/",
}

// baseName returns the name to look up: a plain name, or one in a directory of the system. A path
// anywhere else is not the program of that name.
func baseName(s string) (string, bool) {
	if !strings.Contains(s, "/") {
		return s, true
	}
	for _, dir := range systemDirs {
		if rest, ok := strings.CutPrefix(s, dir); ok && rest != "" && !strings.Contains(rest, "/") {
			return rest, true
		}
	}
	return "", false
}
