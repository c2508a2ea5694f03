package http1

// lengthByte reads one byte of a Content-Length. A CR counts as a blank, as RFC
// 9112 2.2 lets a recipient do; "2, 2" is what duplicates become on their way.
func (f *framing) lengthByte(c byte) error {
	switch {
	case c >= '0' && c <= '9':
		if f.has(flagAfterDigits) || f.number > (maxLength-9)/10 {
			return f.fail(ErrLength)
		}
		f.number = f.number*10 + int64(c-'0')
		f.flags |= flagDigits
	case c == ' ' || c == '\t' || c == '\r':
		if f.has(flagDigits) {
			f.flags |= flagAfterDigits
		}
	case c == ',':
		return f.endLength()
	case c == '\n':
		f.state = stLineStart
	default:
		return f.fail(ErrLength)
	}
	return nil
}

func (f *framing) endLength() error {
	if !f.has(flagDigits) {
		return f.fail(ErrLength)
	}
	if f.has(flagLengthSeen) && f.length != f.number {
		return f.fail(ErrLengthConflict)
	}
	f.length, f.number = f.number, 0
	f.flags |= flagLengthSeen
	f.flags &^= flagDigits | flagAfterDigits
	return nil
}

func (f *framing) listByte(c byte) error {
	switch c {
	case ' ', '\t', '\r':
		if f.tokLen > 0 {
			f.flags |= flagBlankInside
		}
	case ',':
		return f.endToken()
	case '\n':
		f.state = stLineStart
	default:
		if f.has(flagBlankInside) { // "keep alive" is no token of ours
			f.tokLen = uint8(len(f.tok)) + 1
			return nil
		}
		if lower := tokenByte[c]; lower != 0 {
			c = lower
		}
		f.token(c)
	}
	return nil
}

func (f *framing) endToken() error {
	f.flags &^= flagBlankInside
	if f.tokLen == 0 {
		return nil
	}
	switch f.field {
	case fieldConnection:
		if f.is("close") {
			f.flags |= flagClose
		} else if f.is("keep-alive") {
			f.flags |= flagKeepAlive
		}
	case fieldTransfer:
		f.flags |= flagTransfer
		f.flags &^= flagChunked
		if f.is("chunked") {
			if f.has(flagChunkedSeen) {
				return f.fail(ErrTransferCoding)
			}
			f.flags |= flagChunkedSeen | flagChunked
		}
	case fieldExpect:
		if f.is("100-continue") {
			f.flags |= flagExpect100
		}
	case fieldUpgrade:
		if f.is("h2c") {
			f.flags |= flagUpgradeH2C
		}
	}
	f.tokLen = 0
	return nil
}

// endField closes the field before this line, now that no fold continues it.
func (f *framing) endField() error {
	was := f.field
	var err error
	switch was {
	case fieldNone, fieldOther:
		return nil
	case fieldLength:
		err = f.endLength()
	default:
		err = f.endToken()
	}
	f.field = fieldOther
	return err
}

// persistent says whether the fields allow another message on the connection.
func (f *framing) persistent() bool {
	switch {
	case f.has(flagClose):
		return false
	case f.has(flagTransfer) && f.has(flagLengthSeen|flagHTTP10):
		return false // RFC 9112 6.1: legal to read, but not to trust further
	case f.has(flagHTTP10):
		return f.has(flagKeepAlive)
	}
	return true
}
