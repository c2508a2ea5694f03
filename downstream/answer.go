package downstream

import (
	"fmt"
	"net/http"
	"strconv"
)

// form is how an answer depends on its request.
type form uint8

const (
	formKeep    form = iota // HTTP/1.1, the connection lives on
	formClose               // the connection ends: Connection: close
	formKeep10              // HTTP/1.0 that asked for keep-alive
	formClose10             // HTTP/1.0 otherwise
	forms
)

// answers are the bytes of one status, built once.
type answers struct {
	get  [forms][]byte
	head [forms][]byte // answers to HEAD: the same without the body
}

// bodyless says that a status never has a body (RFC 9110 6.4.1).
func bodyless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// newAnswers builds the answers of a status.
func newAnswers(status int, contentType string, body []byte, chunked bool) *answers {
	a := new(answers)
	for f := range forms {
		head := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
		payload := body
		switch {
		case bodyless(status):
			payload = nil
		case chunked && f < formKeep10:
			head = fmt.Appendf(head, "Content-Type: %s\r\nTransfer-Encoding: chunked\r\n", contentType)
			payload = chunk(body)
		default:
			head = fmt.Appendf(head, "Content-Type: %s\r\nContent-Length: %d\r\n", contentType, len(body))
		}
		switch f {
		case formClose, formClose10:
			head = append(head, "Connection: close\r\n"...)
		case formKeep10:
			head = append(head, "Connection: keep-alive\r\n"...)
		}
		head = append(head, "\r\n"...)
		a.head[f] = head
		a.get[f] = append(head[:len(head):len(head)], payload...)
	}
	return a
}

// pick returns the bytes for a form.
func (a *answers) pick(f form, head bool) []byte {
	if head {
		return a.head[f]
	}
	return a.get[f]
}

// chunkSize is the size of the chunks of a chunked body.
const chunkSize = 4096

func chunk(body []byte) []byte {
	var b []byte
	for len(body) > 0 {
		n := min(len(body), chunkSize)
		b = strconv.AppendInt(b, int64(n), 16)
		b = append(b, "\r\n"...)
		b = append(b, body[:n]...)
		b = append(b, "\r\n"...)
		body = body[n:]
	}
	return append(b, "0\r\n\r\n"...)
}

// malformedAnswer violates HTTP in its first line, so that no client can take it
// for an answer.
var malformedAnswer = []byte("HTTQ/banana OK\x00\r\nContent-Length: minus two\r\n\r\nok")

var continueAnswer = []byte("HTTP/1.1 100 Continue\r\n\r\n")

const plainText = "text/plain;charset=utf-8"
