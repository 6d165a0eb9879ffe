package shellsafe

import (
	"math/rand/v2"
	"strings"
)

// A generator makes command lines from the tables: programs with their options, good and bad, in every
// spelling, with operands of the fixture, joined and nested by the shell's grammar.
type generator struct {
	*rand.Rand
	rows []*row
}

// notRun are programs that the oracle leaves alone: they wait, fill memory or take long.
const notRun = "yes gyes sleep gsleep factor gfactor fortune cal ncal figlet lolcat system_profiler locate plocate mlocate mdfind brew wait help"

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7))}
	for _, rows := range [][]row{builtinRows, fileRows, textRows, searchRows, gitRows, archiveRows, dataRows, wrapperRows, editorRows} {
		for i := range rows {
			g.rows = append(g.rows, &rows[i])
		}
	}
	return g
}

func (g *generator) pick(list []string) string { return list[g.IntN(len(list))] }

var genOperands = strings.Fields(`README.md main.go data/list.txt data/list2.txt data/nums.csv data/cfg.json data/cfg.yaml docs . link
	out1.txt out2.txt data/plain.tar data/list.txt.gz HEAD HEAD~1 main feature v0.1.0 topic stash@{0} HEAD:README.md TODO a s/a/b/ 1p 1,2p
	{print} {print>"o"} w\ o 1 5 + - -- .a x=y evil.sh ./evil.sh data/p.awk data/cmds.txt /dev/null /dev/stdout {} ; origin`)

var genExpansions = []string{
	`*.md`, `*`, `./*`, `docs/*`, `"$f"`, `$f`, `"$FROM_ENV"`, `$FROM_ENV`, `"$1"`, `"$@"`, `$(ls)`, `"$(ls)"`, `$(git rev-parse HEAD)`,
	`{README.md,out3.txt}`, `-{o,x}`, `~/precious`, `$((1+1))`, `$?`, `<(ls)`, `"$HOME/precious"`, `${x:-out4.txt}`, `$'out\x35.txt'`,
}

