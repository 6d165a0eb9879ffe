package shellsafe

import (
	"slices"
	"strings"
	"sync"
)

// A style is how a program reads its options.
type style uint8

const (
	gnu   style = iota // -abc clusters, --long and its abbreviations, options anywhere
	first              // as gnu, but the first operand ends the options (wrappers, sub-commands)
	dash               // -long or --long, no clusters (Go's flag package, java, openssl); first operand ends
	loose              // as dash, but options anywhere
)

// An optKind says whether an option takes a value.
type optKind uint8

const (
	flagOpt  optKind = iota + 1 // none
	valueOpt                    // the rest of the word, or the next one
	gluedOpt                    // the rest of the word, or none
)

// A bad row lists options with which a program is not read-only.
type bad struct {
	opts    string // as in row.opts
	verdict Verdict
	why     string // completes "`sort -o` …"
	hint    string
}

type optInfo struct {
	kind optKind
	bad  *bad
	name string // with dashes
}

// An optSpec is the compiled form of a row's options.
type optSpec struct {
	short  [128]optInfo
	long   map[string]optInfo // without dashes
	number bool               // -5 is an option
	hasBad bool
}

// An option is one that was given.
type option struct {
	name  string // with dashes, as the table spells it
	value word
	has   bool  // a value was given
	late  bool  // it stands behind an operand, where not every system takes it for an option
	at    *word // the word that it stands in
}

// specs holds the compiled options of the rows that have been asked for.
var specs struct {
	sync.RWMutex
	of map[*row]*optSpec
}

// spec compiles the row's options on first use, to keep the package's initialisation small.
func (r *row) spec() *optSpec {
	specs.RLock()
	s := specs.of[r]
	specs.RUnlock()
	if s != nil {
		return s
	}
	s = compile(r)
	specs.Lock()
	defer specs.Unlock()
	if specs.of == nil {
		specs.of = map[*row]*optSpec{}
	}
	specs.of[r] = s
	return s
}

func compile(r *row) *optSpec {
	s := &optSpec{long: map[string]optInfo{}}
	s.addAll(r.opts, nil, r.style)
	for i := range r.bad {
		s.hasBad = true
		s.addAll(r.bad[i].opts, &r.bad[i], r.style)
	}
	return s
}

// addAll reads the notation of the tables: blank-separated options; `-abc` is three flags, `-k=` takes
// a value, `-i?` may have one glued on; `--all`, `--key=`, `--color?` likewise; `-N` with digits is
// written `-NUM`. In the dash styles `-name`, `-name=` and `-name?` are whole names.
func (s *optSpec) addAll(text string, b *bad, st style) {
	for tok := range strings.FieldsSeq(text) {
		kind := flagOpt
		name := tok
		switch tok[len(tok)-1] {
		case '=':
			kind, name = valueOpt, tok[:len(tok)-1]
		case '?':
			kind, name = gluedOpt, tok[:len(tok)-1]
		}
		switch {
		case tok == "-NUM":
			s.number = true
		case st == dash || st == loose:
			name = strings.TrimLeft(name, "-")
			s.long[name] = optInfo{kind, b, "-" + name}
		case strings.HasPrefix(name, "--"):
			s.long[name[2:]] = optInfo{kind, b, name}
		default:
			for _, c := range []byte(name[1:]) {
				s.short[c&0x7f] = optInfo{kind, b, "-" + string(rune(c))}
			}
		}
	}
}

// lookup finds a long option by its name or an abbreviation. A name that could be short for an option
// that is not read-only counts as that one.
func (s *optSpec) lookup(name string, abbreviate bool) (string, optInfo, bool) {
	if info, ok := s.long[name]; ok {
		return name, info, true
	}
	if !abbreviate || name == "" {
		return name, optInfo{}, false
	}
	found, full, ok := optInfo{}, name, false
	for long, info := range s.long {
		if !strings.HasPrefix(long, name) {
			continue
		}
		if info.bad != nil && (!ok || found.bad == nil || long < full) || found.bad == nil && (!ok || long < full) {
			found, full, ok = info, long, true
		}
	}
	return full, found, ok
}

