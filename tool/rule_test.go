package tool

import (
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/plan"
)

func TestParseRule(t *testing.T) {
	for s, want := range map[string]Rule{
		"bash":               {"bash", ""},
		"mcp__github__*":     {"mcp__github__*", ""},
		"*":                  {"*", ""},
		"bash(go test *)":    {"bash", "go test *"},
		"bash(echo (x))":     {"bash", "echo (x)"},
		"write(docs/**)":     {"write", "docs/**"},
		"write(~/notes/*)":   {"write", "~/notes/*"},
		"bash([ -f x ])":     {"bash", "[ -f x ]"},
		"fetch(example.com)": {"fetch", "example.com"},
		"[ab]x":              {"[ab]x", ""},
	} {
		r, err := ParseRule(s)
		if err != nil || r != want || r.String() != s {
			t.Errorf("%q: %+v %q %v", s, r, r.String(), err)
		}
	}
	for _, s := range []string{"", "(x)", "bash(", "bash(x", "bash()", "bash( )", "bash (x)", " bash", "a/b", "bash)", "[", "b[", "write([a/x)", "bash(\x00)", "bash:x", "ba\nsh"} {
		if r, err := ParseRule(s); err == nil {
			t.Errorf("%q is read as %+v", s, r)
		} else if !strings.HasPrefix(err.Error(), "tool: rule ") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"bash(go test *)", "write(docs/**)", "*", "bash(", "[a-z]*(x)"} {
		f.Add(s, "bash", "go test ./... && rm x")
	}
	f.Fuzz(func(t *testing.T, s, tool, arg string) {
		r, err := ParseRule(s)
		if err != nil {
			return
		}
		if again, err := ParseRule(r.String()); err != nil || again != r {
			t.Errorf("%q: %+v, then %+v %v", s, r, again, err)
		}
		roots := &Roots{Workspace: "/ws"}
		for _, e := range []Effect{Shell{Command: arg}, WriteFile{arg}, ReadFile{arg}, Fetch{arg}, Opaque{}} {
			s := &subject{roots: roots, tool: tool, access: Access{e}}
			// What a rule allows, the same rule would also deny: reading it narrowly never sees more.
			if r.covers(s) && !r.touches(s) {
				t.Errorf("%q covers %#v and does not touch it", r, e)
			}
		}
	})
}

func says(rule, tool string, e Effect) (covers, touches bool) {
	r, err := ParseRule(rule)
	if err != nil {
		panic(err)
	}
	roots := &Roots{Workspace: "/ws", Home: "/home/u"}
	s := &subject{roots: roots, tool: tool, access: Access{e}}
	return r.covers(s), r.touches(s)
}

