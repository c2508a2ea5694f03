package record

// Kinds of verdict: what held a cell back.
const (
	VerdictClientLimited = "client-limited" // connections ÷ delay is reached, or the offered rate is met
	VerdictWorkerThreads = "worker-threads"
	VerdictClientPool    = "client-pool" // the SUT's connections to the downstream
	VerdictDBPool        = "db-pool"
	VerdictLock          = "lock" // one at a time through something that is not a CPU
	VerdictCPU           = "cpu"  // the text says whose
	VerdictHotThread     = "hot-thread"
	VerdictBlockedLoop   = "blocked-event-loop" // its threads wait where no event loop should
	VerdictDownstream    = "downstream"
	VerdictLoadEngine    = "load-engine"
	VerdictAcceptQueue   = "accept-queue"
	VerdictConnectionCap = "connection-cap"
	VerdictLocalPorts    = "local-ports"
	VerdictDelayedACK    = "delayed-ack"
	VerdictMemory        = "memory"
	VerdictErrors        = "errors"
	VerdictUnknown       = "unknown"
)

// Regimes group the kinds by what can be compared (METHOD rule 8).
const (
	RegimeClient = "client" // the load sets the throughput: compare CPU per request and p50 minus delay
	RegimePool   = "pool"   // a limit of the SUT does: compare CPU per request
	RegimeCPU    = "cpu"    // the SUT's CPU does: compare throughput
	RegimeNone   = ""       // not known, or not the SUT's doing: nothing to compare
)

// Regime says what may be compared of a cell with this verdict. A nil verdict
// has none.
func (v *Verdict) Regime() string {
	if v == nil {
		return RegimeNone
	}
	switch v.Kind {
	case VerdictClientLimited:
		return RegimeClient
	case VerdictWorkerThreads, VerdictClientPool, VerdictDBPool, VerdictLock, VerdictBlockedLoop, VerdictConnectionCap, VerdictAcceptQueue:
		return RegimePool
	case VerdictCPU, VerdictHotThread, VerdictMemory:
		return RegimeCPU
	}
	return RegimeNone
}

// InFlight is the downstream's gauge of requests in flight over a window. What
// caps it is a limit in front of the downstream, declared or not.
type InFlight struct {
	Mean     float64  `json:"mean"`
	Peaks    []int64  `json:"peaks"`     // of each second, newest last; the first may reach into the lead-in
	ServedMS *float64 `json:"served_ms"` // mean time that a request spent in the downstream
	Evenness *float64 `json:"evenness"`  // of the times at which requests came, see downstream.Stats.Evenness
}

// Peak is the highest of the peaks, 0 without any.
func (f *InFlight) Peak() int64 {
	var peak int64
	for _, n := range f.Peaks {
		peak = max(peak, n)
	}
	return peak
}

// AcceptQueues counts the connections that waited to be accepted, at the end of
// a window where they waited at its beginning too.
type AcceptQueues struct {
	SUT        *int64 `json:"sut"`
	Downstream *int64 `json:"downstream"`
}
