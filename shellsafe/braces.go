package shellsafe

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraces bounds what one word may become by brace expansion; beyond that it counts as unknown.
const maxBraces = 128

// braces counts the opening braces of a word's literals.
func braces(w *syntax.Word) (n int) {
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n
}

// expandBraces multiplies out the brace expansions of parts; ok is false beyond [maxBraces].
func expandBraces(parts []syntax.WordPart) (alts [][]syntax.WordPart, ok bool) {
	alts = [][]syntax.WordPart{nil}
	for _, p := range parts {
		br, isBrace := p.(*syntax.BraceExp)
		if !isBrace {
			for i := range alts {
				alts[i] = append(alts[i], p)
			}
			continue
		}
		choices, ok := braceChoices(br)
		if !ok || len(alts)*len(choices) > maxBraces {
			return nil, false
		}
		next := make([][]syntax.WordPart, 0, len(alts)*len(choices))
		for _, alt := range alts {
			for _, c := range choices {
				joined := make([]syntax.WordPart, 0, len(alt)+len(c))
				next = append(next, append(append(joined, alt...), c...))
			}
		}
		alts = next
	}
	return alts, true
}

func braceChoices(br *syntax.BraceExp) ([][]syntax.WordPart, bool) {
	if !br.Sequence {
		var all [][]syntax.WordPart
		for _, e := range br.Elems {
			sub, ok := expandBraces(e.Parts)
			if !ok || len(all)+len(sub) > maxBraces {
				return nil, false
			}
			all = append(all, sub...)
		}
		return all, true
	}
	if len(br.Elems) < 2 {
		return nil, false
	}
	from, to := br.Elems[0].Lit(), br.Elems[1].Lit()
	step := 1
	if len(br.Elems) > 2 {
		n, err := strconv.Atoi(br.Elems[2].Lit())
		if err != nil || n == 0 {
			return nil, false
		}
		step = max(n, -n)
	}
	lo, err1 := strconv.Atoi(from)
	hi, err2 := strconv.Atoi(to)
	number := err1 == nil && err2 == nil
	if !number {
		if len(from) != 1 || len(to) != 1 {
			return nil, false
		}
		lo, hi = int(from[0]), int(to[0])
	}
	if step < 0 || max(hi-lo, lo-hi) < 0 || max(hi-lo, lo-hi)/step >= maxBraces {
		return nil, false
	}
	var all [][]syntax.WordPart
	add := func(n int) {
		text := strconv.Itoa(n)
		if !number {
			text = string(rune(n))
		}
		all = append(all, []syntax.WordPart{&syntax.SglQuoted{Value: text}})
	}
	if lo <= hi {
		for n := lo; n <= hi; n += step {
			add(n)
		}
	} else {
		for n := lo; n >= hi; n -= step {
			add(n)
		}
	}
	return all, true
}
