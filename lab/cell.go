package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/phrase"
	"loomlab/lab/plan"
	"loomlab/lab/record"
	"loomlab/lab/verdict"
	"loomlab/probes"
)

// Bounds of what surrounds a window.
const (
	settleLimit = 5 * time.Second
	settleQuiet = time.Second
	settleCPU   = 0.05 // of a core
	cellMargin  = 30 * time.Second
)

// job is a cell to measure.
type job struct {
	plan.CellKey
	warm bool // warm the rung up first
}

// window is one cell in the making: it follows the load child's JSON lines.
type window struct {
	f      *fork
	job    job
	cell   record.Cell
	warmth warmth

	loads   []*tier     // the load's processes; of our engine more than one where it has several places
	several *generators // nil: there is one

	began          time.Time
	warmedAt       time.Time // when the start was given
	steady         bool
	why            string
	last           *secondMark
	opened, closed float64 // clock seconds; 0: not yet
	before, after  *record.DownstreamStats
	account        *record.DownstreamStats // difference of the two, or of JSON lines between them
	endRSS         *int64                  // at the window's end, connections open
	peakRSS        *int64                  // since the load began
	waiting        [2]*record.AcceptQueues // at the window's two ends
	ctx            context.Context         // of the cell, for what a line of the load asks of others
	memory         *record.CellMemory      // with --memory
	memoryReason   string                  // why there is none
	result         *record.LoadResult
	resultErr      error
}

// secondMark is the SUT's counters at the warm-up second before; those that
// are nil cannot be had.
type secondMark struct {
	at, cpu       float64
	jit, compiles *float64
}

// measure runs one cell: warm-up where asked, lead-in, window, drain.
func (f *fork) measure(ctx context.Context, j job) record.Cell {
	w := &window{f: f, job: j, ctx: ctx, began: time.Now()}
	w.cell = record.Cell{SUT: j.SUT, Fork: j.Fork, Connections: j.Connections, Rate: j.Rate, Round: j.Round,
		Started: w.began.UTC(), Status: "ok", Unavailable: map[string]string{}}
	warmup := f.load().Warmup
	w.warmth = warmth{first: f.cold, min: time.Duration(warmup.Min), max: plan.Warmest(warmup, f.cold)}
	if j.warm {
		f.unsteady = "the warm-up did not come to its end"
	}
	f.gauge.begin()
	f.db.begin()
	f.watch.begin(record.Point{SUT: j.SUT, Fork: j.Fork, Connections: j.Connections, Round: j.Round, Phase: "settle"})
	w.say("settling")
	w.cell.Settle = f.settle(ctx)
	exceptions := f.exceptions(ctx)
	w.mapMemory(ctx, func(c *record.CellMemory, m *record.MemoryMap) { c.Before = m })
	if f.tree != nil {
		_ = f.tree.ResetPeak() // without it there is no peak, which PeakRSS then says
	}
	if ctx.Err() == nil {
		w.run(ctx)
	}
	w.finish(ctx, exceptions)
	f.watch.remove(record.TierLoad) // not before its samples are in the cell
	f.cold = f.cold && !j.warm
	return w.cell
}

// say tells the observer what is going on in this cell.
func (w *window) say(phase string) {
	rung := fmt.Sprintf("%d connections", w.job.Connections)
	if w.job.Rate > 0 {
		rung = fmt.Sprintf("%s/s offered", phrase.Number(w.job.Rate))
	}
	w.f.lab.observer.Phase(fmt.Sprintf("%s · %s · round %d · %s", w.job.SUT, rung, w.job.Round, phase))
}

// run loads the SUT, by our engine or by the command that takes its place.
func (w *window) run(ctx context.Context) {
	if w.f.sut.LoadCommand != nil {
		w.runCommand(ctx)
		return
	}
	w.runEngine(ctx)
}

// slowestCount is the rate, per second, at which a window of a number of requests
// is given up.
const slowestCount = 100

