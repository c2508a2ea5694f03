package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// comparePage is `compare --format html`: both sides overlaid, and the
// differences with what speaks for them.
type comparePage struct {
	pageFrame
	Headline string
	Sides    [2]string
	Head     []string
	Heads    []string
	Cells    []compareHTMLCell
	Ladder   ladderChart
	Rows     [][]string
	Latency  latencyCharts
	Percents []string
	Legend   []string
	Commands []command
}

type compareHTMLCell struct {
	Title   string
	Rows    []compareHTMLRow
	Remarks []string
}

type compareHTMLRow struct {
	Label    string
	Primary  bool
	Fields   []string // old, new, change, interval, p
	Verdict  string
	Class    string // better, worse, or ""
	Dim      bool
	Interval *whisker
}

// whisker is the interval of a relative change in a picture 150 wide, 0 in its middle.
type whisker struct{ Low, High, At string }

func compareHTML(w io.Writer, c *Comparison) error {
	p := comparePage{Headline: c.headline(), Sides: [2]string{escape(c.Old), escape(c.New)}, Head: c.head(), Heads: c.compareHead(),
		Legend: append(c.meanLines(), c.Legend...),
		Commands: []command{{"compare them again", "loomlab compare " + record.QuoteWord(escape(c.Old)) + " " + record.QuoteWord(escape(c.New))},
			{"stop a build at a loss of more than 5 %", "loomlab compare " + record.QuoteWord(escape(c.Old)) + " " + record.QuoteWord(escape(c.New)) + " --fail-if-worse 5%"}}}
	for i := range c.Cells {
		p.Cells = append(p.Cells, c.Cells[i].html())
	}
	p.overlay(c)
	for _, q := range latencyQuantiles {
		p.Percents = append(p.Percents, q.label)
	}
	p.pageFrame = pageFrame{Title: escape(c.Old + " → " + c.New), Data: struct {
		Ladder  ladderChart   `json:"ladder"`
		Latency latencyCharts `json:"latency"`
	}{p.Ladder, p.Latency}}
	return writePage(w, "compare.tmpl", &p.pageFrame, &p)
}

// headline is what the first primary metrics of the cells show.
func (c *Comparison) headline() string {
	var shown []string
	judged, alike, forks := 0, 0, math.MaxInt
	for _, cell := range c.Cells {
		for _, row := range cell.Rows {
			if row.role.primary != 1 || row.Old == nil || row.New == nil {
				continue
			}
			judged++
			forks = min(forks, row.Forks())
			switch row.Verdict {
			case Better, Worse, Differs:
				where := rungTitle(record.Rung{Connections: cell.Connections, Rate: cell.Rate})
				if len(c.pairs) > 1 {
					where = cell.title()
				}
				text := fmt.Sprintf("%s at %s is %s", row.metric.Label, where, row.changeWords())
				shown = append(shown, text)
			case NotShown:
				alike++
			}
		}
	}
	old, new := escape(c.Old), escape(c.New)
	switch {
	case len(shown) > 0:
		text := old + " → " + new + ": " + strings.Join(shown[:min(2, len(shown))], "; ")
		if more := len(shown) - 2; more > 0 {
			text += fmt.Sprintf("; %d more differ", more)
		}
		return text + "."
	case judged == 0:
		return "Nothing of " + old + " and " + new + " can be compared."
	case alike > 0:
		return fmt.Sprintf("No difference between %s and %s is shown in %s.", old, new, phrase.Count(judged, "primary metric"))
	}
	return fmt.Sprintf("Too few forks to tell %s from %s: %d a side, and a verdict needs %d.", old, new, forks, record.TestForks)
}

// changeWords is "12.3 % lower (worse)".
func (r *ComparedRow) changeWords() string {
	word := "higher"
	if r.Absolute != nil && *r.Absolute < 0 {
		word = "lower"
	}
	size := absolute(math.Abs(*r.Absolute), r.metric)
	if r.Relative != nil {
		size = fmt.Sprintf("%.1f %%", 100*math.Abs(*r.Relative))
	}
	text := strings.TrimPrefix(size, "+") + " " + word
	if r.Verdict != Differs {
		text += " (" + r.Verdict + ")"
	}
	return text
}

