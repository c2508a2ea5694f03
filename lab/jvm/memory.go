package jvm

import (
	"strings"

	"loomlab/lab/record"
	"loomlab/probes"
)

// NMTFlag makes a JVM keep the account that --memory reads. It costs the JVM some
// 2 % of time and a few bytes for each malloc, so it is there only when asked for.
const NMTFlag = "-XX:NativeMemoryTracking=summary"

// Purposes of native memory tracking that are parts of their own. "Other" is
// what Unsafe allocates, which means direct buffers: those of java.nio and of Netty.
var nativeParts = map[string]string{
	"Java Heap": record.MemoryHeap,
	"Other":     record.MemoryDirect,
	"Class":     record.MemoryMetaspace,
	"Metaspace": record.MemoryMetaspace,
	"Code":      record.MemoryCode,
	"GC":        record.MemoryGC, "GCCardSet": record.MemoryGC, "Card Table": record.MemoryGC,
	"Thread": record.MemoryStacks, "Thread Stack": record.MemoryStacks,
	"Shared class space": "", // mapped from a file, and counted with those
}

// MemoryMap joins what the JVM accounts for with what the kernel has in memory.
// Without mappings, which only Linux has, committed stands for resident throughout.
func MemoryMap(native probes.NativeMemory, mappings []probes.Mapping, heap probes.HeapRange) record.MemoryMap {
	parts := map[string]int64{}
	for _, c := range native.Categories {
		part, known := nativeParts[c.Name]
		if !known {
			part = record.MemoryJVM
		}
		if part != "" {
			parts[part] += c.CommittedBytes
		}
	}
	m := record.MemoryMap{HeapCommittedBytes: parts[record.MemoryHeap], RSSBytes: native.Total.CommittedBytes}
	if mappings != nil {
		var resident int64
		m.RSSBytes, resident, parts[record.MemoryFiles] = residentParts(mappings, heap)
		if resident > 0 { // none found: a heap that nothing tells apart
			parts[record.MemoryHeap] = resident
		}
	}
	rest := m.RSSBytes
	for _, name := range record.MemoryParts {
		if n, ok := parts[name]; ok {
			m.Parts = append(m.Parts, record.MemoryPart{Name: name, Bytes: n})
			rest -= n
		}
	}
	m.Parts = append(m.Parts, record.MemoryPart{Name: record.MemoryRest, Bytes: rest})
	return m
}

// residentParts sums what is in memory: all of it, the heap, and what is backed by files.
func residentParts(mappings []probes.Mapping, heap probes.HeapRange) (all, ofHeap, ofFiles int64) {
	for _, m := range mappings {
		all += m.RSSBytes
		switch {
		case m.From >= heap.From && m.To <= heap.To, strings.Contains(m.Name, "java_heap"): // ZGC's is a file in memory
			ofHeap += m.RSSBytes
		case strings.HasPrefix(m.Name, "/"):
			ofFiles += m.RSSBytes - m.AnonymousBytes
		}
	}
	return all, ofHeap, ofFiles
}
