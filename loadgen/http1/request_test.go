package http1

import (
	"strings"
	"testing"
)

// requestIs is what a test expects of a request.
type requestIs struct {
	method, target string
	keepAlive      bool
	http10         bool
	expect100      bool
	h2c            bool
	body           int64
	rest           string // bytes that belong to the next request
}

func TestRequestForms(t *testing.T) {
	for _, c := range []struct {
		in   string
		want requestIs
	}{
		{"GET /call HTTP/1.1\r\nHost: h\r\n\r\n", requestIs{method: "GET", target: "/call", keepAlive: true}},
		{"\r\n\r\nGET / HTTP/1.1\r\n\r\nGET /2", requestIs{method: "GET", target: "/", keepAlive: true, rest: "GET /2"}},
		{"GET / HTTP/1.1\nHost: h\n\n", requestIs{method: "GET", target: "/", keepAlive: true}},
		{"GET / HTTP/1.1\r\nConnection: TE , Close\r\n\r\n", requestIs{method: "GET", target: "/"}},
		{"GET / HTTP/1.0\r\n\r\n", requestIs{method: "GET", target: "/", http10: true}},
		{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", requestIs{method: "GET", target: "/", http10: true, keepAlive: true}},
		{"HEAD / HTTP/1.1\r\n\r\n", requestIs{method: "HEAD", target: "/", keepAlive: true}},
		{"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhelloG", requestIs{method: "POST", target: "/", keepAlive: true, body: 5, rest: "G"}},
		{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: 1\r\n\r\n", requestIs{method: "POST", target: "/", keepAlive: true, body: 5}},
		{"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", requestIs{method: "POST", target: "/", body: 1}},
		{"POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 0\r\n\r\n", requestIs{method: "POST", target: "/", keepAlive: true, expect100: true}},
		{"GET / HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n", requestIs{method: "GET", target: "/", keepAlive: true, h2c: true}},
		{"GET http://h:1/a@b?m=c@d HTTP/1.1\r\n\r\n", requestIs{method: "GET", target: "http://h:1/a@b?m=c@d", keepAlive: true}},
	} {
		var r Request
		r.Reset()
		n, headDone, done, err := r.Parse([]byte(c.in))
		if err != nil || !headDone || !done {
			t.Errorf("%q: head %v done %v err %v", c.in, headDone, done, err)
			continue
		}
		got := requestIs{string(r.Method()), string(r.Target()), r.KeepAlive, r.HTTP10, r.Expect100, r.UpgradeH2C, r.BodyBytes, c.in[n:]}
		if got != c.want {
			t.Errorf("%q:\n got %+v\nwant %+v", c.in, got, c.want)
		}
	}
}

func TestRequestHeadBeforeBody(t *testing.T) {
	var r Request
	r.Reset()
	in := []byte("POST /u HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
	n, headDone, done, err := r.Parse(in)
	if n != len(in) || !headDone || done || err != nil || !r.Expect100 {
		t.Fatalf("after the head: n %d head %v done %v err %v expect %v", n, headDone, done, err, r.Expect100)
	}
	if n, headDone, done, err = r.Parse([]byte("bodyX")); n != 4 || !headDone || !done || err != nil {
		t.Fatalf("after the body: n %d head %v done %v err %v", n, headDone, done, err)
	}
}

func TestRequestErrors(t *testing.T) {
	long := strings.Repeat("x", MaxHead)
	for _, c := range []struct {
		in   string
		want Error
	}{
		{"GET /\r\n", ErrRequestLine},
		{"GET  / HTTP/1.1\r\n\r\n", ErrRequestLine},
		{" GET / HTTP/1.1\r\n\r\n", ErrRequestLine},
		{"G\x00T / HTTP/1.1\r\n\r\n", ErrRequestLine},
		{"GET /\t HTTP/1.1\r\n\r\n", ErrRequestLine},
		{"GET / HTTP/1.1 \r\n\r\n", ErrRequestLine},
		{"GET / http/1.1\r\n\r\n", ErrRequestLine},
		{"\x16\x03\x01\x02\x00\x01", ErrRequestLine}, // TLS
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ErrVersion},
		{"GET / HTTP/1.x\r\n\r\n", ErrVersion},
		{"GET / HTTP/1.1\rX", ErrLineEnd},
		{"GET / HTTP/1.1\r\nHost : h\r\n\r\n", ErrFieldName},
		{"GET / HTTP/1.1\r\nnocolon\r\n\r\n", ErrFieldName},
		{"GET / HTTP/1.1\r\n: v\r\n\r\n", ErrFieldName},
		{"GET / HTTP/1.1\r\n folded: v\r\n\r\n", ErrFold},
		{"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", ErrLength},
		{"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", ErrLengthConflict},
		{"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", ErrTransferCoding},
		{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", ErrTransferCoding},
		{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n", ErrChunkSize},
		{"GET /" + long, ErrHeadTooLarge},
		{"GET / HTTP/1.1\r\nCookie: " + long, ErrHeadTooLarge},
		{strings.Repeat("\r\n", MaxHead/2+1), ErrHeadTooLarge},
	} {
		var r Request
		r.Reset()
		if _, _, done, err := r.Parse([]byte(c.in)); err != c.want || done {
			t.Errorf("%.60q: done %v err %v, want %v", c.in, done, err, c.want)
		}
		if _, _, _, err := r.Parse([]byte("GET / HTTP/1.1\r\n\r\n")); err != c.want {
			t.Errorf("%.60q: the error did not stay: %v", c.in, err)
		}
	}
}

func TestRequestLongTarget(t *testing.T) {
	var r Request
	r.Reset()
	target := "/" + strings.Repeat("a", 300)
	_, _, done, err := r.Parse([]byte("GET " + target + " HTTP/1.1\r\n\r\n"))
	if !done || err != nil || !r.TargetTruncated || string(r.Target()) != target[:256] {
		t.Fatalf("done %v err %v truncated %v target %q", done, err, r.TargetTruncated, r.Target())
	}
}

func TestRequestParseAllocatesNothing(t *testing.T) {
	in := []byte("POST /call?x=1 HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
	bad := []byte("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n")
	var r Request
	allocs := testing.AllocsPerRun(100, func() {
		r.Reset()
		r.Parse(in)
		r.Reset()
		r.Parse(bad)
	})
	if allocs != 0 {
		t.Errorf("%v allocations per run", allocs)
	}
}
