package record

import (
	"slices"

	"loomlab/probes"
)

// Names of the tiers in [Cell.Probes].
const (
	TierLoad       = "load"
	TierSUT        = "sut"
	TierDownstream = "downstream"
	TierPostgres   = "postgres"
)

// mb is the megabyte of every figure in MB: 2^20 bytes, as in -Xmx1g and in ps.
const mb = 1 << 20

// Metric is one figure of a cell, under the one name that tables, CSV, claims
// and comparisons share.
type Metric struct {
	Name   string // stable: "p99_ms"
	Label  string // table head, without the unit: "p99"
	Unit   string // "req/s", "ms", "cores", "µs/req", "MB", "/s", or "" for counts
	Better string // "higher", "lower", or "" where neither is better
	// Database metrics are only to be had where the run has a database.
	Database bool
	// Quiet metrics are worth a row only where they are not zero.
	Quiet bool
	// Extra metrics are worth a row only where the author published them or claims
	// something of them.
	Extra bool
	// Timed metrics are lengths of time of the load, or rates: what slows the
	// machine or the instrument down changes them.
	Timed bool

	read      func(*Cell) *float64
	published func(*Published) []float64
	key       string   // in experiment files, where it is not Name
	latency   bool     // read from the histogram: pooling it takes merging
	sources   []string // keys of Unavailable, most telling first; "tier.field" asks that tier's probes
}

// Metrics lists all figures of a cell in the order of a table.
func Metrics() []Metric { return append([]Metric(nil), metrics...) }

// MetricsWith leaves out those that are only to be had with a database, where there is none.
func MetricsWith(database bool) []Metric {
	return slices.DeleteFunc(Metrics(), func(m Metric) bool { return m.Database && !database })
}

