package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// Evidence is what a verdict may look at beside the cell.
type Evidence struct {
	Delay  time.Duration // nominal, of one call of the downstream; 0: there is none
	Varied bool          // the downstream is told to vary it, or to fail
	Calls  *float64      // downstream calls per request, those at once as one; nil: unknown
	// Account is the downstream's, over about the window; nil: none.
	Account *record.DownstreamStats
	Limits  record.Limits // declared, or told by the SUT; 0: none known
	Cores   int           // of the SUT's machine; 0: unknown
	// Away are the tiers on another machine than the SUT's.
	Away map[string]bool
	// Carriers is how many platform threads carry the SUT's virtual ones; 0: none, or unknown.
	Carriers int
	// CPUs is how many CPUs each tier may use; 0 or absent: unknown.
	CPUs map[string]int
}

// verdictRules are small and pure; the first that speaks is the verdict. What
// spoils the measurement stands first, then what the downstream's gauge and the
// latencies show, then CPUs: a busy machine is no reason for a plateau.
var verdictRules = []func(*figures) *record.Verdict{
	outOfMemory, thrashing, localPorts, downstreamConnections, blockedLoop, connectionCap, acceptQueue,
	downstreamFaults, downstreamCloses, stuckConnections, manyErrors, collecting,
	databaseCPU, databasePool, databaseWorkers,
	declaredPool, heldThreads, pinnedCarriers, downstreamSlow, clientLimited, hiddenPool, oneAtATime, delayedACK,
	engineBusy, engineStarved, ownCPU, hotThread, machineCPU, downstreamStarved, sutWaits,
}

// Of names what held a measured cell back. It is nil for a cell without
// figures. It says unknown rather than guess, and is sure only where the
// evidence leaves nothing else.
func Of(c record.Cell, about Evidence) *record.Verdict {
	if c.Load == nil || c.Load.Seconds <= 0 || c.Status == "interrupted" {
		return nil
	}
	f := figuresOf(c, about)
	for _, rule := range verdictRules {
		if v := rule(f); v != nil {
			v.Text = f.head() + v.Text
			return v
		}
	}
	return &record.Verdict{Kind: record.VerdictUnknown, Text: f.head() + f.unknown(), Evidence: f.utilisation()}
}

// figures are a cell's numbers in the units of the arithmetic: seconds, requests
// per second, cores. What is not known is 0.
type figures struct {
	cell    record.Cell
	about   Evidence
	n       float64 // requests that can be in flight at once
	seconds float64
	ok      float64 // per second
	bad     float64 // share of the outcomes
	latency float64 // mean, of an ok answer
	served  float64 // of a request in the downstream, all its calls together, and in what holds it besides
	flight  float64 // mean number in flight in the downstream
	peak    float64 // its highest second
	sut     tierFigures
	load    tierFigures
	down    tierFigures
	db      tierFigures
	busy    float64 // mean number of busy database connections
	others  float64 // cores that strangers used
}

// tierFigures are a tier's CPU: cores used, cores waited for, and the share of
// the time that its busiest thread ran.
type tierFigures struct {
	known       bool
	cores, wait float64
	waits       bool // whether wait is known
	hottest     float64
	group       string // that the busiest thread belongs to
	threads     int64
	cpus        float64 // that it may use
}

func figuresOf(c record.Cell, about Evidence) *figures {
	l := c.Load
	f := &figures{cell: c, about: about, seconds: l.Seconds, n: float64(c.Connections)}
	if f.n == 0 {
		f.n = float64(l.Connections.Established)
	}
	r := l.Requests
	f.ok = float64(r.OK) / l.Seconds
	if bad := float64(r.Non2xx + r.Errors.Total()); bad > 0 {
		f.bad = bad / (bad + float64(r.OK))
	}
	if l.LatencyMS != nil {
		f.latency = l.LatencyMS.Mean / 1e3
	}
	if g := c.InFlight; g != nil {
		f.flight, f.peak = g.Mean, float64(g.Peak())
		if g.ServedMS != nil && about.Calls != nil {
			f.served = *g.ServedMS / 1e3 * *about.Calls
		}
	}
	f.served += about.Limits.Held.Seconds()
	f.sut, f.load, f.down = f.tier(record.TierSUT), f.tier(record.TierLoad), f.tier(record.TierDownstream)
	f.db = f.tier(record.TierPostgres)
	if d := c.Database; d != nil {
		f.busy = d.BusyMean
	}
	if m := c.Machine; m != nil && m.StrangersS != nil && m.Seconds > 0 {
		f.others = *m.StrangersS / m.Seconds
	}
	return f
}

func (f *figures) tier(name string) tierFigures {
	t := tierFigures{cpus: float64(f.about.CPUs[name])}
	if t.cpus == 0 {
		t.cpus = float64(f.about.Cores)
	}
	p := f.cell.Probes[name]
	if p == nil || p.Cores == nil {
		return t
	}
	t.known, t.cores = true, *p.Cores
	if p.RunDelayS != nil {
		t.wait, t.waits = *p.RunDelayS/f.seconds, true
	}
	for _, g := range p.Groups {
		if share := g.MaxCPUS / f.seconds; share > t.hottest {
			t.hottest, t.group = share, g.Name
		}
	}
	if p.Threads != nil {
		t.threads = p.Threads.Peak
	}
	return t
}

