package loadgen

import (
	"time"

	"loomlab/clock"
	"loomlab/loadgen/evloop"
)

const (
	// tick is how often a loop looks at what has no timer of its own: time-outs
	// and what the run has decided meanwhile.
	tick = 10 * time.Millisecond
	// dialsOutstanding bounds the connects under way in all loops together: a
	// server's accept queue is 100 or 128 by default.
	dialsOutstanding = 32
	// lateAfter is when a request of the schedule counts as started late.
	lateAfter = 10 * time.Millisecond
	// givenUp is how many attempts in a row a slot makes before the run stops
	// waiting for it; it goes on trying.
	givenUp = 5
)

// worker is one event loop with its share of the connections: the
// [evloop.Handler] that makes the load. Everything in it belongs to its loop,
// until the loop has ended.
type worker struct {
	job   *job
	run   *run
	loop  evloop.Loop
	index int

	slots  []slot // as many as may be in flight
	active int    // how many of them are in use
	wanted int    // how many are asked for from the start

	queue    list // wait to connect
	dialing  list // by start of the connect
	inFlight list // by send time
	idle     list
	waiting  timers
	dialTick clock.Time // since when dialed counts
	dialed   int        // connects started in this tick

	// outstanding counts requests that were sent and have no outcome yet: those
	// in flight, and those that wait to be sent again.
	outstanding int64
	budget      int64 // requests that may still be sent in the window
	pickWeights []float64

	times    times
	phase    phase
	boundary clock.Time // the next instant at which counting changes
	wake     clock.Time // what Due returned last, or an earlier timer made since
	nextTick clock.Time
	lastDue  clock.Time // when Due was called last

	cur                   *counts
	before, window, after *counts
	connect               histogram // of the whole run
	connectFailed         [connectClasses]int64
	slowConnects          int64 // 900 ms or more: a SYN was sent again
	examples              examples

	carriedIn, inFlightAtEnd int64
	established, answered    int64 // slots, at the opening of the window
	everEstablished          int64
	everAnswered             int64
	hopeless, dead           int64 // slots
	firstSend, lastOutcome   clock.Time
	firstLatency             time.Duration // of the very first answer

	spread   spread
	schedule schedule
	sampler  sampler
}

func newWorker(j *job, r *run, loop evloop.Loop, index int) *worker {
	w := &worker{job: j, run: r, loop: loop, index: index, boundary: clock.Never}
	w.slots = make([]slot, j.share(int64(j.cfg.MaxInFlight), index))
	w.wanted = int(j.share(int64(j.cfg.Connections), index))
	w.before, w.window, w.after = newCounts(len(j.targets)), newCounts(len(j.targets)), newCounts(len(j.targets))
	w.cur = w.before
	w.budget = 1<<63 - 1
	if j.cfg.Requests > 0 {
		w.budget = j.share(j.cfg.Requests, index)
	}
	w.pickWeights = make([]float64, len(j.targets))
	w.times = *r.times.Load()
	w.waiting = make(timers, 0, w.wanted)
	w.schedule = schedule{rate: j.cfg.Rate, from: clock.Never}
	w.spread.off = w.times.open != clock.Never // nothing is to be sent before the window
	w.setBoundary()
	return w
}

// begin puts the slots that are asked for in the queue to connect.
func (w *worker) begin(now clock.Time) {
	for w.active < w.wanted {
		w.activate(now)
	}
	w.dialNext(now)
}

// activate takes one more slot into use.
func (w *worker) activate(now clock.Time) {
	s := &w.slots[w.active]
	s.index = int32(w.active)
	w.active++
	w.enqueue(s, now)
}

// Due implements [evloop.Handler].
func (w *worker) Due(now clock.Time) clock.Time {
	if now < w.wake {
		return w.wake
	}
	if w.wake > 0 {
		w.cur.lag.record(now.Sub(w.wake))
	} else {
		w.begin(now)
	}
	if now >= w.boundary {
		w.cross(now)
	}
	if now >= w.nextTick {
		w.housekeeping(now)
		w.nextTick = now.Add(tick)
	}
	for w.waiting.next() <= now {
		w.timer(w.waiting.pop(), now)
	}
	w.startDue(now)
	w.wake = min(w.nextTick, w.boundary, w.waiting.next(), w.schedule.wake(w))
	return w.wake
}

