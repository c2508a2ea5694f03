package loadgen

import (
	"context"
	"time"

	"loomlab/clock"
)

// story is the run, phase by phase. It returns early when there is nothing to
// go on with.
func (r *run) story(ctx context.Context) {
	if r.countsFromStart() {
		r.count(ctx)
		return
	}
	if !r.arm(ctx) || !r.connect(ctx) || !r.warmUp(ctx) || !r.leadIn(ctx) || !r.window(ctx) {
		return
	}
	r.drain(ctx)
}

// arm brings one generator of several to where all begin together: connected,
// with nothing sent but a probe a loop.
func (r *run) arm(ctx context.Context) bool {
	c := &r.job.cfg
	if !c.Part.shared() {
		return true
	}
	r.phase = "connect"
	if !r.gather(ctx, establishedOf) {
		return false
	}
	r.emit(Event{Event: "armed", At: clock.Now().Seconds()})
	begin, ok := r.gate(ctx, c.Gates.Go)
	if !ok {
		return false
	}
	t := *r.times.Load()
	t.begin = begin
	r.times.Store(&t)
	return r.await(ctx, begin, 20*time.Millisecond, nil)
}

// gate waits until it is told when a gate opens, and returns that instant: a
// moment ahead at least, so that every loop has taken it over by then.
func (r *run) gate(ctx context.Context, opens <-chan clock.Time) (at clock.Time, ok bool) {
	if opens == nil {
		return clock.Now().Add(ahead), true
	}
	ok = r.await(ctx, clock.Never, 2*time.Millisecond, func() bool {
		select {
		case at = <-opens:
			return true
		default:
			return false
		}
	})
	return max(at, clock.Now().Add(ahead)), ok
}

// connect waits until every connection was answered once, or cannot be.
func (r *run) connect(ctx context.Context) bool {
	r.phase = "connect"
	if !r.gather(ctx, answeredOf) {
		return false
	}
	r.emit(Event{Event: "ready", At: clock.Now().Seconds()})
	r.startSchedule()
	return true
}

// gather waits until of counts all connections, but for those that are hopeless,
// or makes no progress. It is false without any connection.
func (r *run) gather(ctx context.Context, of func(*status) int64) bool {
	n := int64(r.job.cfg.Connections)
	var best int64
	last := clock.Now()
	ok := r.await(ctx, clock.Never, 5*time.Millisecond, func() bool {
		answered, established, hopeless := r.sum(answeredOf), r.sum(establishedOf), r.sum(hopelessOf)
		if progress := answered + established; progress > best || !r.all(begunOf) {
			best, last = progress, clock.Now()
		}
		limit := min(r.job.cfg.Timeout, stallLimit)
		if established == 0 {
			limit = r.job.cfg.Timeout + ahead
		}
		return r.sum(of)+hopeless >= n || clock.Now().Sub(last) > limit
	})
	return ok && r.sum(establishedOf) > 0
}

// startSchedule lets an open loop begin.
func (r *run) startSchedule() {
	t := *r.times.Load()
	t.rateFrom = clock.Now().Add(2 * tick)
	r.times.Store(&t)
}

// warmUp lasts as long as was asked for, and until the start is given.
func (r *run) warmUp(ctx context.Context) bool {
	c := &r.job.cfg
	if c.Warmup > 0 || c.Start != nil {
		r.phase = "warmup"
	}
	if c.Warmup > 0 && !r.await(ctx, clock.Now().Add(c.Warmup), 20*time.Millisecond, nil) {
		return false
	}
	if c.Start == nil {
		return true
	}
	return r.await(ctx, clock.Never, 10*time.Millisecond, func() bool {
		select {
		case <-c.Start:
			return true
		default:
			return false
		}
	})
}

// leadIn waits in live traffic until the window may open, and decides when.
func (r *run) leadIn(ctx context.Context) bool {
	r.phase = "lead-in"
	began := clock.Now()
	var open clock.Time
	if c := &r.job.cfg; c.LeadIn != nil {
		open = began.Add(max(*c.LeadIn, ahead))
	} else {
		if !r.await(ctx, began.Add(longestLeadIn), 20*time.Millisecond, r.leadInOver(began)) {
			return false
		}
		open = clock.Now().Add(ahead)
	}
	if c := &r.job.cfg; c.Part.shared() {
		if c.LeadIn != nil && !r.await(ctx, open, 20*time.Millisecond, nil) {
			return false
		}
		r.emit(Event{Event: "primed", At: clock.Now().Seconds()})
		var ok bool
		if open, ok = r.gate(ctx, c.Gates.Open); !ok {
			return false
		}
	}
	t := *r.times.Load()
	t.open = open
	if r.job.cfg.Requests == 0 {
		t.close = open.Add(r.job.cfg.Duration)
	}
	r.times.Store(&t)
	return r.await(ctx, open, 20*time.Millisecond, nil)
}

