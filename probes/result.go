// Package probes reads what the operating system and the JVM say of a process
// tree: CPU, waiting for a CPU, resident memory, threads, descriptors, heap and
// garbage collection. It puts nothing into the processes that it watches.
//
// The normal steps: [NewTree] for the first process of a tier, [Tree.Detailed]
// when a measured window opens and when it closes, [Tree.Sample] about once a
// second between, and [NewWindow] to turn the samples into one [Window]. A figure
// that cannot be had is null, and a map from field to reason says why.
//
// Limits: a JVM's figures are HotSpot's, from its hsperfdata file, which must be
// readable; waiting for a CPU, descriptors of others and the network's counters
// are Linux's.
package probes

import "strings"

// Sample is what one tier's process tree looked like at one moment. Counters
// are cumulative; a figure that could not be read is null, and Unavailable says why.
type Sample struct {
	At          float64           `json:"at"`          // seconds on the host's monotonic clock
	CPUS        *float64          `json:"cpu_s"`       // user + system of the tree, reaped children included, cumulative
	RunDelayS   *float64          `json:"run_delay_s"` // time its threads were runnable but waited for a CPU (schedstat), cumulative
	RSSBytes    *int64            `json:"rss_bytes"`   // from statm, summed over the tree
	Threads     *int64            `json:"threads"`     // OS threads of the tree
	FDs         *int64            `json:"fds"`
	Processes   int               `json:"processes"`
	Groups      []ThreadGroup     `json:"groups,omitempty"`      // threads by name, only in detailed samples
	JVM         *JVM              `json:"jvm"`                   // null when the tree has no JVM with a readable hsperfdata file
	Unavailable map[string]string `json:"unavailable,omitempty"` // field → reason
}

// ThreadGroup is the threads of a tree whose names begin alike. The counters are
// cumulative and keep what ended threads had used when they were last seen.
type ThreadGroup struct {
	Name      string  `json:"name"`        // see [GroupName]
	Threads   int64   `json:"threads"`     // alive
	CPUS      float64 `json:"cpu_s"`       // time on a CPU
	MaxCPUS   float64 `json:"max_cpu_s"`   // of its busiest thread since the previous detailed sample: one hot thread is a bottleneck
	RunDelayS float64 `json:"run_delay_s"` // time runnable but waiting for a CPU
	// Looks and Blocked are of event loops alone: how often a thread of the group
	// was looked at, and how often it was found waiting elsewhere than in epoll.
	Looks   int64 `json:"looks,omitempty"`
	Blocked int64 `json:"blocked,omitempty"`
}

// JVM is read from the hsperfdata file of the first JVM in the tree.
type JVM struct {
	PID                int          `json:"pid"`
	Version            string       `json:"version"`      // java.property.java.version, such as "25.0.3"
	Collector          string       `json:"collector"`    // "G1", "Parallel", "Serial", "ZGC", "Shenandoah"
	Flags              []string     `json:"-"`            // its arguments, of JAVA_TOOL_OPTIONS and flag files too; not repeated in every line of a series
	ThreadsLive        *int64       `json:"threads_live"` // platform threads; virtual threads are not counted
	ThreadsPeak        *int64       `json:"threads_peak"` // since JVM start
	ThreadsStarted     *int64       `json:"threads_started"`
	HeapCommittedBytes *int64       `json:"heap_committed_bytes"`
	HeapAfterGCBytes   *int64       `json:"heap_after_gc_bytes"` // old + survivor just after the last GC; null before one, and with Shenandoah
	Generations        []Generation `json:"generations"`         // of the heap; one with collectors that have none
	GC                 []GC         `json:"gc"`
	JITSeconds         *float64     `json:"jit_s"` // java.ci.totalTime, summed over compiler threads, cumulative
	JITCompiles        *int64       `json:"jit_compiles"`
	ClassesLoaded      *int64       `json:"classes_loaded"`
	MetaspaceUsedBytes *int64       `json:"metaspace_used_bytes"`  // when last collected; null before
	CodeCacheUsedBytes *int64       `json:"code_cache_used_bytes"` // null: no JDK writes it to hsperfdata; see CompiledCodeBytes
	CompiledCodeBytes  *int64       `json:"compiled_code_bytes"`   // machine code that the JIT has made so far, with what was thrown away again
	SafepointSeconds   *float64     `json:"safepoint_s"`           // all threads stopped, for GC and else, cumulative
	Safepoints         *int64       `json:"safepoints"`
}