// MetricNamed returns the metric of that name.
func MetricNamed(name string) (Metric, bool) {
	for _, m := range metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// Names of metrics that others refer to.
const (
	Throughput          = "throughput"
	ThroughputWithDrain = "throughput_with_drain"
	P50                 = "p50_ms"
	P99                 = "p99_ms"
	SUTCPURelative      = "sut_cpu_relative" // against engine and downstream together: a machine that runs faster or slower changes both
	TotalS              = "total_s"
	HeapAfterGC         = "heap_after_gc_mb"
	Exceptions          = "exceptions"
)

var metrics = []Metric{
	{Name: Throughput, Label: "throughput", Unit: "req/s", Better: "higher", Timed: true,
		read:      func(c *Cell) *float64 { return c.Load.ThroughputPerS },
		published: func(p *Published) []float64 { return p.Throughput }},
	{Name: ThroughputWithDrain, Label: "… with drain", Unit: "req/s", Better: "higher", Timed: true, key: Throughput,
		read:      withDrain,
		published: func(p *Published) []float64 { return p.Throughput }},
	{Name: TotalS, Label: "total time", Unit: "s", Better: "lower", Extra: true, Timed: true,
		read:      totalTime,
		published: func(p *Published) []float64 { return p.TotalS }, sources: []string{"total_s"}},
	latencyMetric("mean", true, func(l *Latency) float64 { return l.Mean }, func(p *Published) []float64 { return p.MeanMS }),
	latencyMetric("p50", false, func(l *Latency) float64 { return l.P50 }, func(p *Published) []float64 { return p.P50MS }),
	latencyMetric("p75", true, func(l *Latency) float64 { return l.P75 }, func(p *Published) []float64 { return p.P75MS }),
	latencyMetric("p90", true, func(l *Latency) float64 { return l.P90 }, func(p *Published) []float64 { return p.P90MS }),
	latencyMetric("p95", true, func(l *Latency) float64 { return l.P95 }, func(p *Published) []float64 { return p.P95MS }),
	latencyMetric("p99", false, func(l *Latency) float64 { return l.P99 }, func(p *Published) []float64 { return p.P99MS }),
	latencyMetric("p999", true, func(l *Latency) float64 { return l.P999 }, func(p *Published) []float64 { return p.P999MS }),
	latencyMetric("max", true, func(l *Latency) float64 { return l.Max }, func(p *Published) []float64 { return p.MaxMS }),
	{Name: "errors", Label: "errors", Better: "lower", Timed: true, // a starved SUT times out
		read:      func(c *Cell) *float64 { return count(c.Load.Requests.Errors.Total()) },
		published: func(p *Published) []float64 { return p.Errors }},
	{Name: "non_2xx", Label: "non-2xx answers", Better: "lower", Quiet: true,
		read: func(c *Cell) *float64 { return count(c.Load.Requests.Non2xx) }},
	{Name: "failed_connects", Label: "failed connects", Better: "lower", Quiet: true,
		read: func(c *Cell) *float64 {
			f := c.Load.Connections.Failed
			return count(f.Refused + f.Timeout + f.LocalPorts + f.FDLimit + f.Other)
		}},
	{Name: Exceptions, Label: "in-app exceptions", Better: "lower", Quiet: true,
		read: exceptions, sources: []string{"exceptions"}},
	{Name: "reconnects_per_s", Label: "reconnects", Unit: "/s", Better: "lower",
		read: func(c *Cell) *float64 {
			if n := c.Load.Connections.OpenedInWindow; n != nil {
				return quotient(float64(*n), c.Load.Seconds)
			}
			return nil
		}},
	{Name: "sut_cpu_cores", Label: "SUT CPU", Unit: "cores",
		read: func(c *Cell) *float64 {
			p := c.Probes[TierSUT]
			switch {
			case p == nil:
				return nil
			case p.Cores == nil && p.CPUS != nil:
				return quotient(*p.CPUS, c.Load.Seconds)
			}
			return p.Cores
		}, published: func(p *Published) []float64 { return p.CPUCores }, key: "cpu_cores", sources: []string{"sut.cores", "sut.cpu_s"}},
	{Name: "sut_cpu_us", Label: "SUT CPU/request", Unit: "µs", Better: "lower",
		read: cpuPerRequest(TierSUT), key: "cpu_us_per_request", sources: []string{"sut.cpu_us_per_request", "sut.cpu_s"}},
	{Name: SUTCPURelative, Label: "SUT CPU ÷ instrument's", Unit: "×", Better: "lower",
		read: cpuRelative, sources: []string{"sut.cpu_us_per_request", "downstream.cpu_us_per_request", "downstream"}},
	{Name: "downstream_cpu_us", Label: "downstream CPU/request", Unit: "µs", Better: "lower",
		read: cpuPerRequest(TierDownstream), sources: []string{"downstream.cpu_us_per_request", "downstream.cpu_s", "downstream"}},
	{Name: "postgres_cpu_us", Label: "PostgreSQL CPU/request", Unit: "µs", Better: "lower", Database: true,
		read: cpuPerRequest(TierPostgres), sources: []string{"postgres.cpu_us_per_request", "postgres.cpu_s", "postgres"}},
	{Name: "db_busy", Label: "busy DB connections", Database: true,
		read: func(c *Cell) *float64 {
			if c.Database == nil {
				return nil
			}
			return &c.Database.BusyMean
		}, sources: []string{"database"}},
	{Name: "db_busy_ms", Label: "DB time/request", Unit: "ms", Better: "lower", Database: true,
		read: func(c *Cell) *float64 {
			if c.Database == nil {
				return nil
			}
			return c.Database.BusyMS
		}, sources: []string{"database"}},
	{Name: "load_cpu_us", Label: "load CPU/request", Unit: "µs", Better: "lower",
		read: loadCPU, sources: []string{"load.cpu_us_per_request", "load.cpu_s"}},
	{Name: "rss_mb", Label: "RSS", Unit: "MB", Better: "lower",
		read:      func(c *Cell) *float64 { return megabytes(rssEnd(c)) },
		published: func(p *Published) []float64 { return p.RSSMB }, sources: []string{"sut.rss_bytes"}},
	{Name: "rss_mean_mb", Label: "… RSS mean", Unit: "MB", Better: "lower", Extra: true,
		read:      func(c *Cell) *float64 { return megabytes(rss(c, func(e *probes.Extent) int64 { return e.Mean })) },
		published: func(p *Published) []float64 { return p.RSSMeanMB }, sources: []string{"sut.rss_bytes"}},
	{Name: "rss_peak_mb", Label: "… RSS peak", Unit: "MB", Better: "lower", Extra: true,
		read:      func(c *Cell) *float64 { return megabytes(rss(c, func(e *probes.Extent) int64 { return e.Max })) },
		published: func(p *Published) []float64 { return p.RSSPeakMB }, sources: []string{"sut.rss_bytes"}},
	{Name: "rss_minus_heap_mb", Label: "RSS minus heap", Unit: "MB", Better: "lower",
		read: rssMinusHeap, sources: []string{"sut.heap_committed_bytes", "sut.jvm", "sut.rss_bytes"}},
	{Name: "heap_committed_mb", Label: "heap committed", Unit: "MB", Better: "lower",
		read: func(c *Cell) *float64 {
			return megabytes(sut(c, func(p *probes.Window) *int64 { return p.HeapCommittedBytes }))
		}, sources: []string{"sut.heap_committed_bytes", "sut.jvm"}},
	{Name: HeapAfterGC, Label: "heap after GC", Unit: "MB", Better: "lower",
		read: func(c *Cell) *float64 {
			return megabytes(sut(c, func(p *probes.Window) *int64 { return p.HeapAfterGCBytes }))
		},
		published: func(p *Published) []float64 { return p.HeapUsedMB }, key: "heap_used_mb", sources: []string{"sut.heap_after_gc_bytes", "sut.jvm"}},
	{Name: "gc_count", Label: "GC pauses", Better: "lower",
		read: func(c *Cell) *float64 {
			return gc(c, func(t *probes.GCTotal) float64 { return float64(t.Count) })
		}, sources: []string{"sut.gc", "sut.jvm"}},
	{Name: "gc_ms", Label: "GC pause time", Unit: "ms", Better: "lower",
		read: func(c *Cell) *float64 { return gc(c, func(t *probes.GCTotal) float64 { return t.MS }) }, sources: []string{"sut.gc", "sut.jvm"}},
	{Name: "gc_longest_ms", Label: "longest GC pause", Unit: "ms", Better: "lower", read: longestPause, sources: []string{"sut.gc", "sut.jvm", "pauses"}},
	{Name: "platform_threads_live", Label: "platform threads live", Better: "lower",
		read: func(c *Cell) *float64 {
			return threads(c, platformThreads, func(t *probes.LivePeak) int64 { return t.Live })
		}, sources: []string{"sut.platform_threads", "sut.jvm"}},
	{Name: "platform_threads_peak", Label: "platform threads peak", Better: "lower",
		read: func(c *Cell) *float64 {
			return threads(c, platformThreads, func(t *probes.LivePeak) int64 { return t.Peak })
		},
		published: func(p *Published) []float64 { return p.ThreadsPeak }, key: "threads_peak", sources: []string{"sut.platform_threads", "sut.jvm"}},
	{Name: "os_threads_peak", Label: "OS threads peak", Better: "lower",
		read: func(c *Cell) *float64 {
			return threads(c, func(p *probes.Window) *probes.LivePeak { return p.Threads }, func(t *probes.LivePeak) int64 { return t.Peak })
		}, sources: []string{"sut.threads"}},
}

// Of returns the metric's value in a cell that was measured; nil where it is not
// available, for which [Metric.Why] has the reason.
func (m Metric) Of(c *Cell) *float64 {
	if c == nil || c.Load == nil || m.read == nil {
		return nil
	}
	if v := m.read(c); v != nil && isFinite(*v) {
		return v
	}
	return nil
}

// Why says why the metric has no value in c.
func (m Metric) Why(c *Cell) string {
	for _, source := range m.sources {
		if reason := c.unavailable(source); reason != "" {
			return reason
		}
	}
	switch {
	case m.latency:
		return "no request succeeded"
	case m.Name == TotalS:
		return "the window had a length in time, not in requests"
	}
	return "not measured"
}

// latencyMetric is one figure of the histogram, in ms, named as in [Latency].
func latencyMetric(name string, extra bool, read func(*Latency) float64, published func(*Published) []float64) Metric {
	return Metric{Name: name + "_ms", Label: name, Unit: "ms", Better: "lower", Extra: extra, Timed: true, latency: true,
		read: func(c *Cell) *float64 { return latency(c, read) }, published: published, sources: []string{"load.latency_ms." + name, "load.histogram"}}
}

// PublishedIn returns what the author published for the metric: figures, one a
// round, or the words that stood in their place ("timeouts").
func (m Metric) PublishedIn(p *Published) (figures []float64, words string) {
	if m.published == nil || p == nil {
		return nil, ""
	}
	words = p.Texts[m.publishedKey()]
	if words == "" && m.publishedKey() == Throughput {
		words = p.Text
	}
	return m.published(p), words
}

// publishedKey is the metric's key in the experiment file.
func (m Metric) publishedKey() string {
	if m.key != "" {
		return m.key
	}
	return m.Name
}
