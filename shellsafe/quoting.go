package shellsafe

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// plainQuoted reports whether a single-quoted text means the same when its quotes are ordinary
// characters, as they are within "${x:-…}".
func plainQuoted(p *syntax.SglQuoted) bool {
	for i := 0; i < len(p.Value); i++ {
		switch p.Value[i] {
		case '$', '`', '"', '}', '\'':
			return false
		case '\\':
			i++
			if !p.Dollar || i >= len(p.Value) || strings.IndexByte("abefnrtv0", p.Value[i]) < 0 {
				return false
			}
		}
	}
	return true
}

// unescapeDouble decodes the backslashes within double quotes.
func unescapeDouble(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '\n':
				i++
				continue
			case '$', '`', '"', '\\':
				i++
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// decodeANSI decodes the escapes of $'…'. As in bash, a NUL ends the value.
func decodeANSI(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		if j := strings.IndexByte(`abeEfnrtv\'"?`, s[i]); j >= 0 {
			out = append(out, "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[j])
			continue
		}
		var n uint64
		var used int
		switch c := s[i]; c {
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n, used = digits(s[i:], 8, 3)
			n &= 0xff
			i += used - 1
		case 'x':
			n, used = digits(s[i+1:], 16, 2)
			i += used
		case 'u', 'U':
			width := 4
			if c == 'U' {
				width = 8
			}
			n, used = digits(s[i+1:], 16, width)
			i += used
			if used > 0 && n >= utf8.RuneSelf {
				out = utf8.AppendRune(out, rune(n&0x1fffff))
				continue
			}
		case 'c':
			if i+1 < len(s) {
				i++
				n, used = uint64(s[i])&0x1f, 1
			}
		}
		switch {
		case used == 0:
			out = append(out, '\\', s[i])
		case n == 0:
			return string(out)
		default:
			out = append(out, byte(n))
		}
	}
	return string(out)
}

// digits reads up to width digits of the base and returns their value and number.
func digits(s string, base, width int) (n uint64, used int) {
	for used < width && used < len(s) {
		d, err := strconv.ParseUint(s[used:used+1], base, 8)
		if err != nil {
			break
		}
		n = n*uint64(base) + d
		used++
	}
	return n, used
}

// programTexts returns the texts that a word which is a program for a filter (sed, awk) may have: with
// a digit in place of every expansion that is known to be a number and with the value of a variable
// that is known, and, since an assignment may not have happened, without any of them.
func (a *analyzer) programTexts(w word) []string {
	if w.lit {
		return []string{w.text}
	}
	if w.src == nil || w.split || w.glob {
		return nil
	}
	a.mute++
	defer func() { a.mute-- }()
	var with, without []byte
	known := 0
	var walk func(parts []syntax.WordPart, quoted bool) bool
	walk = func(parts []syntax.WordPart, quoted bool) bool {
		for i, p := range parts {
			var b wordBuilder
			switch q := p.(type) {
			case *syntax.DblQuoted:
				if q.Dollar || !walk(q.Parts, true) {
					return false
				}
				continue
			case *syntax.Lit:
				if quoted {
					b.add(unescapeDouble(q.Value))
				} else {
					a.litPart(&b, q.Value, i == 0, i == len(parts)-1)
				}
			default:
				if quoted {
					a.expansion(&b, p, true)
				} else {
					a.part(&b, p, i == 0, i == len(parts)-1)
				}
			}
			switch x := b.done(); {
			case x.lit:
				with = append(with, x.text...)
				without = append(without, x.text...)
			case x.num && !x.split:
				with = append(with, '1')
			case x.viaVar && !b.unknown && !x.split:
				known++
				with = append(with, x.text...)
			default:
				return false
			}
		}
		return true
	}
	if !walk(w.src.Parts, false) || known > 1 {
		return nil
	}
	return []string{string(with), string(without)}
}
