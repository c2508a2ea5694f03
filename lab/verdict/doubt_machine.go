package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// Shares of the machine that are too much for others to have taken.
const (
	strangersShare = 0.05 // of all cores
	fullShare      = 0.9  // of all cores, where it is not known whose they were
	stealShare     = 0.02 // of all cores
	throttledShare = 0.01 // of the time, on any core
)

// machineBusy: somebody else used a machine, or took a part of it away.
func machineBusy(c record.Cell, about Circumstances) *record.Doubt {
	busy := busyBeside(c.Machine, about.Cores, about.Foreign)
	for _, host := range slices.Sorted(maps.Keys(c.Machines)) {
		for _, text := range busyBeside(c.Machines[host], about.Others[host], false) {
			busy = append(busy, "on "+host+" "+text)
		}
	}
	if busy == nil {
		return nil
	}
	return &record.Doubt{Kind: record.DoubtMachineBusy, Threshold: "others use below 5 % of the cores, the host takes below 2 %, no quota bites",
		Evidence: strings.Join(busy, "; "), Remedy: "stop what else runs here (`loomlab doctor` looks for it), or use a machine of your own"}
}

// busyBeside says what took a machine's CPUs beside the tiers. With foreign a
// server that is no tier is what is measured.
func busyBeside(m *record.MachineWindow, cores int, foreign bool) []string {
	if m == nil || m.Seconds == 0 || cores == 0 {
		return nil
	}
	all := m.Seconds * float64(cores)
	var busy []string
	if s := m.StrangersS; s != nil && !foreign && *s > strangersShare*all {
		busy = append(busy, fmt.Sprintf("processes that are no tier used %.2f cores", *s/m.Seconds))
	}
	if s := m.BusyS; s != nil && m.StrangersS == nil && !foreign && *s > fullShare*all {
		busy = append(busy, fmt.Sprintf("%.2f of %d cores were busy, and how much of it were the tiers is not known", *s/m.Seconds, cores))
	}
	if s := m.StealS; s != nil && *s > stealShare*all {
		busy = append(busy, fmt.Sprintf("the host of this virtual machine took %.2f cores away", *s/m.Seconds))
	}
	if s := m.ThrottledS; s != nil && *s > throttledShare*m.Seconds {
		busy = append(busy, fmt.Sprintf("the CPU quota of the control group stopped it for %.2f s", *s))
	}
	return busy
}
