package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func readDoc(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fenced returns the blocks of a language in a Markdown text.
func fenced(text, language string) (blocks []string) {
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

var docs = []string{"README.md", "docs/using.md"}

// Each configuration in the documents is one.
func TestDocumentedConfiguration(t *testing.T) {
	n := 0
	for _, doc := range docs {
		for _, block := range fenced(readDoc(t, doc), "json") {
			n++
			r := bareRig(t, block)
			if out, code := r.planmode("config", "check"); code != exitDone {
				t.Errorf("%s: %s\n%s", doc, block, out)
			}
		}
	}
	if n < 2 {
		t.Errorf("only %d examples were found", n)
	}
}

// Each command and each flag that the documents name is there.
func TestDocumentedCommands(t *testing.T) {
	named := regexp.MustCompile("(?m)(?:^|`)planmode ([a-z]+(?: [a-z|]+)?)([^`'\n]*)") // up to a quoted argument
	flag := regexp.MustCompile(`--([a-z-]+)`)
	n := 0
	for _, doc := range docs {
		for _, m := range named.FindAllStringSubmatch(readDoc(t, doc), -1) {
			words := strings.Fields(m[1])
			subs := []string{""}
			if len(words) == 2 {
				subs = strings.Split(words[1], "|")
			}
			for _, sub := range subs {
				n++
				c, rest, err := newRoot(streams{strings.NewReader(""), io.Discard, io.Discard}).Find([]string{words[0], sub})
				if err != nil || c.Name() == "planmode" || c.HasSubCommands() && sub != "" {
					t.Errorf("%s: planmode %s: there is no such command (%v, %v)", doc, m[1], rest, err)
					continue
				}
				for _, f := range flag.FindAllStringSubmatch(m[2], -1) {
					c.InitDefaultHelpFlag()
					if c.Flags().Lookup(f[1]) == nil {
						t.Errorf("%s: planmode %s has no flag --%s", doc, m[1], f[1])
					}
				}
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d commands were found", n)
	}
}

// What README says of a command line is what explain says.
func TestDocumentedVerdicts(t *testing.T) {
	r := bareRig(t, "")
	examples := regexp.MustCompile(`(?m)^planmode explain '(.*)' +# (\w+)`).FindAllStringSubmatch(readDoc(t, "README.md"), -1)
	for _, m := range examples {
		if out, _ := r.planmode("explain", m[1]); !strings.HasPrefix(out, m[2]+"\n") {
			t.Errorf("%s: %s", m[1], out)
		}
	}
	if len(examples) != 2 {
		t.Errorf("%d examples were found", len(examples))
	}
}

var ticked = regexp.MustCompile("`([a-z_]+)`")

// The table of the outcome's keys is the outcome.
func TestDocumentedOutcome(t *testing.T) {
	_, table, ok := strings.Cut(readDoc(t, "docs/using.md"), "| key of the object | |\n|---|---|\n")
	table, _, ended := strings.Cut(table, "\n\n")
	if !ok || !ended {
		t.Fatal("the table is not there")
	}
	var keys, planKeys, stops []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		for _, m := range ticked.FindAllStringSubmatch(cells[1], -1) {
			keys = append(keys, m[1])
		}
		for _, m := range ticked.FindAllStringSubmatch(cells[2], -1) {
			switch strings.TrimSpace(cells[1]) {
			case "`plan`":
				planKeys = append(planKeys, m[1])
			case "`stop`":
				stops = append(stops, m[1])
			}
		}
	}
	sameNames(t, "keys", keys, jsonNames(reflect.TypeFor[outcome]()))
	sameNames(t, "keys of plan", planKeys, jsonNames(reflect.TypeFor[planOutcome]()))
	if len(stops) != 9 {
		t.Errorf("stops: %q", stops)
	}
}

func jsonNames(typ reflect.Type) (names []string) {
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func sameNames(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: the document has %q, the program %q", what, got, want)
	}
}

// The table of exit codes is the program's.
func TestDocumentedExitCodes(t *testing.T) {
	var got []int
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(readDoc(t, "docs/using.md"), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
	}
	if want := []int{exitDone, exitError, exitUsage, exitPlanReady, exitNeedsUser, exitInterrupted}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Every line of stream-json is one object in the documented form: the entries in their order from the
// first one of a new session on, transient ones among them, and the outcome last.
func TestStreamJSON(t *testing.T) {
	r := bareRig(t, "")
	r.write("job.txt", "=== turn\nthinking: Hm.\ntext: A <b> &\\u2028.\ncall: ls {}\n\n=== turn\ncall: write {\"path\": \"x\", \"content\": \"y\"}\n\n=== turn\ntext: Done.\n")
	out, code := r.planmode("run", "--plan", "-p", "go", "--model", "scripted/job.txt", "--output", "stream-json")
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, out)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	var next float64 = 1
	transient := 0
	for i, line := range lines {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %d: %v: %s", i+1, err, line)
		}
		typ, _ := e["type"].(string)
		if last := i == len(lines)-1; last != (typ == "outcome") {
			t.Errorf("line %d of %d is a %q", i+1, len(lines), typ)
			continue
		} else if last {
			continue
		}
		for key := range e {
			if !slices.Contains([]string{"seq", "id", "parent", "time", "by", "type", "data"}, key) {
				t.Errorf("line %d has the key %q", i+1, key)
			}
		}
		if e["time"] == nil || e["by"] == nil || e["data"] == nil {
			t.Errorf("line %d lacks something: %s", i+1, line)
		}
		seq, durable := e["seq"].(float64)
		if !durable {
			transient++
			continue
		}
		if seq != next {
			t.Errorf("line %d: entry %v, want %v", i+1, seq, next)
		}
		next++
	}
	if transient == 0 || next < 8 {
		t.Errorf("%d transient and %v durable entries", transient, next-1)
	}
}
