package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"loomlab/lab/record"
)

// Bounds of what surrounds a window.
const (
	settleLimit = 5 * time.Second
	settleQuiet = time.Second
	settleCPU   = 0.05 // of a core
	cellMargin  = 30 * time.Second
)

// window is one cell in the making: it follows the load child's JSON lines.
type window struct {
	f      *fork
	cell   record.Cell
	rung   int
	hold   bool // this cell warms the rung up first
	warmth warmth
	load   *tier

	began          time.Time
	warmedAt       time.Time // when the start was given
	steady         bool
	why            string
	last           *secondMark
	opened, closed float64 // clock seconds; 0: not yet
	before, after  *record.DownstreamStats
	openRSS        *int64
	result         *record.LoadResult
	resultErr      error
}

// secondMark is the SUT's counters at the warm-up second before.
type secondMark struct{ at, cpu, jit float64 }

// measure runs one cell: warm-up where asked, lead-in, window, drain.
func (f *fork) measure(ctx context.Context, key CellKey, warm bool) record.Cell {
	w := &window{f: f, rung: key.Connections, hold: warm, began: time.Now()}
	w.cell = record.Cell{SUT: key.SUT, Fork: key.Fork, Connections: key.Connections, Round: key.Round,
		Started: w.began.UTC(), Status: "ok", Unavailable: map[string]string{}}
	warmup := f.lab.plan.Experiment.Load.Warmup
	w.warmth = warmth{first: f.cold, min: time.Duration(warmup.Min), max: time.Duration(warmup.Max)}
	f.watch.begin(record.Point{SUT: key.SUT, Fork: key.Fork, Connections: key.Connections, Round: key.Round, Phase: "settle"})
	f.say("settling", w.rung, key.Round)
	w.cell.Settle = f.settle(ctx)
	exceptions := f.exceptions(ctx)
	if ctx.Err() == nil {
		w.run(ctx)
	}
	w.finish(ctx, exceptions)
	f.cold = f.cold && !warm
	return w.cell
}

// run starts the load child and waits until it, the SUT or the caller ends it.
func (w *window) run(ctx context.Context) {
	f := w.f
	argv := f.lab.plan.LoadArgv(*f.sut, f.url, w.rung, w.hold)
	load, err := start(f.lab.self, launch{tier: "load", place: f.lab.plan.launcher("load"), argv: argv, log: f.lab.log("load"), lines: w.line, stdin: true})
	if err != nil {
		w.fail("%v", err)
		return
	}
	w.load = load
	defer func() {
		f.watch.remove("load")
		load.stop()
	}()
	if _, err := f.watch.add(load); err != nil {
		w.cell.Unavailable["probes.load"] = err.Error()
	}
	most := w.mostTime()
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-load.done:
	case <-f.app.ended():
		w.fail("the SUT %s in the middle of the cell, %.1f s after it began%s", f.app.cause(), time.Since(w.began).Seconds(), f.app.lastWords())
		return
	case <-f.down.ended():
		w.fail("the downstream %s in the middle of the cell%s", f.down.cause(), f.down.lastWords())
		return
	case <-limit.C:
		w.fail("the load engine did not end within %v", most)
		return
	case <-ctx.Done():
		load.interrupt()
		select {
		case <-load.gone:
		case <-time.After(2 * time.Second):
		}
	}
	<-load.gone
	if w.result == nil && w.cell.Status == "ok" && ctx.Err() == nil {
		w.fail("the load engine %s%s", load.cause(), load.lastWords())
	}
}

// mostTime bounds a cell: everything it may do, each at its own limit.
func (w *window) mostTime() time.Duration {
	l := w.f.lab.plan.Experiment.Load
	t := time.Duration(l.Duration) + 2*time.Duration(l.Timeout) + cellMargin
	if w.hold {
		t += time.Duration(l.Warmup.Max)
	}
	return t
}

func (w *window) fail(format string, a ...any) {
	w.cell.Status, w.cell.Reason = "failed", fmt.Sprintf(format, a...)
}

