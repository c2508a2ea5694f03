package report

import (
	"fmt"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// pauseStory says how a SUT's collector stopped it, over the windows of a rung: the
// histogram is of all of them, the longest pause with its moment of the worst.
type pauseStory struct {
	Column  int // of the SUT
	Count   int
	Text    string
	Buckets []record.PauseBucket // in steps of 1, 2, 5; nil without a pause
	Heap    string               // how what a collection left of the heap changed, where enough of them tell
}

// newPauseStory is not ok where no window of the cells has a log of pauses.
func newPauseStory(column int, cells []*record.Cell) (story pauseStory, ok bool) {
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
	story.Column = column
	if windows == 0 {
		return story, false
	}
	if len(list) == 0 {
		story.Text = "no pause in " + phrase.Count(windows, "window")
		return story, true
	}
	all := record.NewPauses("", [2]float64{}, list)
	story.Count = len(list) + omitted
	story.Text = fmt.Sprintf("%s in %s, %s ms in all", phrase.Count(story.Count, "pause"), phrase.Count(windows, "window"), plain1(all.TotalMS))
	if seconds > 0 {
		story.Text += fmt.Sprintf(" (%.1f %% of the time)", all.TotalMS/10/seconds)
	}
	story.Text += fmt.Sprintf("; half took at most %s ms, 99 %% at most %s", plain1(*all.P50MS), plain1(*all.P99MS))
	for _, p := range worst.List {
		if p.MS == *worst.MaxMS {
			story.Text += fmt.Sprintf("; the longest %s ms, %.1f s after its window opened (%s)", plain1(p.MS), p.At-worst.Span[0], pauseKind(p))
			break
		}
	}
	story.Buckets, story.Heap = all.Histogram, leftAfter(worst)
	return story, true
}

// pauseKind is what a pause was for, and why.
func pauseKind(p record.Pause) string { return strings.Trim(escape(p.Kind+": "+p.Cause), ": ") }

// bucketLabel is the head of a bucket.
func bucketLabel(b record.PauseBucket) string { return "≤ " + plain(b.UpToMS) + " ms" }

// pauses tells the story in words.
func (e *explainer) pauses(story pauseStory) {
	e.indented("GC: " + story.Text)
	var buckets []string
	for _, b := range story.Buckets {
		if b.Count > 0 {
			buckets = append(buckets, fmt.Sprintf("%s: %d", bucketLabel(b), b.Count))
		}
	}
	if buckets != nil {
		e.indented("GC pauses by length: " + strings.Join(buckets, ", "))
	}
	if story.Heap != "" {
		e.indented(story.Heap)
	}
}

// thirdsOf is how many pauses it takes to tell the first third of a window from its last.
const thirdsOf = 30

// leftAfter compares what a collection left of the heap early in a window and late:
// what rises there for minutes is kept by somebody. "" where too few pauses tell.
func leftAfter(p *record.Pauses) string {
	var left []float64
	for _, pause := range p.List {
		if pause.AfterBytes > 0 {
			left = append(left, float64(pause.AfterBytes)/mib)
		}
	}
	if len(left) < thirdsOf || p.Omitted > 0 {
		return ""
	}
	third := len(left) / 3
	first, last := record.Over(left[:third]), record.Over(left[len(left)-third:])
	return fmt.Sprintf("heap just after a pause: %.0f MB (median) in the first third of %.0f s, %.0f MB in the last", first.Median, p.Span[1]-p.Span[0], last.Median)
}

// plain1 is a figure with one decimal, or with more where it would be 0.
func plain1(v float64) string {
	if v < 1 {
		return plain(v)
	}
	return fixed(v, 1)
}
