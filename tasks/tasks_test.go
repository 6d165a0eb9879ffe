package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// counter is a deterministic source of ids: n1, n2, …
func counter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("n%d", n) }
}

func many(n int) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{Content: fmt.Sprintf("item %d", i+1)}
	}
	return items
}

func TestReplaceRules(t *testing.T) {
	tests := []struct {
		name  string
		items []Item
		code  Code
		field string
	}{
		{"41 items", many(41), TooMany, "todos"},
		{"two in progress", []Item{{Content: "a", Status: InProgress}, {Content: "b", Status: InProgress}}, MultipleInProgress, "todos"},
		{"two in progress, spelled apart", []Item{{Content: "a", Status: " IN_PROGRESS"}, {Content: "b", Status: InProgress}}, MultipleInProgress, "todos"},
		{"unknown status", []Item{{Content: "a"}, {Content: "b", Status: "blocked"}}, InvalidStatus, "todos[1].status"},
		{"no content", []Item{{Content: " \n\t"}}, InvalidArgs, "todos[0].content"},
		{"501 characters", []Item{{Content: strings.Repeat("字", 501)}}, ContentTooLong, "todos[0].content"},
		{"escape", []Item{{Content: "a\x1b[2Jb"}}, InvalidArgs, "todos[0].content"},
		{"nul", []Item{{Content: "a\x00b"}}, InvalidArgs, "todos[0].content"},
		{"bidi override", []Item{{Content: "a\u202eb"}}, InvalidArgs, "todos[0].content"},
		{"invalid UTF-8", []Item{{Content: "a\xffb"}}, InvalidArgs, "todos[0].content"},
		{"long id", []Item{{ID: strings.Repeat("x", 65), Content: "a"}}, InvalidArgs, "todos[0].id"},
		{"id with a space", []Item{{ID: "a b", Content: "a"}}, InvalidArgs, "todos[0].id"},
		{"id with a control character", []Item{{ID: "a\ab", Content: "a"}}, InvalidArgs, "todos[0].id"},
		{"id that is not UTF-8", []Item{{ID: "\xff", Content: "a"}}, InvalidArgs, "todos[0].id"},
		{"item rules come before the list's last", []Item{{Content: "a", Status: InProgress}, {Content: "b", Status: InProgress}, {}}, InvalidArgs, "todos[2].content"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewStore(Options{NewID: counter()})
			before, err := s.Replace([]Item{{ID: "keep", Content: "me", Status: InProgress}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Replace(tt.items)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v, want an *Error", err)
			}
			if e.Code != tt.code || e.Field != tt.field {
				t.Errorf("got %s at %s, want %s at %s", e.Code, e.Field, tt.code, tt.field)
			}
			if !utf8.ValidString(e.Message) || len(e.Message) > 300 {
				t.Errorf("message %q is not fit to be shown", e.Message)
			}
			if string(got.JSON()) != string(before.JSON()) || string(s.List().JSON()) != string(before.JSON()) {
				t.Errorf("a refused write changed the list: %s", s.List().JSON())
			}
		})
	}
}

func TestReplaceAccepts(t *testing.T) {
	tests := []struct {
		name  string
		items []Item
		want  []Item
	}{
		{"nothing clears", nil, []Item{}},
		{"defaults", []Item{{Content: "a"}}, []Item{{"n1", "a", Pending}}},
		{"status in any case", []Item{{Content: "a", Status: " Completed\n"}}, []Item{{"n1", "a", Completed}}},
		{"content is one line", []Item{{Content: "  a\r\n\tb\u2028c\u00a0d "}}, []Item{{"n1", "a b c d", Pending}}},
		{"exactly one in progress", []Item{{Content: "a", Status: InProgress}, {Content: "b"}}, []Item{{"n1", "a", InProgress}, {"n2", "b", Pending}}},
		{"later duplicate gets a fresh id", []Item{{ID: "x", Content: "a"}, {ID: " x ", Content: "b"}}, []Item{{"x", "a", Pending}, {"n1", "b", Pending}}},
		{"a fresh id is not one given later", []Item{{Content: "a"}, {ID: "n1", Content: "b"}}, []Item{{"n2", "a", Pending}, {"n1", "b", Pending}}},
		{"500 characters", []Item{{Content: strings.Repeat("字", 500)}}, []Item{{"n1", strings.Repeat("字", 500), Pending}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewStore(Options{NewID: counter()})
			got, err := s.Replace(tt.items)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Items, tt.want) {
				t.Errorf("got %v, want %v", got.Items, tt.want)
			}
		})
	}
}

