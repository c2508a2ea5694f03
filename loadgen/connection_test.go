package loadgen

import (
	"net"
	"strings"
	"testing"
	"time"
)

// The server announces the close of each connection and stays open for a second:
// the client goes at once, and nothing is an error.
func TestConnectionCloseLingering(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) {
			if c.request() == "" {
				return
			}
			c.Write([]byte("HTTP/1.1 200 OK\r\ncOnNeCtIoN: TE , Close\r\nContent-Length: 2\r\n\r\nok"))
			c.SetReadDeadline(time.Now().Add(time.Second))
			if n, err := c.read.ReadByte(); err == nil {
				t.Errorf("the client sent %q into a connection announced as closing", n)
			}
		})
		began := time.Now()
		res := load(t, s, Config{Engine: engine, Connections: 2, Requests: 20})
		if q := res.Requests; q.OK != 20 || q.Errors.Total() != 0 || s.accepted.Load() != 20 || res.Connections.Opened != 20 {
			t.Errorf("%+v, %d connections", q, s.accepted.Load())
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		if res.Connections.ClosedByServer != 20 {
			t.Errorf("%d closed by the server", res.Connections.ClosedByServer)
		}
	})
}

// A server closes each connection after 100 requests, with and without saying so.
func TestCloseEveryHundred(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		for _, announced := range []bool{true, false} {
			s := newRaw(t, func(c *rawConn) {
				for c.count < 100 && c.request() != "" {
					answer := okAnswer
					if announced && c.count == 100 {
						answer = strings.Replace(okAnswer, "\r\n", "\r\nConnection: close\r\n", 1)
					}
					c.Write([]byte(answer))
				}
			})
			res := load(t, s, Config{Engine: engine, Connections: 1, Requests: 1000})
			q := res.Requests
			// A server that is kept from closing for long has taken the request.
			lost := q.Errors.EOF + q.Errors.Reset
			if q.Sent != 1000 || q.OK != 1000-lost || q.Errors.Total() != lost || announced && lost > 0 || lost > 2 {
				t.Errorf("announced %v: %+v", announced, q)
			}
			if n := s.accepted.Load(); n != 10 || res.Connections.Opened != 10 {
				t.Errorf("announced %v: %d connections, %d opened, %d retried", announced, n, res.Connections.Opened, res.Connections.Retried)
			}
		}
	})
}

// HTTP/1.0 without keep-alive: the client closes although the server waits.
func TestHTTP10(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) {
			c.request()
			c.Write([]byte("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"))
			time.Sleep(50 * time.Millisecond)
		})
		res := load(t, s, Config{Engine: engine, Connections: 1, Requests: 10})
		if res.Requests.OK != 10 || res.Requests.Errors.Total() != 0 || s.accepted.Load() != 10 {
			t.Errorf("%+v, %d connections", res.Requests, s.accepted.Load())
		}
	})
}

// A body that the connection delimits ends well with FIN and badly with RST;
// half a head and a FIN is an error at once, although the server's socket stays.
func TestEndOfConnection(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		reset := newRaw(t, func(c *rawConn) {
			c.request()
			c.Write([]byte("HTTP/1.1 200 OK\r\n\r\nhello"))
			time.Sleep(10 * time.Millisecond)
			c.reset()
		})
		if res := load(t, reset, Config{Engine: engine, Connections: 1, Requests: 3}); res.Requests.Errors != (Errors{Reset: 3}) {
			t.Errorf("RST in a close-delimited body: %+v", res.Requests)
		}
		half := newRaw(t, func(c *rawConn) {
			c.request()
			c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Le"))
			c.CloseWrite()
			c.SetReadDeadline(time.Now().Add(6 * time.Second))
			c.read.ReadByte()
		})
		began := time.Now()
		res := load(t, half, Config{Engine: engine, Connections: 1, Requests: 1})
		if res.Requests.Errors != (Errors{EOF: 1}) || time.Since(began) > 5*time.Second {
			t.Errorf("half a head: %+v after %v", res.Requests, time.Since(began))
		}
	})
}

// A server that takes requests and ends the connection without a word fails
// them; the first of a connection is never sent again.
func TestNoAnswerIsAnError(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) { c.request() })
		res := load(t, s, Config{Engine: engine, Connections: 2, Requests: 6})
		if q := res.Requests; q.Errors != (Errors{EOF: 6}) || s.requests.Load() != 6 || res.Connections.Retried != 0 {
			t.Errorf("%+v, the server saw %d", q, s.requests.Load())
		}
		if res.Healthy() || res.LatencyMS != nil || res.ThroughputPerS == nil || *res.ThroughputPerS != 0 {
			t.Errorf("nothing succeeded, but: %+v", res)
		}
		slow := newRaw(t, func(c *rawConn) {
			if c.request() != "" {
				c.Write([]byte(okAnswer))
			}
			if c.request() != "" {
				time.Sleep(250 * time.Millisecond) // it has taken the request
			}
		})
		res = load(t, slow, Config{Engine: engine, Connections: 1, Requests: 4})
		if q := res.Requests; q.OK != 2 || q.Errors.EOF != 2 {
			t.Errorf("a request that was taken and dropped: %+v", q)
		}
		resets := newRaw(t, func(c *rawConn) { c.request(); c.reset() })
		if res = load(t, resets, Config{Engine: engine, Connections: 5, Requests: 25}); res.Requests.Errors != (Errors{Reset: 25}) {
			t.Errorf("resets: %+v", res.Requests)
		}
		if len(res.Examples) != 1 {
			t.Errorf("one example a class: %v", res.Examples)
		}
	})
}

