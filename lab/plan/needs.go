package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"loomlab/lab/experiment"
	"loomlab/lab/phrase"
	"loomlab/lab/postgres"
	"loomlab/lab/record"
	"loomlab/probes"
)

// Needs is what cells take from the machine: one rung of one SUT, or the most of
// a whole run.
type Needs struct {
	JDK  bool // a JDK 21 or later, and Maven or jars built before
	Root bool // for network namespaces of the run's own
	CPUs int  // of which some tier has a place on one alone; 0: any number
	// Postgres is whose PostgreSQL the run takes: the lab's own by its version, or the user's; "": none.
	Postgres string
	// Descriptors that each tier opens: a connection is one in the load, one in
	// the downstream, and in a SUT that calls the downstream two. 0: no such tier
	// here, or one that is not known.
	LoadFDs, SUTFDs, DownstreamFDs int
	ListenPorts                    int
	LocalPorts                     int // ephemeral ports to one destination
	// MemoryBytes of each tier and of all together; what a command or a URL takes
	// is not known and not in it.
	LoadBytes, SUTBytes, DownstreamBytes, PostgresBytes, MemoryBytes int64
}

const (
	ownFDs = 64  // what a tier of ours opens besides its connections
	jvmFDs = 256 // a JVM with its jars, and more than enough for a native server

	jvmBytes        = 300 << 20 // a Spring Boot app besides its heap: code, metaspace, buffers
	stackBytes      = 128 << 10 // what a platform thread touches of its stack
	standinBytes    = 64 << 20
	tierBytes       = 48 << 20  // load or downstream
	postgresBytes   = 384 << 20 // its buffers, data and a few dozen processes
	connectionBytes = 32 << 10  // of one tier of ours
)

// needs is the most that any cell of the plan takes.
func (p *Plan) needs() Needs {
	var n Needs
	for _, key := range p.Cells {
		n = n.most(p.rungNeeds(p.sut(key.SUT), mostConnections(key.Rung())))
	}
	return n
}

// rungNeeds is what the tiers take of this machine while s is measured with so
// many connections: those on other machines take nothing of it.
func (p *Plan) rungNeeds(s *SUT, connections int) Needs {
	n := p.tierNeeds(s, connections)
	if p.Launcher(&s.SUT, record.TierSUT).Host != "" {
		n.SUTFDs, n.SUTBytes = 0, 0
	}
	if p.Launcher(&s.SUT, record.TierDownstream).Host != "" {
		n.DownstreamFDs, n.DownstreamBytes = 0, 0
	}
	here, all := 0, p.Launchers(&s.SUT, record.TierLoad)
	for _, l := range all {
		if l.Host == "" {
			here++
		}
	}
	if here == 0 {
		n.LoadFDs = 0
	}
	n.LoadBytes = n.LoadBytes * int64(here) / int64(len(all))
	n.LocalPorts = n.LocalPorts * here / len(all)
	n.MemoryBytes = n.LoadBytes + n.SUTBytes + n.DownstreamBytes + n.PostgresBytes
	return n
}

// MostDescriptors is how many a process of a tier around s opens at most.
func (p *Plan) MostDescriptors(s *SUT, tier string) int {
	most := 0
	for _, key := range p.Cells {
		if key.SUT == s.Name {
			n := p.tierNeeds(s, mostConnections(key.Rung()))
			most = max(most, map[string]int{record.TierLoad: n.LoadFDs, record.TierSUT: n.SUTFDs, record.TierDownstream: n.DownstreamFDs}[tier])
		}
	}
	return most
}

