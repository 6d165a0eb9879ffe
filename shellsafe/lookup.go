package shellsafe

import "strings"

// What follows are the places where programs that show this machine's state take the name of another
// one and ask a name server for it. That they translate addresses of this machine's own connections
// is not held against them.

// isAddress reports whether s is a number of the Internet protocol, perhaps with a port or a prefix, and
// so is not asked for.
func isAddress(s string) bool {
	host, port, ok := s, "", false
	if i := strings.LastIndexByte(s, ':'); i >= 0 && strings.Count(s, ":") == 1 {
		host, port, ok = s[:i], s[i+1:], true
	}
	if ok && strings.ContainsAny(port, "./@") {
		return false
	}
	digits := "0123456789.*/"
	if strings.Contains(host, ":") {
		digits += "abcdefABCDEF:[]%"
	}
	return strings.Trim(host, digits) == ""
}

func (a *analyzer) asked(c *call, w word) {
	if w.lit {
		a.reportWord(Network, w, c.path, quote(c.path)+" asks a name server for "+quote(a.wordText(w)), "give the address as a number")
		return
	}
	a.reportWord(Contained, w, c.path, quote(a.wordText(w))+" may be a name, for which "+quote(c.path)+" asks a name server", "write it out")
}

func checkArp(a *analyzer, c *call) {
	for _, w := range c.operands {
		if !w.num && (!w.lit || !isAddress(w.text)) {
			a.asked(c, w)
			return
		}
	}
}

// checkSs looks for `dst NAME` and `src NAME` in the filter. Words of it may be several in one argument.
func checkSs(a *analyzer, c *call) {
	var at word
	names := false // the next word is a host
	for _, w := range c.operands {
		known := w.text
		if !w.lit && !w.num {
			if i := strings.LastIndexAny(known, " =(!"); strings.HasSuffix(strings.TrimRight(known[:i+1], " =(!"), "port") {
				continue
			}
			a.asked(c, w)
			return
		}
		at = w
		for _, f := range strings.FieldsFunc(known, func(r rune) bool { return strings.ContainsRune(" =()!,&|<>", r) }) {
			if names && !isAddress(f) {
				a.asked(c, at)
				return
			}
			names = f == "dst" || f == "src"
		}
	}
}

// checkLsof looks for `-i PROTOCOL@HOST:PORT`.
func checkLsof(a *analyzer, c *call) {
	inet := false // the next word is the value of -i
	for _, w := range c.words {
		text := w.text
		i := strings.IndexByte(text, 'i')
		glued := strings.HasPrefix(text, "-") && i > 0
		if !inet && !glued {
			continue
		}
		if _, host, ok := strings.Cut(text, "@"); ok && !(w.lit && isAddress(host)) || !w.lit && !w.num && !strings.Contains(text, ":") {
			a.asked(c, w)
			return
		}
		inet = glued && i == len(text)-1
	}
}

// checkFuser looks for `LOCAL,HOST,PORT/tcp`.
func checkFuser(a *analyzer, c *call) {
	space := c.hasAny("-n", "--namespace")
	for _, w := range c.operands {
		port := space || strings.HasSuffix(w.text, "/tcp") || strings.HasSuffix(w.text, "/udp") || strings.HasSuffix(w.suffix, "/tcp") || strings.HasSuffix(w.suffix, "/udp")
		if !port || w.num {
			continue
		}
		spec, _, _ := strings.Cut(w.text, "/")
		parts := strings.Split(spec, ",")
		if !w.lit && w.text == "" || len(parts) > 1 && !(w.lit && isAddress(parts[1])) {
			a.asked(c, w)
			return
		}
	}
}
