package probes

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
	JVM         *JVM              `json:"jvm"`                   // null when the tree has no JVM with a readable hsperfdata file
	Unavailable map[string]string `json:"unavailable,omitempty"` // field → reason
}

// JVM is read from the hsperfdata file of the first JVM in the tree.
type JVM struct {
	PID                int      `json:"pid"`
	Version            string   `json:"version"`      // java.property.java.vm.version or java.version
	Collector          string   `json:"collector"`    // "G1", "Parallel", "Serial", "ZGC", "Shenandoah"
	ThreadsLive        *int64   `json:"threads_live"` // platform threads; virtual threads are not counted
	ThreadsPeak        *int64   `json:"threads_peak"` // since JVM start
	ThreadsStarted     *int64   `json:"threads_started"`
	HeapCommittedBytes *int64   `json:"heap_committed_bytes"`
	HeapAfterGCBytes   *int64   `json:"heap_after_gc_bytes"` // old + survivor just after the last GC; null before one
	GC                 []GC     `json:"gc"`
	JITSeconds         *float64 `json:"jit_s"` // sun.ci.totalTime, cumulative
	JITCompiles        *int64   `json:"jit_compiles"`
	ClassesLoaded      *int64   `json:"classes_loaded"`
	MetaspaceUsedBytes *int64   `json:"metaspace_used_bytes"`
	CodeCacheUsedBytes *int64   `json:"code_cache_used_bytes"`
	SafepointSeconds   *float64 `json:"safepoint_s"`
}

// GC is one collector's cumulative account.
type GC struct {
	Name  string  `json:"name"`
	Count int64   `json:"count"`
	MS    float64 `json:"ms"`
}

// Window is one tier over one measured window: differences of counters and
// extremes of gauges between its first and last sample inside.
type Window struct {
	CPUS               *float64          `json:"cpu_s"`
	CPUUSPerRequest    *float64          `json:"cpu_us_per_request"` // filled by the orchestrator, which knows the requests
	RunDelayS          *float64          `json:"run_delay_s"`
	RSSBytes           *Extent           `json:"rss_bytes"`
	Threads            *LivePeak         `json:"threads"`          // OS threads
	PlatformThreads    *LivePeak         `json:"platform_threads"` // of the JVM; peak is of this window
	FDsMax             *int64            `json:"fds_max"`
	HeapCommittedBytes *int64            `json:"heap_committed_bytes"`
	HeapAfterGCBytes   *int64            `json:"heap_after_gc_bytes"`
	GC                 *GCTotal          `json:"gc"`
	JITSeconds         *float64          `json:"jit_s"`
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

// GCTotal sums the collectors' differences over a window.
type GCTotal struct {
	Count int64   `json:"count"`
	MS    float64 `json:"ms"`
}
