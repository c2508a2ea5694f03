package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8/decor"
)

// view is the table so far, what goes on now, and the progress of the whole run.
func (l *Live) view(columns int) []string {
	if l.table == nil || l.tableCells != len(l.saved.Cells) || l.tableWidth != columns {
		var table bytes.Buffer
		_ = Text(&table, Build(&l.saved), TextOptions{Width: columns, Color: true, Brief: true}) // a buffer takes everything
		l.table = strings.Split(strings.TrimRight(table.String(), "\n"), "\n")
		l.tableCells, l.tableWidth = len(l.saved.Cells), columns
	}
	lines := append(slices.Clone(l.table), "")
	if l.phase != "" {
		lines = append(lines, shorten("▸ "+l.phase, columns))
	}
	for _, line := range l.pulse.lines(columns) {
		lines = append(lines, shorten(line, columns))
	}
	return append(lines, l.progress(columns))
}

// Widths of the progress bar.
const (
	barMost  = 30
	barLeast = 10 // below that it says nothing
)

// progress is how far the run is, and how long the rest may take.
func (l *Live) progress(columns int) string {
	elapsed := l.now().Sub(l.began)
	done := len(l.saved.Cells)
	all := max(done, l.cells)
	text := fmt.Sprintf("%d of %d cells · %s", done, all, clockTime(elapsed))
	if left, ok := l.left(elapsed, done-l.before, all-done); ok {
		text += " · about " + clockTime(left) + " left"
	}
	room := min(barMost, columns-width(text)-1)
	if room < barLeast || all == 0 {
		return shorten(text, columns)
	}
	var bar bytes.Buffer
	_ = l.bar.Fill(&bar, decor.Statistics{AvailableWidth: room, Total: int64(all), Current: int64(done), Completed: done == all}) // a buffer takes everything
	return bar.String() + " " + text
}

// left goes by the plan at first, and by the pace of the run the more of it there
// is: a plan knows the waits, the pace knows the machine. now are the cells that
// this part of the run has measured.
func (l *Live) left(elapsed time.Duration, now, rest int) (time.Duration, bool) {
	if rest <= 0 || now <= 0 && l.estimate == 0 {
		return 0, false
	}
	var byPlan, byPace time.Duration
	share := float64(now) / float64(now+rest)
	switch {
	case now > 0:
		byPace = elapsed / time.Duration(now) * time.Duration(rest)
		byPlan = byPace
		if l.estimate > 0 && l.planned > 0 {
			byPlan = time.Duration(float64(l.estimate) * float64(rest) / float64(l.planned))
		}
	case l.planned > 0:
		byPlan = max(0, time.Duration(float64(l.estimate)*float64(rest)/float64(l.planned))-elapsed)
	}
	return time.Duration(share*float64(byPace) + (1-share)*float64(byPlan)), true
}

func clockTime(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
