package downstream

import (
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"loomlab/clock"
	"loomlab/loadgen/evloop"
)

// inLoop gives f a worker with one open connection, driven by hand inside its loop:
// the handler is exercised without the noise of a network.
func inLoop(t testing.TB, cfg Config, f func(w *worker, c *evloop.Conn)) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := s.workers[0]
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	go func() { // takes the answers away
		c, err := peer.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for b := make([]byte, 1<<20); err == nil; {
			_, err = c.Read(b)
		}
	}()
	h := &byHand{worker: w, ready: func(c *evloop.Conn) { f(w, c); w.loop.Stop() }}
	w.loop.Dial(peer.Addr().(*net.TCPAddr).AddrPort(), netip.Addr{})
	if err := w.loop.Run(h); err != nil {
		t.Fatal(err)
	}
	close(w.ended)
	s.served = true
	close(s.ended)
	s.Close()
}

type byHand struct {
	*worker
	ready func(c *evloop.Conn)
}

func (h *byHand) Opened(c *evloop.Conn) {
	h.worker.Opened(c)
	h.ready(c)
}

// A request on the hot path costs no allocation, with and without jitter and
// limits.
func TestNoAllocationPerRequest(t *testing.T) {
	for name, cfg := range map[string]Config{
		"fixed":  {Delay: time.Microsecond, Loops: 1, Engine: "auto"},
		"jitter": {Delay: time.Microsecond, Loops: 1, Jitter: parseJitter(t, "uniform:1us+spike:1us@0.1")},
		"limits": {Delay: time.Microsecond, Loops: 1, MaxIdle: 10, MaxRequests: 1 << 30, Faults: faults(t, "status=503@0.1")},
		"asked":  {Delay: time.Hour, Loops: 1},
	} {
		t.Run(name, func(t *testing.T) {
			request := []byte("GET /call HTTP/1.1\r\nHost: localhost:8081\r\nUser-Agent: Java-http-client/25\r\n\r\n")
			if name == "asked" {
				request = []byte("GET /delay/0.001 HTTP/1.1\r\nHost: localhost:8081\r\n\r\n")
			}
			inLoop(t, cfg, func(w *worker, c *evloop.Conn) {
				turn := func() {
					w.Data(c, request)
					for w.account.inFlight > 0 {
						w.Due(clock.Now())
					}
				}
				if w.loop.Kind() != "epoll" {
					t.Skip("the portable loop allocates")
				}
				if n := testing.AllocsPerRun(2000, turn); n > 0 {
					t.Errorf("%v allocations per request", n)
				}
			})
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	request := []byte("GET /call HTTP/1.1\r\nHost: localhost:8081\r\nUser-Agent: Java-http-client/25\r\n\r\n")
	inLoop(b, Config{Delay: time.Nanosecond, Loops: 1}, func(w *worker, c *evloop.Conn) {
		b.ReportAllocs()
		for b.Loop() {
			w.Data(c, request)
			for w.account.inFlight > 0 {
				w.Due(clock.Now())
			}
		}
	})
}

// An idle connection costs at most 2 KiB of our memory, all told.
func TestMemoryPerIdleConnection(t *testing.T) {
	const n = 2000
	s := start(t, Config{Engine: "auto", Loops: 1})
	if s.workers[0].loop.Kind() != "epoll" {
		t.Skip("the portable loop has goroutines and buffers for each connection")
	}
	client := &idleClient{ready: make(chan struct{})}
	loop, err := evloop.New("auto")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	client.left = n
	for range n {
		loop.Dial(s.Addr(), netip.Addr{})
	}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(client) }()
	select {
	case <-client.ready:
	case <-time.After(wait):
		t.Fatal("the clients were not answered")
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	loop.Stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	// Both ends are in this process: the client's part comes on top.
	if per := (int64(after.HeapInuse) - int64(before.HeapInuse)) / n; per > 2048 {
		t.Errorf("%d bytes per connection", per)
	}
	eventually(t, s, "all gone", func(st Stats) bool { return st.Connections.Open == 0 })
}

// idleClient asks once on every connection and then keeps still.
type idleClient struct {
	left  int
	ready chan struct{}
}

func (h *idleClient) Due(clock.Time) clock.Time { return clock.Never }
func (h *idleClient) Opened(c *evloop.Conn)     { c.Write([]byte(get)) }
func (h *idleClient) EOF(c *evloop.Conn)        { c.Close() }
func (h *idleClient) Failed(*evloop.Conn, error) {
}
func (h *idleClient) Data(*evloop.Conn, []byte) {
	if h.left--; h.left == 0 {
		close(h.ready)
	}
}
