package loadgen

import (
	"fmt"
	"regexp"
	"strings"

	"loomlab/loadgen/http1"
)

// examples keeps the first error of each class and the first body of each
// status that was not 2xx: what a person needs to know beside the counts.
type examples struct {
	byClass  map[string]string
	statuses map[int]bool
}

const exampleLength = 120

var anyPort = regexp.MustCompile(`:\d{2,5}\b`)

// note keeps err if it is the first of its class; ports are masked, because they
// differ each time and say nothing.
func (e *examples) note(class string, err error) {
	if _, ok := e.byClass[class]; ok || err == nil {
		return
	}
	if e.byClass == nil {
		e.byClass = map[string]string{}
	}
	e.byClass[class] = shorten(anyPort.ReplaceAllString(err.Error(), ":*"))
}

// body keeps the end of an answer that was not 2xx, if it is the first of its
// status. b is what arrived last of it, so a long body is not seen whole.
func (e *examples) body(r *http1.Response, b []byte) {
	if e.statuses[r.Status] {
		return
	}
	if e.statuses == nil {
		e.statuses = map[int]bool{}
	}
	e.statuses[r.Status] = true
	if body := b[len(b)-int(min(r.BodyBytes, int64(len(b)))):]; len(body) > 0 {
		e.note(fmt.Sprintf("status %d", r.Status), fmt.Errorf("%s", body))
	}
}

// shorten makes one printable line.
func shorten(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\ufffd' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > exampleLength {
		s = string(r[:exampleLength]) + "…"
	}
	return s
}

// merge keeps what other saw and e did not.
func (e *examples) merge(other *examples) {
	for class, text := range other.byClass {
		e.note(class, fmt.Errorf("%s", text))
	}
}