// mostTime bounds a cell: everything it may do, each at its own limit.
func (w *window) mostTime() time.Duration {
	l := w.f.load()
	t := time.Duration(l.Duration) + 2*time.Duration(l.Timeout) + cellMargin
	t += time.Duration(l.RequestsAt(w.job.Rung())) * time.Second / slowestCount
	if w.job.warm {
		t += w.warmth.max
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
	if e.Event != "result" {
		w.event(e)
		return
	}
	var r record.LoadResult
	if err := json.Unmarshal(b, &r); err != nil {
		w.resultErr = err
		return
	}
	w.result = &r
}

// event follows the load through its phases.
func (w *window) event(e record.LoadEvent) {
	switch {
	case e.Event == "ready":
		w.f.watch.phase("warmup")
		if w.job.warm {
			w.say("warm-up")
		} else {
			w.say("lead-in")
		}
	case e.Event == "sample" && e.Sample != nil:
		w.sample(e)
	case e.Event == "window" && e.State == "open":
		w.f.watch.takeDetailed()
		w.before = w.f.downstreamStats()
		w.waiting[0] = w.f.acceptQueues()
		w.opened = e.At
		w.f.watch.phase("window")
		w.say("window")
	case e.Event == "window":
		w.f.watch.takeDetailed()
		w.after = w.f.downstreamStats()
		w.waiting[1] = w.f.acceptQueues()
		w.closed = e.At
		w.endRSS, w.peakRSS = w.f.rss(), w.f.peakRSS()
		w.f.watch.phase("drain")
		w.mapMemory(w.ctx, func(c *record.CellMemory, m *record.MemoryMap) { c.After = m })
	}
}

// sample follows one second of load: the series always, the warm-up until it is over.
func (w *window) sample(e record.LoadEvent) {
	w.f.watch.report(func(p *record.Point) { p.Tier, p.At, p.Load = record.TierLoad, e.At, e.Sample })
	if !w.job.warm || !w.warmedAt.IsZero() || e.Sample.Phase != "warmup" {
		return
	}
	done, steady, why := w.warmth.add(w.second(e.Sample), time.Since(w.began)-time.Duration(w.cell.Settle.Seconds*1e9))
	if done {
		w.steady, w.why, w.warmedAt = steady, why, time.Now()
		w.f.unsteady = why
		if steady {
			w.f.unsteady = ""
		}
		w.f.watch.phase("lead-in")
		w.say("lead-in")
		w.start()
	}
}

// second joins what the engine counted in a second with what the SUT used in it.
func (w *window) second(l *record.LoadSample) second {
	s := second{Requests: float64(l.OK), CPUS: nan}
	switch {
	case w.job.Rate == 0:
		s.Renewed = float64(l.Opened) / float64(w.job.Connections)
	case l.OK > 0: // an open loop has no number of connections to go by
		s.Renewed = float64(l.Opened) / float64(l.OK)
	}
	mark, last := w.mark(), w.last
	w.last = mark
	if mark == nil || last == nil || mark.at <= last.at {
		return s
	}
	span := mark.at - last.at
	rate := func(now, then *float64) *float64 {
		if now == nil || then == nil {
			return nil
		}
		r := (*now - *then) / span
		return &r
	}
	s.CPUS = (mark.cpu - last.cpu) / span
	s.JITS, s.Compiles = rate(mark.jit, last.jit), rate(mark.compiles, last.compiles)
	return s
}

func (w *window) mark() *secondMark {
	s := w.f.watch.sutDetailed()
	if s == nil || s.CPUS == nil {
		return nil
	}
	m := &secondMark{at: s.At, cpu: *s.CPUS}
	if s.JVM == nil {
		return m
	}
	m.jit = s.JVM.JITSeconds
	if cpu, ok := probes.CompilerCPU(s.Groups); ok {
		m.jit = &cpu
	}
	if s.JVM.JITCompiles != nil {
		n := float64(*s.JVM.JITCompiles)
		m.compiles = &n
	}
	return m
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
	if c.Status == "failed" && len(w.f.dead()) > 0 {
		c.Load = nil // no figures from after a death
		return
	}
	if c.Load == nil {
		return
	}
	w.joinProbes()
	w.joinPauses()
	w.joinMemory()
	if w.cell.Warmup == nil { // else it came before a load command
		w.joinWarmup(w.cell.Load)
	}
	w.joinDownstream()
	w.joinDatabase()
	c.AcceptQueue = lasting(w.waiting[0], w.waiting[1])
	w.joinExceptions(ctx, exceptions)
	c.Ceilings = w.f.ceilings(*c)
	c.Doubts = verdict.Doubts(*c, w.circumstances())
	if c.Status == "ok" {
		if reason := invalid(c.Load, w.waiting[0]); reason != "" {
			c.Status, c.Reason = "failed", reason
		}
	}
	if !w.f.bare {
		c.Verdict = verdict.Of(*c, w.f.evidence(*c, w.account))
	}
}

// circumstances are what the doubt rules need to know beside the cell.
func (w *window) circumstances() verdict.Circumstances {
	about := w.f.circumstances(w.job)
	if w.before != nil && w.after != nil {
		about.Unseen = max(0, w.before.At-w.opened) + max(0, w.closed-w.after.At)
	}
	return about
}

// joinProbes cuts the samples to the window and adds what needs the request count.
func (w *window) joinProbes() {
	if w.opened == 0 || w.closed == 0 {
		return
	}
	c := &w.cell
	w.f.span = [2]float64{w.opened, w.closed}
	c.Probes = w.f.watch.window(w.opened, w.closed)
	w.joinMachines()
	if own := w.f.watch.windows(record.TierLoad, w.opened, w.closed); len(own) == len(c.Load.Generators) {
		for i := range own {
			c.Load.Generators[i].RunDelayS = own[i].RunDelayS
		}
	}
	for _, p := range c.Probes {
		if p.CPUS != nil && c.Load.Requests.OK > 0 {
			us := *p.CPUS * 1e6 / float64(c.Load.Requests.OK)
			p.CPUUSPerRequest = &us
		}
	}
	if sut := c.Probes[record.TierSUT]; sut != nil && sut.RSSBytes != nil {
		if w.endRSS != nil {
			sut.RSSBytes.End = *w.endRSS
		}
		if w.peakRSS != nil {
			sut.RSSBytes.Max = *w.peakRSS
		}
		sut.RSSBytes.Max = max(sut.RSSBytes.Max, sut.RSSBytes.End)
	}
}

// joinMachines says what else went on where the tiers ran: on the SUT's machine,
// and on the others.
func (w *window) joinMachines() {
	c := &w.cell
	sut, _ := w.f.machineOf(record.TierSUT)
	for host, m := range w.f.watch.machineWindows(w.opened, w.closed) {
		if host == sut {
			c.Machine = m
			continue
		}
		if c.Machines == nil {
			c.Machines = map[string]*record.MachineWindow{}
		}
		c.Machines[cmp.Or(host, experiment.LocalHost)] = m
	}
}

// joinWarmup keeps what the warm-up was, as the engine that made it tells.
func (w *window) joinWarmup(by *record.LoadResult) {
	if !w.job.warm {
		return
	}
	warmup := w.warmth.took()
	warmup.Steady, warmup.Why = w.steady, w.why
	if by != nil && by.Warmup != nil {
		l := by.Warmup
		warmup.Seconds, warmup.Requests, warmup.Errors, warmup.ColdMS = l.Seconds, l.Requests, l.Errors, l.FirstMS
	}
	w.cell.Warmup = &warmup
}

// joinExceptions keeps what the app counted, and its log showed, during this cell.
func (w *window) joinExceptions(ctx context.Context, before map[string]int64) {
	after := w.f.exceptions(context.WithoutCancel(ctx))
	if after == nil {
		w.cell.Unavailable["exceptions"] = "the SUT has no /lab/exceptions, and no log of a JVM is here to find stack traces in"
		return
	}
	for cause, n := range before {
		after[cause] -= n
	}
	maps.DeleteFunc(after, func(_ string, n int64) bool { return n == 0 })
	w.cell.Exceptions = after
}

// invalid says why a complete window does not count as measured; waiting is who
// waited to be accepted when it opened.
func invalid(l *record.LoadResult, waiting *record.AcceptQueues) string {
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
		reason := fmt.Sprintf("only %d of %d connections got an answer before the window", k.Answered, k.Requested)
		if waiting != nil && waiting.SUT != nil && *waiting.SUT > 0 {
			reason += fmt.Sprintf(": the SUT had not accepted %d of them yet; give it longer (--warmup 60s) or threads that only accept", *waiting.SUT)
		}
		return reason
	}
	return ""
}

