package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/phrase"
	"loomlab/lab/record"
	"loomlab/lab/verdict"
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
	// PostgreSQL is made and seeded anew for every start of a SUT that uses it.
	postgresFresh = 2 * time.Second
)

// LeadIn is how much live traffic goes before a window when the mean latency is
// mean: max(2 s, 5 × mean), METHOD rule 2.
func LeadIn(mean time.Duration) time.Duration { return max(2*time.Second, 5*mean) }

// settleBounds are the quiet time before a window (METHOD rule 3).
const (
	settleLeast = 1 * time.Second
	settleMost  = 5 * time.Second
)

// What a SUT serves a second where nothing is known of it, roughly; likewise.
const (
	slowRate = 2_000
	fastRate = 40_000
)

// climb is the time of one SUT's ladder in one fork, by parts.
type climb struct {
	starts, leadIns, drains   time.Duration
	warmLeast, warmMost       time.Duration
	windowsLeast, windowsMost time.Duration
	processes, rungs          int      // of one SUT the processes, of all the rungs
	warmups, windows          []string // what there is of each: "6s to 20s", "10s"
}

func (p *Plan) estimate() Estimate {
	var all climb
	for _, s := range p.SUTs {
		all.add(p.climb(s))
	}
	forks := time.Duration(p.Experiment.Forks)
	perFork := ""
	if p.Experiment.Isolate == experiment.IsolateRung {
		perFork = " × " + phrase.Count(all.processes, "rung")
	}
	rungs, windows := p.Experiment.Forks*all.rungs, time.Duration(len(p.Cells))
	var e Estimate
	add := func(what, how string, least, most time.Duration) {
		if most > 0 {
			e.Parts = append(e.Parts, EstimatePart{what, how, least, most})
			e.Min, e.Max = e.Min+least, e.Max+most
		}
	}
	add("starts", phrase.Count(len(p.SUTs), "SUT")+" × "+phrase.Count(p.Experiment.Forks, "fork")+perFork, forks*all.starts, forks*all.starts)
	add("warm-ups", phrase.Count(rungs, "rung")+" × "+strings.Join(all.warmups, " or "), forks*all.warmLeast, forks*all.warmMost)
	add("lead-ins", fmt.Sprintf("%d × max(2s, 5 × mean latency)", windows), forks*all.leadIns, forks*all.leadIns)
	add("windows", fmt.Sprintf("%d × %s", windows, strings.Join(all.windows, " or ")), forks*all.windowsLeast, forks*all.windowsMost)
	add("drains", fmt.Sprintf("%d × one latency", windows), forks*all.drains, forks*all.drains)
	add("settling", fmt.Sprintf("%d × %s", windows, between(settleLeast, settleMost)), windows*settleLeast, windows*settleMost)
	if p.Calibrates() {
		l := p.CalibrationLoad()
		rungs, length := time.Duration(len(l.Connections)), time.Duration(l.Duration)
		add("calibration", fmt.Sprintf("%s × (2s + %v)", phrase.Count(int(rungs), "rung"), length), rungs*(LeadIn(0)+length), rungs*(LeadIn(0)+length))
	}
	p.estimateEqualRate(all.starts, add)
	p.estimateLooks(add)
	return e
}

// add puts the time of another SUT to it.
func (c *climb) add(o climb) {
	c.starts, c.leadIns, c.drains = c.starts+o.starts, c.leadIns+o.leadIns, c.drains+o.drains
	c.warmLeast, c.warmMost = c.warmLeast+o.warmLeast, c.warmMost+o.warmMost
	c.windowsLeast, c.windowsMost = c.windowsLeast+o.windowsLeast, c.windowsMost+o.windowsMost
	c.processes, c.rungs = max(c.processes, o.processes), c.rungs+o.rungs
	for _, text := range o.warmups {
		if !slices.Contains(c.warmups, text) {
			c.warmups = append(c.warmups, text)
		}
	}
	for _, text := range o.windows {
		if !slices.Contains(c.windows, text) {
			c.windows = append(c.windows, text)
		}
	}
}

