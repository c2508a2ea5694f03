package downstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"loomlab/loadgen/evloop"
)

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

const wait = 10 * time.Second // for what should take milliseconds

// start serves cfg until the test ends.
func start(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background()) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		checkIdentities(t, s.Stats())
	})
	return s
}

// checkIdentities asserts what must hold for every account.
func checkIdentities(t testing.TB, s Stats) {
	t.Helper()
	closed := int64(0)
	for _, n := range s.Connections.Closed {
		closed += n
	}
	if c := s.Connections; c.Accepted != c.Open+closed {
		t.Errorf("%d accepted, but %d open + %d closed", c.Accepted, c.Open, closed)
	}
	if s.Requests != s.Answered+s.InFlight+s.Lost {
		t.Errorf("%d requests, but %d answered + %d in flight + %d lost", s.Requests, s.Answered, s.InFlight, s.Lost)
	}
	if s.InFlight < 0 || s.Connections.Open < 0 {
		t.Errorf("negative gauge: %d in flight, %d open", s.InFlight, s.Connections.Open)
	}
}

// eventually waits until ok holds for the account.
func eventually(t *testing.T, s *Server, what string, ok func(Stats) bool) Stats {
	t.Helper()
	for deadline := time.Now().Add(wait); ; time.Sleep(2 * time.Millisecond) {
		st := s.Stats()
		if ok(st) {
			return st
		}
		if time.Now().After(deadline) {
			t.Fatalf("never: %s; the account is %+v", what, st)
		}
	}
}

// client is a raw connection.
type client struct {
	*net.TCPConn
	t testing.TB
	r *bufio.Reader
}

func connect(t testing.TB, s *Server) *client {
	t.Helper()
	c, err := net.DialTimeout("tcp", s.Addr().String(), wait)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(wait))
	return &client{c.(*net.TCPConn), t, bufio.NewReader(c)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads one answer with Go's own parser.
func (c *client) answer(method string) (*http.Response, string, error) {
	r, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(r.Body)
	return r, string(body), err
}

// wants reads one answer and compares it.
func (c *client) wants(status int, body string) *http.Response {
	c.t.Helper()
	r, got, err := c.answer("GET")
	if err != nil || r.StatusCode != status || got != body {
		c.t.Fatalf("got %+v, %q, %v; want %d %q", r, got, err, status, body)
	}
	return r
}

// wantsEnd reads on until the server's end; RST and further bytes are mistakes.
func (c *client) wantsEnd() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.r); err != nil || len(rest) > 0 {
		c.t.Fatalf("instead of the end came %q, %v", rest, err)
	}
}

// wantsReset reads on until a RST.
func (c *client) wantsReset() (before string) {
	c.t.Helper()
	got, err := io.ReadAll(c.r)
	if !errors.Is(err, syscall.ECONNRESET) {
		c.t.Fatalf("instead of a reset came %q, %v", got, err)
	}
	return string(got)
}

// engines runs f with every event loop of this system.
func engines(t *testing.T, f func(t *testing.T, engine string)) {
	for _, kind := range evloop.Kinds[1:] {
		loop, err := evloop.New(kind)
		if err != nil {
			continue
		}
		loop.Stop()
		loop.Run(nil) // frees it
		t.Run(kind, func(t *testing.T) { f(t, kind) })
	}
}

// decode reads a Stats and insists on knowing every key.
func decode(t *testing.T, b []byte) Stats {
	t.Helper()
	var st Stats
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(&st); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return st
}
