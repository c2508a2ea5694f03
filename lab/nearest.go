package lab

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

// didYouMean is the tail of an error about an unknown word: a suggestion if one
// is close, or nothing.
func didYouMean(word string, known []string) string {
	if n := nearest(word, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}
