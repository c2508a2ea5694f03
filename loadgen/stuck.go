package loadgen

import "time"

// A server can lose a connection: it answers on all the others and never again
// on this one. Reactor Netty 1.3.7 stops reading one (see the app tests of package
// lab), and a closed loop then has one connection less until the request times
// out. Overload makes everybody wait, so a request counts as stuck only when it
// was left without a byte for far longer than the others of its target took.
const (
	stuckFactor = 10 // times the p99 of the same target
	stuckLeast  = time.Second
)

// stuck counts the requests of [Connections.Stuck]. The loops have ended.
func (r *run) stuck(window, after *counts) *int64 {
	if window.latency().n == 0 {
		return nil
	}
	var n int64
	limits := make([]time.Duration, len(window.targets))
	for i := range window.targets {
		t := &window.targets[i]
		if t.latency.n == 0 {
			continue // nobody knows how long it takes: never counted
		}
		limits[i] = max(stuckLeast, stuckFactor*t.latency.percentile(99))
		if r.job.cfg.Timeout >= limits[i] {
			n += t.unheard + after.targets[i].unheard
		}
	}
	for _, w := range r.workers {
		for s := w.inFlight.head; s != nil; s = s.next {
			if limit := limits[s.target]; limit > 0 && s.unheard() && r.stopped.Sub(s.sent) >= limit {
				n++
			}
		}
	}
	return &n
}
