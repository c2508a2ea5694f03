package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// Side is one side of a comparison: a run, or one SUT of it.
type Side struct {
	Saved *record.Saved
	SUT   string // "" is every SUT
	Name  string // as the user called it, such as "last:virtual"
}

// Comparison is two runs, or two SUTs, side by side. Its JSON form is what
// `loomlab compare --format json` prints.
type Comparison struct {
	Old        string         `json:"old"`
	New        string         `json:"new"`
	About      []string       `json:"about"`
	Conditions []Condition    `json:"conditions"` // in which the sides differ
	Cells      []ComparedCell `json:"cells"`
	Means      []Mean         `json:"geometric_means"`
	Legend     []string       `json:"legend"`

	sides [2]Side // what it was made of, for pictures
	pairs []sutPair
}

// ComparedCell is one SUT on one rung, on both sides.
type ComparedCell struct {
	OldSUT      string        `json:"old_sut"`
	NewSUT      string        `json:"new_sut"`
	Connections int           `json:"connections"`
	Rate        float64       `json:"rate,omitempty"`
	OldRegime   string        `json:"old_regime"` // what may be compared, see record.RegimeOf
	NewRegime   string        `json:"new_regime"`
	Regime      string        `json:"regime"` // in words, with the primary metric that follows
	OldMissing  string        `json:"old_missing,omitempty"`
	NewMissing  string        `json:"new_missing,omitempty"`
	OldDoubts   []string      `json:"old_doubts"`
	NewDoubts   []string      `json:"new_doubts"`
	Rows        []ComparedRow `json:"rows"`
}

// ComparedRow is one metric of a compared cell.
type ComparedRow struct {
	Name    string `json:"metric"`
	Unit    string `json:"unit"`
	Primary bool   `json:"primary"` // declared by the regime, before measuring
	record.Difference
	// Adjusted is p among the family of tests that it belongs to; null where it is judged alone.
	Adjusted *float64 `json:"p_adjusted"`
	Verdict  string   `json:"verdict"`
	Reason   string   `json:"reason,omitempty"`

	metric     record.Metric
	role       role
	resolution float64 // of what it was measured with; 0 is fine enough
}

// Verdicts of a row.
const (
	Better       = "better"
	Worse        = "worse"
	Differs      = "different" // where neither direction is better
	NotShown     = "~"         // no difference is shown, which does not prove that there is none
	Insufficient = "insufficient"
	NoPower      = "no power here"
	NotJudged    = "not judged"
	Missing      = "–"
)

// Mean is the geometric mean of new ÷ old over the cells that both sides have.
type Mean struct {
	Metric string   `json:"metric"`
	Ratio  *float64 `json:"ratio"` // null without a cell
	Count  int      `json:"count"`
	Of     int      `json:"of"` // all cells of either side

	label string
}

// Compare puts new beside old. ignore names conditions that may differ. The error
// is a [*NotComparable], or says that a SUT is not there.
func Compare(old, new Side, ignore []string) (*Comparison, error) {
	pairs, err := pair(old, new)
	if err != nil {
		return nil, err
	}
	conditions, err := judgeConditions(differences(old, new, pairs), ignore)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Old: old.Name, New: new.Name, Conditions: conditions, sides: [2]Side{old, new}, pairs: pairs}
	for _, side := range []struct {
		word string
		Side
	}{{"old", old}, {"new", new}} {
		run := &side.Saved.Run
		quick := ""
		if run.Experiment.Quick {
			quick = "shortened by --quick"
		}
		if s := run.Experiment.Scale; s != 0 {
			quick = joined(quick, "scaled by "+plain(s))
		}
		c.About = append(c.About, escape(fmt.Sprintf("%s: %s", side.word, joined(side.Name, run.ID, status(side.Saved), shape(&run.Experiment), quick))))
	}
	if old.Saved != new.Saved {
		c.About = append(c.About, calibrationText(&old.Saved.Run, &new.Saved.Run))
	}
	for _, p := range pairs {
		for _, rung := range commonRungs(old, new) {
			if cell, ok := compareCell(old, new, p, rung); ok {
				c.Cells = append(c.Cells, cell)
			}
		}
	}
	c.judge()
	c.mean()
	return c, nil
}

// sutPair is one SUT under its name on each side.
type sutPair struct{ old, new string }

func (p sutPair) String() string {
	if p.old == p.new {
		return p.old
	}
	return p.old + " → " + p.new
}

// pair finds which SUTs face one another: the two that were named, or all of
// either side by name.
func pair(old, new Side) ([]sutPair, error) {
	names := func(s Side) []string { return (&builder{saved: s.Saved, exp: &s.Saved.Run.Experiment}).columns() }
	for _, s := range []Side{old, new} {
		if s.SUT != "" && !slices.Contains(names(s), s.SUT) {
			return nil, fmt.Errorf("%s has no SUT %q; it has %s", s.Saved.Run.ID, s.SUT, strings.Join(names(s), ", "))
		}
	}
	switch {
	case old.SUT != "" && new.SUT != "":
		return []sutPair{{old.SUT, new.SUT}}, nil
	case old.SUT != "" || new.SUT != "":
		name := orElse(old.SUT, new.SUT)
		other := names(old)
		if old.SUT != "" {
			other = names(new)
		}
		if !slices.Contains(other, name) {
			return nil, fmt.Errorf("one side is the SUT %s, the other has none of that name; name it too, RUN:sut (it has %s)", name, strings.Join(other, ", "))
		}
		return []sutPair{{name, name}}, nil
	}
	var pairs []sutPair
	for _, name := range append(names(old), names(new)...) {
		pairs = appendNew(pairs, sutPair{name, name})
	}
	return pairs, nil
}

// commonRungs are the rungs of either side, in the order of the ladders.
func commonRungs(old, new Side) []record.Rung {
	var rungs []record.Rung
	for _, s := range []Side{old, new} {
		for _, r := range (&builder{saved: s.Saved, exp: &s.Saved.Run.Experiment}).rungs() {
			rungs = appendNew(rungs, r)
		}
	}
	slices.SortStableFunc(rungs, func(a, b record.Rung) int {
		if (a.Rate == 0) != (b.Rate == 0) && a.Rate == 0 {
			return -1
		} else if (a.Rate == 0) != (b.Rate == 0) {
			return 1
		}
		return a.Connections - b.Connections
	})
	return rungs
}

// meanMetrics are those of which a geometric mean over cells says something.
var meanMetrics = []string{record.Throughput, "sut_cpu_us", "rss_mb"}

// mean fills in the geometric means: only over cells that both sides have, with
// figures above zero.
func (c *Comparison) mean() {
	for _, name := range meanMetrics {
		m, _ := record.MetricNamed(name)
		mean := Mean{Metric: name, Of: len(c.Cells), label: m.Label}
		sum := 0.0
		for _, cell := range c.Cells {
			for _, row := range cell.Rows {
				if row.Name == name && row.Old != nil && row.New != nil && row.Old.Median > 0 && row.New.Median > 0 {
					sum += math.Log(row.New.Median / row.Old.Median)
					mean.Count++
				}
			}
		}
		if mean.Count > 0 {
			ratio := math.Exp(sum / float64(mean.Count))
			mean.Ratio = &ratio
		}
		c.Means = append(c.Means, mean)
	}
}
