package plan

import (
	"errors"
	"strings"
	"testing"
)

func TestNormalize(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"blank", " \n\t\r\n", ""},
		{"only a byte order mark", "\ufeff", ""},
		{"no newline at the end", "a", "a\n"},
		{"many at the end", "a\n \n\n", "a\n"},
		{"white space in the last line stays", "a  \n", "a  \n"},
		{"white space behind the last line", "a\n  ", "a\n"},
		{"blank lines before", "\n \n  a", "  a\n"},
		{"blank lines within stay", "a\n\n\nb\n", "a\n\n\nb\n"},
		{"CRLF", "a\r\nb\r\n", "a\nb\n"},
		{"CR", "a\rb\r", "a\nb\n"},
		{"mixed", "a\r\n\rb\n\r", "a\n\nb\n"},
		{"byte order mark", "\ufeffa\n", "a\n"},
		{"two of them", "\ufeff\ufeffa\n", "a\n"},
		{"one after blank lines", "\n\ufeff\n \n\ufeffa", "a\n"},
		{"one within stays", "a\ufeffb", "a\ufeffb\n"},
	}
	for _, tt := range tests {
		got := Normalize(tt.text)
		if got != tt.want || Normalize(got) != got {
			t.Errorf("%s: got %q, then %q, want %q", tt.name, got, Normalize(got), tt.want)
		}
	}
}