// A source of ids that only repeats itself, or gives what no id may be, must not hang or leak through.
func TestBadIDSource(t *testing.T) {
	for _, id := range []string{"", "same", "a b", strings.Repeat("x", 100), "t1"} {
		s := NewStore(Options{NewID: func() string { return id }})
		got, err := s.Replace(append(many(5), Item{ID: "t3", Content: "given"}))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, it := range got.Items {
			if it.ID == "" || len(it.ID) > MaxID || strings.Contains(it.ID, " ") || seen[it.ID] {
				t.Errorf("source %q: bad or double id in %v", id, got.Items)
			}
			seen[it.ID] = true
		}
	}
}

// The echo of a full list is whole, and within MaxJSON, whatever the script.
func TestEchoIsNeverTruncated(t *testing.T) {
	for _, tt := range []struct{ name, char string }{
		{"ascii", "x"},
		{"quotes", `"`},
		{"backslashes", `\`},
		{"html", "<"},
		{"cyrillic", "ж"},
		{"cjk", "字"},
		{"emoji", "🧭"},
		{"replacement", "\ufffd"},
		{"combining", "\u0301"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			items := make([]Item, MaxItems)
			for i := range items {
				items[i] = Item{
					ID:      strings.Repeat(`"`, MaxID-2) + fmt.Sprintf("%02d", i),
					Content: strings.Repeat(tt.char, MaxContent), Status: Completed,
				}
			}
			items[7].Status = InProgress
			s := NewStore(Options{})
			if _, err := s.Seed(strings.Repeat(`"`, MaxPlan), []string{"x"}); err != nil {
				t.Fatal(err)
			}
			list, err := s.Replace(items)
			if err != nil {
				t.Fatal(err)
			}
			echo := list.JSON()
			t.Logf("%d bytes; the bound is %d", len(echo), MaxJSON)
			if len(echo) > MaxJSON {
				t.Errorf("%d bytes, over the bound of %d", len(echo), MaxJSON)
			}
			if tt.name == "emoji" && len(echo) < MaxJSON-MaxItems*MaxID-200 {
				t.Errorf("%d bytes: the documented bound %d is loose", len(echo), MaxJSON)
			}
			var back List
			if err := json.Unmarshal(echo, &back); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(back.Items, items) || back.Counts != list.Counts {
				t.Error("the echo is not the list")
			}
			if strings.Contains(string(echo), `\u`) {
				t.Error("the echo escapes characters")
			}
		})
	}
}

