package lab

import (
	"slices"
	"testing"
	"time"

	"loomlab/lab/record"
	"loomlab/probes"
)

// sound is a cell that no rule doubts: 1000 connections, 100 ms, 10 s.
func sound() record.Cell {
	reconnects, slots, lag, jit := int64(0), 10_000.0, 0.3, 0.01
	return record.Cell{
		Connections: 1000, Status: "ok",
		Load: &record.LoadResult{
			Mode: "closed", Seconds: 10, SlotSeconds: &slots,
			Connections: record.LoadConnections{Requested: 1000, Established: 1000, Answered: 1000, OpenedInWindow: &reconnects},
			Requests:    record.LoadRequests{OK: 99_000},
			LatencyMS:   &record.Latency{Min: 100, Mean: 101, P99: 110, Max: 130},
			Engine:      &record.LoadEngine{LagP99MS: &lag},
		},
		Downstream: &record.DownstreamStats{Answered: 99_000, LatenessMS: &record.Latency{P99: 0.4}},
		Probes:     map[string]*probes.Window{"sut": {JITSeconds: &jit}},
		Warmup:     &record.CellWarmup{Seconds: 8, Steady: true},
		Settle:     &record.Settle{Seconds: 1, Quiet: true},
	}
}

func TestDoubts(t *testing.T) {
	tests := []struct {
		name string
		harm func(*record.Cell)
		want []string
	}{
		{"sound", func(*record.Cell) {}, nil},
		{"as many answers as the delay allows", func(c *record.Cell) { c.Load.Requests.OK, c.Downstream.Answered = 101_000, 101_000 }, nil},
		{"more than the delay allows", func(c *record.Cell) { c.Load.Requests.OK, c.Downstream.Answered = 101_001, 101_001 }, []string{"impossible"}},
		{"more than the downstream served", func(c *record.Cell) { c.Downstream.Answered = 97_999 }, []string{"impossible"}},
		{"mean above max", func(c *record.Cell) { c.Load.LatencyMS.Max = 100.5 }, []string{"impossible"}},
		{"slots that were lost", func(c *record.Cell) { s := 9_890.0; c.Load.SlotSeconds = &s }, []string{"impossible"}},
		{"slots within 1 %", func(c *record.Cell) { s := 9_910.0; c.Load.SlotSeconds = &s }, nil},
		{"silent connections", func(c *record.Cell) { c.Load.Connections.Answered = 999 }, []string{"fewer-connections"}},
		{"0.1 % errors", func(c *record.Cell) { c.Load.Requests.Non2xx = 99 }, nil},
		{"more errors", func(c *record.Cell) { c.Load.Requests.Errors.Reset = 110 }, []string{"errors"}},
		{"warm-up cut", func(c *record.Cell) { c.Warmup.Steady = false }, []string{"not-steady"}},
		{"no warm-up", func(c *record.Cell) { *c.Warmup = record.CellWarmup{} }, nil},
		{"compiler at work", func(c *record.Cell) { j := 0.21; c.Probes["sut"].JITSeconds = &j }, []string{"jit-busy"}},
		{"reconnects", func(c *record.Cell) { n := int64(11); c.Load.Connections.OpenedInWindow = &n }, []string{"connections-renewed"}},
		{"not settled", func(c *record.Cell) { c.Settle.Quiet = false }, []string{"not-settled"}},
		{"late engine", func(c *record.Cell) { l := 5.1; c.Load.Engine.LagP99MS = &l }, []string{"engine-late"}},
		{"late downstream", func(c *record.Cell) { c.Downstream.LatenessMS.P99 = 5.1 }, []string{"downstream-late"}},
		{"heavy tail", func(c *record.Cell) { c.Load.LatencyMS.P99 = 100.9 }, []string{"heavy-tail"}},
		{"nothing measured", func(c *record.Cell) { c.Load = nil }, nil},
	}
	one := 1.0
	for _, test := range tests {
		c := sound()
		test.harm(&c)
		var got []string
		for _, d := range doubts(c, circumstances{delay: 100 * time.Millisecond, calls: &one}) {
			got = append(got, d.Kind)
			if d.Evidence == "" || d.Threshold == "" || d.Remedy == "" {
				t.Errorf("%s: doubt %q lacks evidence, threshold or remedy: %+v", test.name, d.Kind, d)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: doubts %v, want %v", test.name, got, test.want)
		}
	}
}
