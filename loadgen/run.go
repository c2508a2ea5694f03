// Package loadgen is the load engine: closed loop, request count and open loop
// over HTTP/1.1, cheap beside what it measures.
//
// The usual steps: fill a [Config], call [Run] with somebody who follows its
// [Event]s or with nil, and read the [Result]: it is the format of `loomlab load
// --json`. Inside, each event loop is a worker with connections,
// counters and histograms of its own, so nothing is locked or shared for a
// request; the run decides at which instants phases begin, and adds up when the
// loops have ended.
//
// Limits: plain HTTP/1.1 without pipelining, TLS or HTTP/2; a request is the same
// bytes every time; one address, that to which the host's name was resolved first.
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
	stopped     clock.Time // when the loops were told to end
	opened      clock.Time // the window; 0 if it never opened
	phase       string     // as samples name it
	atOpen      usage
	atClose     usage
	atStop      usage
	interrupted bool
	deserted    bool // -n: the server went away before all was sent
}

// Run makes the load that cfg describes and returns what the window says. It
// calls observe, if not nil, from one goroutine: "ready", "sample" once a
// second, "window" as it opens and closes; the "result" event is the caller's. One
// generator of several tells "armed" and "primed" too (see [Gates]).
//
// An error without a Result means that nothing was started: the configuration
// or the machine forbids it. With a Result it is the engine's own failure. When
// ctx ends, the Result covers what was measured so far.
func Run(ctx context.Context, cfg Config, observe func(Event)) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	boundChosen := cfg.MaxInFlight != 0 || cfg.Connections != 0
	j, err := newJob(cfg)
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
	switch {
	case r.job.cfg.Part.shared():
		t.begin = clock.Never
	case r.countsFromStart():
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
		if r.observe != nil && !r.job.cfg.Part.shared() {
			w.sampler.begin(r.start)
			w.setBoundary()
		}
		r.workers = append(r.workers, w)
	}
	return nil
}

// countsFromStart says that every request belongs to the window: -n without a
// warm-up, by one generator alone.
func (r *run) countsFromStart() bool {
	c := &r.job.cfg
	return c.Requests > 0 && c.Warmup == 0 && c.Start == nil && c.LeadIn == nil && !c.Part.shared()
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
	r.stopped = clock.Now()
	for _, l := range r.loops {
		l.Stop()
	}
	err := r.group.Wait()
	r.atStop = readUsage()
	r.handOver()
	return err
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

// What the loops tell at their ticks.
func answeredOf(st *status) int64    { return st.answered.Load() }
func establishedOf(st *status) int64 { return st.established.Load() }
func hopelessOf(st *status) int64    { return st.hopeless.Load() }
func outcomesOf(st *status) int64    { return st.outcomes.Load() }
func latencyOf(st *status) int64     { return st.latencyNS.Load() }
func latenciesOf(st *status) int64   { return st.latencies.Load() }

func begunOf(st *status) bool { return st.begun.Load() }

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
