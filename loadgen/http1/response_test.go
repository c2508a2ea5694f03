package http1

import (
	"testing"
	"unsafe"
)

var commonAnswer = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain;charset=UTF-8\r\nContent-Length: 2\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\n\r\nok")

func TestResponseParseAllocatesNothing(t *testing.T) {
	chunked := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0\r\nX: 1\r\n\r\n")
	bad := []byte("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n")
	var r Response
	allocs := testing.AllocsPerRun(100, func() {
		for _, b := range [][]byte{commonAnswer, chunked, bad} {
			r.Reset(false)
			r.Parse(b)
		}
		r.Reset(false)
		r.EOF()
	})
	if allocs != 0 {
		t.Errorf("%v allocations per run", allocs)
	}
}

// The engine may use 1 KiB a connection, the downstream 2 KiB.
func TestSizes(t *testing.T) {
	if s := unsafe.Sizeof(Response{}); s > 128 {
		t.Errorf("a Response takes %d bytes", s)
	}
	if s := unsafe.Sizeof(Request{}); s > 416 {
		t.Errorf("a Request takes %d bytes", s)
	}
}

// Several answers follow one another on a connection, whatever comes between.
func TestResponsesInSequence(t *testing.T) {
	stream := []byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n" +
		"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 500 \r\nContent-Length: 3\r\n\r\nbad")
	for size := 1; size <= len(stream); size++ {
		var r Response
		var got []int
		r.Reset(false)
		for at := 0; at < len(stream); at += size {
			for piece := stream[at:min(at+size, len(stream))]; len(piece) > 0; {
				n, done, err := r.Parse(piece)
				if err != nil {
					t.Fatalf("pieces of %d: %v", size, err)
				}
				piece = piece[n:]
				if done {
					got = append(got, r.Status)
					r.Reset(false)
				}
			}
		}
		if len(got) != 3 || got[0] != 200 || got[1] != 204 || got[2] != 500 {
			t.Fatalf("pieces of %d: statuses %v", size, got)
		}
	}
}

func BenchmarkResponseParse(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(commonAnswer)))
	var r Response
	for range b.N {
		r.Reset(false)
		if _, done, err := r.Parse(commonAnswer); !done || err != nil {
			b.Fatal(done, err)
		}
	}
}

func BenchmarkRequestParse(b *testing.B) {
	request := []byte("GET /call HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: Java-http-client/25\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(request)))
	var r Request
	for range b.N {
		r.Reset()
		if _, _, done, err := r.Parse(request); !done || err != nil {
			b.Fatal(done, err)
		}
	}
}
