package report

import (
	"fmt"
	"strings"

	"loomlab/lab/record"
)

// pauses says how a SUT's collector stopped it, over the windows of a rung: the
// histogram is of all of them, the longest pause with its moment of the worst.
func (e *explainer) pauses(cells []*record.Cell) {
	var worst *record.Pauses
	var list []record.Pause
	seconds, windows, omitted := 0.0, 0, 0
	for _, c := range record.Measured(cells) {
		p := c.Pauses
		if p == nil {
			continue
		}
		windows++
		seconds += p.Span[1] - p.Span[0]
		list = append(list, p.List...)
		omitted += p.Omitted
		if worst == nil || p.MaxMS != nil && (worst.MaxMS == nil || *p.MaxMS > *worst.MaxMS) {
			worst = p
		}
	}
	if windows == 0 {
		return
	}
	if len(list) == 0 {
		e.indented("GC: no pause in " + plural(windows, "window"))
		return
	}
	all := record.NewPauses("", [2]float64{}, list)
	text := fmt.Sprintf("GC: %s in %s, %s ms in all", plural(len(list)+omitted, "pause"), plural(windows, "window"), plain1(all.TotalMS))
	if seconds > 0 {
		text += fmt.Sprintf(" (%.1f %% of the time)", all.TotalMS/10/seconds)
	}
	text += fmt.Sprintf("; half took at most %s ms, 99 %% at most %s", plain1(*all.P50MS), plain1(*all.P99MS))
	for _, p := range worst.List {
		if p.MS == *worst.MaxMS {
			text += fmt.Sprintf("; the longest %s ms, %.1f s after its window opened (%s)", plain1(p.MS), p.At-worst.Span[0], strings.Trim(escape(p.Kind+": "+p.Cause), ": "))
			break
		}
	}
	e.indented(text)
	var buckets []string
	for _, b := range all.Histogram {
		if b.Count > 0 {
			buckets = append(buckets, fmt.Sprintf("≤ %s ms: %d", plain(b.UpToMS), b.Count))
		}
	}
	e.indented("GC pauses by length: " + strings.Join(buckets, ", "))
	e.leftAfter(worst)
}

// thirdsOf is how many pauses it takes to tell the first third of a window from its last.
const thirdsOf = 30

// leftAfter compares what a collection left of the heap early in a window and late:
// what rises there for minutes is kept by somebody.
func (e *explainer) leftAfter(p *record.Pauses) {
	var left []float64
	for _, pause := range p.List {
		if pause.AfterBytes > 0 {
			left = append(left, float64(pause.AfterBytes)/mib)
		}
	}
	if len(left) < thirdsOf || p.Omitted > 0 {
		return
	}
	third := len(left) / 3
	first, last := record.Over(left[:third]), record.Over(left[len(left)-third:])
	e.indented(fmt.Sprintf("heap just after a pause: %.0f MB (median) in the first third of %.0f s, %.0f MB in the last", first.Median, p.Span[1]-p.Span[0], last.Median))
}

// plain1 is a figure with one decimal, or with more where it would be 0.
func plain1(v float64) string {
	if v < 1 {
		return plain(v)
	}
	return fixed(v, 1)
}
