package report

import (
	"slices"
	"strings"

	"loomlab/lab/record"
)

// ratio is the throughput of a SUT over that of the first one.
func ratio(first string) record.Metric {
	return record.Metric{Name: "throughput_ratio", Label: "ratio to " + shorten(escape(first), 16), Unit: "×", Better: "higher"}
}

// ratios compares the throughput with the first SUT's on the same rung.
func (b *builder) ratios(cells [][]*record.Cell) Row {
	throughput, _ := record.MetricNamed(record.Throughput)
	row := Row{Metric: ratio(b.table.Columns[0])}
	base := record.Summarise(cells[0], throughput)
	for i := range cells {
		p := Point{Status: "ok", Reason: "not measured on both sides"}
		mine := record.Summarise(cells[i], throughput)
		if mine != nil && base != nil && base.Median > 0 {
			v := mine.Median / base.Median
			p.Value = &v
		} else {
			p.Status = missing
			if b.saved.Run.Status == "running" {
				p.Reason = notYet
			}
		}
		c := Cell{Points: []Point{p}}
		if faster := cells[i]; p.Value != nil && i > 0 {
			if *p.Value < 1 {
				faster = cells[0]
			}
			if limitedByCPU(faster) {
				c.Notes = append(c.Notes, b.note("the side with more throughput is limited by CPU, which load engine and downstream share: on cores of its own it would have more still"))
			}
		}
		row.Cells = append(row.Cells, c)
	}
	return row
}

// limitedByCPU goes by the verdicts; without one nothing is claimed.
func limitedByCPU(cells []*record.Cell) bool {
	return slices.ContainsFunc(cells, func(c *record.Cell) bool {
		return c.Verdict != nil && strings.Contains(strings.ToLower(c.Verdict.Kind), "cpu")
	})
}