// line handles one JSON line of the load child. It runs on the reader's
// goroutine; run reads the fields only after the child is gone.
func (w *window) line(b []byte) {
	var e record.LoadEvent
	if err := json.Unmarshal(b, &e); err != nil {
		w.resultErr = fmt.Errorf("the load engine said %.80q, which is no JSON", b)
		return
	}
	switch {
	case e.Event == "ready":
		w.f.watch.phase("warmup")
		if w.hold {
			w.f.say("warm-up", w.rung, w.cell.Round)
		} else {
			w.f.say("lead-in", w.rung, w.cell.Round)
		}
	case e.Event == "sample" && e.Sample != nil:
		w.sample(e)
	case e.Event == "window" && e.State == "open":
		w.f.watch.takeDetailed()
		w.before = w.f.downstreamStats()
		w.opened = e.At
		w.f.watch.phase("window")
		w.f.say("window", w.rung, w.cell.Round)
	case e.Event == "window":
		w.f.watch.takeDetailed()
		w.after = w.f.downstreamStats()
		w.closed = e.At
		w.openRSS = w.f.rss()
		w.f.watch.phase("drain")
	case e.Event == "result":
		var r record.LoadResult
		if err := json.Unmarshal(b, &r); err != nil {
			w.resultErr = err
			return
		}
		w.result = &r
	}
}

// sample follows one second of load: the series always, the warm-up until it is over.
func (w *window) sample(e record.LoadEvent) {
	w.f.watch.report(func(p *record.Point) { p.Tier, p.Load = "load", e.Sample })
	if !w.hold || !w.warmedAt.IsZero() || e.Sample.Phase != "warmup" {
		return
	}
	s := second{Requests: float64(e.Sample.OK), Renewed: float64(e.Sample.Opened) / float64(w.rung)}
	mark, known := w.mark()
	if known && w.last != nil {
		span := mark.at - w.last.at
		s.CPUS = (mark.cpu - w.last.cpu) / span
		if mark.jit >= 0 {
			jit := (mark.jit - w.last.jit) / span
			s.JITS = &jit
		}
	} else {
		s.CPUS = nan
	}
	w.last = mark
	done, steady, why := w.warmth.add(s, time.Since(w.began)-time.Duration(w.cell.Settle.Seconds*1e9))
	if done {
		w.steady, w.why, w.warmedAt = steady, why, time.Now()
		w.f.watch.phase("lead-in")
		w.f.say("lead-in", w.rung, w.cell.Round)
		_, _ = io.WriteString(w.load.stdin, "start\n") // an error shows as the load child's end
	}
}

func (w *window) mark() (*secondMark, bool) {
	s := w.f.watch.sut()
	if s == nil || s.CPUS == nil {
		return nil, false
	}
	m := &secondMark{at: s.At, cpu: *s.CPUS, jit: -1}
	if s.JVM != nil && s.JVM.JITSeconds != nil {
		m.jit = *s.JVM.JITSeconds
	}
	return m, true
}

// finish joins what the tiers said into the cell.
func (w *window) finish(ctx context.Context, exceptions map[string]int64) {
	c := &w.cell
	c.Load = w.result
	if w.resultErr != nil && c.Status == "ok" {
		w.fail("%v", w.resultErr)
	}
	if ctx.Err() != nil && (c.Status == "ok" || w.result == nil) {
		c.Status, c.Reason = "interrupted", "stopped before its end"
	}
	if c.Status == "failed" && w.f.app.hasEnded() {
		c.Load = nil // no figures from after a death
		return
	}
	if c.Load == nil {
		return
	}
	w.joinProbes()
	w.joinWarmup()
	if w.before != nil && w.after != nil {
		d := w.after.Sub(*w.before)
		c.Downstream = &d
	} else if w.f.down != nil {
		c.Unavailable["downstream"] = "its account could not be read at both ends of the window"
	}
	w.joinExceptions(ctx, exceptions)
	c.Ceilings = w.f.ceilings(*c)
	c.Doubts = doubts(*c, w.f.circumstances())
	if c.Status == "ok" {
		if reason := invalid(c.Load); reason != "" {
			c.Status, c.Reason = "failed", reason
		}
	}
}

