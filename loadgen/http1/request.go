package http1

import "bytes"

// Request reads one request at a time on a server's connection. Reset it before
// the first one too.
type Request struct {
	KeepAlive       bool // the client lets the connection live on; known with the head
	HTTP10          bool
	Head            bool // the method is HEAD
	Expect100       bool // the client waits for 100 Continue before it sends its body
	UpgradeH2C      bool // the client offered to go on in HTTP/2
	TargetTruncated bool // the target was longer than Target shows
	HeadDone        bool
	BodyBytes       int64

	framing
	line      lineState
	pos       uint8 // in "HTTP/1."
	methodLen uint8
	targetLen uint16
	method    [16]byte
	target    [256]byte
}

// lineState is where a request line is between two bytes.
type lineState uint8

const (
	lineBlank   lineState = iota // empty lines before the request line
	lineMethod                   //
	lineTarget                   //
	lineVersion                  // inside "HTTP/1."
	lineMinor                    // the digit after it
	lineCR                       // the end of the line
	lineLF                       //
)

// Reset prepares for the next request on the connection.
func (r *Request) Reset() {
	r.KeepAlive, r.HTTP10, r.Head, r.Expect100, r.UpgradeH2C = false, false, false, false, false
	r.TargetTruncated, r.HeadDone, r.BodyBytes = false, false, 0
	r.framing = framing{flags: flagRequest}
	r.line, r.pos, r.methodLen, r.targetLen = lineBlank, 0, 0, 0
}

// Method returns the method, valid until Reset.
func (r *Request) Method() []byte { return r.method[:r.methodLen] }

// Target returns the first 256 bytes of the target, valid until Reset.
func (r *Request) Target() []byte { return r.target[:r.targetLen] }

// Idle says that no byte of a request came since Reset (empty lines apart).
func (r *Request) Idle() bool { return r.state == stStart && r.line == lineBlank }

// Parse reads from b what belongs to this request: n bytes. headDone stays true
// once the head is complete, even when the body (read by the same call as far
// as it is there) is not; done says that the whole request is. After an error,
// which is an [Error], every further call returns it again.
func (r *Request) Parse(b []byte) (n int, headDone, done bool, err error) {
	for n < len(b) && r.state < stDone {
		k := 0
		switch {
		case r.state == stStart:
			k, err = r.requestLine(b[n:])
		case r.state < stHeadEnd:
			k, err = r.fields(b[n:])
		default:
			k, err = r.bodyBytes(b[n:])
		}
		n += k
		if r.state == stHeadEnd && err == nil {
			err = r.headEnd()
		}
	}
	if r.state == stFailed {
		err = r.err
	}
	r.BodyBytes = r.body
	return n, r.HeadDone, r.state == stDone, err
}

// headEnd follows a complete head, and a complete trailer section.
func (r *Request) headEnd() error {
	if r.has(flagTrailer) {
		r.state = stDone
		return nil
	}
	r.HeadDone = true
	r.HTTP10 = r.has(flagHTTP10)
	r.KeepAlive = r.persistent()
	r.Head = string(r.Method()) == "HEAD"
	r.Expect100 = r.has(flagExpect100) && !r.HTTP10
	r.UpgradeH2C = r.has(flagUpgradeH2C)
	if r.has(flagTransfer) && !r.has(flagChunked) {
		return r.fail(ErrTransferCoding) // RFC 9112 6.3: its end cannot be known
	}
	r.beginBody(stDone)
	return nil
}

func (r *Request) requestLine(b []byte) (n int, err error) {
	b, over := r.within(b)
	for n < len(b) && err == nil && r.state == stStart {
		if r.line == lineTarget {
			k := 0
			k, err = r.targetBytes(b[n:])
			n += k
			continue
		}
		err = r.requestLineByte(b[n])
		n++
	}
	r.head += int32(n)
	if err == nil && over && r.state == stStart {
		err = r.fail(ErrHeadTooLarge)
	}
	return n, err
}

func (r *Request) requestLineByte(c byte) error {
	switch r.line {
	case lineBlank:
		if c == '\r' || c == '\n' { // RFC 9112 2.2 wants them ignored
			return nil
		}
		r.line = lineMethod
		return r.methodByte(c)
	case lineMethod:
		return r.methodByte(c)
	case lineVersion:
		const version = "HTTP/1."
		if c != version[r.pos] {
			if r.pos >= 5 {
				return r.fail(ErrVersion)
			}
			return r.fail(ErrRequestLine)
		}
		if r.pos++; int(r.pos) == len(version) {
			r.line = lineMinor
		}
	case lineMinor:
		if c < '0' || c > '9' {
			return r.fail(ErrVersion)
		}
		if c == '0' {
			r.flags |= flagHTTP10
		}
		r.line = lineCR
	case lineCR:
		switch c {
		case '\r':
			r.line = lineLF
		case '\n':
			r.state = stLineStart
		default:
			return r.fail(ErrRequestLine)
		}
	case lineLF:
		if c != '\n' {
			return r.fail(ErrLineEnd)
		}
		r.state = stLineStart
	}
	return nil
}

func (r *Request) methodByte(c byte) error {
	if c == ' ' && r.methodLen > 0 {
		r.line = lineTarget
		return nil
	}
	if tokenByte[c] == 0 || int(r.methodLen) == len(r.method) {
		return r.fail(ErrRequestLine)
	}
	r.method[r.methodLen] = c // methods are case-sensitive
	r.methodLen++
	return nil
}

func (r *Request) targetBytes(b []byte) (n int, err error) {
	part, ended := b, false
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		part, ended = b[:i], true
	}
	for i, c := range part {
		if c <= ' ' || c == 0x7f {
			return i, r.fail(ErrRequestLine)
		}
	}
	kept := copy(r.target[r.targetLen:], part)
	r.targetLen += uint16(kept)
	if kept < len(part) {
		r.TargetTruncated = true
	}
	if !ended {
		return len(part), nil
	}
	if r.targetLen == 0 {
		return len(part), r.fail(ErrRequestLine)
	}
	r.line = lineVersion
	return len(part) + 1, nil
}
