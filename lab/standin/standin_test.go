package standin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var models = []Model{Threads, Goroutines, EventLoop}

// eachModel runs test once per model, with a Config that only lacks faults.
func eachModel(t *testing.T, test func(t *testing.T, cfg Config)) {
	for _, m := range models {
		t.Run(string(m), func(t *testing.T) {
			test(t, Config{Model: m, Workers: 20, Listen: "127.0.0.1:0", Seed: 1})
		})
	}
}

// start serves cfg until the test ends and returns its address.
func start(t *testing.T, cfg Config) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	cfg.Ready = func(a net.Addr) { ready <- a.String() }
	go func() { ended <- Serve(ctx, cfg) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(5 * time.Second):
			t.Error("Serve did not end within 5 s of its context")
		}
	})
	select {
	case addr := <-ready:
		return addr
	case err := <-ended:
		ended <- nil
		t.Fatalf("Serve ended before it was ready: %v", err)
	}
	panic("unreachable")
}

// slowDownstream answers "ok" after a delay and counts what is in flight.
type slowDownstream struct {
	*httptest.Server
	inFlight, peak, served, opened atomic.Int64
	lastPath                       atomic.Value
}

func newDownstream(t *testing.T, delay time.Duration) *slowDownstream {
	t.Helper()
	d := &slowDownstream{}
	d.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := d.inFlight.Add(1)
		for old := d.peak.Load(); now > old && !d.peak.CompareAndSwap(old, now); old = d.peak.Load() {
		}
		d.lastPath.Store(r.URL.Path)
		time.Sleep(delay)
		d.inFlight.Add(-1)
		d.served.Add(1)
		io.WriteString(w, "ok")
	}))
	d.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			d.opened.Add(1)
		}
	}
	d.Start()
	t.Cleanup(d.Close)
	return d
}

// client is one keep-alive connection, read answer by answer.
type client struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	return &client{t, c, bufio.NewReader(c)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) read(method string) (*http.Response, string) {
	c.t.Helper()
	r, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("reading the answer: %v", err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatalf("reading the body: %v", err)
	}
	return r, string(body)
}

func (c *client) get(path string) (status int, body string) {
	c.t.Helper()
	c.send("GET " + path + " HTTP/1.1\r\nHost: sut\r\n\r\n")
	r, body := c.read("GET")
	return r.StatusCode, body
}

func (c *client) expect(path string, status int, body string) {
	c.t.Helper()
	if s, b := c.get(path); s != status || !strings.Contains(b, body) {
		c.t.Fatalf("GET %s = %d %q, want %d %q", path, s, b, status, body)
	}
}

// exceptions reads /lab/exceptions.
func exceptions(t *testing.T, addr string) map[string]int64 {
	t.Helper()
	_, body := dial(t, addr).get("/lab/exceptions")
	var counts map[string]int64
	if err := json.Unmarshal([]byte(body), &counts); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return counts
}

// loadAll sends one request on each of n connections at once and returns how
// many answers had the status.
func loadAll(t *testing.T, addr, path string, n, status int) int {
	t.Helper()
	var ok atomic.Int64
	var all sync.WaitGroup
	for range n {
		c := dial(t, addr)
		all.Add(1)
		go func() {
			defer all.Done()
			io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: sut\r\n\r\n")
			r, err := http.ReadResponse(c.r, nil)
			if err == nil && r.StatusCode == status {
				ok.Add(1)
			}
		}()
	}
	all.Wait()
	return int(ok.Load())
}

func TestPaths(t *testing.T) {
	eachModel(t, func(t *testing.T, cfg Config) {
		down := newDownstream(t, 0)
		cfg.Downstream = down.URL
		c := dial(t, start(t, cfg))
		c.expect("/call", 200, "ok")
		c.expect("/call?x=1", 200, "ok")
		c.expect("/hello", 200, "hello")
		c.expect("/nowhere", 404, "not found")
		c.expect("/io-test", 200, "ok")
		if got := down.lastPath.Load(); got != "/delay/100" {
			t.Errorf("/io-test called %v", got)
		}
		c.expect("/lab/exceptions", 200, "{}")
		c.send("HEAD /hello HTTP/1.1\r\nHost: sut\r\n\r\n")
		if r, body := c.read("HEAD"); r.StatusCode != 200 || r.ContentLength != 5 || body != "" {
			t.Errorf("HEAD: %d, length %d, body %q", r.StatusCode, r.ContentLength, body)
		}
		c.send("DELETE /hello HTTP/1.1\r\nHost: sut\r\n\r\n")
		if r, _ := c.read("DELETE"); r.StatusCode != 405 {
			t.Errorf("DELETE: %d", r.StatusCode)
		}
		c.expect("/call", 200, "ok") // the same connection all along
		if n := down.opened.Load(); n > int64(cores()) {
			t.Errorf("%d downstream connections for one request at a time", n)
		}
	})
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	eachModel(t, func(t *testing.T, cfg Config) {
		cfg.Downstream = newDownstream(t, 20*time.Millisecond).URL
		c := dial(t, start(t, cfg))
		paths := []string{"/call", "/nowhere", "/hello", "/call", "/hello"}
		var all string
		for _, p := range paths {
			all += "GET " + p + " HTTP/1.1\r\nHost: sut\r\n\r\n"
		}
		c.send(all[:len(all)-7]) // the last one arrives in two pieces
		time.Sleep(5 * time.Millisecond)
		c.send(all[len(all)-7:])
		for i, want := range []string{"ok", "not found", "hello", "ok", "hello"} {
			if _, body := c.read("GET"); body != want {
				t.Fatalf("answer %d is %q, want %q", i, body, want)
			}
		}
	})
}