// TestAllowRulesOnLines: a rule that allows covers plain commands that begin with its words.
func TestAllowRulesOnLines(t *testing.T) {
	tests := []struct {
		rule string
		yes  []string
		no   []string
	}{
		{
			"bash(go test *)",
			[]string{
				"go test", "go test ./...", " go  test\t-run X", "'go' \"test\" ./...", "go test a && go test b", "go test | go test",
				"go test; go test", "go test\ngo test", "go test 2>&1", "go test >/dev/null", "go test 'a; rm x'", "go test \\; x", "g\\o test",
				"go test ./... # a comment", "go test a\\ b",
			},
			[]string{
				"go test; rm x", "go test && rm x", "go test || rm x", "go test | rm x", "go test & rm x", "go test &", "go test\nrm x", "go test\r\nrm x",
				"go test $(rm x)", "go test `rm x`", "go test <(rm x)", "go test \"$(rm x)\"", "go test ${x:=y}", "go test $x", "go test $((x=1))",
				"FOO=1 go test", "PATH=. go test", "env go test", "go test > f", "go test >> f", "go test 2> f", "go test &> f", "go test >&f",
				"go test < f", "go test <<< x", "go test <<E\nE", "go testx", "gotest", "go", "go vet", "test go", "GO test", "./go test", "/bin/go test",
				"(go test)", "{ go test; }", "! go test", "if go test; then rm x; fi", "while go test; do rm x; done", "f() { go test; }", "time go test",
				"coproc go test", "go test *.go", "go test ?", "go test [a]", "go test {a,b}", "go test ~/x", "$go test", "$'go' test", "", " ", "#", "x=1",
				"> f", "go test \x00; rm x", "export go test", "[[ go test ]]", "go test 3>f", "go test {fd}>f", "exec go test",
			},
		},
		{"bash(go test)", []string{"go test", "go test && go test"}, []string{"go test ./...", "go"}},
		{"bash(go test:*)", []string{"go test", "go test x"}, []string{"go testx"}},
		{"bash(npm run test:*)", []string{"npm run test", "npm run test x"}, []string{"npm run test:unit"}},
		{"bash(npm run test:* *)", []string{"npm run test:unit x"}, []string{"npm run test"}},
		{"bash(git * origin)", []string{"git push origin", "git fetch origin"}, []string{"git origin", "git push origin x"}},
		{"bash(*)", []string{"anything at all", "a; b | c"}, []string{"a > f", "a $(b)", "x=1"}},
		{"bash(make *-test)", []string{"make unit-test"}, []string{"make -test x", "make test"}},
	}
	for _, tt := range tests {
		for _, line := range tt.yes {
			if covers, _ := says(tt.rule, "bash", Shell{Command: line}); !covers {
				t.Errorf("%s does not cover %q", tt.rule, line)
			}
		}
		for _, line := range tt.no {
			if covers, _ := says(tt.rule, "bash", Shell{Command: line}); covers {
				t.Errorf("%s covers %q", tt.rule, line)
			}
		}
	}
	if covers, _ := says("bash(go test *)", "other", Shell{Command: "go test"}); covers {
		t.Error("another tool")
	}
}

// TestDenyRulesOnLines: a rule that denies sees a command wherever it stands in a line, and takes what
// only the shell will know for it.
func TestDenyRulesOnLines(t *testing.T) {
	tests := []struct {
		rule string
		yes  []string
		no   []string // among them what it does not see, as the rule's doc comment says
	}{
		{
			"bash(rm *)",
			[]string{
				"rm", "rm x", "a && rm x", "a | rm", "a; rm x", "a\nrm x", "rm x &", "$(rm x)", "`rm x`", "a \"$(rm x)\"", "a <(rm x)", "(rm x)",
				"{ rm x; }", "! rm x", "if a; then rm x; fi", "while a; do rm x; done", "for i in a; do rm $i; done", "case a in a) rm x;; esac",
				"f() { rm x; }; f", "x=1 rm x", "rm > f", "time rm x", "coproc rm x", "export X=$(rm x)", "cat <<E\n$(rm x)\nE", "[[ $(rm x) ]]",
				"\\rm x", "\"rm\" x", "r'm' x", "r\\m x", "/bin/rm x", "./rm x", "../../bin/rm x", "RM x", "Rm x", "rm.exe x",
				"$x y", "${x} y", "$(echo rm) y", "r* x", "{rm,x}", "$'rm' x", "rm $x", "rm -rf *", "rm ~/x",
				"xargs rm", "a | xargs rm", "a | xargs -0 rm -f", "xargs -I{} rm {}", "find . -exec rm {} \\;", "find . -exec rm {} +", "find . -ok rm {} ';'",
				"env rm x", "env A=1 rm x", "command rm x", "builtin rm x", "exec rm x", "sudo rm x", "sudo -u root rm x", "nohup rm x", "nice -n 5 rm x",
				"timeout 5 rm x", "busybox rm x", "stdbuf -o0 rm x", "/usr/bin/env rm x", "sudo env rm x",
				"sh -c 'rm x'", "bash -c 'a; rm x'", "bash -lc \"rm x\"", "sh -c \"$x\"", "eval rm x", "eval 'rm x'", "eval \"$x\"", "sudo sh -c 'rm x'",
				"sh -c \"sh -c 'rm x'\"", "trap 'rm x' EXIT", "watch rm x", "xargs sh -c 'rm x'", "if", "a 'b",
			},
			[]string{
				"ls", "echo rm x", "echo 'rm x'", "grep rm x", "rmdir x", "git rm x", "# rm x", "ls \"rm\"", "sh script.sh", "sudo ls", "env A=1 ls",
				"find . -exec grep x {} \\;", "xargs -I{} echo {}", "bash -c 'ls'", "ls *.go", "x=1", "> f",
				"make clean", "python3 -c 'import os; os.remove(\"x\")'", "find . -delete", "unlink x", "git clean -fd",
			},
		},
		{
			"bash(git push *)",
			[]string{"git push", "git push origin", "git $x", "git \"$x\" y", "sudo git push", "/usr/bin/git push", "git {push,pull}", "GIT push"},
			[]string{"git log *.go", "git log", "git", "git -C /x push", "git log --grep push"},
		},
		{"bash(rm)", []string{"rm", "rm $x", "sudo rm"}, []string{"rm x", "rm -f $x"}},
		{"bash(*)", []string{"a", "> f", "x=1", ""}, nil},
		{"bash(* --force)", []string{"git --force", "x --force"}, []string{"git push --force"}},
	}
	for _, tt := range tests {
		for _, line := range tt.yes {
			if _, touches := says(tt.rule, "bash", Shell{Command: line}); !touches {
				t.Errorf("%s does not see %q", tt.rule, line)
			}
		}
		for _, line := range tt.no {
			if _, touches := says(tt.rule, "bash", Shell{Command: line}); touches {
				t.Errorf("%s sees %q", tt.rule, line)
			}
		}
	}
	if _, touches := says("bash(nothing *)", "bash", Shell{Command: strings.Repeat("eval ", 10) + "ls"}); !touches {
		t.Error("what is nested too deeply to be read is not taken for it")
	}
	if _, touches := says("bash(rm *)", "bash", Shell{Command: strings.Repeat("env ", 2000) + "ls"}); touches {
		t.Error("many words")
	}
}

