package loadgen

import (
	"io"
	"testing"
	"time"
)

// One connection of four is read no more after its tenth request.
func TestStuckConnections(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, func(c *rawConn) {
			for c.request() != "" {
				if c.number == 1 && c.count > 10 {
					io.Copy(io.Discard, c.read) // until the client gives up
					return
				}
				time.Sleep(time.Millisecond)
				if _, err := c.Write([]byte(okAnswer)); err != nil {
					return
				}
			}
		})
		const timeout = 1500 * time.Millisecond
		res := load(t, s, Config{Engine: engine, Connections: 4, Duration: 600 * time.Millisecond, Timeout: timeout, LeadIn: lead(0)})
		if res.LatencyMS != nil && stuckFactor*res.LatencyMS.P99 > ms(timeout) {
			t.Skipf("SKIPPED: this machine is too busy: an answer took %v ms", res.LatencyMS.P99)
		}
		if n := res.Connections.Stuck; n == nil || *n != 1 || !hasWarning(res, "stuck") {
			t.Errorf("stuck: %v of %+v; warnings %v", n, res.Requests, res.Warnings)
		}
	})
}

func TestStuckIsNotOverload(t *testing.T) {
	const timeout = 10 * time.Second
	fill := func(h *histogram, took time.Duration) {
		for range 100 {
			h.record(took)
		}
	}
	for _, tc := range []struct {
		name                string
		took                time.Duration
		unheard, afterwards int64
		answers             uint32 // on the connection in flight at the end
		waits               time.Duration
		want                int64
	}{
		{"quick answers beside", 100 * time.Millisecond, 3, 2, 1, 5 * time.Second, 6},
		{"everybody waits", 1500 * time.Millisecond, 3, 2, 1, 9 * time.Second, 0},
		{"ten times as long at least", 900 * time.Millisecond, 3, 2, 1, 8 * time.Second, 5},
		{"a second at least", time.Millisecond, 0, 0, 1, 990 * time.Millisecond, 0},
		{"… and no more", time.Millisecond, 0, 0, 1, time.Second, 1},
		{"never answered at all", time.Millisecond, 0, 0, 0, 9 * time.Second, 0},
	} {
		j, err := newJob(Config{URL: "http://127.0.0.1:1/", Connections: 1, Duration: timeout, Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		w := &worker{}
		r := &run{job: j, workers: []*worker{w}, stopped: 100e9}
		w.inFlight.push(&slot{state: slotInFlight, answers: tc.answers, sent: r.stopped.Add(-tc.waits)})
		window, after := newCounts(1), newCounts(1)
		fill(&window.targets[0].latency, tc.took)
		window.targets[0].unheard, after.targets[0].unheard = tc.unheard, tc.afterwards
		if got := r.stuck(window, after); got == nil || *got != tc.want {
			t.Errorf("%s: %v, want %d", tc.name, got, tc.want)
		}
	}
}

// A path that is never answered says nothing about its connections, and where
// nothing is answered there is nothing to compare with.
func TestStuckNeedsAnswers(t *testing.T) {
	j, err := newJob(Config{URL: "http://127.0.0.1:1/", Targets: []Target{{Path: "/a", Weight: 1}, {Path: "/b", Weight: 1}}, Connections: 1, Duration: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{job: j}
	window, after := newCounts(2), newCounts(2)
	window.targets[1].unheard = 7
	if got := r.stuck(window, after); got != nil {
		t.Errorf("without answers: %d", *got)
	}
	window.targets[0].latency.record(time.Millisecond)
	if got := r.stuck(window, after); got == nil || *got != 0 {
		t.Errorf("of a path that is never answered: %v", got)
	}
}