// tierNeeds is what the tiers take wherever they run.
func (p *Plan) tierNeeds(s *SUT, connections int) Needs {
	in, out := within(connections, s.Limits.MaxConnections), 0
	generators := len(p.Launchers(&s.SUT, record.TierLoad))
	n := Needs{LoadFDs: (connections+generators-1)/generators + ownFDs, LocalPorts: connections + p.timeWait(s, connections)}
	n.LoadBytes = int64(generators)*tierBytes + int64(connections)*connectionBytes
	if s.Downstream != nil {
		out = within(within(in, s.Limits.Workers)*max(1, s.Fanout), s.Limits.ClientPool)
		n.DownstreamFDs = out + ownFDs
		n.DownstreamBytes = tierBytes + int64(out)*connectionBytes
		n.ListenPorts++
	}
	if s.Kind != record.KindURL {
		n.ListenPorts++
		n.SUTFDs = in + out + s.spareFDs()
	}
	switch s.Kind {
	case record.KindApp:
		n.JDK = true
		n.SUTBytes = heapBytes(s.JVM, p.Facts.MemoryBytes) + jvmBytes + int64(s.Limits.Workers)*stackBytes
	case record.KindStandin:
		n.SUTBytes = standinBytes + int64(in+out)*connectionBytes
	}
	n.Root, n.CPUs = s.Netns != nil, p.placedCPUs(s)
	if pg := p.Postgres; pg != nil && s.UsesPostgres() && pg.DSN != nil {
		n.Postgres = "the database " + pg.DSN.String() + " and psql"
	} else if pg != nil && s.UsesPostgres() {
		n.Postgres = "PostgreSQL " + postgres.Version + " (fetched by Maven, nothing is installed) or --postgres"
		n.PostgresBytes = postgresBytes
		n.ListenPorts++
	}
	return n
}

// spareFDs is what a SUT opens besides its connections.
func (s *SUT) spareFDs() int {
	if s.Kind == record.KindStandin {
		return ownFDs
	}
	return jvmFDs
}

// within is n, or the lowest of the limits that are known (not 0) and below it.
func within(n int, limits ...int) int {
	for _, limit := range limits {
		if limit > 0 {
			n = min(n, limit)
		}
	}
	return n
}

// timeWait is how many local ports are still taken by the rounds before, whose
// connections the load engine closed in the last minute; 0 where the kernel
// takes such ports again at once.
func (p *Plan) timeWait(s *SUT, connections int) int {
	l := p.Load(*s)
	if p.Facts.Capacity.TimeWaitReuse != "0" || l.Duration <= 0 {
		return 0
	}
	perMinute := int(60 / (l.Duration.Seconds() + LeadIn(0).Seconds()))
	return connections * min(l.Rounds-1, perMinute)
}

// most takes the larger of each.
func (n Needs) most(m Needs) Needs {
	return Needs{
		JDK: n.JDK || m.JDK, Root: n.Root || m.Root, CPUs: max(n.CPUs, m.CPUs),
		Postgres: cmp.Or(n.Postgres, m.Postgres), PostgresBytes: max(n.PostgresBytes, m.PostgresBytes),
		LoadFDs: max(n.LoadFDs, m.LoadFDs), SUTFDs: max(n.SUTFDs, m.SUTFDs), DownstreamFDs: max(n.DownstreamFDs, m.DownstreamFDs),
		ListenPorts: max(n.ListenPorts, m.ListenPorts), LocalPorts: max(n.LocalPorts, m.LocalPorts),
		LoadBytes: max(n.LoadBytes, m.LoadBytes), SUTBytes: max(n.SUTBytes, m.SUTBytes), DownstreamBytes: max(n.DownstreamBytes, m.DownstreamBytes),
		MemoryBytes: max(n.MemoryBytes, m.MemoryBytes),
	}
}

// placedCPUs is how many CPUs the places of a SUT's tiers take at least.
func (p *Plan) placedCPUs(s *SUT) int {
	most := 0
	for _, tier := range experiment.Tiers {
		for _, place := range p.Launchers(&s.SUT, tier) {
			if cpus, err := probes.ParseCPUList(place.CPUs); err == nil && len(cpus) > 0 && place.Host == "" {
				most = max(most, slices.Max(cpus)+1)
			}
		}
	}
	return most
}

