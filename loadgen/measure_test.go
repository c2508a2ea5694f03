package loadgen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Fast refusals enter neither latency nor throughput.
func TestErrorsStayOutOfLatency(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) {
			for c.request() != "" {
				if c.count%2 == 1 {
					time.Sleep(50 * time.Millisecond)
					c.Write([]byte(okAnswer))
				} else {
					c.Write([]byte("HTTP/1.1 429 \r\nContent-Length: 8\r\n\r\nslow, ok"))
				}
			}
		})
		res := load(t, s, Config{Engine: engine, Connections: 4, Duration: 500 * time.Millisecond, LeadIn: lead(100 * time.Millisecond)})
		if res.LatencyMS.P50 < 49.9 || res.LatencyMS.Min < 49.9 {
			t.Errorf("%+v", res.LatencyMS)
		}
		if q := res.Requests; q.OK-q.Non2xx > 4 || q.Non2xx-q.OK > 4 || res.Status["429"] != q.Non2xx {
			t.Errorf("%+v %v", q, res.Status)
		}
		if !hasWarning(res, "degraded") && !hasWarning(res, "failed") || res.Examples["status 429"] != "slow, ok" {
			t.Errorf("%v %v", res.Warnings, res.Examples)
		}
	})
}

func TestRedirectsAreCounted(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) {
			for head := c.request(); head != ""; head = c.request() {
				if !strings.HasPrefix(head, "GET / ") {
					t.Errorf("request %q", head)
				}
				c.Write([]byte("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"))
			}
		})
		res := load(t, s, Config{Engine: engine, Connections: 2, Requests: 20})
		if res.Status["302"] != 20 || res.Requests.Non2xx != 20 || !hasWarning(res, "redirects") || res.Healthy() {
			t.Errorf("%v %+v %v", res.Status, res.Requests, res.Warnings)
		}
	})
}

// A request beyond the limit is counted once, its connection is closed, and no
// later request is sent on it.
func TestTimeouts(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		var afterLate atomic.Int64
		s := newRaw(t, func(c *rawConn) {
			for c.request() != "" {
				if c.server.requests.Load()%5 == 0 {
					time.Sleep(400 * time.Millisecond)
					c.Write([]byte(okAnswer))
					c.SetReadDeadline(time.Now().Add(time.Second))
					if c.request() != "" {
						afterLate.Add(1)
					}
					return
				}
				time.Sleep(5 * time.Millisecond)
				c.Write([]byte(okAnswer))
			}
		})
		res := load(t, s, Config{Engine: engine, Connections: 5, Duration: time.Second, Timeout: 150 * time.Millisecond, LeadIn: lead(100 * time.Millisecond)})
		q := res.Requests
		if q.Errors.Timeout == 0 || q.Errors.Total() != q.Errors.Timeout || res.LatencyMS.Max > 150 {
			t.Errorf("%+v, max %v", q, res.LatencyMS.Max)
		}
		if share := float64(q.Errors.Timeout) / float64(q.Sent); share < 0.1 || share > 0.6 {
			t.Errorf("%.2f of the requests timed out", share)
		}
		if afterLate.Load() > 0 {
			t.Errorf("%d requests on connections of requests that timed out", afterLate.Load())
		}
	})
}

func TestAllTimeOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) { c.request(); c.request() })
		res := load(t, s, Config{Engine: engine, Connections: 3, Duration: 900 * time.Millisecond, Timeout: 400 * time.Millisecond, LeadIn: lead(0)})
		if res.Requests.Errors.Timeout < 3 || res.LatencyMS != nil || *res.ThroughputPerS != 0 || res.Healthy() {
			t.Errorf("%+v", res.Requests)
		}
		if res.Seconds < 0.89 || res.Seconds > 0.91 || res.Connections.Answered != 0 {
			t.Errorf("%v s, %+v", res.Seconds, res.Connections)
		}
	})
}

