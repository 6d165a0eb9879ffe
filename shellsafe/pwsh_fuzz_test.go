package shellsafe

import "testing"

// FuzzWindows feeds any text to both dialects. Nothing may panic, and a finding lies inside the text.
func FuzzWindows(f *testing.F) {
	for _, name := range []string{"powershell.tsv", "pwsh_rows.tsv", "cmd_rows.tsv"} {
		for _, row := range readRows(f, name) {
			f.Add(row.line)
		}
	}
	f.Add("@\"\n$(gci)\n\"@")
	f.Add("if (1) { gci }\r\nelse { 2 }")
	f.Add("for /f \"x\" %i in ('dir ^| find \"x\"') do @echo %~nxi")
	f.Fuzz(func(t *testing.T, line string) {
		for _, d := range []Dialect{PowerShell, Cmd} {
			r := analyzeWindows(line, &Options{Dialect: d})
			checkResult(t, line, r)
			if r.Row == "internal" {
				t.Errorf("%v: %q: %s", d, line, r.Reason)
			}
		}
	})
}

func BenchmarkPowerShell(b *testing.B) {
	for name, line := range map[string]string{
		"short": "Get-ChildItem -Recurse -Filter *.go",
		"long":  "Get-ChildItem | Where-Object { $_.Length -gt 1kb } | Select-Object Name, @{n='KB';e={ [math]::Round($_.Length / 1KB, 1) }} | Sort-Object KB",
		"git":   "git log --oneline -5 | Select-Object -First 3",
	} {
		b.Run(name, func(b *testing.B) {
			opts := &Options{Dialect: PowerShell}
			b.ReportAllocs()
			for b.Loop() {
				if r := analyzeWindows(line, opts); r.Verdict != Read {
					b.Fatal(r)
				}
			}
		})
	}
}
