package config

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/tool"
)

// A shape says what a value may be. The checker and the published schema are both made of the one tree
// below, so that an editor says the same as the program.
type shape struct {
	kind   shapeKind
	doc    string
	fields []entry            // of an object
	of     *shape             // the values of a table, the items of a list
	key    string             // pattern of a table's names
	words  []string           // of an enum
	check  func(string) error // of a text; the error completes a sentence about it
	secret bool               // a text that may be a key by mistake: never repeated in a message
	form   string             // pattern of a text, for the schema
	lo, hi int64              // of a whole number
}

type shapeKind uint8

const (
	objectShape shapeKind = iota
	tableShape            // an object with names of the user's
	listShape
	enumShape
	textShape
	flagShape
	wholeShape // a whole number
	priceShape // a number from 0
)

type entry struct {
	name     string
	shape    *shape
	required bool
}

const (
	modelForm = `^[^/\s]+/\S+$`
	nameForm  = `^[a-z0-9][a-z0-9_.-]{0,63}$`
	envForm   = `^[A-Za-z_][A-Za-z0-9_]*$`
	maxList   = 1000 // entries of one list, names of one table
)

var envName = regexp.MustCompile(envForm)

func object(doc string, fields ...entry) *shape {
	return &shape{kind: objectShape, doc: doc, fields: fields}
}
func list(doc string, of *shape) *shape       { return &shape{kind: listShape, doc: doc, of: of} }
func enum(doc string, words ...string) *shape { return &shape{kind: enumShape, doc: doc, words: words} }
func flag(doc string) *shape                  { return &shape{kind: flagShape, doc: doc} }
func price(doc string) *shape                 { return &shape{kind: priceShape, doc: doc} }

func whole(doc string, lo, hi int64) *shape {
	return &shape{kind: wholeShape, doc: doc, lo: lo, hi: hi}
}

func text(doc, form string, check func(string) error) *shape {
	return &shape{kind: textShape, doc: doc, form: form, check: check}
}

func names(doc, key string, of *shape) *shape {
	return &shape{kind: tableShape, doc: doc, key: key, of: of}
}

// root is the whole file.
var root = object("Settings of planmode. Every field is optional.",
	entry{name: "$schema", shape: text("Where an editor finds this schema. The program does not read it.", "", nil)},
	entry{name: "model", shape: text("The model to work with, as provider/model.", modelForm, checkModel)},
	entry{name: "review_model", shape: text("The model that reviews plans and code, as provider/model; the working one by default.", modelForm, checkModel)},
	entry{name: "thinking", shape: enum("How long the model may think before it answers.", "off", "low", "medium", "high", "xhigh")},
	entry{name: "autonomy", shape: enum("How much confirmation you want while changes are allowed: strict asks for everything that is not proven read-only, hybrid lets the workspace be written, loose asks for little.", "strict", "hybrid", "loose")},
	entry{name: "plan", shape: planShape},
	entry{name: "permissions", shape: object("Rules for when changes are allowed. None lifts what plan mode forbids.",
		entry{name: "allow", shape: list("Calls that need no question.", ruleShape)},
		entry{name: "ask", shape: list("Calls that need a question.", ruleShape)},
		entry{name: "deny", shape: list("Calls that are refused.", ruleShape)},
	)},
	entry{name: "sandbox", shape: enum("What the kernel must enforce: require runs nothing without a wall, prefer uses one where there is one, off uses none.", "require", "prefer", "off")},
	entry{name: "commands", shape: enum("Where commands that may change things run: full is where the user would run them, workspace is a view in which only the workspace can be written and there is no network.", "full", "workspace")},
	entry{name: "read_roots", shape: list("Further folders that may be read: absolute, or from ~/.", text("A folder.", `^(/|~$|~/|[A-Za-z]:)`, checkFolder))},
	entry{name: "hidden", shape: list("Further files and folders that may not be read: a path, absolute or from ~/, or a pattern for a base name, such as *.pem.", text("A path or pattern.", "", checkHidden))},
	entry{name: "providers", shape: names("Servers of models by name.", nameForm, providerShape)},
	entry{name: "limits", shape: object("Bounds of a session's work.",
		entry{name: "max_turns", shape: whole("Answers of the model for one prompt.", 1, 10_000)},
		entry{name: "stall_seconds", shape: whole("Seconds to wait for the next byte from the model.", 1, 86_400)},
	)},
)