// settle waits until nothing is in flight and the SUT is quiet.
func (f *fork) settle(ctx context.Context) *record.Settle {
	began := time.Now()
	quietSince, quiet := began, settleQuiet
	if f.bare {
		quiet = 0 // nothing but what is in flight
	}
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
		if !busy && time.Since(quietSince) >= quiet {
			return &record.Settle{Seconds: time.Since(began).Seconds(), Quiet: true}
		}
		sleep(ctx, 200*time.Millisecond)
	}
	return &record.Settle{Seconds: time.Since(began).Seconds()}
}

// exceptions is how often each exception happened so far, as the app itself counts
// and as its log shows; nil where neither can say. An exception that an app both
// counts and logs is one: the higher count stands.
func (f *fork) exceptions(ctx context.Context) map[string]int64 {
	var counts map[string]int64
	if f.hasLab && f.prober.getJSON(ctx, "/lab/exceptions", &counts) != nil {
		counts = nil
	}
	if f.traces == nil {
		return counts
	}
	logged := f.traces.snapshot()
	if counts == nil && len(logged) == 0 && !f.isJVM() {
		return nil // another kind of program: no stack traces say nothing
	}
	if counts == nil {
		counts = map[string]int64{}
	}
	for kind, n := range logged {
		counts[kind] = max(counts[kind], n)
	}
	return counts
}

// isJVM tells whether the SUT runs on a JVM, with perf data or without.
func (f *fork) isJVM() bool {
	s := f.watch.sut()
	return s != nil && (s.JVM != nil || s.Unavailable["jvm"] != probes.NoJVM)
}

// downstreamStats reads the downstream's account now; nil without one.
func (f *fork) downstreamStats() *record.DownstreamStats {
	if f.down == nil || f.mute {
		return nil
	}
	var s record.DownstreamStats
	if err := f.downProber.getJSON(context.Background(), "/lab/stats", &s); err != nil {
		return nil
	}
	if f.down.away != nil {
		s.At = f.down.away.site.clock.here(s.At)
	}
	return &s
}

// getJSON decodes the answer to a GET of path.
func (p *prober) getJSON(ctx context.Context, path string, into any) error {
	a, err := p.get(ctx, path, readyAttempt)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return errors.New(http.StatusText(a.status))
	}
	return json.Unmarshal(a.body, into)
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
