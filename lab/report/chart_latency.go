package report

import (
	"math"

	"loomlab/lab/record"
)

// latencyCharts are the percentile curves of each rung over one axis, as
// HdrHistogram's plotter draws them: 1 ÷ (1 - p), logarithmic, so that each nine
// takes the same room.
type latencyCharts struct {
	X     []float64      `json:"x"` // 1 ÷ (1 - p)
	Rungs []latencyChart `json:"rungs"`
}

// latencyChart is one rung.
type latencyChart struct {
	Title  string          `json:"title"`
	Series []latencySeries `json:"series"`
}

// latencySeries is one SUT: all its windows on the rung merged, in ms.
type latencySeries struct {
	Name  string `json:"name"`
	Color int    `json:"color"`
	Side  string `json:"side,omitempty"`
	MS    values `json:"ms"`
	Count int64  `json:"count"`

	quantiles []float64 // of [latencyQuantiles], for the table
}

const (
	pointsPerNine = 16 // of the curves
	mostNines     = 6
)

// Quantiles are the cells of the series' row in the table.
func (s latencySeries) Quantiles() []string {
	var cells []string
	for _, v := range s.quantiles {
		if math.IsNaN(v) {
			cells = append(cells, "–")
			continue
		}
		cells = append(cells, number(v, record.Metric{Unit: "ms"}))
	}
	return cells
}

// latencyQuantiles are the columns of the table beneath the curves.
var latencyQuantiles = []struct {
	label   string
	percent float64
}{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}, {"max", 100}}

func newLatencyCharts(saved *record.Saved, t *Table) latencyCharts {
	charts := latencyCharts{X: []float64{}, Rungs: []latencyChart{}}
	for i := range pointsPerNine*mostNines + 1 {
		charts.X = append(charts.X, math.Pow(10, float64(i)/pointsPerNine))
	}
	longest := 0
	for _, block := range t.Rungs {
		chart := latencyChart{Title: block.Title}
		for column, name := range t.Columns {
			if s, ok := newLatencySeries(record.Measured(saved.At(name, block.Rung)), charts.X); ok {
				s.Name, s.Color = escape(name), column
				chart.Series = append(chart.Series, s)
				longest = max(longest, len(s.MS))
			}
		}
		if chart.Series != nil {
			charts.Rungs = append(charts.Rungs, chart)
		}
	}
	charts.X = charts.X[:longest]
	for i, x := range charts.X { // four digits place a point
		charts.X[i] = math.Round(x*1000) / 1000
	}
	return charts
}

// newLatencySeries ends where one answer is all that is left beyond.
func newLatencySeries(cells []*record.Cell, x []float64) (latencySeries, bool) {
	if len(cells) == 0 {
		return latencySeries{}, false
	}
	h, err := record.MergeHistograms(cells)
	if err != nil || h == nil || h.TotalCount() == 0 {
		return latencySeries{}, false // a foreign engine has no histogram; the table has its percentiles
	}
	s := latencySeries{Count: h.TotalCount()}
	for _, v := range x {
		if v > float64(s.Count) {
			break
		}
		s.MS = append(s.MS, float64(h.ValueAtPercentile(100*(1-1/v)))/1000)
	}
	for _, q := range latencyQuantiles {
		v := math.NaN()
		if q.percent == 100 {
			v = float64(h.Max()) / 1000
		} else if (100-q.percent)/100*float64(s.Count) >= 1 {
			v = float64(h.ValueAtPercentile(q.percent)) / 1000
		}
		s.quantiles = append(s.quantiles, v)
	}
	return s, true
}
