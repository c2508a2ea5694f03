package plan

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/postgres"
)

// What a [Check] says of one thing.
const (
	CheckOK      = "ok"
	CheckNote    = "note"    // the run works; its figures may suffer
	CheckLacking = "lacking" // something of the plan will not fit
)

// Check is one thing that preflight has looked at.
type Check struct {
	What   string `json:"what"`
	Status string `json:"status"` // ok, note or lacking
	Text   string `json:"text"`   // what there is and what is needed
	Remedy string `json:"remedy"` // what helps; "" where nothing is to be done
}

// Rung is what the most demanding SUT takes at a number of connections.
type Rung struct {
	Connections int   `json:"connections"`
	LoadFDs     int   `json:"load_descriptors"`
	SUTFDs      int   `json:"sut_descriptors"`
	DownFDs     int   `json:"downstream_descriptors"`
	LocalPorts  int   `json:"local_ports"`
	MemoryBytes int64 `json:"memory_bytes"`
}

// Unfit is a rung of a SUT that this machine cannot hold.
type Unfit struct {
	SUT         string `json:"sut"`
	Connections int    `json:"connections"`
	Reason      string `json:"reason"`
	Remedy      string `json:"remedy"`
}

func (u Unfit) String() string {
	return fmt.Sprintf("%s at %d: %s: %s", u.SUT, u.Connections, u.Reason, u.Remedy)
}

// Preflight judges whether the machine of p.Facts can hold the plan. It reads
// and changes nothing; what the facts do not know is left out.
func (p *Plan) Preflight() []Check {
	var found []Check
	for _, check := range []func(*Plan) *Check{
		checkDescriptors, checkLocalPorts, checkAcceptQueue, checkMemory, checkCores, checkOtherLoad, checkDisk, checkJDK, checkJars, checkPostgres,
	} {
		if c := check(p); c != nil {
			found = append(found, *c)
		}
	}
	return found
}

// Rungs are those of the plan, ascending.
func (p *Plan) Rungs() []Rung {
	most := map[int]Needs{}
	for _, k := range p.Cells {
		if k.Connections > 0 {
			most[k.Connections] = most[k.Connections].most(p.rungNeeds(p.sut(k.SUT), k.Connections))
		}
	}
	var rungs []Rung
	for connections, n := range most {
		rungs = append(rungs, Rung{connections, n.LoadFDs, n.SUTFDs, n.DownstreamFDs, n.LocalPorts, n.MemoryBytes})
	}
	slices.SortFunc(rungs, func(a, b Rung) int { return a.Connections - b.Connections })
	return rungs
}

// UnfitRungs are the rungs that will be skipped, in the order of the cells.
func (p *Plan) UnfitRungs() []Unfit {
	var unfit []Unfit
	for _, k := range p.Cells {
		lacks := p.Lacks(k)
		seen := func(u Unfit) bool { return u.SUT == k.SUT && u.Connections == k.Connections }
		if len(lacks) > 0 && !slices.ContainsFunc(unfit, seen) {
			unfit = append(unfit, Unfit{k.SUT, k.Connections, p.Unfit(k), lacks[0].Remedy})
		}
	}
	return unfit
}

// NothingFits tells whether every cell of the plan would be skipped.
func (p *Plan) NothingFits() bool {
	return !slices.ContainsFunc(p.Cells, func(k CellKey) bool { return len(p.Lacks(k)) == 0 })
}

// judged is a check that lacks what any cell lacks, and is fine otherwise.
func (p *Plan) judged(what, text string) *Check {
	for _, k := range p.Cells {
		for _, l := range p.Lacks(k) {
			if l.What == what {
				return &Check{what, CheckLacking, text, l.Remedy}
			}
		}
	}
	return &Check{what, CheckOK, text, ""}
}

func checkDescriptors(p *Plan) *Check {
	if p.Facts.FDLimit == 0 {
		return nil
	}
	n := p.Needs
	text := fmt.Sprintf("a process may open %d; at most the load engine takes %d", p.Facts.FDLimit, n.LoadFDs)
	if n.SUTFDs > 0 {
		text += fmt.Sprintf(", the SUT %d", n.SUTFDs)
	}
	if n.DownstreamFDs > 0 {
		text += fmt.Sprintf(", the downstream %d", n.DownstreamFDs)
	}
	return p.judged("descriptors", text)
}

func checkLocalPorts(p *Plan) *Check {
	if p.Facts.LocalPorts == 0 {
		return nil
	}
	text := fmt.Sprintf("%d to one destination; at most %d taken", p.Facts.LocalPorts, p.Needs.LocalPorts)
	switch p.Facts.Capacity.TimeWaitReuse {
	case "0":
		text += "; a closed connection keeps its port for a minute (tcp_tw_reuse 0)"
	case "1", "2":
		text += "; those in TIME_WAIT are taken again after a second"
	}
	if n := p.Facts.Capacity.TimeWait; n > 0 {
		text += fmt.Sprintf("; %d sockets are in it now", n)
	}
	return p.judged("local ports", text)
}

// burst is how many connects can be outstanding at a listener at once: the load
// engine sends no more than that, and a JVM's accept queue is 100.
const burst = 128

