package plan

import (
	"fmt"
	"math"
	"slices"

	"loomlab/lab/netns"
	"loomlab/lab/phrase"
)

// A cell that this machine cannot hold is skipped from the beginning, with the
// arithmetic as its reason: failing in the middle of a rung would look like the
// SUT's fault.

// Lack is one thing of which the machine has too little for a rung.
type Lack struct {
	What   string `json:"what"`   // as [Check.What]
	Reason string `json:"reason"` // with its arithmetic
	Remedy string `json:"remedy"` // the command or the change that helps
}

// lacks says what the machine does not have for n, the worst first. What facts
// do not know is not judged.
func (n Needs) lacks(connections int, facts Facts) []Lack {
	var lacks []Lack
	for _, tier := range []struct {
		name string
		fds  int
	}{{"the SUT", n.SUTFDs}, {"the load engine", n.LoadFDs}, {"the downstream", n.DownstreamFDs}} {
		if facts.FDLimit > 0 && int64(tier.fds) > facts.FDLimit {
			lacks = append(lacks, Lack{"descriptors",
				fmt.Sprintf("%d connections need %d descriptors in %s, which may open %d", connections, tier.fds, tier.name, facts.FDLimit),
				fmt.Sprintf("`sudo prlimit --pid $$ --nofile=%d` raises the limit of this shell", tier.fds)})
		}
	}
	if facts.LocalPorts > 0 && n.LocalPorts > facts.LocalPorts {
		why := fmt.Sprintf("%d connections need %d local ports to one destination", connections, n.LocalPorts)
		if held := n.LocalPorts - connections; held > 0 {
			why += fmt.Sprintf(" (%d of them in TIME_WAIT from the rounds before)", held)
		}
		lacks = append(lacks, Lack{"local ports", fmt.Sprintf("%s, and the ephemeral range holds %d", why, facts.LocalPorts), widerPorts(n.LocalPorts)})
	}
	if facts.MemoryBytes > 0 && n.MemoryBytes > facts.MemoryBytes {
		lacks = append(lacks, Lack{"memory",
			fmt.Sprintf("%d connections need about %s of memory (%s), and the machine has %s", connections, phrase.MiB(n.MemoryBytes), n.memoryParts(), phrase.MiB(facts.MemoryBytes)),
			"lower -Xmx in the experiment file, or use a machine with more memory"})
	}
	return lacks
}

func (n Needs) memoryParts() string {
	text := "load " + phrase.MiB(n.LoadBytes)
	if n.SUTBytes > 0 {
		text += ", SUT " + phrase.MiB(n.SUTBytes)
	}
	if n.DownstreamBytes > 0 {
		text += ", downstream " + phrase.MiB(n.DownstreamBytes)
	}
	if n.PostgresBytes > 0 {
		text += ", PostgreSQL " + phrase.MiB(n.PostgresBytes)
	}
	return text
}

// widerPorts is the command that makes room for so many local ports, above the
// ports that tiers listen on where that is enough.
func widerPorts(need int) string {
	first, last := LastPort+1, 65535
	if need > last-LastPort {
		first = 1024
	}
	return fmt.Sprintf("`sudo sysctl -w net.ipv4.ip_local_port_range=\"%d %d\"` widens it", first, last)
}

// Unfit says why this machine cannot hold a cell, and which rung it could, or
// "" for one that fits. An open loop opens as many connections as fit.
func (p *Plan) Unfit(key CellKey) string {
	lacks := p.Lacks(key)
	if len(lacks) == 0 {
		return ""
	}
	reason := lacks[0].Reason
	if n := p.nearestFit(key); n > 0 {
		reason += fmt.Sprintf("; %d would fit", n)
	}
	return reason
}

// Lacks is what this machine lacks for a cell.
func (p *Plan) Lacks(key CellKey) []Lack {
	if key.Connections == 0 {
		return nil
	}
	s, facts := p.sut(key.SUT), p.Facts
	needs := p.rungNeeds(s, key.Connections)
	if s.Netns == nil {
		return needs.lacks(key.Connections, facts)
	}
	facts.LocalPorts = netns.Ports(s.Netns)
	lacks := needs.lacks(key.Connections, facts)
	for i := range lacks {
		if lacks[i].What == "local ports" { // the machine's own range is another
			lacks[i].Remedy = "widen net.ipv4.ip_local_port_range under netns: in the experiment file"
		}
	}
	return lacks
}

// nearestFit is the highest number of connections below the cell's that fits, in
// two digits and zeros, as people write rungs; 0 where none does.
func (p *Plan) nearestFit(key CellKey) int {
	low, high := 0, key.Connections // low fits, high does not
	for high-low > 1 {
		key.Connections = (low + high) / 2
		if len(p.Lacks(key)) == 0 {
			low = key.Connections
		} else {
			high = key.Connections
		}
	}
	return twoDigits(low)
}

// twoDigits rounds n down to two digits and zeros.
func twoDigits(n int) int {
	if n < 100 {
		return n
	}
	unit := int(math.Pow10(int(math.Log10(float64(n))) - 1))
	return n / unit * unit
}

// Fits tells whether any cell with so many connections fits.
func (p *Plan) Fits(connections int) bool {
	return slices.ContainsFunc(p.Cells, func(k CellKey) bool { return k.Connections == connections && len(p.Lacks(k)) == 0 })
}

// highestFit is the highest rung of a SUT that fits; 0 without one.
func (p *Plan) highestFit(sut string) int {
	top := 0
	for _, k := range p.Cells {
		if k.SUT == sut && k.Connections > top && len(p.Lacks(k)) == 0 {
			top = k.Connections
		}
	}
	return top
}
