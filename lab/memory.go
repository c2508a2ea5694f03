package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"loomlab/clock"
	"loomlab/lab/jvm"
	"loomlab/lab/record"
	"loomlab/probes"
)

// memory is where the SUT's memory is now: jcmd asks its JVM, and the kernel is
// asked for the parts that are resident. Nil, with the reason, where either cannot say.
// It takes half a second of a CPU and belongs outside every window.
func (f *fork) memory(ctx context.Context) (*record.MemoryMap, string) {
	sut, reason := f.insides(ctx)
	if reason != "" {
		return nil, reason
	}
	at := clock.Now().Seconds()
	mappings, err := sut.mappings(ctx) // first: jcmd makes the JVM allocate
	if errors.Is(err, probes.ErrNeedsLinux) {
		mappings = nil
	} else if err != nil {
		return nil, fmt.Sprintf("what is resident cannot be read: %v", err)
	}
	answer, err := sut.Ask(ctx, "VM.native_memory", "summary")
	if err != nil {
		return nil, err.Error()
	}
	native, err := probes.ParseNativeMemory(strings.NewReader(answer))
	if err != nil {
		return nil, err.Error()
	}
	if f.heap == nil { // it never moves
		heap := probes.HeapRange{}
		if info, err := sut.Ask(ctx, "GC.heap_info"); err == nil {
			heap, _ = probes.ParseHeapRange(info)
		}
		f.heap = &heap
	}
	m := jvm.MemoryMap(native, mappings, *f.heap)
	m.At = at
	return &m, ""
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
