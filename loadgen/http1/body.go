package http1

import "bytes"

// beginBody chooses how the body ends from the fields of a head that may have one.
func (f *framing) beginBody(withoutLength state) {
	switch {
	case f.has(flagChunked):
		f.beginChunk()
	case f.has(flagLengthSeen) && !f.has(flagTransfer):
		f.left, f.state = f.length, stBody
		if f.left == 0 {
			f.state = stDone
		}
	default:
		f.state = withoutLength
	}
}

func (f *framing) beginChunk() {
	f.state, f.number, f.head = stChunkSize, 0, 0
}

// bodyBytes reads body bytes until the message is done or the trailers begin.
func (f *framing) bodyBytes(b []byte) (n int, err error) {
	for n < len(b) {
		switch f.state {
		case stUntilClose:
			f.body += int64(len(b) - n)
			return len(b), nil
		case stBody, stChunkData:
			k := int64(len(b) - n)
			if k > f.left {
				k = f.left
			}
			n += int(k)
			f.left -= k
			f.body += k
			if f.left > 0 {
				return n, nil
			}
			if f.state == stBody {
				f.state = stDone
				return n, nil
			}
			f.state = stChunkDataCR
		case stChunkDataCR, stChunkDataLF:
			want := byte('\r')
			if f.state == stChunkDataLF {
				want = '\n'
			}
			if b[n] != want {
				return n, f.fail(ErrChunkEnd)
			}
			n++
			if f.state == stChunkDataLF {
				f.beginChunk()
			} else {
				f.state = stChunkDataLF
			}
		case stChunkSize, stChunkDigits, stChunkBlank, stChunkExt, stChunkQuoted, stChunkEscape, stChunkLF:
			k, err := f.chunkLine(b[n:])
			n += k
			if err != nil {
				return n, err
			}
		default: // trailers, or done
			return n, nil
		}
	}
	return n, nil
}

// chunkLine reads bytes of a chunk-size line, which has to stay below MaxHead.
func (f *framing) chunkLine(b []byte) (n int, err error) {
	b, over := f.within(b)
	for n < len(b) && f.state >= stChunkSize && f.state <= stChunkLF {
		if f.state == stChunkExt { // nothing but the line end and quotes matters
			if i := bytes.IndexAny(b[n:], "\r\n\""); i > 0 {
				n += i
			} else if i < 0 {
				n = len(b)
				break
			}
		}
		if err := f.chunkLineByte(b[n]); err != nil {
			return n, err
		}
		n++
	}
	f.head += int32(n)
	if over && n == len(b) && f.state >= stChunkSize && f.state <= stChunkLF {
		return n, f.fail(ErrHeadTooLarge)
	}
	if f.state == stLineStart {
		f.head = 0 // the trailers have a limit of their own
	}
	return n, nil
}

func (f *framing) chunkLineByte(c byte) error {
	switch f.state {
	case stChunkSize, stChunkDigits:
		digit := hexByte[c]
		if digit < 16 {
			if f.number > (maxLength-15)/16 {
				return f.fail(ErrChunkSize)
			}
			f.number, f.state = f.number*16+int64(digit), stChunkDigits
			return nil
		}
		if f.state == stChunkSize {
			return f.fail(ErrChunkSize)
		}
		return f.afterSize(c)
	case stChunkBlank:
		return f.afterSize(c)
	case stChunkExt:
		switch c {
		case '\r':
			f.state = stChunkLF
		case '"':
			f.state = stChunkQuoted
		case '\n':
			return f.fail(ErrLineEnd)
		}
	case stChunkQuoted:
		switch c {
		case '"':
			f.state = stChunkExt
		case '\\':
			f.state = stChunkEscape
		case '\r', '\n':
			return f.fail(ErrChunkSize)
		}
	case stChunkEscape:
		if c == '\r' || c == '\n' {
			return f.fail(ErrChunkSize)
		}
		f.state = stChunkQuoted
	case stChunkLF:
		if c != '\n' {
			return f.fail(ErrLineEnd)
		}
		f.endSizeLine()
	}
	return nil
}

func (f *framing) afterSize(c byte) error {
	switch c {
	case ' ', '\t':
		f.state = stChunkBlank
	case ';':
		f.state = stChunkExt
	case '\r':
		f.state = stChunkLF
	default:
		return f.fail(ErrChunkSize)
	}
	return nil
}

func (f *framing) endSizeLine() {
	if f.number > 0 {
		f.left, f.state = f.number, stChunkData
		return
	}
	f.state, f.field = stLineStart, fieldNone
	f.flags |= flagTrailer
}

// hexByte maps hex digits to their value, others to 255.
var hexByte = func() (t [256]byte) {
	for i := range t {
		t[i] = 255
	}
	for i, c := range []byte("0123456789abcdef") {
		t[c] = byte(i)
	}
	for i, c := range []byte("ABCDEF") {
		t[c] = byte(10 + i)
	}
	return t
}()
