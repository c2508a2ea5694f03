// Package protocoltest reads the messages of testdata/protocol, for the tests of
// whatever speaks HTTP. The format of the files is in testdata/protocol/README.md.
package protocoltest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Message is one file.
type Message struct {
	Name    string // without folder and extension
	Head    bool   // a response to HEAD
	FIN     bool   // the peer closes after Bytes
	Outcome string // as the file states it
	Bytes   []byte
}

// Read returns the messages of a folder, in the order of their names.
func Read(folder string) ([]Message, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no messages in %s", folder)
	}
	var messages []Message
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		m, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		m.Name = strings.TrimSuffix(filepath.Base(path), ".txt")
		messages = append(messages, m)
	}
	return messages, nil
}

func parse(text string) (Message, error) {
	var m Message
	head, body, _ := strings.Cut(text, "\n\n")
	for _, line := range strings.Split(head, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "#"), line == "":
		case line == "method: HEAD":
			m.Head = true
		case line == "close: fin":
			m.FIN = true
		case key == "outcome":
			m.Outcome = value
		default:
			return m, fmt.Errorf("unknown line %q", line)
		}
	}
	if m.Outcome == "" {
		return m, fmt.Errorf("no outcome")
	}
	for _, line := range strings.Split(strings.TrimSpace(body), "\n") {
		if line == "" {
			continue
		}
		times := 1
		if count, quoted, ok := strings.Cut(line, " * "); ok && !strings.HasPrefix(line, `"`) {
			n, err := strconv.Atoi(count)
			if err != nil {
				return m, err
			}
			times, line = n, quoted
		}
		s, err := strconv.Unquote(line)
		if err != nil {
			return m, fmt.Errorf("%w in %s", err, line)
		}
		m.Bytes = append(m.Bytes, strings.Repeat(s, times)...)
	}
	return m, nil
}
