package experiment

import (
	"reflect"
	"strings"
	"testing"

	"loomlab/lab/record"
)

func TestSplitWords(t *testing.T) {
	for _, tc := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{" \t\n", nil},
		{"a b  c", []string{"a", "b", "c"}},
		{`'a b' "c d"`, []string{"a b", "c d"}},
		{`a'b'"c"d`, []string{"abcd"}},
		{`'' ""`, []string{"", ""}},
		{`a\ b \'`, []string{"a b", "'"}},
		{`'a\b'`, []string{`a\b`}},
		{`"a\b\"\\\$\` + "`" + `"`, []string{`a\b"\$` + "`"}},
		{"a\\\nb \"c\\\nd\" e", []string{"ab", "cd", "e"}},
		{"\\\n", nil},
		{`$HOME * | ; # ~ a=b`, []string{"$HOME", "*", "|", ";", "#", "~", "a=b"}},
		{`srv --port {{port}}`, []string{"srv", "--port", "{{port}}"}},
		{`"ü" 日本`, []string{"ü", "日本"}},
	} {
		got, err := SplitWords(tc.line)
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("SplitWords(%q) = %q, %v; want %q", tc.line, got, err, tc.want)
		}
	}
}

func TestSplitWordsErrors(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{`ab 'c d`, "column 4: this single quote is never closed"},
		{`ü "c`, "column 3: this double quote is never closed"},
		{`"a\"`, "column 1: this double quote is never closed"},
		{`ab\`, "column 3: this backslash escapes nothing"},
	} {
		if _, err := SplitWords(tc.line); err == nil || err.Error() != tc.want {
			t.Errorf("SplitWords(%q): %v; want %s", tc.line, err, tc.want)
		}
	}
}

// Every word survives quoting and splitting again, whatever is in it.
func TestWordsSurviveJoining(t *testing.T) {
	words := []string{"", "'", `"`, `\`, "a b", "it's", "{{port}}", "{a,b}", "$HOME", "--x=1", "ü 日本", "\n", "''", `'"\`}
	for c := rune(1); c < 0x180; c++ {
		words = append(words, string(c), "a"+string(c)+"b")
	}
	again, err := SplitWords(record.JoinWords(words))
	if err != nil || !reflect.DeepEqual(again, words) {
		t.Errorf("%q became %q, %v", words, again, err)
	}
	for _, w := range words {
		if again, err := SplitWords(record.QuoteWord(w)); err != nil || len(again) != 1 || again[0] != w {
			t.Errorf("%q became %q, %v", w, again, err)
		}
	}
}

// FuzzSplitWords holds that words survive quoting and splitting again, and that
// a line without quotes, escapes and odd blanks splits as strings.Fields does.
func FuzzSplitWords(f *testing.F) {
	for _, line := range []string{"a b", `'a b' "c\"d" \e`, `"`, "a\\\n b", "'' x"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := SplitWords(line)
		if err != nil {
			return
		}
		again, err := SplitWords(record.JoinWords(words))
		if err != nil || !reflect.DeepEqual(again, words) {
			t.Errorf("%q became %q, %v", words, again, err)
		}
		ascii := strings.IndexFunc(line, func(r rune) bool { return r > 126 || r < ' ' }) < 0
		if ascii && !strings.ContainsAny(line, `'"\`) && len(words)+len(strings.Fields(line)) > 0 && !reflect.DeepEqual(words, strings.Fields(line)) {
			t.Errorf("SplitWords(%q) = %q", line, words)
		}
	})
}
