package report

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// half is one side of a compared cell.
type half struct {
	Side
	name    string // of the SUT
	cells   []*record.Cell
	pooled  []*record.Cell // a fork each
	missing string
	regime  string
	why     string
	delays  map[int]float64 // by fork, see record.DelayMS
	noDelay string
}

func (s Side) half(name string, rung record.Rung) half {
	h := half{Side: s, name: name, cells: s.Saved.At(name, rung), delays: map[int]float64{}}
	h.pooled = record.PoolForks(h.cells)
	h.regime, h.why = record.RegimeOf(h.cells)
	if len(h.pooled) == 0 {
		h.missing = h.whyMissing(rung)
	}
	at := slices.IndexFunc(s.Saved.Run.Experiment.SUTs, func(x record.SUT) bool { return x.Name == name })
	if at < 0 {
		h.noDelay = "the experiment does not describe this SUT"
		return h
	}
	for _, rounds := range forksOf(record.Measured(h.cells)) {
		delay, err := record.DelayMS(&s.Saved.Run.Experiment.SUTs[at], rounds)
		if err != nil {
			h.noDelay = err.Error()
			return h
		}
		h.delays[rounds[0].Fork] = delay
	}
	return h
}

func (h half) whyMissing(rung record.Rung) string {
	b := &builder{saved: h.Saved, exp: &h.Saved.Run.Experiment}
	for _, c := range h.cells {
		if c.Status != "ok" {
			return statusReason(Point{Status: c.Status, Reason: orElse(c.Reason, c.Status)})
		}
	}
	switch {
	case !slices.Contains(b.columns(), h.name):
		return "this run has no such SUT"
	case !slices.Contains(b.rungs(), rung):
		return "not a rung of this run"
	}
	return b.whyMissing(h.name, 1)
}

// doubts counts the doubts of the windows by kind, and the windows that failed.
func (h half) doubts() []string {
	list := []string{}
	for _, kind := range doubtKinds(h.cells) {
		n := 0
		for _, c := range h.cells {
			if slices.ContainsFunc(c.Doubts, func(d record.Doubt) bool { return d.Kind == kind }) {
				n++
			}
		}
		list = append(list, fmt.Sprintf("%s in %d of %d windows", kind, n, len(h.cells)))
	}
	if lost := len(h.cells) - len(record.Measured(h.cells)); lost > 0 && h.missing == "" {
		list = append(list, fmt.Sprintf("%d of %d windows not measured", lost, len(h.cells)))
	}
	return list
}

// compareCell is false where neither side knows the SUT on this rung.
func compareCell(old, new Side, p sutPair, rung record.Rung) (ComparedCell, bool) {
	a, b := old.half(p.old, rung), new.half(p.new, rung)
	c := ComparedCell{OldSUT: p.old, NewSUT: p.new, Connections: rung.Connections, Rate: rung.Rate,
		OldRegime: a.regime, NewRegime: b.regime, OldMissing: a.missing, NewMissing: b.missing, OldDoubts: a.doubts(), NewDoubts: b.doubts()}
	if len(a.cells) == 0 && len(b.cells) == 0 && rung.Rate != 0 {
		return c, false // somebody else's rate
	}
	plan := regimePlan(a, b, rung)
	c.Regime = plan.text
	for _, m := range comparedMetrics(a, b) {
		row := ComparedRow{Name: m.old.Name, Unit: m.old.Unit, metric: m.old, role: plan.role(m.old)}
		row.Primary = row.role.primary > 0
		row.Difference = record.Compare(record.Across(a.pooled, m.old), record.Across(b.pooled, m.new))
		if row.Old == nil && row.New == nil && !row.Primary && m.old.Name != record.Throughput {
			continue
		}
		row.Reason, row.resolution = row.role.reason, resolution(m.old.Name, a.pooled, b.pooled)
		switch {
		case a.missing != "" || b.missing != "":
			row.Reason = joinReasons("old", a.missing, "new", b.missing)
		case row.Old == nil || row.New == nil:
			row.Reason = whyNoValue(m, a, b, row)
		}
		c.Rows = append(c.Rows, row)
	}
	slices.SortStableFunc(c.Rows, func(x, y ComparedRow) int { return x.role.order() - y.role.order() })
	return c, true
}

// resolution is a bucket of the histograms that a percentile comes from: with
// three digits at most 1/1024 of the latency, of which "p50 minus delay" is a
// small rest.
func resolution(metric string, old, new []*record.Cell) float64 {
	if metric == record.P50MinusDelay {
		metric = record.P50
	}
	if metric != record.P50 && metric != record.P99 {
		return 0
	}
	m, _ := record.MetricNamed(metric)
	a, b := record.Across(old, m), record.Across(new, m)
	if a == nil || b == nil {
		return 0
	}
	return max(a.Median, b.Median) / 1024
}

func joinReasons(pairs ...string) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			parts = append(parts, pairs[i]+": "+pairs[i+1])
		}
	}
	return strings.Join(parts, "; ")
}

// bothMetrics is one metric as each side reads it.
type bothMetrics struct{ old, new record.Metric }

// notCompared are metrics that restate others.
var notCompared = []string{record.ThroughputWithDrain, "sut_cpu_cores", "platform_threads_live"}

func comparedMetrics(a, b half) []bothMetrics {
	var list []bothMetrics
	for _, m := range record.MetricsWith(a.database() || b.database()) {
		if m.Extra || slices.Contains(notCompared, m.Name) {
			continue
		}
		if m.Name == "reconnects_per_s" {
			m.Better = "" // a server that closes after so many requests does so more often the more it serves
		}
		list = append(list, bothMetrics{m, m})
		if m.Name == record.P50 {
			list = append(list, bothMetrics{record.AddedLatency(a.delays), record.AddedLatency(b.delays)})
		}
	}
	return list
}

// database tells whether a side has one.
func (h half) database() bool {
	return slices.ContainsFunc(h.pooled, func(c *record.Cell) bool { return c.Database != nil || c.Probes[record.TierPostgres] != nil })
}

func whyNoValue(m bothMetrics, a, b half, row ComparedRow) string {
	side := func(h half, s *record.Summary, metric record.Metric) string {
		switch {
		case s != nil:
			return ""
		case metric.Name == record.P50MinusDelay && h.noDelay != "":
			return h.noDelay
		}
		return metric.Why(h.pooled[0])
	}
	return joinReasons("old", side(a, row.Old, m.old), "new", side(b, row.New, m.new))
}