var planShape = object("How plan mode behaves.",
	entry{name: "default", shape: flag("Sessions start in plan mode.")},
	entry{name: "after_done", shape: enum("Where a finished execution leads.", "off", "planning")},
	entry{name: "exposure", shape: enum("Which tools the model is shown while planning: filtered shows those that would not be refused, stable always shows all, which keeps the provider's cache.", "filtered", "stable")},
	entry{name: "tools", shape: list("Tools that you vouch to be read-only, as names with *. Tools that are known to write stay writers.", text("A tool's name.", `^[^\s()/]+$`, checkTool))},
	entry{name: "model_may_enter", shape: flag("The model may ask to enter plan mode.")},
	entry{name: "evidence", shape: enum("Whether commands such as tests may run in a throw-away copy while planning.", "on", "off", "ask")},
	entry{name: "shell", shape: object("What counts as read-only in a command line, besides the built-in tables.",
		entry{name: "allow", shape: list("Programs that you vouch to be read-only.", object("A program.",
			entry{name: "program", required: true, shape: text("Base name, such as gh.", `^[^\s/\\]+$`, checkProgram)},
			entry{name: "sub", shape: list("Sub-command path, such as issue, view.", text("A word.", `^[^\s-]\S*$`, checkSub))},
			entry{name: "options", shape: list("Options that may appear, spelled with dashes; * allows any.", text("An option.", `^(\*|-\S+)$`, checkOption))},
		))},
	)},
)

var ruleShape = text("A tool's name, with * for any part, and maybe an argument: bash(go test *), write(docs/**), fetch(example.com), mcp__github__*.", `^[^\s/(]+(\(.*\))?$`, checkRule)

var providerShape = object("A server of models.",
	entry{name: "api", required: true, shape: enum("The protocol that it speaks.", "anthropic", "openai", "openai-responses")},
	entry{name: "base_url", shape: &shape{
		kind: textShape, doc: "Its address; the vendor's own by default.", form: `^https?://`, check: checkURL, secret: true,
	}},
	entry{name: "api_key_env", shape: &shape{
		kind: textShape, doc: "Name of the environment variable that holds the key. The key itself is never written here.",
		form: envForm, check: checkEnvName, secret: true,
	}},
	entry{name: "models", shape: names("Models by the vendor's name for them; what is not said is looked up in the built-in catalogue.", "", object("A model.",
		entry{name: "context_window", shape: whole("Tokens.", 1, 1_000_000_000)},
		entry{name: "max_output", shape: whole("Tokens.", 1, 1_000_000_000)},
		entry{name: "price", shape: object("US dollars for a million tokens.",
			entry{name: "input", shape: price("Read.")},
			entry{name: "output", shape: price("Written.")},
			entry{name: "cache_read", shape: price("Read from the cache.")},
			entry{name: "cache_write", shape: price("Written to the cache.")},
		)},
		entry{name: "images", shape: flag("It takes pictures.")},
		entry{name: "thinking", shape: list("Levels that it takes.", enum("A level.", "low", "medium", "high", "xhigh"))},
	))},
)

func checkModel(s string) error {
	if _, _, err := llm.SplitName(s); err != nil || strings.ContainsFunc(s, unicode.IsSpace) {
		return fmt.Errorf("is not of the form provider/model")
	}
	return nil
}

func checkRule(s string) error {
	_, err := tool.ParseRule(s)
	if err != nil {
		return fmt.Errorf("is no rule: %s", strings.TrimPrefix(err.Error(), fmt.Sprintf("tool: rule %q: ", s)))
	}
	return nil
}

