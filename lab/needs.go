package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Needs is what a run takes from the machine at its highest rung.
type Needs struct {
	JDK bool // a JDK 21 or later, and Maven or jars built before
	// Descriptors that each tier opens: a connection is one in the load, one in
	// the downstream, and in a SUT that calls the downstream two.
	LoadFDs, SUTFDs, DownstreamFDs int
	ListenPorts                    int
	LocalPorts                     int // ephemeral ports to one destination
	// MemoryBytes of all tiers together; what a command or a URL takes is not
	// known and not in it.
	MemoryBytes int64
}

const (
	ownFDs = 64  // what a tier of ours opens besides its connections
	jvmFDs = 256 // a JVM with its jars, and more than enough for a native server

	jvmBytes        = 300 << 20 // a Spring Boot app besides its heap: code, metaspace, stacks, buffers
	standinBytes    = 64 << 20
	tierBytes       = 48 << 20 // load or downstream
	connectionBytes = 32 << 10 // of one tier of ours
)

func (p *Plan) needs() Needs {
	top := int64(slices.Max(p.Experiment.Load.Connections))
	n := Needs{LoadFDs: int(top) + ownFDs, SUTFDs: int(top) + jvmFDs, LocalPorts: int(top)}
	n.MemoryBytes = tierBytes + top*connectionBytes
	if slices.ContainsFunc(p.SUTs, func(s PlannedSUT) bool { return s.Downstream != nil }) {
		n.DownstreamFDs = int(top) + ownFDs
		n.SUTFDs += int(top)
		n.ListenPorts++
		n.MemoryBytes += tierBytes + top*connectionBytes
	}
	largest := int64(0)
	listens := 0
	for _, s := range p.SUTs {
		if s.Kind != KindURL {
			listens = 1 // SUTs run one after the other
		}
		switch s.Kind {
		case KindApp:
			n.JDK = true
			largest = max(largest, heapBytes(s.JVM, p.Facts.MemoryBytes)+jvmBytes)
		case KindStandin:
			largest = max(largest, standinBytes+2*top*connectionBytes)
		}
	}
	n.ListenPorts += listens
	n.MemoryBytes += largest
	return n
}

// heapBytes is the heap that JVM flags allow: the last -Xmx, else what a JVM
// takes by itself, a quarter of the memory.
func heapBytes(flags []string, memory int64) int64 {
	heap := memory / 4
	for _, f := range flags {
		if size, ok := strings.CutPrefix(f, "-Xmx"); ok {
			if bytes, ok := jvmSize(size); ok {
				heap = bytes
			}
		}
	}
	return heap
}

// jvmSize reads a size as the JVM's flags write it: 512m, 1g, 1048576.
func jvmSize(text string) (int64, bool) {
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

// Lacking returns what the machine does not have of n, one line each with the
// figures and the remedy. What facts does not know is not judged.
func (n Needs) Lacking(facts Facts) []string {
	var lacking []string
	for _, tier := range []struct {
		name string
		fds  int
	}{{"the load engine", n.LoadFDs}, {"a SUT", n.SUTFDs}, {"the downstream", n.DownstreamFDs}} {
		if facts.FDLimit > 0 && int64(tier.fds) > facts.FDLimit {
			lacking = append(lacking, fmt.Sprintf("%s opens %d descriptors at the highest rung and a process here may open %d: raise it with `ulimit -Hn %d` as root, or choose lower --connections",
				tier.name, tier.fds, facts.FDLimit, tier.fds))
		}
	}
	if facts.LocalPorts > 0 && n.LocalPorts > facts.LocalPorts {
		lacking = append(lacking, fmt.Sprintf("the highest rung takes %d local ports to one destination and the ephemeral range holds %d: widen net.ipv4.ip_local_port_range, or choose lower --connections",
			n.LocalPorts, facts.LocalPorts))
	}
	if facts.MemoryBytes > 0 && n.MemoryBytes > facts.MemoryBytes {
		lacking = append(lacking, fmt.Sprintf("the tiers take about %s of memory and the machine has %s: lower -Xmx in the experiment file, or choose lower --connections",
			mebibytes(n.MemoryBytes), mebibytes(facts.MemoryBytes)))
	}
	return lacking
}

func (n Needs) String() string {
	var parts []string
	if n.JDK {
		parts = append(parts, "JDK 21+ and Maven (or jars built before)")
	}
	fds := fmt.Sprintf("descriptors: load %d, SUT %d", n.LoadFDs, n.SUTFDs)
	if n.DownstreamFDs > 0 {
		fds += fmt.Sprintf(", downstream %d", n.DownstreamFDs)
	}
	return strings.Join(append(parts, fds, fmt.Sprintf("%d local ports", n.LocalPorts), "about "+mebibytes(n.MemoryBytes)+" of memory"), "; ")
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
