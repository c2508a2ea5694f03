package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loomlab/clock"
	"loomlab/lab/record"
)

// The flight recorder (--jfr): after the last round of one rung, in the first
// fork of each SUT that runs on a JVM, the rung is measured once more with a
// recording. Both windows are of one warm process, one right after the other, so
// their difference is what the recorder costs.

const (
	recordingName = "loomlab"
	jfrDepth      = 64 // frames of a stack: what the recorder itself keeps by default
	jfrPatience   = 2 * time.Minute
	// socketEvents bounds the socket waits that are read: a server that blocks a
	// thread for each request has one for each.
	socketEvents = 100_000
)

// applyJFR puts the rung of --jfr into the experiment, after the ladder is settled.
func (o *Options) applyJFR(e *record.Experiment) error {
	if o.JFR != nil {
		e.JFR = *o.JFR
		rungs := connectionRungs(e)
		switch {
		case len(rungs) == 0:
			return fmt.Errorf("--jfr: %s has no rung of connections to record", e.Name)
		case e.JFR == 0:
			e.JFR = slices.Max(rungs)
		case !slices.Contains(rungs, e.JFR):
			return fmt.Errorf("--jfr=%d: no rung of the ladder, which has %s", e.JFR, joinInts(rungs))
		}
	}
	if !slices.Contains(connectionRungs(e), e.JFR) {
		e.JFR = 0 // the experiment's own rung, which --connections or --quick left out
	}
	return nil
}

// connectionRungs are the closed-loop rungs of all ladders.
func connectionRungs(e *record.Experiment) []int {
	var rungs []int
	for _, r := range e.Rungs() {
		if r.Rate == 0 {
			rungs = append(rungs, r.Connections)
		}
	}
	return rungs
}

// recordsAfter tells whether a cell is the one after which the recording is made.
func (f *fork) recordsAfter(key CellKey) bool {
	e := &f.plan.Experiment
	return e.JFR > 0 && key.Rung() == (record.Rung{Connections: e.JFR}) && key.Round == f.load().Rounds && key.Fork == 1 && f.broken == "" && f.sut.Kind != KindStandin
}

