package loadgen

import (
	"fmt"
	"maps"
	"time"

	"loomlab/clock"
)

// resultSchema is the version of [Result]'s JSON form.
const resultSchema = 1

// result adds up what the loops counted. The loops have ended.
func (r *run) result() *Result {
	n := len(r.job.targets)
	before, window, after := newCounts(n), newCounts(n), newCounts(n)
	for _, w := range r.workers {
		before.merge(w.before)
		window.merge(w.window)
		after.merge(w.after)
	}
	seconds := r.length()
	res := &Result{
		Schema:      resultSchema,
		Target:      r.job.cfg.URL,
		Address:     r.job.addr.String(),
		Mode:        "closed",
		Started:     r.began().Wall(),
		Seconds:     seconds,
		Connections: r.connections(window, after),
		Requests:    r.requests(window, after),
		Status:      statuses(window),
		BytesIn:     window.bytes,
		LatencyMS:   window.latency().summary(),
		ConnectMS:   r.connects().summary(),
		Targets:     r.targets(window),
		Warmup:      r.warmup(before),
		Engine:      r.engine(window, seconds),
		Examples:    r.examples(),
		Warnings:    []string{},
	}
	if r.job.cfg.Requests == 0 {
		res.RequestedS = number(r.job.cfg.Duration.Seconds())
	}
	if seconds > 0 {
		res.ThroughputPerS = number(float64(window.ok) / seconds)
	}
	if r.job.cfg.open() {
		res.Mode, res.Open = "open", r.open(window)
	} else if r.job.cfg.Requests == 0 && r.opened > 0 {
		res.SlotSeconds = number(window.slotTime.Seconds())
	}
	// The histogram of latencies that were recorded, also when there are none.
	if text, err := window.latency().encode(); err == nil {
		res.Histogram = text
	}
	res.Warnings = append(res.Warnings, r.warnings(res, window)...)
	if r.job.cfg.Part.shared() {
		res.Part = r.part(before, window)
	}
	return res
}

// part is what others need to join the result with theirs.
func (r *run) part(before, window *counts) *PartResult {
	p := &PartResult{Index: r.job.cfg.Part.Index, Of: r.job.cfg.Part.Of, OpenedAt: r.opened.Seconds(), Histograms: map[string]string{}}
	began := clock.Time(0)
	for _, w := range r.workers {
		began = max(began, w.spread.began)
	}
	if begin := r.times.Load().begin; began == 0 && begin != clock.Never {
		began = begin // its only connection is the probe's, which waits for nobody
	}
	p.BeganAt = began.Seconds()
	add := func(name string, h *histogram) {
		if h.n == 0 {
			return
		}
		if text, err := h.encode(); err == nil {
			p.Histograms[name] = text
		}
	}
	add("connect", r.connects())
	add("warmup", before.latency())
	add("lag", &window.lag)
	add("from_send", &window.fromSend)
	add("pacing", &window.pacing)
	for i := range window.targets {
		if len(r.job.cfg.Targets) > 0 {
			add(fmt.Sprintf("target.%d", i), &window.targets[i].latency)
		}
	}
	return p
}

func number(f float64) *float64 { return &f }

// began is when the window opened, or else the run.
func (r *run) began() clock.Time {
	if r.opened > 0 {
		return r.opened
	}
	return r.start
}

// length is the measured length of the window: from an instant to an instant,
// or with -n from the first send to the last outcome.
func (r *run) length() float64 {
	if r.opened == 0 {
		return 0
	}
	from, to := r.opened, r.end
	if r.job.cfg.Requests > 0 {
		first, last := clock.Never, clock.Time(0)
		for _, w := range r.workers {
			if w.firstSend > 0 {
				first = min(first, w.firstSend)
			}
			last = max(last, w.lastOutcome)
		}
		from = max(from, first)
		to = min(to, last)
	}
	return max(to.Sub(from).Seconds(), 0)
}

func (r *run) connections(window, after *counts) Connections {
	c := Connections{
		Requested:      r.job.cfg.Connections,
		ClosedByServer: window.closedByServer,
		Retried:        window.retried,
		Stuck:          r.stuck(window, after),
	}
	for _, w := range r.workers {
		established, answered := w.established, w.answered
		if r.opened == 0 || r.countsFromStart() {
			established, answered = w.everEstablished, w.everAnswered
		}
		c.Established += int(established)
		c.Answered += int(answered)
		c.Opened += int64(w.before.opened + w.window.opened + w.after.opened)
		c.Failed.Refused += w.connectFailed[connectRefused]
		c.Failed.Timeout += w.connectFailed[connectTimeout]
		c.Failed.LocalPorts += w.connectFailed[connectLocalPorts]
		c.Failed.FDLimit += w.connectFailed[connectFDLimit]
		c.Failed.Other += w.connectFailed[connectOther]
	}
	// An open loop that grew has more than it asked for.
	c.Established = min(c.Established, c.Requested)
	c.Answered = min(c.Answered, c.Requested)
	if r.opened > 0 {
		c.OpenedInWindow = &window.opened
	}
	return c
}

