package verdict

import (
	"fmt"

	"loomlab/lab/record"
)

// What cannot be (METHOD rule 10): whoever sees one of these has found a bug.

const bugRemedy = "a bug of the lab, the downstream or the SUT: keep the run directory and report it; do not use the cell"

func impossible(threshold, evidence string, a ...any) *record.Doubt {
	return &record.Doubt{Kind: record.DoubtImpossible, Threshold: threshold, Evidence: fmt.Sprintf(evidence, a...), Remedy: bugRemedy}
}

// impossibleThroughput: each of N connections has at most T ÷ D + 1 answers in T.
func impossibleThroughput(c record.Cell, about Circumstances) *record.Doubt {
	n, t, d := float64(c.Connections), c.Load.Seconds, about.Delay.Seconds()
	if d == 0 || !isClosed(c) || about.Calls == nil || *about.Calls < 1 {
		return nil
	}
	limit := n * (t/d + 1)
	if ok := float64(c.Load.Requests.OK); ok > limit {
		return impossible("ok ≤ N × (T ÷ D + 1)", "%.0f ok > %.0f × (%.2f s ÷ %.3f s + 1) = %.0f", ok, n, t, d, limit)
	}
	return nil
}

// impossibleCalls: the SUT cannot have more answers than its downstream served.
// What it served while its account was not kept is taken from its rate, doubled:
// this doubt says that there is a bug, so it must not come of a late reading.
func impossibleCalls(c record.Cell, about Circumstances) *record.Doubt {
	if about.Calls == nil || *about.Calls == 0 || c.Downstream == nil {
		return nil
	}
	need := float64(c.Load.Requests.OK) * *about.Calls
	served := float64(c.Downstream.Answered)
	if c.Load.Seconds > 0 {
		served += 2 * served * about.Unseen / c.Load.Seconds
	}
	// Calls of requests that were under way when the window opened may have been
	// served before it: as many as there are connections, and in an open loop as
	// many as it carried in, which may be more.
	before := max(int64(slots(c)), c.Load.Requests.CarriedIn)
	if have := served + float64(before)**about.Calls; need > have {
		return impossible("ok × calls ≤ served by the downstream + N", "%.0f calls needed, %d served with %d requests under way before",
			need, c.Downstream.Answered, before)
	}
	return nil
}

func impossibleMean(c record.Cell, _ Circumstances) *record.Doubt {
	l := c.Load.LatencyMS
	if l == nil || !(l.Mean < l.Min*0.999) && !(l.Mean > l.Max*1.001) { // the histogram has 3 digits; what is not there is NaN
		return nil
	}
	return impossible("min ≤ mean ≤ max", "mean %.3f ms outside [%.3f, %.3f]", l.Mean, l.Min, l.Max)
}

// impossibleSlots: in a closed loop every connection is always waiting for
// something, so the times of all outcomes add up to N × T.
func impossibleSlots(c record.Cell, _ Circumstances) *record.Doubt {
	if c.Load.SlotSeconds == nil || !isClosed(c) || c.Load.Seconds == 0 {
		return nil
	}
	n := *c.Load.SlotSeconds / c.Load.Seconds
	if off := n/float64(c.Connections) - 1; off > 0.01 || off < -0.01 {
		return impossible("slot time ÷ T = N ± 1 %", "%.1f s of slot time ÷ %.2f s = %.1f, not %d",
			*c.Load.SlotSeconds, c.Load.Seconds, n, c.Connections)
	}
	return nil
}

// impossibleAccount: what several generators sent together has an outcome
// together. (One engine's own account is held by its tests; a load command need
// not keep one.)
func impossibleAccount(c record.Cell, _ Circumstances) *record.Doubt {
	off := c.Load.Identity()
	if len(c.Load.Generators) == 0 || off == 0 {
		return nil
	}
	q := c.Load.Requests
	return impossible("carried in + sent = ok + non-2xx + errors + in flight", "%d + %d, and %d + %d + %d + %d: off by %d",
		q.CarriedIn, q.Sent, q.OK, q.Non2xx, q.Errors.Total(), q.InFlight, off)
}
