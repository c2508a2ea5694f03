package downstream

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// closedBy waits until every connection is closed and one cause has them all.
func closedBy(t *testing.T, s *Server, cause string, n int64) {
	t.Helper()
	st := eventually(t, s, cause, func(st Stats) bool { return st.Connections.Closed[cause] == n })
	checkIdentities(t, st)
}

func TestMaxRequestsAnnounced(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s := start(t, Config{MaxRequests: 3, Engine: engine})
		c := connect(t, s)
		for i := 1; i <= 3; i++ {
			c.send(get)
			if r := c.wants(200, "ok"); r.Close != (i == 3) {
				t.Errorf("answer %d: close %v", i, r.Close)
			}
		}
		c.send(get) // is not served
		c.wantsEnd()
		closedBy(t, s, "max_requests", 1)
		if st := s.Stats(); st.Requests != 3 {
			t.Errorf("%d requests", st.Requests)
		}
	})
}

func TestMaxRequestsRude(t *testing.T) {
	s := start(t, Config{MaxRequests: 2, Rude: true})
	c := connect(t, s)
	for range 2 {
		c.send(get)
		if r := c.wants(200, "ok"); r.Close {
			t.Error("the end was announced")
		}
	}
	c.wantsEnd()
	closedBy(t, s, "max_requests", 1)
}

// With a big body, a close right after the answer must still be an end, no RST.
func TestMaxRequestsAfterUpload(t *testing.T) {
	s := start(t, Config{MaxRequests: 1})
	for range 10 {
		c := connect(t, s)
		go io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n"+strings.Repeat("x", 1<<20)+get)
		c.wants(200, "ok")
		c.wantsEnd()
	}
}

// Go's client copes with every announced end: no request fails.
func TestMaxRequestsWithGoClient(t *testing.T) {
	s := start(t, Config{MaxRequests: 10})
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: wait}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				r, err := client.Get(s.URL())
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		})
	}
	group.Wait()
	st := s.Stats()
	if st.Requests != 400 || st.Connections.Closed["max_requests"] < 30 || st.RequestsPerConnMax != 10 {
		t.Errorf("account: %+v", st)
	}
}

// A delayed request is longer than the idle timeout and must not be cut.
func TestIdleTimeout(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s := start(t, Config{Delay: 150 * time.Millisecond, IdleTimeout: 50 * time.Millisecond, Engine: engine})
		c := connect(t, s)
		c.send(get)
		c.wants(200, "ok")
		answered := time.Now()
		c.wantsEnd()
		if idle := time.Since(answered); idle < 45*time.Millisecond {
			t.Errorf("closed after %v", idle)
		}
		closedBy(t, s, "idle", 1)

		connect(t, s).wantsEnd() // also one that never asked
		closedBy(t, s, "idle", 2)
	})
}

// Nine connections become idle, five may be: each of the nine got its answer.
func TestMaxIdle(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s := start(t, Config{Delay: 20 * time.Millisecond, MaxIdle: 5, Engine: engine})
		var clients []*client
		for range 9 {
			clients = append(clients, connect(t, s))
		}
		for _, c := range clients {
			c.send(get)
		}
		for _, c := range clients {
			c.wants(200, "ok")
		}
		st := eventually(t, s, "four closed", func(st Stats) bool { return st.Connections.Closed["max_idle"] == 4 })
		if st.Connections.Open != 5 || st.Answered != 9 {
			t.Errorf("account: %+v", st)
		}
		open := 0
		for _, c := range clients {
			c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			if _, err := c.r.ReadByte(); errors.Is(err, io.EOF) {
				continue
			} else if e := net.Error(nil); errors.As(err, &e) && e.Timeout() {
				open++
				continue
			}
			t.Error("neither open nor ended")
		}
		if open != 5 {
			t.Errorf("%d are open", open)
		}
	})
}

