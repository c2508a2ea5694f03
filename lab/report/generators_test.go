package report

import (
	"strings"
	"testing"

	"loomlab/lab/record"
)

func TestGeneratorsAreNamed(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	shared := func(spread *float64, places ...string) record.Cell {
		l := &record.LoadResult{StartSpreadMS: spread}
		for i, place := range places {
			l.Generators = append(l.Generators, record.LoadGenerator{Index: i + 1, Place: place, Connections: 1 + i, Seconds: 2, ThroughputPerS: v(50),
				LatencyMS: &record.Latency{P99: 103}, Engine: &record.LoadEngine{CPUUserS: 0.5, CPUSystemS: 0.5}, Requests: record.LoadRequests{OK: 100}})
		}
		return record.Cell{SUT: "a", Connections: 3, Status: "ok", Load: l}
	}
	saved := &record.Saved{Cells: []record.Cell{{Load: &record.LoadResult{}}, {}}}
	if got := generators(saved); got != "" {
		t.Errorf("one alone: %q", got)
	}
	saved.Cells = append(saved.Cells, shared(v(0.21), "local", "cpus:1"), shared(v(1.234), "local", "cpus:1"))
	if got, want := generators(saved), "load by 2 generators (local, cpus:1), begun within 1.23 ms of each other"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	saved.Cells = append(saved.Cells, shared(nil, "a", "b", "c"))
	if got, want := generators(saved), "load by 2 generators (local, cpus:1) or 3 generators (a, b, c), begun within 1.23 ms of each other (not known of 1 window)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	saved = &record.Saved{Cells: []record.Cell{shared(v(0.2), "local", "cpus:1")}}
	saved.Run.Experiment.SUTs = []record.SUT{{Name: "a"}}
	var out strings.Builder
	if err := Explain(&out, saved, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := "generators: 1 connection at local: 100 answers, 50/s, p99 103.0 ms, 0.50 cores; 2 connections at cpus:1: 100 answers"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}
