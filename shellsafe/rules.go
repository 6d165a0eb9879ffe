package shellsafe

import (
	"fmt"
	"strings"
)

// CheckRule says whether a rule can be honoured. A program that runs others (shells, interpreters,
// wrappers, package runners) cannot be vouched for without naming a sub-command, and one that is there
// to change things cannot be vouched for at all. One that is judged by its options needs no voucher.
func CheckRule(r Rule) error { return programs().checkRule(&r) }

func (x *index) checkRule(r *Rule) error {
	if r.Program == "" || strings.ContainsAny(r.Program, "/ \t\n") {
		return fmt.Errorf("shellsafe: program %q is not a base name", r.Program)
	}
	for _, s := range r.Sub {
		if s == "" || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t\n") {
			return fmt.Errorf("shellsafe: %q is not a sub-command", s)
		}
	}
	for _, o := range r.Options {
		if o != "*" && !strings.HasPrefix(o, "-") {
			return fmt.Errorf("shellsafe: option %q does not start with a dash", o)
		}
	}
	row := x.rows[r.Program]
	if row == nil {
		return nil
	}
	if listed(unvouchable, r.Program) || x.shell[row] || x.wrapper[row] || row.judge != nil {
		return fmt.Errorf("shellsafe: %q runs whatever it is told and cannot be vouched for", r.Program)
	}
	for _, name := range r.Sub {
		next := row.sub(name)
		if next == nil {
			break
		}
		row = next
	}
	if row.effect() == Read && len(row.subs) == 0 {
		return fmt.Errorf("shellsafe: %q is judged by its options, and what is refused of it writes or runs something", r.Program)
	}
	if row.effect() == Write {
		return fmt.Errorf("shellsafe: %q %s and cannot be vouched for", strings.Join(append([]string{r.Program}, r.Sub...), " "), row.doc)
	}
	return nil
}

// unvouchable are programs that run code given in their arguments.
const unvouchable = "python python2 python3 perl ruby node nodejs deno bun php lua luajit tclsh wish Rscript R ghci " +
	"osascript awk gawk mawk nawk sed m4 dc gdb lldb vim vi nvim ex ed emacs make gmake just task rake npx bunx pnpx uvx " +
	"pipx xargs parallel env find watch strace ltrace ssh sudo doas su"

// vouched reports whether the user has vouched for the call: the program, the sub-command and every
// option in it.
func (a *analyzer) vouched(program string, c *call) bool {
	for i := range a.opts.Allow {
		r := &a.opts.Allow[i]
		if r.Program == program && a.index.checkRule(r) == nil && ruleCovers(r, c.all) {
			return true
		}
	}
	return false
}

// ruleCovers matches a rule's sub-command and options with the words of a call. A word whose value is
// not known is taken for an option unless it cannot be one.
func ruleCovers(r *Rule, words []word) bool {
	for _, s := range r.Sub {
		if len(words) == 0 || !words[0].lit || words[0].text != s {
			return false
		}
		words = words[1:]
	}
	anyOption := false
	for _, o := range r.Options {
		anyOption = anyOption || o == "*"
	}
	if anyOption {
		return true
	}
	for _, w := range words {
		if w.lit && w.text == "--" {
			return true
		}
		if !w.mayBeOption() {
			continue
		}
		name, _, _ := strings.Cut(w.text, "=")
		ok := false
		for _, o := range r.Options {
			ok = ok || o == name && (w.lit || name != w.text)
		}
		if !ok {
			return false
		}
	}
	return true
}
