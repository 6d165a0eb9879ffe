package tools

import (
	"cmp"
	"slices"
	"strings"
)

// nearest returns the candidates that resemble the word, best first, at most n of them.
func nearest(word string, candidates []string, n int) []string {
	type scored struct {
		text  string
		score float64
	}
	const enough = 0.5 // half of the pairs of letters in common: below that, people see no likeness
	var found []scored
	for _, c := range candidates {
		if s := likeness(strings.ToLower(word), strings.ToLower(strings.TrimSuffix(c, "/"))); s >= enough {
			found = append(found, scored{c, s})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var best []string
	for i := 0; i < len(found) && i < n; i++ {
		best = append(best, found[i].text)
	}
	return best
}

// likeness is the Sørensen–Dice coefficient of the pairs of neighbouring bytes of two texts: 1 for
// the same pairs, 0 for none in common. White space counts for nothing.
func likeness(a, b string) float64 {
	a, b = strings.Join(strings.Fields(a), ""), strings.Join(strings.Fields(b), "")
	if a == b {
		return 1
	}
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	pairs := map[[2]byte]int{}
	for i := range len(a) - 1 {
		pairs[[2]byte{a[i], a[i+1]}]++
	}
	common := 0
	for i := range len(b) - 1 {
		if p := ([2]byte{b[i], b[i+1]}); pairs[p] > 0 {
			pairs[p]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b)-2)
}
