package loadgen

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Merge joins the results of several generators to that of the whole load, as one
// engine would have given it: counters add up, histograms merge, so percentiles are
// those of all answers, lengths and lateness are the longest. Each generator's own
// account stays in Generators, in the order of the parts; places and how late each
// began are the caller's to fill in. It fails when a part is missing or twice there,
// or a histogram cannot be read: figures of some of the load would pass for all of it.
func Merge(parts []*Result) (*Result, error) {
	parts, err := inOrder(parts)
	if err != nil {
		return nil, err
	}
	first := parts[0]
	all := &Result{
		Schema: first.Schema, Target: first.Target, Address: first.Address, Mode: first.Mode,
		Started: first.Started, RequestedS: first.RequestedS,
		Status: map[string]int64{}, Targets: []TargetResult{}, Examples: map[string]string{}, Warnings: []string{},
	}
	for _, r := range parts {
		all.addCounts(r)
		all.Generators = append(all.Generators, Generator{
			Index: r.Part.Index, Connections: r.Connections.Requested, OfferedPerS: offered(r), Seconds: r.Seconds,
			Requests: r.Requests, ThroughputPerS: r.ThroughputPerS, LatencyMS: r.LatencyMS, Engine: r.Engine,
		})
	}
	if all.Seconds > 0 {
		all.ThroughputPerS = number(float64(all.Requests.OK) / all.Seconds)
	}
	all.Connections.OpenedInWindow = sumOf(parts, func(r *Result) *int64 { return r.Connections.OpenedInWindow })
	all.Connections.Stuck = sumOf(parts, func(r *Result) *int64 { return r.Connections.Stuck })
	all.SlotSeconds = sumOf(parts, func(r *Result) *float64 { return r.SlotSeconds })
	return all, all.mergeLatencies(parts)
}

// inOrder sorts the parts and says what is wrong with them.
func inOrder(parts []*Result) ([]*Result, error) {
	for _, r := range parts {
		if r == nil || r.Part == nil {
			return nil, errors.New("a result is of no generator of several")
		}
	}
	parts = slices.SortedFunc(slices.Values(parts), func(a, b *Result) int { return a.Part.Index - b.Part.Index })
	if len(parts) == 0 || len(parts) != parts[0].Part.Of {
		return nil, fmt.Errorf("%d results of generators, not of all", len(parts))
	}
	for i, r := range parts {
		switch {
		case r.Part.Index != i+1 || r.Part.Of != len(parts):
			return nil, fmt.Errorf("the results are of generator %d of %d where %d of %d was due", r.Part.Index, r.Part.Of, i+1, len(parts))
		case r.Mode != parts[0].Mode || len(r.Targets) != len(parts[0].Targets):
			return nil, fmt.Errorf("the load of generator %d is of another kind than that of the first", i+1)
		}
	}
	return parts, nil
}

// addCounts adds what adds up, and keeps the longest of what does not.
func (all *Result) addCounts(r *Result) {
	if r.Started.Before(all.Started) {
		all.Started = r.Started
	}
	all.Seconds = max(all.Seconds, r.Seconds)
	all.Connections.add(r.Connections)
	all.Requests = all.Requests.Plus(r.Requests)
	for status, n := range r.Status {
		all.Status[status] += n
	}
	all.BytesIn += r.BytesIn
	if r.Open != nil {
		if all.Open == nil {
			all.Open = &Open{}
		}
		all.Open.OfferedPerS += r.Open.OfferedPerS
		all.Open.Scheduled += r.Open.Scheduled
		all.Open.NotStarted += r.Open.NotStarted
		all.Open.Late += r.Open.Late
	}
	if w := r.Warmup; w != nil {
		if all.Warmup == nil {
			all.Warmup = &Warmup{}
		}
		all.Warmup.Seconds = max(all.Warmup.Seconds, w.Seconds)
		all.Warmup.Requests += w.Requests
		all.Warmup.Errors += w.Errors
		all.Warmup.FirstMS = longest(all.Warmup.FirstMS, w.FirstMS) // whose came first cannot be told: the coldest
	}
	for i, t := range r.Targets {
		if i == len(all.Targets) {
			all.Targets = append(all.Targets, TargetResult{Target: t.Target, Weight: t.Weight})
		}
		sum := &all.Targets[i]
		sum.OK, sum.Non2xx, sum.Errors = sum.OK+t.OK, sum.Non2xx+t.Non2xx, sum.Errors+t.Errors
	}
	all.addEngine(r.Engine)
	for class, text := range r.Examples {
		if all.Examples[class] == "" {
			all.Examples[class] = text
		}
	}
	for _, text := range r.Warnings {
		all.Warnings = append(all.Warnings, fmt.Sprintf("%s (generator %d of %d)", text, r.Part.Index, r.Part.Of))
	}
}

// addEngine adds up what the engines cost.
func (all *Result) addEngine(e *Engine) {
	switch {
	case e == nil:
		return
	case all.Engine == nil:
		all.Engine = &Engine{Kind: e.Kind}
	case all.Engine.Kind != e.Kind:
		all.Engine.Kind = "mixed"
	}
	sum := all.Engine
	sum.Loops += e.Loops
	sum.CPUUserS += e.CPUUserS
	sum.CPUSystemS += e.CPUSystemS
	sum.MaxRSSBytes += e.MaxRSSBytes
	sum.LagMaxMS = longest(sum.LagMaxMS, e.LagMaxMS)
	if q := all.Requests; q.OK+q.Non2xx+q.Errors.Total() > 0 {
		sum.CPUUSPerRequest = number((sum.CPUUserS + sum.CPUSystemS) * 1e6 / float64(q.OK+q.Non2xx+q.Errors.Total()))
	}
}

