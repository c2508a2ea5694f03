package lab

import (
	"fmt"
	"time"

	"loomlab/lab/record"
)

// circumstances are what a doubt rule may look at beside the cell.
type circumstances struct {
	delay time.Duration // nominal delay of the downstream; 0: none, or it varies
	calls *float64      // downstream calls per request, as declared; nil: unknown
}

// doubtRules are small and pure: each looks at one thing and returns a doubt or nil.
var doubtRules = []func(record.Cell, circumstances) *record.Doubt{
	impossibleThroughput, impossibleCalls, impossibleMean, impossibleSlots,
	fewerConnections, errorsSeen, notSteady, jitBusy, renewed, notQuiet, engineLate, downstreamLate, heavyTail,
}

// doubts applies every rule to a measured cell.
func doubts(c record.Cell, about circumstances) []record.Doubt {
	found := []record.Doubt{}
	if c.Load == nil {
		return found
	}
	for _, rule := range doubtRules {
		if d := rule(c, about); d != nil {
			found = append(found, *d)
		}
	}
	return found
}

const bugRemedy = "a bug of the lab, the downstream or the SUT: keep the run directory and report it; do not use the cell"

// impossibleThroughput: each of N connections has at most T ÷ D + 1 answers in T.
func impossibleThroughput(c record.Cell, about circumstances) *record.Doubt {
	n, t, d := float64(c.Connections), c.Load.Seconds, about.delay.Seconds()
	if d == 0 || c.Load.Mode != "closed" || about.calls == nil || *about.calls < 1 {
		return nil
	}
	limit := n * (t/d + 1)
	if ok := float64(c.Load.Requests.OK); ok > limit {
		return &record.Doubt{Kind: "impossible", Remedy: bugRemedy, Threshold: "ok ≤ N × (T ÷ D + 1)",
			Evidence: fmt.Sprintf("%.0f ok > %.0f × (%.2f s ÷ %.3f s + 1) = %.0f", ok, n, t, d, limit)}
	}
	return nil
}

// impossibleCalls: the SUT cannot have more answers than its downstream served.
func impossibleCalls(c record.Cell, about circumstances) *record.Doubt {
	if about.calls == nil || *about.calls == 0 || c.Downstream == nil {
		return nil
	}
	need := float64(c.Load.Requests.OK) * *about.calls
	if have := float64(c.Downstream.Answered) + float64(c.Connections); need > have {
		return &record.Doubt{Kind: "impossible", Remedy: bugRemedy, Threshold: "ok × calls ≤ served by the downstream + N",
			Evidence: fmt.Sprintf("%.0f calls needed, %d served + %d connections", need, c.Downstream.Answered, c.Connections)}
	}
	return nil
}

func impossibleMean(c record.Cell, _ circumstances) *record.Doubt {
	l := c.Load.LatencyMS
	if l == nil || l.Mean >= l.Min*0.999 && l.Mean <= l.Max*1.001 { // the histogram has 3 digits
		return nil
	}
	return &record.Doubt{Kind: "impossible", Remedy: bugRemedy, Threshold: "min ≤ mean ≤ max",
		Evidence: fmt.Sprintf("mean %.3f ms outside [%.3f, %.3f]", l.Mean, l.Min, l.Max)}
}

// impossibleSlots: in a closed loop every connection is always waiting for
// something, so the times of all outcomes add up to N × T.
func impossibleSlots(c record.Cell, _ circumstances) *record.Doubt {
	if c.Load.SlotSeconds == nil || c.Load.Mode != "closed" {
		return nil
	}
	n := *c.Load.SlotSeconds / c.Load.Seconds
	if off := n/float64(c.Connections) - 1; off > 0.01 || off < -0.01 {
		return &record.Doubt{Kind: "impossible", Remedy: bugRemedy, Threshold: "slot time ÷ T = N ± 1 %",
			Evidence: fmt.Sprintf("%.1f s of slot time ÷ %.2f s = %.1f, not %d", *c.Load.SlotSeconds, c.Load.Seconds, n, c.Connections)}
	}
	return nil
}

func fewerConnections(c record.Cell, _ circumstances) *record.Doubt {
	k := c.Load.Connections
	if k.Answered >= k.Requested {
		return nil
	}
	return &record.Doubt{Kind: "fewer-connections", Threshold: "every connection has one answer before the window",
		Evidence: fmt.Sprintf("%d asked, %d established, %d answered", k.Requested, k.Established, k.Answered),
		Remedy:   "raise the SUT's connection and backlog limits, or lower the rung"}
}

