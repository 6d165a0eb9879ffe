package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// orderOf returns the names of a schema's properties, the required ones first: the order in which they
// are told to a model that gave another.
func orderOf(s *jsonschema.Schema) []string {
	names := slices.Clone(s.PropertyOrder)
	names = slices.DeleteFunc(names, func(n string) bool { return s.Properties[n] == nil })
	for n := range s.Properties {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		ra, rb := slices.Contains(s.Required, a), slices.Contains(s.Required, b)
		switch {
		case ra && !rb:
			return -1
		case rb && !ra:
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}

// A placed error knows where in an input it is.
type placed struct {
	path string
	text string
}

func (e *placed) Error() string {
	if e.path == "" {
		return e.text
	}
	return strings.TrimPrefix(e.path, ".") + ": " + e.text
}

func wrong(format string, args ...any) error { return &placed{text: fmt.Sprintf(format, args...)} }

// below puts a step in front of an error's path.
func below(step string, err error) error {
	var p *placed
	if errors.As(err, &p) {
		p.path = step + p.path
	}
	return err
}

// A scanner goes once over valid JSON and holds it against nodes.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) value(n *node) error {
	s.space()
	switch c := s.b[s.i]; c {
	case '{':
		if err := n.accepts(isObject); err != nil {
			return err
		}
		return s.object(n)
	case '[':
		if err := n.accepts(isArray); err != nil {
			return err
		}
		return s.array(n)
	case '"':
		if err := n.accepts(isString); err != nil {
			return err
		}
		return s.text(n)
	case 't', 'f', 'n':
		kind, length := isBoolean, len("true")
		switch c {
		case 'f':
			length = len("false")
		case 'n':
			kind = isNull
		}
		s.i += length
		if err := n.accepts(kind); err != nil {
			return err
		}
	default:
		return s.number(n)
	}
	if n.enum != nil {
		return n.noneOf("")
	}
	return nil
}

func (n *node) accepts(k kinds) error {
	if n.kinds == 0 || n.kinds&k != 0 {
		return nil
	}
	return wrong("%s was given where %s is due", k, n.kinds)
}

func (n *node) noneOf(given string) error {
	quoted := make([]string, len(n.enum))
	for i, e := range n.enum {
		quoted[i] = strconv.Quote(e)
	}
	if given != "" {
		given = strconv.Quote(clip(given)) + " "
	}
	return wrong("%sis none of %s", given, strings.Join(quoted, ", "))
}

// token steps over a string and returns it with its quotes.
func (s *scanner) token() []byte {
	start := s.i
	s.i++
	for s.b[s.i] != '"' {
		if s.b[s.i] == '\\' {
			s.i++
		}
		s.i++
	}
	s.i++
	return s.b[start:s.i]
}

// unquote returns the value of a token. Most have nothing to take off but the quotes.
func unquote(token []byte) []byte {
	inner := token[1 : len(token)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner
	}
	var v string
	if json.Unmarshal(token, &v) != nil { // it is valid
		return inner
	}
	return []byte(v)
}

func (s *scanner) text(n *node) error {
	token := s.token()
	if n.enum == nil && n.minLen == nil && n.maxLen == nil && n.pattern == nil {
		return nil
	}
	v := unquote(token)
	if n.enum != nil && !slices.Contains(n.enum, string(v)) {
		return n.noneOf(string(v))
	}
	length := utf8.RuneCount(v)
	switch {
	case n.minLen != nil && length == 0 && *n.minLen > 0:
		return wrong("is empty")
	case n.minLen != nil && length < *n.minLen:
		return wrong("has %d characters; at least %d are due", length, *n.minLen)
	case n.maxLen != nil && length > *n.maxLen:
		return wrong("has %d characters; the most is %d", length, *n.maxLen)
	case n.pattern != nil && !n.pattern.Match(v):
		return wrong("%q does not match %s", clip(string(v)), n.pattern)
	}
	return nil
}

func (s *scanner) number(n *node) error {
	start, whole := s.i, true
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '.' || c == 'e' || c == 'E':
			whole = false
		case c != '-' && c != '+' && (c < '0' || c > '9'):
			return s.judgeNumber(n, s.b[start:s.i], whole)
		}
		s.i++
	}
	return s.judgeNumber(n, s.b[start:s.i], whole)
}