// flight measures the rung of key once more with a recording, and keeps what it
// shows. without is the cell before. Only a record that cannot be written is an error.
func (f *fork) flight(ctx context.Context, key CellKey, without record.Cell) error {
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
func (f *fork) recordFlight(ctx context.Context, key CellKey, r *record.Recording) error {
	jvm, reason := f.tools()
	switch {
	case reason != "":
		return fmt.Errorf("%w: %s", errNoRecorder, reason)
	case jvm.jfr == "":
		return fmt.Errorf("%w: no jfr tool beside %s", errNoRecorder, jvm.jcmd)
	}
	file, err := filepath.Abs(filepath.Join(f.lab.dir.Path(), r.File))
	if err != nil {
		return err
	}
	if _, err := jvm.ask(ctx, "JFR.start", "name="+recordingName, "settings=profile"); err != nil {
		return err
	}
	key.Round = 0 // its series is its own
	cell := f.measure(ctx, job{CellKey: key})
	// The recorder must not run on into the cells that follow, whatever happened.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), jcmdPatience)
	defer cancel()
	answer, err := jvm.ask(stop, "JFR.stop", "name="+recordingName, "filename="+jcmdWord(file))
	if err != nil {
		return err
	}
	if _, missing := os.Stat(file); missing != nil {
		return fmt.Errorf("the JVM wrote no recording: %s", printable(firstLine(afterPID(answer))))
	}
	r.Cell, r.With, r.Span = &cell, record.CostOf(&cell), f.span
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if cell.Status != "ok" {
		r.Unsure = append(r.Unsure, "the window with the recorder is "+cell.Status+": "+cell.Reason)
	}
	return f.readFlight(ctx, jvm, file, r)
}

// jcmdWord quotes a path for the arguments of a diagnostic command.
func jcmdWord(path string) string {
	if strings.ContainsAny(path, " ,") {
		return `"` + path + `"`
	}
	return path
}

// readFlight asks the JDK's own jfr tool what the recording holds.
func (f *fork) readFlight(ctx context.Context, jvm jvmTools, file string, r *record.Recording) error {
	f.lab.observer.Phase(r.SUT + " · reading the flight recording")
	ctx, cancel := context.WithTimeout(ctx, jfrPatience)
	defer cancel()
	var summary bytes.Buffer
	if err := jfr(ctx, jvm, func(out io.Reader) error {
		_, err := summary.ReadFrom(io.LimitReader(out, 1<<20))
		return err
	}, "summary", file); err != nil {
		return err
	}
	r.Events = parseJFRSummary(summary.String())
	from, to := clock.FromSeconds(r.Span[0]).Wall(), clock.FromSeconds(r.Span[1]).Wall()
	found := newFindings(from, to)
	take := func(out io.Reader) error {
		return eachJFREvent(out, func(e jfrEvent) error { found.add(e); return nil })
	}
	if err := jfr(ctx, jvm, take, "print", "--json", "--stack-depth", fmt.Sprint(jfrDepth),
		"--events", "ExecutionSample,ObjectAllocationSample,VirtualThreadPinned,GCPhasePause,JavaThreadStatistics", file); err != nil {
		return err
	}
	sockets := 0
	capped := func(out io.Reader) error {
		return eachJFREvent(out, func(e jfrEvent) error {
			found.add(e)
			if sockets++; sockets == socketEvents {
				return errEnough
			}
			return nil
		})
	}
	if err := jfr(ctx, jvm, capped, "print", "--json", "--stack-depth", "1", "--events", "SocketRead,SocketWrite", file); err != nil {
		return err
	}
	if sockets == socketEvents {
		r.Unsure = append(r.Unsure, fmt.Sprintf("only the first %d waits for sockets were read", socketEvents))
	}
	found.into(r)
	return f.drawFlight(found, r)
}

// jfr runs the tool and hands its output to read, which may leave before the end.
func jfr(ctx context.Context, jvm jvmTools, read func(io.Reader) error, words ...string) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := toolCommand(running, jvm.jfr, append([]string{"-J-XX:+UseSerialGC", "-J-XX:-UsePerfData"}, words...)...)
	cmd.Env = withoutJavaOptions(os.Environ())
	var said opening
	cmd.Stderr = &said
	r, w := io.Pipe()
	cmd.Stdout = w
	done := make(chan error, 1)
	go func() {
		err := read(r)
		if err != nil {
			cancel()
		}
		_, _ = io.Copy(io.Discard, r) // an end that read had no use for
		done <- err
	}()
	err := runTool(cmd)
	w.Close()
	if readErr := <-done; readErr != nil {
		err = readErr
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("jfr %s did not end within %v", words[0], jfrPatience)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("jfr %s failed: %w: %s", words[0], err, printable(firstLine(said.String())))
}

// drawFlight writes the flame graphs beside the recording.
func (f *fork) drawFlight(found *findings, r *record.Recording) error {
	base := strings.TrimSuffix(r.File, ".jfr")
	for _, graph := range []struct {
		flame *flame
		file  *string
		name  string
		title string
		unit  func(int64) string
	}{
		{found.cpu, &r.FlameGraph, base + "-cpu.svg", "CPU", func(n int64) string { return count(int(n), "sample") }},
		{found.allocated, &r.AllocationGraph, base + "-alloc.svg", "allocation", func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }},
	} {
		if graph.flame.root.weight == 0 {
			continue
		}
		file, err := os.OpenFile(filepath.Join(f.lab.dir.Path(), graph.name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		title := fmt.Sprintf("%s at %d connections, %s: %s", r.SUT, r.Connections, graph.title, graph.unit(graph.flame.root.weight))
		if err := errors.Join(graph.flame.writeSVG(file, title, graph.unit), file.Close()); err != nil {
			return err
		}
		*graph.file = graph.name
	}
	return nil
}
