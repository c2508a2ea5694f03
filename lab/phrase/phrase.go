// Package phrase writes numbers and lists as the lab's sentences have them, so that
// a verdict, a claim and a message about a mistake write one thing in one way.
//
// Figures of arithmetic have four digits that count ([Number]), figures of a
// measurement three ([Number3]); what came from a child process goes through
// [Printable] before a terminal sees it.
package phrase

import (
	"fmt"
	"strconv"
	"strings"
)

// Number writes a figure of an arithmetic text: four digits that count, no
// exponent, and no zeros that say nothing.
func Number(f float64) string {
	if f >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 4, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Number3 writes three digits that count, for figures of a measurement.
func Number3(v float64) string {
	if v >= 1000 {
		return Number(v)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return "n/a"
	}
	return Number(rounded)
}

// Millis writes seconds as milliseconds.
func Millis(seconds float64) string { return Number3(seconds*1e3) + " ms" }

// Percent writes a share.
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 0, 64) + " %" }

// Cores writes a number of cores.
func Cores(n float64) string {
	if n == 1 {
		return "1 core"
	}
	return Number(n) + " cores"
}

// Count writes so many things: "1 fork", "2 forks".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Ints lists whole numbers: "1, 2, 3".
func Ints(n []int) string {
	s := make([]string, len(n))
	for i, v := range n {
		s[i] = fmt.Sprint(v)
	}
	return strings.Join(s, ", ")
}

// FirstLine is what fits into a message of what a program said: its first line,
// of at most 200 bytes.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s[:min(len(s), 200)]
}

// Printable escapes what a terminal would act on.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return '\uFFFD'
	}, s)
}

// MiB writes bytes as whole MiB.
func MiB(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// nearest returns the known word that word was probably meant to be, or "" when
// none is close: at most one edit in three letters.
func nearest(word string, known []string) string {
	best, bestDistance := "", len(word)/3+2
	for _, k := range known {
		if d := editDistance(word, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// editDistance is Levenshtein's: insertions, deletions and substitutions of bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// DidYouMean is the tail of an error about an unknown word: a suggestion if one
// is close, or nothing.
func DidYouMean(word string, known []string) string {
	if n := nearest(word, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}
