package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// ladderChart is throughput against connections, closed loop.
type ladderChart struct {
	X        []int           `json:"x"`
	Series   []ladderSeries  `json:"series"`
	Ceilings []ladderCeiling `json:"ceilings"`
	Log      bool            `json:"log"`  // better drawn over logarithmic axes
	Most     float64         `json:"most"` // top of the scale: what was measured, published, or bounds a SUT nearby
}

// ladderSeries is one SUT; all figures stand by rung.
type ladderSeries struct {
	Name      string `json:"name"`
	Color     int    `json:"color"`          // place among the SUTs, which also picks marker and dash
	Side      string `json:"side,omitempty"` // old or new, of a comparison
	Y         values `json:"y"`
	Low       values `json:"low"`
	High      values `json:"high"`
	Published values `json:"published"`
}

// ladderCeiling is what a limit allows; Color is its SUT's, or -1 where it binds all.
type ladderCeiling struct {
	Label string `json:"label"`
	Color int    `json:"color"`
	Y     values `json:"y"`
}

const ceilingConnections = "connections"

// ceilingNear is how far above the highest measured figure a ceiling may lie and
// still be worth drawing.
const ceilingNear = 2.5

func newLadder(saved *record.Saved, t *Table) ladderChart {
	var blocks []*Block
	for i := range t.Rungs {
		if t.Rungs[i].Rung.Rate == 0 && t.Rungs[i].Rung.Connections > 0 {
			blocks = append(blocks, &t.Rungs[i])
		}
	}
	slices.SortStableFunc(blocks, func(a, b *Block) int { return a.Rung.Connections - b.Rung.Connections })
	chart := ladderChart{X: []int{}, Series: []ladderSeries{}, Ceilings: []ladderCeiling{}}
	for _, b := range blocks {
		chart.X = append(chart.X, b.Rung.Connections)
	}
	for column, name := range t.Columns {
		s := ladderSeries{Name: escape(name), Color: column, Y: gaps(len(blocks)), Low: gaps(len(blocks)), High: gaps(len(blocks)), Published: gaps(len(blocks))}
		for i, b := range blocks {
			s.read(b, column, i)
		}
		if s.Y.any() || s.Published.any() {
			chart.Series = append(chart.Series, s)
			chart.Most = max(chart.Most, s.High.most(), s.Published.most())
		}
	}
	chart.ceilings(saved, t, blocks)
	chart.Log = needsLogarithm(chart.X)
	return chart
}

// needsLogarithm tells a ladder of which two rungs would fall together on a
// straight axis. On one, a ceiling is the straight line that Little's law says.
func needsLogarithm(rungs []int) bool {
	for i := 1; i < len(rungs); i++ {
		if 40*(rungs[i]-rungs[i-1]) < rungs[len(rungs)-1] {
			return true
		}
	}
	return false
}

// read takes the figures of one rung from the table.
func (s *ladderSeries) read(b *Block, column, at int) {
	for _, name := range []string{record.Throughput, record.ThroughputWithDrain} {
		row := b.row(name)
		if row == nil {
			continue
		}
		c := row.Cells[column]
		if name == record.Throughput {
			if mid, low, high, ok := c.middle(); ok {
				s.Y[at], s.Low[at], s.High[at] = mid, low, high
			}
		}
		if published, ok := c.publishedMiddle(); ok {
			s.Published[at] = published
		}
	}
}

// ceilings collects the limits of every SUT by kind. The one of the connections
// is said once where it is the same for all.
func (chart *ladderChart) ceilings(saved *record.Saved, t *Table, blocks []*Block) {
	byKind := map[string][]ladderCeiling{}
	var kinds []string
	for column, name := range t.Columns {
		found := map[string]*ladderCeiling{}
		var order []string
		for at, b := range blocks {
			for _, c := range record.Measured(saved.At(name, b.Rung)) {
				for _, limit := range c.Ceilings {
					if found[limit.Kind] == nil {
						found[limit.Kind] = &ladderCeiling{Label: ceilingLabel(limit, name), Color: column, Y: gaps(len(blocks))}
						order = append(order, limit.Kind)
					}
					found[limit.Kind].Y[at] = limit.PerS // of the last window: they differ by what the delay was late
				}
			}
		}
		for _, kind := range order {
			kinds = appendNew(kinds, kind)
			byKind[kind] = append(byKind[kind], *found[kind])
		}
	}
	highest := chart.Most
	for _, kind := range kinds {
		list := byKind[kind]
		if kind == ceilingConnections && sameCeiling(list) {
			list = []ladderCeiling{{Label: "connections ÷ delay", Color: -1, Y: list[0].Y}}
		} else {
			list = oneOfEach(list)
		}
		for _, c := range list {
			top := c.Y.most()
			if kind != ceilingConnections {
				if top > ceilingNear*highest {
					continue
				}
				chart.Most = max(chart.Most, top)
			}
			chart.Ceilings = append(chart.Ceilings, c)
		}
	}
}

// oneOfEach draws a limit that several SUTs share, such as 200 worker threads, once.
func oneOfEach(list []ladderCeiling) []ladderCeiling {
	var one []ladderCeiling
	shared := map[int]int{}
	for _, c := range list {
		_, what, _ := cutLast(c.Label, ": ")
		at := slices.IndexFunc(one, func(have ladderCeiling) bool {
			_, same, _ := cutLast(have.Label, ": ")
			return same == what && sameCeiling([]ladderCeiling{have, c})
		})
		if at < 0 {
			one = append(one, c)
			continue
		}
		shared[at]++
	}
	for at, more := range shared {
		_, what, _ := cutLast(one[at].Label, ": ")
		one[at].Label, one[at].Color = fmt.Sprintf("%d SUTs: %s", more+1, what), -1
	}
	return one
}

// cutLast cuts at the last separator: a SUT's name may hold one.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return "", s, false
}

// ceilingLabel is the left side of its arithmetic, such as "platform: 200 worker threads".
func ceilingLabel(c record.Ceiling, sut string) string {
	what, _, _ := strings.Cut(c.Arithmetic, " ÷ ")
	if c.Kind == ceilingConnections || what == "" {
		what = strings.ReplaceAll(c.Kind, "_", " ")
	}
	return escape(sut + ": " + what)
}

// sameCeiling reports whether they agree within a tenth wherever two of them are.
func sameCeiling(list []ladderCeiling) bool {
	for _, c := range list {
		for i, y := range c.Y {
			if first := list[0].Y[i]; math.Abs(y-first) > 0.1*first {
				return false
			}
		}
	}
	return true
}
