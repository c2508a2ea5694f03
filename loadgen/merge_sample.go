package loadgen

import "slices"

// phases are the names that samples have for them, in order.
var phases = []string{"connect", "warmup", "lead-in", "window", "drain"}

// MergeSamples joins the same second of several generators to one of the whole
// load. Its phase is that of the generator that is furthest behind. Where a
// generator's latencies cannot be read there are none: percentiles of the others
// would be of something else.
func MergeSamples(parts []*Sample) *Sample {
	all := &Sample{}
	latency, known := &histogram{}, true
	at := len(phases) - 1
	for _, s := range parts {
		at = min(at, max(slices.Index(phases, s.Phase), 0))
		all.Seconds = max(all.Seconds, s.Seconds)
		all.OK += s.OK
		all.Non2xx += s.Non2xx
		all.Errors += s.Errors
		all.Opened += s.Opened
		all.InFlight += s.InFlight
		h, err := decodeHistogram(s.Latencies, s.LatencyMS)
		if known = known && err == nil && (h.n > 0 || s.LatencyMS == nil); known {
			latency.merge(h)
		}
	}
	all.Phase = phases[at]
	if known {
		all.LatencyMS, all.histogram = latency.summary(), latency.hdr
	}
	return all
}
