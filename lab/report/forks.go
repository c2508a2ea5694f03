package report

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// forksRow says over how many forks the figures of a rung are summarised, and
// how many an interval needs where they are too few.
func forksRow(pooled [][]*record.Cell) Row {
	row := Row{Metric: record.Metric{Name: "forks", Label: "forks"}}
	for _, forks := range pooled {
		n := float64(len(forks))
		c := Cell{Points: []Point{{Status: "ok", Value: &n}}}
		if len(forks) < record.IntervalForks {
			c.Text = fmt.Sprintf("%d, interval needs %d", len(forks), record.IntervalForks)
		}
		row.Cells = append(row.Cells, c)
	}
	return row
}

// spreadRow is the coefficient of variation of the row above it.
func spreadRow(of Row) Row {
	row := Row{Metric: record.Metric{Name: of.Metric.Name + "_cv", Label: "… spread (CV)", Unit: "%"}}
	for _, c := range of.Cells {
		p := Point{Status: missing, Reason: "fewer than two forks have a value"}
		if c.Summary != nil && c.Summary.CV != nil {
			percent := 100 * *c.Summary.CV
			p = Point{Status: "ok", Value: &percent}
		}
		row.Cells = append(row.Cells, Cell{Points: []Point{p}})
	}
	return row
}

// spreads are the metrics whose spread has a row, and whose outliers are noted.
var spreads = []string{record.Throughput, "sut_cpu_us", record.SUTCPURelative}

// outlierNotes names the forks that stand apart.
func (b *builder) outlierNotes(m record.Metric, s *record.Summary) []int {
	if s == nil || !slices.Contains(spreads, m.Name) {
		return nil
	}
	var numbers []int
	for _, o := range s.Outliers {
		numbers = append(numbers, b.note(fmt.Sprintf("outlier: fork %d has %s, the median is %s (modified z-score %.1f, beyond ±3.5)",
			o.Fork, number(o.Value, m), number(s.Median, m), o.Score)))
	}
	return numbers
}

// outlierText lists the outliers of a summary, "fork=value" each.
func outlierText(s *record.Summary) string {
	var parts []string
	for _, o := range s.Outliers {
		parts = append(parts, fmt.Sprintf("%d=%s", o.Fork, exact(o.Value)))
	}
	return strings.Join(parts, " ")
}

// forksLegend says how to read the figures of several forks.
func forksLegend(forks int) string {
	if forks < record.IntervalForks {
		return fmt.Sprintf("figures are the median of %d forks with pooled rounds, then their lowest…highest; a 95 %% interval needs %d forks", forks, record.IntervalForks)
	}
	return fmt.Sprintf("figures are the median of %d forks with pooled rounds, then its 95 %% interval", forks)
}
