package downstream

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Pipelined requests are answered in order wherever the bytes are cut, and what
// follows Connection: close is not served.
func TestPipelinedInOrder(t *testing.T) {
	const three = "GET /delay/20 HTTP/1.1\r\nHost: x\r\n\r\n" +
		"POST /delay/400 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" +
		"GET /delay/0 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" +
		"GET /4 HTTP/1.1\r\nHost: x\r\n\r\n"
	engines(t, func(t *testing.T, engine string) {
		// Every connection waits for its own delays side by side with the others.
		s := start(t, Config{Engine: engine})
		clients := make([]*client, len(three))
		for cut := range clients {
			clients[cut] = connect(t, s)
			clients[cut].send(three[:cut])
		}
		time.Sleep(10 * time.Millisecond)
		for cut, c := range clients {
			c.send(three[cut:])
		}
		for cut, c := range clients {
			for i := range 3 {
				r, body, err := c.answer("GET")
				if err != nil || body != "ok" {
					t.Fatalf("cut at %d, answer %d: %q, %v", cut, i, body, err)
				}
				if r.Close != (i == 2) {
					t.Errorf("cut at %d, answer %d: close %v", cut, i, r.Close)
				}
			}
			c.wantsEnd()
		}
		st := eventually(t, s, "all closed", func(st Stats) bool { return st.Connections.Open == 0 })
		if n := int64(len(three)); st.Requests != 3*n || st.Connections.Closed["close_asked"] != n {
			t.Errorf("account: %+v", st)
		}
	})
}

// The order shows in the answers: HEAD has no body, so a swap cannot go unseen.
func TestPipelinedAnswersDiffer(t *testing.T) {
	s := start(t, Config{})
	c := connect(t, s)
	c.send("HEAD /delay/50 HTTP/1.1\r\nHost: x\r\n\r\n" + "GET /delay/0 HTTP/1.1\r\nHost: x\r\n\r\n" + "GET /nonsense HTTP/1.1\r\nHost: x\r\n\r\n" + "\x00\r\n\r\n")
	if r, body, err := c.answer("HEAD"); err != nil || body != "" || r.ContentLength != 2 {
		t.Fatalf("HEAD: %+v, %q, %v", r, body, err)
	}
	c.wants(200, "ok")
	c.wants(200, "ok")
	c.wants(400, "malformed request")
	c.wantsEnd()
}

// Thousands of pipelined requests pause the reading, not the answers.
func TestPipelinedFlood(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s := start(t, Config{Delay: 5 * time.Millisecond, Engine: engine, Body: bytes.Repeat([]byte("x"), 1000)})
		const n = 10_000
		c := connect(t, s)
		go io.WriteString(c, strings.Repeat(get, n))
		time.Sleep(50 * time.Millisecond) // let it send faster than it reads
		for i := range n {
			if _, body, err := c.answer("GET"); err != nil || len(body) != 1000 {
				t.Fatalf("answer %d: %d bytes, %v", i, len(body), err)
			}
		}
		st := s.Stats()
		if st.Answered != n || st.InFlightMax > maxPending+2 {
			t.Errorf("account: %+v", st)
		}
	})
}

func TestBodiesAreConsumed(t *testing.T) {
	s := start(t, Config{})
	c := connect(t, s)
	go c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n" + strings.Repeat("G", 1<<20) +
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nGET /\r\n3;x=y\r\nabc\r\n0\r\nTrailer: t\r\n\r\n" + get)
	for range 3 {
		c.wants(200, "ok")
	}
	if st := s.Stats(); st.Requests != 3 || st.Malformed != 0 {
		t.Errorf("account: %+v", st)
	}
}

func TestRequestForms(t *testing.T) {
	for _, tt := range []struct {
		name, request string
		status        int
		body          string
		field, value  string // of the answer
		ends          bool
		cause         string
	}{
		{"close asked", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 200, "ok", "Connection", "close", true, "close_asked"},
		{"1.0", "GET / HTTP/1.0\r\n\r\n", 200, "ok", "Connection", "close", true, "close_asked"},
		{"1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, "ok", "Connection", "keep-alive", false, ""},
		{"blank lines before", "\r\n\r\n" + get, 200, "ok", "", "", false, ""},
		{"absolute target", "GET http://x/y HTTP/1.1\r\nHost: x\r\n\r\n", 200, "ok", "", "", false, ""},
		{"no HTTP", "SSH-2.0-OpenSSH_9.9\r\n\r\n", 400, "malformed request", "Connection", "close", true, "malformed"},
		{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "malformed request", "Connection", "close", true, "malformed"},
		{"two lengths", "POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nab", 400, "malformed request", "Connection", "close", true, "malformed"},
		{"bad chunk", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400, "malformed request", "Connection", "close", true, "malformed"},
		{"head of 70 KB", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 70_000) + "\r\n\r\n", 431, "request head too large", "Connection", "close", true, "malformed"},
		{"unknown path of the lab", "GET /lab/secrets HTTP/1.1\r\nHost: x\r\n\r\n", 404, "try /lab/stats", "Connection", "close", true, "close_asked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, Config{})
			c := connect(t, s)
			c.send(tt.request)
			r := c.wants(tt.status, tt.body)
			if got := r.Header.Get(tt.field); tt.field != "" && tt.field != "Connection" && got != tt.value {
				t.Errorf("%s: %q", tt.field, got)
			}
			if tt.field == "Connection" && r.Close != (tt.value == "close") {
				t.Errorf("Close is %v, header %v", r.Close, r.Header)
			}
			if !tt.ends {
				c.send(get)
				c.wants(200, "ok")
				return
			}
			c.wantsEnd()
			st := eventually(t, s, "closed", func(st Stats) bool { return st.Connections.Open == 0 })
			if st.Connections.Closed[tt.cause] != 1 {
				t.Errorf("closed: %v", st.Connections.Closed)
			}
			if tt.cause == "malformed" && st.Malformed != 1 {
				t.Errorf("%d malformed", st.Malformed)
			}
		})
	}
}