func (s *scanner) judgeNumber(n *node, token []byte, whole bool) error {
	const surelyFits = 300 // digits
	bounded := n.min != nil || n.max != nil || n.above != nil || n.below != nil
	kind := isInteger
	if !whole || bounded || len(token) > surelyFits {
		v, err := strconv.ParseFloat(string(token), 64)
		if err != nil {
			return wrong("the number %s is too large", clip(string(token)))
		}
		if v != float64(int64(v)) && (v < 1<<53 && v > -1<<53) {
			kind = isNumber
		}
		if err := n.accepts(kind); err != nil {
			return err
		}
		switch {
		case n.min != nil && v < *n.min:
			return wrong("%s is less than %v", token, *n.min)
		case n.max != nil && v > *n.max:
			return wrong("%s is more than %v", token, *n.max)
		case n.above != nil && v <= *n.above:
			return wrong("%s is not more than %v", token, *n.above)
		case n.below != nil && v >= *n.below:
			return wrong("%s is not less than %v", token, *n.below)
		}
	} else if err := n.accepts(kind); err != nil {
		return err
	}
	if n.enum != nil {
		return n.noneOf(string(token))
	}
	return nil
}

func (s *scanner) array(n *node) error {
	items := n.items
	if items == nil {
		items = anything
	}
	count := 0
	s.i++
	for s.space(); s.b[s.i] != ']'; s.space() {
		if s.b[s.i] == ',' {
			s.i++
		}
		if err := s.value(items); err != nil {
			return below("["+strconv.Itoa(count)+"]", err)
		}
		count++
	}
	s.i++
	switch {
	case n.enum != nil:
		return n.noneOf("")
	case n.minItems != nil && count < *n.minItems:
		return wrong("has %d items; at least %d are due", count, *n.minItems)
	case n.maxIts != nil && count > *n.maxIts:
		return wrong("has %d items; the most is %d", count, *n.maxIts)
	}
	return nil
}

func (s *scanner) object(n *node) error {
	var few [8][]byte
	names := few[:0]
	var many map[string]bool
	s.i++
	for s.space(); s.b[s.i] != '}'; s.space() {
		if s.b[s.i] == ',' {
			s.i++
			s.space()
		}
		name := unquote(s.token())
		if many == nil && len(names) == len(few) {
			many = map[string]bool{}
			for _, seen := range names {
				many[string(seen)] = true
			}
		}
		if many[string(name)] || many == nil && slices.ContainsFunc(names, func(seen []byte) bool { return bytes.Equal(seen, name) }) {
			return below("."+clip(string(name)), wrong("is given twice"))
		}
		if many == nil {
			names = append(names, name)
		} else {
			many[string(name)] = true
		}
		s.space()
		s.i++ // the colon
		of, err := n.named(name)
		if err != nil {
			return err
		}
		if err := s.value(of); err != nil {
			return below("."+clip(string(name)), err)
		}
	}
	s.i++
	if n.enum != nil {
		return n.noneOf("")
	}
	for _, need := range n.required {
		if many[need] || many == nil && slices.ContainsFunc(names, func(seen []byte) bool { return string(seen) == need }) {
			continue
		}
		return below("."+need, wrong("is missing"))
	}
	return nil
}

// named returns the node for the value of a name.
func (n *node) named(name []byte) (*node, error) {
	if of := n.property(name); of != nil {
		return of, nil
	}
	if n.closed || len(n.props) > 0 {
		for _, p := range n.props {
			if strings.EqualFold(p.name, string(name)) { // encoding/json would take one for the other
				return nil, wrong("there is no %q; did you mean %q?", clip(string(name)), p.name)
			}
		}
	}
	if n.closed {
		known := make([]string, len(n.props))
		for i, p := range n.props {
			known[i] = p.name
		}
		if len(known) == 0 {
			return nil, wrong("there is no %q; nothing is due here", clip(string(name)))
		}
		return nil, wrong("there is no %q; what there is: %s", clip(string(name)), strings.Join(known, ", "))
	}
	if n.rest != nil {
		return n.rest, nil
	}
	return anything, nil
}
