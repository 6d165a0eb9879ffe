package shellsafe

import (
	"strings"
	"testing"
)

// TestWindowsTables checks that the tables are well-formed and do not contradict one another.
func TestWindowsTables(t *testing.T) {
	for i, line := range strings.Split(strings.TrimSpace(psCmdletTable), "\n") {
		if name, _, ok := strings.Cut(line, ":"); !ok || name == "" || strings.ContainsAny(name, " \t") {
			t.Errorf("line %d of the commands: %q", i+1, line)
		}
	}
	if n := strings.Count(strings.TrimSpace(psCmdletTable), "\n") + 1; n != len(psCmdlets()) {
		t.Errorf("%d lines make %d commands", n, len(psCmdlets()))
	}
	for name, c := range psCmdlets() {
		if name != asciiLower(c.name) {
			t.Errorf("%q is the row %q", name, c.name)
		}
		if _, ok := psRows()[name]; ok {
			t.Errorf("%s both reads and has a row that says otherwise", name)
		}
		if _, ok := psAliases()[name]; ok {
			t.Errorf("%s is a command and an alias", name)
		}
		verb, noun, _ := strings.Cut(name, "-")
		if v, ok := psVerbs()[verb]; ok && noun != "" && !psReadsDespite.has(name) {
			t.Errorf("%s reads although %s is a verb for %v", name, verb, v)
		}
		seen := map[string]bool{}
		for _, p := range c.params {
			if seen[p] {
				t.Errorf("%s: parameter %s twice", name, p)
			}
			seen[p] = true
			if psRemoteParams.has(p) {
				t.Errorf("%s: -%s works on another machine", name, p)
			}
		}
	}
	if n := strings.Count(strings.TrimSpace(psAliasTable), "\n") + 1; n != len(psAliases()) {
		t.Errorf("%d lines make %d aliases", n, len(psAliases()))
	}
	for alias, full := range psAliases() {
		_, again := psAliases()[full]
		verb, _, _ := strings.Cut(full, "-")
		_, known := psVerbs()[verb]
		if again || psCmdlets()[full] == nil && psRows()[full].reason == "" && !known && full != "get-pssession" {
			t.Errorf("alias %s: nothing is known of %s", alias, full)
		}
	}
}

// TestWindowsNames checks the lists of names.
func TestWindowsNames(t *testing.T) {
	for name, row := range psRows() {
		if row.verdict == Read || row.verdict == Invalid || row.reason == "" || name != asciiLower(name) {
			t.Errorf("row %s: %+v", name, row)
		}
	}
	for line := range strings.Lines(psStaticTable) {
		if line = strings.TrimSpace(line); line != "" && (line != asciiLower(line) || !strings.Contains(line, ": ")) {
			t.Errorf("static methods: %q", line)
		}
	}
	for name, set := range map[string]*psSet{
		"methods": psMethods, "string methods": psStringMethods, "properties": psProperties, "casts": psCasts,
		"collections": psCollections, "collection methods": psCollectionMethods, "settings": psSettings,
		"reserved": psReserved, "changing methods": psChangingMethods,
	} {
		for w := range set.all() {
			if w != asciiLower(w) {
				t.Errorf("%s: %q is not in lower case", name, w)
			}
		}
	}
	for w := range psChangingMethods.all() {
		if psMethods.has(w) || psProperties.has(w) {
			t.Errorf("%s both changes and reads", w)
		}
	}
	for w := range psStringProperties.all() {
		if !psProperties.has(w) {
			t.Errorf("%s holds strings but is no known property", w)
		}
	}
	for w := range psSettings.all() {
		if psReserved.has(w) {
			t.Errorf("$%s may and may not be set", w)
		}
	}
}

// psReadsDespite are commands whose verb tells of a change that does not go beyond the line: they make a
// value, wait, write to the screen, or change the place of the session.
var psReadsDespite = psSetOf(`new-timespan new-guid start-sleep set-location push-location pop-location
	set-strictmode clear-host out-string out-null out-host out-default write-output write-host write-error
	write-warning write-verbose write-debug write-information write-progress split-path convert-path
	import-csv import-powershelldatafile invoke-command new-object`)

// TestWindowsPrograms checks the tables of programs.
func TestWindowsPrograms(t *testing.T) {
	for name, rule := range winRules() {
		if name != asciiLower(name) || rule.other == Read {
			t.Errorf("%s: %+v", name, rule)
		}
		if _, ok := winVerdicts()[name]; ok {
			t.Errorf("%s has a rule and a verdict", name)
		}
	}
	for name, v := range winVerdicts() {
		if v == Read || v == Invalid {
			t.Errorf("%s: %v", name, v)
		}
	}
	for name := range cmdSpecial.all() {
		if _, ok := cmdBuiltins()[name]; ok {
			t.Errorf("%s has a verdict and needs a look at its words", name)
		}
	}
	for name := range cmdHints {
		if v, ok := cmdBuiltins()[name]; (!ok || v == Read) && !cmdSpecial.has(name) {
			t.Errorf("hint for %s, which is not refused", name)
		}
	}
}
