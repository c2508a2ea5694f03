package lab

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"loomlab/lab/record"
)

// redactor writes a tier's output on with its secrets masked, and with control
// characters escaped that would move the cursor, clear or retitle the terminal of
// whoever reads the log. A secret may come in two pieces, so the end of a piece is
// held back while it could be the beginning of one; flush lets it go.
type redactor struct {
	w       io.Writer
	secrets []string

	mu   sync.Mutex
	held []byte
}

func (r *redactor) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := p
	if len(r.held) > 0 {
		text = append(r.held, p...)
	}
	for _, secret := range r.secrets {
		if bytes.Contains(text, []byte(secret)) {
			text = bytes.ReplaceAll(text, []byte(secret), []byte(record.Mask))
		}
	}
	keep := len(text) - r.unfinished(text)
	r.held = append([]byte(nil), text[keep:]...)
	if _, err := r.w.Write(visible(text[:keep])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// unfinished is the length of the longest end of text that begins a secret.
func (r *redactor) unfinished(text []byte) int {
	most := 0
	for _, secret := range r.secrets {
		for n := min(len(secret)-1, len(text)); n > most; n-- {
			if bytes.HasSuffix(text, []byte(secret[:n])) {
				most = n
			}
		}
	}
	return most
}

// visible escapes the control characters of ASCII, newline and tab apart: without
// ESC none of a terminal's sequences begins.
func visible(text []byte) []byte {
	isControl := func(b byte) bool { return b < ' ' && b != '\n' && b != '\t' || b == 0x7f }
	if !slices.ContainsFunc(text, isControl) {
		return text
	}
	var out []byte
	for i, b := range text {
		switch {
		case b == '\r' && i+1 < len(text) && text[i+1] == '\n': // how lines end elsewhere
		case isControl(b):
			out = fmt.Appendf(out, `\x%02x`, b)
		default:
			out = append(out, b)
		}
	}
	return out
}

func (r *redactor) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.w.Write(visible(r.held)) // a log never fails
	r.held = nil
}