func TestRulesOnPaths(t *testing.T) {
	tests := []struct {
		rule, path      string
		covers, touches bool
	}{
		{"write(docs/**)", "docs/a.md", true, true},
		{"write(docs/**)", "./docs/../docs/a/b.md", true, true},
		{"write(docs/**)", "/ws/docs/a.md", true, true},
		{"write(docs/**)", "docs/../a.go", false, false},
		{"write(docs/**)", "/docs/a.md", false, false},
		{"write(docs/**)", "x/docs/a.md", false, false},
		{"write(docs/**)", "DOCS/a.md", false, true},
		{"write(./docs/**)", "docs/a.md", true, true},
		{"write(docs/)", "docs/a.md", false, true},
		{"write(docs/*)", "docs/a/b.md", false, true}, // below docs/a, which matches
		{"write(secrets)", "secrets/key", false, true},
		{"write(secrets)", "a/secrets/key", false, true},
		{"write(secrets)", "secrets", true, true},
		{"write(*.go)", "a/b.go", true, true},
		{"write(*.go)", "a/b.goo", false, false},
		{"write(Makefile)", "makefile", false, true},
		{"write(/etc/**)", "/etc/x", true, true},
		{"write(/etc/**)", "../etc/x", true, true},
		{"write(~/notes/**)", "/home/u/notes/x", true, true},
		{"write(~/notes/**)", "~/notes/x", true, true},
		{"write(~/notes/**)", "/ws/~/notes/x", false, false},
		{"write(..foo/x)", "..foo/x", true, true},
		{"write(a/**)", "../ws/a/b", true, true},
		{"write(*)", "anything", true, true},
		{"write([)", "x", false, true}, // a pattern that is none denies, and allows nothing
		{"write(x)", "", false, true},
		{"write(x)", "a\x00b", false, true},
	}
	for _, tt := range tests {
		for _, e := range []Effect{WriteFile{tt.path}, ReadFile{tt.path}} {
			covers, touches := says(tt.rule, "write", e)
			if covers != tt.covers || touches != tt.touches {
				t.Errorf("%s on %#v: covers %t, touches %t; want %t, %t", tt.rule, e, covers, touches, tt.covers, tt.touches)
			}
		}
	}
}

