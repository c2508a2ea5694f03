package downstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
