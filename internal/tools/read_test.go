//go:build unix

package tools_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

func TestRead(t *testing.T) {
	long := strings.Repeat("é", 1500) // 3000 bytes
	tests := []struct {
		name, content string
		in            m
		want          string
	}{
		{"whole", "a\nb\n", nil, "     1\ta\n     2\tb\n"},
		{"no newline at the end", "a\nb", nil, "     1\ta\n     2\tb\n"},
		{"blank lines", "\n\nx\n", nil, "     1\t\n     2\t\n     3\tx\n"},
		{"empty", "", nil, "[f.txt is empty]"},
		{"offset", "a\nb\nc\n", m{"offset": 2}, "     2\tb\n     3\tc\n[lines 2 to 3 of 3]\n"},
		{"limit", "a\nb\nc\n", m{"limit": 1}, "     1\ta\n[lines 1 to 1 of 3; 2 more lines; continue with offset=2]\n"},
		{"both", "a\nb\nc\n", m{"offset": 2, "limit": 1}, "     2\tb\n[lines 2 to 2 of 3; 1 more line; continue with offset=3]\n"},
		{"crlf", "a\r\nb\r\n", nil, "     1\ta\n     2\tb\n[line ends are CRLF; edit keeps them]\n"},
		{"mixed", "a\r\nb\n", nil, "     1\ta\n     2\tb\n[line ends are mixed: 1 CRLF, 1 LF]\n"},
		{"a return inside", "a\rb\n", nil, "     1\ta\rb\n"},
		{"bom", "\ufeffa\n", nil, "     1\ta\n[begins with a byte order mark; edit keeps it]\n"},
		{"bom alone", "\ufeff\n", nil, "     1\t\n[begins with a byte order mark; edit keeps it]\n"},
		{"not utf-8", "a\xffb\n", nil, "     1\ta\ufffdb\n[what is not UTF-8 text is shown as \ufffd]\n"},
		{
			"long line", long + "\nb\n", nil,
			"     1\t" + long[:2000] + " … [1000 bytes cut]\n     2\tb\n[1 long line cut at 2000 bytes; grep shows the part that matches]\n",
		},
		{
			"long line between characters", "x" + long + "\r\n", nil,
			"     1\tx" + long[:1998] + " … [1002 bytes cut]\n[1 long line cut at 2000 bytes; grep shows the part that matches]\n" +
				"[line ends are CRLF; edit keeps them]\n",
		},
		{"line of the limit", strings.Repeat("x", 2000) + "\n", nil, "     1\t" + strings.Repeat("x", 2000) + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, setup{})
			w.file("f.txt", tt.content)
			in := m{"path": "f.txt"}
			for k, v := range tt.in {
				in[k] = v
			}
			w.equal(w.ok("read", in), tt.want)
		})
	}
}

// TestReadPages walks a long file by the offsets that read names, and must see every line once.
func TestReadPages(t *testing.T) {
	w := newWorld(t, setup{})
	var b strings.Builder
	const lines = 5000
	for i := 1; i <= lines; i++ {
		fmt.Fprintf(&b, "line %d %s\n", i, strings.Repeat("x", i%100))
	}
	w.file("big.txt", b.String())
	next, pages := 1, 0
	for offset := 1; offset > 0; pages++ {
		if pages > 20 {
			t.Fatal("does not end")
		}
		text := w.ok("read", m{"path": "big.txt", "offset": offset})
		if len(text) > 70<<10 {
			t.Fatalf("a page of %d bytes", len(text))
		}
		offset = 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "[") {
				_, _ = fmt.Sscanf(line[strings.LastIndex(line, "offset=")+1:], "ffset=%d", &offset)
				continue
			}
			if want := fmt.Sprintf("%6d\tline %d x", next, next); !strings.HasPrefix(line+"x", want[:len(want)-1]) {
				t.Fatalf("line %q, want %q", line, want)
			}
			next++
		}
	}
	if next != lines+1 || pages < 3 {
		t.Errorf("%d lines on %d pages", next-1, pages)
	}
}

// TestReadHuge reads the first lines of a file that is one line of 64 MiB, in bounded memory.
func TestReadHuge(t *testing.T) {
	w := newWorld(t, setup{})
	w.file("huge.txt", strings.Repeat("0123456789abcdef", 4<<20))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	text := w.ok("read", m{"path": "huge.txt"})
	runtime.ReadMemStats(&after)
	w.holds(text, "67106864 bytes cut")
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("reading allocated %d bytes", grown)
	}
}