// housekeeping does what can wait for a tick.
func (w *worker) housekeeping(now clock.Time) {
	if t := w.run.times.Load(); *t != w.times {
		w.times = *t
		w.sampler.follow(w)
		w.setBoundary()
		w.schedule.begin(w)
		if now >= w.boundary {
			w.cross(now)
		}
	}
	w.sweep(now)
	w.spread.tick(w, now)
	w.dialNext(now)
	w.publish(now)
}

// sweep ends requests and connects that are beyond the time limit.
func (w *worker) sweep(now clock.Time) {
	limit := w.job.cfg.Timeout
	for s := w.inFlight.head; s != nil && now.Sub(s.sent) >= limit; s = w.inFlight.head {
		w.fail(s, now, errTimeout)
	}
	for s := w.dialing.head; s != nil && now.Sub(s.since) >= limit; s = w.dialing.head {
		s.conn.Reset()
		w.connectFailure(s, now, connectTimeout)
	}
}

// timer ends the wait of a slot: for its first send, or to connect again.
func (w *worker) timer(s *slot, now clock.Time) {
	w.leave(s, now)
	switch {
	case s.conn == nil:
		w.redial(s, now)
	case !w.mayStart():
		w.park(s, now)
	case w.schedule.running():
		w.park(s, now)
		w.startDue(now)
	default:
		if !s.answered {
			w.spread.begins(now.Sub(s.at))
		}
		w.send(s, now, now)
	}
}

// wait lets s sleep until at.
func (w *worker) wait(s *slot, at clock.Time) {
	s.state, s.at = slotWaiting, at
	w.waiting.push(s)
	w.wake = min(w.wake, at)
}

// Opened implements [evloop.Handler].
func (w *worker) Opened(c *evloop.Conn) {
	now := clock.Now()
	if now >= w.boundary {
		w.cross(now)
	}
	s := c.Tag.(*slot)
	took := now.Sub(s.since)
	w.leave(s, now)
	w.connect.record(took)
	if took >= 900*time.Millisecond {
		w.slowConnects++
	}
	w.cur.opened++
	s.connectFails, s.answers = 0, 0
	if s.dead {
		s.dead = false
		w.dead--
	}
	if !s.established {
		s.established = true
		w.everEstablished++
	}
	w.dialNext(now)
	if s.retry {
		w.sendAgain(s, now)
		return
	}
	w.proceed(s, now)
}

// Data implements [evloop.Handler]: the path of every answer.
func (w *worker) Data(c *evloop.Conn, b []byte) {
	now := clock.Now()
	if now >= w.boundary {
		w.cross(now)
	}
	s := c.Tag.(*slot)
	if s.state != slotInFlight {
		w.cur.unsolicited++
		w.lost(s, now)
		return
	}
	n, done, err := s.resp.Parse(b)
	s.bytes += int64(n)
	switch {
	case err != nil:
		w.examples.note(errorNames[errProtocol], err)
		w.fail(s, now, errProtocol)
	case done:
		w.answer(s, now, b, n)
	}
}

// EOF implements [evloop.Handler].
func (w *worker) EOF(c *evloop.Conn) {
	now := clock.Now()
	if now >= w.boundary {
		w.cross(now)
	}
	s := c.Tag.(*slot)
	if s.state != slotInFlight {
		w.lost(s, now)
		return
	}
	if done, err := s.resp.EOF(); !done {
		if w.stale(s, now) {
			w.again(s, now, errEOF)
			return
		}
		w.examples.note(errorNames[errEOF], err)
		w.fail(s, now, errEOF)
		return
	}
	w.answer(s, now, nil, 0)
}

// Failed implements [evloop.Handler]. The connection is closed already.
func (w *worker) Failed(c *evloop.Conn, err error) {
	now := clock.Now()
	if now >= w.boundary {
		w.cross(now)
	}
	s := c.Tag.(*slot)
	switch s.state {
	case slotDialing:
		class := classifyConnect(err)
		w.examples.note(connectNames[class], err)
		w.connectFailure(s, now, class)
	case slotInFlight:
		class := classify(err)
		if class == errReset && w.stale(s, now) {
			w.again(s, now, errReset)
			return
		}
		w.examples.note(errorNames[class], err)
		w.fail(s, now, class)
	default:
		w.lost(s, now)
	}
}
