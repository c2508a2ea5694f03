package report

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// generators says where several of them shared the load, and how far apart they
// began at most; "" where one made it all.
func generators(saved *record.Saved) string {
	var places []string
	counts := map[string]int{} // of generators, by places
	cells, known, spread := 0, 0, 0.0
	for i := range saved.Cells {
		l := saved.Cells[i].Load
		if l == nil || len(l.Generators) < 2 {
			continue
		}
		var at []string
		for _, g := range l.Generators {
			at = append(at, g.Place)
		}
		text := strings.Join(at, ", ")
		places, counts[text] = appendNew(places, text), len(at)
		cells++
		if l.StartSpreadMS != nil {
			known++
			spread = max(spread, *l.StartSpreadMS)
		}
	}
	if places == nil {
		return ""
	}
	var parts []string
	for _, text := range places {
		parts = append(parts, fmt.Sprintf("%d generators (%s)", counts[text], text))
	}
	line := "load by " + strings.Join(parts, " or ")
	if known > 0 {
		line += fmt.Sprintf(", begun within %s ms of each other", fixed(spread, 2))
	}
	if known < cells {
		line += fmt.Sprintf(" (not known of %s)", phrase.Count(cells-known, "window"))
	}
	return line
}

// generators shows what each of several had of a window.
func (e *explainer) generators(c *record.Cell) {
	if c.Load == nil || len(c.Load.Generators) < 2 {
		return
	}
	p99, _ := record.MetricNamed(record.P99)
	var parts []string
	for _, g := range c.Load.Generators {
		figures := []string{fmt.Sprintf("%s at %s: %s", phrase.Count(g.Connections, "connection"), escape(g.Place), phrase.Count(int(g.Requests.OK), "answer"))}
		if g.ThroughputPerS != nil {
			figures = append(figures, fixed(*g.ThroughputPerS, 0)+"/s")
		}
		if g.LatencyMS != nil {
			figures = append(figures, "p99 "+number(g.LatencyMS.P99, p99)+" ms")
		}
		if g.Engine != nil && g.Seconds > 0 {
			figures = append(figures, fixed((g.Engine.CPUUserS+g.Engine.CPUSystemS)/g.Seconds, 2)+" cores")
		}
		parts = append(parts, strings.Join(figures, ", "))
	}
	if len(parts) > 8 {
		parts = slices.Concat(parts[:7], []string{fmt.Sprintf("and %d more", len(parts)-7)})
	}
	e.indented("generators: " + strings.Join(parts, "; "))
}
