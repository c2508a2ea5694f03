package record

import (
	"maps"
	"slices"

	"loomlab/loadgen"
	"loomlab/probes"
)

// Pool joins the measured rounds of one fork into a single cell: counters and
// seconds add up, histograms merge (see [MergeHistograms] for the result; the
// pooled cell keeps its percentiles only), costs per request are weighted by
// requests, peaks take the highest, and gauges are those of the last round. Nil
// without a measured round. What one round lacks the pooled cell lacks too.
func Pool(rounds []*Cell) *Cell { return pool(Measured(rounds), true) }

func pool(rounds []*Cell, latencies bool) *Cell {
	if len(rounds) == 0 {
		return nil
	}
	pooled := *rounds[0]
	for _, next := range rounds[1:] {
		pooled = join(&pooled, next)
	}
	if len(rounds) > 1 && latencies {
		if h, err := MergeHistograms(rounds); err == nil {
			pooled.Load.LatencyMS = FromHistogram(h)
		} else if pooled.Unavailable["load.histogram"] == "" {
			pooled.Unavailable["load.histogram"] = err.Error()
		}
	}
	pooled.pooled = len(rounds)
	return &pooled
}

func join(a, b *Cell) Cell {
	c := *a
	c.Load = joinLoad(a.Load, b.Load)
	c.Probes = map[string]*probes.Window{}
	for tier, p := range a.Probes {
		if q := b.Probes[tier]; p != nil && q != nil {
			c.Probes[tier] = joinProbes(p, q, a.Load, b.Load)
		}
	}
	c.Exceptions = nil
	if a.Exceptions != nil && b.Exceptions != nil {
		c.Exceptions = addMaps(a.Exceptions, b.Exceptions)
	}
	c.Database = both(a.Database, b.Database, joinDatabase)
	c.Pauses, c.Memory = both(a.Pauses, b.Pauses, joinPauses), b.Memory
	c.Doubts = slices.Concat(a.Doubts, b.Doubts)
	c.Verdict, c.Ceilings = b.Verdict, b.Ceilings
	// The accounts of the surroundings are those of one window and are not pooled.
	c.Downstream, c.InFlight, c.AcceptQueue, c.Machine = nil, nil, nil, nil
	c.Unavailable = map[string]string{}
	maps.Copy(c.Unavailable, b.Unavailable)
	maps.Copy(c.Unavailable, a.Unavailable)
	return c
}

// joinDatabase weighs the means by samples; what it makes of a request's time is
// an estimate where the rounds had different throughputs.
func joinDatabase(a, b Database) Database {
	n, m := float64(a.Samples), float64(b.Samples)
	d := Database{Samples: a.Samples + b.Samples, Connections: max(a.Connections, b.Connections), BusyMax: max(a.BusyMax, b.BusyMax)}
	if mean := quotient(a.BusyMean*n+b.BusyMean*m, n+m); mean != nil {
		d.BusyMean = *mean
	}
	d.BusyMS = weighted(a.BusyMS, b.BusyMS, n, m)
	return d
}

