package probes

import (
	"slices"
	"strings"
)

// jvm picks the figures out of the counters. Which there are depends on the JDK and
// the collector, so each is looked up for itself, and indices are iterated as they
// come: ZGC of JDK 17 has only collector 2 and generation 1.
func (c Counters) jvm() JVM {
	j := JVM{
		Version:            c.Strings["java.property.java.version"],
		Collector:          c.collector(),
		Flags:              strings.Fields(c.Strings["java.rt.vmArgs"] + " " + c.Strings["java.rt.vmFlags"]),
		ThreadsLive:        c.long("java.threads.live"),
		ThreadsPeak:        c.long("java.threads.livePeak"),
		ThreadsStarted:     c.long("java.threads.started"),
		HeapCommittedBytes: c.heapCommitted(),
		HeapAfterGCBytes:   c.heapAfterGC(),
		Generations:        c.generations(),
		GC:                 c.gc(),
		JITSeconds:         c.seconds("java.ci.totalTime"),
		JITCompiles:        c.long("sun.ci.totalCompiles"),
		ClassesLoaded:      c.sum("java.cls.loadedClasses", "java.cls.sharedLoadedClasses"),
		MetaspaceUsedBytes: c.metaspaceUsed(),
		CompiledCodeBytes:  c.long("sun.ci.nmethodCodeSize"),
		SafepointSeconds:   c.seconds("sun.rt.safepointTime"),
		Safepoints:         c.long("sun.rt.safepoints"),
	}
	if j.JITSeconds == nil {
		j.JITSeconds = c.seconds("sun.ci.totalTime")
	}
	return j
}

func (c Counters) long(name string) *int64 {
	if n, ok := c.Longs[name]; ok {
		return &n
	}
	return nil
}

// seconds converts a counter in ticks of the JVM's high-resolution timer, whose
// frequency the file gives: 1e9 on Linux today, which nothing promises.
func (c Counters) seconds(name string) *float64 {
	n, ok := c.Longs[name]
	frequency := c.Longs["sun.os.hrt.frequency"]
	if !ok || frequency <= 0 {
		return nil
	}
	s := float64(n) / float64(frequency)
	return &s
}

// metaspaceUsed is 0 in the file until the first collection writes it, and no JVM lives in 0 bytes: null.
func (c Counters) metaspaceUsed() *int64 {
	used := c.long("sun.gc.metaspace.used")
	if used != nil && *used == 0 {
		return nil
	}
	return used
}

// sum adds the counters that exist; null if none does.
func (c Counters) sum(names ...string) *int64 {
	var total *int64
	for _, name := range names {
		if n, ok := c.Longs[name]; ok {
			if total == nil {
				total = new(int64)
			}
			*total += n
		}
	}
	return total
}

// indexed returns the names prefix + index + suffix that exist, in order of name.
func (c Counters) indexed(prefix, suffix string) []string {
	var names []string
	for name := range c.Longs {
		middle, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if index, ok := strings.CutSuffix(middle, suffix); ok && index != "" && !strings.Contains(index, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

const (
	gcCollector  = "sun.gc.collector."
	gcGeneration = "sun.gc.generation."
	shenandoah   = "Shenandoah"
)

// gc lists the collectors; null when times cannot be converted.
func (c Counters) gc() []GC {
	var list []GC
	for _, invocations := range c.indexed(gcCollector, ".invocations") {
		base := strings.TrimSuffix(invocations, "invocations")
		total := c.seconds(base + "time")
		if total == nil {
			return nil
		}
		gc := GC{Name: c.Strings[base+"name"], Count: c.Longs[invocations], MS: *total * 1e3}
		gc.Concurrent = strings.HasPrefix(gc.Name, shenandoah)
		entry, exit := c.seconds(base+"lastEntryTime"), c.seconds(base+"lastExitTime")
		if entry != nil && exit != nil && *exit > *entry { // while it is running, entry is the later one
			gc.LastMS = (*exit - *entry) * 1e3
		}
		list = append(list, gc)
	}
	return list
}

// collector names the garbage collector by how its parts are called.
func (c Counters) collector() string {
	families := []struct{ prefix, name string }{
		{"G1 ", "G1"}, {"Parallel ", "Parallel"}, {"PS", "Parallel"}, {"Serial ", "Serial"}, {"Copy", "Serial"},
		{"ZGC", "ZGC"}, {"Z ", "ZGC"}, {shenandoah, shenandoah}, {"Epsilon", "Epsilon"},
	}
	for _, invocations := range c.indexed(gcCollector, ".invocations") {
		name := c.Strings[strings.TrimSuffix(invocations, "invocations")+"name"]
		for _, f := range families {
			if strings.HasPrefix(name, f.prefix) {
				return f.name
			}
		}
	}
	return ""
}

// heapCommitted sums the capacities of the generations: what the JVM has taken from the system for its heap.
func (c Counters) heapCommitted() *int64 {
	return c.sum(c.indexed(gcGeneration, ".capacity")...)
}

// heapAfterGC sums what all spaces but eden held when the JVM last wrote them,
// which is at the end of a pause: survivors and the old generation. Eden is left out
// for G1 (and, before JDK 25, Serial and Parallel) keeps writing it between collections.
//
// ZGC has no eden and writes at the cycle's last pause, just before the last
// regions are compacted, so its figure is an upper bound. Shenandoah writes its only
// space all the time: that is heap used now, not after a collection, so null.
// Before the first collection it is null with every collector.
func (c Counters) heapAfterGC() *int64 {
	var total *int64
	for _, g := range c.generations() {
		if g.AfterGCBytes != nil {
			if total == nil {
				total = new(int64)
			}
			*total += *g.AfterGCBytes
		}
	}
	return total
}

// generations lists those of the heap that hold anything; null without a heap.
func (c Counters) generations() []Generation {
	var collections int64
	for _, name := range c.indexed(gcCollector, ".invocations") {
		collections += c.Longs[name]
	}
	known := collections > 0 && c.collector() != shenandoah
	var list []Generation
	for _, capacity := range c.indexed(gcGeneration, ".capacity") {
		if c.Longs[capacity] == 0 {
			continue // Shenandoah's young generation has neither spaces nor size
		}
		base := strings.TrimSuffix(capacity, "capacity")
		g := Generation{Name: c.Strings[base+"name"], CommittedBytes: c.Longs[capacity]}
		if known {
			var spaces []string
			for _, used := range c.indexed(base+"space.", ".used") {
				if c.Strings[strings.TrimSuffix(used, "used")+"name"] != "eden" {
					spaces = append(spaces, used)
				}
			}
			g.AfterGCBytes = c.sum(spaces...)
		}
		list = append(list, g)
	}
	return list
}