// summary is a distribution that a result keeps as a summary alone.
type summary struct {
	name string                  // in [PartResult.Histograms]
	of   func(*Result) **Latency // nil where a result has no place for it
}

func (all *Result) summaries() []summary {
	list := []summary{
		{"connect", func(r *Result) **Latency { return &r.ConnectMS }},
		{"warmup", func(r *Result) **Latency { return ifAny(r.Warmup, func(w *Warmup) **Latency { return &w.LatencyMS }) }},
		{"from_send", func(r *Result) **Latency {
			return ifAny(r.Open, func(o *Open) **Latency { return &o.LatencyFromSendMS })
		}},
		{"pacing", func(r *Result) **Latency { return ifAny(r.Open, func(o *Open) **Latency { return &o.PacingMS }) }},
	}
	for i := range all.Targets {
		list = append(list, summary{fmt.Sprintf("target.%d", i), func(r *Result) **Latency { return &r.Targets[i].LatencyMS }})
	}
	return list
}

// mergeLatencies makes every distribution that of all the answers.
func (all *Result) mergeLatencies(parts []*Result) error {
	latency, err := mergeHistograms(parts, "latency", func(r *Result) string { return r.Histogram }, func(r *Result) *Latency { return r.LatencyMS })
	if err != nil {
		return err
	}
	all.LatencyMS = latency.summary()
	if all.Histogram, err = latency.encode(); err != nil {
		return err
	}
	beside := func(name string) func(*Result) string {
		return func(r *Result) string { return r.Part.Histograms[name] }
	}
	for _, s := range all.summaries() {
		h, err := mergeHistograms(parts, s.name, beside(s.name), func(r *Result) *Latency {
			return valueOf(s.of(r))
		})
		if err != nil {
			return err
		}
		if place := s.of(all); place != nil {
			*place = h.summary()
		}
	}
	lag, err := mergeHistograms(parts, "lag", beside("lag"), func(*Result) *Latency { return nil })
	if err == nil && lag.n > 0 && all.Engine != nil {
		all.Engine.LagP99MS = number(ms(lag.percentile(99)))
	}
	return err
}

// valueOf is nil where there is no place to read from.
func valueOf(place **Latency) *Latency {
	if place == nil {
		return nil
	}
	return *place
}

// mergeHistograms decodes one histogram of each part and adds them up. The exact
// extremes and moments come from its summary, where there is one.
func mergeHistograms(parts []*Result, name string, text func(*Result) string, summary func(*Result) *Latency) (*histogram, error) {
	all := &histogram{}
	for _, r := range parts {
		h, err := decodeHistogram(text(r), summary(r))
		if err != nil {
			return nil, fmt.Errorf("generator %d: histogram %s: %w", r.Part.Index, name, err)
		}
		if l := summary(r); l != nil && h.n == 0 {
			return nil, fmt.Errorf("generator %d: it gave no histogram %s", r.Part.Index, name)
		}
		all.merge(h)
	}
	return all, nil
}

// decodeHistogram is the inverse of [histogram.encode]; l gives the exact values
// that the encoding rounds, if not nil.
func decodeHistogram(text string, l *Latency) (*histogram, error) {
	h := &histogram{}
	if text == "" {
		return h, nil
	}
	decoded, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return nil, err
	}
	for _, bar := range decoded.Distribution() {
		if bar.Count <= 0 {
			continue
		}
		if h.counts == nil {
			h.counts = make([]int64, bucketsLen)
			h.min = time.Duration(bar.From) * time.Microsecond
		}
		us := float64(min(max(bar.From, lowestUS), highestUS))
		h.counts[bucket(int64(us))] += bar.Count
		h.n += bar.Count
		h.max = time.Duration(us) * time.Microsecond
		h.sum += us * 1e3 * float64(bar.Count)
		h.squares += us * us * 1e6 * float64(bar.Count)
	}
	if l != nil && h.n > 0 {
		h.min, h.max = duration(l.Min), duration(l.Max)
		n := float64(h.n)
		h.sum = l.Mean * 1e6 * n
		h.squares = (l.Stddev*l.Stddev + l.Mean*l.Mean) * 1e12 * n
	}
	return h, nil
}

func duration(ms float64) time.Duration {
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}

func offered(r *Result) *float64 {
	return ifAny(r.Open, func(o *Open) *float64 { return number(o.OfferedPerS) })
}

// ifAny is nil where there is nothing to read.
func ifAny[T, V any](from *T, read func(*T) *V) *V {
	if from == nil {
		return nil
	}
	return read(from)
}

// sumOf is nil where one is missing: the others alone would be of something else.
func sumOf[T int64 | float64](parts []*Result, of func(*Result) *T) *T {
	var sum T
	for _, r := range parts {
		v := of(r)
		if v == nil {
			return nil
		}
		sum += *v
	}
	return &sum
}

func longest(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func (c *Connections) add(o Connections) {
	c.Requested += o.Requested
	c.Established += o.Established
	c.Answered += o.Answered
	c.Opened += o.Opened
	c.ClosedByServer += o.ClosedByServer
	c.Retried += o.Retried
	c.Failed = c.Failed.Plus(o.Failed)
}
