package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"loomlab/lab/record"
)

// csvHeader is stable: columns may be added at the end, never moved or renamed.
var csvHeader = []string{"run", "sut", "fork", "connections", "rate", "round", "status", "metric", "unit", "value", "published", "reason", "doubts",
	"forks", "interval_low", "interval_high", "cv", "outliers", "ratio_to_published"}

// CSV writes one line per SUT, fork, rung, round and metric (RFC 4180, lines
// ending in LF), and for a run of several forks one more per SUT, rung and metric
// with the status "summary": the median over forks, its interval and its spread. What does not exist is empty: no 0, no NaN. Numbers have all
// their digits and a decimal point. Text that a spreadsheet would take for a
// formula gets an apostrophe in front.
func CSV(w io.Writer, t *Table) error {
	out := csv.NewWriter(w)
	_ = out.Write(csvHeader) // the error stays with out
	for _, block := range t.Rungs {
		rate := ""
		if block.Rung.Rate != 0 {
			rate = exact(block.Rung.Rate)
		}
		for _, row := range block.Rows {
			for i, c := range row.Cells {
				for _, p := range c.Points {
					value, reason := "", p.Reason
					if p.Value != nil {
						value, reason = exact(*p.Value), ""
					}
					_ = out.Write([]string{
						text(t.RunID), text(t.Columns[i]), integer(p.Fork), strconv.Itoa(block.Rung.Connections), rate, integer(p.Round),
						text(p.Status), row.Metric.Name, row.Metric.Unit, value, c.publishedOf(p.Round), text(reason), text(strings.Join(p.Doubts, " ")),
						"", "", "", "", "", maybe(ratioTo(p.Value, c.publishedFigure(p.Round))),
					})
				}
				if s := c.Summary; s != nil {
					reason := ""
					if s.Low == nil {
						reason = fmt.Sprintf("an interval needs %d forks", record.IntervalForks)
					}
					_ = out.Write([]string{
						text(t.RunID), text(t.Columns[i]), "", strconv.Itoa(block.Rung.Connections), rate, "",
						"summary", row.Metric.Name, row.Metric.Unit, exact(s.Median), "", reason, "",
						strconv.Itoa(len(s.Values)), maybe(s.Low), maybe(s.High), maybe(s.CV), outlierText(s), maybe(c.Ratio),
					})
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

// publishedFigure is the author's figure for a round; nil where there is none.
func (c Cell) publishedFigure(round int) *float64 {
	switch {
	case round >= 1 && round <= len(c.Published):
		return &c.Published[round-1]
	case len(c.Published) == 1: // one figure for all rounds, such as RSS
		return &c.Published[0]
	}
	return nil
}

// publishedOf is the same as text, or the author's words.
func (c Cell) publishedOf(round int) string {
	if len(c.Published) == 0 {
		return text(c.PublishedWords)
	}
	return maybe(c.publishedFigure(round))
}

// ratioTo is nil where one side is not there, or nothing.
func ratioTo(ours, published *float64) *float64 {
	if ours == nil || published == nil || *published == 0 {
		return nil
	}
	ratio := *ours / *published
	return &ratio
}

func exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// maybe is empty for what does not exist.
func maybe(v *float64) string {
	if v == nil {
		return ""
	}
	return exact(*v)
}

// integer is empty for what concerns no single fork or round.
func integer(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// text keeps spreadsheets from running a name that begins like a formula.
func text(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
