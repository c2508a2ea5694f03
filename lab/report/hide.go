package report

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// hideRows leaves rows out of what people look at that say the same in every
// cell of the run: counts that are zero everywhere, and figures that nobody had.
// The legend names them, with the reason; a zero and a missing figure stay two
// different things. What was published for such a row stays in the CSV.
func (b *builder) hideRows() {
	var zero []string
	absent := map[string][]string{}
	var reasons []string
	if len(b.table.Rungs) == 0 {
		return
	}
	for i, row := range b.table.Rungs[0].Rows {
		seen := b.inspect(i)
		switch {
		case row.Hidden || row.Metric.Name == record.Throughput:
			continue
		case row.Metric.Extra && !seen.published && !b.claimed(row.Metric):
			// Nobody speaks of it.
		case seen.values > 0 && !seen.published && seen.nonZero == 0 && seen.missing == 0 && row.Metric.Quiet:
			zero = append(zero, row.Metric.Label)
		case seen.values == 0 && seen.reason != "":
			if absent[seen.reason] == nil {
				reasons = append(reasons, seen.reason)
			}
			absent[seen.reason] = append(absent[seen.reason], row.Metric.Label)
		case seen.values == 0 && !seen.published:
			// Nothing was measured at all: the first row says it.
		default:
			continue
		}
		for r := range b.table.Rungs {
			b.table.Rungs[r].Rows[i].Hidden = true
		}
	}
	b.renumber()
	if len(zero) > 0 {
		b.table.Legend = append(b.table.Legend, "zero in every cell: "+strings.Join(zero, ", "))
	}
	for _, reason := range reasons {
		b.table.Legend = append(b.table.Legend, fmt.Sprintf("n/a in every cell: %s (%s)", strings.Join(absent[reason], ", "), escape(reason)))
	}
}

// claimed tells whether a claim speaks of the metric, or the experiment itself
// does by counting requests.
func (b *builder) claimed(m record.Metric) bool {
	counts := slices.ContainsFunc(loadsOf(b.exp), func(l *record.Load) bool { return l.Requests > 0 })
	return m.Name == record.TotalS && counts || slices.ContainsFunc(b.saved.Run.Claims, func(c record.ClaimResult) bool {
		return slices.ContainsFunc(c.Figures, func(f record.ClaimFigure) bool { return f.Metric == m.Name })
	})
}

// inspection is what a row holds over all rungs.
type inspection struct {
	values, nonZero, missing int
	published                bool
	reason                   string // of the first figure that is not available
}

func (b *builder) inspect(row int) (seen inspection) {
	for _, block := range b.table.Rungs {
		for _, c := range block.Rows[row].Cells {
			seen.published = seen.published || c.hasPublished()
			for _, p := range c.Points {
				switch {
				case p.Value != nil:
					seen.values++
					if *p.Value != 0 {
						seen.nonZero++
					}
				case p.Status == "ok":
					seen.missing++
					seen.reason = orElse(seen.reason, p.Reason)
				}
			}
		}
	}
	return seen
}

// renumber drops the footnotes that only hidden rows used and closes the gaps.
func (b *builder) renumber() {
	used := map[int]int{}
	var notes []Note
	keep := func(numbers []int) {
		for i, n := range numbers {
			if used[n] == 0 {
				notes = append(notes, b.table.Notes[n-1])
				used[n] = len(notes)
			}
			numbers[i] = used[n]
		}
	}
	blocks := append([]Block{b.table.Starts}, b.table.Rungs...)
	for _, block := range blocks {
		for _, row := range block.Rows {
			for i := range row.Cells {
				if row.Hidden {
					row.Cells[i].Notes, row.Cells[i].PublishedNotes = nil, nil
				}
				keep(row.Cells[i].Notes)
				keep(row.Cells[i].PublishedNotes)
				slices.Sort(row.Cells[i].Notes)
			}
		}
	}
	b.table.Notes = notes
}

// legend says how to read what is not plain from the heads.
func (b *builder) legend() {
	lines := []string{"MB = 2^20 bytes; ms of latency as the load engine saw them"}
	forks := b.forks(nil)
	for i := range b.saved.Cells {
		forks = max(forks, b.saved.Cells[i].Fork)
	}
	rounds := 0
	for _, l := range loadsOf(b.exp) {
		rounds = max(rounds, l.Rounds)
	}
	switch {
	case forks >= 2:
		lines = append(lines, forksLegend(forks))
	case rounds > 1:
		lines = append(lines, fmt.Sprintf("the %d figures of a cell are its rounds in one fork; a 95 %% interval needs %d forks", rounds, record.IntervalForks))
	}
	if equal := b.equalLimits(); equal != "" {
		lines = append(lines, equal)
	}
	b.table.Legend = append(lines, b.table.Legend...)
}
