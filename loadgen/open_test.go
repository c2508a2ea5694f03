package loadgen

import (
	"sync/atomic"
	"testing"
	"time"
)

// Ten connections of 100 ms cannot hold 500/s: what was not started is counted,
// and the wall time stays what was asked for.
func TestRateNotSustained(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, answerAfter(100*time.Millisecond, okAnswer))
		began := time.Now()
		res := load(t, s, Config{Engine: engine, Connections: 10, Rate: 500, Duration: time.Second, LeadIn: lead(100 * time.Millisecond)})
		o := res.Open
		if o.Scheduled != 500 || o.Scheduled-o.NotStarted != res.Requests.Sent {
			t.Errorf("%+v, sent %d", *o, res.Requests.Sent)
		}
		if res.Requests.OK > 110 || res.Requests.OK < 20 || !hasWarning(res, "rate_not_sustained") || s.peak.Load() != 10 {
			t.Errorf("%+v, %d connections", res.Requests, s.peak.Load())
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		if res.LatencyMS.Max < 200 || o.LatencyFromSendMS.Max >= res.LatencyMS.Max {
			t.Errorf("waiting for a connection is latency: %+v, from send %+v", res.LatencyMS, o.LatencyFromSendMS)
		}
	})
}

func TestRateIsHeld(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, answerAll(okAnswer))
		res := load(t, s, Config{Engine: engine, Rate: 500, Duration: time.Second, Loops: 2, LeadIn: lead(50 * time.Millisecond)})
		o := res.Open
		if o.Scheduled != 500 || o.NotStarted > 100 || res.Requests.OK < 390 || res.Mode != "open" {
			t.Errorf("%+v %+v", *o, res.Requests)
		}
		if o.PacingMS == nil || o.PacingMS.Min < 0 {
			t.Errorf("pacing %+v", o.PacingMS)
		}
		slow := load(t, s, Config{Engine: engine, Rate: 3, Duration: time.Second, Loops: 8, LeadIn: lead(50 * time.Millisecond)})
		if slow.Open.Scheduled != 3 || slow.Requests.OK < 2 {
			t.Errorf("3/s over 8 loops: %+v %+v", *slow.Open, slow.Requests)
		}
	})
}

// -n in an open loop: all are sent, at their times.
func TestCountAtRate(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, answerAll(okAnswer))
		res := load(t, s, Config{Engine: engine, Rate: 200, Requests: 100, Connections: 5})
		if res.Requests.OK != 100 || s.requests.Load() != 100 || res.Open.Scheduled != 100 || res.Open.NotStarted != 0 || res.Seconds < 0.4 {
			t.Errorf("%+v %+v in %v s", res.Requests, *res.Open, res.Seconds)
		}
	})
}

// A server that never answers: what is in flight is bounded, the rest is counted.
func TestNeverAnswering(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) { c.request(); c.request() })
		res := load(t, s, Config{Engine: engine, Rate: 400, Duration: 500 * time.Millisecond, Connections: 10, MaxInFlight: 20,
			Timeout: 1500 * time.Millisecond, LeadIn: lead(0)})
		if s.peak.Load() > 20 || res.Open.Scheduled != 200 || res.Open.NotStarted < 150 || res.Requests.OK != 0 {
			t.Errorf("%d at once, %+v, %+v", s.peak.Load(), *res.Open, res.Requests)
		}
		if res.Healthy() || res.LatencyMS != nil {
			t.Error("healthy without an answer")
		}
	})
}

// The server stalls for 400 ms of a second: in an open loop the stall is in the
// latencies in full, because requests go on being started (or at least due).
func TestStallIsSeen(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		var stall atomic.Int64 // until, unix ns
		s := newRaw(t, func(c *rawConn) {
			for c.request() != "" {
				if wait := stall.Load() - time.Now().UnixNano(); wait > 0 {
					time.Sleep(time.Duration(wait))
				}
				c.Write([]byte(okAnswer))
			}
		})
		var opened atomic.Bool
		observe := func(e Event) {
			if e.State == "open" && opened.CompareAndSwap(false, true) {
				time.AfterFunc(200*time.Millisecond, func() { stall.Store(time.Now().Add(400 * time.Millisecond).UnixNano()) })
			}
		}
		res, err := Run(t.Context(), Config{URL: s.url, Engine: engine, Rate: 250, Duration: time.Second, Connections: 10, MaxInFlight: 200, LeadIn: lead(50 * time.Millisecond)}, observe)
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, res)
		// 100 of 250 are due in the stall and wait 200 ms on average.
		if l := res.LatencyMS; l.Max < 380 || l.P75 < 60 || l.Mean < 40 {
			t.Errorf("%+v", l)
		}
		if res.Open.NotStarted > 50 || res.Requests.OK < 190 {
			t.Errorf("%+v %+v", *res.Open, res.Requests)
		}
	})
}