func TestRulesOnURLs(t *testing.T) {
	for url, want := range map[string]bool{
		"https://example.com/x": true, "https://EXAMPLE.com:8443/x": true, "https://example.com@evil.com/": false,
		"https://example.com.evil.com/": false, "https://evil.com/?example.com": false, "https://sub.example.com/": false,
	} {
		if covers, touches := says("fetch(example.com)", "fetch", Fetch{url}); covers != want || touches != want {
			t.Errorf("%s: %t %t", url, covers, touches)
		}
	}
	for _, url := range []string{"https://example.com./", "https://exa mple.com/%zz"} {
		if covers, touches := says("fetch(example.com)", "fetch", Fetch{url}); covers || !touches {
			t.Errorf("%s: %t %t", url, covers, touches)
		}
	}
}

// TestPolicy holds which rule of several decides.
func TestPolicy(t *testing.T) {
	rules := func(list ...string) (rules []Rule) {
		for _, s := range list {
			r, err := ParseRule(s)
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, r)
		}
		return rules
	}
	tests := []struct {
		name             string
		allow, ask, deny []string
		line             string
		want             string
	}{
		{"no rule", nil, nil, nil, "git push", "ask"},
		{"allow", []string{"bash(git *)"}, nil, nil, "git push", "allow"},
		{"the longer asks", []string{"bash(git *)"}, []string{"bash(git push *)"}, nil, "git push origin", "ask"},
		{"the longer allows", []string{"bash(git push origin *)"}, []string{"bash(git push *)"}, nil, "git push origin x", "allow"},
		{"the same length asks", []string{"bash(git *)"}, []string{"bash(git *)"}, nil, "git push", "ask"},
		{"deny wins over a longer one", []string{"bash(git push origin *)"}, nil, []string{"bash"}, "git push origin x", "policy_denied"},
		{"one denied command of two", []string{"bash"}, nil, []string{"bash(rm *)"}, "git push; rm x", "policy_denied"},
		{"one asked command of two", []string{"bash"}, []string{"bash(git push *)"}, nil, "ls x; git push", "ask"},
		{"one command of two is not covered", []string{"bash(git *)"}, nil, nil, "git push; rm x", "ask"},
		{"no rule sees through a variable", []string{"bash(git *)"}, nil, []string{"bash(rm *)"}, "git push; $x", "policy_denied"},
		{"by pattern of tools", []string{"b*"}, nil, nil, "rm x", "allow"},
	}
	for _, tt := range tests {
		w := newWorld(t, func(c *Config) {
			c.Policy = Policy{Allow: rules(tt.allow...), Ask: rules(tt.ask...), Deny: rules(tt.deny...)}
		}).to(plan.Off)
		if d := w.decide("bash", shellInput{Command: tt.line}); word(d) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, word(d), tt.want)
		}
	}
	// A rule built by hand with a bad pattern of tools restricts everything and allows nothing.
	s := &subject{roots: &Roots{}, tool: "bash", access: Access{Nothing{}}}
	if r := (Rule{Tool: "["}); r.covers(s) || !r.touches(s) {
		t.Error("a bad pattern of tools")
	}
	if r := (Rule{Tool: "*"}); r.covers(&subject{roots: &Roots{}, tool: "bash"}) {
		t.Error("a rule covers what nobody declared")
	}
}

func TestAutonomy(t *testing.T) {
	for _, a := range []Autonomy{Strict, Hybrid, Loose} {
		if got, err := ParseAutonomy(a.String()); got != a || err != nil {
			t.Errorf("%s: %v %v", a, got, err)
		}
	}
	if a, err := ParseAutonomy("LOOSE"); a != Strict || err == nil {
		t.Errorf("%v %v", a, err)
	}
	if Autonomy(9).String() != "strict" {
		t.Error("an impossible value is not strict")
	}
	w := newWorld(t, func(c *Config) { c.Autonomy = 9 }).to(plan.Off)
	w.mustAsk("write", writeInput{Path: "a.go"})
}
