package lab

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"loomlab/lab/phrase"
)

// What differs from one request to the next would make every exception a kind of
// its own: ports, addresses and identities of objects, UUIDs, times and long numbers.
var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`), "*"},
	{regexp.MustCompile(`\b0x[0-9a-fA-F]+`), "0x*"},
	{regexp.MustCompile(`@[0-9a-f]{5,8}\b`), "@*"},
	{regexp.MustCompile(`:\d{1,5}\b`), ":*"},
	{regexp.MustCompile(`\b\d+(?:\.\d+)?( ?(?:ns|µs|us|ms|s|seconds|milliseconds)\b)`), "*$1"},
	{regexp.MustCompile(`\b\d{4,}\b`), "*"},
}

// normalise makes one message of those that differ only in what is volatile, and
// cuts it: a message may hold a whole document.
func normalise(message string) string {
	const most = 4 * traceMessage // bytes to look at
	if len(message) > most {
		message = message[:most]
	}
	message = strings.ToValidUTF8(message, "\uFFFD")
	for _, v := range volatile {
		message = v.pattern.ReplaceAllString(message, v.with)
	}
	if utf8.RuneCountInString(message) > traceMessage {
		message = string([]rune(message)[:traceMessage])
	}
	return phrase.Printable(message)
}