func (c *ComparedCell) html() compareHTMLCell {
	h := compareHTMLCell{Title: c.title(), Remarks: c.remarks()}
	scale := 0.02
	for _, r := range c.shownRows() {
		for _, v := range []*float64{r.Low, r.High, r.Relative} {
			if v != nil && r.role.verdict == "" {
				scale = min(1, max(scale, math.Abs(*v)))
			}
		}
	}
	for _, r := range c.shownRows() {
		fields := r.fields()
		row := compareHTMLRow{Label: Row{Metric: r.metric}.Label(), Primary: r.Primary, Fields: fields[:5], Verdict: fields[5], Dim: r.style() == dim}
		if r.Verdict == Better || r.Verdict == Worse {
			row.Class = r.Verdict
		}
		if r.Low != nil && r.High != nil && r.Relative != nil && r.role.verdict == "" {
			at := func(v float64) string { return fmt.Sprintf("%.1f", 75+68*max(-1, min(1, v/scale))) }
			row.Interval = &whisker{at(*r.Low), at(*r.High), at(*r.Relative)}
		}
		h.Rows = append(h.Rows, row)
	}
	return h
}

// overlay draws both sides over one another: the old one hollow and dashed.
func (p *comparePage) overlay(c *Comparison) {
	old, new := c.sides[0], c.sides[1]
	if old.Saved == nil || new.Saved == nil {
		return // a comparison that was read, not made
	}
	oldTable, newTable := Build(old.Saved), Build(new.Saved)
	ladders := [2]ladderChart{newLadder(old.Saved, oldTable), newLadder(new.Saved, newTable)}
	latencies := [2]latencyCharts{newLatencyCharts(old.Saved, oldTable), newLatencyCharts(new.Saved, newTable)}
	p.Ladder = ladderChart{X: []int{}, Series: []ladderSeries{}, Ceilings: []ladderCeiling{}}
	p.Latency = latencyCharts{X: longer(latencies[0].X, latencies[1].X), Rungs: []latencyChart{}}
	for _, rung := range commonRungs(old, new) {
		if rung.Rate == 0 && (slices.Contains(ladders[0].X, rung.Connections) || slices.Contains(ladders[1].X, rung.Connections)) {
			p.Ladder.X = append(p.Ladder.X, rung.Connections)
		}
	}
	for i, pair := range c.pairs {
		for side, name := range []string{pair.old, pair.new} {
			color := i
			if len(c.pairs) == 1 {
				color = side
			}
			label := seriesLabel(c.sides[side], name)
			word := []string{"old", "new"}[side]
			p.addLadder(ladders[side], escape(name), label, word, color)
			p.addLatency(latencies[side], escape(name), label, word, color)
		}
	}
	for _, ceiling := range ladders[1].Ceilings {
		if ceiling.Color < 0 {
			p.Ladder.Ceilings = append(p.Ladder.Ceilings, ladderCeiling{ceiling.Label, -1, spread(ceiling.Y, ladders[1].X, p.Ladder.X)})
		}
	}
	p.Rows = ladderRows(p.Ladder)
}

func longer(a, b []float64) []float64 {
	if len(a) > len(b) {
		return a
	}
	return b
}

// seriesLabel names one SUT of a side.
func seriesLabel(s Side, sut string) string {
	if s.SUT != "" {
		return escape(s.Name)
	}
	return escape(s.Name + ":" + sut)
}

// spread moves figures by rung from one ladder to another that holds more.
func spread(v values, from, to []int) values {
	out := gaps(len(to))
	for i, x := range from {
		if at := slices.Index(to, x); at >= 0 {
			out[at] = v[i]
		}
	}
	return out
}

func (p *comparePage) addLadder(from ladderChart, sut, label, side string, color int) {
	for _, s := range from.Series {
		if s.Name != sut {
			continue
		}
		at := func(v values) values { return spread(v, from.X, p.Ladder.X) }
		p.Ladder.Series = append(p.Ladder.Series, ladderSeries{Name: label, Color: color, Side: side, Y: at(s.Y), Low: at(s.Low), High: at(s.High), Published: gaps(len(p.Ladder.X))})
		p.Ladder.Most = max(p.Ladder.Most, s.High.most())
	}
}

func (p *comparePage) addLatency(from latencyCharts, sut, label, side string, color int) {
	for _, rung := range from.Rungs {
		at := slices.IndexFunc(p.Latency.Rungs, func(r latencyChart) bool { return r.Title == rung.Title })
		for _, s := range rung.Series {
			if s.Name != sut {
				continue
			}
			if at < 0 {
				p.Latency.Rungs = append(p.Latency.Rungs, latencyChart{Title: rung.Title})
				at = len(p.Latency.Rungs) - 1
			}
			s.Name, s.Color, s.Side = label, color, side
			p.Latency.Rungs[at].Series = append(p.Latency.Rungs[at].Series, s)
		}
	}
}
