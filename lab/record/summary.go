package record

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/perf/benchmath"
)

// Rung is one step of the ladder.
type Rung struct {
	Connections int
	Rate        float64 // offered requests per second; 0 in a closed loop
}

// String names the step as people do: "1000" connections, "500/s offered".
func (r Rung) String() string {
	if r.Rate != 0 {
		return strconv.FormatFloat(r.Rate, 'f', -1, 64) + "/s offered"
	}
	return strconv.Itoa(r.Connections)
}

// Rung returns the step of the ladder that c stands on.
func (c *Cell) Rung() Rung { return Rung{c.Connections, c.Rate} }

// At returns the cells of a SUT on a rung, ordered by fork and round. Of two
// attempts at one cell the later one counts.
func (s *Saved) At(sut string, rung Rung) []*Cell {
	var cells []*Cell
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.SUT != sut || c.Rung() != rung {
			continue
		}
		same := func(have *Cell) bool { return have.Fork == c.Fork && have.Round == c.Round }
		if at := slices.IndexFunc(cells, same); at >= 0 {
			cells[at] = c
		} else {
			cells = append(cells, c)
		}
	}
	slices.SortStableFunc(cells, func(a, b *Cell) int {
		return cmp.Or(cmp.Compare(a.Fork, b.Fork), cmp.Compare(a.Round, b.Round))
	})
	return cells
}

// Measured keeps the cells that have figures to count.
func Measured(cells []*Cell) []*Cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c *Cell) bool { return c.Status != "ok" || c.Load == nil })
}

// IntervalForks is how many forks an interval for a median needs at 95 % (METHOD
// rule 19): with five, even lowest…highest covers it in only 93.8 % of cases.
const IntervalForks = 6

// confidence of every interval, and 1 minus the level of every test.
const confidence = 0.95

// Summary is a metric over the forks of a SUT on one rung: the forks are the
// independent repeats, the rounds inside one are pooled before.
type Summary struct {
	Values []float64 `json:"values"` // one a fork, in the order of forks
	Forks  []int     `json:"forks"`  // their numbers
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	// Low and High are the interval that covers the median in 95 % of cases,
	// whatever the distribution; null with fewer than [IntervalForks] forks.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// CV is the coefficient of variation, standard deviation ÷ mean; null for one
	// value, and where the mean is not positive.
	CV       *float64  `json:"cv"`
	Outliers []Outlier `json:"outliers"`
}

// Summarise takes the median over forks of pooled rounds; nil when no fork has a
// value. Where many metrics of the same cells are wanted, pool them once with
// [PoolForks] and use [Across].
func Summarise(cells []*Cell, m Metric) *Summary {
	return Across(poolForks(cells, m.latency), m)
}

// Across summarises a metric over pooled forks; nil when none has a value.
func Across(pooled []*Cell, m Metric) *Summary {
	var values []float64
	var forks []int
	for _, c := range pooled {
		if v := m.Of(c); v != nil {
			values, forks = append(values, *v), append(forks, c.Fork)
		}
	}
	return over(values, forks)
}

// PoolForks pools the measured rounds of each fork, in the order of forks.
func PoolForks(cells []*Cell) []*Cell { return poolForks(cells, true) }

func poolForks(cells []*Cell, latencies bool) []*Cell {
	byFork := map[int][]*Cell{}
	for _, c := range Measured(cells) {
		byFork[c.Fork] = append(byFork[c.Fork], c)
	}
	var pooled []*Cell
	for _, fork := range slices.Sorted(maps.Keys(byFork)) {
		pooled = append(pooled, pool(byFork[fork], latencies))
	}
	return pooled
}

// Over summarises values that are numbered from 1; nil without any.
func Over(values []float64) *Summary {
	forks := make([]int, len(values))
	for i := range forks {
		forks[i] = i + 1
	}
	return over(values, forks)
}

func over(values []float64, forks []int) *Summary {
	if len(values) == 0 {
		return nil
	}
	s := &Summary{Values: values, Forks: forks, Median: median(values), Min: slices.Min(values), Max: slices.Max(values),
		CV: variation(values), Outliers: outliers(values, forks)}
	if len(values) >= IntervalForks {
		// NewSample sorts what it is given.
		of := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), confidence)
		s.Low, s.High = &of.Lo, &of.Hi
	}
	return s
}

// CellSummary is one metric of a SUT on a rung over its forks.
type CellSummary struct {
	SUT         string  `json:"sut"`
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate,omitempty"`
	Metric      string  `json:"metric"`
	Unit        string  `json:"unit"`
	Summary
}

// Summarise summarises every metric of every SUT and rung, in the order of the
// cells; nil where no SUT has more than one fork.
func (s *Saved) Summarise() []CellSummary {
	type place struct {
		sut  string
		rung Rung
	}
	var list []CellSummary
	several := false
	seen := map[place]bool{}
	for i := range s.Cells {
		at := place{s.Cells[i].SUT, s.Cells[i].Rung()}
		if seen[at] {
			continue
		}
		seen[at] = true
		pooled := PoolForks(s.At(at.sut, at.rung))
		several = several || len(pooled) > 1
		for _, m := range metrics {
			if of := Across(pooled, m); of != nil {
				list = append(list, CellSummary{at.sut, at.rung.Connections, at.rung.Rate, m.Name, m.Unit, *of})
			}
		}
	}
	if !several {
		return nil
	}
	return list
}
