package lab

import (
	"io"
	"os"
	"strings"
	"testing"
)

func TestRedactor(t *testing.T) {
	const said = "url=jdbc:hunter2-hunter2 and hunter2\nhunt"
	for size := 1; size <= len(said); size++ {
		var log strings.Builder
		r := &redactor{w: &log, secrets: []string{"hunter2", "hunters"}}
		for rest := said; rest != ""; {
			n := min(size, len(rest))
			if written, err := io.WriteString(r, rest[:n]); err != nil || written != n {
				t.Fatalf("wrote %d of %d: %v", written, n, err)
			}
			rest = rest[n:]
		}
		r.flush()
		if got := log.String(); got != "url=jdbc:***-*** and ***\nhunt" {
			t.Errorf("pieces of %d: %q", size, got)
		}
	}
}

func TestLogShowsControlCharacters(t *testing.T) {
	for said, want := range map[string]string{
		"\x1b]0;title\a\x1b[2Jplain": `\x1b]0;title\x07\x1b[2Jplain`,
		"a\r\nb\rc\td\n":             "a\nb\\x0dc\td\n",
		"é 日本\x7f":                   `é 日本\x7f`,
		"":                           "",
	} {
		if got := string(visible([]byte(said))); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

// TestTierKeepsSecrets: neither the log nor the last words of a tier show what its
// environment or command line keeps secret.
func TestTierKeepsSecrets(t *testing.T) {
	var log strings.Builder
	tr, err := start(os.Args[0], launch{tier: "sut", log: &log, env: append(os.Environ(), "DB_PASSWORD=correct-horse"),
		argv: []string{"sh", "-c", `echo "using $DB_PASSWORD and $0"; exit 1`, "--dsn=postgres://lab:battery-staple@h/db"}})
	if err != nil {
		t.Fatal(err)
	}
	<-tr.gone
	for _, text := range []string{log.String(), tr.lastWords()} {
		if !strings.Contains(text, "using *** and --dsn=postgres://lab:***@h/db") {
			t.Errorf("%q", text)
		}
	}
}