// mostConnections is how many a rung can open. Our engine lets an open loop grow
// to 1.25 connections for each request offered a second, from 100 to 10 000.
func mostConnections(r record.Rung) int {
	if r.Rate > 0 {
		return min(max(int(r.Rate*1.25), 100), 10_000)
	}
	return r.Connections
}

// heapBytes is the heap that JVM flags allow: the last -Xmx, else what a JVM
// takes by itself, a quarter of the memory.
func heapBytes(flags []string, memory int64) int64 {
	heap := memory / 4
	for _, f := range flags {
		if size, ok := strings.CutPrefix(f, "-Xmx"); ok {
			if bytes, ok := JVMSize(size); ok {
				heap = bytes
			}
		}
	}
	return heap
}

// JVMSize reads a size as the JVM's flags write it: 512m, 1g, 1048576.
func JVMSize(text string) (int64, bool) {
	shift := map[byte]int{'k': 10, 'm': 20, 'g': 30, 't': 40}
	bits := 0
	if text != "" {
		if s, ok := shift[text[len(text)-1]|0x20]; ok {
			bits, text = s, text[:len(text)-1]
		}
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return n << bits, err == nil && n > 0
}

// sut is the planned SUT of that name.
func (p *Plan) sut(name string) *SUT {
	return &p.SUTs[slices.IndexFunc(p.SUTs, func(s SUT) bool { return s.Name == name })]
}

func (n Needs) String() string {
	var parts []string
	if n.JDK {
		parts = append(parts, "JDK 21+ and Maven (or jars built before)")
	}
	if n.Root {
		parts = append(parts, "root, for network namespaces")
	}
	if n.CPUs > 1 {
		parts = append(parts, fmt.Sprintf("%d CPUs", n.CPUs))
	}
	if n.Postgres != "" {
		parts = append(parts, n.Postgres)
	}
	fds := fmt.Sprintf("descriptors: load %d", n.LoadFDs)
	if n.SUTFDs > 0 {
		fds += fmt.Sprintf(", SUT %d", n.SUTFDs)
	}
	if n.DownstreamFDs > 0 {
		fds += fmt.Sprintf(", downstream %d", n.DownstreamFDs)
	}
	return strings.Join(append(parts, fds, fmt.Sprintf("%d local ports", n.LocalPorts), "about "+phrase.MiB(n.MemoryBytes)+" of memory"), "; ")
}

// Short says in a few words each what a machine must have that not every machine has.
func (n Needs) Short() []string {
	var parts []string
	if n.JDK {
		parts = append(parts, "JDK 21+")
	}
	if n.Postgres != "" {
		parts = append(parts, "PostgreSQL")
	}
	if n.Root {
		parts = append(parts, "root for some of it")
	}
	if n.CPUs > 1 {
		parts = append(parts, fmt.Sprintf("%d CPUs", n.CPUs))
	}
	fds := max(n.LoadFDs, n.SUTFDs, n.DownstreamFDs)
	return append(parts, fmt.Sprintf("%.1f GiB", float64(n.MemoryBytes)/(1<<30)), fmt.Sprintf("%d descriptors", fds))
}

// Generators are the places of the load around a SUT that a rung needs.
func (p *Plan) Generators(s *record.SUT, r record.Rung) []experiment.Launcher {
	places := p.Launchers(s, record.TierLoad)
	return slices.Clone(places[:min(len(places), mostConnections(r))])
}

// checkGenerators says why the load of a SUT cannot be divided over its places.
func (p *Plan) checkGenerators(s *SUT) error {
	if n := len(p.Launchers(&s.SUT, record.TierLoad)); n > 1 && s.LoadCommand != nil {
		return fmt.Errorf("%s: its load is a command of its own (%s), which cannot be divided over %d places; want one place", s.Name, s.LoadCommand[0], n)
	}
	return nil
}