// closed says that every connection always waits for something.
func (f *figures) closed() bool { return f.cell.Load.Mode == "closed" }

// own is the time of a mean request outside the downstream.
func (f *figures) own() float64 { return f.latency - f.served }

// share is how much of a mean request's time is spent in the downstream.
func (f *figures) share() float64 {
	if f.latency == 0 {
		return 0
	}
	return f.served / f.latency
}

// Shares from which on a CPU counts as used up.
const (
	cpuFull = 0.90
	cpuSure = 0.95
)

// sutFull says that the SUT uses up the CPUs that it may use.
func (f *figures) sutFull() bool {
	return f.sut.known && f.sut.cpus > 0 && f.sut.cores >= cpuFull*f.sut.cpus
}

// used is how many cores of the SUT's machine are busy.
func (f *figures) used() float64 {
	used := f.sut.cores + f.others
	for tier, t := range map[string]tierFigures{record.TierLoad: f.load, record.TierDownstream: f.down, record.TierPostgres: f.db} {
		if !f.about.Away[tier] {
			used += t.cores
		}
	}
	return used
}

// machineFull says that all cores of the machine are busy.
func (f *figures) machineFull() bool {
	return f.about.Cores > 0 && f.used() >= cpuFull*float64(f.about.Cores)
}

// sutIdle says that it is not for want of a CPU that the SUT does no more:
// whatever the machine does, its threads neither run nor wait to run.
func (f *figures) sutIdle() bool {
	return f.sut.known && f.sut.cpus > 0 && f.sut.demand() < 0.75*f.sut.cpus && (f.sut.waits || !f.machineFull())
}

// demand is how many CPUs a tier would have used, had it had them.
func (t tierFigures) demand() float64 { return t.cores + t.wait }

// head names the cell.
func (f *figures) head() string {
	if f.cell.Rate > 0 {
		return fmt.Sprintf("%s at %s/s offered: ", f.cell.SUT, phrase.Number(f.cell.Rate))
	}
	return fmt.Sprintf("%s at %d: ", f.cell.SUT, f.cell.Connections)
}

// queue is the arithmetic of those that wait for one of limit places.
func (f *figures) queue(limit float64) string {
	if !f.closed() || f.latency == 0 {
		return ""
	}
	text := fmt.Sprintf("; by Little's law %s = %s/s × %s s", phrase.Number(f.n), phrase.Number(f.ok), phrase.Number3(f.latency))
	if waiting := f.n - limit; waiting >= 1 {
		text += fmt.Sprintf(", so about %s requests wait in a queue", phrase.Number3(waiting))
	}
	return text
}

// unknown says what was looked at.
func (f *figures) unknown() string {
	if f.served > 0 {
		where := "in the downstream"
		if f.cell.InFlight == nil {
			where = "waiting, as declared," // there is no downstream
		}
		return fmt.Sprintf("what holds it back is unknown. Of %s a request spends %s %s and %s elsewhere, and nothing that the lab can see is used up.",
			phrase.Millis(f.latency), phrase.Millis(f.served), where, phrase.Millis(f.own()))
	}
	return "what holds it back is unknown: nothing that the lab can see is used up."
}

// utilisation is the evidence about CPUs, for every verdict that rests on them.
func (f *figures) utilisation() string {
	var parts []string
	for _, t := range []struct {
		name string
		tierFigures
	}{{"SUT", f.sut}, {"load engine", f.load}, {"downstream", f.down}, {"PostgreSQL", f.db}} {
		if t.known {
			parts = append(parts, fmt.Sprintf("%s %s of %s cores (waiting: %s)", t.name, phrase.Number3(t.cores), phrase.Number(t.cpus), phrase.Number3(t.wait)))
		}
	}
	if f.cell.Machine != nil && f.cell.Machine.StrangersS != nil {
		parts = append(parts, fmt.Sprintf("others %s", phrase.Number3(f.others)))
	}
	return strings.Join(parts, ", ")
}

// gauge is the evidence of the downstream's gauge.
func (f *figures) gauge() string {
	g := f.cell.InFlight
	if g == nil {
		return ""
	}
	peaks := make([]string, len(g.Peaks))
	for i, n := range g.Peaks {
		peaks[i] = strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("in flight in the downstream: mean %s, highest in each second %s", phrase.Number3(g.Mean), strings.Join(peaks, ", "))
}

// flat says that the gauge has one highest value, second after second.
func (f *figures) flat() bool {
	g := f.cell.InFlight
	if g == nil || len(g.Peaks) < 2 {
		return false
	}
	return float64(slices.Max(g.Peaks)-slices.Min(g.Peaks)) <= 0.01*f.peak
}
