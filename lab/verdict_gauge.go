package lab

import (
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"loomlab/lab/record"
	"loomlab/probes"
)

// gauge keeps the downstream's JSON lines, one a second. Their in_flight_max is
// the highest value in the second before.
type gauge struct {
	mu    sync.Mutex
	lines []record.DownstreamStats
}

// gaugeKeep bounds what is kept, in seconds: the longest windows that people measure.
const gaugeKeep = 600

func (g *gauge) add(s record.DownstreamStats) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.lines) == gaugeKeep {
		g.lines = g.lines[1:]
	}
	g.lines = append(g.lines, s)
}

// begin drops the lines of the cell before.
func (g *gauge) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lines = nil
}

// between are the lines of the seconds in a window. The second in which it
// opened counts: the load is the same in the lead-in.
func (g *gauge) between(open, close float64) []record.DownstreamStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	var lines []record.DownstreamStats
	for _, s := range g.lines {
		if s.At-1 >= open-leadIn && s.At <= close {
			lines = append(lines, s)
		}
	}
	return lines
}

// leadIn is how much of the time before a window is surely under its load.
const leadIn = 1.5

// joinDownstream takes the difference of the downstream's account over the
// window, and summarises its gauge.
func (w *window) joinDownstream() {
	c := &w.cell
	if w.f.down == nil {
		return
	}
	if w.f.mute {
		c.Unavailable["downstream"] = "the downstream is a command of the experiment's, which gives no account"
		return
	}
	lines := w.f.gauge.between(w.opened, w.closed)
	before, after := w.before, w.after
	if before == nil || after == nil {
		c.Unavailable["downstream"] = "its account could not be read at both ends of the window"
		if len(lines) < 2 {
			return
		}
		// It does not even serve us, but it prints. Rates of other seconds than
		// the window's are good enough for the gauge, and for nothing else.
		before, after = &lines[0], &lines[len(lines)-1]
	}
	d, seconds := after.Sub(*before), after.At-before.At
	if seconds <= 0 {
		return
	}
	w.account = &d
	if c.Unavailable["downstream"] == "" {
		c.Downstream = &d
	}
	g := &record.InFlight{Mean: d.InFlightS / seconds, Peaks: make([]int64, len(lines)), Evenness: d.Evenness(seconds)}
	for i := range lines {
		g.Peaks[i] = lines[i].InFlightMax
	}
	if d.Answered > 0 {
		ms := d.InFlightS / float64(d.Answered) * 1e3
		g.ServedMS = &ms
	}
	c.InFlight = g
}

// acceptQueues counts who waits to be accepted by the SUT and the downstream now.
func (f *fork) acceptQueues() *record.AcceptQueues {
	read := func(tier, base string) *int64 {
		u, err := url.Parse(base)
		if err != nil {
			return nil
		}
		_, text, err := net.SplitHostPort(u.Host)
		if err != nil {
			return nil
		}
		port, err := strconv.Atoi(text)
		if err != nil {
			return nil
		}
		n, err := f.acceptQueue(tier, port)
		if err != nil {
			return nil // a SUT elsewhere, or no Linux
		}
		return &n
	}
	q := &record.AcceptQueues{SUT: read(record.TierSUT, f.url)}
	if f.down != nil {
		q.Downstream = read(record.TierDownstream, f.downURL)
	}
	if q.SUT == nil && q.Downstream == nil {
		return nil
	}
	return q
}

// lasting keeps of two readings what waited at both: a server that is only slow
// to accept has other moments.
func lasting(a, b *record.AcceptQueues) *record.AcceptQueues {
	if a == nil || b == nil {
		return nil
	}
	fewer := func(x, y *int64) *int64 {
		if x == nil || y == nil {
			return nil
		}
		n := min(*x, *y)
		return &n
	}
	return &record.AcceptQueues{SUT: fewer(a.SUT, b.SUT), Downstream: fewer(a.Downstream, b.Downstream)}
}

// evidence is what a verdict on a cell of this fork may rest on.
func (f *fork) evidence(c record.Cell, account *record.DownstreamStats) evidence {
	about := evidence{calls: f.calls(c), account: account, limits: f.knownLimits(), cpus: map[string]int{}, away: map[string]bool{}}
	sut, cores := f.machineOf(record.TierSUT)
	about.cores = cores
	for _, tier := range Tiers {
		if host, cores := f.machineOf(tier); host != sut {
			about.away[tier], about.cpus[tier] = true, cores
		}
	}
	if d := f.sut.Downstream; d != nil {
		about.delay, about.varied = time.Duration(d.Delay), d.Jitter != "" || len(d.Faults) > 0
	}
	if g := c.InFlight; about.calls == nil && g != nil && g.ServedMS != nil && *g.ServedMS > 0 && c.Load.Requests.OK > 0 {
		// By Little's law, mean ÷ time is the downstream's rate.
		calls := g.Mean / (*g.ServedMS / 1e3) / (float64(c.Load.Requests.OK) / c.Load.Seconds)
		if whole := math.Round(calls); math.Abs(calls-whole) < 0.1 {
			calls = whole
		}
		about.calls = &calls
	}
	about.calls = f.sut.InTurn(about.calls)
	if n, err := strconv.Atoi(f.info["carriers"]); err == nil && f.info["server_virtual"] == "true" {
		about.carriers = n
	}
	tiers := map[string]*tier{record.TierSUT: f.app, record.TierDownstream: f.down}
	if f.db != nil {
		tiers[record.TierPostgres] = f.db.tier
	}
	for name, t := range tiers {
		if t == nil {
			continue
		}
		if n := allowedCPUs(t); n > 0 {
			about.cpus[name] = n
		}
	}
	if n := cpusOf(f.plan.launchers(&f.sut.SUT, record.TierLoad)); n > 0 {
		about.cpus[record.TierLoad] = n
	}
	return about
}

// cpusOf is how many CPUs the places of a tier allow it together; 0: all.
func cpusOf(places []Launcher) int {
	var all []int
	for _, place := range places {
		cpus, err := probes.ParseCPUList(place.cpus)
		if place.cpus == "" || err != nil {
			return 0
		}
		all = append(all, cpus...)
	}
	slices.Sort(all)
	return len(slices.Compact(all))
}

// knownLimits are those of the fork's SUT.
func (f *fork) knownLimits() record.Limits { return knownLimits(f.sut.Limits, f.info) }

// knownLimits adds to the declared limits what the SUT says of itself.
func knownLimits(declared record.Limits, info map[string]string) record.Limits {
	for key, limit := range map[string]*int{
		"tomcat_max_threads": &declared.Workers, "client_pool": &declared.ClientPool, "tomcat_max_connections": &declared.MaxConnections,
		"db_pool": &declared.DBPool,
	} {
		if n, err := strconv.Atoi(info[key]); err == nil && n > 0 {
			*limit = n // what is in force
		} else if info[key] == "unlimited" {
			*limit = 0
		}
	}
	return declared
}
