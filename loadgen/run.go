// Package loadgen is the load engine: closed loop, request count and open loop
// over HTTP/1.1, cheap beside what it measures.
//
// [Run] does everything. Inside, each event loop is a worker with connections,
// counters and histograms of its own, so nothing is locked or shared for a
// request; the run decides at which instants phases begin, and adds up when the
// loops have ended.
package loadgen

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"loomlab/clock"
	"loomlab/loadgen/evloop"
)

const (
	// ahead is how far before its time a boundary is announced, so that every
	// loop has taken it over at a tick.
	ahead = 5 * tick
	// stallLimit is how long a run waits for connections of which none makes progress.
	stallLimit = 5 * time.Second
	// drainLimit bounds the wait for the answers in flight at the end.
	drainLimit = 10 * time.Second
	// longestLeadIn bounds the automatic lead-in.
	longestLeadIn = 30 * time.Second
)

// run is one execution of a job.
type run struct {
	job     *job
	observe func(Event)
	workers []*worker
	loops   []evloop.Loop
	group   errgroup.Group
	broken  chan struct{} // closed when a poller failed

	breakOnce sync.Once

	times   atomic.Pointer[times]
	status  []status
	seconds seconds

	start, end  clock.Time // of everything before and in the window; end is the window's
	opened      clock.Time // the window; 0 if it never opened
	phase       string     // as samples name it
	atOpen      usage
	atClose     usage
	atStop      usage
	interrupted bool
	stuck       bool // -n: the server went away before all was sent
}

// Run makes the load that cfg describes and returns what the window says. It
// calls observe, if not nil, from one goroutine: "ready", "sample" once a
// second, "window" as it opens and closes; the "result" event is the caller's.
//
// An error without a Result means that nothing was started: the configuration
// or the machine forbids it. With a Result it is the engine's own failure. When
// ctx ends, the Result covers what was measured so far.
func Run(ctx context.Context, cfg Config, observe func(Event)) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	boundChosen := cfg.MaxInFlight != 0 || cfg.Connections != 0
	j, err := newPlan(cfg)
	if err != nil {
		return nil, err
	}
	if err := reserveDescriptors(&j.cfg, boundChosen); err != nil {
		return nil, err
	}
	if err := j.resolve(ctx); err != nil {
		return nil, err
	}
	r := &run{job: j, observe: observe, broken: make(chan struct{})}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	r.launch()
	r.story(ctx)
	err = r.stop()
	return r.result(), err
}

// prepare makes the loops.
func (r *run) prepare() error {
	n := r.job.cfg.Loops
	r.start = clock.Now()
	t := &times{rateFrom: clock.Never, open: clock.Never, close: clock.Never}
	if r.countsFromStart() {
		t.open = r.start
	}
	r.times.Store(t)
	r.status = make([]status, n)
	r.seconds = seconds{loops: n, byEnd: map[clock.Time]*second{}}
	for i := range n {
		loop, err := evloop.New(r.job.cfg.Engine)
		if err != nil {
			for _, l := range r.loops {
				l.Stop()
				_ = l.Run(r.workers[0]) // frees it: it was stopped before
			}
			return fmt.Errorf("--engine %s: %w", r.job.cfg.Engine, err)
		}
		r.loops = append(r.loops, loop)
		w := newWorker(r.job, r, loop, i)
		if r.observe != nil {
			w.sampler.begin(r.start)
			w.setBoundary()
		}
		r.workers = append(r.workers, w)
	}
	return nil
}

// countsFromStart says that every request belongs to the window: -n without a
// warm-up.
func (r *run) countsFromStart() bool {
	c := &r.job.cfg
	return c.Requests > 0 && c.Warmup == 0 && c.Start == nil && c.LeadIn == nil
}

func (r *run) launch() {
	for i, loop := range r.loops {
		r.group.Go(func() error {
			err := loop.Run(r.workers[i])
			if err != nil {
				r.breakOnce.Do(func() { close(r.broken) })
			}
			return err
		})
	}
}

// stop ends the loops; what they counted is the run's from here on.
func (r *run) stop() error {
	for _, l := range r.loops {
		l.Stop()
	}
	err := r.group.Wait()
	r.atStop = readUsage()
	r.handOver()
	return err
}

// story is the run, phase by phase. It returns early when there is nothing to
// go on with.
func (r *run) story(ctx context.Context) {
	if r.countsFromStart() {
		r.count(ctx)
		return
	}
	if !r.connect(ctx) || !r.warmUp(ctx) || !r.leadIn(ctx) || !r.window(ctx) {
		return
	}
	r.drain(ctx)
}

// connect waits until every connection was answered once, or cannot be.
func (r *run) connect(ctx context.Context) bool {
	r.phase = "connect"
	n := int64(r.job.cfg.Connections)
	var best int64
	last := clock.Now()
	ok := r.await(ctx, clock.Never, 5*time.Millisecond, func() bool {
		answered, established, hopeless := r.sum(answeredOf), r.sum(establishedOf), r.sum(hopelessOf)
		if progress := answered + established; progress > best {
			best, last = progress, clock.Now()
		}
		limit := min(r.job.cfg.Timeout, stallLimit)
		if established == 0 {
			limit = r.job.cfg.Timeout + ahead
		}
		return answered+hopeless >= n || clock.Now().Sub(last) > limit
	})
	if !ok || r.sum(establishedOf) == 0 {
		return false
	}
	r.emit(Event{Event: "ready", At: clock.Now().Seconds()})
	r.startSchedule()
	return true
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
			r.stuck = true
			return true
		}
		r.stuck = clock.Now().Sub(last) > time.Second && r.deadEnd()
		return r.stuck
	})
}

// deadEnd says that no loop with requests left can connect any more.
func (r *run) deadEnd() bool {
	for i := range r.status {
		st := &r.status[i]
		if !st.finished.Load() && (st.outstanding.Load() > 0 || st.dead.Load() < int64(r.workers[i].wanted)) {
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

// await waits until an instant, or until done says so, and hands over samples
// meanwhile. It is false when ctx ended or a loop broke.
func (r *run) await(ctx context.Context, until clock.Time, every time.Duration, done func() bool) bool {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		r.handOver()
		if done != nil && done() {
			return true
		}
		pause := min(every, until.Sub(clock.Now()))
		if pause <= 0 {
			return true
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			r.interrupted = true
			return false
		case <-r.broken:
			return false
		case <-timer.C:
		}
	}
}

func (r *run) emit(e Event) {
	if r.observe != nil {
		r.observe(e)
	}
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
			r.emit(Event{Event: "sample", At: s.to.Seconds(), Sample: &Sample{
				Phase: r.sampleName(s.phase), Seconds: length,
				OK: s.ok, Non2xx: s.non2xx, Errors: s.errors, Opened: s.opened,
				InFlight: s.inFlight, LatencyMS: s.latency.summary(), histogram: s.latency.hdr,
			}})
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

// What the loops tell at their ticks.
func answeredOf(st *status) int64    { return st.answered.Load() }
func establishedOf(st *status) int64 { return st.established.Load() }
func hopelessOf(st *status) int64    { return st.hopeless.Load() }
func outcomesOf(st *status) int64    { return st.outcomes.Load() }
func latencyOf(st *status) int64     { return st.latencyNS.Load() }
func latenciesOf(st *status) int64   { return st.latencies.Load() }

func (r *run) sum(of func(*status) int64) (n int64) {
	for i := range r.status {
		n += of(&r.status[i])
	}
	return n
}

func (r *run) all(is func(*status) bool) bool {
	for i := range r.status {
		if !is(&r.status[i]) {
			return false
		}
	}
	return true
}
