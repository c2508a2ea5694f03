package loadgen

import (
	"net/netip"
	"testing"
	"time"

	"loomlab/clock"
	"loomlab/loadgen/evloop"
)

// stillLoop is an event loop without sockets: what a worker does for a request,
// and nothing else.
type stillLoop struct {
	evloop.Loop // nil: whatever else a worker should call would panic
	dialed      []*evloop.Conn
}

func (l *stillLoop) Dial(netip.AddrPort, netip.Addr) *evloop.Conn {
	c := &evloop.Conn{}
	l.dialed = append(l.dialed, c)
	return c
}

// stillWorker has n connections in flight, inside its window.
func stillWorker(tb testing.TB, cfg Config, n int) (*worker, []*evloop.Conn) {
	tb.Helper()
	cfg.URL, cfg.Connections, cfg.Loops = "http://127.0.0.1:1/", n, 1
	j, err := newJob(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	r := &run{job: j, status: make([]status, 1)}
	now := clock.Now()
	r.times.Store(&times{rateFrom: clock.Never, open: now, close: clock.Never})
	l := &stillLoop{}
	w := newWorker(j, r, l, 0)
	r.times.Store(&times{rateFrom: now, open: now, close: clock.Never})
	for i, at := 0, clock.Now(); i < n && at.Sub(now) < time.Minute; at = at.Add(tick) { // a tick for each share of the connects
		w.Due(at)
		for ; i < len(l.dialed); i++ { // grows as connects end
			w.Opened(l.dialed[i])
		}
	}
	if len(l.dialed) != n {
		tb.Fatalf("%d connections", len(l.dialed))
	}
	return w, l.dialed
}

// The path of every answer allocates nothing, in all modes.
func TestAnswersAllocateNothing(t *testing.T) {
	for name, cfg := range map[string]Config{
		"closed":  {},
		"targets": {Targets: []Target{{50, "/a"}, {50, "/b"}}},
		"open":    {Rate: 1e6},
	} {
		w, conns := stillWorker(t, cfg, 64)
		answer := []byte(okAnswer)
		round := func() {
			w.Due(clock.Now())
			for _, c := range conns {
				if c.Tag.(*slot).state == slotInFlight {
					w.Data(c, answer[:20])
					w.Data(c, answer[20:])
				}
			}
		}
		for range 20 {
			round()
			time.Sleep(100 * time.Microsecond) // the open loop's requests fall due
		}
		if w.window.ok < 640 {
			t.Fatalf("%s: %d answers: %+v", name, w.window.ok, w.window.errors)
		}
		if allocs := testing.AllocsPerRun(100, round); allocs != 0 {
			t.Errorf("%s: %v allocations in 64 requests", name, allocs)
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	w, conns := stillWorker(b, Config{}, 64)
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok")
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		w.Data(conns[i%len(conns)], answer)
	}
	if w.window.ok != int64(b.N) {
		b.Fatal(w.window.ok)
	}
}

func BenchmarkRecord(b *testing.B) {
	var h histogram
	b.ReportAllocs()
	for i := range b.N {
		h.record(time.Duration(i%1000) * 100 * time.Microsecond)
	}
}