func (r *run) requests(window, after *counts) Requests {
	q := Requests{
		Sent: window.sent, OK: window.ok, Non2xx: window.non2xx, Errors: errorsOf(window),
		Drained: Drained{OK: after.ok, Non2xx: after.non2xx, Errors: after.errorTotal()},
	}
	for _, w := range r.workers {
		q.CarriedIn += w.carriedIn
		q.InFlight += w.inFlightAtEnd
	}
	q.Drained.Abandoned = q.InFlight - q.Drained.OK - q.Drained.Non2xx - q.Drained.Errors
	return q
}

func errorsOf(c *counts) Errors {
	return Errors{
		Timeout: c.errors[errTimeout], Reset: c.errors[errReset], EOF: c.errors[errEOF],
		Protocol: c.errors[errProtocol], Other: c.errors[errOther],
	}
}

func statuses(c *counts) map[string]int64 {
	m := map[string]int64{}
	for status, n := range c.status {
		if n > 0 {
			m[fmt.Sprint(status)] = n
		}
	}
	return m
}

func (r *run) connects() *histogram {
	var h histogram
	for _, w := range r.workers {
		h.merge(&w.connect)
	}
	return &h
}

func (r *run) targets(window *counts) []TargetResult {
	out := []TargetResult{}
	if len(r.job.cfg.Targets) == 0 {
		return out
	}
	for i, t := range r.job.targets {
		c := &window.targets[i]
		out = append(out, TargetResult{
			Target: t.Path, Weight: t.Weight, OK: c.ok, Non2xx: c.non2xx, Errors: c.errors,
			LatencyMS: c.latency.summary(),
		})
	}
	return out
}

// open is the account of the schedule.
func (r *run) open(window *counts) *Open {
	o := &Open{
		OfferedPerS: r.job.cfg.Rate / float64(r.job.cfg.Part.of()), Late: window.late,
		LatencyFromSendMS: window.fromSend.summary(), PacingMS: window.pacing.summary(),
	}
	for _, w := range r.workers {
		o.Scheduled += w.schedule.scheduled
		o.NotStarted += w.schedule.notStarted
	}
	return o
}

// warmup is everything before the window; null when there was nothing.
func (r *run) warmup(before *counts) *Warmup {
	if before.sent == 0 {
		return nil
	}
	end := r.opened
	if end == 0 {
		end = clock.Now()
	}
	var first time.Duration
	firstSend := clock.Never
	for _, w := range r.workers {
		if w.firstSend > 0 && w.firstSend < firstSend {
			firstSend, first = w.firstSend, w.firstLatency
		}
	}
	wu := &Warmup{
		Seconds: max(end.Sub(firstSend).Seconds(), 0), Requests: before.ok + before.non2xx + before.errorTotal(),
		Errors: before.errorTotal(), LatencyMS: before.latency().summary(),
	}
	if first > 0 {
		wu.FirstMS = number(ms(first))
	}
	return wu
}

// engine is what the engine cost in the window; null if none opened.
func (r *run) engine(window *counts, seconds float64) *Engine {
	e := &Engine{Kind: r.loops[0].Kind(), Loops: len(r.loops), MaxRSSBytes: r.atStop.maxRSS}
	if r.opened == 0 {
		return e
	}
	user, system := r.atClose.user-r.atOpen.user, r.atClose.system-r.atOpen.system
	e.CPUUserS, e.CPUSystemS = user.Seconds(), system.Seconds()
	if n := window.ok + window.non2xx + window.errorTotal(); n > 0 {
		e.CPUUSPerRequest = number(float64((user+system)/time.Microsecond) / float64(n))
	}
	if window.lag.n > 0 {
		e.LagP99MS = number(ms(window.lag.percentile(99)))
		e.LagMaxMS = number(ms(window.lag.max))
	}
	return e
}

func (r *run) examples() map[string]string {
	var all examples
	for _, w := range r.workers {
		all.merge(&w.examples)
	}
	out := map[string]string{}
	maps.Copy(out, all.byClass)
	return out
}
