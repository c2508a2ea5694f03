package lab

import (
	"context"
	"math"

	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// The equal-rate cell (METHOD rule 9): p99 in a closed loop restates throughput,
// so tails are compared where every SUT is offered the same rate, which the
// weakest can bear.
//
// The first fork measures what that is; from then on the rate is fixed, and each
// later fork ends its ladder with one open-loop window at it, in the process
// that is running and warm. So several forks pay a window a SUT and no start.
// A single fork knows the rate only when its last SUT has finished: there each
// SUT starts once more, and only where the experiment asks for it.

// equalRateShare of the weakest SUT's throughput is what all are offered.
const equalRateShare = 0.70

// figure is what the equal rate is computed from.
type figure struct {
	sut         string
	fork        int
	connections int
	throughput  float64 // 0 when the cell has none
}

func throughput(c record.Cell) float64 {
	if c.Status != "ok" || c.Load == nil || c.Load.ThroughputPerS == nil || c.Rate > 0 {
		return 0
	}
	return *c.Load.ThroughputPerS
}

// equalRateOf is 70 % of the weakest SUT's mean throughput in the first fork, on
// the highest rung that every SUT with any figure has mastered; 0 without one,
// and with one SUT alone, which has nobody to be compared with.
func equalRateOf(measured []figure) float64 {
	type total struct{ sum, n float64 }
	rungs := map[int]map[string]total{}
	suts := map[string]bool{}
	for _, m := range measured {
		if m.fork != 1 || m.throughput == 0 {
			continue
		}
		suts[m.sut] = true
		if rungs[m.connections] == nil {
			rungs[m.connections] = map[string]total{}
		}
		t := rungs[m.connections][m.sut]
		rungs[m.connections][m.sut] = total{t.sum + m.throughput, t.n + 1}
	}
	top := 0
	for connections, by := range rungs {
		if len(by) == len(suts) {
			top = max(top, connections)
		}
	}
	if top == 0 || len(suts) < 2 {
		return 0
	}
	weakest := math.Inf(1)
	for _, t := range rungs[top] {
		weakest = min(weakest, t.sum/t.n)
	}
	return max(1, math.Floor(weakest*equalRateShare))
}

// equalRate measures the open-loop window of a fork.
func (f *fork) equalRate(ctx context.Context) error {
	l := f.lab
	if l.rate == 0 {
		l.rate = equalRateOf(l.measured)
	}
	if l.rate == 0 {
		return nil
	}
	// A process that has climbed the ladder is warm; only a fresh one has to be warmed up.
	return f.one(ctx, job{CellKey: plan.CellKey{SUT: f.sut.Name, Fork: f.n, Round: 1, Rate: l.rate}, warm: f.cold && f.warms()})
}