// A call is one program call being judged.
type call struct {
	row      *row
	path     string // "git branch"
	name     word   // the program's word
	words    []word // what follows the program or sub-command
	all      []word // what follows the program
	opts     []option
	operands []word
	dashdash bool // `--` was given
	io       stdio
}

func (c *call) has(name string) bool {
	_, ok := c.opt(name)
	return ok
}

func (c *call) opt(name string) (option, bool) {
	for _, o := range c.opts {
		if o.name == name {
			return o, true
		}
	}
	return option{}, false
}

func (c *call) hasAny(names ...string) bool {
	for _, n := range names {
		if c.has(n) {
			return true
		}
	}
	return false
}

// early reports whether one of the options stands in front of all operands. GNU programs take options
// anywhere; those of BSD and macOS take what stands behind an operand for another operand.
func (c *call) early(names ...string) bool {
	for _, o := range c.opts {
		if !o.late && slices.Contains(names, o.name) {
			return true
		}
	}
	return false
}

// options reads the call's words by its row and reports the first that is not read-only. It returns
// false when it has reported something.
func (a *analyzer) options(c *call) bool {
	p := optionParser{a: a, c: c, s: c.row.spec(), words: c.words}
	// Room for the operands and options comes from the arenas; see callExpr.
	words, opts := len(a.wordArena), len(a.optArena)
	c.operands, c.opts = a.wordArena[words:words], a.optArena[opts:opts]
	ok := p.run()
	a.wordArena, a.optArena = keep(a.wordArena, c.operands), keep(a.optArena, c.opts)
	return ok
}

// keep extends an arena by what was appended behind it; a slice that outgrew the arena lives on its own.
func keep[T any](arena, tail []T) []T {
	n := len(arena) + len(tail)
	if len(tail) == 0 || n > cap(arena) || &arena[:n][len(arena)] != &tail[0] {
		return arena
	}
	return arena[:n]
}

type optionParser struct {
	a     *analyzer
	c     *call
	s     *optSpec
	words []word
	i     int
	soft  bool // a word that may vanish or split has been passed
}

// careless reports whether no option of the program can do harm, so that no word needs a closer look.
func (p *optionParser) careless() bool { return p.c.row.open && !p.s.hasBad }

func (p *optionParser) run() bool {
	st := p.c.row.style
	ended := false
	for p.i = 0; p.i < len(p.words); p.i++ {
		at := &p.words[p.i]
		w := *at
		if ended {
			if p.soft && !p.careless() && w.mayBeOption() && w.lit {
				return p.vague(w)
			}
			p.c.operands = append(p.c.operands, w)
			continue
		}
		switch {
		case w.lit && w.text == "--":
			ended, p.c.dashdash = true, true
		case !w.mayBeOption():
			p.soft = p.soft || !w.lit
			p.c.operands = append(p.c.operands, w)
			ended = st == first || st == dash
			if ended {
				p.c.operands = append(p.c.operands, p.words[p.i+1:]...)
				return true
			}
		case w.split || w.viaVar || w.glob && w.text == "" || w.text == "" || w.text == "-" || w.text == "--":
			if !p.careless() {
				return p.vague(w)
			}
			p.c.operands = append(p.c.operands, w)
		case st == dash || st == loose:
			if !p.long(at, strings.TrimLeft(w.text, "-"), false) {
				return false
			}
		case strings.HasPrefix(w.text, "--"):
			if !p.long(at, w.text[2:], true) {
				return false
			}
		default:
			if !p.cluster(at) {
				return false
			}
		}
	}
	return true
}

// vague reports a word of which it is not known whether it is an option.
func (p *optionParser) vague(w word) bool {
	hint := "put `--` in front of it"
	switch {
	case w.appended:
		p.a.reportWord(Contained, w, p.c.path, "what "+quote(p.a.wordText(w))+" adds may become an option of "+quote(p.c.path),
			"end the options with `--`, or use `find … -print0 | xargs -0`")
		return false
	case w.glob:
		hint = "write the pattern with a directory, such as `./*`, or put `--` in front of it"
	case w.split:
		hint = "quote it and put `--` in front of it"
	}
	p.a.reportWord(Contained, w, p.c.path,
		quote(p.a.wordText(w))+" may become an option of "+quote(p.c.path), hint)
	return false
}