// climb estimates one SUT in one fork.
func (p *Plan) climb(s SUT) climb {
	l := p.Load(s)
	rungs := l.Rungs()
	c := climb{processes: 1, rungs: len(rungs), windows: []string{l.Window()}}
	if l.Warmup.Max > 0 {
		c.warmups = []string{between(time.Duration(l.Warmup.Min), time.Duration(l.Warmup.Max))}
	}
	if l.Requests > 0 {
		c.windows[0] += " (a guess)"
	}
	if p.Experiment.Isolate == experiment.IsolateRung {
		c.processes = len(rungs)
	}
	switch s.Kind {
	case record.KindApp:
		c.starts = appStart
	case record.KindStandin, record.KindCommand:
		c.starts = nativeStart
	}
	if p.Postgres != nil && p.Postgres.DSN == nil && s.UsesPostgres() {
		c.starts += postgresFresh
	}
	c.starts *= time.Duration(c.processes)
	rounds := time.Duration(l.Rounds)
	for i, rung := range rungs {
		c.warmLeast += time.Duration(l.Warmup.Min)
		c.warmMost += Warmest(l.Warmup, i < c.processes)
		mean := time.Duration(0)
		if rung.Rate == 0 {
			mean = verdict.MeanLatencyAtLeast(rung.Connections, p.ceilings(s, rung.Connections))
		}
		least, most := p.windowTime(s, rung)
		c.windowsLeast, c.windowsMost = c.windowsLeast+rounds*least, c.windowsMost+rounds*most
		c.leadIns += rounds * LeadIn(mean)
		c.drains += rounds * mean
	}
	return c
}

// windowTime bounds the length of a window. One of a number of requests takes as
// long as the lowest ceiling says, or at a rate that is a guess.
func (p *Plan) windowTime(s SUT, rung record.Rung) (least, most time.Duration) {
	l := p.Load(s)
	n := float64(l.RequestsAt(rung))
	if n == 0 {
		return time.Duration(l.Duration), time.Duration(l.Duration)
	}
	fast, slow := float64(fastRate), float64(slowRate)
	if ceilings := p.ceilings(s, rung.Connections); len(ceilings) > 0 {
		fast = min(fast, ceilings[0].PerS)
	}
	if rung.Rate > 0 {
		fast = min(fast, rung.Rate)
	}
	slow = min(slow, fast)
	second := float64(time.Second)
	return time.Duration(n / fast * second), time.Duration(n / slow * second)
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

// What looking inside a JVM takes outside the windows, roughly: one question
// through jcmd, and reading a recording.
const (
	jcmdTime = time.Second
	jfrTime  = 15 * time.Second
)

// estimateLooks adds the questions of --memory and the windows of --jfr.
func (p *Plan) estimateLooks(add func(what, how string, least, most time.Duration)) {
	jvms := time.Duration(0)
	for _, s := range p.SUTs {
		if s.NeedsJDK() {
			jvms++
		}
	}
	if p.Experiment.Memory && jvms > 0 {
		looks := 2 * time.Duration(len(p.Cells)) * jvms / time.Duration(len(p.SUTs))
		add("memory", fmt.Sprintf("%d × %v", looks, jcmdTime), looks*jcmdTime/2, looks*jcmdTime)
	}
	if p.Experiment.JFR > 0 {
		window := LeadIn(0) + time.Duration(p.Experiment.Load.Duration) + settleLeast
		add("recordings", fmt.Sprintf("%d × (%v + about %v)", jvms, window, jfrTime), jvms*window, jvms*(window+2*jfrTime))
	}
}

// ceilings are those of a SUT on a rung under the nominal delay.
func (p *Plan) ceilings(s SUT, connections int) []record.Ceiling {
	delay := time.Duration(0)
	if s.Downstream != nil {
		delay = time.Duration(s.Downstream.Delay)
	}
	return verdict.Ceilings(connections, s.Limits, s.InTurn(s.Calls), delay)
}

func (e Estimate) String() string { return between(e.Min.Round(time.Second), e.Max.Round(time.Second)) }

func between(least, most time.Duration) string {
	if least == most {
		return most.String()
	}
	return fmt.Sprintf("%v to %v", least, most)
}

// Warmest is the longest warm-up of a rung. The first of a fork has the whole
// maximum, for nearly everything is compiled there; later ones have half of it,
// so that a rung that never gets steady costs no more than its doubt.
func Warmest(w record.Warmup, first bool) time.Duration {
	if first || w.Count > 0 {
		return time.Duration(w.Max)
	}
	return max(time.Duration(w.Min), time.Duration(w.Max)/2)
}
