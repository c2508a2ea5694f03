package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"loomlab/clock"
	"loomlab/lab/record"
	"loomlab/probes"
)

// nmtFlag makes a JVM keep the account that --memory reads. It costs the JVM some
// 2 % of time and a few bytes for each malloc, so it is there only when asked for.
const nmtFlag = "-XX:NativeMemoryTracking=summary"

// memory is where the SUT's memory is now: jcmd asks its JVM, and the kernel is
// asked for the parts that are resident. Nil, with the reason, where either cannot say.
// It takes half a second of a CPU and belongs outside every window.
func (f *fork) memory(ctx context.Context) (*record.MemoryMap, string) {
	jvm, reason := f.tools()
	if reason != "" {
		return nil, reason
	}
	at := clock.Now().Seconds()
	mappings, err := f.watch.fs.Mappings(jvm.pid) // first: jcmd makes the JVM allocate
	if errors.Is(err, probes.ErrNeedsLinux) {
		mappings = nil
	} else if err != nil {
		return nil, fmt.Sprintf("what is resident cannot be read: %v", err)
	}
	answer, err := jvm.ask(ctx, "VM.native_memory", "summary")
	if err != nil {
		return nil, err.Error()
	}
	native, err := probes.ParseNativeMemory(strings.NewReader(answer))
	if err != nil {
		return nil, err.Error()
	}
	if f.heap == nil { // it never moves
		heap := probes.HeapRange{}
		if info, err := jvm.ask(ctx, "GC.heap_info"); err == nil {
			heap, _ = probes.ParseHeapRange(info)
		}
		f.heap = &heap
	}
	m := memoryMap(native, mappings, *f.heap)
	m.At = at
	return &m, ""
}

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

// memoryMap joins what the JVM accounts for with what the kernel has in memory.
// Without mappings, which only Linux has, committed stands for resident throughout.
func memoryMap(native probes.NativeMemory, mappings []probes.Mapping, heap probes.HeapRange) record.MemoryMap {
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

// mapMemory notes the SUT's memory under name in the cell, or why it is not known.
func (w *window) mapMemory(ctx context.Context, set func(c *record.CellMemory, m *record.MemoryMap)) {
	if !w.f.plan.Experiment.Memory || w.f.bare {
		return
	}
	m, reason := w.f.memory(ctx)
	if m == nil {
		w.memoryReason = reason
		return
	}
	if w.memory == nil {
		w.memory = &record.CellMemory{}
	}
	set(w.memory, m)
}

// joinMemory keeps the two maps of a cell; one alone says how nothing grew.
func (w *window) joinMemory() {
	switch {
	case !w.f.plan.Experiment.Memory || w.f.bare:
	case w.memory == nil || w.memory.After == nil || w.memory.Before == nil:
		w.cell.Unavailable["memory"] = w.memoryReason
	default:
		w.memory.PeakBytes = w.peakRSS
		w.cell.Memory = w.memory
	}
}
