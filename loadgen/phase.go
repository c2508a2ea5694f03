package loadgen

import (
	"sync/atomic"
	"time"

	"loomlab/clock"
)

// phase is what a loop counts for.
type phase uint8

const (
	phaseBefore phase = iota // connecting, warm-up, lead-in
	phaseWindow
	phaseAfter // the drain
)

// times are the instants that the run has decided so far; clock.Never for those
// that it has not. The loops take them over at their next tick, so they have to
// be ahead by more than that.
type times struct {
	begin    clock.Time // the load of several generators; 0: there is one, which begins when it is connected
	rateFrom clock.Time // the schedule of an open loop begins
	open     clock.Time // the window
	close    clock.Time
}

// setBoundary finds the next instant at which counting changes.
func (w *worker) setBoundary() {
	switch w.phase {
	case phaseBefore:
		w.boundary = w.times.open
	case phaseWindow:
		w.boundary = w.times.close
	default:
		w.boundary = clock.Never
	}
	if w.sampler.on {
		w.boundary = min(w.boundary, w.sampler.end)
	}
	w.wake = min(w.wake, w.boundary)
}

// cross moves over the boundaries up to now, in order. It is called before any
// event of now is counted, so an answer counts where its time belongs.
func (w *worker) cross(now clock.Time) {
	for now >= w.boundary {
		at := w.boundary
		if w.sampler.on && at == w.sampler.end {
			w.sampler.flush(w, at)
		}
		switch {
		case w.phase == phaseBefore && at == w.times.open:
			w.openWindow(at)
		case w.phase == phaseWindow && at == w.times.close:
			w.closeWindow(at)
		}
		w.setBoundary()
	}
}

func (w *worker) openWindow(at clock.Time) {
	w.sampler.cut(w, at)
	w.carriedIn = w.outstanding
	w.established, w.answered = w.everEstablished, w.everAnswered
	w.window.slotTime = -w.pending(at)
	w.phase, w.cur = phaseWindow, w.window
	w.schedule.openWindow(w, at)
}

func (w *worker) closeWindow(at clock.Time) {
	w.sampler.cut(w, at)
	w.inFlightAtEnd = w.outstanding
	w.window.slotTime += w.pending(at)
	w.schedule.closeWindow(w, at)
	w.phase, w.cur = phaseAfter, w.after
	// Nothing new begins: what is not connected stays so, requests that wait to
	// be sent again will not be.
	for _, l := range []*list{&w.queue, &w.dialing} {
		for s := l.head; s != nil; s = l.head {
			w.leave(s, at)
			w.drop(s)
			if s.retry {
				w.failRetry(s, at)
			}
		}
	}
	w.finish(at)
}

// pending is how long the slots have been in their present states, of those
// states that count as slot time.
func (w *worker) pending(at clock.Time) time.Duration {
	var sum time.Duration
	for i := range w.slots[:w.active] {
		switch s := &w.slots[i]; s.state {
		case slotQueued, slotDialing, slotWaiting, slotInFlight:
			sum += at.Sub(s.since)
		}
	}
	return sum
}

// status is what a loop tells the run at each tick.
type status struct {
	phase                                 atomic.Int32
	answered, established, hopeless, dead atomic.Int64
	outstanding, outcomes, prospects      atomic.Int64
	latencyNS, latencies                  atomic.Int64 // sum and number before the window
	finished                              atomic.Bool
	begun                                 atomic.Bool // the loop has had its first turn; before, the rest says nothing
}

func (w *worker) publish(now clock.Time) {
	st := &w.run.status[w.index]
	st.phase.Store(int32(w.phase))
	st.answered.Store(w.everAnswered)
	st.established.Store(w.everEstablished)
	st.hopeless.Store(w.hopeless)
	st.dead.Store(w.dead)
	st.outstanding.Store(w.outstanding)
	st.prospects.Store(w.prospects())
	st.outcomes.Store(w.cur.ok + w.cur.non2xx + w.cur.errorTotal())
	if w.phase == phaseBefore {
		sum, n := w.before.answers()
		st.latencyNS.Store(int64(sum))
		st.latencies.Store(n)
	}
	w.finish(now)
	st.begun.Store(true)
}

// finish says that this loop has nothing left to do: all of -n is sent and
// answered, or the drain is over.
func (w *worker) finish(clock.Time) {
	if w.outstanding == 0 && (w.phase == phaseAfter || w.phase == phaseWindow && w.budget == 0) {
		w.run.status[w.index].finished.Store(true)
	}
}
