package loadgen

import (
	"sync"
	"time"

	"loomlab/clock"
)

// sampler cuts what a loop counts into seconds. It costs one more histogram
// index per answer while it is on, and a lock once a second.
type sampler struct {
	on      bool
	from    clock.Time // of the second that runs
	end     clock.Time
	latency histogram // of the second that runs
	last    totals
}

// totals are a loop's counters over all phases.
type totals struct {
	ok, non2xx, errors, opened int64
}

func (w *worker) totals() (t totals) {
	for _, c := range []*counts{w.before, w.window, w.after} {
		t.ok += c.ok
		t.non2xx += c.non2xx
		t.errors += c.errorTotal()
		t.opened += c.opened
	}
	return t
}

func (p *sampler) begin(from clock.Time) {
	p.on, p.from, p.end = true, from, from.Add(time.Second)
}

// follow begins the seconds of one generator of several with the load of all, so
// that the seconds of all are the same ones.
func (p *sampler) follow(w *worker) {
	if w.run.observe != nil && !p.on && w.times.begin > 0 && w.times.begin != clock.Never {
		p.last = w.totals()
		p.begin(w.times.begin)
	}
}

// flush hands over the interval that ends at at, and begins the next one.
func (p *sampler) flush(w *worker, at clock.Time) {
	now := w.totals()
	w.run.seconds.add(w.index, at, second{
		from: p.from, phase: w.phase,
		totals:   totals{now.ok - p.last.ok, now.non2xx - p.last.non2xx, now.errors - p.last.errors, now.opened - p.last.opened},
		inFlight: w.outstanding,
	}, &p.latency)
	p.last = now
	p.latency.clear()
	p.from, p.end = at, at.Add(time.Second)
}

// cut ends the interval that runs at a border of the window, so that none
// belongs to two phases.
func (p *sampler) cut(w *worker, at clock.Time) {
	if p.on && at > p.from {
		p.flush(w, at)
	}
}

// second is an interval of all loops together.
type second struct {
	from, to clock.Time
	phase    phase
	totals
	inFlight int64
	loops    int // how many have handed theirs over
	latency  histogram
}

// seconds gathers the intervals of the loops. The loops cut at the same
// instants, which are the keys.
type seconds struct {
	mu    sync.Mutex
	loops int
	byEnd map[clock.Time]*second
	free  []*second
}

func (q *seconds) add(loop int, at clock.Time, part second, latency *histogram) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.byEnd[at]
	if s == nil {
		if n := len(q.free); n > 0 {
			s, q.free = q.free[n-1], q.free[:n-1]
		} else {
			s = &second{}
		}
		s.latency.clear()
		*s = second{from: part.from, to: at, phase: part.phase, latency: s.latency}
		q.byEnd[at] = s
	}
	s.ok += part.ok
	s.non2xx += part.non2xx
	s.errors += part.errors
	s.opened += part.opened
	s.inFlight += part.inFlight
	s.loops++
	s.latency.merge(latency)
}

// take returns the oldest interval that every loop has handed over, or nil.
func (q *seconds) take() *second {
	q.mu.Lock()
	defer q.mu.Unlock()
	var oldest *second
	for _, s := range q.byEnd {
		if oldest == nil || s.to < oldest.to {
			oldest = s
		}
	}
	if oldest == nil || oldest.loops < q.loops {
		return nil
	}
	delete(q.byEnd, oldest.to)
	return oldest
}

func (q *seconds) give(s *second) {
	q.mu.Lock()
	q.free = append(q.free, s)
	q.mu.Unlock()
}

// handOver gives complete seconds to the observer. The piece before the window
// opens is only kept when it is nearly a second: a shorter one would look like a
// dip to whoever reads the counts as rates.
func (r *run) handOver() {
	if r.observe == nil {
		return
	}
	for s := r.seconds.take(); s != nil; s = r.seconds.take() {
		length := s.to.Sub(s.from).Seconds()
		if s.phase != phaseBefore || length > 0.9 {
			sample := &Sample{
				Phase: r.sampleName(s.phase), Seconds: length,
				OK: s.ok, Non2xx: s.non2xx, Errors: s.errors, Opened: s.opened,
				InFlight: s.inFlight, LatencyMS: s.latency.summary(), histogram: s.latency.hdr,
			}
			if r.job.cfg.Part.shared() && s.latency.n > 0 {
				sample.Latencies, _ = s.latency.encode() // without it the others' percentiles cannot be joined: they are null then
			}
			r.emit(Event{Event: "sample", At: s.to.Seconds(), Sample: sample})
		}
		r.seconds.give(s)
	}
}

func (r *run) sampleName(p phase) string {
	switch p {
	case phaseWindow:
		return "window"
	case phaseAfter:
		return "drain"
	}
	if r.opened > 0 { // handed over a moment after the window opened
		return "lead-in"
	}
	return r.phase
}
