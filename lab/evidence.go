package lab

import (
	"math"
	"slices"
	"strconv"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
	"loomlab/lab/verdict"
	"loomlab/probes"
)

// evidence is what a verdict on a cell of this fork may rest on.
func (f *fork) evidence(c record.Cell, account *record.DownstreamStats) verdict.Evidence {
	about := verdict.Evidence{Calls: f.calls(c), Account: account, Limits: f.knownLimits(), CPUs: map[string]int{}, Away: map[string]bool{}}
	sut, cores := f.machineOf(record.TierSUT)
	about.Cores = cores
	for _, tier := range experiment.Tiers {
		if host, cores := f.machineOf(tier); host != sut {
			about.Away[tier], about.CPUs[tier] = true, cores
		}
	}
	if d := f.sut.Downstream; d != nil {
		about.Delay, about.Varied = time.Duration(d.Delay), d.Jitter != "" || len(d.Faults) > 0
	}
	if g := c.InFlight; about.Calls == nil && g != nil && g.ServedMS != nil && *g.ServedMS > 0 && c.Load.Requests.OK > 0 {
		// By Little's law, mean ÷ time is the downstream's rate.
		calls := g.Mean / (*g.ServedMS / 1e3) / (float64(c.Load.Requests.OK) / c.Load.Seconds)
		if whole := math.Round(calls); math.Abs(calls-whole) < 0.1 {
			calls = whole
		}
		about.Calls = &calls
	}
	about.Calls = f.sut.InTurn(about.Calls)
	if n, err := strconv.Atoi(f.info["carriers"]); err == nil && f.info["server_virtual"] == "true" {
		about.Carriers = n
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
			about.CPUs[name] = n
		}
	}
	if n := cpusOf(f.launchers(record.TierLoad)); n > 0 {
		about.CPUs[record.TierLoad] = n
	}
	return about
}

// cpusOf is how many CPUs the places of a tier allow it together; 0: all.
func cpusOf(places []launcher) int {
	var all []int
	for _, place := range places {
		cpus, err := probes.ParseCPUList(place.CPUs)
		if place.CPUs == "" || err != nil {
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
