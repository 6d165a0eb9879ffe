package shellsafe_test

import (
	"fmt"

	"github.com/planmode-dev/planmode/shellsafe"
)

func ExampleAnalyze() {
	for _, line := range []string{
		`git log --oneline | head -5`,
		`for f in *.go; do wc -l "$f"; done`,
		`sort -o out.txt data.txt`,
		`go test ./...`,
		`curl -s https://example.com/`,
		`echo 'unfinished`,
	} {
		r := shellsafe.Analyze(line, nil)
		fmt.Printf("%s: %s\n", r.Verdict, line)
		if r.Verdict != shellsafe.Read {
			fmt.Printf("  %s\n", r.Reason)
		}
	}
	// Output:
	// read: git log --oneline | head -5
	// read: for f in *.go; do wc -l "$f"; done
	// write: sort -o out.txt data.txt
	//   `sort -o` writes a file
	// contained: go test ./...
	//   `go test` compiles or runs the project's code
	// network: curl -s https://example.com/
	//   `curl` fetches from the network
	// invalid: echo 'unfinished
	//   the text does not parse: reached EOF without closing quote `'`
}

func ExampleExplain() {
	e := shellsafe.Explain(`cat notes.md | tee copy.md | wc -l`, nil)
	fmt.Printf("%s at %q: %s\n", e.Verdict, e.At.Text, e.Hint)
	for _, s := range e.Steps {
		fmt.Printf("%-9s %s\n", s.Verdict, s.At.Text)
	}
	// Output:
	// write at "copy.md": leave `tee` out: the output is returned to you
	// read      cat notes.md
	// write     tee copy.md
	// read      wc -l
}

func ExampleRule() {
	opts := &shellsafe.Options{Allow: []shellsafe.Rule{
		{Program: "gh", Sub: []string{"issue", "view"}, Options: []string{"--json"}},
	}}
	for _, line := range []string{"gh issue view 12 --json title", "gh issue close 12", "gh issue view 12 > issue.txt"} {
		fmt.Println(shellsafe.Analyze(line, opts).Verdict, "-", line)
	}
	// Output:
	// read - gh issue view 12 --json title
	// network - gh issue close 12
	// write - gh issue view 12 > issue.txt
}

func ExampleCheckRule() {
	fmt.Println(shellsafe.CheckRule(shellsafe.Rule{Program: "kubectl", Sub: []string{"get"}}))
	fmt.Println(shellsafe.CheckRule(shellsafe.Rule{Program: "rm"}))
	fmt.Println(shellsafe.CheckRule(shellsafe.Rule{Program: "python3"}))
	// Output:
	// <nil>
	// shellsafe: "rm" deletes files and cannot be vouched for
	// shellsafe: "python3" runs whatever it is told and cannot be vouched for
}
