package record

import (
	"math"
	"strings"

	"loomlab/probes"
)

// The small readers behind [Metric]: nil says "not available", never 0.

func count(n int64) *float64 { v := float64(n); return &v }

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// quotient is nil where it would not be a number.
func quotient(a, b float64) *float64 {
	if q := a / b; b != 0 && isFinite(q) {
		return &q
	}
	return nil
}

func megabytes(bytes *int64) *float64 {
	if bytes == nil {
		return nil
	}
	return quotient(float64(*bytes), mb)
}

// withDrain counts as the article did (METHOD rule 1): with the answers that
// came after the window, over the window alone.
func withDrain(c *Cell) *float64 {
	r := c.Load.Requests
	if c.Load.ThroughputPerS == nil {
		return nil
	}
	return quotient(float64(r.OK+r.Drained.OK), c.Load.Seconds)
}

func latency(c *Cell, read func(*Latency) float64) *float64 {
	if c.Load.LatencyMS == nil {
		return nil
	}
	v := read(c.Load.LatencyMS)
	return &v
}

func exceptions(c *Cell) *float64 {
	if c.Exceptions == nil {
		return nil
	}
	var sum int64
	for _, n := range c.Exceptions {
		sum += n
	}
	return count(sum)
}

func cpuPerRequest(tier string) func(*Cell) *float64 {
	return func(c *Cell) *float64 {
		if p := c.Probes[tier]; p != nil {
			return p.CPUUSPerRequest
		}
		return nil
	}
}

// cpuRelative is the SUT's CPU per request in units of the instrument's, engine
// and downstream together. Their work for a request of one SUT on one rung is
// always the same, so it cancels the speed at which the machine happened to run.
func cpuRelative(c *Cell) *float64 {
	sut, load, downstream := cpuPerRequest(TierSUT)(c), loadCPU(c), cpuPerRequest(TierDownstream)(c)
	if sut == nil || load == nil || downstream == nil {
		return nil
	}
	return quotient(*sut, *load+*downstream)
}

// loadCPU prefers the engine's own account, which covers exactly the window.
func loadCPU(c *Cell) *float64 {
	if e := c.Load.Engine; e != nil && e.CPUUSPerRequest != nil {
		return e.CPUUSPerRequest
	}
	return cpuPerRequest(TierLoad)(c)
}

func sut(c *Cell, read func(*probes.Window) *int64) *int64 {
	if p := c.Probes[TierSUT]; p != nil {
		return read(p)
	}
	return nil
}

func rssEnd(c *Cell) *int64 { return rss(c, func(e *probes.Extent) int64 { return e.End }) }

func rss(c *Cell, read func(*probes.Extent) int64) *int64 {
	return sut(c, func(p *probes.Window) *int64 {
		if p.RSSBytes == nil {
			return nil
		}
		n := read(p.RSSBytes)
		return &n
	})
}

// totalTime is how long a number of requests took; of pooled windows, the mean.
func totalTime(c *Cell) *float64 {
	if c.Load.RequestedS != nil {
		return nil
	}
	return quotient(c.Load.Seconds, float64(max(1, c.pooled)))
}

func rssMinusHeap(c *Cell) *float64 {
	rss, heap := rssEnd(c), sut(c, func(p *probes.Window) *int64 { return p.HeapCommittedBytes })
	if rss == nil || heap == nil {
		return nil
	}
	rest := *rss - *heap
	return megabytes(&rest)
}

// gc reads the JVM's counters, and its log where those cannot tell: with
// Shenandoah, and without perf data.
func gc(c *Cell, read func(*probes.GCTotal) float64) *float64 {
	var total *probes.GCTotal
	if p := c.Probes[TierSUT]; p != nil {
		total = p.GC
	}
	if total == nil && c.Pauses != nil {
		total = &probes.GCTotal{Count: c.Pauses.Count, MS: c.Pauses.TotalMS}
	}
	if total == nil {
		return nil
	}
	v := read(total)
	return &v
}

// longestPause is exact where there is a GC log, else the longest that a sample saw.
func longestPause(c *Cell) *float64 {
	switch {
	case c.Pauses == nil:
		seen := gc(c, func(t *probes.GCTotal) float64 { return t.LongestMS })
		if n := gc(c, func(t *probes.GCTotal) float64 { return float64(t.Count) }); n != nil && *n > 0 && *seen == 0 {
			return nil // there were pauses, and no sample saw the length of one
		}
		return seen
	case c.Pauses.MaxMS == nil:
		return count(0)
	}
	v := *c.Pauses.MaxMS
	return &v
}

func platformThreads(p *probes.Window) *probes.LivePeak { return p.PlatformThreads }

func threads(c *Cell, of func(*probes.Window) *probes.LivePeak, read func(*probes.LivePeak) int64) *float64 {
	if p := c.Probes[TierSUT]; p != nil {
		if t := of(p); t != nil {
			return count(read(t))
		}
	}
	return nil
}

// unavailable looks up why a field is missing. "tier.field" asks the tier's
// probes first, then the cell for the field and for the tier as a whole.
func (c *Cell) unavailable(source string) string {
	tier, field, ofTier := strings.Cut(source, ".")
	if !ofTier {
		return c.Unavailable[source]
	}
	if p := c.Probes[tier]; p != nil && p.Unavailable[field] != "" {
		return p.Unavailable[field]
	}
	for _, key := range []string{"probes." + source, source, "probes." + tier} {
		if reason := c.Unavailable[key]; reason != "" {
			return reason
		}
	}
	return ""
}
