package loadgen

import (
	"net/netip"
	"time"

	"loomlab/clock"
)

// leave takes s out of what it was in and books the time it spent there.
func (w *worker) leave(s *slot, now clock.Time) {
	switch s.state {
	case slotQueued:
		w.queue.remove(s)
	case slotDialing:
		w.dialing.remove(s)
	case slotInFlight:
		w.inFlight.remove(s)
	case slotIdle:
		w.idle.remove(s)
		s.state, s.since = slotOff, now
		return // idle time belongs to nobody
	case slotOff, slotHeld:
		s.state, s.since = slotOff, now
		return
	}
	if w.phase == phaseWindow {
		w.cur.slotTime += now.Sub(s.since)
	}
	s.state, s.since = slotOff, now
}

// drop closes the connection of s at once, so that nothing more can come of it.
func (w *worker) drop(s *slot) {
	if s.conn != nil {
		s.conn.Reset()
		s.conn = nil
	}
}

// disconnect closes the connection of s after a complete answer and lets the
// next request come on a new one.
func (w *worker) disconnect(s *slot, now clock.Time) {
	s.conn.Close()
	s.conn = nil
	w.redial(s, now)
}

// lost deals with a connection that the server ended while no request was under
// way: a reconnect, not an error.
func (w *worker) lost(s *slot, now clock.Time) {
	w.cur.closedByServer++
	if s.conn != nil {
		s.conn.Close() // no effect on one that failed
		s.conn = nil
	}
	if s.state == slotWaiting {
		return // its timer connects it again
	}
	w.leave(s, now)
	w.redial(s, now)
}

// redial lets s connect again, if there is anything left to send.
func (w *worker) redial(s *slot, now clock.Time) {
	if !w.mayStart() || w.phase == phaseWindow && w.budget <= w.prospects() {
		s.state = slotOff
		w.finish(now)
		return
	}
	w.enqueue(s, now)
	w.dialNext(now)
}

// prospects is how many slots are free to send or will be: with -n, no more
// connections are made than there are requests left.
func (w *worker) prospects() int64 {
	return int64(w.queue.n + w.dialing.n + w.idle.n + len(w.waiting))
}

func (w *worker) enqueue(s *slot, now clock.Time) {
	s.state, s.since = slotQueued, now
	w.queue.push(s)
}

// dialLimit is how many connects of this loop may be outstanding: its share of
// those of all loops of all generators. Where every
// request needs a connection, the load that was asked for is the limit.
func (w *worker) dialLimit() int {
	if w.job.cfg.NoKeepAlive && w.phase == phaseWindow {
		return len(w.slots)
	}
	return int(max(1, dialsOutstanding/w.job.stride()))
}

// dialNext starts as many of the queued connects as may be outstanding, and until
// all were connected once no more of them in one tick: the kernel completes a
// connect before the server has accepted it, so a limit on outstanding ones alone
// fills an accept queue of 100 within a millisecond, and what follows waits a second.
func (w *worker) dialNext(now clock.Time) {
	if w.phase == phaseAfter {
		return
	}
	limit := w.dialLimit()
	ramp := w.everEstablished < int64(w.wanted)
	if now.Sub(w.dialTick) >= tick {
		w.dialTick, w.dialed = now, 0
	}
	for ; w.dialing.n < limit && (w.dialed < limit || !ramp); w.dialed++ {
		s := w.queue.head
		if s == nil {
			return
		}
		w.leave(s, now)
		s.state = slotDialing
		w.dialing.push(s)
		s.conn = w.loop.Dial(w.job.addr, netip.Addr{})
		s.conn.Tag = s
	}
}

// connectFailure ends a connect that failed; its connection is closed already.
func (w *worker) connectFailure(s *slot, now clock.Time, class connectClass) {
	w.leave(s, now)
	s.conn = nil
	w.connectFailed[class]++
	s.connectFails++
	if s.retry {
		w.failRetry(s, now)
	}
	if s.connectFails >= givenUp {
		if !s.dead {
			s.dead = true
			w.dead++
		}
		if !s.answered {
			w.giveUp(s)
		}
	}
	delay := min(10*time.Millisecond<<min(s.connectFails-1, 7), time.Second)
	w.backOff(s, now, delay)
	w.dialNext(now)
}

// backOff lets s wait before it connects again.
func (w *worker) backOff(s *slot, now clock.Time, delay time.Duration) {
	if !w.mayStart() {
		s.state = slotOff
		w.finish(now)
		return
	}
	w.wait(s, now.Add(delay))
}

// giveUp counts a slot that nobody should wait for any longer.
func (w *worker) giveUp(s *slot) {
	if !s.hopeless {
		s.hopeless = true
		w.hopeless++
	}
}

// proceed decides what a connected slot without a request does next.
func (w *worker) proceed(s *slot, now clock.Time) {
	switch {
	case !w.mayStart():
		w.park(s, now)
	case w.schedule.rate > 0 && (s.answered || w.spread.off || w.schedule.running()):
		w.park(s, now)
		w.startDue(now)
	case !s.answered && w.spread.holds(w, s, now):
	default:
		w.send(s, now, now)
	}
}

// park leaves s connected and idle.
func (w *worker) park(s *slot, now clock.Time) {
	s.state, s.since = slotIdle, now
	w.idle.push(s)
	w.finish(now)
}