// leadInOver is the automatic lead-in: 2 s, or 5 times the mean latency as it
// is by now, which grows while a queue fills up.
func (r *run) leadInOver(began clock.Time) func() bool {
	var mean time.Duration
	var sum, n int64
	checked := began
	return func() bool {
		now := clock.Now()
		if now.Sub(checked) >= time.Second {
			s, k := r.sum(latencyOf), r.sum(latenciesOf)
			if k > n {
				mean = time.Duration((s - sum) / (k - n))
			}
			checked, sum, n = now, s, k
		}
		return now.Sub(began)+ahead >= max(2*time.Second, 5*mean)
	}
}

// window measures: from an instant to an instant, whatever happens between.
func (r *run) window(ctx context.Context) bool {
	t := *r.times.Load()
	r.openWindow(t.open)
	if r.job.cfg.Requests > 0 {
		r.awaitCount(ctx)
		return r.closeEarly(ctx)
	}
	if !r.await(ctx, t.close, 50*time.Millisecond, nil) {
		return r.closeEarly(ctx)
	}
	r.closeWindow(t.close)
	return true
}

func (r *run) openWindow(at clock.Time) {
	r.opened = at
	r.atOpen = readUsage()
	r.phase = "window"
	r.emit(Event{Event: "window", At: at.Seconds(), State: "open"})
}

func (r *run) closeWindow(at clock.Time) {
	r.end = at
	r.atClose = readUsage()
	r.emit(Event{Event: "window", At: at.Seconds(), State: "closed"})
	r.phase = "drain"
}

// closeEarly closes a window now. It goes on to the drain unless interrupted.
func (r *run) closeEarly(ctx context.Context) bool {
	t := *r.times.Load()
	t.close = clock.Now()
	r.times.Store(&t)
	r.closeWindow(t.close)
	// The loops take it over at their next tick, also when ctx has ended.
	r.await(context.WithoutCancel(ctx), clock.Now().Add(20*tick), time.Millisecond, func() bool {
		return r.all(func(st *status) bool { return phase(st.phase.Load()) == phaseAfter })
	})
	return ctx.Err() == nil
}

// count is -n from the first request on.
func (r *run) count(ctx context.Context) {
	r.openWindow(r.start)
	r.emit(Event{Event: "ready", At: r.start.Seconds()})
	if r.job.cfg.open() {
		n := int64(r.job.cfg.Connections)
		limit := clock.Now().Add(min(r.job.cfg.Timeout, stallLimit))
		if r.await(ctx, limit, time.Millisecond, func() bool { return r.sum(establishedOf)+r.sum(hopelessOf) >= n }) {
			r.startSchedule()
		}
	}
	r.awaitCount(ctx)
	r.closeEarly(ctx)
}

// awaitCount waits until all requests have an outcome, or cannot be sent.
func (r *run) awaitCount(ctx context.Context) {
	var outcomes int64
	last := clock.Now()
	r.await(ctx, clock.Never, 5*time.Millisecond, func() bool {
		if r.all(func(st *status) bool { return st.finished.Load() }) {
			return true
		}
		if n := r.sum(outcomesOf); n != outcomes {
			outcomes, last = n, clock.Now()
		}
		if r.sum(establishedOf) == 0 && r.sum(hopelessOf) >= int64(r.job.cfg.Connections) {
			r.deserted = true
			return true
		}
		r.deserted = clock.Now().Sub(last) > time.Second && r.deadEnd()
		return r.deserted
	})
}

// deadEnd says that no loop with requests left can connect any more: of the
// slots that could still send, every one has failed again and again. A loop that
// a busy machine has not let begin has not failed.
func (r *run) deadEnd() bool {
	for i := range r.status {
		st := &r.status[i]
		if !st.begun.Load() || !st.finished.Load() && (st.outstanding.Load() > 0 || st.dead.Load() < st.prospects.Load()) {
			return false
		}
	}
	return true
}

// drain lets what is in flight end, for a while.
func (r *run) drain(ctx context.Context) {
	limit := r.end.Add(min(r.job.cfg.Timeout, drainLimit))
	r.await(ctx, limit, 5*time.Millisecond, func() bool {
		return r.all(func(st *status) bool { return phase(st.phase.Load()) == phaseAfter && st.outstanding.Load() == 0 })
	})
}
