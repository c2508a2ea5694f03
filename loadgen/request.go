package loadgen

import (
	"errors"
	"time"

	"loomlab/clock"
	"loomlab/loadgen/http1"
)

// staleWithin bounds how long after the send the end of a reused connection can
// still be one that the server had decided before the request came.
const staleWithin = 100 * time.Millisecond

var errSurplus = errors.New("bytes beyond the end of the answer before")

// mayStart says whether another request may be sent.
func (w *worker) mayStart() bool {
	switch w.phase {
	case phaseBefore:
		return true
	case phaseWindow:
		return w.budget > 0
	}
	return false
}

// pick chooses the target of the next request: the one furthest behind its
// weight, so that any number of requests is shared out exactly.
func (w *worker) pick() int {
	if len(w.pickWeights) == 1 {
		return 0
	}
	best := 0
	for i := range w.pickWeights {
		w.pickWeights[i] += w.job.targets[i].Weight
		if w.pickWeights[i] > w.pickWeights[best] {
			best = i
		}
	}
	w.pickWeights[best]--
	return best
}

// send starts a request on an established connection that has none under way.
func (w *worker) send(s *slot, now, intended clock.Time) {
	s.state, s.since, s.sent, s.intended = slotInFlight, now, now, intended
	s.bytes, s.retried = 0, false
	s.target = uint16(w.pick())
	s.resp.Reset(w.job.head)
	w.inFlight.push(s)
	w.outstanding++
	w.cur.sent++
	if w.phase == phaseWindow {
		w.budget--
	}
	if w.firstSend == 0 {
		w.firstSend = now
	}
	s.conn.Write(w.job.requests[s.target])
}

// answer ends a request whose answer is complete: at n of b, or by the peer's FIN.
func (w *worker) answer(s *slot, now clock.Time, b []byte, n int) {
	took := now.Sub(s.sent)
	if took > w.job.cfg.Timeout { // too late, only not swept yet
		w.fail(s, now, errTimeout)
		return
	}
	w.leave(s, now)
	w.outcome(now)
	c, t := w.cur, &w.cur.targets[s.target]
	c.status[s.resp.Status%len(c.status)]++
	c.bytes += s.bytes
	if s.resp.Status/100 == 2 {
		latency := now.Sub(s.intended)
		c.ok++
		t.ok++
		t.latency.record(latency)
		if w.schedule.rate > 0 {
			c.fromSend.record(took)
		}
		if w.sampler.on {
			w.sampler.latency.record(latency)
		}
	} else {
		c.non2xx++
		t.non2xx++
		w.examples.body(&s.resp, b[:n])
	}
	w.firstAnswer(s, took, now)
	s.answers++
	s.requestFails = 0
	if !s.resp.KeepAlive || w.job.cfg.NoKeepAlive {
		if !s.resp.KeepAlive && !w.job.cfg.NoKeepAlive {
			c.closedByServer++
		}
		w.disconnect(s, now)
		return
	}
	w.proceed(s, now)
	if len(b) > n {
		w.surplus(s, now)
	}
}

// surplus deals with bytes behind a complete answer. They came before the next
// request was sent, so they cannot be its answer, and where that begins cannot
// be known: as when they arrive a moment later, it ends as a protocol error.
func (w *worker) surplus(s *slot, now clock.Time) {
	w.cur.unsolicited++
	if s.state == slotInFlight {
		w.examples.note(errorNames[errProtocol], errSurplus)
		w.fail(s, now, errProtocol)
		return
	}
	w.lost(s, now)
}

// firstAnswer notes what only the first answer of a slot or run tells.
func (w *worker) firstAnswer(s *slot, took time.Duration, now clock.Time) {
	if s.answered {
		return
	}
	s.answered = true
	w.everAnswered++
	if s.hopeless {
		s.hopeless = false
		w.hopeless--
	}
	if w.firstLatency == 0 {
		w.firstLatency = took
	}
	w.spread.measured(w, took, now)
}

// outcome counts that a request has ended, one way or the other.
func (w *worker) outcome(now clock.Time) {
	w.outstanding--
	w.lastOutcome = now
}

// fail ends a request that has no complete answer, and its connection: a late
// answer must never be taken for the next one's.
func (w *worker) fail(s *slot, now clock.Time, class errorClass) {
	w.leave(s, now)
	w.outcome(now)
	w.cur.errors[class]++
	w.cur.targets[s.target].errors++
	if class == errTimeout && s.unheard() {
		w.cur.targets[s.target].unheard++
	}
	w.drop(s)
	if !s.answered { // no latency to spread the first sends over will come of it
		w.spread.measured(w, spreadGuess, now)
	}
	if class == errTimeout {
		w.redial(s, now)
		return
	}
	s.requestFails++
	if !s.answered && s.requestFails >= givenUp {
		w.giveUp(s)
	}
	if s.requestFails < 2 {
		w.redial(s, now)
		return
	}
	w.backOff(s, now, min(time.Duration(s.requestFails-1)*10*time.Millisecond, 100*time.Millisecond))
}

// stale says whether a connection that ended without a byte of an answer was
// one that the server had closed between requests, so that the request merely
// crossed the FIN. Clients send such a request again (RFC 9112 9.3.1).
func (w *worker) stale(s *slot, now clock.Time) bool {
	return s.unheard() && !s.retried && w.job.retryable &&
		now.Sub(s.sent) < staleWithin && w.phase != phaseAfter
}

// again lets a request that met a closed connection be sent on a new one. It
// stays the same request: sent once, its clock running on.
func (w *worker) again(s *slot, now clock.Time, cause errorClass) {
	w.leave(s, now)
	w.drop(s)
	w.cur.retried++
	w.cur.closedByServer++
	s.retry, s.retried, s.cause = true, true, cause
	w.enqueue(s, now)
	w.dialNext(now)
}

// sendAgain sends a retried request on its new connection.
func (w *worker) sendAgain(s *slot, now clock.Time) {
	s.retry = false
	if w.phase == phaseAfter {
		w.failRetry(s, now)
		w.park(s, now)
		return
	}
	s.state, s.since, s.bytes = slotInFlight, now, 0
	s.resp.Reset(w.job.head)
	w.inFlight.insert(s)
	s.conn.Write(w.job.requests[s.target])
}

// failRetry ends a retried request that cannot be sent again.
func (w *worker) failRetry(s *slot, now clock.Time) {
	s.retry = false
	w.outcome(now)
	w.cur.errors[s.cause]++
	w.cur.targets[s.target].errors++
	w.examples.note(errorNames[s.cause], http1.ErrNoAnswer)
}