func joinLoad(a, b *loadgen.Result) *loadgen.Result {
	r := *b
	r.Seconds += a.Seconds
	r.BytesIn += a.BytesIn
	r.Status = addMaps(a.Status, b.Status)
	r.Requests = a.Requests.Plus(b.Requests)
	r.Connections.Opened += a.Connections.Opened
	r.Connections.OpenedInWindow = both(a.Connections.OpenedInWindow, b.Connections.OpenedInWindow, sum)
	r.Connections.Failed = a.Connections.Failed.Plus(b.Connections.Failed)
	r.ThroughputPerS = quotient(float64(r.Requests.OK), r.Seconds)
	r.LatencyMS, r.Histogram = nil, ""                                 // percentiles are merged, never averaged
	r.Open, r.ConnectMS, r.SlotSeconds, r.Targets = nil, nil, nil, nil // not pooled
	r.Generators, r.StartSpreadMS = nil, nil
	r.Engine = nil
	if a.Engine != nil && b.Engine != nil {
		e := *b.Engine
		e.CPUUserS += a.Engine.CPUUserS
		e.CPUSystemS += a.Engine.CPUSystemS
		e.CPUUSPerRequest = weighted(a.Engine.CPUUSPerRequest, b.Engine.CPUUSPerRequest, float64(a.Requests.OK), float64(b.Requests.OK))
		e.LagP99MS, e.LagMaxMS = both(a.Engine.LagP99MS, b.Engine.LagP99MS, higher), both(a.Engine.LagMaxMS, b.Engine.LagMaxMS, higher)
		e.MaxRSSBytes = max(e.MaxRSSBytes, a.Engine.MaxRSSBytes)
		r.Engine = &e
	}
	return &r
}

func joinProbes(a, b *probes.Window, loadA, loadB *loadgen.Result) *probes.Window {
	w := *b
	w.CPUS, w.RunDelayS, w.JITSeconds = both(a.CPUS, b.CPUS, sum), both(a.RunDelayS, b.RunDelayS, sum), both(a.JITSeconds, b.JITSeconds, sum)
	w.SafepointSeconds, w.JITCompiles = both(a.SafepointSeconds, b.SafepointSeconds, sum), both(a.JITCompiles, b.JITCompiles, sum)
	w.Safepoints = both(a.Safepoints, b.Safepoints, sum)
	w.CPUUSPerRequest = weighted(a.CPUUSPerRequest, b.CPUUSPerRequest, float64(loadA.Requests.OK), float64(loadB.Requests.OK))
	w.Cores = weighted(a.Cores, b.Cores, loadA.Seconds, loadB.Seconds)
	w.Groups = nil // not pooled
	w.RSSBytes = both(a.RSSBytes, b.RSSBytes, func(x, y probes.Extent) probes.Extent {
		return probes.Extent{Mean: (x.Mean + y.Mean) / 2, Max: max(x.Max, y.Max), End: y.End}
	})
	peak := func(x, y probes.LivePeak) probes.LivePeak {
		return probes.LivePeak{Live: y.Live, Peak: max(x.Peak, y.Peak)}
	}
	w.Threads, w.PlatformThreads = both(a.Threads, b.Threads, peak), both(a.PlatformThreads, b.PlatformThreads, peak)
	w.FDsMax = both(a.FDsMax, b.FDsMax, higher)
	w.GC = both(a.GC, b.GC, func(x, y probes.GCTotal) probes.GCTotal {
		y.Count += x.Count
		y.MS += x.MS
		y.LongestMS = max(x.LongestMS, y.LongestMS)
		return y
	})
	return &w
}

// joinPauses keeps the sums; the pauses themselves stay with their rounds.
func joinPauses(a, b Pauses) Pauses {
	p := Pauses{Count: a.Count + b.Count, TotalMS: a.TotalMS + b.TotalMS, MaxMS: b.MaxMS}
	if p.MaxMS == nil || a.MaxMS != nil && *a.MaxMS > *p.MaxMS {
		p.MaxMS = a.MaxMS
	}
	return p
}

// both applies f where neither side is missing.
func both[T any](a, b *T, f func(a, b T) T) *T {
	if a == nil || b == nil {
		return nil
	}
	v := f(*a, *b)
	return &v
}

func sum[T int64 | float64](a, b T) T { return a + b }

func higher[T int64 | float64](a, b T) T { return max(a, b) }

func weighted(a, b *float64, weightA, weightB float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return quotient(*a*weightA+*b*weightB, weightA+weightB)
}

func addMaps(a, b map[string]int64) map[string]int64 {
	total := map[string]int64{}
	for _, m := range []map[string]int64{a, b} {
		for key, n := range m {
			total[key] += n
		}
	}
	return total
}
