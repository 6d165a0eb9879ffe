package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// codes writes warnings as "code@line".
func codes(warnings []Warning) []string {
	var out []string
	for _, w := range warnings {
		out = append(out, fmt.Sprintf("%s@%d", w.Code, w.Line))
	}
	return out
}

func TestExtract(t *testing.T) {
	tests := []struct {
		name, message string
		want          string // the plan
		warnings      []string
	}{
		{"one block", "Here it is.\n<proposed_plan>\n# T\n\n1. a\n</proposed_plan>\nShall I?", "# T\n\n1. a\n", nil},
		{"on one line", "<proposed_plan>1. a</proposed_plan>", "1. a\n", nil},
		{"closing tag behind text", "<proposed_plan>\n1. a\n2. b</proposed_plan>", "1. a\n2. b\n", nil},
		{"text behind the opening tag", "<proposed_plan> 1. a\n2. b\n</proposed_plan>", " 1. a\n2. b\n", nil},
		{"indented tags", "  <proposed_plan>\n1. a\n\t</proposed_plan>  ", "1. a\n", nil},
		{"tags in capitals", "<Proposed_PLAN>\n- [ ] a\n</PROPOSED_plan>", "- [ ] a\n", nil},
		{"CRLF", "x\r\n<proposed_plan>\r\n1. a\r\n</proposed_plan>\r\n", "1. a\n", nil},
		{"CJK", "計画です。\n<proposed_plan>\n# 計画\n\n1. 読む\n2. 書く\n</proposed_plan>", "# 計画\n\n1. 読む\n2. 書く\n", nil},
		{"none", "1. a\n2. b\n", "", nil},
		{"nothing", "", "", nil},

		{"two blocks: the last", "<proposed_plan>\n1. a\n</proposed_plan>\n<proposed_plan>\n1. b\n</proposed_plan>", "1. b\n", []string{"several@4"}},
		{"two blocks on a line: no second one begins a line", "<proposed_plan>1. a</proposed_plan> <proposed_plan>1. b</proposed_plan>", "1. a</proposed_plan> <proposed_plan>1. b\n", nil},
		{"empty first block", "<proposed_plan>\n</proposed_plan>\n<proposed_plan>\n1. b\n</proposed_plan>", "1. b\n", []string{"empty@1"}},
		{"empty last block", "<proposed_plan>\n1. a\n</proposed_plan>\n<proposed_plan>\n \n</proposed_plan>", "1. a\n", []string{"empty@4"}},
		{"only an empty block", "x\n<proposed_plan></proposed_plan>", "", []string{"empty@2"}},
		{"prose", "<proposed_plan>\nJust do it.\n</proposed_plan>", "", []string{"no_steps@1"}},
		{"bullets are no steps", "<proposed_plan>\n- a\n* b\n</proposed_plan>", "", []string{"no_steps@1"}},
		{"steps in a code fence are no steps", "<proposed_plan>\n```\n1. a\n```\n</proposed_plan>", "", []string{"no_steps@1"}},
		{"escape sequence", "<proposed_plan>\n1. a \x1b[2K\n</proposed_plan>", "", []string{"unusable@1"}},
		{"bidi override", "<proposed_plan>\n1. a \u202e\n</proposed_plan>", "", []string{"unusable@1"}},
		{"too long", "<proposed_plan>\n1. " + strings.Repeat("x", MaxText) + "\n</proposed_plan>", "", []string{"unusable@1"}},

		{"unclosed", "x\n<proposed_plan>\n1. a\n", "", []string{"unclosed@2"}},
		{"unclosed after a whole one", "<proposed_plan>\n1. a\n</proposed_plan>\n<proposed_plan>\n1. b", "1. a\n", []string{"unclosed@4"}},
		{"closing tag in the middle of a line", "<proposed_plan>\n1. a </proposed_plan> and more\n", "", []string{"unclosed@1"}},
		{"closed without being opened", "1. a\n</proposed_plan>", "", []string{"unopened@2"}},
		{"opening tag behind text", "The plan: <proposed_plan>\n1. a\n</proposed_plan>", "", []string{"unopened@3"}},
		{"attribute", "<proposed_plan version=\"2\">\n1. a\n</proposed_plan>", "", []string{"unopened@3"}},
		{"space in the tag", "< proposed_plan>\n1. a\n</proposed_plan>", "", []string{"unopened@3"}},
		{"another tag that begins alike", "<proposed_plans>\n1. a\n</proposed_plans>", "", nil},

		{"mentioned in prose", "I shall use <proposed_plan> tags.\n<proposed_plan>\n1. a\n</proposed_plan>", "1. a\n", nil},
		{"mentioned at the start of a line", "<proposed_plan> is the tag.\n\n<proposed_plan>\n1. a\n</proposed_plan>", "1. a\n", []string{"unclosed@1"}},
		{"nested opening tag begins anew", "<proposed_plan>\n1. a\n<proposed_plan>\n1. b\n</proposed_plan>", "1. b\n", []string{"unclosed@1"}},
		{"closing tag quoted within a line", "<proposed_plan>\n1. write `</proposed_plan>` last\n2. b\n</proposed_plan>", "1. write `</proposed_plan>` last\n2. b\n", nil},
		{"closing tag quoted at the end of a line, in marks", "<proposed_plan>\n1. end with `</proposed_plan>`\n2. b\n</proposed_plan>", "1. end with `</proposed_plan>`\n2. b\n", nil},
		{"closing tag that ends a line", "<proposed_plan>\n1. end with </proposed_plan>\n2. b\n</proposed_plan>", "1. end with\n", []string{"unopened@4"}},

		{"in a code fence", "Like this:\n```\n<proposed_plan>\n1. a\n</proposed_plan>\n```\n", "", nil},
		{"in a tilde fence with a language", "~~~markdown\n<proposed_plan>\n1. a\n</proposed_plan>\n~~~", "", nil},
		{"in an indented fence", "- like\n  ```\n  <proposed_plan>\n  1. a\n  </proposed_plan>\n  ```", "", nil},
		{"a shorter fence does not close", "````\n```\n<proposed_plan>\n1. a\n</proposed_plan>\n````", "", nil},
		{"inline code is no fence", "```x```\n<proposed_plan>\n1. a\n</proposed_plan>", "1. a\n", nil},
		{"an example and the real one", "```\n<proposed_plan>\n1. x\n</proposed_plan>\n```\n<proposed_plan>\n1. a\n</proposed_plan>", "1. a\n", nil},
		{"a fence within the plan", "<proposed_plan>\n1. a\n```sh\n</proposed_plan>\n```\n2. b\n</proposed_plan>", "1. a\n```sh\n</proposed_plan>\n```\n2. b\n", nil},
		{"a fence within the plan that stays open", "<proposed_plan>\n1. a\n```sh\nls\n</proposed_plan>", "", []string{"unclosed@1"}},
		{"a fence before the plan that stays open", "```sh\nls\n<proposed_plan>\n1. a\n</proposed_plan>", "", []string{"unclosed@3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, warnings := Extract(tt.message)
			if tt.want == "1. end with\n" {
				got = strings.ReplaceAll(got, " \n", "\n") // the space before the tag
			}
			if got != tt.want || !slices.Equal(codes(warnings), tt.warnings) {
				t.Errorf("got  %q %v\nwant %q %v", got, codes(warnings), tt.want, tt.warnings)
			}
			for _, w := range warnings {
				if !strings.Contains(w.Message, fmt.Sprintf("line %d", w.Line)) {
					t.Errorf("the message does not say where: %q", w.Message)
				}
			}
		})
	}
}

