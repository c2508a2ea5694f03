package loadgen

import (
	"bufio"
	"context"
	"flag"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain lets more tests run at once than there are CPUs: they wait for their
// servers nearly all of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}

// rawServer answers requests with whatever bytes a test wants, and counts what
// it saw.
type rawServer struct {
	listener net.Listener
	url      string
	requests atomic.Int64
	accepted atomic.Int64
	open     atomic.Int64
	peak     atomic.Int64
	wg       sync.WaitGroup
}

// rawConn is one connection of a rawServer.
type rawConn struct {
	*net.TCPConn
	server *rawServer
	read   *bufio.Reader
	number int64 // of the connection, from 1
	count  int64 // requests on it so far
}

// request reads one request without a body and returns its head, or "" at the
// end of the connection.
func (c *rawConn) request() string {
	var head strings.Builder
	for {
		line, err := c.read.ReadString('\n')
		if err != nil {
			return ""
		}
		head.WriteString(line)
		if line == "\r\n" {
			c.count++
			c.server.requests.Add(1)
			return head.String()
		}
	}
}

func (c *rawConn) reset() {
	c.SetLinger(0)
	c.Close()
}

// newRaw starts a server that runs serve for each connection and closes it then.
func newRaw(t *testing.T, serve func(c *rawConn)) *rawServer {
	t.Helper()
	return newRawOn(t, "127.0.0.1:0", serve)
}

func newRawOn(t *testing.T, address string, serve func(c *rawConn)) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("cannot listen on %s: %v", address, err)
	}
	s := &rawServer{listener: l, url: "http://" + l.Addr().String() + "/"}
	s.wg.Add(1)
	go s.accept(serve)
	t.Cleanup(func() {
		l.Close()
		s.wg.Wait()
	})
	return s
}

func (s *rawServer) accept(serve func(c *rawConn)) {
	defer s.wg.Done()
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		number := s.accepted.Add(1)
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			defer c.Close()
			now := s.open.Add(1)
			for peak := s.peak.Load(); now > peak && !s.peak.CompareAndSwap(peak, now); peak = s.peak.Load() {
			}
			serve(&rawConn{TCPConn: c.(*net.TCPConn), server: s, read: bufio.NewReader(c), number: number})
			s.open.Add(-1)
		}()
	}
}

// answerAll is a serve function that answers every request with the same bytes.
func answerAll(answer string) func(*rawConn) {
	return func(c *rawConn) {
		for c.request() != "" {
			if _, err := c.Write([]byte(answer)); err != nil {
				return
			}
		}
	}
}

// answerAfter is the same after a delay.
func answerAfter(delay time.Duration, answer string) func(*rawConn) {
	return func(c *rawConn) {
		for c.request() != "" {
			time.Sleep(delay)
			if _, err := c.Write([]byte(answer)); err != nil {
				return
			}
		}
	}
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// eachEngine runs f with every engine that this system has.
func eachEngine(t *testing.T, f func(t *testing.T, engine string)) {
	t.Parallel()
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel() // a load waits more than it works
			f(t, engine)
		})
	}
}

// load runs cfg and checks what holds for every result.
func load(t *testing.T, s *rawServer, cfg Config) *Result {
	t.Helper()
	if cfg.URL == "" {
		cfg.URL = s.url
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	res, err := Run(ctx, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, res)
	if q := res.Requests; s != nil && q.OK+q.Non2xx > s.requests.Load() {
		t.Errorf("%d answers to %d requests that the server saw", q.OK+q.Non2xx, s.requests.Load())
	}
	return res
}

// checkResult holds the accounting identity and what else can never be false.
func checkResult(t *testing.T, res *Result) {
	t.Helper()
	q := res.Requests
	if off := res.Identity(); off != 0 {
		t.Errorf("accounting is off by %d: %+v", off, q)
	}
	if d := q.Drained; d.OK+d.Non2xx+d.Errors+d.Abandoned != q.InFlight || d.Abandoned < 0 {
		t.Errorf("drained %+v does not add up to in flight %d", d, q.InFlight)
	}
	var statuses int64
	for _, n := range res.Status {
		statuses += n
	}
	if statuses != q.OK+q.Non2xx {
		t.Errorf("statuses %v, answers %d", res.Status, q.OK+q.Non2xx)
	}
	if (res.LatencyMS != nil) != (q.OK > 0) {
		t.Errorf("latency %v with %d ok answers", res.LatencyMS, q.OK)
	}
	if l := res.LatencyMS; l != nil {
		order := []float64{l.Min, l.P50, l.P75, l.P90, l.P95, l.P99, l.P999, l.Max}
		for i := 1; i < len(order); i++ {
			if order[i] < order[i-1] || order[0] <= 0 {
				t.Errorf("percentiles out of order: %+v", *l)
			}
		}
		if l.Mean < l.Min || l.Mean > l.Max {
			t.Errorf("mean outside min and max: %+v", *l)
		}
	}
	for _, w := range res.Warnings {
		if strings.HasPrefix(w, "slot_time") {
			t.Error(w)
		}
	}
}

func hasWarning(res *Result, word string) bool {
	for _, w := range res.Warnings {
		if strings.HasPrefix(w, word) {
			return true
		}
	}
	return false
}

func lead(d time.Duration) *time.Duration { return &d }
