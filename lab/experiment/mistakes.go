package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake is one thing wrong in an experiment file: where (line and column from
// 1), what, and what is accepted instead.
type Mistake struct {
	Line, Column int
	Text         string
}

// Mistakes is the error of a file: everything wrong in it at once, in the order
// of the file, one line each as "file:line:column: what", and above several a
// line with their number.
type Mistakes struct {
	File string
	List []Mistake
}

func (m *Mistakes) Error() string {
	lines := make([]string, len(m.List))
	for i, x := range m.List {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", m.File, x.Line, x.Column, x.Text)
	}
	if len(lines) > 1 {
		lines = slices.Insert(lines, 0, fmt.Sprintf("%s: %d mistakes", m.File, len(m.List)))
	}
	return strings.Join(lines, "\n")
}

// sort puts the mistakes in the order of the file and drops repeated ones.
func (m *Mistakes) sort() {
	slices.SortStableFunc(m.List, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	m.List = slices.Compact(m.List)
}
