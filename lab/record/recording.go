package record

// Recording is one window with the flight recorder on, right after the same rung
// was measured without it, and what the recording shows. It stands apart from the
// cells, so that no figure of theirs was made with a recorder running.
type Recording struct {
	SUT         string `json:"sut"`
	Fork        int    `json:"fork"`
	Connections int    `json:"connections"`
	File        string `json:"file"` // the recording, in the run directory
	// FlameGraph and AllocationGraph are SVG files beside it; "" without samples.
	FlameGraph      string `json:"flame_graph,omitempty"`
	AllocationGraph string `json:"allocation_graph,omitempty"`
	// CPUStacks and AllocationStacks are the files of [Stacks] that these were drawn from.
	CPUStacks        string `json:"cpu_stacks,omitempty"`
	AllocationStacks string `json:"allocation_stacks,omitempty"`

	Cell    *Cell          `json:"cell"`    // the window that was recorded
	Without *RecordingCost `json:"without"` // the last round before it
	With    *RecordingCost `json:"with"`

	Samples    int64            `json:"samples"` // CPU samples inside the window
	CPU        []HotMethod      `json:"cpu"`     // by samples, busiest first
	Allocation []HotMethod      `json:"allocation"`
	Pinned     *PinnedThreads   `json:"pinned"` // null where the JVM has no virtual threads
	GC         *RecordedPauses  `json:"gc"`
	Sockets    []SocketWait     `json:"sockets"`
	Threads    *RecordedThreads `json:"threads"`
	Events     map[string]int64 `json:"events"` // how many of each type the whole recording holds
	Unsure     []string         `json:"unsure"` // what to know about these figures
	Failed     string           `json:"failed"` // why there is no recording, or ""
	Span       [2]float64       `json:"span"`   // of the window, in seconds on the clock of the series
}

// RecordingCost is what the recorder may change, in one window.
type RecordingCost struct {
	ThroughputPerS  *float64 `json:"throughput_per_s"`
	P50MS           *float64 `json:"p50_ms"`
	P99MS           *float64 `json:"p99_ms"`
	CPUUSPerRequest *float64 `json:"cpu_us_per_request"` // of the SUT
}

// CostOf picks them from a cell; nil from one that was not measured.
func CostOf(c *Cell) *RecordingCost {
	if c == nil || c.Status != "ok" || c.Load == nil {
		return nil
	}
	cost := &RecordingCost{ThroughputPerS: c.Load.ThroughputPerS, CPUUSPerRequest: cpuPerRequest(TierSUT)(c)}
	if l := c.Load.LatencyMS; l != nil {
		cost.P50MS, cost.P99MS = &l.P50, &l.P99
	}
	return cost
}

// HotMethod is a method with its share of samples or of allocated bytes.
type HotMethod struct {
	Method string  `json:"method"` // class and method; of an allocation the class that is allocated, and where
	Weight int64   `json:"weight"` // samples, or bytes by estimate
	Share  float64 `json:"share"`
}

// PinnedThreads is the time in which virtual threads blocked without leaving their carriers.
type PinnedThreads struct {
	Count     int64         `json:"count"` // of 20 ms or more each: shorter ones are not recorded
	TotalMS   float64       `json:"total_ms"`
	LongestMS float64       `json:"longest_ms"`
	Stacks    []PinnedStack `json:"stacks"` // most time first
}

// PinnedStack is where they did it.
type PinnedStack struct {
	Frames  []string `json:"frames"` // innermost first
	Reason  string   `json:"reason,omitempty"`
	Count   int64    `json:"count"`
	TotalMS float64  `json:"total_ms"`
}

// RecordedPauses are the GC pauses that the recorder saw.
type RecordedPauses struct {
	Count     int64   `json:"count"`
	TotalMS   float64 `json:"total_ms"`
	LongestMS float64 `json:"longest_ms"`
}

// SocketWait sums the reads and writes that blocked a thread on one peer for 10 ms or more.
type SocketWait struct {
	Peer      string  `json:"peer"`
	Count     int64   `json:"count"`
	TotalMS   float64 `json:"total_ms"`
	LongestMS float64 `json:"longest_ms"`
}

// RecordedThreads are platform threads, as the JVM counts them.
type RecordedThreads struct {
	Active int64 `json:"active"` // highest inside the window
	Peak   int64 `json:"peak"`   // since the JVM started
}
