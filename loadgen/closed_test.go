package loadgen

import (
	"testing"
	"time"
)

func TestClosedLoop(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, answerAfter(20*time.Millisecond, okAnswer))
		res := load(t, s, Config{Engine: engine, Connections: 15, Duration: 500 * time.Millisecond, LeadIn: lead(100 * time.Millisecond)})
		if res.Requests.OK < 30 || res.Requests.OK > 15*(500/20+1) {
			t.Errorf("%d ok answers", res.Requests.OK)
		}
		if c := res.Connections; c.Established != 15 || c.Answered != 15 || c.Opened != 15 || s.peak.Load() != 15 {
			t.Errorf("connections %+v, the server's peak %d", c, s.peak.Load())
		}
		if res.Requests.CarriedIn == 0 || res.Requests.InFlight == 0 {
			t.Errorf("the window opened or closed on an empty pipeline: %+v", res.Requests)
		}
	})
}

func TestCount(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, answerAll(okAnswer))
		res := load(t, s, Config{Engine: engine, Connections: 7, Requests: 1000})
		if res.Requests.Sent != 1000 || res.Requests.OK != 1000 || s.requests.Load() != 1000 || s.accepted.Load() != 7 {
			t.Errorf("%+v, the server saw %d on %d connections", res.Requests, s.requests.Load(), s.accepted.Load())
		}
		if res.BytesIn != 1000*int64(len(okAnswer)) {
			t.Errorf("%d bytes", res.BytesIn)
		}
	})
}

// On a busy machine a loop may wait for its first turn: that is no dead end.
func TestLoopThatHasNotBegunIsNoDeadEnd(t *testing.T) {
	r := &run{status: make([]status, 2)}
	r.status[0].begun.Store(true)
	if r.deadEnd() {
		t.Error("a loop that has said nothing is taken for one that can do nothing")
	}
	if r.status[1].begun.Store(true); !r.deadEnd() {
		t.Error("no loop has a slot that could send, and it goes on")
	}
}
