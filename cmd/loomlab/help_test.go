package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"loomlab/lab/experiment"
)

// TestHelpOfEachCommand: every command that users see says what it does, shows
// examples that its own flags accept, and what its exit status means, in lines
// that fit a page.
func TestHelpOfEachCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, command := range newApp(strings.NewReader(""), io.Discard, io.Discard).Commands {
		if command.Hidden {
			continue
		}
		var stdout bytes.Buffer
		if status := run(context.Background(), []string{"help", command.Name}, strings.NewReader(""), &stdout, io.Discard); status != exitOK {
			t.Errorf("help %s: exit status %d", command.Name, status)
		}
		page := stdout.String()
		for _, head := range []string{"NAME", "USAGE", "DESCRIPTION", "FLAGS", "EXAMPLES", "EXIT STATUS"} {
			if !strings.Contains(page, "\n"+head+"\n") && !strings.HasPrefix(page, head+"\n") {
				t.Errorf("help %s: no section %s in\n%s", command.Name, head, page)
			}
		}
		for line := range strings.Lines(page) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > maxHelpWidth {
				t.Errorf("help %s: %d columns: %s", command.Name, n, line)
			}
		}
		checkExamples(t, page)
	}
}

func checkExamples(t *testing.T, page string) {
	t.Helper()
	_, examples, _ := strings.Cut(page, "\nEXAMPLES\n")
	examples, _, _ = strings.Cut(examples, "\n\n")
	for line := range strings.Lines(examples) {
		example, _, _ := strings.Cut(strings.TrimSpace(cutComment(strings.TrimSpace(line))), " > ")
		example = strings.TrimSuffix(strings.TrimPrefix(example, "source <("), ")")
		words, err := experiment.SplitWords(example)
		if err != nil || len(words) == 0 {
			t.Errorf("example %q: %v", line, err)
			continue
		}
		if words[0] == "loomlab" {
			checkReadmeCommand(t, example, words[1:])
		}
	}
}

func TestHelpWraps(t *testing.T) {
	p := &page{width: 30}
	p.item(2, "--delay D", 12, "from the complete request to the first byte")
	p.item(2, "--idle-timeout D", 12, "close")
	p.prose("one two three four five six seven\n\n  laid   out")
	want := "  --delay D   from the\n" +
		"              complete request\n" +
		"              to the first\n" +
		"              byte\n" +
		"  --idle-timeout D\n" +
		"              close\n" +
		"  one two three four five six\n" +
		"  seven\n" +
		"\n" +
		"    laid   out\n"
	if got := p.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFlagText: a default stands beside its flag once.
func TestFlagText(t *testing.T) {
	want := map[string]string{
		"--backlog N":         "listen backlog (default 0: the system's maximum)",
		"--delay DURATION":    "(default: 100ms)",
		"--max-idle N":        "(default 0: any number)",
		"--chunked":           "send the body chunked",
		"--engine LOOP":       "event LOOP: auto, epoll or portable (default: auto)",
		"--coalesce DURATION": "(default: 200µs)",
	}
	for _, f := range downstreamCommand().Flags {
		if text, ok := want[flagLabel(f)]; ok {
			delete(want, flagLabel(f))
			if !strings.Contains(flagText(f), text) {
				t.Errorf("%s: %q, want %q in it", flagLabel(f), flagText(f), text)
			}
		}
		if regexp.MustCompile(`default: (0|0s|false|none)\b`).MatchString(flagText(f)) {
			t.Errorf("%s: %q", flagLabel(f), flagText(f))
		}
	}
	for label := range want {
		t.Errorf("no flag %s", label)
	}
}
