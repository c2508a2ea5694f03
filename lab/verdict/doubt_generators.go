package verdict

import (
	"fmt"
	"math"
	"time"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// Doubts about a load that several generators share. One that was lost is none of
// them: its cell has failed.

const (
	spreadMS = 5.0 // between the starts of generators
	// clockError is how well clocks have to be known: as well as generators start.
	clockError = 5 * time.Millisecond
	// unequalShare is how far a generator's throughput may be from its part of the
	// whole. Its connections meet the same SUT as all others, and in a closed loop
	// throughput is connections ÷ latency: 5 % less is 5 % more latency, which only
	// the way there or the generator itself can add, and of two generators the sum
	// is then off by 2.5 %. Chance alone stays below that where there are many
	// requests; where there are few, unequal allows for it.
	unequalShare = 0.05
	unequalSigma = 4.0
)

// engineOf is an engine with the name that evidence has for it: the one, or each
// of several. A generator of them is at its limit long before their sum is.
type engineOf struct {
	name     string // "", or "generator 2 of 3 (cpus:1): "
	seconds  float64
	ok       int64
	engine   *record.LoadEngine
	runDelay *float64 // of its threads; nil: not known
}

func engines(c record.Cell) []engineOf {
	if len(c.Load.Generators) == 0 {
		one := engineOf{seconds: c.Load.Seconds, ok: c.Load.Requests.OK, engine: c.Load.Engine}
		if p := c.Probes[record.TierLoad]; p != nil {
			one.runDelay = p.RunDelayS
		}
		return []engineOf{one}
	}
	var all []engineOf
	for _, g := range c.Load.Generators {
		all = append(all, engineOf{name: generatorName(c.Load, g) + ": ", seconds: g.Seconds, ok: g.Requests.OK, engine: g.Engine, runDelay: g.RunDelayS})
	}
	return all
}

func generatorName(l *record.LoadResult, g record.LoadGenerator) string {
	return fmt.Sprintf("generator %d of %d (%s)", g.Index, len(l.Generators), g.Place)
}

// startSpread: generators that begin one after the other make a load that grows,
// and their windows are not the same time.
func startSpread(c record.Cell, _ Circumstances) *record.Doubt {
	if s := c.Load.StartSpreadMS; s == nil || *s <= spreadMS {
		return nil
	}
	return &record.Doubt{Kind: "start-spread", Threshold: "generators begin within 5 ms of each other",
		Evidence: fmt.Sprintf("%.1f ms between the first and the last", *c.Load.StartSpreadMS),
		Remedy:   "their hosts are busy, or their clocks drift: " + ownCore}
}

// unequal compares what each generator got with its part of the whole. Chance
// allows a deviation of cv ÷ √n, and the window's two edges one request more or
// less on each connection.
func unequal(c record.Cell, _ Circumstances) *record.Doubt {
	l := c.Load
	if len(l.Generators) < 2 || l.LatencyMS == nil || l.Requests.OK == 0 || l.RequestedS == nil {
		return nil // a number of requests is divided equally, whatever the throughput
	}
	var worst *record.LoadGenerator
	var most, allowed float64
	for i := range l.Generators {
		g := &l.Generators[i]
		expected := float64(l.Requests.OK) * partOf(l, g)
		if expected == 0 {
			continue
		}
		off := float64(g.Requests.OK)/expected - 1
		limit := max(unequalShare, unequalSigma*l.LatencyMS.Stddev/l.LatencyMS.Mean/math.Sqrt(expected)) + float64(g.Connections)/expected
		if excess := math.Abs(off) - limit; excess > 0 && (worst == nil || excess > math.Abs(most)-allowed) {
			worst, most, allowed = g, off, limit
		}
	}
	if worst == nil {
		return nil
	}
	return &record.Doubt{Kind: "generators-unequal", Threshold: fmt.Sprintf("each generator has its part of the throughput within %.0f %%", 100*allowed),
		Evidence: fmt.Sprintf("%s has %+.1f %%", generatorName(l, *worst), 100*most),
		Remedy:   "it is late, or farther from the SUT than the others: look at its engine and at the path"}
}

// partOf is a generator's share of the load that was asked for.
func partOf(l *record.LoadResult, g *record.LoadGenerator) float64 {
	if l.Open != nil && g.OfferedPerS != nil && l.Open.OfferedPerS > 0 {
		return *g.OfferedPerS / l.Open.OfferedPerS
	}
	return float64(g.Connections) / float64(max(1, l.Connections.Requested))
}

// clocksApart: the window is the load's, and what other machines say of themselves
// is cut to it by comparing clocks.
func clocksApart(_ record.Cell, about Circumstances) *record.Doubt {
	if about.ClockError <= clockError {
		return nil
	}
	return &record.Doubt{Kind: "clocks-apart", Threshold: "the clocks of all machines are known within 5 ms of each other",
		Evidence: fmt.Sprintf("one is known within %s", phrase.Millis(about.ClockError.Seconds())),
		Remedy:   "CPU, memory and the downstream's account may be those of moments beside the window: a quicker way to that host, or a longer window (--duration)"}
}
