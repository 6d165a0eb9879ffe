package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxFile is the size of the largest file that is read, in bytes.
const maxFile = 1 << 20

// A node is a JSON value that remembers where it stands.
type node struct {
	offset  int
	scalar  any // nil, bool, string or json.Number, where it is no collection
	kind    nodeKind
	members []member
	items   []*node
}

type nodeKind uint8

const (
	scalarNode nodeKind = iota
	objectNode
	arrayNode
)

type member struct {
	name   string
	offset int
	value  *node
}

// describe names what a value is, in the words of a message.
func (n *node) describe() string {
	switch n.kind {
	case objectNode:
		return "an object"
	case arrayNode:
		return "a list"
	case scalarNode:
	}
	switch n.scalar.(type) {
	case bool:
		return "true or false"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	}
	return "null"
}

// member returns the value of a field, by its path below n, or nil.
func (n *node) member(path string) *node {
	name, rest, more := strings.Cut(path, ".")
	for _, m := range n.members {
		if m.name == name {
			if !more {
				return m.value
			}
			return m.value.member(rest)
		}
	}
	return nil
}

// A fault is what is wrong with a file, and where.
type fault struct {
	field  string
	offset int
	reason string
}

// parse reads a file's text as JSON, as strictly as JSON is: one value, no comments, no byte order mark.
func parse(data []byte) (*node, *fault) {
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, &fault{reason: "the file begins with a byte order mark; save it as UTF-8 without one"}
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return nil, &fault{offset: i, reason: fmt.Sprintf("byte %#02x is not UTF-8", data[i])}
		}
		i += n
	}
	var whole json.RawMessage // looks at the syntax alone
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, syntaxFault(data, err)
	}
	b := builder{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	b.dec.UseNumber()
	n, err := b.value()
	if err != nil { // not for a text that json.Unmarshal took
		return nil, &fault{offset: int(b.dec.InputOffset()), reason: err.Error()}
	}
	return n, nil
}

// syntaxFault turns the decoder's words into what a user can act on.
func syntaxFault(data []byte, err error) *fault {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return &fault{reason: err.Error()}
	}
	at := int(syntax.Offset) - 1
	if at < 0 || at >= len(data) || strings.Contains(err.Error(), "unexpected end") {
		if len(bytes.TrimSpace(data)) == 0 {
			return &fault{reason: "the file is empty; {} sets nothing"}
		}
		return &fault{offset: len(data), reason: "the file ends in the middle of a value"}
	}
	reason := err.Error()
	switch c := data[at]; {
	case c == '/' || c == '#':
		reason = "JSON has no comments; take them out"
	case strings.Contains(reason, "after top-level value"):
		reason = "there is more after the end of the object"
	case (c == '}' || c == ']') && bytes.HasSuffix(bytes.TrimSpace(data[:at]), []byte(",")):
		reason = "a comma stands before the closing bracket; take it out"
	case c == '\'':
		reason = `texts stand in double quotes (")`
	case c < ' ':
		reason = "a line break or control character stands inside a text"
	}
	return &fault{offset: at, reason: reason}
}

// A builder makes nodes of a valid text's tokens.
type builder struct {
	data []byte
	dec  *json.Decoder
}

// next returns a token and where it begins.
func (b *builder) next() (json.Token, int, error) {
	at := int(b.dec.InputOffset())
	for at < len(b.data) && strings.IndexByte(" \t\r\n,:", b.data[at]) >= 0 {
		at++
	}
	tok, err := b.dec.Token()
	return tok, at, err
}

func (b *builder) value() (*node, error) {
	tok, at, err := b.next()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		return b.object(at)
	case json.Delim('['):
		return b.array(at)
	}
	return &node{offset: at, scalar: tok}, nil
}

func (b *builder) object(at int) (*node, error) {
	n := &node{offset: at, kind: objectNode}
	for b.dec.More() {
		tok, at, err := b.next()
		if err != nil {
			return nil, err
		}
		name, ok := tok.(string)
		if !ok {
			return nil, fmt.Errorf("%v stands where a name should", tok)
		}
		value, err := b.value()
		if err != nil {
			return nil, err
		}
		n.members = append(n.members, member{name, at, value})
	}
	_, _, err := b.next() // the closing brace
	return n, err
}

func (b *builder) array(at int) (*node, error) {
	n := &node{offset: at, kind: arrayNode}
	for b.dec.More() {
		item, err := b.value()
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, _, err := b.next() // the closing bracket
	return n, err
}

// position returns the line and the column, in characters, of an offset; both count from 1.
func position(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return line, column
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
