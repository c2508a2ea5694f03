package verdict

import (
	"math"
	"testing"
	"time"

	"loomlab/lab/record"
)

func TestCeilings(t *testing.T) {
	calls := func(n float64) *float64 { return &n }
	for _, tc := range []struct {
		name        string
		connections int
		limits      record.Limits
		calls       *float64
		delay       time.Duration
		want        []record.Ceiling
	}{
		{"workers bind", 1000, record.Limits{Workers: 200, MaxConnections: 8192}, calls(1), 100 * time.Millisecond, []record.Ceiling{
			{Kind: "workers", PerS: 2000, Arithmetic: "200 worker threads ÷ 0.1 s = 2000/s"},
			{Kind: "connections", PerS: 10000, Arithmetic: "1000 connections ÷ 0.1 s = 10000/s"}}},
		{"client-limited", 100, record.Limits{Workers: 200}, calls(1), 100 * time.Millisecond, []record.Ceiling{
			{Kind: "connections", PerS: 1000, Arithmetic: "100 connections ÷ 0.1 s = 1000/s"},
			{Kind: "workers", PerS: 2000, Arithmetic: "200 worker threads ÷ 0.1 s = 2000/s"}}},
		{"measured delay", 10, record.Limits{}, calls(1), 100300 * time.Microsecond, []record.Ceiling{
			{Kind: "connections", PerS: 10 / 0.1003, Arithmetic: "10 connections ÷ 0.1003 s = 99.7/s"}}},
		{"two calls, a pool", 3000, record.Limits{ClientPool: 500}, calls(2), 140 * time.Millisecond, []record.Ceiling{
			{Kind: "client_pool", PerS: 500 / 0.28, Arithmetic: "500 pooled connections to the downstream ÷ (2 × 0.14 s) = 1786/s"},
			{Kind: "connections", PerS: 3000 / 0.28, Arithmetic: "3000 connections ÷ (2 × 0.14 s) = 10714/s"}}},
		{"more connections than the server takes", 10000, record.Limits{MaxConnections: 8192}, calls(1), time.Second, []record.Ceiling{
			{Kind: "max_connections", PerS: 8192, Arithmetic: "8192 connections that the server accepts ÷ 1 s = 8192/s"},
			{Kind: "connections", PerS: 10000, Arithmetic: "10000 connections ÷ 1 s = 10000/s"}}},
		{"no downstream call", 100, record.Limits{Workers: 200}, calls(0), time.Second, nil},
		{"calls not known", 100, record.Limits{Workers: 200}, nil, time.Second, nil},
		{"sleeps by itself", 200, record.Limits{Workers: 200, Held: record.Duration(50 * time.Millisecond)}, nil, 0, []record.Ceiling{
			{Kind: "connections", PerS: 4000, Arithmetic: "200 connections ÷ 0.05 s = 4000/s"},
			{Kind: "workers", PerS: 4000, Arithmetic: "200 worker threads ÷ 0.05 s = 4000/s"}}},
		{"sleeps and calls", 30, record.Limits{ClientPool: 10, Held: record.Duration(50 * time.Millisecond)}, calls(1), 100 * time.Millisecond, []record.Ceiling{
			{Kind: "client_pool", PerS: 100, Arithmetic: "10 pooled connections to the downstream ÷ 0.1 s = 100/s"},
			{Kind: "connections", PerS: 200, Arithmetic: "30 connections ÷ (0.05 s + 0.1 s) = 200/s"}}},
		{"open loop", 0, record.Limits{Workers: 200}, calls(1), 100 * time.Millisecond, []record.Ceiling{
			{Kind: "workers", PerS: 2000, Arithmetic: "200 worker threads ÷ 0.1 s = 2000/s"}}},
		{"no delay", 100, record.Limits{Workers: 200}, calls(1), 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Ceilings(tc.connections, tc.limits, tc.calls, tc.delay)
			if len(got) != len(tc.want) {
				t.Fatalf("got %+v", got)
			}
			for i, w := range tc.want {
				g := got[i]
				if g.Kind != w.Kind || math.Abs(g.PerS-w.PerS) > 1e-6 || g.Arithmetic != w.Arithmetic {
					t.Errorf("%d: got %+v\nwant %+v", i, g, w)
				}
			}
		})
	}
}

func TestMeanLatencyAtLeast(t *testing.T) {
	one := 1.0
	ceilings := Ceilings(3000, record.Limits{Workers: 200}, &one, 100*time.Millisecond)
	if got := MeanLatencyAtLeast(3000, ceilings); got != 1500*time.Millisecond {
		t.Errorf("3000 connections on 200 workers: %v", got)
	}
	if got := MeanLatencyAtLeast(3000, nil); got != 0 {
		t.Errorf("no ceiling: %v", got)
	}
}
