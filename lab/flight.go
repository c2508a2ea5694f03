package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"loomlab/lab/jvm"
	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// The flight recorder (--jfr): after the last round of one rung, in the first
// fork of each SUT that runs on a JVM, the rung is measured once more with a
// recording. Both windows are of one warm process, one right after the other, so
// their difference is what the recorder costs.

// recordsAfter tells whether a cell is the one after which the recording is made.
func (f *fork) recordsAfter(key plan.CellKey) bool {
	e := &f.plan.Experiment
	return e.JFR > 0 && key.Rung() == (record.Rung{Connections: e.JFR}) && key.Round == f.load().Rounds && key.Fork == 1 && f.broken == "" && f.sut.Kind != record.KindStandin
}

// flight measures the rung of key once more with a recording, and keeps what it
// shows. without is the cell before. Only a record that cannot be written is an error.
func (f *fork) flight(ctx context.Context, key plan.CellKey, without record.Cell) error {
	if ctx.Err() != nil {
		return nil
	}
	name := fmt.Sprintf("%s-%d.jfr", key.SUT, key.Connections)
	r := record.Recording{SUT: key.SUT, Fork: key.Fork, Connections: key.Connections, File: name, Without: record.CostOf(&without),
		CPU: []record.HotMethod{}, Allocation: []record.HotMethod{}, Sockets: []record.SocketWait{}, Events: map[string]int64{}, Unsure: []string{}}
	f.lab.observer.Phase(fmt.Sprintf("%s · %d connections · with the flight recorder", key.SUT, key.Connections))
	if err := f.recordFlight(ctx, key, &r); err != nil {
		r.Failed = err.Error()
		if !errors.Is(err, errNoRecorder) {
			f.lab.observer.Warn(fmt.Sprintf("%s: no flight recording: %v", key.SUT, err))
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	f.notice(f.last, "with the flight recorder "+job{CellKey: key}.where())
	f.lab.run.Recordings = append(f.lab.run.Recordings, r)
	return f.lab.dir.WriteRun(*f.lab.run)
}

// errNoRecorder says that the SUT cannot be recorded at all.
var errNoRecorder = errors.New("no flight recorder")

// recordFlight fills r.
func (f *fork) recordFlight(ctx context.Context, key plan.CellKey, r *record.Recording) error {
	sut, reason := f.insides(ctx)
	if reason != "" {
		return fmt.Errorf("%w: %s", errNoRecorder, reason)
	}
	jfr, reason := sut.jfr(ctx)
	if reason != "" {
		return fmt.Errorf("%w: %s", errNoRecorder, reason)
	}
	if err := jvm.StartRecording(ctx, sut); err != nil {
		return err
	}
	key.Round = 0 // its series is its own
	cell := f.measure(ctx, job{CellKey: key})
	// The recorder must not run on into the cells that follow, whatever happened.
	answer, err := jvm.StopRecording(context.WithoutCancel(ctx), sut, sut.path(r.File))
	if err != nil {
		return err
	}
	if err := sut.fetch(ctx, r.File); err != nil {
		return fmt.Errorf("the JVM wrote no recording (%s): %w", answer, err)
	}
	r.Cell, r.With, r.Span = &cell, record.CostOf(&cell), f.span
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if cell.Status != "ok" {
		r.Unsure = append(r.Unsure, "the window with the recorder is "+cell.Status+": "+cell.Reason)
	}
	f.lab.observer.Phase(r.SUT + " · reading the flight recording")
	return jvm.ReadRecording(ctx, jfr, filepath.Join(f.lab.dir.Path(), r.File), r)
}
