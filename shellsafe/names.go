package shellsafe

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A nameSet holds what a word is not, whatever it becomes.
type nameSet uint8

const (
	// device: below /dev, where bash has its network devices, or below /inet, where gawk has them.
	device nameSet = 1 << iota
	// url: SCHEME://…, which some programs fetch.
	url
	// host: HOST:FILE, which some programs fetch.
	host

	// What holds of every part of a word, and so of what the shell splits it into.

	// doubled: holds two slashes in a row, which no URL that is fetched does without.
	doubled
	// devices: a part of it is a device.
	devices

	// file: none of these.
	file = device | url | host | doubled | devices
	// fromListing is for names that a listing of the working directory gives: a file may be called
	// a:b. That a directory is called `x ` to make what is below look like a device is not believed.
	fromListing = device | doubled | devices
)

// cannotBe returns what w, or any of the words that it becomes, is not.
func cannotBe(w word) nameSet {
	set := oneCannotBe(w)
	if w.split && !w.num {
		set &= doubled | devices
	}
	if set&doubled != 0 {
		set |= url
	}
	if set&devices != 0 {
		set |= device
	}
	return set
}

func oneCannotBe(w word) nameSet {
	switch {
	case w.num:
		return file
	case w.text == "" && !w.lit:
		return w.not
	}
	set := w.not &^ (device | devices) // the text decides
	if !startsLike(w, "/dev") && !startsLike(w, "/inet") {
		set |= device
	}
	if w.lit && !strings.Contains(w.text, "//") {
		set |= doubled
	}
	if w.lit && !strings.Contains(w.text, "/dev") && !strings.Contains(w.text, "/inet") {
		set |= devices
	}
	switch before, _, colon := strings.Cut(w.text, ":"); {
	case strings.Contains(before, "/"), !colon && w.lit:
		set |= url | host
	case colon && !isScheme(before):
		set |= url
	}
	return set
}

// isScheme reports whether s can stand before the colon of a URL, as RFC 3986 has it.
func isScheme(s string) bool {
	for i := range len(s) {
		letter := s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z'
		if !letter && (i == 0 || strings.IndexByte("0123456789+.-", s[i]) < 0) {
			return false
		}
	}
	return s != ""
}

// startsLike reports whether w may start with prefix.
func startsLike(w word, prefix string) bool {
	if w.lit {
		return strings.HasPrefix(w.text, prefix)
	}
	n := min(len(w.text), len(prefix))
	return w.text[:n] == prefix[:n]
}

// below returns what no path is that find gives for the starting point w.
func below(w word) nameSet {
	set := cannotBe(w)
	if w.lit && strings.Trim(w.text, "/.") == "" && strings.HasPrefix(w.text, "/") {
		set &^= device | devices
	}
	return set
}

// plainPattern reports whether w is written out, and so that no match of it holds two slashes.
func plainPattern(w *syntax.Word) bool {
	slash := false
	text := func(s string) bool {
		for i := range len(s) {
			if s[i] == '/' && slash {
				return false
			}
			slash = s[i] == '/'
		}
		return true
	}
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !text(p.Value) {
				return false
			}
		case *syntax.SglQuoted:
			if p.Dollar || !text(p.Value) {
				return false
			}
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if lit, ok := q.(*syntax.Lit); !ok || p.Dollar || !text(lit.Value) {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}
