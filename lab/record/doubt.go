package record

import "slices"

// Doubt is a reason not to trust a cell fully.
type Doubt struct {
	Kind      string `json:"kind"`
	Metric    string `json:"metric,omitempty"` // name of the one [Metric] that it concerns; "": the whole cell
	Evidence  string `json:"evidence"`
	Threshold string `json:"threshold"`
	Remedy    string `json:"remedy"`
}

// Kinds of doubt that leave nothing of a figure to argue with: what was measured is
// a bug, another process, or the instrument and the machine in place of the SUT.
const (
	DoubtImpossible          = "impossible"
	DoubtFewerConnections    = "fewer-connections"
	DoubtRestarted           = "sut-restarted"
	DoubtEngineSaturated     = "engine-saturated"
	DoubtDownstreamSaturated = "downstream-saturated"
	DoubtDownstreamRejected  = "downstream-rejected"
	DoubtMachineBusy         = "machine-busy"
)

// Voids tells whether the doubt makes every figure of the cell worthless: what was
// measured cannot be, or is of something else.
func (d Doubt) Voids() bool {
	return slices.Contains([]string{DoubtImpossible, DoubtFewerConnections, DoubtRestarted}, d.Kind)
}

// OfInstrument tells whether the doubt is that the instrument, and not the SUT, was
// measured.
func (d Doubt) OfInstrument() bool {
	return slices.Contains([]string{DoubtEngineSaturated, DoubtDownstreamSaturated, DoubtDownstreamRejected}, d.Kind)
}

// Spoils tells whether the doubt, unlike others, makes a metric of the cell no
// evidence for anything. A busy machine or a slow instrument costs time, and says
// nothing against a figure of memory.
func (d Doubt) Spoils(m Metric) bool {
	return d.Voids() || m.Timed && (d.OfInstrument() || d.Kind == DoubtMachineBusy)
}
