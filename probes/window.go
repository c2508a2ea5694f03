package probes

import (
	"fmt"
	"slices"
)

const (
	// edgeSlack is how far outside a window a sample may lie and still stand for its edge:
	// the samples that open and close a window are taken just after the moment itself.
	edgeSlack = 0.25
	// coverage is the share of a window that two samples must span for their difference to stand for it.
	coverage = 0.9
)

// NewWindow reduces samples (ascending in At) to the window from open to close, both
// on the clock of Sample.At: differences of counters between the samples nearest
// to its edges, means and extremes of gauges over the samples inside. A counter whose
// samples span less than nine tenths of the window is unavailable: half a window's CPU is no window's CPU.
func NewWindow(samples []Sample, open, close float64) Window {
	w := Window{Unavailable: map[string]string{}}
	inside := between(samples, open, close)
	if len(inside) == 0 {
		for _, field := range []string{"cpu_s", "run_delay_s", "rss_bytes", "threads", "fds_max", "jvm"} {
			w.Unavailable[field] = "no sample inside the window"
		}
		return w
	}
	c := cutter{inside, close - open, w.Unavailable}
	cpu, seconds := c.difference("cpu_s", func(s Sample) *float64 { return s.CPUS })
	if w.CPUS = cpu; cpu != nil {
		cores := *cpu / seconds
		w.Cores = &cores
	}
	// Detailed samples have edges of their own: an ordinary one may lie nearer to the
	// window's, and the detailed one just beyond it.
	detailed := between(slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.RunDelayS == nil }), open, close)
	waits := cutter{detailed, c.seconds, w.Unavailable}
	if len(detailed) == 0 {
		waits.samples = inside // which say why there is none
	}
	if w.RunDelayS, _ = waits.difference("run_delay_s", func(s Sample) *float64 { return s.RunDelayS }); w.RunDelayS != nil {
		w.Groups = groupsBetween(detailed)
	}
	w.RSSBytes = c.extent("rss_bytes", func(s Sample) *int64 { return s.RSSBytes })
	w.Threads = c.livePeak("threads", func(s Sample) *int64 { return s.Threads })
	if fds := c.extent("fds", func(s Sample) *int64 { return s.FDs }); fds != nil {
		w.FDsMax = &fds.Max
	}
	c.jvm(&w)
	return w
}

// between keeps the samples of the window: from the one nearest to open to the one nearest to close.
func between(samples []Sample, open, close float64) []Sample {
	first, last := -1, -1
	for i, s := range samples {
		if s.At < open-edgeSlack || s.At > close+edgeSlack {
			continue
		}
		if first < 0 || s.At <= open || abs(s.At-open) < abs(samples[first].At-open) {
			first = i
		}
		if last < 0 || abs(s.At-close) <= abs(samples[last].At-close) {
			last = i
		}
	}
	if first < 0 || last < first {
		return nil
	}
	return samples[first : last+1]
}

func abs(x float64) float64 { return max(x, -x) }

// cutter holds what every figure of a window is taken from.
type cutter struct {
	samples     []Sample
	seconds     float64 // of the window
	unavailable map[string]string
}

// why is the first reason that a sample gives for not having a field.
func (c cutter) why(field, otherwise string) string {
	for _, s := range c.samples {
		for _, key := range []string{field, "jvm"} {
			if reason := s.Unavailable[key]; reason != "" && (key == field || s.JVM == nil && jvmField(field)) {
				return reason
			}
		}
	}
	return otherwise
}

func jvmField(field string) bool {
	switch field {
	case "cpu_s", "run_delay_s", "rss_bytes", "threads", "fds":
		return false
	}
	return true
}

// difference subtracts a counter's first value from its last, and says how many seconds lie between.
func (c cutter) difference(field string, get func(Sample) *float64) (*float64, float64) {
	var first, last *Sample
	for i := range c.samples {
		if s := &c.samples[i]; get(*s) != nil {
			if first == nil {
				first = s
			}
			last = s
		}
	}
	if first == nil {
		c.unavailable[field] = c.why(field, "not read inside the window")
		return nil, 0
	}
	span := last.At - first.At
	if span <= 0 || span < coverage*c.seconds {
		c.unavailable[field] = c.why(field, fmt.Sprintf("its samples span only %.2f of %.2f s", span, c.seconds))
		return nil, 0
	}
	change := *get(*last) - *get(*first)
	if change < 0 {
		c.unavailable[field] = "the counter went backwards: the process was restarted"
		return nil, 0
	}
	return &change, span
}

// extent is a gauge over the samples that have it.
func (c cutter) extent(field string, get func(Sample) *int64) *Extent {
	var e Extent
	var sum float64
	var n int
	for _, s := range c.samples {
		if v := get(s); v != nil {
			sum += float64(*v)
			n++
			e.Max, e.End = max(e.Max, *v), *v
		}
	}
	if n == 0 {
		if field == "fds" {
			c.unavailable["fds_max"] = c.why(field, "not read inside the window")
		} else {
			c.unavailable[field] = c.why(field, "not read inside the window")
		}
		return nil
	}
	e.Mean = int64(sum / float64(n))
	return &e
}

// livePeak never takes a counter's own peak, which is since the process started and would show the highest rung for ever.
func (c cutter) livePeak(field string, get func(Sample) *int64) *LivePeak {
	e := c.extent(field, get)
	if e == nil {
		return nil
	}
	return &LivePeak{Live: e.End, Peak: e.Max}
}