func TestDigest(t *testing.T) {
	// printf '# First\n\n1. One\n2. Two\n' | sha256sum
	const want = Digest("sha256:37d44540c689e18b667712609fa89b963acfa3383ca846533cd5202be09ce7c3")
	got := DigestOf(first)
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, same := range []string{
		strings.ReplaceAll(first, "\n", "\r\n"), "\ufeff" + first, "\n\n" + first + "\n \n", strings.TrimSuffix(first, "\n"), strings.ReplaceAll(first, "\n", "\r"),
	} {
		if DigestOf(same) != got {
			t.Errorf("%q has another digest", same)
		}
	}
	for _, other := range []string{second, strings.ToLower(first), strings.ReplaceAll(first, "One", "One "), strings.ReplaceAll(first, "\n\n", "\n"), ""} {
		if DigestOf(other) == got {
			t.Errorf("%q has the same digest", other)
		}
	}
	if s := got.Short(); len(s) != 12 || !strings.HasPrefix(string(got), "sha256:"+s) {
		t.Errorf("short form %s", s)
	}
	for d, want := range map[Digest]string{"": "", "sha256:": "", "abc": "abc", "sha256:0123456789abcdef": "0123456789ab"} {
		if got := d.Short(); got != want {
			t.Errorf("%q: short form %q, want %q", d, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name, text string
		want       error
		at         string
	}{
		{"numbered", "1. a", nil, ""},
		{"checkbox", "- [ ] a\n", nil, ""},
		{"tab within a step", "1. a\tb", nil, ""},
		{"real replacement character", "1. a\ufffdb", nil, ""},
		{"joiners of an emoji and of Persian", "1. 👩\u200d💻 می\u200cخواهم", nil, ""},
		{"right to left script", "1. שלום", nil, ""},
		{"no-break spaces", "1. a\u00a0b\u202fc", nil, ""},
		{"nothing", " \n", ErrEmpty, ""},
		{"prose", "Do it.", ErrNoSteps, "1. …"},
		{"largest", "1. " + strings.Repeat("x", MaxText-4), nil, ""},
		{"too long", "1. " + strings.Repeat("x", MaxText-3), ErrTooLong, "100001 bytes"},
		{"most steps", strings.Repeat("1. a\n", MaxSteps), nil, ""},
		{"too many steps", strings.Repeat("1. a\n", MaxSteps+1), ErrTooLong, "201 steps"},
		{"escape", "1. a\n\x1b[2J", ErrUnclean, "U+001B on line 2"},
		{"NUL", "1. a\x00b", ErrUnclean, "U+0000 on line 1"},
		{"delete", "1. a\x7f", ErrUnclean, "U+007F"},
		{"C1 control", "1. a\u009b2J", ErrUnclean, "U+009B"},
		{"next line", "1. a\u0085b", ErrUnclean, "U+0085"},
		{"vertical tab", "1. a\vb", ErrUnclean, "U+000B"},
		{"right to left override", "1. a\n2. \u202ecod.exe", ErrUnclean, "U+202E on line 2"},
		{"isolate", "1. a\u2066b", ErrUnclean, "U+2066"},
		{"right to left mark", "1. a\u200fb", ErrUnclean, "U+200F"},
		{"line separator", "1. a\u2028b", ErrUnclean, "U+2028"},
		{"zero width space", "1. rm\u200b x", ErrUnclean, "U+200B"},
		{"word joiner", "1. a\u2060b", ErrUnclean, "U+2060"},
		{"soft hyphen", "1. a\u00adb", ErrUnclean, "U+00AD"},
		{"byte order mark within", "1. a\ufeffb", ErrUnclean, "U+FEFF"},
		{"tags that spell words", "1. a\U000e0072\U000e006d", ErrUnclean, "U+E0072"},
		{"invalid UTF-8", "1. a\n\n\xff", ErrUnclean, "U+FFFD on line 3"},
		{"cut UTF-8", "1. a\xe6\x97", ErrUnclean, "U+FFFD"},
		{"a surrogate", "1. a\xed\xa0\x80", ErrUnclean, "U+FFFD"},
		{"hidden in a code fence", "1. a\n```\n\x1b[2J\n```", ErrUnclean, "U+001B on line 3"},
	}
	for _, tt := range tests {
		err := Check(tt.text)
		if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			continue
		}
		if err != nil && !strings.Contains(err.Error(), tt.at) {
			t.Errorf("%s: %v, want %q in it", tt.name, err, tt.at)
		}
	}
}

// A text with a hidden character is refused on every way into a state.
func TestTrojanText(t *testing.T) {
	for _, trojan := range []string{"1. a\x1b[1A\x1b[2K1. b\n", "1. a\x00\n", "1. \u202eb\n", "1. a\xff\n", "1. a\u009b\n", "1. a\U000e0041\n"} {
		for _, ev := range []Event{Submit{Stamp: at, Text: trojan}, Edit{at, trojan}} {
			s, _, err := Step(fold(t, startPlan), ev)
			if !errors.Is(err, ErrUnclean) || len(s.Revisions()) > 0 {
				t.Errorf("%s %q: %v", EventName(ev), trojan, err)
			}
		}
		if text, warnings := Extract("<proposed_plan>\n" + trojan + "</proposed_plan>"); text != "" || len(warnings) != 1 || warnings[0].Code != "unusable" {
			t.Errorf("Extract %q: %q, %v", trojan, text, warnings)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := Normalize(text)
		if Normalize(n) != n {
			t.Fatalf("%q, then %q", n, Normalize(n))
		}
		d := DigestOf(text)
		plain := strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
		for _, same := range []string{n, plain, strings.ReplaceAll(plain, "\n", "\r\n"), "\ufeff" + text, "\n" + text, plain + "\n"} {
			if DigestOf(same) != d {
				t.Fatalf("%q and %q differ", text, same)
			}
		}
		if (Check(text) == nil) != (Check(n) == nil) {
			t.Fatalf("Check(%q) depends on the form", text)
		}
		steps := StepsOf(text)
		if Check(text) == nil && len(steps) == 0 {
			t.Fatalf("%q is a plan without steps", text)
		}
		lines := strings.Split(n, "\n")
		for i, s := range steps {
			if s.Number != i+1 || s.Text == "" || strings.Contains(s.Text, "\n") || s.Line < 1 || s.Line > len(lines) || i > 0 && s.Line <= steps[i-1].Line {
				t.Fatalf("step %+v of %q", s, n)
			}
		}
		if title := TitleOf(text); len([]rune(title)) > 80 || strings.Contains(title, "\n") {
			t.Fatalf("title %q", title)
		}
	})
}
