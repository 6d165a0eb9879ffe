package shellsafe

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	tests := []struct {
		line string
		want []string // each command's words, joined by "|"; an unknown word as it is written, after a "?"
		flat bool
	}{
		{"ls", []string{"ls"}, true},
		{"ls -l a", []string{"ls|-l|a"}, true},
		{"a | b && c || d; e\nf", []string{"a", "b", "c", "d", "e", "f"}, true},
		{"a 2>&1 >/dev/null &>/dev/null", []string{"a"}, true},
		{"a 'b c' \"d e\" f\\ g", []string{"a|b c|d e|f g"}, true},
		{`a\b "c\d" "e\"f" 'g\h'`, []string{`ab|c\d|e"f|g\h`}, true},
		{"r''m \"x\"y", []string{"rm|xy"}, true},
		{"a\\\nb", []string{"ab"}, true},
		{"a {} x{}y {b} {b,c} {1..3} {\"a\",b} {", []string{"a|{}|x{}y|{b}|?{b,c}|?{1..3}|?{\"a\",b}|{"}, true},
		{"a * b? [c] \\* '*' \"?\"", []string{"a|?*|?b?|?[c]|*|*|?"}, true},
		{"a ~ ~/x x~ '~' x=~ x:~/y", []string{"a|?~|?~/x|x~|~|?x=~|?x:~/y"}, true},
		{"a $x \"$x\" ${x} $(b) `c` $((1)) $'d' $\"e\"", []string{"a|?$x|?\"$x\"|?${x}|?$(b)|?`c`|?$((1))|?$'d'|?$\"e\"", "b", "c"}, false},
		{"$x y", []string{"?$x|y"}, false},
		{"a $x", []string{"a|?$x"}, false},
		{"a <(b)", []string{"a|?<(b)", "b"}, false},
		{"X=1 a", []string{"a"}, false},
		{"X=$(a)", []string{"a"}, false},
		{"a > f", []string{"a"}, false},
		{"a < f", []string{"a"}, false},
		{"a >&f", []string{"a"}, false},
		{"a <<E\n$(b)\nE", []string{"a", "b"}, false},
		{"a <<< x", []string{"a"}, false},
		{"a &", []string{"a"}, false},
		{"! a", []string{"a"}, false},
		{"(a)", []string{"a"}, false},
		{"{ a; }", []string{"a"}, false},
		{"if a; then b; else c; fi", []string{"a", "b", "c"}, false},
		{"for i in $(a); do b; done", []string{"a", "b"}, false},
		{"case $(a) in x) b;; esac", []string{"a", "b"}, false},
		{"f() { a; }; f", []string{"a", "f"}, false},
		{"time a", []string{"a"}, false},
		{"coproc a", []string{"a"}, false},
		{"export X=$(a)", []string{"a"}, false},
		{"[[ -n $(a) ]]", []string{"a"}, false},
		{"(( x = $(a) ))", []string{"a"}, false},
		{"", nil, true},
		{"# a", nil, true},
	}
	for _, tt := range tests {
		commands, flat, err := Commands(tt.line)
		if err != nil {
			t.Errorf("%q: %v", tt.line, err)
			continue
		}
		var got []string
		for _, c := range commands {
			got = append(got, show(c))
			if !strings.Contains(tt.line, c.At.Text) || tt.line[c.At.Offset:c.At.Offset+len(c.At.Text)] != c.At.Text {
				t.Errorf("%q: at %+v", tt.line, c.At)
			}
		}
		if !slices.Equal(got, tt.want) || flat != tt.flat {
			t.Errorf("%q: %q, flat %t; want %q, %t", tt.line, got, flat, tt.want, tt.flat)
		}
	}
	for _, line := range []string{"if", "a 'b", "a $(", strings.Repeat("a ", MaxLen)} {
		if c, flat, err := Commands(line); err == nil || flat || c != nil {
			t.Errorf("%.20q: %v %t %v", line, c, flat, err)
		}
	}
}

func show(c Command) string {
	words := slices.Clone(c.Words)
	for i := range words {
		if !c.Known[i] {
			words[i] = "?" + words[i]
		}
	}
	return strings.Join(words, "|")
}

// TestCommandsAgreeWithBash asks bash what the words are of which the value is said to be known.
func TestCommandsAgreeWithBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	for _, line := range []string{
		`a 'b c' "d e" f\ g`, `a\b "c\d" "e\"f" 'g\h' "\$x" "a\` + "\n" + `b"`, `a {} x{}y {b} { } -I{}`, `a \* '*' "?" \~ x~ '~'`, `a a\;b \; ';' \{a,b\}`,
		`a "" '' x''y`, `a !x '!'`, `a x=y -o=z --a=b,c`, `a #b`, `a b#c`, `a \# "#"`, `a 1..3 a,b`, `a \
b`, `a {a"," b`, "a \"`\"", `a $`, `a "$" a$`, `a %x ^y @z +w`,
	} {
		commands, _, err := Commands(line)
		if err != nil || len(commands) != 1 || !commands[0].Literal {
			if err == nil && len(commands) == 1 {
				t.Logf("not known: %q", line)
			}
			continue
		}
		cmd := exec.Command(bash, "--norc", "--noprofile", "-c", `a() { printf '<%s>' "$@"; }; `+"\n"+line)
		cmd.Dir = t.TempDir()
		if strings.HasPrefix(line, `a\b`) {
			cmd.Args[4] = strings.Replace(cmd.Args[4], "a()", "ab()", 1)
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v %s", line, err, out)
			continue
		}
		want := ""
		for _, w := range commands[0].Words[1:] {
			want += "<" + w + ">"
		}
		if want == "" {
			want = "<>"
		}
		if string(out) != want {
			t.Errorf("%q: bash has %s, Commands %s", line, out, want)
		}
	}
}

func FuzzCommands(f *testing.F) {
	for _, line := range []string{"a 'b' \"$c\" {d,e}", "if a; then b; fi", "a <<E\nx\nE", "a\\\nb", "\x00", "a \xff"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		commands, flat, err := Commands(line)
		if err != nil && (flat || commands != nil) {
			t.Errorf("%q: an error and an answer", line)
		}
		for _, c := range commands {
			if len(c.Words) == 0 || len(c.Words) != len(c.Known) || c.NameKnown != c.Known[0] || c.Literal == slices.Contains(c.Known, false) {
				t.Errorf("%q: %+v", line, c)
			}
		}
	})
}

func ExampleCommands() {
	commands, flat, err := Commands(`go test ./... && rm "$x"`)
	for _, c := range commands {
		fmt.Printf("%q known: %t, at %d\n", c.Words, c.Literal, c.At.Offset)
	}
	fmt.Println(flat, err)
	// Output:
	// ["go" "test" "./..."] known: true, at 0
	// ["rm" "\"$x\""] known: false, at 17
	// false <nil>
}