func TestReadTrouble(t *testing.T) {
	w := newWorld(t, setup{hidden: []string{".env", "id_*"}})
	w.file("main.go", "package main\n")
	w.file("src/server.go", "package src\n")
	w.file("bin", "\x7fELF\x02\x01\x01\x00\x00\x00")
	w.file("zeros", strings.Repeat("\x00", 20))
	w.file("late", strings.Repeat("a", 9000)+"\x00\n")
	w.file(".env", "SECRET=1\n")
	w.file("sub/.env", "SECRET=1\n")
	w.file("id_rsa", "key\n")
	w.file(filepath.Join(w.home, "outside.txt"), "outside\n")
	w.must(os.Symlink(filepath.Join(w.home, "outside.txt"), filepath.Join(w.ws, "leak")))
	w.must(os.Symlink(filepath.Join(w.ws, ".env"), filepath.Join(w.ws, "dotenv")))
	w.must(os.Symlink("main.go", filepath.Join(w.ws, "good")))
	w.must(os.Symlink("loop", filepath.Join(w.ws, "loop")))
	w.must(syscall.Mkfifo(filepath.Join(w.ws, "fifo"), 0o644))

	w.fails("read", m{"path": "src"}, "src is a folder; use ls")
	w.fails("read", m{"path": "bin"}, "binary file of 10 B (ELF program or library)")
	w.fails("read", m{"path": "zeros"}, "binary file of 20 B (unknown kind)")
	w.fails("read", m{"path": "fifo"}, "fifo is a pipe")
	w.fails("read", m{"path": "main.py"}, "main.py is not there", "did you mean main.go?")
	w.fails("read", m{"path": "src/serve.go"}, "did you mean src/server.go?")
	w.fails("read", m{"path": "sr/server.go"}, `. holds no folder "sr"`, "did you mean src/server.go?")
	w.fails("read", m{"path": "nothing/like/it"}, "use ls or find")
	w.fails("read", m{"path": "main.go/x"}, "main.go/x")
	w.fails("read", m{"path": "main.go", "offset": 9}, "main.go has only 1 line")
	w.fails("read", m{"path": "main.go", "offset": -1}, "offset: -1")
	w.fails("read", m{"path": "main.go", "limit": 3000}, "limit: 3000 is not 1 to 2000")
	w.fails("read", m{"path": "leak"}, "outside the folders")
	w.fails("read", m{"path": "dotenv"}, "hidden")
	w.fails("read", m{"path": "loop"}, "loop")
	w.equal(w.ok("read", m{"path": "good"}), "     1\tpackage main\n")
	w.holds(w.ok("read", m{"path": "late"}), "bytes cut")

	for _, p := range []string{".env", "sub/.env", "./sub/../.env", "id_rsa", filepath.Join(w.ws, ".env")} {
		w.refused("read", m{"path": p}, tool.PolicyDenied, "hidden")
	}
	for _, p := range []string{"../home/outside.txt", "/etc/passwd", "~/outside.txt", "src/../../home/outside.txt"} {
		w.refused("read", m{"path": p}, tool.PolicyDenied, "outside")
	}
	for _, p := range []string{"", "a\x00b"} {
		w.refused("read", m{"path": p}, tool.InvalidInput)
	}
	if os.Getuid() != 0 { // root reads everything
		w.must(os.Chmod(filepath.Join(w.ws, "main.go"), 0))
		w.fails("read", m{"path": "main.go"}, "permission denied")
	}
}

// TestNearestHidesHidden: a wrong guess at a hidden name must not confirm it.
func TestNearestHidesHidden(t *testing.T) {
	w := newWorld(t, setup{hidden: []string{"secret*"}})
	w.file("secrets.txt", "x")
	w.file("other.txt", "x")
	if text := w.fails("read", m{"path": "ecrets.txt"}); strings.Contains(text, "secrets.txt?") {
		t.Error(text)
	}
}