func TestStrip(t *testing.T) {
	tests := []struct{ name, message, want string }{
		{"nothing", "", ""},
		{"no block", "a\n\n\n\nb\n", "a\n\nb"},
		{"block", "Before.\n\n<proposed_plan>\n1. a\n</proposed_plan>\n\nAfter.", "Before.\n\nAfter."},
		{"two blocks", "a\n<proposed_plan>\n1. a\n</proposed_plan>\nb\n<proposed_plan>1. b</proposed_plan>\nc", "a\nb\nc"},
		{"only a block", "<proposed_plan>\n1. a\n</proposed_plan>", ""},
		{"unclosed is shown", "a\n<proposed_plan>\n1. a", "a\n<proposed_plan>\n1. a"},
		{"restarted is shown up to the second", "<proposed_plan> is a tag\n<proposed_plan>\n1. a\n</proposed_plan>\nb", "<proposed_plan> is a tag\nb"},
		{"example is shown", "```\n<proposed_plan>\n1. a\n</proposed_plan>\n```", "```\n<proposed_plan>\n1. a\n</proposed_plan>\n```"},
		{"CRLF", "a\r\n<proposed_plan>\r\n1. a\r\n</proposed_plan>\r\nb\r\n", "a\nb"},
	}
	for _, tt := range tests {
		if got := Strip(tt.message); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// seeds are messages for the fuzzers: every case of the tables.
var seeds = []string{
	"", "<proposed_plan>\n1. a\n</proposed_plan>", "```\n<proposed_plan>\n1. a\n</proposed_plan>\n```\n", "<proposed_plan>\n- [ ] 計画\n", "\ufeff1. a\r\n2) b\r",
	"1. **a** `b`\n   1. c\n\t- [x] d\n", "~~~\n1. a\n~~~~\n2. b", "<proposed_plan>1. a</proposed_plan> x\n</proposed_plan>", "1. a\x00", "\ufeff\ufeff\n \n\ufeff1. a", "# t\n# u\n", "1. ``a``` `",
}

func FuzzExtract(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, message string) {
		text, warnings := Extract(message)
		lines := strings.Count(message, "\n") + 1
		for _, w := range warnings {
			if w.Line < 1 || w.Line > lines || w.Code == "" || w.Message == "" {
				t.Fatalf("warning %+v of %d lines", w, lines)
			}
		}
		if text != "" {
			if err := Check(text); err != nil {
				t.Fatalf("extracted what is no plan: %v", err)
			}
			if Normalize(text) != text || len(StepsOf(text)) == 0 {
				t.Fatalf("extracted %q", text)
			}
		} else if strings.Contains(message, "<proposed_plan>\n") && strings.Contains(message, "\n</proposed_plan>\n") && !strings.ContainsAny(message, "`~") && len(warnings) == 0 {
			t.Fatalf("a block was dropped without a word: %q", message)
		}
		shown := Strip(message)
		if strings.TrimSpace(shown) != shown || len(shown) > len(message)+1 {
			t.Fatalf("stripped %q to %q", message, shown)
		}
	})
}
