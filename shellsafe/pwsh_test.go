package shellsafe

import (
	"os"
	"strings"
	"testing"
)

// A tsvRow is a line of a table of commands with the verdict that is expected.
type tsvRow struct{ verdict, line, why string }

// readRows reads a table under testdata. The columns are found by their heading.
func readRows(t testing.TB, name string) []tsvRow {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	column := map[string]int{}
	for i, heading := range strings.Split(lines[0], "\t") {
		column[heading] = i
	}
	var rows []tsvRow
	for n, line := range lines[1:] {
		f := strings.Split(line, "\t")
		if len(f) != len(column) {
			t.Fatalf("%s:%d: %d columns, want %d", name, n+2, len(f), len(column))
		}
		rows = append(rows, tsvRow{f[column["verdict"]], f[column["command"]], f[column["why"]]})
	}
	return rows
}

// checkResult checks what holds for every result: a reason and a place inside the line unless it is Read.
func checkResult(t testing.TB, line string, r Result) {
	t.Helper()
	if r.Verdict == Read {
		if r.Reason != "" || r.Hint != "" || r.At != (Span{}) {
			t.Errorf("%q: a line that only reads comes with %+v", line, r)
		}
		return
	}
	if r.Reason == "" || r.Row == "" {
		t.Errorf("%q: no reason or no row in %+v", line, r)
	}
	from, to := r.At.Offset, r.At.Offset+len(r.At.Text)
	if from < 0 || to > len(line) || line[from:to] != r.At.Text {
		t.Errorf("%q: %+v is not in the line", line, r.At)
	}
}

// TestPowerShellCorpus judges the corpus, lines in cmd's style included, as PowerShell: nothing unsafe
// may pass. What is safe passes too.
func TestPowerShellCorpus(t *testing.T) {
	safe, refused, unsafe := 0, 0, 0
	for _, row := range readRows(t, "powershell.tsv") {
		r := analyzeWindows(row.line, &Options{Dialect: PowerShell})
		checkResult(t, row.line, r)
		if row.verdict == "unsafe" {
			unsafe++
			if r.Verdict == Read {
				t.Errorf("PASSED though unsafe (%s): %s", row.why, row.line)
			}
			if r := analyzeWindows(row.line, &Options{Dialect: Cmd}); r.Verdict == Read {
				t.Errorf("PASSED in cmd though unsafe (%s): %s", row.why, row.line)
			}
			continue
		}
		safe++
		if r.Verdict != Read {
			refused++
			t.Errorf("refused though safe (%s): %s: %s", row.why, row.line, r.Reason)
		}
	}
	t.Logf("%d unsafe lines refused; %d of %d safe lines refused", unsafe, refused, safe)
	if safe < 20 || unsafe < 40 {
		t.Errorf("the corpus is not whole: %d safe, %d unsafe", safe, unsafe)
	}
}

// TestWindowsRows judges our own tables, each row with its exact verdict.
func TestWindowsRows(t *testing.T) {
	for name, dialect := range map[string]Dialect{"pwsh_rows.tsv": PowerShell, "cmd_rows.tsv": Cmd} {
		rows := readRows(t, name)
		if len(rows) < 150 {
			t.Errorf("%s has %d rows", name, len(rows))
		}
		seen := map[string]bool{}
		for _, row := range rows {
			if seen[row.line] {
				t.Errorf("%s: twice: %s", name, row.line)
			}
			seen[row.line] = true
			r := analyzeWindows(row.line, &Options{Dialect: dialect})
			checkResult(t, row.line, r)
			if got := r.Verdict.String(); got != row.verdict {
				t.Errorf("%s: %s\n\tgot  %s: %s [%s]\n\twant %s: %s", name, row.line, got, r.Reason, r.At.Text, row.verdict, row.why)
			}
		}
	}
}

