package lab

import (
	"loomlab/lab/record"
	"slices"
)

// takeUp enters what an earlier part of the run has measured.
func (l *lab) takeUp(before []record.Cell) {
	l.attempts = map[keyOf]int{}
	for i := range before {
		c := &before[i]
		if c.Status == "interrupted" {
			l.attempts[l.plan.keyOf(c)] = max(1, c.Attempt)
			continue
		}
		l.remember(*c)
	}
}

// startedBefore tells whether an earlier process of a fork is in the record.
func (l *lab) startedBefore(t turn) bool {
	rung := l.plan.onlyRung(t)
	return l.plan.Before != nil && slices.ContainsFunc(l.run.Starts, func(s record.Start) bool {
		return s.SUT == t.sut.Name && s.Fork == t.fork && s.Connections == rung
	})
}

// calibrated tells whether every rung that fits has been calibrated already.
func (l *lab) calibrated() bool {
	for _, connections := range l.plan.calibrationLoad().Connections {
		if l.plan.fits(connections) && l.calibration(connections) == nil {
			return false
		}
	}
	return len(l.run.Calibration) > 0
}
