package http1

import "bytes"

// state is where a message is between two bytes. The order matters: start line,
// then fields, then body.
type state uint8

const (
	stStart       state = iota // the start line; its owner has a position of its own
	stLineStart                // first byte of a field line, of a fold or of the empty line
	stName                     // inside a field name
	stNameBlank                // blanks between name and colon
	stSkip                     // inside a value that does not matter
	stLength                   // inside a Content-Length
	stList                     // inside a comma-separated list of tokens
	stEndLF                    // LF of the empty line
	stHeadEnd                  // the head is complete; its owner decides about the body
	stBody                     // Content-Length bytes of body
	stUntilClose               // body that ends with the connection
	stChunkSize                // first hex digit of a chunk size
	stChunkDigits              // further ones
	stChunkBlank               // blanks after the size
	stChunkExt                 // chunk extensions
	stChunkQuoted              // a quoted extension value
	stChunkEscape              // after a backslash in it
	stChunkLF                  // LF of the size line
	stChunkData                // the data
	stChunkDataCR              // its CR
	stChunkDataLF              // its LF
	stDone
	stFailed
)

// field is a header field that framing depends on.
type field uint8

const (
	fieldNone field = iota
	fieldOther
	fieldLength
	fieldTransfer
	fieldConnection
	fieldExpect
	fieldUpgrade
)

type flags uint16

const (
	flagHTTP10  flags = 1 << iota
	flagRequest       // strict where the RFC tells servers to be
	flagNoBody        // the body is absent whatever the fields say
	flagTrailer       // the fields are trailers: none of them matters
	flagClose
	flagKeepAlive
	flagLengthSeen  // a Content-Length is known
	flagDigits      // inside the digits of a Content-Length
	flagAfterDigits // blanks after them
	flagTransfer    // a Transfer-Encoding was given
	flagChunkedSeen // chunked was one of its codings
	flagChunked     // chunked is the last one
	flagBlankInside // a blank after the start of a list token
	flagExpect100
	flagUpgradeH2C
)

// framing is what responses and requests share: fields and body.
type framing struct {
	length int64 // declared by Content-Length
	number int64 // the length or chunk size being read
	left   int64 // body or chunk bytes still to come
	body   int64 // body bytes so far, without chunk framing
	head   int32 // bytes of this head, trailer section or chunk-size line
	flags  flags
	state  state
	field  field
	err    Error
	tokLen uint8 // len(tok)+1: longer than any token that matters
	tok    [18]byte
}

func (f *framing) has(x flags) bool { return f.flags&x != 0 }

func (f *framing) fail(e Error) error {
	f.state, f.err = stFailed, e
	return e
}

// tokenByte maps the bytes of an RFC 9110 token to lower case, others to 0.
var tokenByte = func() (t [256]byte) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz") {
		t[c] = c
	}
	for c := byte('A'); c <= 'Z'; c++ {
		t[c] = c + 'a' - 'A'
	}
	return t
}()

// within cuts b to what the head may still take. over says that more was there.
func (f *framing) within(b []byte) (cut []byte, over bool) {
	if room := MaxHead - int(f.head); len(b) > room {
		return b[:room], true
	}
	return b, false
}

// fields reads field lines up to and including the empty line, after which the
// state is stHeadEnd.
func (f *framing) fields(b []byte) (n int, err error) {
	b, over := f.within(b)
	n, err = f.fieldLines(b)
	f.head += int32(n)
	if err == nil && over && f.state != stHeadEnd {
		err = f.fail(ErrHeadTooLarge)
	}
	return n, err
}

func (f *framing) fieldLines(b []byte) (n int, err error) {
	for n < len(b) {
		switch f.state {
		case stLineStart:
			if err := f.lineStart(b[n]); err != nil {
				return n, err
			}
			if f.state != stName {
				n++
			}
		case stName:
			k, err := f.name(b[n:])
			n += k
			if err != nil {
				return n, err
			}
		case stNameBlank:
			if c := b[n]; c == ':' {
				f.beginValue()
			} else if c != ' ' && c != '\t' {
				return n, f.fail(ErrFieldName)
			}
			n++
		case stSkip:
			i := bytes.IndexByte(b[n:], '\n')
			if i < 0 {
				return len(b), nil
			}
			n += i + 1
			f.state = stLineStart
		case stLength:
			if err := f.lengthByte(b[n]); err != nil {
				return n, err
			}
			n++
		case stList:
			if err := f.listByte(b[n]); err != nil {
				return n, err
			}
			n++
		case stEndLF:
			if b[n] != '\n' {
				return n, f.fail(ErrLineEnd)
			}
			n++
			f.state = stHeadEnd
		default: // stHeadEnd
			return n, nil
		}
	}
	return n, nil
}

// lineStart decides what the first byte of a line begins. It leaves a name's
// first byte to the name.
func (f *framing) lineStart(c byte) error {
	if c == ' ' || c == '\t' { // obs-fold: the value goes on
		switch f.field {
		case fieldNone:
			return f.fail(ErrFold)
		case fieldOther:
			f.state = stSkip
		case fieldLength:
			f.state = stLength
			return f.lengthByte(c)
		default:
			f.state = stList
			return f.listByte(c)
		}
		return nil
	}
	if err := f.endField(); err != nil {
		return err
	}
	switch c {
	case '\r':
		f.state = stEndLF
	case '\n':
		f.state = stHeadEnd
	default:
		f.state, f.tokLen = stName, 0
	}
	return nil
}

func (f *framing) name(b []byte) (n int, err error) {
	length := int(f.tokLen) // in locals: this loop is the parser's hottest
	for n < len(b) {
		lower := tokenByte[b[n]]
		if lower == 0 {
			break
		}
		if length < len(f.tok) {
			f.tok[length] = lower
		}
		length++
		n++
	}
	f.tokLen = uint8(min(length, len(f.tok)+1))
	if n == len(b) {
		return n, nil
	}
	switch c := b[n]; {
	case length == 0:
	case c == ':':
		f.beginValue()
		return n + 1, nil
	case (c == ' ' || c == '\t') && !f.has(flagRequest):
		f.state = stNameBlank
		return n + 1, nil
	}
	return n, f.fail(ErrFieldName)
}

// token appends one lower-case byte to the token being read.
func (f *framing) token(c byte) {
	if int(f.tokLen) < len(f.tok) {
		f.tok[f.tokLen] = c
		f.tokLen++
	} else {
		f.tokLen = uint8(len(f.tok)) + 1
	}
}

// is compares the token being read.
func (f *framing) is(s string) bool {
	return int(f.tokLen) == len(s) && string(f.tok[:len(s)]) == s
}

// beginValue recognises the name that was read.
func (f *framing) beginValue() {
	f.field, f.state = f.known(), stList
	f.tokLen = 0
	f.flags &^= flagBlankInside
	switch f.field {
	case fieldOther:
		f.state = stSkip
	case fieldLength:
		f.state, f.number = stLength, 0
		f.flags &^= flagDigits | flagAfterDigits
	}
}

func (f *framing) known() field {
	if f.has(flagTrailer) || f.tokLen < uint8(len("expect")) || int(f.tokLen) > len(f.tok) {
		return fieldOther
	}
	switch {
	case f.is("connection"):
		return fieldConnection
	case f.is("content-length") && !f.has(flagNoBody):
		return fieldLength
	case f.is("transfer-encoding") && !f.has(flagNoBody):
		return fieldTransfer
	case f.has(flagRequest) && f.is("expect"):
		return fieldExpect
	case f.has(flagRequest) && f.is("upgrade"):
		return fieldUpgrade
	}
	return fieldOther
}
