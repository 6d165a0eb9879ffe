package shellsafe

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is generated")

const docFile = "../docs/shell.md"

// TestProgramList holds the list of programs in the documentation to the tables.
func TestProgramList(t *testing.T) {
	text, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	const mark, end = "<!-- programs: written by `go test ./shellsafe -run TestProgramList -update` -->\n", "<!-- end of programs -->"
	head, rest, ok := strings.Cut(string(text), mark)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the programs", docFile)
	}
	want := head + mark + programList() + end + tail
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s does not list the programs of the tables; run with -update", docFile)
	}
	if err := os.WriteFile(docFile, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func programList() string {
	groups := map[string][]string{}
	for _, rows := range families() {
		for i := range rows {
			r := &rows[i]
			kind := "read, by their options and operands"
			switch {
			case len(r.subs) > 0:
				kind = "by their sub-commands"
			case r.judge != nil && programs().wrapper[r]:
				kind = "by what they run"
			case r.effect() != Read:
				kind = r.effect().String()
			case r.open && len(r.bad) == 0 && r.check == nil && r.max == 0 && !r.piped:
				kind = "read, whatever their options"
			}
			groups[kind] = append(groups[kind], strings.Fields(r.name)...)
		}
	}
	var b strings.Builder
	for _, kind := range []string{
		"read, whatever their options", "read, by their options and operands", "by their sub-commands", "by what they run", "contained", "write", "network",
	} {
		names := groups[kind]
		slices.Sort(names)
		b.WriteString("\n**" + strings.ToUpper(kind[:1]) + kind[1:] + ":**\n")
		line := ""
		for i, n := range names {
			piece := "`" + n + "`"
			if i < len(names)-1 {
				piece += ","
			}
			if len(line)+len(piece) > 110 {
				b.WriteString(line + "\n")
				line = ""
			} else if line != "" {
				line += " "
			}
			line += piece
		}
		b.WriteString(line + "\n")
	}
	return b.String() + "\n"
}
