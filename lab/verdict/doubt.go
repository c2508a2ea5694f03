package verdict

import (
	"time"

	"loomlab/lab/record"
)

// Circumstances are what a doubt rule may look at beside the cell.
type Circumstances struct {
	Delay time.Duration // nominal delay of the downstream; 0: none, or it varies
	Calls *float64      // downstream calls per request, as declared; nil: unknown
	Cores int           // of the SUT's machine; 0: unknown
	// Others are the cores of the other machines that tiers are on, by their names.
	Others map[string]int
	// Unseen is how many seconds of the window lie outside of the downstream's
	// account, which is read a moment after each end of it.
	Unseen float64
	// Unsteady is why the warm-up of this rung gave up; "" when it ended steady,
	// or when there was none.
	Unsteady string
	// Foreign says that the SUT is no child of ours: its CPU looks like a stranger's.
	Foreign bool
	Resumed bool // another process has climbed the lower rungs of this fork
	// Solo is what a downstream that is not ours takes when it is asked alone; 0: it is ours.
	Solo time.Duration
	// ClockError is by how much the clock of another machine may be off from what is
	// known of it; 0: all tiers are on one clock.
	ClockError  time.Duration
	Calibration *record.Cell // of the same rung; nil without one
	Instrument  []float64    // µs of CPU a request of engine and downstream, in the other forks' windows
}

// doubtRules are small and pure: each looks at one thing and returns a doubt or
// nil. Those that make a cell useless come first.
var doubtRules = []func(record.Cell, Circumstances) *record.Doubt{
	impossibleThroughput, impossibleCalls, impossibleMean, impossibleSlots, impossibleAccount,
	fewerConnections, stuck, errorsSeen, restarted, resumed, notSteady, jitBusy, notQuiet,
	startSpread, unequal, clocksApart, engineSaturated, engineLate, downstreamRejected, downstreamSaturated, downstreamLate, waitsForCPU, calibrationDrift, machineSpeed, machineBusy,
	renewed, retried, heavyTail, thinP99,
}

// Doubts applies every rule to a measured cell.
func Doubts(c record.Cell, about Circumstances) []record.Doubt {
	found := []record.Doubt{}
	if c.Load == nil {
		return found
	}
	for _, rule := range doubtRules {
		if d := rule(c, about); d != nil {
			found = append(found, *d)
		}
	}
	return found
}

// RunDoubts are about a run as a whole, known before it begins.
func RunDoubts(e record.Experiment) []record.Doubt {
	found := []record.Doubt{}
	if d := tooFewForks(e); d != nil {
		found = append(found, *d)
	}
	return found
}

// isClosed tells a closed loop, where every connection always waits for something.
func isClosed(c record.Cell) bool { return c.Load.Mode == "closed" }

// slots is how many requests can be in flight at once.
func slots(c record.Cell) int {
	if c.Connections > 0 {
		return c.Connections
	}
	return c.Load.Connections.Requested
}

// failures counts the outcomes that were no success.
func failures(c record.Cell) int64 { return c.Load.Requests.Non2xx + c.Load.Requests.Errors.Total() }

// meanMS is the mean latency in milliseconds; 0 when nothing succeeded.
func meanMS(c record.Cell) float64 {
	if c.Load.LatencyMS == nil {
		return 0
	}
	return c.Load.LatencyMS.Mean
}
