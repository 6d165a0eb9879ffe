package arch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the linter's import rules from the table")

const (
	rulesBegin = "      # <import-rules>\n"
	rulesEnd   = "      # </import-rules>\n"
)

// TestLinterRules holds the linter's import rules to the table, so that the two cannot disagree.
// After a change of the table, run
//
//	go test ./internal/arch -update
func TestLinterRules(t *testing.T) {
	name := filepath.Join(root, ".golangci.yml")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	// A checkout may have made the line ends the system's own.
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	before, rest, ok := strings.Cut(text, rulesBegin)
	if !ok {
		t.Fatalf("%s has no line %q", name, rulesBegin)
	}
	have, after, ok := strings.Cut(rest, rulesEnd)
	if !ok {
		t.Fatalf("%s has no line %q after it", name, rulesEnd)
	}
	want := linterRules()
	if have == want {
		return
	}
	if !*update {
		t.Fatalf("the import rules of %s are not those of the table; run\n\tgo test ./internal/arch -update", name)
	}
	if err := os.WriteFile(name, []byte(before+rulesBegin+want+rulesEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// linterRules writes the table as depguard's rules. In its mode "original" an import must match the
// allow list, where there is one, and must not match the deny list; an entry that ends in $ is
// exact, any other is a prefix.
func linterRules() string {
	var b strings.Builder
	for _, r := range table {
		name, glob := strings.ReplaceAll(r.pkg, "/", "-"), r.pkg+"/*.go"
		if r.pkg == "." {
			name, glob = "root", "*.go"
		}
		fmt.Fprintf(&b, "        %s:\n", name)
		fmt.Fprintf(&b, "          list-mode: original\n")
		fmt.Fprintf(&b, "          files: [\"${config-path}/%s\", \"!$test\"]\n", glob)
		if allow := allowList(r); allow != nil {
			fmt.Fprintf(&b, "          allow:\n")
			for _, a := range allow {
				fmt.Fprintf(&b, "            - %s\n", a)
			}
		}
		fmt.Fprintf(&b, "          deny:\n")
		for _, n := range denyList(r) {
			fmt.Fprintf(&b, "            - { pkg: %s, desc: %q }\n", n, r.why)
		}
	}
	return b.String()
}

// allowList returns nil where a row allows everything that is not denied.
func allowList(r row) []string {
	allow := []string{"$gostd"}
	for _, u := range r.uses {
		switch u {
		case "*":
			return nil
		case ".":
			allow = append(allow, module+"$")
		default:
			allow = append(allow, module+"/"+u+"$")
		}
	}
	for _, m := range r.mods {
		// Exactly the package, and what is below it; a bare prefix would match a longer name too.
		allow = append(allow, m+"$", m+"/")
	}
	return allow
}

func denyList(r row) []string {
	var deny []string
	for _, n := range join(everywhere, r.never...) {
		if tree, ok := strings.CutSuffix(n, "/..."); ok {
			deny = append(deny, tree+"$", tree+"/")
			continue
		}
		deny = append(deny, n+"$")
	}
	if !r.raw {
		deny = append(deny, "unsafe$")
	}
	return deny
}