// joinProbes cuts the samples to the window and adds what needs the request count.
func (w *window) joinProbes() {
	if w.opened == 0 || w.closed == 0 {
		return
	}
	c := &w.cell
	c.Probes = w.f.watch.window(w.opened, w.closed)
	for _, p := range c.Probes {
		if p.CPUS != nil && c.Load.Requests.OK > 0 {
			us := *p.CPUS * 1e6 / float64(c.Load.Requests.OK)
			p.CPUUSPerRequest = &us
		}
	}
	if sut := c.Probes["sut"]; sut != nil && sut.RSSBytes != nil && w.openRSS != nil {
		sut.RSSBytes.End = *w.openRSS
	}
}

func (w *window) joinWarmup() {
	if !w.hold {
		return
	}
	c := &w.cell
	c.Warmup = &record.CellWarmup{Steady: w.steady, Why: w.why}
	if l := c.Load.Warmup; l != nil {
		c.Warmup.Seconds, c.Warmup.Requests, c.Warmup.Errors = l.Seconds, l.Requests, l.Errors
	}
}

// joinExceptions keeps what the app counted during this cell.
func (w *window) joinExceptions(ctx context.Context, before map[string]int64) {
	after := w.f.exceptions(context.WithoutCancel(ctx))
	if after == nil {
		w.cell.Unavailable["exceptions"] = "the SUT has no /lab/exceptions"
		return
	}
	for cause, n := range before {
		after[cause] -= n
	}
	maps.DeleteFunc(after, func(_ string, n int64) bool { return n == 0 })
	w.cell.Exceptions = after
}

// invalid says why a complete window does not count as measured.
func invalid(l *record.LoadResult) string {
	r, k := l.Requests, l.Connections
	bad := r.Non2xx + r.Errors.Total()
	switch {
	case r.OK == 0:
		return fmt.Sprintf("no request succeeded (%d non-2xx, %d errors)", r.Non2xx, r.Errors.Total())
	case bad > r.OK:
		return fmt.Sprintf("over half of the requests failed (%d of %d)", bad, bad+r.OK)
	case k.Established < k.Requested:
		return fmt.Sprintf("only %d of %d connections were established", k.Established, k.Requested)
	case k.Answered < k.Requested:
		return fmt.Sprintf("only %d of %d connections got an answer before the window", k.Answered, k.Requested)
	}
	return ""
}

// settle waits until nothing is in flight and the SUT is quiet.
func (f *fork) settle(ctx context.Context) *record.Settle {
	began := time.Now()
	quietSince := began
	cpu, at := -1.0, began
	for time.Since(began) < settleLimit && ctx.Err() == nil {
		busy := false
		if s := f.watch.sut(); s != nil && s.CPUS != nil {
			now := time.Now()
			if cpu >= 0 && *s.CPUS-cpu > settleCPU*now.Sub(at).Seconds()+0.010 {
				busy = true
			}
			cpu, at = *s.CPUS, now
		}
		if d := f.downstreamStats(); d != nil && d.InFlight > 0 {
			busy = true
		}
		if busy {
			quietSince = time.Now()
		}
		if time.Since(quietSince) >= settleQuiet {
			return &record.Settle{Seconds: time.Since(began).Seconds(), Quiet: true}
		}
		sleep(ctx, 200*time.Millisecond)
	}
	return &record.Settle{Seconds: time.Since(began).Seconds()}
}

// exceptions reads what the app counted so far; nil where the SUT cannot say.
func (f *fork) exceptions(ctx context.Context) map[string]int64 {
	if !f.hasLab {
		return nil
	}
	var counts map[string]int64
	if err := f.prober.getJSON(ctx, "/lab/exceptions", &counts); err != nil || counts == nil {
		return nil
	}
	return counts
}

// downstreamStats reads the downstream's account now; nil without one.
func (f *fork) downstreamStats() *record.DownstreamStats {
	if f.down == nil {
		return nil
	}
	var s record.DownstreamStats
	if err := f.downProber.getJSON(context.Background(), "/lab/stats", &s); err != nil {
		return nil
	}
	return &s
}

// getJSON decodes the answer to a GET of path.
func (p *prober) getJSON(ctx context.Context, path string, into any) error {
	status, body, err := p.get(ctx, path, readyAttempt)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return errors.New(http.StatusText(status))
	}
	return json.Unmarshal(body, into)
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
