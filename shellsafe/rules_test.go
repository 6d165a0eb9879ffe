package shellsafe

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCheckRule(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		ok   bool
	}{
		{Rule{Program: "gh", Sub: []string{"issue", "view"}}, true},
		{Rule{Program: "mytool"}, true},
		{Rule{Program: "mytool", Sub: []string{"list"}, Options: []string{"--json", "*"}}, true},
		{Rule{Program: "cargo", Sub: []string{"check"}}, true},
		{Rule{Program: "kubectl", Sub: []string{"get"}, Options: []string{"-n", "-o"}}, true},
		{Rule{Program: "npm", Sub: []string{"ls"}}, true},
		{Rule{Program: "git", Sub: []string{"fetch"}, Options: []string{"--dry-run"}}, true},
		{Rule{}, false},
		{Rule{Program: "./x"}, false},
		{Rule{Program: "a b"}, false},
		{Rule{Program: "gh", Sub: []string{"--repo"}}, false},
		{Rule{Program: "gh", Sub: []string{""}}, false},
		{Rule{Program: "gh", Options: []string{"json"}}, false},
		{Rule{Program: "rm"}, false},
		{Rule{Program: "git", Sub: []string{"commit"}}, false},
		{Rule{Program: "git", Sub: []string{"remote", "add"}}, false},
		{Rule{Program: "sudo"}, false},
		{Rule{Program: "bash"}, false},
		{Rule{Program: "zsh"}, false},
		{Rule{Program: "python3"}, false},
		{Rule{Program: "node"}, false},
		{Rule{Program: "perl"}, false},
		{Rule{Program: "xargs"}, false},
		{Rule{Program: "env"}, false},
		{Rule{Program: "find"}, false},
		{Rule{Program: "eval"}, false},
		{Rule{Program: "source"}, false},
		{Rule{Program: "make"}, false},
		{Rule{Program: "npx"}, false},
		{Rule{Program: "vim"}, false},
		{Rule{Program: "tee"}, false},
		{Rule{Program: "sort", Options: []string{"-o"}}, false},
	} {
		if err := CheckRule(c.rule); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.rule, err)
		}
	}
}

func TestRules(t *testing.T) {
	opts := &Options{Allow: []Rule{
		{Program: "gh", Sub: []string{"issue", "view"}, Options: []string{"--json", "-R", "--comments"}},
		{Program: "mytool"},
		{Program: "othertool", Options: []string{"*"}},
		{Program: "cargo", Sub: []string{"check"}, Options: []string{"*"}},
		{Program: "rm"},
		{Program: "bash", Options: []string{"*"}},
		{Program: "git", Sub: []string{"commit"}, Options: []string{"*"}},
	}}
	for _, c := range []struct {
		line string
		want Verdict
	}{
		{"gh issue view 1", Read},
		{"gh issue view 1 --json title | jq .title", Read},
		{"gh issue view 1 -R o/r", Read},
		{"gh issue view 1 --web", Network},
		{"gh issue list", Network},
		{`gh issue view "$x"`, Network}, // may be an option
		{`gh issue view -- "$x"`, Read},
		{"gh issue view $x", Network},
		{"mytool", Read},
		{"mytool sub file", Read},
		{"mytool --flag", Contained},
		{"./mytool", Contained},
		{"othertool --flag=x y", Read},
		{"othertool > f", Write},
		{"othertool | sh", Contained},
		{"othertool $(rm x)", Write},
		{"LD_PRELOAD=x othertool", Contained},
		{"othertool && curl h", Network},
		{"cargo check --all", Read},
		{"cargo build", Contained},
		{"rm x", Write},
		{"bash x.sh", Contained},
		{"git commit -m x", Write},
		{"othertool() { rm x; }; othertool", Write},
	} {
		if r := Analyze(c.line, opts); r.Verdict != c.want {
			t.Errorf("%q is %s, want %s (%s)", c.line, r.Verdict, c.want, r.Reason)
		}
	}
}

func TestExplain(t *testing.T) {
	e := Explain("cd src && git log -3 | sort -o out; f() { make; }; f", nil)
	var got []string
	for _, s := range e.Steps {
		got = append(got, s.At.Text+": "+s.Row+" "+s.Verdict.String())
	}
	want := "cd src: cd read|git log -3: git log read|sort -o out: sort write|make: make contained|f: make contained"
	if strings.Join(got, "|") != want {
		t.Errorf("steps %q", got)
	}
	if e.Verdict != Write || e.Row != "sort" || e.At.Text != "-o" {
		t.Errorf("result %+v", e.Result)
	}
	if e := Explain("ls", nil); e.Verdict != Read || len(e.Steps) != 1 {
		t.Errorf("%+v", e)
	}
	if e := Explain("ls '", nil); e.Verdict != Invalid || e.Steps == nil {
		t.Errorf("%+v", e)
	}
}

// TestExplanationJSON holds the field names, which others read.
func TestExplanationJSON(t *testing.T) {
	text, err := json.Marshal(Explain("tee f", nil))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"verdict":"write","reason":"` + "`tee` writes `f`" + `","at":{"offset":4,"text":"f"},"hint":"leave ` + "`tee`" +
		` out: the output is returned to you","row":"tee","steps":[{"at":{"offset":0,"text":"tee f"},"row":"tee","verdict":"write","reason":"` +
		"`tee` writes `f`" + `","hint":"leave ` + "`tee`" + ` out: the output is returned to you"}]}`
	if string(text) != want {
		t.Errorf("%s", text)
	}
}
