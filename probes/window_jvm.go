package probes

import "slices"

// jvm fills the JVM's figures of a window.
func (c cutter) jvm(w *Window) {
	fields := []string{"jvm", "platform_threads", "heap_committed_bytes", "heap_after_gc_bytes", "gc", "jit_s", "jit_compiles", "safepoint_s",
		"safepoints", "classes_loaded", "metaspace_used_bytes", "compiled_code_bytes"}
	reason := ""
	switch {
	case !c.hasJVM():
		reason = c.why("jvm", NoJVM)
	case c.restarted():
		reason = "the JVM was restarted inside the window"
	}
	if reason != "" {
		for _, field := range fields {
			c.unavailable[field] = reason
		}
		return
	}
	w.PlatformThreads = c.livePeak("platform_threads", ofJVM(func(j *JVM) *int64 { return j.ThreadsLive }))
	if heap := c.extent("heap_committed_bytes", ofJVM(func(j *JVM) *int64 { return j.HeapCommittedBytes })); heap != nil {
		w.HeapCommittedBytes = &heap.End
	}
	w.JITSeconds, _ = c.difference("jit_s", func(s Sample) *float64 {
		if s.JVM == nil {
			return nil
		}
		return s.JVM.JITSeconds
	})
	w.SafepointSeconds, _ = c.difference("safepoint_s", func(s Sample) *float64 {
		if s.JVM == nil {
			return nil
		}
		return s.JVM.SafepointSeconds
	})
	if n, _ := c.difference("jit_compiles", whole(func(j *JVM) *int64 { return j.JITCompiles })); n != nil {
		compiles := int64(*n)
		w.JITCompiles = &compiles
	}
	if n, _ := c.difference("safepoints", whole(func(j *JVM) *int64 { return j.Safepoints })); n != nil {
		safepoints := int64(*n)
		w.Safepoints = &safepoints
	}
	w.ClassesLoaded = c.end("classes_loaded", func(j *JVM) *int64 { return j.ClassesLoaded })
	w.MetaspaceUsedBytes = c.end("metaspace_used_bytes", func(j *JVM) *int64 { return j.MetaspaceUsedBytes })
	w.CompiledCodeBytes = c.end("compiled_code_bytes", func(j *JVM) *int64 { return j.CompiledCodeBytes })
	c.collections(w)
}

// end is a gauge of the JVM at its last sample that has it.
func (c cutter) end(field string, get func(*JVM) *int64) *int64 {
	e := c.extent(field, ofJVM(get))
	if e == nil {
		return nil
	}
	return &e.End
}

func ofJVM(get func(*JVM) *int64) func(Sample) *int64 {
	return func(s Sample) *int64 {
		if s.JVM == nil {
			return nil
		}
		return get(s.JVM)
	}
}

// whole makes a counter of whole numbers fit [cutter.difference]; they stay far below 2^53.
func whole(get func(*JVM) *int64) func(Sample) *float64 {
	return func(s Sample) *float64 {
		if s.JVM == nil || get(s.JVM) == nil {
			return nil
		}
		f := float64(*get(s.JVM))
		return &f
	}
}

func (c cutter) hasJVM() bool {
	for _, s := range c.samples {
		if s.JVM != nil {
			return true
		}
	}
	return false
}

// restarted says whether two samples show different JVMs: another process, or counters that went backwards.
func (c cutter) restarted() bool {
	var before *JVM
	for _, s := range c.samples {
		if s.JVM == nil {
			continue
		}
		if before != nil && (s.JVM.PID != before.PID || backwards(before, s.JVM)) {
			return true
		}
		before = s.JVM
	}
	return false
}

func backwards(before, after *JVM) bool {
	if less(after.ThreadsStarted, before.ThreadsStarted) || less(after.JITCompiles, before.JITCompiles) ||
		less(after.Safepoints, before.Safepoints) {
		return true
	}
	count, _ := collected(before)
	now, _ := collected(after)
	return now < count
}

func less(a, b *int64) bool { return a != nil && b != nil && *a < *b }

// collected sums the pauses of a JVM's collectors.
func collected(j *JVM) (count int64, ms float64) {
	for _, gc := range j.GC {
		count += gc.Count
		ms += gc.MS
	}
	return count, ms
}

// collections fills pauses and the heap that was left after the last of them.
func (c cutter) collections(w *Window) {
	count, _ := c.difference("gc", whole(func(j *JVM) *int64 {
		if j.GC == nil {
			return nil
		}
		n, _ := collected(j)
		return &n
	}))
	if count == nil {
		c.unavailable["heap_after_gc_bytes"] = c.unavailable["gc"]
		return
	}
	var first, last *JVM
	for _, s := range c.samples {
		if s.JVM != nil && s.JVM.GC != nil {
			if first == nil {
				first = s.JVM
			}
			last = s.JVM
		}
	}
	w.Generations = slices.Clone(last.Generations)
	if *count == 0 {
		for i := range w.Generations {
			w.Generations[i].AfterGCBytes = nil // of a collection before the window
		}
	}
	switch {
	case last.HeapAfterGCBytes != nil && *count > 0:
		w.HeapAfterGCBytes = last.HeapAfterGCBytes
	case last.Collector == shenandoah:
		c.unavailable["heap_after_gc_bytes"] = "Shenandoah writes heap used at any time, not after a collection"
	default:
		c.unavailable["heap_after_gc_bytes"] = "no collection inside the window"
	}
	for _, gc := range last.GC {
		if gc.Concurrent {
			c.unavailable["gc"] = "Shenandoah counts phases beside the application as pauses; see safepoint_s"
			return
		}
	}
	_, before := collected(first)
	_, after := collected(last)
	w.GC = &GCTotal{Count: int64(*count), MS: after - before, LongestMS: c.longestPause()}
}

// longestPause looks at each collector's last pause wherever its count has grown since the sample before.
func (c cutter) longestPause() float64 {
	var longest float64
	seen := map[string]int64{}
	for i, s := range c.samples {
		if s.JVM == nil {
			continue
		}
		for _, gc := range s.JVM.GC {
			if before, ok := seen[gc.Name]; i > 0 && ok && gc.Count > before {
				longest = max(longest, gc.LastMS)
			}
			seen[gc.Name] = gc.Count
		}
	}
	return longest
}
