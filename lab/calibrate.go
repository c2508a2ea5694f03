package lab

import (
	"context"
	"fmt"
	"slices"

	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// calibrate measures the engine straight against the downstream at every rung,
// once a run and before any SUT: the lab's own ceiling, and what it costs by
// itself. It needs no warm-up beyond the lead-in: nothing here is compiled while
// it runs. Without a downstream there is nothing to calibrate against, and a
// calibration that fails stops no run.
func (l *lab) calibrate(ctx context.Context) error {
	if !l.plan.Calibrates() || l.calibrated() || !slices.ContainsFunc(l.plan.SUTs, l.plan.Startable) {
		return nil
	}
	bare := *l.plan
	bare.Experiment.Load = bare.CalibrationLoad()
	f := l.newFork(bare.Bare(), 1, func(record.Point) {}) // the series is the SUTs'
	defer f.close()
	f.plan, f.bare = &bare, true
	err := f.openNetns()
	f.watch.on(f.sites())
	if err == nil {
		err = f.startDownstream(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			l.observer.Warn(fmt.Sprintf("no calibration: %v", err))
		}
		return nil
	}
	f.url, f.prober = f.downURL, f.downProber
	l.run.Calibration = nil // of an earlier part of the run that was cut short
	for _, connections := range bare.Experiment.Load.Connections {
		if !l.plan.Fits(connections) {
			continue
		}
		cell := f.measure(ctx, job{CellKey: plan.CellKey{SUT: record.Calibration, Fork: 1, Connections: connections, Round: 1}})
		if ctx.Err() != nil {
			return nil
		}
		if cell.Status != "ok" {
			l.observer.Warn(fmt.Sprintf("calibration at %d connections: %s", connections, cell.Reason))
		}
		l.run.Calibration = append(l.run.Calibration, cell)
	}
	return l.dir.WriteRun(*l.run)
}

// calibration is the cell of a rung; nil without a good one.
func (l *lab) calibration(connections int) *record.Cell {
	for i := range l.run.Calibration {
		if c := &l.run.Calibration[i]; c.Connections == connections && c.Status == "ok" {
			return c
		}
	}
	return nil
}
