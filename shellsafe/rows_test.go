package shellsafe

import (
	"strings"
	"testing"
)

// eachRow visits every row and sub-command with its path.
func eachRow(visit func(path string, r *row)) {
	var walk func(prefix string, r *row)
	walk = func(prefix string, r *row) {
		path := strings.TrimSpace(prefix + " " + strings.Fields(r.name)[0])
		visit(path, r)
		for i := range r.subs {
			walk(path, &r.subs[i])
		}
	}
	for _, rows := range families() {
		for i := range rows {
			walk("", &rows[i])
		}
	}
}

// TestRowsAreWellFormed: every row has a name, says what it does where that is not reading, spells its
// options in the notation, and lists no option both as harmless and as harmful.
func TestRowsAreWellFormed(t *testing.T) {
	count := 0
	eachRow(func(path string, r *row) {
		count++
		if r.verdict != Invalid && r.doc == "" || !strings.Contains(path, " ") && r.doc == "" {
			t.Errorf("%s has no doc", path)
		}
		if strings.HasSuffix(r.doc, ".") || strings.HasPrefix(r.doc, " ") {
			t.Errorf("%s: the doc %q does not complete a sentence", path, r.doc)
		}
		if r.judge != nil && (r.check != nil || r.max != 0 || len(r.subs) > 0) {
			t.Errorf("%s has a judge and what a judge replaces", path)
		}
		if len(r.subs) > 0 && r.style != first && r.style != dash {
			t.Errorf("%s: a program with sub-commands ends its options at the first operand", path)
		}
		if r.verdict != Invalid && len(r.subs) == 0 && r.judge == nil && (r.opts != "" || r.check != nil) {
			t.Errorf("%s is %s whatever its options, yet has a table of them", path, r.verdict)
		}
		seen := map[string]bool{}
		for _, tok := range strings.Fields(r.opts) {
			checkToken(t, path, r, tok, func(name string) { seen[name] = true })
		}
		for _, b := range r.bad {
			if b.why == "" || b.verdict == Invalid || b.verdict == Read {
				t.Errorf("%s: the bad options %q have no reason or verdict", path, b.opts)
			}
			for _, tok := range strings.Fields(b.opts) {
				checkToken(t, path, r, tok, func(name string) {
					if seen[name] {
						t.Errorf("%s: %s is both harmless and harmful", path, name)
					}
				})
			}
		}
	})
	if count < 400 {
		t.Errorf("only %d rows", count)
	}
	t.Logf("%d rows, %d program names", count, len(programs().rows))
}

func checkToken(t *testing.T, path string, r *row, tok string, each func(string)) {
	t.Helper()
	name := strings.TrimRight(tok, "=?")
	switch {
	case tok == "-NUM":
	case !strings.HasPrefix(name, "-") || strings.Trim(name, "-") == "" || strings.ContainsAny(name, "=?"):
		t.Errorf("%s: %q is not in the notation", path, tok)
	case r.style == dash || r.style == loose || strings.HasPrefix(name, "--"):
		each(name)
	default:
		if len(name) > 2 && name != tok {
			t.Errorf("%s: in the cluster %q every letter would take a value", path, tok)
		}
		for _, c := range name[1:] {
			each("-" + string(c))
		}
	}
}

// TestNamesAreUnique: a program that two rows claim would be judged by chance.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, rows := range families() {
		for i := range rows {
			subs := map[string]bool{}
			for _, n := range strings.Fields(rows[i].name) {
				if other, ok := seen[n]; ok {
					t.Errorf("%s stands in the rows %q and %q", n, other, rows[i].name)
				}
				seen[n] = rows[i].name
			}
			for j := range rows[i].subs {
				for _, n := range strings.Fields(rows[i].subs[j].name) {
					if subs[n] {
						t.Errorf("%s %s stands twice", rows[i].name, n)
					}
					subs[n] = true
				}
			}
		}
	}
}

// TestBadOptionsAreRefused gives every program each of its harmful options, spelled out, abbreviated,
// with a value, behind an operand and in a cluster.
func TestBadOptionsAreRefused(t *testing.T) {
	eachRow(func(path string, r *row) {
		if r.judge != nil || strings.HasPrefix(path, "exec") {
			return
		}
		if top := strings.Fields(path)[0]; top == "[[" {
			return
		}
		for _, b := range r.bad {
			for _, tok := range strings.Fields(b.opts) {
				name := strings.TrimRight(tok, "=?")
				for _, line := range []string{path + " " + name, path + " " + name + " x", path + " " + name + "=x", path + " x " + name + " y"} {
					if r.style == first || r.style == dash {
						if strings.HasPrefix(line, path+" x ") {
							continue
						}
					}
					if res := Analyze(line, nil); res.Verdict == Read {
						t.Errorf("%q is read", line)
					}
				}
			}
		}
	})
}

// TestUnknownOptionsAreRefused holds that a strict row does not accept what it does not list.
func TestUnknownOptionsAreRefused(t *testing.T) {
	strict := 0
	eachRow(func(path string, r *row) {
		if r.open || r.judge != nil || r.effect() != Read || len(r.subs) > 0 {
			return
		}
		strict++
		option := " --no-such-option-anywhere"
		if r.style == dash || r.style == loose {
			option = " -no-such-option-anywhere"
		}
		if res := Analyze(path+option, nil); res.Verdict == Read {
			t.Errorf("%q is read", path+option)
		}
	})
	t.Logf("%d strict rows", strict)
}
