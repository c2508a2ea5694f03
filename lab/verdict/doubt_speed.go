package verdict

import (
	"fmt"

	"loomlab/lab/record"
)

// speedShare is by how much the instrument's cost may differ from that of the
// forks before. Alike forks repeat it within some 3 %, as long as the machine's
// CPUs run at one speed.
const speedShare = 0.10

// speedForks is how many windows of other forks make a median to go by.
const speedForks = 2

// machineSpeed compares what engine and downstream cost per request with what
// they cost in the other forks of this SUT on this rung: their work is the same,
// so what changed is the machine (a shared host, a frequency, a neighbour on the
// other hyperthread), and the SUT's CPU per request changed with it.
func machineSpeed(c record.Cell, about Circumstances) *record.Doubt {
	now := InstrumentUS(c)
	if now == 0 || len(about.Instrument) < speedForks {
		return nil
	}
	then := record.Over(about.Instrument).Median
	if off := now/then - 1; off <= speedShare && off >= -speedShare {
		return nil
	}
	return &record.Doubt{Kind: "machine-speed", Threshold: "the instrument costs within 10 % of what it did in the other forks",
		Evidence: fmt.Sprintf("engine and downstream cost %.1f µs of CPU a request, %.1f µs in the median of the forks before: the machine itself runs at another speed", now, then),
		Remedy:   "compare “SUT CPU ÷ instrument's”, which cancels the machine's speed; a host of your own, or a fixed CPU frequency, would be steadier"}
}
