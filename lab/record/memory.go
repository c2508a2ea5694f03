package record

import "slices"

// Parts of a JVM's resident memory, as [MemoryMap] names them.
const (
	MemoryHeap      = "heap"
	MemoryStacks    = "thread stacks"
	MemoryDirect    = "direct buffers"
	MemoryMetaspace = "metaspace"
	MemoryCode      = "compiled code"
	MemoryGC        = "GC structures"
	MemoryJVM       = "other JVM"
	MemoryFiles     = "files"
	MemoryRest      = "malloc and rest" // what nobody accounts for: fragmentation of malloc, native libraries
)

// MemoryParts are all of them, in the order of a table.
var MemoryParts = []string{MemoryHeap, MemoryDirect, MemoryStacks, MemoryMetaspace, MemoryCode, MemoryGC, MemoryJVM, MemoryFiles, MemoryRest}

// MemoryMap says where a SUT's resident memory was at one moment. The kernel
// says what of the heap and of files is resident; native memory tracking says what
// the JVM committed for its other purposes, which it nearly always also touches; the
// rest is the difference to the RSS, and negative where the JVM did not touch all.
type MemoryMap struct {
	At                 float64      `json:"at"` // seconds on the host's monotonic clock
	RSSBytes           int64        `json:"rss_bytes"`
	HeapCommittedBytes int64        `json:"heap_committed_bytes"` // resident or not
	Parts              []MemoryPart `json:"parts"`                // they add up to rss_bytes
}

// MemoryPart is one use of resident memory.
type MemoryPart struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Part is the resident size of one part; 0 where there is none.
func (m *MemoryMap) Part(name string) int64 {
	for _, p := range m.Parts {
		if p.Name == name {
			return p.Bytes
		}
	}
	return 0
}

// CellMemory is a SUT's memory around a cell, where --memory asks for it.
type CellMemory struct {
	Before    *MemoryMap `json:"before"`     // quiet, before the load began
	After     *MemoryMap `json:"after"`      // when the window closed
	PeakBytes *int64     `json:"peak_bytes"` // highest RSS since the load began
}

// MemoryChange is how a part grew between two moments.
type MemoryChange struct {
	Name     string
	From, To int64
}

// By is the growth in bytes.
func (c MemoryChange) By() int64 { return c.To - c.From }

// MemoryGrowth lists every part that either map has, in the order of [MemoryParts].
func MemoryGrowth(from, to *MemoryMap) []MemoryChange {
	var names []string
	for _, m := range []*MemoryMap{from, to} {
		for _, p := range m.Parts {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	order := func(name string) int {
		if i := slices.Index(MemoryParts, name); i >= 0 {
			return i
		}
		return len(MemoryParts)
	}
	slices.SortStableFunc(names, func(a, b string) int { return order(a) - order(b) })
	var changes []MemoryChange
	for _, name := range names {
		changes = append(changes, MemoryChange{name, from.Part(name), to.Part(name)})
	}
	return changes
}