func TestReadImages(t *testing.T) {
	img := image.NewPaletted(image.Rect(0, 0, 5, 3), color.Palette{color.Black, color.White})
	encode := func(f func(*bytes.Buffer) error) string {
		var b bytes.Buffer
		if err := f(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	webp := func(s string) string {
		data, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	huge := encode(func(b *bytes.Buffer) error { return png.Encode(b, image.NewGray(image.Rect(0, 0, 9000, 1))) })
	tests := []struct{ name, content, media, text string }{
		{"png", encode(func(b *bytes.Buffer) error { return png.Encode(b, img) }), "image/png", "5×3"},
		{"jpeg", encode(func(b *bytes.Buffer) error { return jpeg.Encode(b, img, nil) }), "image/jpeg", "5×3"},
		{"gif", encode(func(b *bytes.Buffer) error { return gif.Encode(b, img, nil) }), "image/gif", "5×3"},
		// The smallest images of each kind of chunk.
		{"lossy webp", webp("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"), "image/webp", "1×1"},
		{"lossless webp", webp("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="), "image/webp", "1×1"},
		{"extended webp", webp("UklGRhYAAABXRUJQVlA4WAoAAAAQAAAAAgAAAQAA"), "image/webp", "3×2"},
		{"too many pixels", huge, "", "the limit is 8000 a side"},
		{"broken", "\x89PNG\r\n\x1a\nnonsense", "", "broken image/png"},
		{"short webp", "RIFF\x00\x00\x00\x00WEBPVP8 ", "", "its header is cut off"},
		{"too large", "\xff\xd8\xff" + strings.Repeat("x", 4<<20), "", "the limit is 3.9 MB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, setup{})
			w.file("picture", tt.content)
			if tt.media == "" {
				w.fails("read", m{"path": "picture"}, tt.text)
				return
			}
			res := w.run("read", m{"path": "picture"})
			w.holds(res.Text, tt.text, tt.media)
			if len(res.Images) != 1 || res.Images[0].MediaType != tt.media || string(res.Images[0].Data) != tt.content {
				t.Errorf("images %+v", res.Images)
			}
		})
	}
}

func TestReadKeptOutputAndPlanFile(t *testing.T) {
	w := newWorld(t, setup{})
	w.file(filepath.Join(w.keep, "output-1.txt"), "kept\n")
	w.equal(w.ok("read", m{"path": filepath.Join(w.keep, "output-1.txt")}), "     1\tkept\n")
	w.file(w.planFile, "1. x\n")
	w.equal(w.ok("read", m{"path": w.planFile}), "     1\t1. x\n")
	w.file(filepath.Join(filepath.Dir(w.planFile), "other.md"), "x\n")
	w.refused("read", m{"path": filepath.Join(filepath.Dir(w.planFile), "other.md")}, tool.PolicyDenied)
}

func TestReadEveryMode(t *testing.T) {
	for _, mode := range plan.Modes() {
		w := newWorld(t, setup{mode: mode})
		w.file("f", "x\n")
		w.equal(w.ok("read", m{"path": "f"}), "     1\tx\n")
	}
}

// TestBadInput gives every tool input that is none.
func TestBadInput(t *testing.T) {
	w := newWorld(t, setup{mode: plan.Off})
	for _, name := range []string{
		"read", "ls", "find", "grep", "edit", "write", "bash", "todo_write", "ask_user", "submit_plan", "task",
	} {
		for _, in := range []string{`{`, `[]`, `"x"`, `null`, `17`, `{"no_such_field":1}`, `{} {}`, "\x00", `{"a":` + strings.Repeat("[", 20_000)} {
			w.refused(name, in, tool.InvalidInput)
		}
	}
	for name, inputs := range map[string][]string{
		"read":     {`{}`, `{"path":7}`, `{"path":"x","offset":"1"}`, `{"path":"x","limit":1.5}`, `{"path":null}`},
		"ls":       {`{"path":[]}`, `{"depth":"deep"}`},
		"find":     {`{}`, `{"pattern":1}`},
		"grep":     {`{}`, `{"pattern":["x"]}`, `{"pattern":"x","context":"2"}`},
		"edit":     {`{}`, `{"path":"x","edits":"y"}`, `{"path":"x","edits":[{"old_text":"a"}]}`, `{"path":"x","edits":[{"old_text":"a","new_text":"b","x":1}]}`},
		"write":    {`{}`, `{"path":"x"}`, `{"path":"x","content":{}}`},
		"bash":     {`{}`, `{"command":""}`, `{"command":["ls"]}`, `{"command":"ls","timeout_seconds":"9"}`},
		"ask_user": {`{}`, `{"questions":"?"}`, `{"questions":[{"question":1}]}`, `{"questions":[{"question":"?","options":["a","b"]}]}`},
		"task":     {`{}`, `{"prompt":1}`},
	} {
		for _, in := range inputs {
			w.refused(name, in, tool.InvalidInput)
		}
	}
}

// TestSchemas holds what models are told: every field described, nothing else allowed, and required
// what is required.
func TestSchemas(t *testing.T) {
	required := map[string]string{
		"read": "path", "ls": "", "find": "pattern", "grep": "pattern", "edit": "path", "write": "path content", "bash": "command",
		"todo_write": "todos", "ask_user": "questions", "submit_plan": "", "task": "prompt",
	}
	w := newWorld(t, setup{})
	for name, want := range required {
		t.Run(name, func(t *testing.T) {
			spec := specOf(t, name)
			var s struct {
				Type       string `json:"type"`
				Properties map[string]struct {
					Description string `json:"description"`
				} `json:"properties"`
				Required   []string `json:"required"`
				Additional any      `json:"additionalProperties"`
			}
			w.must(json.Unmarshal(spec.Schema, &s))
			if got := strings.Join(s.Required, " "); got != want {
				t.Errorf("required %q, want %q", got, want)
			}
			if s.Type != "object" || len(s.Properties) == 0 || !closed(s.Additional) {
				t.Errorf("schema %s", spec.Schema)
			}
			for field, p := range s.Properties {
				if p.Description == "" && field != "risks" {
					t.Errorf("%s has no description", field)
				}
			}
			if n := len(spec.Description); n < 40 || n > 500 || spec.Set != "builtin" || len(spec.Kinds) != 1 {
				t.Errorf("description of %d bytes, set %q, kinds %v", n, spec.Set, spec.Kinds)
			}
		})
	}
}

// closed says whether additionalProperties lets nothing through: false, or {"not":{}}.
func closed(v any) bool {
	if b, ok := v.(bool); ok {
		return !b
	}
	not, ok := v.(map[string]any)
	return ok && len(not) == 1 && not["not"] != nil
}