func errorsSeen(c record.Cell, _ circumstances) *record.Doubt {
	r := c.Load.Requests
	bad := r.Non2xx + r.Errors.Total()
	if all := bad + r.OK; all == 0 || float64(bad)/float64(all) <= 0.001 {
		return nil
	}
	return &record.Doubt{Kind: "errors", Threshold: "at most 0.1 % of the outcomes",
		Evidence: fmt.Sprintf("%d non-2xx, %d timeouts, %d resets, %d early ends, %d protocol errors beside %d ok",
			r.Non2xx, r.Errors.Timeout, r.Errors.Reset, r.Errors.EOF, r.Errors.Protocol+r.Errors.Other, r.OK),
		Remedy: "look at the in-app exceptions and at the SUT's log; throughput counts ok answers only"}
}

func notSteady(c record.Cell, _ circumstances) *record.Doubt {
	if c.Warmup == nil || c.Warmup.Steady || c.Warmup.Seconds == 0 {
		return nil
	}
	return &record.Doubt{Kind: "not-steady", Threshold: "warm-up ends steady", Evidence: c.Warmup.Why,
		Remedy: "a longer warm-up: --warmup 60s"}
}

func jitBusy(c record.Cell, _ circumstances) *record.Doubt {
	sut := c.Probes["sut"]
	if sut == nil || sut.JITSeconds == nil || *sut.JITSeconds <= warmJIT*c.Load.Seconds {
		return nil
	}
	return &record.Doubt{Kind: "jit-busy", Threshold: "JIT below 2 % of a core inside a window",
		Evidence: fmt.Sprintf("%.2f s of compiling in %.1f s", *sut.JITSeconds, c.Load.Seconds), Remedy: "a longer warm-up: --warmup 60s"}
}

func renewed(c record.Cell, _ circumstances) *record.Doubt {
	k := c.Load.Connections
	if k.OpenedInWindow == nil || float64(*k.OpenedInWindow) <= renewedShare*float64(c.Connections) {
		return nil
	}
	return &record.Doubt{Kind: "connections-renewed", Threshold: "at most 1 % of the connections reconnect in a window",
		Evidence: fmt.Sprintf("%d reconnects with %d connections", *k.OpenedInWindow, c.Connections),
		Remedy:   "find who closes (Tomcat does every 100 requests) and set its keep-alive limit if it is not the subject"}
}

func notQuiet(c record.Cell, _ circumstances) *record.Doubt {
	if c.Settle == nil || c.Settle.Quiet {
		return nil
	}
	return &record.Doubt{Kind: "not-settled", Threshold: "SUT below 5 % of a core for 1 s, nothing in flight, within 5 s",
		Evidence: fmt.Sprintf("still busy after %.1f s", c.Settle.Seconds), Remedy: "the window may hold work of the one before; look at the SUT's background work"}
}

func engineLate(c record.Cell, _ circumstances) *record.Doubt {
	if e := c.Load.Engine; e != nil && e.LagP99MS != nil && *e.LagP99MS > 5 {
		return &record.Doubt{Kind: "engine-late", Threshold: "lag p99 ≤ 5 ms", Evidence: fmt.Sprintf("lag p99 %.1f ms", *e.LagP99MS),
			Remedy: "give the load engine a core of its own, or lower the rung"}
	}
	return nil
}

func downstreamLate(c record.Cell, _ circumstances) *record.Doubt {
	if d := c.Downstream; d != nil && d.LatenessMS != nil && d.LatenessMS.P99 > 5 {
		return &record.Doubt{Kind: "downstream-late", Threshold: "lateness p99 ≤ 5 ms", Evidence: fmt.Sprintf("lateness p99 %.1f ms", d.LatenessMS.P99),
			Remedy: "the delay was longer than asked: give the downstream a core of its own"}
	}
	return nil
}

// heavyTail is legal, and worth a look at connects and retransmits.
func heavyTail(c record.Cell, _ circumstances) *record.Doubt {
	l := c.Load.LatencyMS
	if l == nil || l.Mean <= l.P99 {
		return nil
	}
	return &record.Doubt{Kind: "heavy-tail", Threshold: "mean ≤ p99", Evidence: fmt.Sprintf("mean %.1f ms above p99 %.1f ms", l.Mean, l.P99),
		Remedy: "a few answers took very long: look at connects and retransmits"}
}