// Generation is a part of the heap.
type Generation struct {
	Name           string `json:"name"`            // as the JVM names it: young, new, old, Heap
	CommittedBytes int64  `json:"committed_bytes"` // taken from the system
	AfterGCBytes   *int64 `json:"after_gc_bytes"`  // held just after the last collection, without eden; null before one, and with Shenandoah
}

// GC is one collector's cumulative account.
type GC struct {
	Name       string  `json:"name"`       // as the JVM names it, such as "G1 young collection pauses"
	Count      int64   `json:"count"`      // of pauses; ZGC and G1's concurrent cycle have several pauses a collection
	MS         float64 `json:"ms"`         // paused in total
	LastMS     float64 `json:"last_ms"`    // the last pause
	Concurrent bool    `json:"concurrent"` // Shenandoah: count and time mix pauses with phases beside the application
}

// Window is one tier over one measured window: differences of counters and
// extremes of gauges between its first and last sample inside.
type Window struct {
	CPUS               *float64          `json:"cpu_s"`
	Cores              *float64          `json:"cores"`              // cpu_s per second between the two samples it was taken from
	CPUUSPerRequest    *float64          `json:"cpu_us_per_request"` // filled by the orchestrator, which knows the requests
	RunDelayS          *float64          `json:"run_delay_s"`
	Groups             []ThreadGroup     `json:"groups"` // differences, busiest first; max_cpu_s is an upper bound of the busiest thread's
	RSSBytes           *Extent           `json:"rss_bytes"`
	Threads            *LivePeak         `json:"threads"`          // OS threads
	PlatformThreads    *LivePeak         `json:"platform_threads"` // of the JVM; peak is of this window
	FDsMax             *int64            `json:"fds_max"`
	HeapCommittedBytes *int64            `json:"heap_committed_bytes"`
	HeapAfterGCBytes   *int64            `json:"heap_after_gc_bytes"`
	Generations        []Generation      `json:"generations,omitempty"` // at the window's end
	GC                 *GCTotal          `json:"gc"`
	JITSeconds         *float64          `json:"jit_s"`
	JITCompiles        *int64            `json:"jit_compiles"`
	SafepointSeconds   *float64          `json:"safepoint_s"`
	Safepoints         *int64            `json:"safepoints"`
	ClassesLoaded      *int64            `json:"classes_loaded"`       // at the window's end, as the two below
	MetaspaceUsedBytes *int64            `json:"metaspace_used_bytes"` // as of the last collection
	CompiledCodeBytes  *int64            `json:"compiled_code_bytes"`
	Unavailable        map[string]string `json:"unavailable"`
}

// Extent is a gauge over a window.
type Extent struct {
	Mean int64 `json:"mean"`
	Max  int64 `json:"max"`
	End  int64 `json:"end"`
}

// LivePeak is a thread count at the end of a window and its highest sample inside.
type LivePeak struct {
	Live int64 `json:"live"`
	Peak int64 `json:"peak"`
}

// GCTotal sums the collectors' pauses over a window.
type GCTotal struct {
	Count     int64   `json:"count"`
	MS        float64 `json:"ms"`
	LongestMS float64 `json:"longest_ms"` // longest pause seen at a sample; a longer one may hide between two samples
}

// CompilerCPU is the CPU time of the JIT compilers' threads: "C1 CompilerThread0",
// which the kernel cuts to 15 bytes and newer JDKs shorten in the middle.
func CompilerCPU(groups []ThreadGroup) (seconds float64, found bool) {
	for _, g := range groups {
		if strings.HasPrefix(g.Name, "C1 Comp") || strings.HasPrefix(g.Name, "C2 Comp") || strings.HasPrefix(g.Name, "JVMCI-native") {
			seconds, found = seconds+g.CPUS, true
		}
	}
	return seconds, found
}
