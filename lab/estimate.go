package lab

import (
	"fmt"
	"time"

	"loomlab/lab/record"
)

// Estimate is how long a run takes: not less than Min, not more than Max unless
// something stalls. Parts hold its arithmetic.
type Estimate struct {
	Min, Max time.Duration
	Parts    []EstimatePart
}

// EstimatePart is one kind of time in a run, such as all its windows.
type EstimatePart struct {
	What     string // "windows"
	How      string // "18 × 10s"
	Min, Max time.Duration
}

// What starting a SUT takes, roughly: a Spring Boot app on two cores, and a
// native process. Both are there to plan an afternoon with, nothing else.
const (
	appStart    = 4 * time.Second
	nativeStart = 500 * time.Millisecond
)

// LeadIn is how much live traffic goes before a window when the mean latency is
// mean: max(2 s, 5 × mean), METHOD rule 2.
func LeadIn(mean time.Duration) time.Duration { return max(2*time.Second, 5*mean) }

// settleBounds are the quiet time before a window (METHOD rule 3).
const (
	settleLeast = 1 * time.Second
	settleMost  = 5 * time.Second
)

func (p *Plan) estimate() Estimate {
	l := p.Experiment.Load
	starts, leadIns, drains := time.Duration(0), time.Duration(0), time.Duration(0)
	for _, s := range p.SUTs {
		switch s.Kind {
		case KindApp:
			starts += appStart
		case KindStandin, KindCommand:
			starts += nativeStart
		}
		for _, connections := range l.Connections {
			mean := MeanLatencyAtLeast(connections, p.ceilings(s, connections))
			leadIns += time.Duration(l.Rounds) * LeadIn(mean)
			drains += time.Duration(l.Rounds) * mean
		}
	}
	forks := time.Duration(p.Experiment.Forks)
	perFork := ""
	if p.Experiment.Isolate == IsolateRung {
		starts *= time.Duration(len(l.Connections))
		perFork = " × " + count(len(l.Connections), "rung")
	}
	rungs := forks * time.Duration(len(p.SUTs)*len(l.Connections))
	windows := time.Duration(len(p.Cells))
	warmMin, warmMax := time.Duration(l.Warmup.Min), time.Duration(l.Warmup.Max)
	var e Estimate
	add := func(what, how string, least, most time.Duration) {
		if most > 0 {
			e.Parts = append(e.Parts, EstimatePart{what, how, least, most})
			e.Min, e.Max = e.Min+least, e.Max+most
		}
	}
	add("starts", count(len(p.SUTs), "SUT")+" × "+count(p.Experiment.Forks, "fork")+perFork, forks*starts, forks*starts)
	firsts := forks * time.Duration(len(p.SUTs)) // rungs that begin cold
	if p.Experiment.Isolate == IsolateRung {
		firsts = rungs
	}
	add("warm-ups", count(int(rungs), "rung")+" × "+between(warmMin, warmMax), rungs*warmMin, firsts*warmMax+(rungs-firsts)*warmest(l.Warmup, false))
	add("lead-ins", fmt.Sprintf("%d × max(2s, 5 × mean latency)", windows), forks*leadIns, forks*leadIns)
	add("windows", fmt.Sprintf("%d × %v", windows, time.Duration(l.Duration)), windows*time.Duration(l.Duration), windows*time.Duration(l.Duration))
	add("drains", fmt.Sprintf("%d × one latency", windows), forks*drains, forks*drains)
	add("settling", fmt.Sprintf("%d × %s", windows, between(settleLeast, settleMost)), windows*settleLeast, windows*settleMost)
	if p.calibrates() {
		rungs, length := time.Duration(len(l.Connections)), calibrationLength(time.Duration(l.Duration), p.Experiment.Quick)
		add("calibration", fmt.Sprintf("%s × (2s + %v)", count(int(rungs), "rung"), length), rungs*(LeadIn(0)+length), rungs*(LeadIn(0)+length))
	}
	p.estimateEqualRate(starts, add)
	return e
}

// estimateEqualRate adds the windows at equal rate: one a SUT in each fork but
// the first, or after another start of each SUT where there is one fork.
func (p *Plan) estimateEqualRate(starts time.Duration, add func(what, how string, least, most time.Duration)) {
	if !p.WantsEqualRate() {
		return
	}
	l := p.Experiment.Load
	forks := max(1, p.Experiment.Forks-1)
	windows := time.Duration(len(p.SUTs) * forks)
	least := windows * (LeadIn(0) + time.Duration(l.Duration) + settleLeast)
	most := windows * (LeadIn(0) + time.Duration(l.Duration) + settleMost)
	how := fmt.Sprintf("%d × (2s + %v)", windows, time.Duration(l.Duration))
	if p.Experiment.Forks == 1 {
		how += ", after a start and a warm-up each"
		least += starts + windows*time.Duration(l.Warmup.Min)
		most += starts + windows*time.Duration(l.Warmup.Max)
	}
	add("equal rate", how, least, most)
}

// ceilings are those of a SUT on a rung under the nominal delay.
func (p *Plan) ceilings(s PlannedSUT, connections int) []record.Ceiling {
	if s.Downstream == nil {
		return nil
	}
	return Ceilings(connections, s.Limits, s.Calls, time.Duration(s.Downstream.Delay))
}

func (e Estimate) String() string { return between(e.Min.Round(time.Second), e.Max.Round(time.Second)) }

func between(least, most time.Duration) string {
	if least == most {
		return most.String()
	}
	return fmt.Sprintf("%v to %v", least, most)
}
