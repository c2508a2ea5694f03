package loadgen

import (
	"time"

	"loomlab/clock"
)

// spread staggers the first sends over one latency, which it takes from the
// first answer: requests that start together stay together, and every second of
// the run would show their wave. Nobody but that first one sends before all are
// connected: under load a server accepts too slowly for its accept queue, and a
// connect that finds it full is tried again only a second later.
type spread struct {
	off      bool          // first sends are not spread
	probe    clock.Time    // when the first request was sent, whose answer is awaited
	over     time.Duration // one latency; 0 until known
	released bool          // all are connected and over is known
	base     clock.Time
	began    clock.Time // see begins
	held     []*slot    // connected, waiting to be released
}

const (
	probeLimit  = time.Second // how long to wait for the first answer
	spreadLimit = 2 * time.Second
	spreadGuess = 100 * time.Millisecond // without an answer
	// gatherLimit is how long to wait for all connections from the first send on.
	gatherLimit = 3 * time.Second
)

// holds decides about the first send of s; true: not now.
func (p *spread) holds(w *worker, s *slot, now clock.Time) bool {
	switch {
	case p.off:
		return false
	case p.probe == 0:
		p.probe = now
		return false
	case !p.released:
		s.state, s.since = slotHeld, now
		p.held = append(p.held, s)
		return true
	}
	at := p.place(w, s)
	if late := now.Sub(at); late > 0 { // keep its place in the cycle
		at = at.Add((late + p.over - 1) / p.over * p.over)
	}
	if at <= now {
		p.begins(0)
		return false
	}
	s.since = now
	w.wait(s, at)
	return true
}

// begins notes when the load really began, by the first of the held slots: it
// sends so much later than its place in the spread says.
func (p *spread) begins(late time.Duration) {
	if p.began == 0 {
		p.began = p.base.Add(late)
	}
}

// place is the first send of s in the first cycle.
func (p *spread) place(w *worker, s *slot) clock.Time {
	rank := w.job.number(w.index, int64(s.index))
	return p.base.Add(time.Duration(int64(p.over) * rank / int64(w.job.whole)))
}

// measured takes the latency of the first answer.
func (p *spread) measured(w *worker, latency time.Duration, now clock.Time) {
	if p.off || p.over > 0 {
		return
	}
	p.over = min(max(latency, time.Microsecond), spreadLimit)
	p.release(w, now)
}

// release lets the held slots send, each in its place, once all are connected;
// it does not wait for those whose connects fail. One generator of several also
// waits for the instant at which the load of all begins.
func (p *spread) release(w *worker, now clock.Time) {
	gathered := w.everEstablished >= int64(w.wanted) || w.dead > 0 || now.Sub(p.probe) > gatherLimit
	if p.off || p.released || p.over == 0 || !gathered || w.times.begin == clock.Never {
		return
	}
	p.released, p.base = true, max(now, w.times.begin)
	held := p.held
	p.held = nil
	for _, s := range held {
		if s.state == slotHeld {
			s.state = slotOff
			w.proceed(s, now)
		}
	}
}

// tick ends the wait for a first answer that does not come.
func (p *spread) tick(w *worker, now clock.Time) {
	if p.probe != 0 && p.over == 0 && now.Sub(p.probe) > probeLimit {
		p.measured(w, spreadGuess, now)
	}
	p.release(w, now)
}
