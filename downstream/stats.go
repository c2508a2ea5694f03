package downstream

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/HdrHistogram/hdrhistogram-go"

	"loomlab/clock"
	"loomlab/loadgen"
)

// Stats is the downstream's own account since its start, as served at
// /lab/stats, printed once a second with --json, and on exit. Differences of
// two Stats (see [Stats.Sub]) describe a window. Every key is always present.
//
// Two identities hold: accepted = open + the sum of closed, and requests =
// answered + in_flight + lost.
type Stats struct {
	Event       string           `json:"event,omitempty"` // "ready", "stats" or "exit" in JSON lines
	At          float64          `json:"at"`              // seconds on the host's monotonic clock
	URL         string           `json:"url"`
	DelayMS     float64          `json:"delay_ms"` // nominal
	Connections ConnectionCounts `json:"connections"`
	Requests    int64            `json:"requests"`  // complete requests, of measured paths (not /lab/)
	Answered    int64            `json:"answered"`  // complete answers handed to the kernel
	Lost        int64            `json:"lost"`      // requests whose connection ended before the whole answer, by a fault or by the client
	InFlight    int64            `json:"in_flight"` // requests waiting for their delay, now
	// InFlightMax is the peak of the gauge since the start; in a "stats" line,
	// since the line before it: what a hidden limit in front caps. With several
	// loops it is the sum of their peaks, an upper bound.
	InFlightMax int64 `json:"in_flight_max"`
	// InFlightS is the gauge summed over time, in request seconds: a difference
	// divided by the seconds is the mean in flight, divided by the answers the
	// mean time that a request spent here.
	InFlightS float64 `json:"in_flight_s"`
	// RootGaps sums the square roots of the seconds between each request and the
	// next, see [Evenness].
	RootGaps           float64          `json:"root_gaps"`
	RequestsPerConnMax int64            `json:"requests_per_connection_max"`
	UpgradeH2C         int64            `json:"upgrade_h2c"` // requests that carried Upgrade: h2c
	Malformed          int64            `json:"malformed"`
	Faults             map[string]int64 `json:"faults"`
	GRPCRequests       int64            `json:"grpc_requests"`
	GRPCInFlight       int64            `json:"grpc_in_flight"`
	LatenessMS         *loadgen.Latency `json:"lateness_ms"`        // actual minus intended delay
	LatenessHistogram  string           `json:"lateness_histogram"` // HdrHistogram V2, compressed, base64; µs
	CPUUserS           float64          `json:"cpu_user_s"`
	CPUSystemS         float64          `json:"cpu_system_s"`
	RSSBytes           int64            `json:"rss_bytes"`
}

// ConnectionCounts counts connections; closed ones by cause.
type ConnectionCounts struct {
	Accepted int64 `json:"accepted"`
	Open     int64 `json:"open"`
	Peak     int64 `json:"peak"`
	// Closed has every cause as a key: peer (the client closed), reset (by the
	// client), idle, max_requests, max_idle, max_conns, lifetime, close_asked (by
	// the client's Connection: close or HTTP/1.0), malformed, fault.
	Closed         map[string]int64 `json:"closed"`
	AcceptBackoffs int64            `json:"accept_backoffs"` // accept ran out of descriptors and waited
}

// Stats returns the account as it is now.
func (s *Server) Stats() Stats { return s.stats("", false) }

// stats builds a Stats; a new period begins with it where newPeriod says so.
func (s *Server) stats(event string, newPeriod bool) Stats {
	a := s.collect(newPeriod)
	st := Stats{
		Event: event, At: clock.Now().Seconds(), URL: s.URL(), DelayMS: s.cfg.Delay.Seconds() * 1e3,
		Connections: ConnectionCounts{
			Accepted: a.accepted, Open: a.open, Peak: a.peak, Closed: map[string]int64{}, AcceptBackoffs: a.backoffs,
		},
		Requests: a.requests, Answered: a.answered, Lost: a.lost, InFlight: a.inFlight, InFlightMax: a.inFlightMax,
		InFlightS: a.inFlightS, RootGaps: a.rootGaps,
		RequestsPerConnMax: a.perConnMax, UpgradeH2C: a.upgradeH2C, Malformed: a.malformed, Faults: map[string]int64{},
	}
	if newPeriod {
		st.InFlightMax = a.inFlightPeak
	}
	for i, name := range causeNames {
		if name != "" {
			st.Connections.Closed[name] = a.closed[i]
		}
	}
	for i, f := range s.cfg.Faults {
		st.Faults[f.String()] += a.faults[i]
	}
	if s.grpc != nil {
		st.GRPCRequests, st.GRPCInFlight = s.grpc.requests.Load(), s.grpc.inFlight.Load()
	}
	st.setLateness(a.lateness)
	st.CPUUserS, st.CPUSystemS, st.RSSBytes = self()
	return st
}

