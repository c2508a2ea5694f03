package plan

import (
	"slices"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

// WantsEqualRate tells whether the run has windows at equal rate: as the
// experiment says, else with several forks.
func (p *Plan) WantsEqualRate() bool {
	if len(p.SUTs) < 2 || experiment.NoEqualRate(&p.Experiment) != "" {
		return false
	}
	if want := p.Experiment.Load.EqualRate; want != nil {
		return *want
	}
	return p.Experiment.Forks >= 2
}

// endsAtEqualRate tells whether a turn climbs to the highest rung of a fork that
// knows the rate.
func (p *Plan) endsAtEqualRate(t Turn) bool {
	if !p.WantsEqualRate() || t.Fork < 2 {
		return false
	}
	top := p.highestFit(t.SUT.Name)
	return slices.ContainsFunc(t.Cells, func(k CellKey) bool { return k.Connections == top })
}

// turnsAgain are those of a single fork: every SUT once more, for that window alone.
func (p *Plan) turnsAgain() []Turn {
	var turns []Turn
	if p.WantsEqualRate() && p.Experiment.Forks == 1 {
		for i := range p.SUTs {
			turns = append(turns, Turn{SUT: &p.SUTs[i], Fork: 1, EqualRate: true, Again: true})
		}
	}
	return turns
}

// Turn is one fork of one SUT with its cells.
type Turn struct {
	SUT       *SUT
	Fork      int
	Cells     []CellKey
	EqualRate bool // ends with a window at equal rate
	Again     bool // a second process of a fork, for that window alone
	Resumed   bool // of a fork whose first cells an earlier process has measured
}

// turns groups the planned cells by the SUT process that they share.
func (p *Plan) turns() []Turn {
	var turns []Turn
	for _, key := range p.Cells {
		if n := len(turns); n > 0 && p.sameProcess(turns[n-1].Cells[0], key) {
			turns[n-1].Cells = append(turns[n-1].Cells, key)
			continue
		}
		at := slices.IndexFunc(p.SUTs, func(s SUT) bool { return s.Name == key.SUT })
		turns = append(turns, Turn{SUT: &p.SUTs[at], Fork: key.Fork, Cells: []CellKey{key}})
	}
	for i := range turns {
		turns[i].EqualRate = p.endsAtEqualRate(turns[i])
	}
	return turns
}

// sameProcess tells whether two cells are windows of one SUT process.
func (p *Plan) sameProcess(a, b CellKey) bool {
	return a.SUT == b.SUT && a.Fork == b.Fork && (p.Experiment.Isolate != experiment.IsolateRung || a.Rung() == b.Rung())
}

// OnlyRung is the rung that the process of a turn is for, where each has its own; else 0.
func (p *Plan) OnlyRung(t Turn) int {
	if p.Experiment.Isolate != experiment.IsolateRung || len(t.Cells) == 0 {
		return 0
	}
	return t.Cells[0].Connections
}

// KeyOf names a cell: a planned one, or the window at equal rate, whose rate the
// plan does not know.
type KeyOf struct {
	CellKey
	equalRate bool
}

// KeyOf is the key of a measured cell.
func (p *Plan) KeyOf(c *record.Cell) KeyOf {
	key := CellKey{SUT: c.SUT, Fork: c.Fork, Connections: c.Connections, Round: c.Round}
	planned := slices.Contains(p.Experiment.LoadOf(c.SUT).Rate, c.Rate)
	if planned {
		key.Rate = c.Rate
	}
	return KeyOf{key, c.Rate > 0 && !planned}
}

// Remaining are the turns of the run, or of a resumed one what is missing of them.
func (p *Plan) Remaining() []Turn {
	turns := append(p.turns(), p.turnsAgain()...)
	if p.Before == nil {
		return turns
	}
	finished := map[KeyOf]bool{}
	for i := range p.Before {
		finished[p.KeyOf(&p.Before[i])] = p.Before[i].Status != "interrupted"
	}
	var left []Turn
	for _, t := range turns {
		whole := len(t.Cells)
		t.Cells = slices.DeleteFunc(slices.Clone(t.Cells), func(k CellKey) bool { return finished[KeyOf{k, false}] })
		if t.EqualRate && finished[KeyOf{CellKey{SUT: t.SUT.Name, Fork: t.Fork, Round: 1}, true}] {
			t.EqualRate = false
		}
		t.Resumed = len(t.Cells) < whole && !t.Again
		if len(t.Cells) > 0 || t.EqualRate {
			left = append(left, t)
		}
	}
	return left
}
