package standin

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"loomlab/loadgen/http1"
)

// maxBody is the largest downstream answer, head included, that is passed on.
const maxBody = 1 << 20

var errTooLarge = errors.New("the downstream's answer is larger than 1 MiB")

// download collects one answer of the downstream from the pieces it comes in.
type download struct {
	frame http1.Response
	raw   []byte // head and body, as they came
}

func (d *download) reset() {
	d.frame.Reset(false)
	d.raw = d.raw[:0]
}

// feed takes from b what belongs to the answer, n bytes, and says whether it
// is complete.
func (d *download) feed(b []byte) (n int, done bool, err error) {
	n, done, err = d.frame.Parse(b)
	d.raw = append(d.raw, b[:n]...)
	if err == nil && len(d.raw) > maxBody {
		err = errTooLarge
	}
	return n, done, err
}

// eof settles an answer that the peer's close may have completed.
func (d *download) eof() error {
	if done, err := d.frame.EOF(); !done {
		if !d.frame.Started() {
			return io.EOF
		}
		if err != nil {
			return io.ErrUnexpectedEOF
		}
	}
	return nil
}

// body is the complete answer's body, valid until reset, or what a client
// library would throw.
func (d *download) body() ([]byte, error) {
	if d.frame.Status >= 400 {
		return nil, statusError(d.frame.Status)
	}
	head := bytes.Index(d.raw, []byte("\r\n\r\n")) + 4
	if head >= 4 && int64(len(d.raw)-head) == d.frame.BodyBytes {
		return d.raw[head:], nil
	}
	// Chunked, or interim answers before it: rare here, so the standard
	// library may undo it.
	r := bufio.NewReader(bytes.NewReader(d.raw))
	for {
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			return nil, err
		}
		if answer.StatusCode >= 200 {
			return io.ReadAll(answer.Body)
		}
	}
}

// session is the HTTP side of one client connection.
type session struct {
	http1.Request
	served int
}

// writeReply appends r to dst as the answer to the current request, and says
// whether the connection lives on. limit is Config.KeepAliveRequests.
func (s *session) writeReply(dst []byte, r reply, limit int) (out []byte, keepAlive bool) {
	s.served++
	keepAlive = s.KeepAlive && (limit == 0 || s.served < limit)
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(r.status), 10)
	dst = append(dst, ' ')
	dst = append(dst, http.StatusText(r.status)...)
	dst = append(dst, "\r\nContent-Type: text/plain;charset=UTF-8\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(r.body)), 10)
	switch {
	case !keepAlive:
		dst = append(dst, "\r\nConnection: close"...)
	case s.HTTP10:
		dst = append(dst, "\r\nConnection: keep-alive"...)
	}
	dst = append(dst, "\r\n\r\n"...)
	if !s.Head {
		dst = append(dst, r.body...)
	}
	return dst, keepAlive
}

// badRequest is the answer to bytes that are no request; the connection closes.
const badRequest = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