func checkTool(s string) error {
	if strings.ContainsAny(s, "()/") || strings.ContainsFunc(s, unicode.IsSpace) {
		return fmt.Errorf("is no tool's name")
	}
	if _, err := path.Match(s, ""); err != nil {
		return fmt.Errorf("is no pattern: %w", err)
	}
	return nil
}

func checkProgram(s string) error {
	if strings.ContainsAny(s, `/\`) || strings.ContainsFunc(s, unicode.IsSpace) {
		return fmt.Errorf("is no base name of a program")
	}
	return nil
}

func checkSub(s string) error {
	if strings.HasPrefix(s, "-") || strings.ContainsFunc(s, unicode.IsSpace) {
		return fmt.Errorf("is no word of a sub-command")
	}
	return nil
}

func checkOption(s string) error {
	if s != "*" && (len(s) < 2 || s[0] != '-') || strings.ContainsFunc(s, unicode.IsSpace) {
		return fmt.Errorf("is neither an option with its dashes nor *")
	}
	return nil
}

func checkFolder(s string) error {
	if !filepath.IsAbs(s) && s != "~" && !strings.HasPrefix(s, "~/") {
		return fmt.Errorf("is neither absolute nor from ~/")
	}
	return nil
}

func checkHidden(s string) error {
	if strings.ContainsAny(s, `/\`) || s == "~" {
		return nil // load says which folder a relative one stands in
	}
	if _, err := path.Match(s, ""); err != nil {
		return fmt.Errorf("is no pattern: %w", err)
	}
	return nil
}

func checkEnvName(s string) error {
	if !envName.MatchString(s) {
		return fmt.Errorf("is no name of an environment variable; put the key into one and its name here")
	}
	return nil
}

// A checker collects every fault of a file.
type checker struct{ faults []fault }

// sorted returns the faults in the order of the text.
func (c *checker) sorted() []fault {
	slices.SortStableFunc(c.faults, func(a, b fault) int { return a.offset - b.offset })
	return c.faults
}

func (c *checker) add(field string, offset int, format string, args ...any) {
	c.faults = append(c.faults, fault{field, offset, fmt.Sprintf(format, args...)})
}

// check holds a value against a shape.
func (c *checker) check(n *node, s *shape, field string) {
	switch s.kind {
	case objectShape, tableShape:
		c.object(n, s, field)
	case listShape:
		if n.kind != arrayNode {
			c.wrongKind(n, "a list", field)
			return
		}
		if len(n.items) > maxList {
			c.add(field, n.offset, "%d entries; the limit is %d", len(n.items), maxList)
		}
		for i, item := range n.items {
			c.check(item, s.of, fmt.Sprintf("%s[%d]", field, i))
		}
	case enumShape:
		w, ok := n.scalar.(string)
		if !ok {
			c.wrongKind(n, "one of "+strings.Join(s.words, ", "), field)
		} else if !slices.Contains(s.words, w) {
			c.add(field, n.offset, "%s is none of %s%s", quote(w), strings.Join(s.words, ", "), meant(w, s.words))
		}
	case textShape:
		c.text(n, s, field)
	case flagShape:
		if _, ok := n.scalar.(bool); !ok {
			c.wrongKind(n, "true or false", field)
		}
	case wholeShape:
		num, ok := n.scalar.(json.Number)
		if v, err := strconv.ParseInt(num.String(), 10, 64); !ok {
			c.wrongKind(n, "a whole number", field)
		} else if err != nil || v < s.lo || v > s.hi {
			c.add(field, n.offset, "%.40s is no whole number between %d and %d", num, s.lo, s.hi)
		}
	case priceShape:
		num, ok := n.scalar.(json.Number)
		if v, err := num.Float64(); !ok {
			c.wrongKind(n, "a number", field)
		} else if err != nil || v < 0 {
			c.add(field, n.offset, "%.40s is less than 0 or too large", num)
		}
	default:
		c.add(field, n.offset, "the program does not know this field's shape") // the default is no
	}
}

func (c *checker) wrongKind(n *node, want, field string) {
	if n.kind == scalarNode && n.scalar == nil {
		c.add(field, n.offset, "null is no value; leave the field out")
		return
	}
	c.add(field, n.offset, "%s where %s should be", n.describe(), want)
}

func (c *checker) text(n *node, s *shape, field string) {
	v, ok := n.scalar.(string)
	if !ok {
		c.wrongKind(n, "a text", field)
		return
	}
	shown := quote(v)
	if s.secret {
		shown = "the text"
	}
	switch {
	case v == "":
		c.add(field, n.offset, "the text is empty")
	case len(v) > 4096:
		c.add(field, n.offset, "%d bytes; the limit is 4096", len(v))
	case strings.ContainsFunc(v, hiddenRune):
		c.add(field, n.offset, "%s holds a character that cannot be shown as it is", shown)
	case s.check != nil:
		if err := s.check(v); err != nil {
			c.add(field, n.offset, "%s %v", shown, err)
		}
	}
}

// hiddenRune finds what would make a text look like another: control characters and changes of direction.
func hiddenRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

func (c *checker) object(n *node, s *shape, field string) {
	if n.kind != objectNode {
		c.wrongKind(n, "an object", field)
		return
	}
	if s.kind == tableShape && len(n.members) > maxList {
		c.add(field, n.offset, "%d names; the limit is %d", len(n.members), maxList)
	}
	seen := map[string]bool{}
	for _, m := range n.members {
		inner := join(field, m.name)
		if seen[m.name] {
			c.add(inner, m.offset, "the field stands here a second time")
			continue
		}
		seen[m.name] = true
		if s.kind == tableShape {
			c.name(m, s, inner)
			c.check(m.value, s.of, inner)
			continue
		}
		if i := slices.IndexFunc(s.fields, func(f entry) bool { return f.name == m.name }); i >= 0 {
			c.check(m.value, s.fields[i].shape, inner)
			continue
		}
		c.unknown(m, s, field)
	}
	for _, f := range s.fields {
		if f.required && !seen[f.name] {
			c.add(field, n.offset, "the field %s is missing", f.name)
		}
	}
}

func (c *checker) name(m member, s *shape, field string) {
	switch {
	case m.name == "" || len(m.name) > 256 || strings.ContainsFunc(m.name, hiddenRune):
		c.add(field, m.offset, "the name is empty, too long or cannot be shown as it is")
	case s.key != "" && !regexp.MustCompile(s.key).MatchString(m.name):
		c.add(field, m.offset, "%s is no name here: lower-case letters, digits, -, _ and . are", quote(m.name))
	}
}

// unknown says which field could have been meant.
func (c *checker) unknown(m member, s *shape, field string) {
	var near []string
	for _, f := range s.fields {
		near = append(near, f.name)
	}
	hint := meant(m.name, near)
	if hint == "" {
		for _, r := range table {
			if r.field == m.name || strings.HasSuffix(r.field, "."+m.name) {
				hint = fmt.Sprintf("; did you mean %s?", r.field)
				break
			}
		}
	}
	c.add(join(field, m.name), m.offset, "there is no such field%s", hint)
}

func join(field, name string) string {
	if strings.ContainsFunc(name, hiddenRune) || strings.ContainsAny(name, ".[] ") || len(name) > 80 {
		name = quote(name)
	}
	if field == "" {
		return name
	}
	return field + "." + name
}

// quote returns a text as a message shows it.
func quote(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:59]) + "…"
	}
	return strconv.Quote(s)
}

// meant returns "; did you mean …?" for the nearest of the words, if one is near or begins with what was written.
func meant(word string, words []string) string {
	word = strings.ToLower(word)
	best, distance := "", 1+max(1, len(word)/3)
	for _, w := range words {
		d := edits(word, strings.ToLower(w))
		if len(word) >= 3 && strings.HasPrefix(w, word) {
			d = 1
		}
		if d < distance {
			best, distance = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// edits counts the letters to add, drop, change or swap with the next one (optimal string alignment).
func edits(a, b string) int {
	const limit = 64
	if len(a) > limit || len(b) > limit {
		return limit
	}
	var rows [3][limit + 1]int // of the letter before the last, of the last, and of the present one
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