// statsJSON is the body of /lab/stats.
func (s *Server) statsJSON() []byte {
	b, err := json.Marshal(s.Stats())
	if err != nil {
		panic(err) // plain fields of finite numbers
	}
	return append(b, '\n')
}

// setLateness fills in what h says.
func (s *Stats) setLateness(h *hdrhistogram.Histogram) {
	s.LatenessMS, s.LatenessHistogram = nil, ""
	if h == nil || h.TotalCount() == 0 {
		return
	}
	ms := func(us float64) float64 { return us / 1e3 }
	at := func(p float64) float64 { return ms(float64(min(h.ValueAtPercentile(p), h.Max()))) }
	s.LatenessMS = &loadgen.Latency{
		Min: ms(float64(h.Min())), Mean: ms(h.Mean()), Stddev: ms(h.StdDev()), Max: ms(float64(h.Max())),
		P50: at(50), P75: at(75), P90: at(90), P95: at(95), P99: at(99), P999: at(99.9),
	}
	// Encoding fails only on histograms that New cannot make.
	if b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err == nil {
		s.LatenessHistogram = string(b)
	}
}

// Sub returns what happened between earlier and s, two accounts of one server:
// counts and CPU are differences, gauges (open, in flight, RSS) and peaks are
// those of s, and the lateness is that of the answers between the two. Without
// a histogram in s, or with one that cannot be read, the lateness is nil.
func (s Stats) Sub(earlier Stats) Stats {
	d := s
	d.Connections.Accepted -= earlier.Connections.Accepted
	d.Connections.AcceptBackoffs -= earlier.Connections.AcceptBackoffs
	d.Connections.Closed = subCounts(s.Connections.Closed, earlier.Connections.Closed)
	d.Faults = subCounts(s.Faults, earlier.Faults)
	d.Requests -= earlier.Requests
	d.Answered -= earlier.Answered
	d.Lost -= earlier.Lost
	d.InFlightS -= earlier.InFlightS
	d.RootGaps -= earlier.RootGaps
	d.UpgradeH2C -= earlier.UpgradeH2C
	d.Malformed -= earlier.Malformed
	d.GRPCRequests -= earlier.GRPCRequests
	d.CPUUserS -= earlier.CPUUserS
	d.CPUSystemS -= earlier.CPUSystemS
	h, err := subHistogram(s.LatenessHistogram, earlier.LatenessHistogram)
	if err != nil {
		h = nil
	}
	d.setLateness(h)
	return d
}

// Evenness says how evenly the requests of a difference of two Stats, seconds
// apart, came: (mean √gap)² ÷ mean gap. It is 1 when they came like clockwork,
// as behind a lock or a server that takes one at a time, about 0.79 when they
// came at random, and less in bursts. Nil with fewer than 20 requests.
func (s Stats) Evenness(seconds float64) *float64 {
	if s.Requests < 20 || seconds <= 0 {
		return nil
	}
	e := min(1, s.RootGaps*s.RootGaps/(float64(s.Requests)*seconds))
	return &e
}

func subCounts(now, before map[string]int64) map[string]int64 {
	d := maps.Clone(now)
	for name, n := range before {
		d[name] -= n
	}
	return d
}

// subHistogram is the difference of two encoded histograms of one series.
func subHistogram(now, before string) (*hdrhistogram.Histogram, error) {
	if now == "" || before == "" {
		return decodeHistogram(now)
	}
	a, err := decodeHistogram(now)
	if err != nil {
		return nil, err
	}
	b, err := decodeHistogram(before)
	if err != nil {
		return nil, err
	}
	x, y := a.Export(), b.Export()
	if x.LowestTrackableValue != y.LowestTrackableValue || x.HighestTrackableValue != y.HighestTrackableValue || x.SignificantFigures != y.SignificantFigures {
		return nil, fmt.Errorf("histograms of different geometry")
	}
	for i := range x.Counts {
		if x.Counts[i] -= y.Counts[i]; x.Counts[i] < 0 {
			return nil, fmt.Errorf("the later histogram holds less than the earlier one")
		}
	}
	return hdrhistogram.Import(x), nil
}

func decodeHistogram(text string) (*hdrhistogram.Histogram, error) {
	if text == "" {
		return nil, nil
	}
	return hdrhistogram.Decode([]byte(text))
}