// POST is not idempotent: it is never sent twice.
func TestPostIsNotRetried(t *testing.T) {
	s := newRaw(t, func(c *rawConn) {
		if c.request() != "" {
			c.Write([]byte(okAnswer))
		}
		c.request()
	})
	res := load(t, s, Config{Method: "POST", Connections: 1, Requests: 4})
	if q := res.Requests; q.OK != 2 || q.Errors.Total() != 2 || s.requests.Load() != 4 || res.Connections.Retried != 0 {
		t.Errorf("%+v, the server saw %d", q, s.requests.Load())
	}
}

func TestNoKeepAlive(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) {
			for head := c.request(); head != ""; head = c.request() {
				if !strings.Contains(head, "\r\nConnection: close\r\n") {
					t.Errorf("request without Connection: close: %q", head)
				}
				c.Write([]byte(okAnswer))
			}
		})
		res := load(t, s, Config{Engine: engine, Connections: 5, Requests: 50, NoKeepAlive: true})
		if res.Requests.OK != 50 || s.accepted.Load() != 50 || s.peak.Load() > 10 || res.Connections.ClosedByServer != 0 {
			t.Errorf("%+v, %d connections, %d at once", res.Requests, s.accepted.Load(), s.peak.Load())
		}
	})
}

// A connection that the server ends while it is idle is opened again, silently.
func TestIdleCloseInOpenLoop(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) {
			for c.request() != "" {
				c.Write([]byte(okAnswer))
				c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
			}
		})
		res := load(t, s, Config{Engine: engine, Connections: 10, Rate: 50, Duration: time.Second, LeadIn: lead(50 * time.Millisecond)})
		if q := res.Requests; q.Errors.Total() != 0 || q.OK < 30 || res.Connections.ClosedByServer == 0 {
			t.Errorf("%+v, %d closed by the server", q, res.Connections.ClosedByServer)
		}
	})
}

// A server that accepts 10 connections and then is gone: 10 of 100 are shown,
// and the result is not healthy.
func TestFewerConnections(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		gone := make(chan struct{})
		s := newRaw(t, func(c *rawConn) {
			if c.number == 10 {
				c.server.listener.Close()
				close(gone)
			}
			<-gone
			if c.number > 10 {
				return
			}
			answerAfter(10*time.Millisecond, okAnswer)(c)
		})
		res := load(t, s, Config{Engine: engine, Connections: 100, Duration: 300 * time.Millisecond, Timeout: time.Second, LeadIn: lead(50 * time.Millisecond)})
		c := res.Connections
		if c.Answered != 10 || c.Failed.Refused == 0 || !hasWarning(res, "connections") || res.Requests.OK == 0 {
			t.Errorf("%+v, warnings %v", c, res.Warnings)
		}
		if res.Healthy() && c.Established < 100 {
			t.Error("healthy with fewer connections than asked for")
		}
	})
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String() + "/"
	l.Close()
	for _, engine := range engines { // not in parallel: another test's server could get the port
		for _, cfg := range []Config{{Duration: 5 * time.Second}, {Requests: 100}, {Rate: 100, Duration: 5 * time.Second}} {
			cfg.URL, cfg.Engine, cfg.Connections = url, engine, 10
			began := time.Now()
			res := load(t, nil, cfg)
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("took %v to find out", took)
			}
			if res.Healthy() || !hasWarning(res, "unreachable") || res.Connections.Failed.Refused < 10 || res.Requests.Sent != 0 {
				t.Errorf("%+v", res)
			}
		}
	}
}

// dying is a server that is gone after 50 requests.
func dying(t *testing.T) *rawServer {
	return newRaw(t, func(c *rawConn) {
		for c.request() != "" && c.server.requests.Load() <= 50 {
			c.Write([]byte(okAnswer))
		}
		c.server.listener.Close()
	})
}

// The server dies in the middle of -n: the run ends and says so.
func TestServerDiesInCount(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := dying(t)
		for _, n := range []int64{100000, 60} {
			res := load(t, s, Config{Engine: engine, Connections: 4, Requests: n})
			if !hasWarning(res, "unreachable") || res.Requests.Sent >= n {
				t.Errorf("%+v %v", res.Requests, res.Warnings)
			}
			s = dying(t)
		}
	})
}

// localhost is resolved once; the address that answers is used, whatever its family.
func TestLocalhost(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		s := newRawOn(t, address, answerAll(okAnswer))
		_, port, _ := net.SplitHostPort(s.listener.Addr().String())
		res := load(t, s, Config{URL: "http://localhost:" + port + "/", Connections: 2, Requests: 10})
		if res.Requests.OK != 10 || res.Address != s.listener.Addr().String() {
			t.Errorf("%s: %+v, address %s", address, res.Requests, res.Address)
		}
	}
}

// Connect time has a histogram of its own and no part in the latency.
func TestConnectTimeIsApart(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, answerAfter(5*time.Millisecond, okAnswer))
		res := load(t, s, Config{Engine: engine, Connections: 20, Duration: 300 * time.Millisecond, NoKeepAlive: true, LeadIn: lead(50 * time.Millisecond)})
		if res.ConnectMS == nil || res.Connections.Opened < 40 || res.Connections.OpenedInWindow == nil || *res.Connections.OpenedInWindow < 40 {
			t.Errorf("connects: %+v %+v", res.ConnectMS, res.Connections)
		}
	})
}
