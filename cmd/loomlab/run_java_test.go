package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"loomlab/lab/java"
	"loomlab/lab/record"
)

// looksInside checks what a run with --memory and --jfr saw of its JVM.
func looksInside(t *testing.T, run *record.Run, cell *record.Cell) {
	t.Helper()
	start := run.Starts[0]
	if len(start.JVM.Instruments) != 2 || len(start.JVM.Flags) != 3 {
		t.Errorf("flags %q, instruments %q", start.JVM.Flags, start.JVM.Instruments)
	}
	if cell.Pauses == nil || cell.Pauses.File == "" {
		t.Errorf("pauses: %+v, %v", cell.Pauses, cell.Unavailable)
	}
	if m := start.Memory; m == nil || m.Part(record.MemoryHeap) < 10<<20 || m.Part(record.MemoryMetaspace) < 10<<20 || m.HeapCommittedBytes != 256<<20 {
		t.Errorf("idle memory: %+v", m)
	}
	if cell.Memory == nil {
		t.Errorf("memory: %v", cell.Unavailable)
	} else if after := cell.Memory.After; after.RSSBytes < 100<<20 || after.RSSBytes > 1<<30 || cell.Memory.PeakBytes == nil {
		t.Errorf("memory: %+v", after)
	}
	if len(run.Recordings) != 1 {
		t.Fatalf("recordings: %+v", run.Recordings)
	}
	r := run.Recordings[0]
	if r.Failed != "" || r.Cell == nil || r.With == nil || r.Without == nil || r.Pinned == nil || len(r.Events) < 20 || r.Connections != 20 {
		t.Errorf("recording: %+v", r)
	}
}

// TestRunMeasuresARealApp is the whole way once, with a JVM: build or find the
// jars, start, measure a window with every probe, stop.
func TestRunMeasuresARealApp(t *testing.T) {
	t.Parallel()
	skip := t.Skipf
	if os.Getenv("LOOMLAB_REQUIRE_JDK") == "1" {
		skip = t.Fatalf
	}
	jdks := findJDKs(t.Context())
	compiler, err := compilerFor(t.Context(), jdks, "")
	if err != nil {
		skip("SKIPPED: no run of a real app: %v", err)
	}
	if _, cached := java.CachedApps(java.BuildOptions{JDK: compiler}); !cached && !haveMaven() {
		skip("SKIPPED: no run of a real app: there is no Maven and no jar")
	}
	p := startRun(t, "article", "--sut", "virtual", "--connections", "20", "--duration", "1s", "--memory", "--jfr")
	status := p.end(5 * time.Minute) // it may have to build the jars first
	if status == exitUsage && strings.Contains(p.stderr.String(), "Could not transfer artifact") {
		skip("SKIPPED: no run of a real app: Maven has no network")
	}
	doc := p.document()
	if status != exitOK || statuses(doc.Cells) != "ok" || len(doc.Run.Starts) != 1 {
		t.Fatalf("exit status %d, cells %q", status, statuses(doc.Cells))
	}
	start, cell := doc.Run.Starts[0], doc.Cells[0]
	if start.JVM == nil || start.JVM.Collector != "G1" || start.JVM.Info["client_virtual"] != "true" || start.IdleRSSBytes == nil {
		t.Errorf("start: %+v", start)
	}
	if start.FirstRequest == nil || start.FirstRequest.Body != "ok" {
		t.Errorf("first request: %+v", start.FirstRequest)
	}
	sut := cell.Probes["sut"]
	if sut == nil || sut.HeapCommittedBytes == nil || sut.CPUUSPerRequest == nil || sut.RSSBytes == nil {
		t.Fatalf("probes: %+v", sut)
	}
	if *sut.CPUUSPerRequest <= 0 || sut.RSSBytes.End < 50<<20 || cell.Exceptions == nil || len(cell.Exceptions) > 0 {
		t.Errorf("CPU %v µs a request, RSS %d, exceptions %v", *sut.CPUUSPerRequest, sut.RSSBytes.End, cell.Exceptions)
	}
	looksInside(t, &doc.Run, &cell)
	if strings.Contains(p.stderr.String(), "\tat ") {
		t.Errorf("a stack trace")
	}
}
