package downstream

import "loomlab/loadgen"

// Stats is the downstream's own account since its start, as served at
// /lab/stats, printed once a second with --json, and on exit. Differences of
// two Stats (see [Stats.Sub]) describe a window. Every key is always present.
type Stats struct {
	Event       string           `json:"event,omitempty"` // "ready", "stats" or "exit" in JSON lines
	At          float64          `json:"at"`              // seconds on the host's monotonic clock
	DelayMS     float64          `json:"delay_ms"`        // nominal
	Connections ConnectionCounts `json:"connections"`
	Requests    int64            `json:"requests"` // complete request heads read, of measured paths (not /lab/)
	Answered    int64            `json:"answered"`
	InFlight    int64            `json:"in_flight"` // requests waiting for their delay, now
	// InFlightMax is the peak gauge since the start, or since the Stats before
	// this one where a JSON line says so: what a hidden limit in front caps.
	InFlightMax        int64            `json:"in_flight_max"`
	RequestsPerConnMax int64            `json:"requests_per_connection_max"`
	UpgradeH2C         int64            `json:"upgrade_h2c"` // requests that carried Upgrade: h2c
	Malformed          int64            `json:"malformed"`
	Faults             map[string]int64 `json:"faults"`
	LatenessMS         *loadgen.Latency `json:"lateness_ms"`        // actual minus intended delay
	LatenessHistogram  string           `json:"lateness_histogram"` // HdrHistogram V2, compressed, base64; µs
	CPUUserS           float64          `json:"cpu_user_s"`
	CPUSystemS         float64          `json:"cpu_system_s"`
	RSSBytes           int64            `json:"rss_bytes"`
}

// ConnectionCounts counts connections; closed ones by cause.
type ConnectionCounts struct {
	Accepted       int64            `json:"accepted"`
	Open           int64            `json:"open"`
	Peak           int64            `json:"peak"`
	Closed         map[string]int64 `json:"closed"`          // peer, reset, idle, max_requests, max_idle, max_conns, lifetime, close_asked, malformed, fault
	AcceptBackoffs int64            `json:"accept_backoffs"` // accept ran out of descriptors and waited
}