// TestPowerShellLines judges texts of several lines and with characters that a table cannot show.
func TestPowerShellLines(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       Verdict
	}{
		{"two lines", "gci\ngit status", Read},
		{"two lines of Windows", "gci\r\ngit status", Read},
		{"second line writes", "gci\nri x", Write},
		{"second line writes, Windows", "gci\r\nri x", Write},
		{"pipe at the end of a line", "gci |\n  sort Name", Read},
		{"pipe at the start of a line", "gci\n  | ri", Write},
		{"continued line", "gci `\n  -Recurse", Read},
		{"continued name", "r`\ni x", Contained}, // a backtick before a line's end is a part of the name
		{"comment ends with its line", "# x\nri y", Write},
		{"here-string", "@'\nri x $(ri y)\n'@", Read},
		{"here-string with an expansion", "@\"\n$(ri y)\n\"@", Write},
		{"here-string with quotes", "Write-Host @\"\nsay \"hi\" '\n\"@", Read},
		{"here-string's end is not at the line's start", "@'\nx '@; ri y\n'@", Read},
		{"here-string, then a command", "@'\nx\n'@; ri y", Write},
		{"hash over lines", "@{\n a = 1\n b = ri x\n}", Write},
		{"block over lines", "gci | % {\n  $_.Name\n}", Read},
		{"else on a line of its own", "if (1) { gci }\nelse { ri x }", Write},
		{"method on a line of its own", "'a'.\nToUpper()", Read},
		{"typographic quote ends a string", "'a’; ri x #'", Write},
		{"typographic double quote ends a string", "\"a”; ri x #\"", Write},
		{"typographic quotes hold a text", "Write-Host ‘a; ri x’", Read},
		{"typographic dash", "gci –Recurse", Read},
		{"typographic dash of a bad parameter", "Get-Process –ComputerName h", Network},
		{"no-break space", "ri\u00a0x", Write},
		{"a letter that only looks like another", "\u212aill 1", Contained},
		{"doubled quotes in a sub-expression", `"$(""ri x"")"`, Read},
		{"brackets in a string in a sub-expression", `"$('(' ; ri x)"`, Invalid},
		{"quote and escape in a string", "\"a`\"; ri x\"", Read},
		{"single quotes do not escape", `'a\'; ri x`, Write},
		{"a backslash does not escape", `"a\"; ri x`, Write},
		{"braced variable", "${a b}", Read},
		{"escape character", "gci\x1b[0m", Invalid},
		{"NUL", "gci\x00", Invalid},
		{"a carriage return alone", "gci\rri x", Invalid},
		{"text that is shown in another order", "gci \u202Ex", Invalid},
		{"broken UTF-8", "gci \xff", Invalid},
		{"empty", " \n\t", Invalid},
		{"comment alone", "# nothing", Read},
		{"a comment that loads modules", "#requires -Modules x\ngci", Contained},
		{"words that Windows PowerShell splits at a quote", `git log '--grep=a "b --output=x" c'`, Write},
		{"an option that some versions split", "sometool -n.5", Contained},
		{"nesting", strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300), Invalid},
		{"long", strings.Repeat("x", MaxLen+1), Invalid},
		{"nested PowerShells", strings.Repeat("powershell -c ", 40) + "gci", Invalid},
	} {
		r := analyzeWindows(c.line, &Options{Dialect: PowerShell})
		checkResult(t, c.line, r)
		if r.Verdict != c.want {
			t.Errorf("%s: %q\n\tgot  %v: %s [%s]\n\twant %v", c.name, c.line, r.Verdict, r.Reason, r.At.Text, c.want)
		}
	}
}

// TestPowerShellAt checks that a finding names the piece that made the verdict.
func TestPowerShellAt(t *testing.T) {
	for line, want := range map[string]string{
		"gci > out.txt":                            "> out.txt",
		"gci | % { Remove-Item $_ }":               "Remove-Item",
		`Write-Host "é $(ri x)"`:                   "ri",
		`"$(""a""; ri x)"`:                         "ri",
		"git log --oneline; git diff --output=d.x": "--output=d.x",
		"Get-Process -ComputerName h":              "-ComputerName",
		"(gi x).Delete()":                          "(gi x).Delete()",
		"icacls x /grant y":                        "/grant",
		"powershell -c 'gci; ri x'":                "'gci; ri x'",
	} {
		r := analyzeWindows(line, &Options{Dialect: PowerShell})
		if r.At.Text != want {
			t.Errorf("%q: at %q (%s), want %q", line, r.At.Text, r.Reason, want)
		}
	}
}

