package http1

import "bytes"

// Response reads one response at a time on a client's connection. Reset it
// before the first one too.
type Response struct {
	Status    int   // of the final response; 1xx are read over
	KeepAlive bool  // the server lets the connection live on; known with the head
	BodyBytes int64 // without chunk framing

	framing
	isHead  bool // the request was HEAD: there is no body
	started bool
	pos     uint8 // in the status line
	status  uint16
}

// Reset prepares for the answer to the next request; head says that it is HEAD.
func (r *Response) Reset(head bool) {
	*r = Response{isHead: head}
}

// Started says that a byte of the answer (or of a 1xx before it) came since Reset.
func (r *Response) Started() bool { return r.started }

// Parse reads from b what belongs to this response: n bytes. It reads over 1xx
// responses. After an error, which is an [Error], every further call returns it
// again.
func (r *Response) Parse(b []byte) (n int, done bool, err error) {
	if len(b) > 0 {
		r.started = true
	}
	for n < len(b) && r.state < stDone {
		k := 0
		switch {
		case r.state == stStart:
			k, err = r.statusLine(b[n:])
		case r.state < stHeadEnd:
			k, err = r.fields(b[n:])
		default:
			k, err = r.bodyBytes(b[n:])
		}
		n += k
		if r.state == stHeadEnd && err == nil {
			r.headEnd()
		}
	}
	if r.state == stFailed {
		err = r.err
	}
	r.BodyBytes = r.body
	return n, r.state == stDone, err
}

// EOF says what the peer's FIN means: the end of a body that only it delimits
// (done), or an error.
func (r *Response) EOF() (done bool, err error) {
	switch {
	case r.state == stUntilClose:
		r.state = stDone
		return true, nil
	case r.state == stDone:
		return true, nil
	case r.state == stFailed:
		return false, r.err
	case !r.started:
		return false, r.fail(ErrNoAnswer)
	}
	return false, r.fail(ErrTruncated)
}

// headEnd follows a complete head, and a complete trailer section.
func (r *Response) headEnd() {
	switch {
	case r.has(flagTrailer):
		r.state = stDone
	case r.status < 200: // interim: the final response follows
		r.framing, r.pos, r.status = framing{}, 0, 0
	default:
		r.Status = int(r.status)
		r.KeepAlive = r.persistent()
		if r.has(flagNoBody) {
			r.state = stDone
			return
		}
		r.beginBody(stUntilClose)
		if r.state == stUntilClose {
			r.KeepAlive = false
		}
	}
}

// Positions in the status line "HTTP/1.x NNN reason".
const (
	posMinor  = 7
	posStatus = 9
	posAfter  = 12
	posReason = 13
	posLF     = 14
)

func (r *Response) statusLine(b []byte) (n int, err error) {
	b, over := r.within(b)
	if r.pos == 0 && len(b) > posReason && string(b[:posStatus]) == "HTTP/1.1 " {
		r.pos, n = posStatus, posStatus // what nearly every answer begins with
	}
	for n < len(b) && r.state == stStart {
		if r.pos == posReason {
			i := bytes.IndexByte(b[n:], '\n')
			if i < 0 {
				n = len(b)
				break
			}
			n += i + 1
			err = r.endStatusLine()
		} else {
			err = r.statusLineByte(b[n])
			n++
		}
		if err != nil {
			return n, err
		}
	}
	r.head += int32(n)
	if over && r.state == stStart {
		err = r.fail(ErrHeadTooLarge)
	}
	return n, err
}

func (r *Response) statusLineByte(c byte) error {
	const prefix = "HTTP/1.x "
	switch {
	case r.pos == posMinor:
		if c < '0' || c > '9' {
			return r.fail(ErrVersion)
		}
		if c == '0' {
			r.flags |= flagHTTP10
		}
	case r.pos < posStatus:
		if c != prefix[r.pos] {
			if r.pos == 5 && c >= '0' && c <= '9' {
				return r.fail(ErrVersion)
			}
			return r.fail(ErrStatusLine)
		}
	case r.pos < posAfter:
		if c < '0' || c > '9' {
			return r.fail(ErrStatusLine)
		}
		r.status = r.status*10 + uint16(c-'0')
	case r.pos == posAfter: // the reason phrase, and even its blank, may be missing
		switch c {
		case ' ':
		case '\r':
			r.pos = posLF
			return nil
		case '\n':
			return r.endStatusLine()
		default:
			return r.fail(ErrStatusLine)
		}
	case r.pos == posLF:
		if c != '\n' {
			return r.fail(ErrLineEnd)
		}
		return r.endStatusLine()
	}
	r.pos++
	return nil
}

// endStatusLine settles whether there is a body before any field is read.
func (r *Response) endStatusLine() error {
	switch {
	case r.status < 100:
		return r.fail(ErrStatusLine)
	case r.status == 101:
		return r.fail(ErrUpgrade)
	case r.status < 200 || r.status == 204 || r.status == 304 || r.isHead:
		r.flags |= flagNoBody
	}
	r.state = stLineStart
	return nil
}
