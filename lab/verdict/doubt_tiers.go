package verdict

import (
	"fmt"
	"strings"
	"time"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
	"loomlab/probes"
)

// Doubts about the tiers: the instrument (engine and downstream) and the SUT.

const (
	busyLoops  = 0.85 // of the cores of a tier's loops
	lateMS     = 5.0  // lag of the engine, lateness of the downstream, at p99
	waitShare  = 0.02 // of the mean latency (METHOD rule 11)
	sameRate   = 0.10 // cells whose rates differ by less are at one rate
	driftShare = 1.0  // more CPU per request than in the calibration, at one rate
)

// soloLate is by how much a downstream may exceed its delay when asked alone
// (METHOD rule 17).
const soloLate = 2 * time.Millisecond

// WarmJIT is what the JIT compilers of a warm JVM may use at most, of a core.
const WarmJIT = 0.02

const ownCore = "give the instrument cores of its own, or lower the rung"

func engineSaturated(c record.Cell, _ Circumstances) *record.Doubt {
	var full []string
	for _, e := range engines(c) {
		if e.engine == nil || e.engine.Loops == 0 || e.seconds == 0 {
			continue
		}
		if cores := (e.engine.CPUUserS + e.engine.CPUSystemS) / e.seconds; cores >= busyLoops*float64(e.engine.Loops) {
			full = append(full, fmt.Sprintf("%s%.2f cores with %s", e.name, cores, phrase.Count(e.engine.Loops, "loop")))
		}
	}
	if full == nil {
		return nil
	}
	return &record.Doubt{Kind: record.DoubtEngineSaturated, Threshold: "below 85 % of its loops' cores",
		Evidence: strings.Join(full, "; "),
		Remedy:   "the figures are the engine's own limit: more --loops on more cores, or several generators (--place load=A,B)"}
}

// engineLate: how late the engine handled what was ready adds to the latencies.
// Half a mean latency is too much even where that is below 5 ms. An open loop
// must also start its requests in time.
func engineLate(c record.Cell, _ Circumstances) *record.Doubt {
	if o := c.Load.Open; o != nil && o.Scheduled > 0 && float64(o.Late) > 0.01*float64(o.Scheduled) {
		return &record.Doubt{Kind: "engine-late", Threshold: "at most 1 % of the requests start more than 10 ms after their time",
			Evidence: fmt.Sprintf("%d of %d", o.Late, o.Scheduled), Remedy: ownCore}
	}
	limit := lateMS
	if mean := meanMS(c); mean > 0 {
		limit = max(1, min(limit, mean/2))
	}
	var late []string
	for _, e := range engines(c) {
		if e.engine != nil && e.engine.LagP99MS != nil && *e.engine.LagP99MS > limit {
			late = append(late, fmt.Sprintf("%slag p99 %.1f ms", e.name, *e.engine.LagP99MS))
		}
	}
	if late == nil {
		return nil
	}
	return &record.Doubt{Kind: "engine-late", Threshold: "lag p99 ≤ 5 ms, and ≤ half the mean latency",
		Evidence: strings.Join(late, "; "), Remedy: ownCore}
}

// downstreamSaturated takes the downstream's loops to be half of the cores, as
// they are by default; where it has fewer, one thread at its limit shows it.
func downstreamSaturated(c record.Cell, about Circumstances) *record.Doubt {
	p := c.Probes[record.TierDownstream]
	if p == nil || c.Load.Seconds == 0 || about.Solo > 0 { // how many threads of somebody else's are enough is not known
		return nil
	}
	hottest := 0.0
	for _, g := range p.Groups {
		hottest = max(hottest, g.MaxCPUS/c.Load.Seconds)
	}
	loops := max(1, about.Cores/2)
	switch {
	case about.Cores > 0 && p.Cores != nil && *p.Cores >= busyLoops*float64(loops):
		return &record.Doubt{Kind: record.DoubtDownstreamSaturated, Threshold: "below 85 % of its loops' cores",
			Evidence: fmt.Sprintf("%.2f cores with %s", *p.Cores, phrase.Count(loops, "loop")), Remedy: ownCore}
	case hottest >= busyLoops:
		return &record.Doubt{Kind: record.DoubtDownstreamSaturated, Threshold: "no thread of it above 85 % of a core",
			Evidence: fmt.Sprintf("a thread used %.2f of a core", hottest), Remedy: ownCore}
	}
	return nil
}

// downstreamRejected: one that is late when nobody else asks measures itself.
func downstreamRejected(_ record.Cell, about Circumstances) *record.Doubt {
	if about.Solo == 0 || about.Delay == 0 || about.Solo <= about.Delay+soloLate {
		return nil
	}
	return &record.Doubt{Kind: record.DoubtDownstreamRejected, Threshold: fmt.Sprintf("asked alone, the downstream answers within %v of its delay", soloLate),
		Evidence: fmt.Sprintf("p50 %s for a delay of %s", phrase.Millis(about.Solo.Seconds()), phrase.Millis(about.Delay.Seconds())),
		Remedy:   "its figures are its own: with the JDK's HttpServer try -Dsun.net.httpserver.nodelay=true"}
}

