package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestStepsOf(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // the texts, with "x " before a step that is done
	}{
		{"numbers", "1. a\n2. b\n10. c\n9999. d\n", []string{"a", "b", "c", "d"}},
		{"brackets", "1) a\n2) b", []string{"a", "b"}},
		{"checkboxes", "- [ ] a\n* [x] b\n+ [X] c", []string{"a", "x b", "x c"}},
		{"numbered checkboxes", "1. [ ] a\n2. [x] b", []string{"a", "x b"}},
		{"plain bullets are none", "- a\n* b\n+ c", nil},
		{"headings are none", "## 1. a\n# 2. b", nil},
		{"bold numbers are none", "**1.** a\n**1. a**", nil},
		{"quotes are none", "> 1. a\n> - [ ] b", nil},
		{"rows of a table are none", "| 1. a |\n|---|", nil},
		{"rules are none", "---\n* * *\n- - -", nil},
		{"no space", "1.a\n2)b\n-[ ] c", nil},
		{"no bullet", "[ ] a\n[x] b", nil},
		{"no text", "1. \n2.\n- [ ]\n- [ ] \n3. ** **\n4. ``", []string{"** **", "``"}},
		{"CJK numbering is none", "１．a\n1、b\n一、c", nil},
		{"five digits are none", "12345. a", nil},
		{"a year in prose is one", "2026. a", []string{"a"}},
		{"other boxes are text", "1. [-] a\n- [y] b", []string{"[-] a"}},
		{"CJK text", "1. 計画を読む\n2. 書く", []string{"計画を読む", "書く"}},
		{"sub-steps are part of a step", "1. a\n   1. x\n   - [ ] y\n2. b\n\t1. z", []string{"a", "b"}},
		{"one column is no sub-step", "1. a\n 2. b", []string{"a", "b"}},
		{"all indented", "  1. a\n  2. b\n    - [ ] x", []string{"a", "b"}},
		{"out again", "   1. a\n1. b\n   2. x", []string{"a", "b"}},
		{"code fence", "1. a\n```\n2. x\n```\n3. b\n~~~\n4. y\n~~~", []string{"a", "b"}},
		{"fence with a language", "```text\n1. x\n```\n1. a", []string{"a"}},
		{"longer fence", "````\n```\n1. x\n````\n1. a", []string{"a"}},
		{"other fence within", "```\n~~~\n1. x\n```\n1. a", []string{"a"}},
		{"closing fence has no language", "```\n1. x\n```sh\n1. y\n```\n1. a", []string{"a"}},
		{"unclosed fence", "1. a\n```\n2. x", []string{"a"}},
		{"inline code is no fence", "``` x ```\n1. a", []string{"a"}},
		{"emphasis and code", "1. **Add** the `--flag`\n2. **all of it**\n3. (**b**), **c**.", []string{"Add the --flag", "all of it", "(b), c."}},
		{"names in code stay", "1. Edit `__init__.py` and `docs/**`", []string{"Edit __init__.py and docs/**"}},
		{"names without code stay", "1. Edit __init__.py, docs/** and src/**/x.go\n2. 2**3 and 2**4", []string{"Edit __init__.py, docs/** and src/**/x.go", "2**3 and 2**4"}},
		{"open marks stay", "1. a `b\n2. a **b", []string{"a `b", "a **b"}},
		{"code in longer marks", "1. ``a ` b`` c", []string{"a ` b c"}},
		{"white space", "1.   a \t b  ", []string{"a b"}},
		{"CRLF", "1. a\r\n2. b\r\n", []string{"a", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for i, s := range StepsOf(tt.text) {
				if s.Number != i+1 {
					t.Errorf("step %d has the number %d", i+1, s.Number)
				}
				if s.Done {
					s.Text = "x " + s.Text
				}
				got = append(got, s.Text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStepLines(t *testing.T) {
	for _, s := range StepsOf("\ufeff\n\n# T\n\n1. a\n   more\n2. b\n") { // lines of the normalized text
		if want := map[string]int{"a": 3, "b": 5}[s.Text]; s.Line != want {
			t.Errorf("%s is on line %d, want %d", s.Text, s.Line, want)
		}
	}
}

func TestTitleOf(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"# A title\n\n1. a", "A title"},
		{"Some prose.\n\n## **The** `title`\n", "The title"},
		{"Some prose.\n1. a", "Some prose."},
		{"#no heading\n1. a", "#no heading"},
		{"1. a\n```\n# a comment\n```\n", "1. a"},
		{"```\n# a comment\n```\n# Title\n", "Title"},
		{"# \n1. a", "#"},
		{"# " + strings.Repeat("字", 81), strings.Repeat("字", 79) + "…"},
		{"# " + strings.Repeat("字", 80), strings.Repeat("字", 80)},
	} {
		if got := TitleOf(tt.text); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestCompose(t *testing.T) {
	tests := []struct {
		name  string
		draft Draft
		want  string
	}{
		{
			"least",
			Draft{Summary: "Why.", Steps: []DraftStep{{Title: "Do"}}},
			"# Plan\n\nWhy.\n\n## Steps\n\n1. Do\n",
		},
		{
			"all",
			Draft{
				Title: " The\nplan ", Summary: "Why.\n\nAnd how.\n",
				Steps:         []DraftStep{{"Read", "All of it.\n\n1. this\n2. that", []string{"read", "grep"}}, {"Write\nit", "", nil}},
				OpenQuestions: []string{"Which\none?", " "}, Risks: []string{"None"},
			},
			"# The plan\n\nWhy.\n\nAnd how.\n\n## Steps\n\n1. Read\n\n   All of it.\n\n   1. this\n   2. that\n\n   Tools: read, grep\n2. Write it\n" +
				"\n## Open questions\n\n- Which one?\n\n## Risks\n\n- None\n",
		},
		{
			"lists that are no steps",
			Draft{
				Summary: "Facts:\n1. one\n2) two\n- [ ] three\n1. [x] four\n```\n1. five\n```", Steps: []DraftStep{{Title: "[ ] Do"}, {Title: "[x] [ ] Done"}},
				OpenQuestions: []string{"[ ] this?"}, Risks: []string{"1. that"},
			},
			"# Plan\n\nFacts:\n1\\. one\n2\\) two\n- \\[ ] three\n1\\. [x] four\n```\n1. five\n```\n\n## Steps\n\n1. Do\n2. Done\n\n## Open questions\n\n- this?\n\n## Risks\n\n- 1. that\n",
		},
		{
			"open fences",
			Draft{Summary: "```\nls", Steps: []DraftStep{{Title: "a", Detail: "~~~~sh\nls\n~~~"}, {Title: "b"}}},
			"# Plan\n\n```\nls\n```\n\n## Steps\n\n1. a\n\n   ~~~~sh\n   ls\n   ~~~\n   ~~~~\n\n2. b\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Compose(tt.draft)
			if err != nil || got != tt.want {
				t.Errorf("got  %q, %v\nwant %q", got, err, tt.want)
			}
			if err := Check(got); err != nil {
				t.Error(err)
			}
			if n := len(StepsOf(got)); n != len(tt.draft.Steps) {
				t.Errorf("%d steps, want %d", n, len(tt.draft.Steps))
			}
		})
	}
}

func TestComposeRefuses(t *testing.T) {
	for _, tt := range []struct {
		draft Draft
		want  error
		field string
	}{
		{Draft{}, ErrEmpty, "summary"},
		{Draft{Summary: " \n"}, ErrEmpty, "summary"},
		{Draft{Summary: "x"}, ErrNoSteps, "steps"},
		{Draft{Summary: "x", Steps: []DraftStep{{Title: "a"}, {Detail: "b"}}}, ErrEmpty, "steps[1].title"},
		{Draft{Summary: "x", Steps: []DraftStep{{Title: " [ ] "}}}, ErrEmpty, "steps[0].title"},
	} {
		got, err := Compose(tt.draft)
		if got != "" || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.field+":") {
			t.Errorf("%+v: %q, %v, want %v at %s", tt.draft, got, err, tt.want, tt.field)
		}
	}
}

// Whatever a model puts into a draft, the composed plan has the draft's steps and no others.
func TestComposeKeepsSteps(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "1. b", "- [ ] c", "[x] d", "```", "~~~", "````", "# e", "> f", "  ", "\n", "\n\n", "`", "**", "__", "計", "2) g", "\t", "| h |", "---", "\r\n", "</proposed_plan>", "<proposed_plan>", "\\",
	})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, "between"))
	})
	rapid.Check(t, func(t *rapid.T) {
		d := Draft{Title: text.Draw(t, "title"), Summary: text.Draw(t, "summary"), OpenQuestions: rapid.SliceOfN(text, 0, 3).Draw(t, "questions"), Risks: rapid.SliceOfN(text, 0, 3).Draw(t, "risks")}
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			d.Steps = append(d.Steps, DraftStep{text.Draw(t, "step"), text.Draw(t, "detail"), rapid.SliceOfN(text, 0, 2).Draw(t, "tools")})
		}
		got, err := Compose(d)
		if err != nil {
			if !errors.Is(err, ErrEmpty) && !errors.Is(err, ErrNoSteps) {
				t.Fatal(err)
			}
			return
		}
		if err := Check(got); err != nil {
			t.Fatalf("%v: %q", err, got)
		}
		steps := StepsOf(got)
		if len(steps) != len(d.Steps) {
			t.Fatalf("%d steps of %d in %q", len(steps), len(d.Steps), got)
		}
		for i, s := range steps {
			if want := plainText(withoutBox(oneLine(d.Steps[i].Title))); s.Text != want || s.Done {
				t.Fatalf("step %d is %+v, want %q", i+1, s, want)
			}
		}
	})
}

// The folding of a text's marks keeps every letter and digit of it.
func TestPlainTextLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "b1", " ", "*", "**", "`", "``", "_", "__", "(", ".", "計"})).Draw(t, "s"), "")
		letters := func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
					return r
				}
				return -1
			}, s)
		}
		if got := plainText(s); letters(got) != letters(s) {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func BenchmarkStepsOf(b *testing.B) {
	var text strings.Builder
	for i := range MaxSteps {
		fmt.Fprintf(&text, "%d. Edit `file%d.go`\n\n   Some **words** about it, and a list:\n   - one\n   - two\n", i+1, i)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if n := len(StepsOf(text.String())); n != MaxSteps {
			b.Fatal(n)
		}
	}
}
