package jvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"loomlab/clock"
	"loomlab/lab/phrase"
	"loomlab/lab/record"
	"loomlab/lab/tool"
)

const (
	recordingName = "loomlab"
	jfrDepth      = 64 // frames of a stack: what the recorder itself keeps by default
	jfrPatience   = 2 * time.Minute
	// socketEvents bounds the socket waits that are read: a server that blocks a
	// thread for each request has one for each.
	socketEvents = 100_000
)

// Asker sends a diagnostic command to a JVM, as jcmd does: the JVM's own [Tools], or
// somebody who has them.
type Asker interface {
	Ask(ctx context.Context, command ...string) (answer string, err error)
}

// StartRecording starts the flight recorder with the JDK's own settings "profile".
func StartRecording(ctx context.Context, jvm Asker) error {
	_, err := jvm.Ask(ctx, "JFR.start", "name="+recordingName, "settings=profile")
	return err
}

// StopRecording stops the recorder, which writes what it has into file, a path of the
// machine that the JVM is on. Its answer says why it did not.
func StopRecording(ctx context.Context, jvm Asker, file string) (answer string, err error) {
	answer, err = jvm.Ask(ctx, "JFR.stop", "name="+recordingName, "filename="+jcmdWord(file))
	return phrase.Printable(phrase.FirstLine(afterPID(answer))), err
}

// ReadRecording asks a JDK's jfr tool (its path) what the recording in file holds, puts what was
// found inside r.Span into r, and keeps stacks and flame graphs beside file.
func ReadRecording(ctx context.Context, jfr, file string, r *record.Recording) error {
	ctx, cancel := context.WithTimeout(ctx, jfrPatience)
	defer cancel()
	var summary bytes.Buffer
	if err := runJFR(ctx, jfr, func(out io.Reader) error {
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
	if err := runJFR(ctx, jfr, take, "print", "--json", "--stack-depth", fmt.Sprint(jfrDepth),
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
	if err := runJFR(ctx, jfr, capped, "print", "--json", "--stack-depth", "1", "--events", "SocketRead,SocketWrite", file); err != nil {
		return err
	}
	if sockets == socketEvents {
		r.Unsure = append(r.Unsure, fmt.Sprintf("only the first %d waits for sockets were read", socketEvents))
	}
	found.into(r)
	return found.keep(filepath.Dir(file), r)
}

// keep writes the stacks and the flame graphs into dir, and their names into r.
func (f *findings) keep(dir string, r *record.Recording) error {
	base := strings.TrimSuffix(r.File, ".jfr")
	for _, of := range []struct {
		stacks      *record.Stacks
		file, graph *string
		name, title string
		unit        func(int64) string
	}{
		{f.cpu, &r.CPUStacks, &r.FlameGraph, "-cpu", "CPU", func(n int64) string { return phrase.Count(int(n), "sample") }},
		{f.allocated, &r.AllocationStacks, &r.AllocationGraph, "-alloc", "allocation", func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }},
	} {
		if of.stacks.Weight == 0 {
			continue
		}
		title := fmt.Sprintf("%s at %d connections, %s: %s", r.SUT, r.Connections, of.title, of.unit(of.stacks.Weight))
		stacks, graph := base+of.name+".folded", base+of.name+".svg"
		if err := writeFile(filepath.Join(dir, stacks), of.stacks.Write); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, graph), func(w io.Writer) error { return drawFlames(w, of.stacks, title, of.unit) }); err != nil {
			return err
		}
		*of.file, *of.graph = stacks, graph
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// jcmdWord quotes a path for the arguments of a diagnostic command.
func jcmdWord(path string) string {
	if strings.ContainsAny(path, " ,") {
		return `"` + path + `"`
	}
	return path
}

// runJFR runs the jfr tool and hands its output to read, which may leave before the end.
func runJFR(ctx context.Context, jfr string, read func(io.Reader) error, words ...string) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := tool.Command(running, jfr, append([]string{"-J-XX:+UseSerialGC", "-J-XX:-UsePerfData"}, words...)...)
	cmd.Env = withoutJavaOptions(os.Environ())
	var said tool.Opening
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
	err := tool.Run(cmd)
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
	return fmt.Errorf("jfr %s failed: %w: %s", words[0], err, phrase.Printable(phrase.FirstLine(said.String())))
}
