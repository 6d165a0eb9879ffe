package shellsafe

import "strings"

var findRow = row{name: "find gfind", doc: "searches a tree", judge: judgeFind, info: "--version --help -version -help"}

// findArgs are find's tests and actions that only look or print, with the number of their arguments.
var findArgs = map[string]int{
	"-H": 0, "-L": 0, "-P": 0, "-E": 0, "-X": 0, "-d": 0, "-s": 0, "-x": 0, "-f": 1, "-D": 1,
	"-O0": 0, "-O1": 0, "-O2": 0, "-O3": 0,
	"(": 0, ")": 0, "!": 0, ",": 0, "-a": 0, "-and": 0, "-o": 0, "-or": 0, "-not": 0,
	"-daystart": 0, "-depth": 0, "-follow": 0, "-ignore_readdir_race": 0, "-noignore_readdir_race": 0,
	"-maxdepth": 1, "-mindepth": 1, "-mount": 0, "-noleaf": 0, "-nowarn": 0, "-warn": 0, "-regextype": 1, "-xdev": 0,
	"-help": 0, "--help": 0, "-version": 0, "--version": 0,
	"-amin": 1, "-anewer": 1, "-atime": 1, "-cmin": 1, "-cnewer": 1, "-ctime": 1, "-empty": 0, "-executable": 0,
	"-false": 0, "-fstype": 1, "-gid": 1, "-group": 1, "-ilname": 1, "-iname": 1, "-inum": 1, "-ipath": 1,
	"-iregex": 1, "-iwholename": 1, "-links": 1, "-lname": 1, "-mmin": 1, "-mtime": 1, "-name": 1, "-newer": 1,
	"-nogroup": 0, "-nouser": 0, "-path": 1, "-perm": 1, "-readable": 0, "-regex": 1, "-samefile": 1, "-size": 1,
	"-true": 0, "-type": 1, "-uid": 1, "-used": 1, "-user": 1, "-wholename": 1, "-writable": 0, "-xtype": 1,
	"-context": 1, "-flags": 1, "-acl": 0, "-sparse": 0, "-xattr": 0, "-xattrname": 1, "-Bmin": 1, "-Bnewer": 1, "-Btime": 1,
	"-print": 0, "-print0": 0, "-printf": 1, "-ls": 0, "-prune": 0, "-quit": 0, "-exit": 0,
}

// findWrites are the actions that write a file named by their first argument.
var findWrites = map[string]int{"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}

var findRuns = map[string]bool{"-exec": true, "-execdir": true, "-ok": true, "-okdir": true}

func judgeFind(a *analyzer, c *call) {
	nodash := true // every starting point is known not to look like an option
	not := file    // and what none of them is
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		if !w.lit {
			if !a.findWord(c, w) {
				return
			}
			not &= cannotBe(w)
			continue
		}
		s := w.text
		switch n, known := findArgs[s]; {
		case known:
			for ; n > 0 && i+1 < len(c.words); n-- {
				i++
				if v := c.words[i]; v.split && !v.num || v.glob && !findGlob(v) {
					a.vagueFind(c, v)
					return
				}
			}
		case strings.HasPrefix(s, "-newer") && len(s) == len("-newerXY"):
			i++
		case s == "-delete":
			a.reportWord(Write, w, c.path, "`find -delete` deletes what it finds", "drop -delete: the names are printed")
			return
		case findRuns[s]:
			i = a.findExec(c, i, word{nodash: nodash, not: not})
			if i < 0 {
				return
			}
		case s == "-files0-from":
			nodash, not = false, 0
			i++
		case findWrites[s] > 0:
			if i+1 >= len(c.words) || !c.words[i+1].lit || !sinks[c.words[i+1].text] {
				a.reportWord(Write, w, c.path, quote("find "+s)+" writes a file", "use -print, -printf or -ls")
				return
			}
			i += findWrites[s]
		case strings.HasPrefix(s, "-"):
			a.reportWord(Contained, w, c.path, quote(s)+" is not known to be a read-only action of `find`", "")
			return
		default:
			not &= below(w)
		}
	}
}

// findWord judges a word of find whose value is not known.
func (a *analyzer) findWord(c *call, w word) bool {
	if !w.mayBeOption() || findGlob(w) {
		return true
	}
	a.vagueFind(c, w)
	return false
}

func (a *analyzer) vagueFind(c *call, w word) {
	a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may become an action of `find`",
		"quote it, and write a directory in front: `./…`")
}

// findGlob reports whether none of the names that a pattern matches can be an action: all end in text
// that no action ends in.
func findGlob(w word) bool {
	if !w.glob || w.split {
		return false
	}
	if w.text != "" && w.text[0] != '-' {
		return true
	}
	return strings.ContainsAny(w.suffix, "./_ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789")
}

// findExec judges the program of an -exec that stands at i and returns the index of its last word. What
// is known of the names found is in found.
func (a *analyzer) findExec(c *call, i int, found word) int {
	action := c.words[i]
	var inner []word
	end := -1
	for j := i + 1; j < len(c.words); j++ {
		w := c.words[j]
		if w.lit && (w.text == ";" || w.text == "+" && j > i+1 && c.words[j-1].lit && c.words[j-1].text == "{}") {
			end = j
			break
		}
		if w.lit && strings.Contains(w.text, "{}") {
			before, _, _ := strings.Cut(w.text, "{}")
			_, after, _ := strings.Cut(w.text, "{}")
			w.lit, w.text, w.suffix = false, before, after
			w.nodash, w.not = false, 0
			if before == "" {
				w.nodash, w.not = found.nodash, found.not
			}
			w.src = nil
		}
		inner = append(inner, w)
	}
	if end < 0 || len(inner) == 0 {
		a.reportWord(Contained, action, c.path, "what "+quote("find "+action.text)+" runs does not end in `;` or `{} +`", "")
		return -1
	}
	a.program(inner, stdio{outPiped: c.io.outPiped})
	return end
}

// judgeFd judges fd, of which -x and -X run what follows on what it finds, up to a semicolon.
func judgeFd(a *analyzer, c *call) {
	for i, w := range c.words {
		if w.lit && w.text == "--" {
			break
		}
		if !w.lit || w.text != "-x" && w.text != "-X" && w.text != "--exec" && w.text != "--exec-batch" {
			continue
		}
		end := i + 1
		for end < len(c.words) && !(c.words[end].lit && c.words[end].text == ";") {
			end++
		}
		inner := fdWords(c.words[i+1 : end])
		if len(inner) == 0 {
			break
		}
		a.wrapped(c, inner, stdio{outPiped: c.io.outPiped})
		rest := append([]word(nil), c.words[:i]...)
		c.words = append(rest, c.words[min(end+1, len(c.words)):]...)
		judgeFd(a, c)
		return
	}
	a.options(c)
}

// fdWords puts unknown words in place of fd's placeholders, or one at the end where there is none.
func fdWords(words []word) []word {
	var out []word
	replaced := false
	for _, w := range words {
		for _, p := range []string{"{}", "{/}", "{//}", "{.}", "{/.}"} {
			if before, _, ok := strings.Cut(w.text, p); ok {
				w.lit, w.viaVar, w.text, w.suffix, w.src, w.num = false, false, before, "", nil, false
				replaced = true
			}
		}
		out = append(out, w)
	}
	if len(out) > 0 && !replaced {
		last := out[len(out)-1]
		out = append(out, word{split: true, appended: true, off: last.off, end: last.end})
	}
	return out
}
