package report

import (
	"bytes"
	"math"
	"strconv"

	"loomlab/lab/record"
)

// charts is what the pictures of a run are drawn from. It is read off the table
// where the table has it, so that pictures and table cannot differ. As JSON it is
// the data block of report.html.
type charts struct {
	Ladder  ladderChart   `json:"ladder"`
	Latency latencyCharts `json:"latency"`
	Time    timeCharts    `json:"time"`
	Flames  *flameCharts  `json:"flames"`
}

// newCharts never fails: a series that cannot be read is only not drawn, which
// its note says.
func newCharts(saved *record.Saved, t *Table) charts {
	return charts{Ladder: newLadder(saved, t), Latency: newLatencyCharts(saved, t), Time: newTimeCharts(saved, t)}
}

// values are figures of a chart; NaN is a gap, null in JSON.
type values []float64

// chartDigits are what a picture can show of a figure.
const chartDigits = 5

// MarshalJSON writes the figures with few digits, since a page holds thousands.
func (v values) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, f := range v {
		if i > 0 {
			out.WriteByte(',')
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			out.WriteString("null")
			continue
		}
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', chartDigits, 64), 64)
		out.WriteString(strconv.FormatFloat(rounded, 'f', -1, 64))
	}
	out.WriteByte(']')
	return out.Bytes(), nil
}

// gaps are n figures that are not there yet.
func gaps(n int) values {
	v := make(values, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// any reports whether there is a figure at all.
func (v values) any() bool {
	for _, f := range v {
		if !math.IsNaN(f) {
			return true
		}
	}
	return false
}

// most is the highest figure, or 0 without any.
func (v values) most() float64 {
	most := 0.0
	for _, f := range v {
		if f > most { // false for NaN
			most = f
		}
	}
	return most
}

// middle is the cell's one figure with the range around it: the median over forks
// with its interval (or lowest and highest), or over the rounds of one fork with
// the lowest and highest. ok is false where nothing was measured.
func (c Cell) middle() (mid, low, high float64, ok bool) {
	s := c.Summary
	if s == nil {
		var figures []float64
		for _, p := range c.Points {
			if p.Value != nil {
				figures = append(figures, *p.Value)
			}
		}
		if s = record.Over(figures); s == nil {
			return 0, 0, 0, false
		}
		return s.Median, s.Min, s.Max, true
	}
	if s.Low != nil && s.High != nil {
		return s.Median, *s.Low, *s.High, true
	}
	return s.Median, s.Min, s.Max, true
}

// publishedMiddle is the median of the author's figures.
func (c Cell) publishedMiddle() (float64, bool) {
	if s := record.Over(c.Published); s != nil {
		return s.Median, true
	}
	return 0, false
}

// row returns the block's row of that metric, nil without one.
func (b *Block) row(metric string) *Row {
	for i := range b.Rows {
		if b.Rows[i].Metric.Name == metric {
			return &b.Rows[i]
		}
	}
	return nil
}
