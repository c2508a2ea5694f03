package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"loomlab/lab/jvm"
	"loomlab/lab/plan"
	"loomlab/lab/record"
	"loomlab/probes"
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
	tools, reason := f.tools()
	switch {
	case reason != "":
		return fmt.Errorf("%w: %s", errNoRecorder, reason)
	case tools.JFR == "":
		return fmt.Errorf("%w: no jfr tool beside %s", errNoRecorder, tools.Jcmd)
	}
	file, err := filepath.Abs(filepath.Join(f.lab.dir.Path(), r.File))
	if err != nil {
		return err
	}
	if err := tools.StartRecording(ctx); err != nil {
		return err
	}
	key.Round = 0 // its series is its own
	cell := f.measure(ctx, job{CellKey: key})
	// The recorder must not run on into the cells that follow, whatever happened.
	if err := tools.StopRecording(context.WithoutCancel(ctx), file); err != nil {
		return err
	}
	r.Cell, r.With, r.Span = &cell, record.CostOf(&cell), f.span
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if cell.Status != "ok" {
		r.Unsure = append(r.Unsure, "the window with the recorder is "+cell.Status+": "+cell.Reason)
	}
	f.lab.observer.Phase(r.SUT + " · reading the flight recording")
	return tools.ReadRecording(ctx, file, r)
}

// tools finds the SUT's JVM and its jcmd; reason says why there is none.
func (f *fork) tools() (t jvm.Tools, reason string) {
	if f.appTree == nil {
		return t, "the SUT is not a child of the lab"
	}
	home, pid := f.sut.JDKHome, 0
	facts, err := f.appTree.JVM()
	switch {
	case err == nil:
		pid = facts.PID
		if facts.Home != "" {
			home = facts.Home
		}
	case err.Error() == probes.NoJVM:
		return t, err.Error()
	default: // perf data is off or cannot be read: it is the SUT's own command, if that is java
		if pid = f.javaPID(); pid == 0 {
			return t, err.Error()
		}
	}
	return jvm.ToolsOf(pid, home)
}

// javaPID is the SUT's first process if its command is java, else 0.
func (f *fork) javaPID() int {
	if f.app != nil && len(f.app.argv) > 0 && filepath.Base(f.app.argv[0]) == "java" {
		return f.app.pid
	}
	return 0
}
