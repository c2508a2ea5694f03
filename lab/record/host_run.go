package record

// HostRun is another machine that tiers of a run were on.
type HostRun struct {
	Name     string          `json:"name"`    // as places call it
	Reach    string          `json:"reach"`   // the command that reached it
	Address  string          `json:"address"` // at which others reached its tiers
	Machine  Machine         `json:"machine"`
	BusyCPUs *float64        `json:"busy_cpus"` // of its CPUs, busy before anything was started; null: not known
	Clock    ClockComparison `json:"clock"`
}

// ClockComparison is how far a machine's monotonic clock was ahead of the
// orchestrator's. Every time in the record is on the orchestrator's: the offset
// was taken off. What was compared last stands here.
type ClockComparison struct {
	OffsetS float64 `json:"offset_s"`
	ErrorS  float64 `json:"error_s"` // it is off by at most so much: half the round trip
	RTTMS   float64 `json:"rtt_ms"`  // of the question with the shortest, through the command that reaches the host
	Samples int     `json:"samples"` // questions so far
}

// Path is the way between two tiers, as the calling one's machine saw it.
type Path struct {
	SUT    string  `json:"sut"`
	Fork   int     `json:"fork"`
	From   string  `json:"from"` // tier
	To     string  `json:"to"`
	Host   string  `json:"host"` // of the caller; local is the orchestrator's machine
	ToHost string  `json:"to_host"`
	RTTMS  float64 `json:"rtt_ms"` // shortest of several TCP connects
}
