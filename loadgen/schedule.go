package loadgen

import (
	"math"

	"loomlab/clock"
)

// schedule is the open loop: when requests have to start, whatever the answers
// do. Request number n of the run is due at from + n ÷ rate; loop i of L takes
// the numbers i, i+L, i+2L, … so the sum over the loops is exact for any L, and
// over the loops of several generators too (see [Part]).
//
// A request that finds no free connection waits for one and keeps its time, so
// that a server that stalls is seen in full. Nothing is stored for those that
// wait: they are the numbers between next and now.
type schedule struct {
	rate   float64    // per second, of all loops of all generators; 0: a closed loop
	from   clock.Time // Never until the schedule runs
	k      int64      // this loop's next request
	next   clock.Time // when it is due
	firstK int64      // the first one of the window
	// scheduled and notStarted of the window are known when it has closed.
	scheduled, notStarted int64
}

func (p *schedule) running() bool { return p.rate > 0 && p.from != clock.Never }

// begin starts the schedule when the run has decided about its time.
func (p *schedule) begin(w *worker) {
	if p.rate > 0 && p.from == clock.Never && w.times.rateFrom != clock.Never {
		p.from = w.times.rateFrom
		if w.job.cfg.Part.shared() { // the schedule of all began with their load: join it
			p.from = w.times.begin
			p.k = p.before(w, w.times.rateFrom)
		}
		p.next = p.due(w, p.k)
		w.wake = min(w.wake, p.next)
	}
}

// due is the time of this loop's request k.
func (p *schedule) due(w *worker, k int64) clock.Time {
	return p.from + clock.Time(float64(w.job.number(w.index, k))*1e9/p.rate)
}

// before is how many requests of this loop are due before at.
func (p *schedule) before(w *worker, at clock.Time) int64 {
	if at <= p.from {
		return 0
	}
	numbers := float64(at-p.from) * p.rate / 1e9
	k := max(int64(math.Floor((numbers-float64(w.job.number(w.index, 0)))/float64(w.job.stride())))-1, 0)
	for p.due(w, k) < at { // rounding
		k++
	}
	return k
}

// openWindow leaves to the warm-up what it could not start: in the window,
// scheduled = sent + not started.
func (p *schedule) openWindow(w *worker, at clock.Time) {
	if p.running() {
		p.k = max(p.k, p.before(w, at))
		p.firstK, p.next = p.k, p.due(w, p.k)
	}
}

func (p *schedule) closeWindow(w *worker, at clock.Time) {
	switch {
	case p.rate == 0:
	case w.job.cfg.Requests > 0:
		p.scheduled, p.notStarted = w.job.share(w.job.cfg.Requests, w.index), w.budget
	case p.running():
		end := p.before(w, at)
		p.scheduled, p.notStarted = max(end-p.firstK, 0), max(end-p.k, 0)
	}
}

// wake is when the schedule needs the loop next.
func (p *schedule) wake(w *worker) clock.Time {
	if !p.running() || !w.mayStart() || w.idle.n == 0 && (w.active == len(w.slots) || p.next <= w.lastDue) {
		return clock.Never // an answer, a connect or the tick will go on
	}
	return p.next
}

// startDue starts what is due, as far as there are free connections.
func (w *worker) startDue(now clock.Time) {
	p := &w.schedule
	if !p.running() {
		return
	}
	w.lastDue = now
	for p.next <= now && w.mayStart() {
		s := w.idle.head
		if s == nil {
			w.grow(now)
			return
		}
		due, late := p.next, now.Sub(p.next)
		if s.since <= due {
			w.cur.pacing.record(late)
		}
		if late > lateAfter {
			w.cur.late++
		}
		p.k++
		p.next = p.due(w, p.k)
		w.leave(s, now)
		w.send(s, now, due)
	}
	w.wake = min(w.wake, p.wake(w))
}

// grow opens connections for the requests that wait for one.
func (w *worker) grow(now clock.Time) {
	waiting := w.schedule.before(w, now+1) - w.schedule.k
	for w.active < len(w.slots) && int64(w.dialing.n+w.queue.n) < waiting {
		w.activate(now)
	}
	w.dialNext(now)
}
