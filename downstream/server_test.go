package downstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"loomlab/loadgen/evloop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

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

// The answers of 100 clients come after the delay, all of them, and none early.
func TestDelay(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		const n, delay = 100, 120 * time.Millisecond
		s := start(t, Config{Delay: delay, Engine: engine, Loops: 2})
		clients := make([]*client, n)
		for i := range clients {
			clients[i] = connect(t, s)
		}
		var group sync.WaitGroup
		for _, c := range clients {
			group.Go(func() {
				for range 2 {
					sent := time.Now()
					if _, err := io.WriteString(c, get); err != nil {
						t.Error(err)
						return
					}
					_, body, err := c.answer("GET")
					took := time.Since(sent)
					if err != nil || body != "ok" {
						t.Errorf("%q, %v", body, err)
					}
					if took < delay {
						t.Errorf("answered %v early", delay-took)
					}
					if took > 20*delay {
						t.Errorf("answered after %v", took)
					}
				}
			})
		}
		group.Wait()
		st := s.Stats()
		if st.Requests != 2*n || st.Answered != 2*n || st.InFlight != 0 || st.Connections.Open != n || st.RequestsPerConnMax != 2 {
			t.Errorf("account: %+v", st)
		}
		if st.InFlightMax < n/2 || st.InFlightMax > n {
			t.Errorf("at most %d in flight", st.InFlightMax)
		}
		if l := st.LatenessMS; l == nil || l.Min < 0 || l.P99 < l.P50 {
			t.Errorf("lateness %+v", l)
		}
	})
}

// A slow request must not hold up a fast one on another connection.
func TestRequestsAreIndependent(t *testing.T) {
	s := start(t, Config{Delay: time.Minute})
	slow := connect(t, s)
	slow.send(get)
	fast := connect(t, s)
	for _, path := range []string{"/delay/0", "/delay/1", "/delay/0.5", "/delay/2?x=y"} {
		fast.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
		fast.wants(200, "ok")
	}
	fast.send("GET /delay/soon HTTP/1.1\r\nHost: x\r\n\r\n")
	fast.wants(400, "/delay/{ms}: up to 3600000 milliseconds")
	if st := s.Stats(); st.InFlight != 1 || st.Answered != 5 {
		t.Errorf("account: %+v", st)
	}
}

func TestDelayPerRequest(t *testing.T) {
	s := start(t, Config{})
	c := connect(t, s)
	sent := time.Now()
	c.send("GET /delay/80 HTTP/1.1\r\nHost: x\r\n\r\n")
	c.wants(200, "ok")
	if took := time.Since(sent); took < 80*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
}

func TestParseMillis(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "100": 100 * time.Millisecond, "0.25": 250 * time.Microsecond, "1.000001": time.Millisecond + time.Nanosecond,
		".5": 500 * time.Microsecond, "3600000": time.Hour, "007": 7 * time.Millisecond, "1.": time.Millisecond, "0.0000000009": 0,
	} {
		if got, ok := parseMillis([]byte(text)); !ok || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", ".", "-1", "+1", "1e3", "3600001", "1.2.3", "99999999999999999999999", "1 "} {
		if got, ok := parseMillis([]byte(text)); ok {
			t.Errorf("%q was taken for %v", text, got)
		}
	}
}

// An answer that is due after its connection ended must not reach the next
// connection, which gets the same Conn and, on epoll, the same descriptor.
func TestDelayedAnswerNeverReachesAnotherConnection(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s := start(t, Config{Delay: 60 * time.Millisecond, Engine: engine})
		for range 5 {
			first := connect(t, s)
			first.send(get)
			eventually(t, s, "a request in flight", func(st Stats) bool { return st.InFlight == 1 })
			first.SetLinger(0)
			first.Close()
			eventually(t, s, "the reset", func(st Stats) bool { return st.InFlight == 0 })
			second := connect(t, s)
			second.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			if b, err := second.r.ReadByte(); err == nil {
				t.Fatalf("an answer to nobody's request: %q", b)
			}
			second.Close()
		}
		st := eventually(t, s, "all closed", func(st Stats) bool { return st.Connections.Open == 0 })
		if st.Lost != 5 || st.Answered != 0 || st.Connections.Closed["reset"] != 5 || st.Connections.Closed["peer"] != 5 {
			t.Errorf("account: %+v", st)
		}
	})
}

func TestHalfClosedClientGetsItsAnswer(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s := start(t, Config{Delay: 30 * time.Millisecond, Engine: engine})
		c := connect(t, s)
		c.send(get + get)
		c.CloseWrite()
		c.wants(200, "ok")
		c.wants(200, "ok")
		c.wantsEnd()
		if st := s.Stats(); st.Connections.Closed["peer"] != 1 {
			t.Errorf("account: %+v", st)
		}
	})
}

func TestSeveralLoopsShareThePort(t *testing.T) {
	s := start(t, Config{Loops: 3})
	const n = 30
	for range n {
		c := connect(t, s)
		c.send(get)
		c.wants(200, "ok")
	}
	if st := s.Stats(); st.Requests != n || st.Connections.Accepted != n {
		t.Errorf("account: %+v", st)
	}
}

// A second server on a taken port fails at once, also beside one whose loops
// share it.
func TestPortInUse(t *testing.T) {
	for _, loops := range []int{1, 2} {
		s := start(t, Config{Loops: loops})
		for _, again := range []int{1, 2} {
			_, err := New(Config{Listen: s.Addr().String(), Loops: again})
			if !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("%d loops beside %d: %v", again, loops, err)
			}
		}
	}
}

func TestConfigMistakesAllAtOnce(t *testing.T) {
	_, err := New(Config{Listen: "8081", Delay: -1, MaxRequests: -1, Status: 99, MaxConnsMode: "explode", MaxIdle: 5, Loops: 2})
	for _, part := range []string{`"8081"`, "delay", "max requests", "status 99", "explode", "one loop"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in: %v", part, err)
		}
	}
}

func TestCloseWithoutServe(t *testing.T) {
	s, err := New(Config{Loops: 2, GRPC: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Requests != 0 || st.URL != s.URL() {
		t.Errorf("account: %+v", st)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Serve(context.Background()); err != nil {
		t.Errorf("Serve after Close: %v", err)
	}
	if c, err := net.Dial("tcp", s.Addr().String()); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}

func TestServeEndsWithContext(t *testing.T) {
	s, err := New(Config{Delay: time.Hour, GRPC: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	c := connect(t, s)
	c.send(get)
	eventually(t, s, "a request in flight", func(st Stats) bool { return st.InFlight == 1 })
	cancel()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	c.wantsEnd()
	checkIdentities(t, s.Stats())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestIPv6(t *testing.T) {
	s, err := New(Config{Listen: "[::1]:0"})
	if err != nil {
		t.Skipf("NO IPv6 HERE, not tested: %v", err)
	}
	s.Close()
	s = start(t, Config{Listen: "[::1]:0"})
	if s.Addr().Addr() != netip.IPv6Loopback() {
		t.Errorf("listens on %v", s.Addr())
	}
	c := connect(t, s)
	c.send(get)
	c.wants(200, "ok")
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
