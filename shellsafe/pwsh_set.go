package shellsafe

import (
	"strings"
	"sync"
)

// A psSet is a set of words, made when it is first asked: a program that judges no line for Windows does
// not pay for the tables. It may be used by any number of goroutines at once.
type psSet struct {
	text string
	once sync.Once
	set  map[string]bool
}

// psSetOf returns the set of the words in a text.
func psSetOf(text string) *psSet { return &psSet{text: text} }

func (s *psSet) all() map[string]bool {
	s.once.Do(func() { s.set = psWords(s.text) })
	return s.set
}

func (s *psSet) has(word string) bool { return s.all()[word] }

func psWords(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(text) {
		m[w] = true
	}
	return m
}
