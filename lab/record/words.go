package record

import (
	"regexp"
	"strings"
)

// JoinWords writes words as one line that a shell splits into the same words
// again. Those that need it are quoted.
func JoinWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = QuoteWord(w)
	}
	return strings.Join(quoted, " ")
}

// bareWord has only characters that no shell reads anything into. Braces are not
// among them: bash makes two words of {a,b}.
var bareWord = regexp.MustCompile(`^[-+A-Za-z0-9_./:=,@%]+$`)

// QuoteWord makes one word of s for a shell: s itself where it can stand bare, or
// else in single quotes.
func QuoteWord(s string) string {
	if bareWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