func TestJSONOfNothing(t *testing.T) {
	const want = `{"todos":[],"counts":{"pending":0,"in_progress":0,"completed":0,"total":0}}`
	if got := string((List{}).JSON()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(NewStore(Options{}).List().JSON()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseItems(t *testing.T) {
	tests := []struct {
		raw   string
		want  []Item
		code  Code
		field string
	}{
		{raw: `[]`, want: []Item{}},
		{raw: ` ["a", {"title":"b","id":7}, {"content":"c","title":"no","id":"x","status":"completed"}]`, want: []Item{{Content: "a"}, {ID: "7", Content: "b"}, {"x", "c", Completed}}},
		{raw: `[{"content":"a","id":null,"status":null,"extra":1}]`, want: []Item{{Content: "a"}}},
		{raw: ``, code: MissingField, field: "todos"},
		{raw: `null`, code: MissingField, field: "todos"},
		{raw: `"a"`, code: InvalidArgs, field: "todos"},
		{raw: `{"content":"a"}`, code: InvalidArgs, field: "todos"},
		{raw: `[`, code: InvalidArgs, field: "todos"},
		{raw: `["a", null]`, code: InvalidArgs, field: "todos[1]"},
		{raw: `["a", 7]`, code: InvalidArgs, field: "todos[1]"},
		{raw: `[["a"]]`, code: InvalidArgs, field: "todos[0]"},
		{raw: `[{"content":["a"]}]`, code: InvalidArgs, field: "todos[0]"},
		{raw: `[{"content":"a","id":[1]}]`, code: InvalidArgs, field: "todos[0].id"},
	}
	for _, tt := range tests {
		got, err := ParseItems([]byte(tt.raw))
		if tt.code == "" {
			if err != nil || !slices.Equal(got, tt.want) || got == nil {
				t.Errorf("%s: got %v, %v, want %v", tt.raw, got, err, tt.want)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Field != tt.field {
			t.Errorf("%s: got %v, want %s at %s", tt.raw, err, tt.code, tt.field)
		}
	}
}

func FuzzParseItems(f *testing.F) {
	for _, s := range []string{`[]`, `["a",{"title":"b","id":7}]`, `[{"content":"\u0000"}]`, `[{"content":"a","status":"x"}]`, `{`, `[[[[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		items, err := ParseItems(raw)
		if err != nil {
			return
		}
		s := NewStore(Options{})
		if list, err := s.Replace(items); err == nil {
			if len(list.Items) != len(items) || len(list.JSON()) > MaxJSON {
				t.Errorf("%d items became %d in %d bytes", len(items), len(list.Items), len(list.JSON()))
			}
		}
	})
}

func TestSetStatus(t *testing.T) {
	s := NewStore(Options{})
	if _, err := s.Replace([]Item{{"a", "a", InProgress}, {"b", "b", Pending}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetStatus("b", "In_Progress "); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Items(), []Item{{"a", "a", Pending}, {"b", "b", InProgress}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, tt := range []struct {
		id     string
		status Status
		code   Code
	}{{"c", Completed, UnknownTodo}, {"", Completed, UnknownTodo}, {"a", "done", InvalidStatus}} {
		_, err := s.SetStatus(tt.id, tt.status)
		var e *Error
		if !errors.As(err, &e) || e.Code != tt.code {
			t.Errorf("SetStatus(%q, %q): %v, want %s", tt.id, tt.status, err, tt.code)
		}
	}
}

func TestSeed(t *testing.T) {
	steps := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("step %d", i+1)
		}
		return out
	}
	for _, n := range []int{0, 1, 39, 40} {
		s := NewStore(Options{})
		list, err := s.Seed("1", steps(n))
		if err != nil || len(list.Items) != n || list.Plan != "1" || list.Counts.Pending != n {
			t.Errorf("%d steps: %v, %v", n, list, err)
		}
		for i, it := range list.Items {
			if it.ID != fmt.Sprint(i+1) || it.Content != fmt.Sprintf("step %d", i+1) {
				t.Errorf("step %d became %v", i+1, it)
			}
		}
	}
	for _, n := range []int{41, 42, 200} {
		s := NewStore(Options{})
		list, err := s.Seed("1", steps(n))
		if err != nil || len(list.Items) != MaxItems {
			t.Fatalf("%d steps: %d items, %v", n, len(list.Items), err)
		}
		want := Item{"more", fmt.Sprintf("… and %d more steps of the plan", n-39), Pending}
		if list.Items[38].Content != "step 39" || list.Items[39] != want {
			t.Errorf("%d steps end in %v", n, list.Items[38:])
		}
	}
	for _, long := range []string{strings.Repeat("word ", 200), strings.Repeat("字", 700), strings.Repeat("x", 501)} {
		s := NewStore(Options{})
		list, err := s.Seed("1", []string{long})
		if err != nil {
			t.Fatal(err)
		}
		got := list.Items[0].Content
		if n := utf8.RuneCountInString(got); n > MaxContent || n < MaxContent/2 || !strings.HasSuffix(got, "… (the plan has the rest)") {
			t.Errorf("a long step became %d characters: %q", n, got)
		}
	}
	s := NewStore(Options{})
	if _, err := s.Seed("1", []string{"a"}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		plan  string
		steps []string
	}{{"2", []string{"ok", " "}}, {"2", []string{"a\x1bb"}}, {"a b", []string{"ok"}}, {strings.Repeat("x", 129), nil}} {
		if _, err := s.Seed(bad.plan, bad.steps); err == nil {
			t.Errorf("Seed(%q, %q) was taken", bad.plan, bad.steps)
		}
		if s.Plan() != "1" || len(s.Items()) != 1 {
			t.Errorf("a refused seed changed the list: %v", s.List())
		}
	}
}

func TestAllDoneAndCancel(t *testing.T) {
	s := NewStore(Options{})
	if s.AllDone() {
		t.Error("an empty list is done")
	}
	if _, err := s.Seed("1", []string{"a", "b", "c"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		if _, err := s.SetStatus(id, Completed); err != nil {
			t.Fatal(err)
		}
		if s.AllDone() {
			t.Error("done too early")
		}
	}
	closed, err := s.Cancel()
	if err != nil || !slices.Equal(closed, []Item{{"3", "c", Pending}}) {
		t.Errorf("Cancel: %v, %v", closed, err)
	}
	if l := s.List(); s.AllDone() || l.Plan != "" || !l.Closed || l.Counts != (Counts{Completed: 2, Total: 2}) {
		t.Errorf("after Cancel: done %v, %s", s.AllDone(), l.JSON())
	}
	if closed, err := s.Cancel(); err != nil || len(closed) != 0 {
		t.Errorf("second Cancel: %v, %v", closed, err)
	}
	if _, err := s.Replace([]Item{{Content: "x", Status: Completed}}); err != nil || !s.AllDone() {
		t.Errorf("a new list after Cancel is not done: %v, %v", s.List(), err)
	}
}

func TestSnapshotsShareNothing(t *testing.T) {
	in := []Item{{ID: "a", Content: "a"}}
	s := NewStore(Options{})
	list, err := s.Replace(in)
	if err != nil {
		t.Fatal(err)
	}
	in[0].Content = "changed"
	list.Items[0].Content = "changed"
	s.Items()[0].Content = "changed"
	s.State().Items[0].Content = "changed"
	st := State{Version: 1, Items: []Item{{ID: "b", Content: "b"}}}
	if got := s.Items()[0].Content; got != "a" {
		t.Errorf("a holder of a snapshot changed the store: %q", got)
	}
	if err := s.Load(st); err != nil {
		t.Fatal(err)
	}
	st.Items[0].Content = "changed"
	if got := s.Items()[0].Content; got != "b" {
		t.Errorf("the giver of a state changed the store: %q", got)
	}
}

// Whatever is written, the list keeps its rules, and State and Load carry it over whole.
func TestInvariants(t *testing.T) {
	item := rapid.Custom(func(t *rapid.T) Item {
		return Item{
			ID:      rapid.SampledFrom([]string{"", "a", "b", "n1", "n2", " a", "é", "x y"}).Draw(t, "id"),
			Content: rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"x", "y"})).Draw(t, "content"),
			Status:  rapid.SampledFrom([]Status{"", Pending, InProgress, Completed, "COMPLETED", "no"}).Draw(t, "status"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		s := NewStore(Options{NewID: counter()})
		for range rapid.IntRange(1, 6).Draw(t, "writes") {
			before := string(s.List().JSON())
			items := rapid.SliceOfN(item, 0, 45).Draw(t, "items")
			list, err := s.Replace(items)
			if err != nil && string(s.List().JSON()) != before {
				t.Fatalf("refused with %v and changed", err)
			}
			if err == nil && len(list.Items) != len(items) {
				t.Fatalf("%d items became %d", len(items), len(list.Items))
			}
			seen := map[string]bool{}
			for _, it := range list.Items {
				if seen[it.ID] || it.ID == "" || !slices.Contains(Statuses(), it.Status) || it.Content == "" {
					t.Fatalf("bad row %v", it)
				}
				seen[it.ID] = true
			}
			if c := list.Counts; c.InProgress > 1 || c.Total != len(list.Items) || c.Pending+c.InProgress+c.Completed != c.Total || c.Total > MaxItems {
				t.Fatalf("bad counts %v", c)
			}
			other := NewStore(Options{})
			if err := other.Load(s.State()); err != nil || string(other.List().JSON()) != string(s.List().JSON()) {
				t.Fatalf("Load(State()): %v, %s", err, other.List().JSON())
			}
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	s := NewStore(Options{NewID: counter()})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := range 50 {
				if _, err := s.Replace(many((g+n)%MaxItems + 1)); err != nil {
					t.Error(err)
				}
				if l := s.List(); l.Counts.Total != len(l.Items) {
					t.Errorf("torn list: %v", l.Counts)
				}
				s.AllDone()
			}
		})
	}
	wg.Wait()
}

func BenchmarkReplace(b *testing.B) {
	items := many(MaxItems)
	b.Run("memory", func(b *testing.B) {
		s := NewStore(Options{})
		for b.Loop() {
			if _, err := s.Replace(items); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("mirror", func(b *testing.B) {
		s := NewStore(Options{Path: b.TempDir() + "/todos.json"})
		for b.Loop() {
			if _, err := s.Replace(items); err != nil {
				b.Fatal(err)
			}
		}
	})
}
