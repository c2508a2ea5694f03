package record

import (
	"fmt"
	"testing"
	"time"

	"loomlab/loadgen"
)

func TestRegimes(t *testing.T) {
	cell := func(kind string, perS float64, ceilings ...Ceiling) *Cell {
		c := &Cell{Status: "ok", Load: &loadgen.Result{ThroughputPerS: &perS}, Ceilings: ceilings}
		if kind != "" {
			c.Verdict = &Verdict{Kind: kind}
		}
		return c
	}
	check := func(want string, cells ...*Cell) {
		t.Helper()
		if got, why := RegimeOf(cells); got != want || why == "" {
			t.Errorf("regime %q (%s), want %q", got, why, want)
		}
	}
	connections, workers := Ceiling{Kind: "connections", PerS: 1000, Arithmetic: "100 ÷ 0.1 s"}, Ceiling{Kind: "workers", PerS: 2000, Arithmetic: "200 ÷ 0.1 s"}
	check(RegimeClient, cell(VerdictClientLimited, 10))
	check(RegimePool, cell(VerdictWorkerThreads, 10))
	check(RegimeCPU, cell(VerdictCPU, 10), cell(VerdictCPU, 10), cell(VerdictClientLimited, 10))
	check(RegimeNone, cell(VerdictLoadEngine, 990, connections))
	check(RegimeClient, cell("", 985, connections, workers))
	check(RegimePool, cell(VerdictUnknown, 1990, Ceiling{Kind: "connections", PerS: 10000}, workers))
	check(RegimeUncapped, cell("", 500, workers, connections), cell("", 10))
	check(RegimeNone, &Cell{Status: "failed"})
	check(RegimeClient, cell(VerdictCPU, 1), cell(VerdictClientLimited, 1)) // an even vote allows less
}

func TestDelayOfARequest(t *testing.T) {
	delay := Duration(100 * time.Millisecond)
	round := func(answered, ok int64, lateMS float64) *Cell {
		return &Cell{Status: "ok", Load: &loadgen.Result{Requests: loadgen.Requests{OK: ok}},
			Downstream: &DownstreamStats{Answered: answered, LatenessMS: &Latency{Mean: lateMS}}}
	}
	check := func(want string, sut SUT, rounds ...*Cell) {
		t.Helper()
		ms, err := DelayMS(&sut, rounds)
		got := fmt.Sprintf("%.2f", ms)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	two := 2.0
	check("200.60", SUT{Calls: &two, Downstream: &Downstream{Delay: delay}}, round(0, 0, 0.2), round(0, 0, 0.4))
	check("100.30", SUT{Downstream: &Downstream{Delay: delay}}, round(985, 980, 0.3))
	check("100.00", SUT{Downstream: &Downstream{Delay: delay}}, round(985, 980, 0))
	check("a request calls the downstream 1.50 times, which is no whole number", SUT{Downstream: &Downstream{Delay: delay}}, round(1500, 1000, 0))
	check("how often a request calls the downstream is neither declared nor measured", SUT{Downstream: &Downstream{Delay: delay}})
	check("no downstream with a delay", SUT{})
	check("the downstream's delay varies", SUT{Downstream: &Downstream{Delay: delay, Jitter: "5ms"}})
}