func TestHeadByteByByte(t *testing.T) {
	s := start(t, Config{})
	c := connect(t, s)
	for _, b := range []byte(get) {
		c.Write([]byte{b})
	}
	c.wants(200, "ok")
}

func TestExpectContinue(t *testing.T) {
	s := start(t, Config{Delay: 20 * time.Millisecond})
	c := connect(t, s)
	c.send(get + "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
	c.wants(200, "ok") // not the 100 of the request behind it
	c.wants(100, "")
	c.send("hello")
	c.wants(200, "ok")
}

// Refusing while the client still sends must not cost it the answer.
func TestRefusalReachesASendingClient(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s := start(t, Config{Engine: engine})
		for range 10 {
			c := connect(t, s)
			go io.WriteString(c, "BAD\r\n\r\n"+strings.Repeat("x", 1<<20))
			c.wants(400, "malformed request")
			c.wantsEnd()
		}
	})
}

func TestAnswerForms(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789"), 2000)
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{Body: long}, string(long)},
		{Config{Body: long, Chunked: true}, string(long)},
		{Config{Body: []byte{}}, ""},
		{Config{Body: []byte{}, Chunked: true}, ""},
		{Config{Status: 503}, "ok"},
		{Config{Status: 204}, ""},
	} {
		s := start(t, tt.cfg)
		for _, version := range []string{"1.1", "1.0"} {
			c := connect(t, s)
			c.send("GET / HTTP/" + version + "\r\nHost: x\r\n\r\n")
			r, body, err := c.answer("GET")
			if err != nil || body != tt.want || r.StatusCode != max(tt.cfg.Status, 200) {
				t.Errorf("%s: %+v, %d bytes, %v", version, r, len(body), err)
			}
			if chunked := len(r.TransferEncoding) > 0; chunked != (tt.cfg.Chunked && version == "1.1") {
				t.Errorf("%s: transfer encoding %v", version, r.TransferEncoding)
			}
		}
		r, err := http.Get(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != tt.want {
			t.Errorf("Go's client read %d bytes, %v", len(body), err)
		}
		r.Body.Close()
		http.DefaultClient.CloseIdleConnections()
	}
}

func TestUpgradeOfferIsIgnoredAndCounted(t *testing.T) {
	s := start(t, Config{})
	c := connect(t, s)
	c.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")
	c.wants(200, "ok")
	c.send(get)
	c.wants(200, "ok")
	if st := s.Stats(); st.UpgradeH2C != 1 || st.Requests != 2 {
		t.Errorf("account: %+v", st)
	}
}

// Whatever bytes come, every answer is well formed and the books stay straight.
func FuzzHandler(f *testing.F) {
	f.Add([]byte(get))
	f.Add([]byte(get + get + "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"))
	f.Add([]byte("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /lab/stats HTTP/1.1\r\n\r\n" + get))
	f.Add([]byte("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"))
	f.Add([]byte("\x16\x03\x01\x02\x00\x01"))
	s := start(f, Config{Delay: time.Microsecond, MaxRequests: 5, IdleTimeout: 2 * time.Second})
	f.Fuzz(func(t *testing.T, b []byte) {
		if bytes.Contains(b, []byte("/delay/")) {
			t.Skip("would wait as long as the fuzzer thinks up")
		}
		c := connect(t, s)
		defer c.Close()
		half := len(b) / 2
		c.Write(b[:half])
		c.Write(b[half:])
		c.CloseWrite()
		got, err := io.ReadAll(c)
		if err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		for rest := got; len(rest) > 0; {
			if !bytes.HasPrefix(rest, []byte("HTTP/1.1 ")) {
				t.Fatalf("%q was answered %q", b, got)
			}
			next := bytes.Index(rest[1:], []byte("HTTP/1.1 "))
			if next < 0 {
				break
			}
			rest = rest[1+next:]
		}
		checkIdentities(t, s.Stats())
	})
}