// refuse reports a known bad option or an unknown one.
func (p *optionParser) refuse(w word, name string, b *bad) bool {
	if b != nil {
		p.a.reportWord(b.verdict, w, p.c.path, quote(p.c.path+" "+name)+" "+b.why, b.hint)
		return false
	}
	p.a.reportWord(Contained, w, p.c.path,
		quote(name)+" is not known to be a read-only option of "+quote(p.c.path), "")
	return false
}

// value takes the next word as the value of the option in w.
func (p *optionParser) value(o *option) bool {
	if p.i+1 >= len(p.words) {
		return true // the program will complain
	}
	p.i++
	v := p.words[p.i]
	if !p.careless() {
		if v.split && !v.num {
			return p.vague(v)
		}
		// If a word before this one vanishes, what looks like a value is an option.
		if v.lit && len(v.text) > 1 && v.text[0] == '-' && !isNumber(v.text) && p.soft {
			return p.vague(v)
		}
	}
	p.soft = p.soft || v.split
	o.value, o.has = v, true
	return true
}

func (p *optionParser) long(at *word, body string, abbreviate bool) bool {
	w := *at
	name, val, hasVal := strings.Cut(body, "=")
	if !w.lit && !hasVal {
		if p.careless() {
			return true
		}
		return p.vague(w)
	}
	dashes := "--"
	if !abbreviate {
		dashes = "-"
	}
	full, info, ok := p.s.lookup(name, abbreviate)
	switch {
	case !ok && p.s.number && isNumber(name):
		p.c.opts = append(p.c.opts, option{name: "-NUM", at: at, late: len(p.c.operands) > 0})
		return true
	case !ok && !p.c.row.open:
		return p.refuse(w, dashes+name, nil)
	case !ok:
		p.c.opts = append(p.c.opts, option{name: dashes + name, at: at, late: len(p.c.operands) > 0})
		return true
	case info.bad != nil:
		return p.refuse(w, dashes+full, info.bad)
	}
	o := option{name: info.name, at: at, late: len(p.c.operands) > 0}
	if hasVal {
		o.value, o.has = w, true
		o.value.text, o.value.num = val, w.lit && isNumber(val)
	} else if info.kind == valueOpt && !p.value(&o) {
		return false
	}
	p.c.opts = append(p.c.opts, o)
	return true
}

// cluster reads a word of short options.
func (p *optionParser) cluster(at *word) bool {
	w := *at
	body := w.text[1:]
	for i := 0; i < len(body); i++ {
		ch := body[i]
		var info optInfo
		if ch < 128 {
			info = p.s.short[ch]
		}
		name := info.name
		if name == "" {
			name = p.a.index.shortName(ch)
		}
		switch {
		case info.bad != nil:
			return p.refuse(w, name, info.bad)
		case info.kind == 0 && p.s.number && ch >= '0' && ch <= '9':
			p.c.opts = append(p.c.opts, option{name: "-NUM", at: at, late: len(p.c.operands) > 0})
			continue
		case info.kind == 0 && !p.c.row.open:
			return p.refuse(w, name, nil)
		}
		o := option{name: name, at: at, late: len(p.c.operands) > 0}
		if info.kind == valueOpt || info.kind == gluedOpt {
			rest := body[i+1:]
			switch {
			case rest != "" || !w.lit:
				o.value, o.has = w, true
				o.value.text, o.value.num = rest, w.lit && isNumber(rest)
			case info.kind == valueOpt && !p.value(&o):
				return false
			}
			p.c.opts = append(p.c.opts, o)
			return true
		}
		p.c.opts = append(p.c.opts, o)
	}
	if !w.lit && !p.careless() {
		return p.vague(w)
	}
	return true
}