// The first answers are slow: they belong to the warm-up, which shows them.
func TestWarmup(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) {
			for c.request() != "" {
				if c.server.requests.Load() <= 30 {
					time.Sleep(200 * time.Millisecond)
				} else {
					time.Sleep(2 * time.Millisecond)
				}
				c.Write([]byte(okAnswer))
			}
		})
		res := load(t, s, Config{Engine: engine, Connections: 10, Duration: 800 * time.Millisecond, Warmup: 600 * time.Millisecond, LeadIn: lead(50 * time.Millisecond)})
		if res.LatencyMS == nil || res.Warmup == nil {
			t.Fatalf("window %+v, warm-up %+v", res.LatencyMS, res.Warmup)
		}
		if res.LatencyMS.P50 >= 100 || res.Warmup.LatencyMS.Max < 200 || res.Warmup.Requests < 30 || *res.Warmup.FirstMS < 200 {
			t.Errorf("window %+v, warm-up %+v", res.LatencyMS, res.Warmup)
		}
	})
}

func TestTargets(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		var light, heavy atomic.Int64
		s := newRaw(t, func(c *rawConn) {
			for head := c.request(); head != ""; head = c.request() {
				if strings.HasPrefix(head, "GET /heavy?x=1 ") {
					heavy.Add(1)
					time.Sleep(10 * time.Millisecond)
				} else if strings.HasPrefix(head, "GET /light ") {
					light.Add(1)
				}
				c.Write([]byte(okAnswer))
			}
		})
		res := load(t, s, Config{Engine: engine, Connections: 4, Requests: 200, Loops: 1,
			Targets: []Target{{75, "/light"}, {25, "/heavy?x=1"}}})
		if light.Load() != 150 || heavy.Load() != 50 || len(res.Targets) != 2 {
			t.Fatalf("%d light, %d heavy, %+v", light.Load(), heavy.Load(), res.Targets)
		}
		a, b := res.Targets[0], res.Targets[1]
		if a.OK != 150 || b.OK != 50 || a.OK+b.OK != res.Requests.OK || b.LatencyMS.Min < 10 || a.Weight != 0.75 {
			t.Errorf("%+v", res.Targets)
		}
		if res.LatencyMS.Max < b.LatencyMS.Max || res.LatencyMS.Min > a.LatencyMS.Min {
			t.Errorf("together %+v", res.LatencyMS)
		}
	})
}

// The load stays in its warm-up until the start is given; samples tell.
func TestHoldAndSamples(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, answerAfter(10*time.Millisecond, okAnswer))
		start := make(chan struct{})
		var events []Event
		var windowSum, all int64
		observe := func(e Event) {
			events = append(events, e)
			if e.Sample == nil {
				return
			}
			all += e.Sample.OK
			if e.Sample.Phase == "window" {
				windowSum += e.Sample.OK
			}
			if e.Sample.Phase == "warmup" && start != nil {
				close(start)
				start = nil
			}
		}
		res, err := Run(context.Background(), Config{URL: s.url, Engine: engine, Connections: 10, Loops: 2, Duration: 1300 * time.Millisecond,
			Start: start, LeadIn: lead(100 * time.Millisecond)}, observe)
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, res)
		var story []string
		var opened, closed float64
		for _, e := range events {
			name := e.Event + e.State
			if e.Sample != nil {
				name = "sample " + e.Sample.Phase
			}
			if e.State == "open" {
				opened = e.At
			}
			if e.State == "closed" {
				closed = e.At
			}
			if len(story) == 0 || story[len(story)-1] != name {
				story = append(story, name)
			}
		}
		text := strings.Join(story, ", ")
		if !strings.HasPrefix(text, "ready, sample warmup, windowopen, ") || !strings.Contains(text, "windowclosed") {
			t.Errorf("events: %s", text)
		}
		if d := closed - opened; d < 1.2999 || d > 1.3001 {
			t.Errorf("the window lasted %v s", d)
		}
		if windowSum != res.Requests.OK {
			t.Errorf("the samples of the window have %d ok, the result %d", windowSum, res.Requests.OK)
		}
	})
}

