package jvm

import (
	"testing"

	"loomlab/lab/record"
	"loomlab/probes"
)

func TestMemoryMapAddsUp(t *testing.T) {
	const mb = 1 << 20
	category := func(name string, committed int64) probes.NativeCategory {
		return probes.NativeCategory{Name: name, ReservedBytes: 2 * committed, CommittedBytes: committed}
	}
	native := probes.NativeMemory{Total: category("Total", 400*mb), Categories: []probes.NativeCategory{
		category("Java Heap", 256*mb), category("Class", 8*mb), category("Metaspace", 50*mb), category("Thread", 2*mb), category("Code", 20*mb),
		category("GC", 30*mb), category("GCCardSet", mb), category("Other", 16*mb), category("Symbol", 5*mb), category("Internal", 2*mb), category("Shared class space", 13*mb),
	}}
	mappings := []probes.Mapping{
		{From: 0x1000, To: 0x2000, RSSBytes: 100 * mb, AnonymousBytes: 100 * mb}, // of the heap, a part is in use
		{From: 0x3000, To: 0x4000, Name: "/lib/libjvm.so", RSSBytes: 20 * mb, AnonymousBytes: 2 * mb},
		{From: 0x5000, To: 0x6000, RSSBytes: 180 * mb, AnonymousBytes: 180 * mb},
	}
	m := MemoryMap(native, mappings, probes.HeapRange{From: 0x1000, To: 0x2000})
	want := map[string]int64{
		record.MemoryHeap: 100, record.MemoryDirect: 16, record.MemoryStacks: 2, record.MemoryMetaspace: 58, record.MemoryCode: 20,
		record.MemoryGC: 31, record.MemoryJVM: 7, record.MemoryFiles: 18, record.MemoryRest: 48,
	}
	var sum int64
	for _, p := range m.Parts {
		sum += p.Bytes
		if p.Bytes != want[p.Name]*mb {
			t.Errorf("%s: %d MB, want %d", p.Name, p.Bytes/mb, want[p.Name])
		}
	}
	if m.RSSBytes != 300*mb || sum != m.RSSBytes || m.HeapCommittedBytes != 256*mb || len(m.Parts) != len(want) {
		t.Errorf("RSS %d, sum %d: %+v", m.RSSBytes, sum, m)
	}

	// ZGC names no addresses; its heap is a file in memory.
	mappings[0].Name = "/memfd:java_heap (deleted)"
	if z := MemoryMap(native, mappings, probes.HeapRange{}); z.Part(record.MemoryHeap) != 100*mb || z.Part(record.MemoryFiles) != 18*mb {
		t.Errorf("ZGC: %+v", z.Parts)
	}
	// Without a kernel to ask, committed stands for resident.
	if n := MemoryMap(native, nil, probes.HeapRange{}); n.RSSBytes != 400*mb || n.Part(record.MemoryHeap) != 256*mb {
		t.Errorf("no mappings: %+v", n)
	}
}