// A connection that goes on asking gives its place up and gets it again.
func TestMaxIdleCountsOnlyIdleOnes(t *testing.T) {
	s := start(t, Config{MaxIdle: 1})
	c := connect(t, s)
	for range 50 {
		c.send(get + get)
		c.wants(200, "ok")
		c.wants(200, "ok")
	}
	if st := s.Stats(); st.Connections.Closed["max_idle"] != 0 || st.Connections.Open != 1 {
		t.Errorf("account: %+v", st)
	}
}

func TestMaxConnsWait(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s := start(t, Config{MaxConns: 2, Engine: engine})
		a, b, c := connect(t, s), connect(t, s), connect(t, s)
		for _, served := range []*client{a, b} {
			served.send(get)
			served.wants(200, "ok")
		}
		c.send(get)
		c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := c.r.Peek(1); err == nil {
			t.Fatal("the third connection was served")
		}
		if st := s.Stats(); st.Connections.Accepted != 2 || st.Connections.Peak != 2 {
			t.Errorf("account: %+v", st)
		}
		a.Close()
		c.SetReadDeadline(time.Now().Add(wait))
		c.wants(200, "ok")
	})
}

func TestMaxConnsReset(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s := start(t, Config{MaxConns: 1, MaxConnsMode: "reset", Engine: engine})
		a := connect(t, s)
		a.send(get)
		a.wants(200, "ok")
		if c, err := net.Dial("tcp", s.Addr().String()); err == nil {
			_, err = c.Read(make([]byte, 1))
			c.Close()
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the second connection saw %v", err)
			}
		} else if !errors.Is(err, syscall.ECONNRESET) { // it can come as early as that
			t.Errorf("the second connection saw %v", err)
		}
		closedBy(t, s, "max_conns", 1)
		a.send(get)
		a.wants(200, "ok")
		a.Close()
		eventually(t, s, "room", func(st Stats) bool { return st.Connections.Open == 0 })
		b := connect(t, s)
		b.send(get)
		b.wants(200, "ok")
	})
}

func TestMaxConnsRefuse(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s := start(t, Config{MaxConns: 1, MaxConnsMode: "refuse", Engine: engine})
		a := connect(t, s)
		a.send(get)
		a.wants(200, "ok")
		if _, err := net.Dial("tcp", s.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("a second connection: %v", err)
		}
		a.Close()
		for deadline := time.Now().Add(wait); ; time.Sleep(time.Millisecond) {
			c, err := net.Dial("tcp", s.Addr().String())
			if err == nil {
				c.Close()
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("refused for ever: %v", err)
			}
		}
	})
}

// With a backlog of 1 and nobody accepting, only a few clients get through.
func TestBacklog(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s, err := New(Config{Backlog: 1, Engine: engine})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() // never served: nothing accepts (the portable loop takes a few)
		failed := false
		for range 40 {
			c, err := net.DialTimeout("tcp", s.Addr().String(), 100*time.Millisecond)
			if err != nil {
				failed = true
				break
			}
			defer c.Close()
		}
		if engine == "epoll" && !failed {
			t.Error("40 clients fit into a backlog of 1")
		}
	})
}

func TestLifetime(t *testing.T) {
	s := start(t, Config{Lifetime: 60 * time.Millisecond})
	idle := connect(t, s)
	idle.send(get)
	idle.wants(200, "ok")
	busy := connect(t, s)
	busy.send("GET /delay/100 HTTP/1.1\r\nHost: x\r\n\r\n")
	idle.wantsEnd()
	busy.wants(200, "ok") // outlives its time, but not in the middle of a request
	busy.send(get)
	if r := busy.wants(200, "ok"); !r.Close {
		t.Error("the end was not announced")
	}
	busy.wantsEnd()
	closedBy(t, s, "lifetime", 2)
}

func TestClosedByPeer(t *testing.T) {
	s := start(t, Config{})
	connect(t, s).Close()
	c := connect(t, s)
	c.send("GET / HT") // in the middle of a request
	c.Close()
	closedBy(t, s, "peer", 2)
}
