package lab

import (
	"sync"

	"loomlab/lab/record"
)

// gauge keeps the downstream's JSON lines, one a second. Their in_flight_max is
// the highest value in the second before.
type gauge struct {
	mu    sync.Mutex
	lines []record.DownstreamStats
}

// gaugeKeep bounds what is kept, in seconds: the longest windows that people measure.
const gaugeKeep = 600

func (g *gauge) add(s record.DownstreamStats) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.lines) == gaugeKeep {
		g.lines = g.lines[1:]
	}
	g.lines = append(g.lines, s)
}

// begin drops the lines of the cell before.
func (g *gauge) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lines = nil
}

// between are the lines of the seconds in a window. The second in which it
// opened counts: the load is the same in the lead-in.
func (g *gauge) between(open, close float64) []record.DownstreamStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	var lines []record.DownstreamStats
	for _, s := range g.lines {
		if s.At-1 >= open-leadIn && s.At <= close {
			lines = append(lines, s)
		}
	}
	return lines
}

// leadIn is how much of the time before a window is surely under its load.
const leadIn = 1.5

// joinDownstream takes the difference of the downstream's account over the
// window, and summarises its gauge.
func (w *window) joinDownstream() {
	c := &w.cell
	if w.f.down == nil {
		return
	}
	if w.f.mute {
		c.Unavailable["downstream"] = "the downstream is a command of the experiment's, which gives no account"
		return
	}
	lines := w.f.gauge.between(w.opened, w.closed)
	before, after := w.before, w.after
	if before == nil || after == nil {
		c.Unavailable["downstream"] = "its account could not be read at both ends of the window"
		if len(lines) < 2 {
			return
		}
		// It does not even serve us, but it prints. Rates of other seconds than
		// the window's are good enough for the gauge, and for nothing else.
		before, after = &lines[0], &lines[len(lines)-1]
	}
	d, seconds := after.Sub(*before), after.At-before.At
	if seconds <= 0 {
		return
	}
	w.account = &d
	if c.Unavailable["downstream"] == "" {
		c.Downstream = &d
	}
	g := &record.InFlight{Mean: d.InFlightS / seconds, Peaks: make([]int64, len(lines)), Evenness: d.Evenness(seconds)}
	for i := range lines {
		g.Peaks[i] = lines[i].InFlightMax
	}
	if d.Answered > 0 {
		ms := d.InFlightS / float64(d.Answered) * 1e3
		g.ServedMS = &ms
	}
	c.InFlight = g
}
