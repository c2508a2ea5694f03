package experiment

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SplitWords splits a command line into words as a POSIX shell does (XCU 2.2), the
// inverse of [record.JoinWords]: single quotes keep everything, double quotes let a
// backslash escape $ ` " \ and newline, a backslash outside quotes keeps the next
// character, and backslash-newline disappears. Nothing is expanded and no operator
// is recognised: $HOME, *, |, ; and # are ordinary characters, since no shell runs.
// An unbalanced quote or a trailing backslash is an error with its column, in
// characters from 1.
func SplitWords(line string) ([]string, error) {
	s := splitter{line: line}
	for s.pos < len(line) {
		var err error
		switch c := line[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.endWord()
			s.pos++
		case '\'':
			err = s.singleQuoted()
		case '"':
			err = s.doubleQuoted()
		case '\\':
			err = s.escaped()
		default:
			s.add(c)
			s.pos++
		}
		if err != nil {
			return nil, err
		}
	}
	s.endWord()
	return s.words, nil
}

// splitter is the state of SplitWords. inWord tells an empty word ("") from none.
type splitter struct {
	line   string
	pos    int
	words  []string
	word   strings.Builder
	inWord bool
}

func (s *splitter) add(c byte) {
	s.word.WriteByte(c)
	s.inWord = true
}

func (s *splitter) endWord() {
	if s.inWord {
		s.words = append(s.words, s.word.String())
		s.word.Reset()
		s.inWord = false
	}
}

func (s *splitter) errorAt(pos int, what string) error {
	return fmt.Errorf("column %d: %s", utf8.RuneCountInString(s.line[:pos])+1, what)
}

func (s *splitter) singleQuoted() error {
	open := s.pos
	length := strings.IndexByte(s.line[open+1:], '\'')
	if length < 0 {
		return s.errorAt(open, "this single quote is never closed")
	}
	s.word.WriteString(s.line[open+1 : open+1+length])
	s.inWord = true
	s.pos = open + length + 2
	return nil
}

func (s *splitter) doubleQuoted() error {
	open := s.pos
	s.inWord = true
	for s.pos++; s.pos < len(s.line); s.pos++ {
		switch c := s.line[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\' && s.pos+1 < len(s.line) && strings.IndexByte("$`\"\\\n", s.line[s.pos+1]) >= 0:
			s.pos++
			if s.line[s.pos] != '\n' {
				s.add(s.line[s.pos])
			}
		default:
			s.add(c)
		}
	}
	return s.errorAt(open, "this double quote is never closed")
}

func (s *splitter) escaped() error {
	if s.pos+1 == len(s.line) {
		return s.errorAt(s.pos, "this backslash escapes nothing")
	}
	if c := s.line[s.pos+1]; c != '\n' {
		s.add(c)
	}
	s.pos += 2
	return nil
}