func TestCloseIsHonoured(t *testing.T) {
	eachModel(t, func(t *testing.T, cfg Config) {
		addr := start(t, cfg)
		for _, request := range []string{
			"GET /hello HTTP/1.1\r\nHost: sut\r\nConnection: close\r\n\r\n",
			"GET /hello HTTP/1.0\r\n\r\n",
			"no request at all\r\n\r\n",
		} {
			c := dial(t, addr)
			c.send(request)
			c.read("GET")
			if _, err := c.r.ReadByte(); err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("after %q the connection is still open (%v)", request, err)
			}
		}
		c := dial(t, addr)
		for range 2 {
			c.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
			if r, _ := c.read("GET"); r.Header.Get("Connection") != "keep-alive" {
				t.Errorf("HTTP/1.0 keep-alive was not confirmed: %v", r.Header)
			}
		}
	})
}

func TestChunkedAndCloseDelimitedAnswersArePassedOn(t *testing.T) {
	answers := map[string]string{
		"chunked":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n",
		"interim":   "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nabcdefg",
		"delimited": "HTTP/1.1 200 OK\r\n\r\nabcdefg",
		"last":      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\nabcdefg",
	}
	eachModel(t, func(t *testing.T, cfg Config) {
		for name, answer := range answers {
			cfg.Downstream = rawDownstream(t, func(c net.Conn, r *bufio.Reader, _ int) {
				if readRequest(r) {
					io.WriteString(c, answer)
				}
			})
			c := dial(t, start(t, cfg))
			for range 2 {
				if status, body := c.get("/call"); status != 200 || body != "abcdefg" {
					t.Errorf("%s: %d %q", name, status, body)
				}
			}
		}
	})
}

// rawDownstream serves each connection with serve and then closes it. n counts
// the connections from 0.
func rawDownstream(t *testing.T, serve func(c net.Conn, r *bufio.Reader, n int)) (url string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for n := 0; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c, bufio.NewReader(c), n)
			}()
		}
	}()
	return "http://" + ln.Addr().String()
}

// readRequest reads a request without a body.
func readRequest(r *bufio.Reader) bool {
	_, err := http.ReadRequest(r)
	return err == nil
}

func TestDownstreamFailuresAreReasonedAndCounted(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + refused.Addr().String()
	refused.Close()
	cases := []struct {
		name, downstream string
		keys             []string // any one of them
	}{
		{"reset", rawDownstream(t, func(c net.Conn, r *bufio.Reader, _ int) {
			readRequest(r)
			c.(*net.TCPConn).SetLinger(0)
		}), []string{"ReadError <- syscall.Errno: connection reset by peer"}},
		{"eof", rawDownstream(t, func(c net.Conn, r *bufio.Reader, _ int) {
			readRequest(r)
		}), []string{"ReadError <- errors.errorString: EOF"}},
		{"refused", nobody, []string{"ConnectError <- syscall.Errno: connection refused"}},
		{"status", rawDownstream(t, func(c net.Conn, r *bufio.Reader, _ int) {
			readRequest(r)
			io.WriteString(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
		}), []string{"StatusError <- standin.statusError: 503 Service Unavailable"}},
		{"none", "", []string{"ConfigError <- errors.errorString: no --downstream was given"}},
	}
	eachModel(t, func(t *testing.T, cfg Config) {
		for _, test := range cases {
			cfg.Downstream = test.downstream
			addr := start(t, cfg)
			c := dial(t, addr)
			for range 3 {
				c.expect("/call", 500, strings.Split(test.keys[0], " ")[0])
			}
			counts := exceptions(t, addr)
			if counts[test.keys[0]] != 3 || len(counts) != 1 {
				t.Errorf("%s: %v, want 3 of %q", test.name, counts, test.keys[0])
			}
		}
	})
}

func TestConnectionClosedWhileIdleIsReplacedWithoutAnError(t *testing.T) {
	const answers = 2
	eachModel(t, func(t *testing.T, cfg Config) {
		var asked atomic.Int64
		// Each connection answers twice, takes a third request and closes: the
		// race that an idle time-out of the downstream makes.
		cfg.Downstream = rawDownstream(t, func(c net.Conn, r *bufio.Reader, n int) {
			for range answers {
				if !readRequest(r) {
					return
				}
				asked.Add(1)
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			}
			readRequest(r)
		})
		addr := start(t, cfg)
		c := dial(t, addr)
		for range 9 {
			c.expect("/call", 200, "ok")
		}
		if n := asked.Load(); n != 9 {
			t.Errorf("the downstream answered %d requests, want 9", n)
		}
		if counts := exceptions(t, addr); len(counts) != 0 {
			t.Errorf("exceptions %v, want none", counts)
		}
	})
}