// quoted spells a word in one of the ways that mean the same.
func (g *generator) quoted(s string) string {
	special := strings.ContainsAny(s, " \t\n{}*?[]$`\"'\\;&|<>()#~!")
	switch n := g.IntN(12); {
	case n == 0 || special && n < 8:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	case n == 1 && !strings.ContainsAny(s, "$`\"\\!"):
		return `"` + s + `"`
	case n == 2 && s != "" && !special:
		i := g.IntN(len(s))
		return s[:i] + `\` + s[i:]
	case n == 3 && s != "" && !special:
		i := g.IntN(len(s))
		return s[:i] + `""` + s[i:]
	case n == 4 && !strings.ContainsAny(s, `'\`):
		return "$'" + s + "'"
	case special:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

func (g *generator) operand() string {
	if g.IntN(5) == 0 {
		return g.pick(genExpansions)
	}
	return g.quoted(g.pick(genOperands))
}

// option spells one of the row's options.
func (g *generator) option(r *row) string {
	specs := strings.Fields(r.opts)
	for _, b := range r.bad {
		specs = append(specs, strings.Fields(b.opts)...)
	}
	if len(specs) == 0 || g.IntN(12) == 0 {
		specs = []string{"-" + string(rune('a'+g.IntN(26))), "--help", "-o=", "-i", "--output=", "-w", "-x", "-f="}
	}
	tok := g.pick(specs)
	kind := tok[len(tok)-1]
	name := strings.TrimRight(tok, "=?")
	if tok == "-NUM" {
		return "-3"
	}
	if strings.HasPrefix(name, "--") {
		if g.IntN(4) == 0 && len(name) > 4 {
			name = name[:3+g.IntN(len(name)-3)]
		}
		switch {
		case kind == '=' && g.IntN(2) == 0, kind == '?' && g.IntN(2) == 0:
			return name + "=" + g.operand()
		case kind == '=':
			return g.quoted(name) + " " + g.operand()
		}
		return g.quoted(name)
	}
	if r.style == gnu || r.style == first {
		if len(name) > 2 {
			i := 1 + g.IntN(len(name)-1)
			name = "-" + name[i:min(len(name), i+1+g.IntN(2))]
		}
	}
	switch {
	case kind == '=' && g.IntN(2) == 0, kind == '?' && g.IntN(2) == 0:
		return name + g.operand()
	case kind == '=':
		return g.quoted(name) + " " + g.operand()
	}
	return g.quoted(name)
}

func (g *generator) simple(depth int) string {
	var b strings.Builder
	if g.IntN(15) == 0 {
		b.WriteString(g.pick([]string{"x=1 ", "LC_ALL=C ", "FOO=bar ", "PATH=bin:$PATH ", "GIT_PAGER=./evil.sh ", "f=README.md ", "x=$(touch pwned) "}))
	}
	r := g.rows[g.IntN(len(g.rows))]
	name := g.pick(strings.Fields(r.name))
	if listed(notRun, name) {
		name = "ls"
	}
	b.WriteString(g.quoted(name))
	for len(r.subs) > 0 {
		for g.IntN(4) == 0 {
			b.WriteString(" " + g.option(r))
		}
		r = &r.subs[g.IntN(len(r.subs))]
		b.WriteString(" " + g.quoted(g.pick(strings.Fields(r.name))))
	}
	if depth > 0 && g.isWrapper(r) && g.IntN(3) > 0 {
		return b.String() + " " + g.pick([]string{"", "", "-n 1 ", "-0 ", "5 ", "-I{} ", "-v ", "-p "}) + g.simple(depth-1)
	}
	if strings.HasPrefix(r.name, "find") {
		b.WriteString(g.findWords(depth))
		return b.String()
	}
	for n := g.IntN(4); n > 0; n-- {
		if g.IntN(2) == 0 {
			b.WriteString(" " + g.option(r))
		} else {
			b.WriteString(" " + g.operand())
		}
	}
	return b.String()
}

func (g *generator) isWrapper(r *row) bool {
	for i := range wrapperRows {
		if r == &wrapperRows[i] {
			return r.verdict == Invalid
		}
	}
	return r.name == "eval"
}

func (g *generator) findWords(depth int) string {
	out := ""
	for n := 1 + g.IntN(4); n > 0; n-- {
		switch g.IntN(6) {
		case 0:
			out += " " + g.pick([]string{"-exec ", "-execdir ", "-ok "}) + g.simple(max(depth-1, 0)) + g.pick([]string{` {} \;`, ` {} +`, ` \;`})
		case 1:
			out += " " + g.quoted(g.pick([]string{"-delete", "-fprint", "-fls", "-print", "-ls", "-print0", "-prune", "-o", "!"}))
		case 2:
			out += " -name " + g.operand()
		default:
			out += " " + g.operand()
		}
	}
	return out
}

// line makes a whole line.
func (g *generator) line(depth int) string {
	s := g.simple(depth)
	if depth == 0 {
		return s
	}
	next := func() string { return g.line(depth - 1) }
	switch g.IntN(24) {
	case 0:
		return s + " | " + next()
	case 1:
		return s + " && " + next()
	case 2:
		return s + " || " + next()
	case 3:
		return s + "; " + next()
	case 4:
		return "(" + s + ")"
	case 5:
		return "{ " + s + "; }"
	case 6:
		return "echo $(" + s + ")"
	case 7:
		return "for f in *.md; do " + s + ` "$f"; done`
	case 8:
		return "if " + s + "; then " + next() + "; fi"
	case 9:
		return s + g.pick([]string{" > out6.txt", " 2>/dev/null", " >& out7.txt", " 2>&1", " >/dev/null", " >| out8.txt", " <> out9.txt", " < README.md", ` < "$f"`, " &> out10.txt", " 3> out11.txt"})
	case 10:
		return "f() { " + s + ` "$1"; }; f ` + g.operand()
	case 11:
		return "find . -name '*.md' " + g.pick([]string{"-print0 | xargs -0 ", "| xargs ", "-print0 | xargs -0 -n1 ", "| xargs -I{} "}) + s
	case 12:
		return "bash -c " + "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	case 13:
		return "x=" + g.operand() + "; " + s + ` "$x"`
	case 14:
		return "git ls-files | while read -r f; do " + s + ` "$f"; done`
	case 15:
		return "cat <<X | " + s + "\n$(" + next() + ")\nX"
	}
	return s
}
