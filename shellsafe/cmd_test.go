package shellsafe

import (
	"strings"
	"testing"
)

// TestCmdLines judges texts of several lines and with characters that a table cannot show.
func TestCmdLines(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       Verdict
	}{
		{"two lines", "dir\r\nver", Read},
		{"second line writes", "dir\ndel x", Write},
		{"quotes end with the line", "echo \"a\ndel x", Write},
		{"continued line", "dir ^\n /b", Read},
		{"continued remark", "rem a ^\ndel x", Contained},
		{"continued name", "d^\nel x", Write},
		{"group over lines", "if exist x (\n  type x\n) else (\n  del y\n)", Write},
		{"tab", "dir\t/b", Read},
		{"a carriage return alone", "dir\rdel x", Invalid},
		{"NUL", "dir\x00", Invalid},
		{"escape character", "dir \x1b", Invalid},
		{"empty", "  ", Invalid},
		{"long", strings.Repeat("x", MaxLen+1), Invalid},
		{"nesting", strings.Repeat("(", 500) + "ver" + strings.Repeat(")", 500), Invalid},
		{"nested cmds", strings.Repeat("cmd /c ", 40) + "ver", Invalid},
		{"nested for", strings.Repeat("for %i in (1) do ", 500) + "ver", Invalid},
	} {
		r := analyzeWindows(c.line, &Options{Dialect: Cmd})
		checkResult(t, c.line, r)
		if r.Verdict != c.want {
			t.Errorf("%s: %q\n\tgot  %v: %s [%s]\n\twant %v", c.name, c.line, r.Verdict, r.Reason, r.At.Text, c.want)
		}
	}
}

// TestCmdAt checks that a finding names the piece that made the verdict.
func TestCmdAt(t *testing.T) {
	for line, want := range map[string]string{
		"dir > x":                         "> x",
		"dir & d^el x":                    "d^el",
		"git diff --output=d.x":           "--output=d.x",
		"git diff \"--output=d.x\" 2>nul": "\"--output=d.x\"",
		"icacls x /grant y":               "/grant",
		"for /f %i in ('del x') do ver":   "'del x'",
	} {
		r := analyzeWindows(line, &Options{Dialect: Cmd})
		if r.At.Text != want {
			t.Errorf("%q: at %q (%s), want %q", line, r.At.Text, r.Reason, want)
		}
	}
}

// TestCmdWrapping puts lines that do not only read where a command can stand: none may become Read.
func TestCmdWrapping(t *testing.T) {
	frames := []string{
		"ver & %s", "ver && %s", "ver || %s", "(%s)", "if exist x (%s)", "if 1==1 %s", "for %i in (1) do %s",
		"@%s", "  ;,%s", "ver\n%s", "cmd /c %s", "2>nul (%s)", "ver | (%s)",
	}
	n := 0
	for _, row := range readRows(t, "cmd_rows.tsv") {
		if row.verdict == "read" || row.verdict == "invalid" {
			continue
		}
		for _, f := range frames {
			if strings.HasPrefix(row.line, ":") {
				continue
			}
			line := strings.Replace(f, "%s", row.line, 1)
			r := analyzeWindows(line, &Options{Dialect: Cmd})
			checkResult(t, line, r)
			n++
			if r.Verdict == Read {
				t.Errorf("PASSED: %s", line)
			}
		}
	}
	t.Logf("%d lines", n)
}

// TestSplitArgs checks the rule by which programs of Windows read their words.
func TestSplitArgs(t *testing.T) {
	for text, want := range map[string][]string{
		`a b`:         {"a", "b"},
		`"a b" c`:     {"a b", "c"},
		`a\\b`:        {`a\\b`},
		`a\"b`:        {`a"b`},
		`"a\\" b`:     {`a\`, "b"},
		`"a\\\" b"`:   {`a\" b`},
		`"a""b" c`:    {`a"b`, "c"},
		`--x="y z"`:   {"--x=y z"},
		`"" a`:        {"", "a"},
		"  a\t b\n":   {"a", "b"},
		`C:\x\ "d e"`: {`C:\x\`, "d e"},
	} {
		got := splitArgs(text)
		if strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
