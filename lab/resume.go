package lab

import (
	"slices"

	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// takeUp enters what an earlier part of the run has measured.
func (l *lab) takeUp(before []record.Cell) {
	l.attempts = map[plan.KeyOf]int{}
	for i := range before {
		c := &before[i]
		if c.Status == "interrupted" {
			l.attempts[l.plan.KeyOf(c)] = max(1, c.Attempt)
			continue
		}
		l.remember(*c)
	}
}

// startedBefore tells whether an earlier process of a fork is in the record.
func (l *lab) startedBefore(t plan.Turn) bool {
	rung := l.plan.OnlyRung(t)
	return l.plan.Before != nil && slices.ContainsFunc(l.run.Starts, func(s record.Start) bool {
		return s.SUT == t.SUT.Name && s.Fork == t.Fork && s.Connections == rung
	})
}

// calibrated tells whether every rung that fits has been calibrated already.
func (l *lab) calibrated() bool {
	for _, connections := range l.plan.CalibrationLoad().Connections {
		if l.plan.Fits(connections) && l.calibration(connections) == nil {
			return false
		}
	}
	return len(l.run.Calibration) > 0
}