// TestPowerShellAllow checks that a user's rule vouches for a program and for nothing else in its line.
func TestPowerShellAllow(t *testing.T) {
	opts := &Options{Dialect: PowerShell, Allow: []Rule{{Program: "mytool", Options: []string{"*"}}}}
	for line, want := range map[string]Verdict{
		"mytool list":          Read,
		"mytool list > out":    Write,
		"mytool list; ri x":    Write,
		"mytool (ri x)":        Write,
		"othertool list":       Contained,
		"mytool | % { ri $_ }": Write,
	} {
		if r := analyzeWindows(line, opts); r.Verdict != want {
			t.Errorf("%q: %v (%s), want %v", line, r.Verdict, r.Reason, want)
		}
	}
}

// TestPowerShellWrapping puts lines that do not only read where code can stand: none may become Read.
func TestPowerShellWrapping(t *testing.T) {
	frames := []string{
		"gci; %s", "gci && (%s)", "if ($true) { %s }", "foreach ($i in 1) { %s }", "& { %s }", ". { %s }",
		"$x = $(%s)", "\"$(%s)\"", "@(%s)", "gci | % { %s }", "gci | ? { %s }", "try { %s } catch { }",
		"function f { %s }; f", "@{ a = $(%s) }", "gci | select @{n='x';e={ %s }}", "gci $(%s)",
		"Measure-Command { %s }", "(1).ToString($(%s))", "switch (1) { 1 { %s } }", "@\"\n$(%s)\n\"@",
	}
	n := 0
	for _, row := range readRows(t, "pwsh_rows.tsv") {
		if row.verdict == "read" || row.verdict == "invalid" {
			continue
		}
		for _, f := range frames {
			line := strings.Replace(f, "%s", row.line, 1)
			r := analyzeWindows(line, &Options{Dialect: PowerShell})
			checkResult(t, line, r)
			n++
			if r.Verdict == Read {
				t.Errorf("PASSED: %s", line)
			}
		}
	}
	t.Logf("%d lines", n)
}

// TestPowerShellWrappingReads does the same with lines that only read: most frames leave them so.
func TestPowerShellWrappingReads(t *testing.T) {
	frames := []string{"gci; %s", "if ($true) { %s }", "& { %s }", "gci | % { %s }"}
	total, refused := 0, 0
	for _, row := range readRows(t, "pwsh_rows.tsv") {
		if row.verdict != "read" || strings.Contains(row.line, "function ") || strings.Contains(row.line, "#") {
			continue
		}
		for _, f := range frames {
			line := strings.Replace(f, "%s", row.line, 1)
			total++
			if r := analyzeWindows(line, &Options{Dialect: PowerShell}); r.Verdict != Read {
				refused++
				t.Logf("refused: %s: %s", line, r.Reason)
			}
		}
	}
	if refused*50 > total {
		t.Errorf("%d of %d refused", refused, total)
	}
}

// TestPowerShellNames spells the names of commands that write in the ways that PowerShell understands.
func TestPowerShellNames(t *testing.T) {
	names := []string{"iex", "invoke-expression", "start-process"}
	for alias, full := range psAliases() {
		if psCmdlets()[full] == nil {
			names = append(names, alias, full)
		}
	}
	for name := range psRows() {
		names = append(names, name)
	}
	for _, name := range names {
		mid := len(name) / 2
		spellings := []string{
			name + " x", strings.ToUpper(name) + " x", "& '" + name + "' x", `& "` + name + `" x`, ". '" + name + "' x",
			"gci | " + name + " x", "&" + name + " x",
		}
		if mid > 0 && !strings.ContainsAny(name[mid:mid+1], "abefnrtuv0") {
			spellings = append(spellings, name[:mid]+"`"+name[mid:]+" x", name[:mid]+"''"+name[mid:]+" x")
		}
		for _, line := range spellings {
			if r := analyzeWindows(line, &Options{Dialect: PowerShell}); r.Verdict == Read {
				t.Errorf("PASSED: %s", line)
			}
		}
	}
}