func downstreamLate(c record.Cell, _ Circumstances) *record.Doubt {
	d := c.Downstream
	if d == nil || d.LatenessMS == nil {
		return nil
	}
	l := d.LatenessMS
	mean := meanMS(c)
	if l.P99 <= lateMS && (mean == 0 || l.Mean <= waitShare*mean) {
		return nil
	}
	return &record.Doubt{Kind: "downstream-late", Threshold: "lateness p99 ≤ 5 ms, and on average ≤ 2 % of the mean latency",
		Evidence: fmt.Sprintf("lateness p99 %.1f ms, mean %.2f ms", l.P99, l.Mean), Remedy: "the delay was longer than asked: " + ownCore}
}

// waitsForCPU spreads the time that the instrument's threads were runnable
// without a CPU over the requests. A wait holds up every request that is ready
// meanwhile, so this is the least that it added; lag and lateness say more.
func waitsForCPU(c record.Cell, _ Circumstances) *record.Doubt {
	mean, ok := meanMS(c), c.Load.Requests.OK
	if mean == 0 || ok == 0 {
		return nil
	}
	var late []string
	check := func(name string, runDelay *float64, requests int64) {
		if runDelay == nil || requests == 0 {
			return
		}
		if ms := *runDelay * 1e3 / float64(requests); ms > waitShare*mean {
			late = append(late, fmt.Sprintf("%s %.2f ms a request (%.2f s), mean latency %.2f ms", name, ms, *runDelay, mean))
		}
	}
	for _, e := range engines(c) {
		check(e.name+"engine", e.runDelay, e.ok)
	}
	if p := c.Probes[record.TierDownstream]; p != nil {
		check("downstream", p.RunDelayS, ok)
	}
	if late == nil {
		return nil
	}
	return &record.Doubt{Kind: "waits-for-cpu", Threshold: "engine and downstream wait for a CPU at most 2 % of the mean latency",
		Evidence: strings.Join(late, "; "), Remedy: ownCore}
}

// calibrationDrift compares what the instrument costs per request beside the
// SUT with what it cost without, where both ran at one rate: at a lower rate
// every wake-up serves fewer requests, and the cost says nothing.
func calibrationDrift(c record.Cell, about Circumstances) *record.Doubt {
	k := about.Calibration
	if k == nil || k.Load == nil || c.Load.ThroughputPerS == nil || k.Load.ThroughputPerS == nil {
		return nil
	}
	if off := *c.Load.ThroughputPerS / *k.Load.ThroughputPerS - 1; off > sameRate || off < -sameRate {
		return nil
	}
	now, then := InstrumentUS(c), InstrumentUS(*k)
	if now == 0 || then == 0 || now <= (1+driftShare)*then {
		return nil
	}
	return &record.Doubt{Kind: "calibration-drift", Threshold: "the instrument costs at most twice the CPU of its calibration at this rate",
		Evidence: fmt.Sprintf("engine and downstream %.1f µs a request, %.1f µs in the calibration", now, then),
		Remedy:   "the machine has become slower, or the tiers are in each other's way: " + ownCore}
}

// InstrumentUS is the CPU per request of engine and downstream; 0 when unknown.
func InstrumentUS(c record.Cell) float64 {
	if c.Load == nil {
		return 0
	}
	e, d := c.Load.Engine, c.Probes[record.TierDownstream]
	if e == nil || e.CPUUSPerRequest == nil || d == nil || d.CPUUSPerRequest == nil {
		return 0
	}
	return *e.CPUUSPerRequest + *d.CPUUSPerRequest
}

func jitBusy(c record.Cell, _ Circumstances) *record.Doubt {
	s := compiling(c.Probes[record.TierSUT])
	if s == nil || *s <= WarmJIT*c.Load.Seconds {
		return nil
	}
	return &record.Doubt{Kind: "jit-busy", Threshold: "JIT compilers below 2 % of a core inside a window",
		Evidence: fmt.Sprintf("%.2f s of compiling in %.1f s", *s, c.Load.Seconds), Remedy: "a longer warm-up: --warmup 60s"}
}

// compiling is the time that the JIT took in a window, as CPU time of the
// compiler threads. The JVM's own counter is the second choice: it counts time
// on the clock, and a compilation only when it has ended.
func compiling(w *probes.Window) *float64 {
	if w == nil || w.JITSeconds == nil {
		return nil // no JVM
	}
	if s, ok := probes.CompilerCPU(w.Groups); ok {
		return &s
	}
	return w.JITSeconds
}

// restarted: a supervisor may have put a new process in the place of one that died.
func restarted(c record.Cell, _ Circumstances) *record.Doubt {
	p := c.Probes[record.TierSUT]
	if p == nil {
		return nil
	}
	for _, field := range []string{"jvm", "cpu_s"} {
		if reason := p.Unavailable[field]; strings.Contains(reason, "restarted") {
			return &record.Doubt{Kind: record.DoubtRestarted, Threshold: "one SUT process for the whole window", Evidence: reason,
				Remedy: "the figures mix two processes, one of them cold: look at the SUT's log for why the first one ended"}
		}
	}
	return nil
}

// resumed holds for cells of a fork whose lower rungs another process has
// climbed: its memory has not grown as that of an uninterrupted one.
func resumed(_ record.Cell, about Circumstances) *record.Doubt {
	if !about.Resumed {
		return nil
	}
	return &record.Doubt{Kind: "resumed", Metric: "rss_mb", Threshold: "one process climbs the whole ladder",
		Evidence: "the run was resumed in the middle of this fork, with a fresh process", Remedy: "measure without interruption where memory after the lower rungs matters"}
}
