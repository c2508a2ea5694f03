package lab

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
func (p *Plan) endsAtEqualRate(t turn) bool {
	if !p.WantsEqualRate() || t.fork < 2 {
		return false
	}
	top := p.highestFit(t.sut.Name)
	return slices.ContainsFunc(t.cells, func(k CellKey) bool { return k.Connections == top })
}

// turnsAgain are those of a single fork: every SUT once more, for that window alone.
func (p *Plan) turnsAgain() []turn {
	var turns []turn
	if p.WantsEqualRate() && p.Experiment.Forks == 1 {
		for i := range p.SUTs {
			turns = append(turns, turn{sut: &p.SUTs[i], fork: 1, equalRate: true, again: true})
		}
	}
	return turns
}

// turn is one fork of one SUT with its cells.
type turn struct {
	sut       *PlannedSUT
	fork      int
	cells     []CellKey
	equalRate bool // ends with a window at equal rate
	again     bool // a second process of a fork, for that window alone
	resumed   bool // of a fork whose first cells an earlier process has measured
}

// turns groups the planned cells by the SUT process that they share.
func (p *Plan) turns() []turn {
	var turns []turn
	for _, key := range p.Cells {
		if n := len(turns); n > 0 && p.sameProcess(turns[n-1].cells[0], key) {
			turns[n-1].cells = append(turns[n-1].cells, key)
			continue
		}
		at := slices.IndexFunc(p.SUTs, func(s PlannedSUT) bool { return s.Name == key.SUT })
		turns = append(turns, turn{sut: &p.SUTs[at], fork: key.Fork, cells: []CellKey{key}})
	}
	for i := range turns {
		turns[i].equalRate = p.endsAtEqualRate(turns[i])
	}
	return turns
}

// sameProcess tells whether two cells are windows of one SUT process.
func (p *Plan) sameProcess(a, b CellKey) bool {
	return a.SUT == b.SUT && a.Fork == b.Fork && (p.Experiment.Isolate != experiment.IsolateRung || a.Rung() == b.Rung())
}

// onlyRung is the rung that the process of a turn is for, where each has its own; else 0.
func (p *Plan) onlyRung(t turn) int {
	if p.Experiment.Isolate != experiment.IsolateRung || len(t.cells) == 0 {
		return 0
	}
	return t.cells[0].Connections
}

// keyOf names a cell: a planned one, or the window at equal rate, whose rate the
// plan does not know.
type keyOf struct {
	CellKey
	equalRate bool
}

func (p *Plan) keyOf(c *record.Cell) keyOf {
	key := CellKey{SUT: c.SUT, Fork: c.Fork, Connections: c.Connections, Round: c.Round}
	planned := slices.Contains(p.Experiment.LoadOf(c.SUT).Rate, c.Rate)
	if planned {
		key.Rate = c.Rate
	}
	return keyOf{key, c.Rate > 0 && !planned}
}

// remaining are the turns of the run, or of a resumed one what is missing of them.
func (p *Plan) remaining() []turn {
	turns := append(p.turns(), p.turnsAgain()...)
	if p.Before == nil {
		return turns
	}
	finished := map[keyOf]bool{}
	for i := range p.Before {
		finished[p.keyOf(&p.Before[i])] = p.Before[i].Status != "interrupted"
	}
	var left []turn
	for _, t := range turns {
		whole := len(t.cells)
		t.cells = slices.DeleteFunc(slices.Clone(t.cells), func(k CellKey) bool { return finished[keyOf{k, false}] })
		if t.equalRate && finished[keyOf{CellKey{SUT: t.sut.Name, Fork: t.fork, Round: 1}, true}] {
			t.equalRate = false
		}
		t.resumed = len(t.cells) < whole && !t.again
		if len(t.cells) > 0 || t.equalRate {
			left = append(left, t)
		}
	}
	return left
}
