package record

import (
	"fmt"
	"math"
	"slices"
)

// RegimeUncapped is the regime of cells whose throughput stays below every
// ceiling that is known, and whose cause nobody has named: it is the SUT's own.
const RegimeUncapped = "uncapped"

// reached is the share of a ceiling from which on the ceiling sets the throughput.
const reached = 0.95

// RegimeOf says what may be compared of the windows of one SUT on one rung: what
// most of their verdicts say, else what the ceilings do. why says how it is known.
func RegimeOf(cells []*Cell) (regime, why string) {
	votes := map[string]int{}
	reasons := map[string]string{}
	for _, c := range Measured(cells) {
		r, because := c.regime()
		votes[r]++
		if reasons[r] == "" {
			reasons[r] = because
		}
	}
	if len(votes) == 0 {
		return RegimeNone, "not measured"
	}
	// In this order an even vote goes to the regime that allows less.
	for _, r := range []string{RegimeNone, RegimeClient, RegimePool, RegimeCPU, RegimeUncapped} {
		if votes[r] > votes[regime] {
			regime = r
		}
	}
	return regime, reasons[regime]
}

func (c *Cell) regime() (regime, why string) {
	if v := c.Verdict; v != nil && v.Kind != VerdictUnknown && v.Kind != "" {
		return v.Regime(), v.Kind
	}
	if c.Load.ThroughputPerS == nil {
		return RegimeNone, "no throughput"
	}
	if len(c.Ceilings) == 0 {
		return RegimeUncapped, "no ceiling is known"
	}
	lowest := slices.MinFunc(c.Ceilings, func(a, b Ceiling) int {
		switch {
		case a.PerS < b.PerS:
			return -1
		case a.PerS > b.PerS:
			return 1
		}
		return 0
	})
	if *c.Load.ThroughputPerS < reached*lowest.PerS {
		return RegimeUncapped, "below every known ceiling"
	}
	if lowest.Kind == "connections" {
		return RegimeClient, lowest.Arithmetic
	}
	return RegimePool, lowest.Arithmetic
}

// P50MinusDelay is the name of the metric of [AddedLatency].
const P50MinusDelay = "p50_minus_delay_ms"

// AddedLatency is what a SUT adds to the median answer: p50 minus the time that
// its calls spend in the downstream, which delayMS gives by fork, in ms.
func AddedLatency(delayMS map[int]float64) Metric {
	return Metric{Name: P50MinusDelay, Label: "p50 minus delay", Unit: "ms", Better: "lower",
		read: func(c *Cell) *float64 {
			delay, ok := delayMS[c.Fork]
			if !ok || c.Load.LatencyMS == nil {
				return nil
			}
			added := c.Load.LatencyMS.P50 - delay
			return &added
		},
		sources: []string{"delay"}}
}

// DelayMS is the time that one request of sut spends in the downstream over
// windows of one fork: its calls times the delay as it was measured. The error
// says why it is not known.
func DelayMS(sut *SUT, rounds []*Cell) (float64, error) {
	switch d := sut.Downstream; {
	case d == nil || d.Delay <= 0:
		return 0, fmt.Errorf("no downstream with a delay")
	case d.Jitter != "" || len(d.Faults) > 0:
		return 0, fmt.Errorf("the downstream's delay varies")
	}
	calls, err := callsPerRequest(sut, rounds)
	if err != nil {
		return 0, err
	}
	late, n := 0.0, 0.0
	for _, c := range rounds {
		if c.Downstream != nil && c.Downstream.LatenessMS != nil {
			late, n = late+c.Downstream.LatenessMS.Mean, n+1
		}
	}
	if n > 0 {
		late /= n
	}
	return calls * (sut.Downstream.Delay.Seconds()*1000 + late), nil
}

// callsPerRequest is declared, or measured where it comes out as a whole number
// but for what was in flight at the windows' ends.
func callsPerRequest(sut *SUT, rounds []*Cell) (float64, error) {
	if sut.Calls != nil {
		return *sut.Calls, nil
	}
	answered, ok := int64(0), int64(0)
	for _, c := range rounds {
		if c.Downstream != nil && c.Load != nil {
			answered, ok = answered+c.Downstream.Answered, ok+c.Load.Requests.OK
		}
	}
	calls := quotient(float64(answered), float64(ok))
	if calls == nil {
		return 0, fmt.Errorf("how often a request calls the downstream is neither declared nor measured")
	}
	whole := math.Round(*calls)
	if math.Abs(*calls-whole) > 0.05 {
		return 0, fmt.Errorf("a request calls the downstream %.2f times, which is no whole number", *calls)
	}
	return whole, nil
}
