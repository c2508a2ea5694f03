package http1

import (
	"fmt"
	"strings"
	"testing"

	"loomlab/loadgen/http1/protocoltest"
)

// feedResponse gives the pieces to a new Response and tells the outcome in the
// words of testdata/protocol.
func feedResponse(head, fin bool, pieces ...[]byte) string {
	var r Response
	r.Reset(head)
	rest, done := 0, false
	for _, p := range pieces {
		if done {
			rest += len(p)
			continue
		}
		n, d, err := r.Parse(p)
		if err != nil {
			return "error " + err.Error()
		}
		done = d
		rest += len(p) - n
	}
	if !done && fin {
		d, err := r.EOF()
		if err != nil {
			return "error " + err.Error()
		}
		done = d
	}
	if !done {
		return fmt.Sprintf("open, body=%d", r.BodyBytes)
	}
	return fmt.Sprintf("ok %d body=%d %s%s", r.Status, r.BodyBytes, reuse(r.KeepAlive), restOf(rest))
}

func feedRequest(pieces ...[]byte) string {
	var r Request
	r.Reset()
	rest, done := 0, false
	for _, p := range pieces {
		if done {
			rest += len(p)
			continue
		}
		n, headDone, d, err := r.Parse(p)
		if err != nil {
			return "error " + err.Error()
		}
		if d && !headDone {
			return "done before the head"
		}
		done = d
		rest += len(p) - n
	}
	if !done {
		return fmt.Sprintf("open, body=%d", r.BodyBytes)
	}
	var b strings.Builder
	target := r.Target()
	if r.TargetTruncated {
		target = target[:1]
	}
	fmt.Fprintf(&b, "ok %s %s", r.Method(), target)
	if r.BodyBytes > 0 {
		fmt.Fprintf(&b, " body=%d", r.BodyBytes)
	}
	b.WriteString(" " + reuse(r.KeepAlive))
	for _, f := range []struct {
		set  bool
		word string
	}{{r.UpgradeH2C, " h2c"}, {r.Expect100, " expect"}, {r.TargetTruncated, " truncated"}} {
		if f.set {
			b.WriteString(f.word)
		}
	}
	return b.String() + restOf(rest)
}

func reuse(keepAlive bool) string {
	if keepAlive {
		return "reuse"
	}
	return "close"
}

func restOf(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" rest=%d", n)
}

// everySplit feeds b whole, cut in two at every point (for long messages at many
// points), and byte by byte.
func everySplit(t *testing.T, b []byte, want string, feed func(pieces ...[]byte) string) {
	t.Helper()
	if got := feed(b); got != want {
		t.Errorf("whole:\n got %s\nwant %s", got, want)
		return
	}
	step := 1
	if len(b) > 4096 {
		step = 251
	}
	for i := 0; i <= len(b); i += step {
		if got := feed(b[:i], b[i:]); got != want {
			t.Errorf("cut at %d:\n got %s\nwant %s", i, got, want)
			return
		}
	}
	single := make([][]byte, len(b))
	for i := range b {
		single[i] = b[i : i+1]
	}
	if got := feed(single...); got != want {
		t.Errorf("byte by byte:\n got %s\nwant %s", got, want)
	}
}

const protocolFolder = "../../testdata/protocol/"

func TestResponseMessages(t *testing.T) {
	messages, err := protocoltest.Read(protocolFolder + "responses")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		t.Run(m.Name, func(t *testing.T) {
			everySplit(t, m.Bytes, m.Outcome, func(pieces ...[]byte) string {
				return feedResponse(m.Head, m.FIN, pieces...)
			})
		})
	}
}

func TestRequestMessages(t *testing.T) {
	messages, err := protocoltest.Read(protocolFolder + "requests")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		t.Run(m.Name, func(t *testing.T) { everySplit(t, m.Bytes, m.Outcome, feedRequest) })
	}
}

// A head of exactly the limit is accepted, one byte more is not, however it is cut.
func TestHeadLimit(t *testing.T) {
	head := func(size int) []byte {
		const before, after = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ", "\r\n\r\n"
		return []byte(before + strings.Repeat("x", size-len(before)-len(after)) + after)
	}
	feed := func(pieces ...[]byte) string { return feedResponse(false, false, pieces...) }
	everySplit(t, head(MaxHead), "ok 200 body=0 reuse", feed)
	everySplit(t, head(MaxHead+1), "error "+ErrHeadTooLarge.Error(), feed)
}

// Every prefix of a valid message is an open message, never an error.
func TestPrefixesAreOpen(t *testing.T) {
	messages, err := protocoltest.Read(protocolFolder + "responses")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if !strings.HasPrefix(m.Outcome, "ok") || len(m.Bytes) > 4096 {
			continue
		}
		for i := range m.Bytes {
			got := feedResponse(m.Head, false, m.Bytes[:i])
			if strings.HasPrefix(got, "error") {
				t.Errorf("%s: first %d bytes: %s", m.Name, i, got)
				break
			}
		}
	}
}

func FuzzResponse(f *testing.F) {
	messages, err := protocoltest.Read(protocolFolder + "responses")
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range messages {
		if len(m.Bytes) < 1000 {
			f.Add(m.Bytes, uint16(len(m.Bytes)/2), uint16(3), m.Head, m.FIN)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, cut, step uint16, head, fin bool) {
		whole := feedResponse(head, fin, b)
		checkSplits(t, b, cut, step, whole, func(p ...[]byte) string { return feedResponse(head, fin, p...) })
	})
}

func FuzzRequest(f *testing.F) {
	messages, err := protocoltest.Read(protocolFolder + "requests")
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range messages {
		if len(m.Bytes) < 1000 {
			f.Add(m.Bytes, uint16(len(m.Bytes)/2), uint16(3))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, cut, step uint16) {
		checkSplits(t, b, cut, step, feedRequest(b), feedRequest)
	})
}

func checkSplits(t *testing.T, b []byte, cut, step uint16, want string, feed func(...[]byte) string) {
	t.Helper()
	i := int(cut) % (len(b) + 1)
	if got := feed(b[:i], b[i:]); got != want {
		t.Fatalf("cut at %d: %s, whole: %s", i, got, want)
	}
	var pieces [][]byte
	size := int(step)%7 + 1
	for rest := b; len(rest) > 0; {
		k := min(size, len(rest))
		pieces = append(pieces, rest[:k])
		rest = rest[k:]
	}
	if got := feed(pieces...); got != want {
		t.Fatalf("pieces of %d: %s, whole: %s", size, got, want)
	}
}
