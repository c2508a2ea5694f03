package http1

// MaxHead is the largest head (start line and fields) or trailer section that
// is accepted, in bytes.
const MaxHead = 64 << 10

// maxLength bounds a declared length, so that sums of lengths cannot overflow.
const maxLength = 1 << 62

// Error is why a message is not acceptable HTTP/1.1. Its values are the
// constants below; compare with == or errors.Is.
type Error uint8

// The reasons. A server answers [ErrHeadTooLarge] with 431, the others with 400.
const (
	ErrHeadTooLarge   Error = iota + 1 // head, trailers or a chunk-size line above MaxHead
	ErrStatusLine                      // not "HTTP/1.x NNN ..."
	ErrRequestLine                     // not "METHOD TARGET HTTP/1.x"
	ErrVersion                         // HTTP, but not 1.x
	ErrFieldName                       // a field line without a valid name and colon
	ErrFold                            // a folded line where there is nothing to continue
	ErrLineEnd                         // CR without LF where a line had to end
	ErrLength                          // Content-Length that is not a decimal number below 2^62
	ErrLengthConflict                  // different Content-Lengths
	ErrTransferCoding                  // chunked twice, or a request body without chunked at its end
	ErrChunkSize                       // chunk size that is not 1*HEX below 2^62, or followed by junk
	ErrChunkEnd                        // chunk data not followed by CRLF
	ErrUpgrade                         // 101 Switching Protocols, which nobody asked for
	ErrNoAnswer                        // the peer closed before the first byte of a message
	ErrTruncated                       // the peer closed inside a message
)

var reasons = [...]string{
	ErrHeadTooLarge:   "header_too_large: head above 64 KiB",
	ErrStatusLine:     "bad status line",
	ErrRequestLine:    "bad request line",
	ErrVersion:        "not HTTP/1.x",
	ErrFieldName:      "bad header field name",
	ErrFold:           "folded line before the first header field",
	ErrLineEnd:        "CR without LF at a line end",
	ErrLength:         "bad Content-Length",
	ErrLengthConflict: "conflicting Content-Length fields",
	ErrTransferCoding: "bad Transfer-Encoding",
	ErrChunkSize:      "bad chunk size",
	ErrChunkEnd:       "no CRLF after chunk data",
	ErrUpgrade:        "101 Switching Protocols without being asked",
	ErrNoAnswer:       "connection closed before an answer",
	ErrTruncated:      "connection closed inside a message",
}

// Error returns the reason in a few words.
func (e Error) Error() string {
	if e == 0 || int(e) >= len(reasons) {
		return "invalid HTTP message"
	}
	return reasons[e]
}
