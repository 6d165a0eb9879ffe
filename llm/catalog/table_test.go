package catalog

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/format"
	"os"
	"slices"
	"testing"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

var update = flag.Bool("update", false, "write table.go from charm.land/catwalk")

// TestTable holds table.go to what catwalk says, and writes it with -update.
func TestTable(t *testing.T) {
	want, err := render(embedded.GetAll())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("table.go", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("table.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("table.go is not what catwalk says; run go test ./llm/catalog -run TestTable -update")
	}
}

// render writes the table as Go. All of it is constant, so that the linker lays it out and a program
// pays nothing for it when it starts.
func render(providers []catwalk.Provider) ([]byte, error) {
	slices.SortFunc(providers, func(a, b catwalk.Provider) int { return cmp.Compare(a.ID, b.ID) })
	var b bytes.Buffer
	b.WriteString("// Code generated from charm.land/catwalk by go test -run TestTable -update. DO NOT EDIT.\n\npackage catalog\n\n")
	b.WriteString("var providerRows = [...]providerRow{\n")
	n := 0
	for _, p := range providers {
		fmt.Fprintf(&b, "{%q, %q, %q, %q, %q, %q, %q, %d, %d},\n", p.ID, p.Name, p.Type, p.APIKey, p.APIEndpoint,
			p.DefaultLargeModelID, p.DefaultSmallModelID, n, n+len(p.Models))
		n += len(p.Models)
	}
	b.WriteString("}\n\nvar modelRows = [...]modelRow{\n")
	for _, p := range providers {
		for _, m := range p.Models {
			fmt.Fprintf(&b, "{%q, %q, %v, %v, %v, %v, %d, %d, %s},\n", m.ID, m.Name, m.CostPer1MIn, m.CostPer1MOut,
				m.CostPer1MInCached, m.CostPer1MOutCached, m.ContextWindow, m.DefaultMaxTokens, flags(m))
		}
	}
	b.WriteString("}\n")
	return format.Source(b.Bytes())
}

// flags keeps the levels that we have a word for. A model that thinks without a list of levels takes a
// budget of tokens, and so any of them.
func flags(m catwalk.Model) string {
	s := "0"
	if m.SupportsImages {
		s += "|images"
	}
	for i, l := range levels {
		if m.CanReason && (len(m.ReasoningLevels) == 0 || slices.Contains(m.ReasoningLevels, string(l))) {
			s += "|" + []string{"low", "medium", "high", "xhigh"}[i]
		}
	}
	return s
}

func BenchmarkCatwalk(b *testing.B) {
	for b.Loop() {
		if len(embedded.GetAll()) == 0 {
			b.Fatal("catwalk is empty")
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if len(load().providers) == 0 {
			b.Fatal("the table is empty")
		}
	}
}