// Ctrl-C: what was measured so far.
func TestInterrupted(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, answerAfter(5*time.Millisecond, okAnswer))
		for _, cfg := range []Config{{Duration: 20 * time.Second, LeadIn: lead(0)}, {Requests: 1_000_000}, {Duration: 20 * time.Second, LeadIn: lead(20 * time.Second)}} {
			cfg.URL, cfg.Engine, cfg.Connections = s.url, engine, 5
			ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
			began := time.Now()
			res, err := Run(ctx, cfg, nil)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			checkResult(t, res)
			if took := time.Since(began); took > 5*time.Second || !hasWarning(res, "interrupted") {
				t.Errorf("%v, warnings %v", took, res.Warnings)
			}
			measures := cfg.LeadIn == nil || *cfg.LeadIn == 0
			if measures != (res.Requests.OK > 0) || measures != (res.Seconds > 0) {
				t.Errorf("%v s, %+v", res.Seconds, res.Requests)
			}
		}
	})
}

// Bytes per request and status counts stay exact over many requests.
func TestManySmallAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	answer := "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"
	s := newRaw(t, func(c *rawConn) {
		for c.request() != "" {
			c.Write([]byte(answer))
		}
	})
	const n = 20000
	res := load(t, s, Config{Connections: 16, Requests: n})
	if res.Status["200"] != n || res.BytesIn != n*int64(len(answer)) || res.LatencyMS.P50 <= 0 {
		t.Errorf("%v, %d bytes, %+v", res.Status, res.BytesIn, res.LatencyMS)
	}
}

// The sum of slot times is what the connections had: N × T.
func TestSlotTime(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) {
			for c.count < 3 && c.request() != "" {
				time.Sleep(20 * time.Millisecond)
				if c.server.requests.Load()%7 == 0 {
					return // an error, then a reconnect
				}
				c.Write([]byte(okAnswer))
			}
		})
		res := load(t, s, Config{Engine: engine, Connections: 20, Duration: time.Second, LeadIn: lead(200 * time.Millisecond)})
		want := 20 * res.Seconds
		if got := *res.SlotSeconds; got < want*0.99 || got > want*1.01 {
			t.Errorf("slots %v s, want %v; %+v %+v", got, want, res.Requests, res.Connections)
		}
	})
}

// The first sends are spread over one latency: the server never sees them all at once.
func TestFirstSendsAreSpread(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		const n = 50
		var tenths [10]int
		for range 3 { // a machine that stood still meanwhile brings them together
			if tenths = firstSends(t, engine, n); slices.Max(tenths[:]) <= n*2/3 {
				return
			}
		}
		t.Errorf("first sends of %d by tenths of a latency: %v", n, tenths)
	})
}

// firstSends counts the first sends of n connections by tenths of the latency that
// the very first request took: a busy machine makes it longer than the server's delay.
func firstSends(t *testing.T, engine string, n int) (tenths [10]int) {
	first, answered := make(chan time.Time, n), make(chan time.Time, 1)
	s := newRaw(t, func(c *rawConn) {
		for c.request() != "" {
			if c.count == 1 {
				first <- time.Now()
			}
			time.Sleep(200 * time.Millisecond)
			select {
			case answered <- time.Now():
			default: // not the first
			}
			c.Write([]byte(okAnswer))
		}
	})
	load(t, s, Config{Engine: engine, Loops: 1, Connections: n, Duration: 100 * time.Millisecond, LeadIn: lead(0)})
	probe := <-first
	over := (<-answered).Sub(probe)
	begin := <-first
	tenths[0]++
	for range n - 2 {
		tenths[max(0, min(9, int((<-first).Sub(begin)*10/over)))]++
	}
	return tenths
}

// A run on two loops with three hostile kinds of ends keeps its accounts.
func TestMixedEndsKeepTheIdentity(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) {
			for c.request() != "" {
				switch n := c.server.requests.Load(); {
				case n%11 == 0:
					c.reset()
					return
				case n%13 == 0:
					c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"))
					return
				case n%17 == 0:
					fmt.Fprintf(c, "HTTP/9 nonsense\r\n\r\n")
					return
				case n%19 == 0:
					fmt.Fprintf(c, "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
					return
				}
				time.Sleep(2 * time.Millisecond)
				c.Write([]byte(okAnswer))
			}
		})
		res := load(t, s, Config{Engine: engine, Connections: 15, Loops: 2, Duration: 700 * time.Millisecond, LeadIn: lead(100 * time.Millisecond)})
		q := res.Requests
		if q.Errors.EOF == 0 || q.Errors.Protocol == 0 || q.Non2xx == 0 || q.OK == 0 {
			t.Errorf("%+v", q)
		}
	})
}