func checkAcceptQueue(p *Plan) *Check {
	c := p.Facts.Capacity
	if c.SoMaxConn == 0 {
		return nil
	}
	check := &Check{What: "accept queue", Status: CheckOK, Text: fmt.Sprintf("somaxconn %d", c.SoMaxConn)}
	if c.SYNBacklog > 0 {
		check.Text += fmt.Sprintf(", SYN backlog %d", c.SYNBacklog)
		if c.SYNCookies {
			check.Text += " (cookies beyond it)"
		}
	}
	switch {
	case c.SoMaxConn < burst:
		check.Status, check.Remedy = CheckNote, "`sudo sysctl -w net.core.somaxconn=4096`; connects that find the queue full are tried again a second later"
	case c.SYNBacklog > 0 && c.SYNBacklog < burst && !c.SYNCookies:
		check.Status, check.Remedy = CheckNote, "`sudo sysctl -w net.ipv4.tcp_max_syn_backlog=4096`"
	}
	return check
}

func checkMemory(p *Plan) *Check {
	if p.Facts.MemoryBytes == 0 {
		return nil
	}
	has, available := phrase.MiB(p.Facts.MemoryBytes), p.Facts.Capacity.AvailableBytes
	if available > 0 {
		has = phrase.MiB(available) + " of " + has + " available"
	}
	check := p.judged("memory", fmt.Sprintf("%s; at most about %s taken (%s)", has, phrase.MiB(p.Needs.MemoryBytes), p.Needs.memoryParts()))
	if check.Status == CheckOK && available > 0 && p.Needs.MemoryBytes > available {
		check.Status, check.Remedy = CheckNote, "end other programs: what does not fit is swapped or killed"
	}
	return check
}

func checkCores(p *Plan) *Check {
	n := p.Facts.Cores
	if n == 0 {
		return nil
	}
	check := &Check{What: "cores", Status: CheckOK, Text: fmt.Sprint(n)}
	if n < 2 {
		check.Status = CheckNote
		check.Remedy = "a JVM on one core takes the serial collector and one carrier thread, and all tiers wait for one another: use two or more"
	}
	return check
}

// idleCPUs is how much of a CPU others may use without being noticed in figures.
const idleCPUs = 0.2

func checkOtherLoad(p *Plan) *Check {
	if p.Facts.BusyCPUs < 0 || p.Facts.Cores == 0 {
		return nil
	}
	check := &Check{What: "other load", Status: CheckOK, Text: fmt.Sprintf("%.1f of %d cores busy", p.Facts.BusyCPUs, p.Facts.Cores)}
	if p.Facts.BusyCPUs > idleCPUs {
		check.Status, check.Remedy = CheckNote, "end what else runs here (`top` names it), or the figures will carry doubts"
	}
	return check
}

// What a run writes, generously: a cell with its histogram, a second of series.
const (
	cellBytes   = 64 << 10
	secondBytes = 8 << 10
	recordBytes = 1 << 20 // run.json, reports and the first lines of logs
)

// DiskBytes is about how much the run directory grows, long logs apart.
func (p *Plan) DiskBytes() int64 {
	return recordBytes + int64(len(p.Cells))*cellBytes + int64(p.Estimate.Max.Seconds())*secondBytes
}

func checkDisk(p *Plan) *Check {
	if p.Facts.DiskFree == 0 {
		return nil
	}
	check := &Check{What: "disk", Status: CheckOK, Text: fmt.Sprintf("%s free; the run writes about %s", phrase.MiB(p.Facts.DiskFree), phrase.MiB(p.DiskBytes()))}
	if p.Facts.DiskFree < p.DiskBytes() {
		check.Status, check.Remedy = CheckLacking, "make room, or choose another disk with --out"
	}
	return check
}

func checkJDK(p *Plan) *Check {
	if p.Note != "" {
		return &Check{"JDK", CheckLacking, p.Note, "install a JDK 21 or newer, or say --standins"}
	}
	var homes []string
	for _, s := range p.SUTs {
		if s.JDKHome != "" && !slices.Contains(homes, s.JDKHome) {
			homes = append(homes, s.JDKHome)
		}
	}
	if len(homes) == 0 {
		return nil
	}
	return &Check{"JDK", CheckOK, strings.Join(homes, ", "), ""}
}

func checkJars(p *Plan) *Check {
	if !p.Needs.JDK || p.Facts.FindApps == nil {
		return nil
	}
	if slices.ContainsFunc(p.SUTs, func(s SUT) bool { return s.NeedsApps() && s.Apps == "" }) {
		return &Check{"jars", CheckOK, "not built yet; the run builds them first, with Maven and a network", ""}
	}
	return &Check{"jars", CheckOK, "built", ""}
}

func checkPostgres(p *Plan) *Check {
	pg := p.Postgres
	if pg == nil {
		return nil
	}
	check := &Check{What: "PostgreSQL", Status: CheckOK, Text: postgres.Version + ", fetched already"}
	if pg.DSN != nil {
		check.Text = pg.DSN.String() + "; the run asks it first"
		return check
	}
	if _, err := postgres.ArtifactFor(postgres.Platform()); err != nil {
		check.Status, check.Text, check.Remedy = CheckLacking, "no programs for "+postgres.Platform(), "give your own database with --postgres "+postgres.DSNForm
		return check
	}
	if _, cached := postgres.Cached(postgres.Options{}); !cached {
		check.Text = postgres.Version + ", not fetched yet; the run does it first, with Maven and a network"
	}
	return check
}
