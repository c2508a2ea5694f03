package verdict

import (
	"fmt"
	"math"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// The rules about the downstream's gauge: where a request's time goes, and what
// caps the number of requests that are behind the SUT at once.

// Shares of a limit from which on it counts as reached.
const (
	nearlyAll = 0.90
	mostly    = 0.80
)

// pool is one declared limit of what can be in the downstream at once.
type pool struct {
	kind  string
	limit int
	what  string
}

func (f *figures) pools() []pool {
	l := f.about.Limits
	return []pool{
		{record.VerdictWorkerThreads, l.Workers, "worker threads"},
		{record.VerdictClientPool, l.ClientPool, "pooled connections to the downstream"},
		{record.VerdictDBPool, l.DBPool, "pooled database connections"},
	}
}

// declaredPool: the gauge stands at a limit that is known, and more would come.
func declaredPool(f *figures) *record.Verdict {
	if f.flight == 0 || f.served == 0 || f.about.Calls == nil || *f.about.Calls == 0 {
		return nil
	}
	var found []pool
	for _, p := range f.pools() {
		limit := float64(p.limit)
		if p.limit > 0 && limit <= 0.97*f.n && math.Abs(f.peak-limit) <= 0.02*limit && f.flight >= mostly*limit {
			found = append(found, p)
		}
	}
	if found == nil || f.sutFull() {
		return nil
	}
	p := found[0]
	limit := float64(p.limit)
	v := &record.Verdict{Kind: p.kind, Evidence: f.gauge() + "; " + f.utilisation(),
		Sure: len(found) == 1 && f.flight >= nearlyAll*limit && f.flat() && !f.engineSuspect(),
		Text: fmt.Sprintf("%d %s are the limit. %s/s is %s%s.", p.limit, p.what, phrase.Number(f.ok), f.ratio(limit, p.what), f.queue(limit))}
	if len(found) > 1 {
		v.Text += fmt.Sprintf(" There are %d %s too: which of the two binds cannot be told.", found[1].limit, found[1].what)
	}
	return v
}

// heldThreads: worker threads are held by what requests wait for besides the
// downstream. No gauge shows that, but how long it takes is declared.
func heldThreads(f *figures) *record.Verdict {
	l := f.about.Limits
	limit := float64(l.Workers)
	if l.Held == 0 || f.flight > 0 || limit == 0 || limit > 0.97*f.n || f.sutFull() || f.bad >= manyBad {
		return nil
	}
	reached := f.ok * f.served / limit
	if reached < nearlyAll {
		return nil
	}
	return &record.Verdict{Kind: record.VerdictWorkerThreads, Sure: reached >= 0.95 && !f.engineSuspect(), Evidence: f.utilisation(),
		Text: fmt.Sprintf("%d worker threads are the limit. %s/s is %s%s.", l.Workers, phrase.Number(f.ok), f.ratio(limit, "worker threads"), f.queue(limit))}
}

// pinnedCarriers: as many requests wait at once as there are threads that carry
// virtual threads, while those would let any number wait. They do not let go of
// their carriers: they are pinned (JEP 491 says when, and that JDK 24 ends most of it).
func pinnedCarriers(f *figures) *record.Verdict {
	carriers := float64(f.about.Carriers)
	waiting := f.ok * f.served
	if carriers == 0 || carriers > 0.97*f.n || f.bad >= manyBad || !f.sutIdle() || math.Abs(waiting-carriers) > 0.05*carriers {
		return nil
	}
	return &record.Verdict{Kind: record.VerdictWorkerThreads, Evidence: f.utilisation(), // not sure: a pool can be as small
		Text: fmt.Sprintf("%s carrier threads are the limit: virtual threads wait without letting go of them (pinned, as within synchronized before JDK 24; --jfr shows where). %s/s is %s%s.",
			phrase.Number(carriers), phrase.Number(f.ok), f.ratio(carriers, "carrier threads"), f.queue(carriers))}
}

// late is by how much a call of the downstream takes longer than its nominal delay.
func (f *figures) late() float64 {
	if f.about.Calls == nil || *f.about.Calls <= 0 || f.about.Delay == 0 {
		return 0
	}
	return (f.served-f.about.Limits.Held.Seconds()) / *f.about.Calls - f.about.Delay.Seconds()
}

// downstreamSlow: nearly all of a request's time is the downstream's, and that
// is more than its nominal delay.
func downstreamSlow(f *figures) *record.Verdict {
	nominal := f.about.Delay.Seconds()
	if nominal == 0 || f.share() < mostly || f.late() < 0.1*nominal+0.001 {
		return nil
	}
	why := "as it was told to"
	if !f.about.Varied {
		why = "it is late"
		if l := f.cell.Downstream.LatenessMS; l != nil {
			why += fmt.Sprintf(", p99 by %s, and waited %s s for a CPU in %s s", phrase.Millis(l.P99/1e3), phrase.Number3(f.down.wait*f.seconds), phrase.Number3(f.seconds))
		}
	}
	return &record.Verdict{Kind: record.VerdictDownstream, Evidence: f.gauge() + "; " + f.utilisation(),
		Sure: f.about.Varied && f.share() >= nearlyAll && f.late() >= 0.25*nominal,
		Text: fmt.Sprintf("the downstream is the limit: a call takes %s on average and not %s (%s). %s/s is %s; the SUT adds only %s.",
			phrase.Millis(nominal+f.late()), phrase.Millis(nominal), why, phrase.Number(f.ok), f.ratio(f.n, "connections"), phrase.Millis(max(0, f.own())))}
}

// clientLimited: nearly all of a request's time is the delay, so the load could
// not get more out of any SUT.
func clientLimited(f *figures) *record.Verdict {
	if f.served == 0 || f.share() < mostly {
		return nil
	}
	v := &record.Verdict{Kind: record.VerdictClientLimited, Evidence: f.gauge() + "; " + f.utilisation()}
	if !f.closed() {
		offered := f.cell.Rate
		if o := f.cell.Load.Open; offered == 0 && o != nil {
			offered = o.OfferedPerS
		}
		if f.ok < 0.97*offered {
			return nil
		}
		v.Sure = f.ok >= 0.99*offered && f.share() >= nearlyAll
		v.Text = fmt.Sprintf("the load is the limit: of %s/s offered %s/s were answered; the SUT adds only %s to the delay of %s.",
			phrase.Number(offered), phrase.Number(f.ok), phrase.Millis(max(0, f.own())), phrase.Millis(f.served))
		return v
	}
	reached := f.ok * f.served / f.n
	if reached < mostly {
		return nil // connections spend their time in something else, such as connects
	}
	if f.share() < nearlyAll && (f.down.wait >= starved || f.load.wait >= starved*f.engineLoops()) {
		return nil // what the SUT seems to add may be the instrument's
	}
	v.Sure = reached >= nearlyAll
	v.Text = fmt.Sprintf("the load is the limit. %s/s is %s; the SUT adds only %s to the delay of %s.",
		phrase.Number(f.ok), f.ratio(f.n, "connections"), phrase.Millis(max(0, f.own())), phrase.Millis(f.served))
	return v
}

// even is the evenness from which on requests come like clockwork.
const even = 0.93

// ackDelay is Linux's delayed acknowledgement: 40 ms, and what sleep adds.
const ackDelay, ackDelayMost = 0.036, 0.049

// delayedACK: answers are late by 40 ms, all of them.
func delayedACK(f *figures) *record.Verdict {
	l := f.cell.Load.LatencyMS
	if l == nil || !f.sutIdle() || f.about.Calls == nil || *f.about.Calls > 0 && f.served == 0 {
		return nil
	}
	p50, p75 := l.P50/1e3-f.served, l.P75/1e3-f.served
	if p50 < ackDelay || p50 > ackDelayMost || !(p75 <= ackDelayMost) || f.peak >= 1 && f.flat() && f.flight >= nearlyAll*f.peak && f.peak < 0.5*f.n {
		return nil
	}
	evidence := f.utilisation()
	if m := f.cell.Machine; m != nil && m.DelayedACKs != nil {
		perRequest := float64(*m.DelayedACKs) / (f.ok * f.seconds)
		if perRequest < 0.5 {
			return nil
		}
		evidence += fmt.Sprintf("; %s delayed acknowledgements a request", phrase.Number3(perRequest))
	}
	return &record.Verdict{Kind: record.VerdictDelayedACK, Evidence: evidence,
		Text: fmt.Sprintf("delayed acknowledgements are the limit, it seems: half of the requests spend %s outside the downstream, three quarters at most %s, while the SUT idles. Linux delays an acknowledgement by 40 ms, and a sender that writes head and body apart without TCP_NODELAY waits for it.",
			phrase.Millis(p50), phrase.Millis(p75))}
}

// oneAtATime: requests come to the downstream like clockwork, or one by one,
// and it is no CPU that spaces them.
func oneAtATime(f *figures) *record.Verdict {
	idles := f.sut.known && f.sut.cores < 0.5 && f.sut.cores < 0.5*f.sut.cpus
	if !f.closed() || f.peak == 0 || f.peak > 0.9*f.n || !idles || f.share() >= mostly || f.bad >= manyBad {
		return nil
	}
	v := &record.Verdict{Kind: record.VerdictLock, Evidence: f.gauge() + "; " + f.utilisation()}
	if f.peak == 1 && len(f.cell.InFlight.Peaks) > 1 {
		if f.flight < 0.5 { // that few may well never meet
			return nil
		}
		v.Text = fmt.Sprintf("one request at a time is in the downstream: a lock is held around the call (or a pool has one connection). %s/s is %s%s.",
			phrase.Number(f.ok), f.ratio(1, "request"), f.queue(1))
		return v
	}
	e := f.cell.InFlight.Evenness
	if e == nil || *e < even || !f.sutIdle() {
		return nil
	}
	v.Evidence += fmt.Sprintf("; evenness of the calls %s (1: a clock, 0.79: at random)", phrase.Number3(*e))
	v.Text = fmt.Sprintf("one at a time is let through, by a lock most likely: the downstream gets a request every %s like clockwork, 1 ÷ %s s = %s/s, while the SUT's CPUs idle%s.",
		phrase.Millis(1/f.ok), phrase.Number3(1/f.ok), phrase.Number(f.ok), f.queue(f.flight))
	return v
}

// hiddenPool: the gauge stands at a limit that nobody declared.
func hiddenPool(f *figures) *record.Verdict {
	if !f.closed() || f.peak < 2 || f.peak > 0.97*f.n || !f.flat() || f.flight < nearlyAll*f.peak || f.bad >= manyBad {
		return nil
	}
	// A CPU that takes one at a time, or a lock, spaces requests evenly and may
	// look as flat.
	e := f.cell.InFlight.Evenness
	if !f.sut.known || f.sutFull() || f.sut.hottest >= 0.8 || e == nil || *e >= nearlyAll {
		return nil
	}
	v := &record.Verdict{Kind: record.VerdictClientPool, Evidence: f.gauge() + "; " + f.utilisation()}
	what, sure := f.poolOf(f.peak)
	if what == "" {
		v.Text = fmt.Sprintf("something lets %s requests into the downstream at once and no more, which no declared limit explains: a pool of connections to it, most likely. %s/s is %s%s.",
			phrase.Number(f.peak), phrase.Number(f.ok), f.ratio(f.peak, "at once"), f.queue(f.peak))
		v.Sure = sure && f.closedPool()
		return v
	}
	v.Kind = record.VerdictWorkerThreads
	v.Text = fmt.Sprintf("%s requests are in the downstream at once and no more, as many as the SUT has threads (%s): worker threads are the limit, most likely. %s/s is %s%s.",
		phrase.Number(f.peak), what, phrase.Number(f.ok), f.ratio(f.peak, "threads"), f.queue(f.peak))
	return v
}

// poolOf names the threads that there are as many of as limit, or "". fewer says
// that the SUT has so few or so many threads that they cannot be the limit.
func (f *figures) poolOf(limit float64) (what string, other bool) {
	if p := f.cell.Probes[record.TierSUT]; p != nil {
		for _, g := range p.Groups {
			if n := float64(g.Threads); len(p.Groups) > 1 && math.Abs(n-limit) <= max(1, 0.02*limit) {
				return fmt.Sprintf("%d called %s", g.Threads, g.Name), false
			}
		}
	}
	// A native server does not name its threads; it has a few besides its workers.
	const besides = 16
	if t := float64(f.sut.threads); t >= limit && t <= limit+besides && limit > besides {
		return fmt.Sprintf("%d in all", f.sut.threads), false
	}
	return "", f.sut.threads > 0
}

// closedPool says that the SUT has exactly as many connections to the downstream
// as requests in it, all kept: a pool and no accident.
func (f *figures) closedPool() bool {
	d := f.cell.Downstream
	return d != nil && d.Connections.Accepted == 0 && math.Abs(float64(d.Connections.Open)-f.peak) <= 1 && f.flight >= 0.95*f.peak
}

// engineSuspect says that the load engine itself may hide what the SUT could do.
func (f *figures) engineSuspect() bool {
	e := f.cell.Load.Engine
	return f.load.hottest >= cpuFull || e != nil && e.LagP99MS != nil && *e.LagP99MS/1e3 > 0.25*f.latency
}
