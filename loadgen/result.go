package loadgen

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what one window of load says. It is the object that `loomlab load
// --json` prints last and that a cell of a run stores as "load". Every key is
// always present; what does not exist is null, never NaN or 0.
type Result struct {
	Schema         int              `json:"schema"`
	Target         string           `json:"target"`
	Address        string           `json:"address"` // what the host was resolved to, once
	Mode           string           `json:"mode"`    // "closed" or "open"
	Started        time.Time        `json:"started"`
	Seconds        float64          `json:"seconds"`     // measured length of the window
	RequestedS     *float64         `json:"requested_s"` // the length that was asked for; null with a number of requests
	Connections    Connections      `json:"connections"`
	Requests       Requests         `json:"requests"`
	ThroughputPerS *float64         `json:"throughput_per_s"` // ok ÷ seconds
	Status         map[string]int64 `json:"status"`
	BytesIn        int64            `json:"bytes_in"`
	// SlotSeconds is the time that all connections spent in requests, connects
	// and back-off inside the window: in a closed loop N × Seconds within 1 %,
	// or the accounting is wrong (METHOD rule 10). Null in open mode.
	SlotSeconds *float64       `json:"slot_seconds"`
	LatencyMS   *Latency       `json:"latency_ms"`
	ConnectMS   *Latency       `json:"connect_ms"`
	Open        *Open          `json:"open"`
	Targets     []TargetResult `json:"targets"`
	Warmup      *Warmup        `json:"warmup"`
	Engine      *Engine        `json:"engine"`
	Histogram   string         `json:"histogram"` // HdrHistogram V2, compressed, base64; µs, 1 µs to 1 h, 3 digits
	// Examples has the first error of each class and the first body of each
	// status that was not 2xx, shortened.
	Examples map[string]string `json:"examples"`
	Warnings []string          `json:"warnings"`

	// Part is what one generator of several says beside its result, for whoever joins them.
	Part *PartResult `json:"part,omitempty"`
	// Generators are those whose results were joined to this one; absent where there is one alone.
	Generators []Generator `json:"generators,omitempty"`
	// StartSpreadMS is how far apart the generators really began: their loads or
	// their windows, whichever is worse. Null where there is one alone.
	StartSpreadMS *float64 `json:"start_spread_ms,omitempty"`
}

// PartResult is what one generator of several says beside its result.
type PartResult struct {
	Index   int     `json:"index"`    // from 1
	Of      int     `json:"of"`       // how many generators there are
	BeganAt float64 `json:"began_at"` // when its load really began, in seconds on its host's monotonic clock; 0: it did not
	// OpenedAt is when its window opened, on the same clock; 0: it did not.
	OpenedAt float64 `json:"opened_at"`
	// Histograms are those of which the result has summaries only: connect, warmup,
	// lag, from_send, pacing and target.N.
	Histograms map[string]string `json:"histograms"`
}

// Generator is one of several that shared the load of a result, by its own account.
type Generator struct {
	Index          int      `json:"index"` // from 1
	Place          string   `json:"place"` // where it ran
	Connections    int      `json:"connections"`
	OfferedPerS    *float64 `json:"offered_per_s,omitempty"` // of an open loop
	Seconds        float64  `json:"seconds"`
	Requests       Requests `json:"requests"`
	ThroughputPerS *float64 `json:"throughput_per_s"`
	LatencyMS      *Latency `json:"latency_ms"`
	Engine         *Engine  `json:"engine"`
	RunDelayS      *float64 `json:"run_delay_s"` // time its threads waited for a CPU in the window
	// StartLateMS and OpenLateMS are how long after the instants that all were told
	// its load really began and its window opened.
	StartLateMS *float64 `json:"start_late_ms"`
	OpenLateMS  *float64 `json:"open_late_ms"`
}

// Connections accounts for the connections of a window.
type Connections struct {
	Requested   int   `json:"requested"`
	Established int   `json:"established"`
	Answered    int   `json:"answered"` // got at least one answer before the window opened
	Opened      int64 `json:"opened"`   // connects that succeeded, first ones and reconnects
	// OpenedInWindow counts the reconnects of the window alone.
	OpenedInWindow *int64 `json:"opened_in_window"`
	// ClosedByServer counts, in the window, the connections that the server ended
	// between two requests, announced or not. They are reconnects, no errors.
	ClosedByServer int64 `json:"closed_by_server"`
	// Retried counts, in the window, requests that met such an end on their way
	// and were sent again on a new connection, their clock running on.
	Retried int64 `json:"retried"`
	// Stuck counts the connections that had answered and then gave not a byte for
	// a request until its time limit, or until the run ended, when that is ten
	// times as long as its target's p99 and a second at least: where everybody waits it
	// is 0. Null when no answer tells how long one takes.
	Stuck  *int64          `json:"stuck"`
	Failed ConnectFailures `json:"failed"`
}

// ConnectFailures are connects that failed, by class. They are never requests.
type ConnectFailures struct {
	Refused    int64 `json:"refused"`
	Timeout    int64 `json:"timeout"`
	LocalPorts int64 `json:"local_ports"` // EADDRNOTAVAIL, EADDRINUSE: the client ran out of ports
	FDLimit    int64 `json:"fd_limit"`    // EMFILE, ENFILE
	Other      int64 `json:"other"`
}

// Plus adds up class by class.
func (f ConnectFailures) Plus(o ConnectFailures) ConnectFailures {
	return ConnectFailures{
		Refused: f.Refused + o.Refused, Timeout: f.Timeout + o.Timeout,
		LocalPorts: f.LocalPorts + o.LocalPorts, FDLimit: f.FDLimit + o.FDLimit, Other: f.Other + o.Other,
	}
}

// Requests holds the accounting identity of a window:
// carried_in + sent = ok + non_2xx + errors + in_flight.
type Requests struct {
	CarriedIn int64   `json:"carried_in"` // in flight when the window opened
	Sent      int64   `json:"sent"`
	OK        int64   `json:"ok"`
	Non2xx    int64   `json:"non_2xx"`
	Errors    Errors  `json:"errors"`
	InFlight  int64   `json:"in_flight"` // when the window closed
	Drained   Drained `json:"drained"`   // what became of in_flight afterwards
}

// Plus adds up outcome by outcome.
func (q Requests) Plus(o Requests) Requests {
	return Requests{
		CarriedIn: q.CarriedIn + o.CarriedIn, Sent: q.Sent + o.Sent, OK: q.OK + o.OK, Non2xx: q.Non2xx + o.Non2xx,
		Errors: q.Errors.plus(o.Errors), InFlight: q.InFlight + o.InFlight, Drained: q.Drained.plus(o.Drained),
	}
}

// Errors are requests that got no complete answer, by class.
type Errors struct {
	Timeout  int64 `json:"timeout"`
	Reset    int64 `json:"reset"`
	EOF      int64 `json:"eof"`
	Protocol int64 `json:"protocol"`
	Other    int64 `json:"other"`
}

// Total is the number of errors of all classes.
func (e Errors) Total() int64 { return e.Timeout + e.Reset + e.EOF + e.Protocol + e.Other }

func (e Errors) plus(o Errors) Errors {
	return Errors{
		Timeout: e.Timeout + o.Timeout, Reset: e.Reset + o.Reset, EOF: e.EOF + o.EOF,
		Protocol: e.Protocol + o.Protocol, Other: e.Other + o.Other,
	}
}

// Drained counts the outcomes of requests still in flight when the window closed.
type Drained struct {
	OK        int64 `json:"ok"`
	Non2xx    int64 `json:"non_2xx"`
	Errors    int64 `json:"errors"`
	Abandoned int64 `json:"abandoned"` // not answered before the drain limit
}

func (d Drained) plus(o Drained) Drained {
	return Drained{OK: d.OK + o.OK, Non2xx: d.Non2xx + o.Non2xx, Errors: d.Errors + o.Errors, Abandoned: d.Abandoned + o.Abandoned}
}

// Latency summarises a histogram, in milliseconds. A figure that does not exist,
// as of a load generator that is not ours, is NaN here and null in JSON.
type Latency struct {
	Min    float64 `json:"min"`
	Mean   float64 `json:"mean"`
	Stddev float64 `json:"stddev"`
	P50    float64 `json:"p50"`
	P75    float64 `json:"p75"`
	P90    float64 `json:"p90"`
	P95    float64 `json:"p95"`
	P99    float64 `json:"p99"`
	P999   float64 `json:"p999"`
	Max    float64 `json:"max"`
}

// Open is what only an open loop has.
type Open struct {
	OfferedPerS       float64  `json:"offered_per_s"`
	Scheduled         int64    `json:"scheduled"`
	NotStarted        int64    `json:"not_started"`
	LatencyFromSendMS *Latency `json:"latency_from_send_ms"`
	Late              int64    `json:"late"`      // started more than 10 ms after their time
	PacingMS          *Latency `json:"pacing_ms"` // how late the engine started requests for which a connection was free
}

// TargetResult is the share of one weighted target.
type TargetResult struct {
	Target    string   `json:"target"`
	Weight    float64  `json:"weight"`
	OK        int64    `json:"ok"`
	Non2xx    int64    `json:"non_2xx"`
	Errors    int64    `json:"errors"`
	LatencyMS *Latency `json:"latency_ms"`
}

// Warmup is the load before the window, kept out of every other figure.
type Warmup struct {
	Seconds   float64  `json:"seconds"`
	Requests  int64    `json:"requests"`
	Errors    int64    `json:"errors"`
	Steady    *bool    `json:"steady"`   // null when nobody judged
	FirstMS   *float64 `json:"first_ms"` // the very first answer: how cold the SUT was
	LatencyMS *Latency `json:"latency_ms"`
}

// Engine is what the load engine itself cost, over the window only.
type Engine struct {
	Kind            string   `json:"kind"` // epoll, portable
	Loops           int      `json:"loops"`
	CPUUserS        float64  `json:"cpu_user_s"`
	CPUSystemS      float64  `json:"cpu_system_s"`
	CPUUSPerRequest *float64 `json:"cpu_us_per_request"`
	LagP99MS        *float64 `json:"lag_p99_ms"` // how late the loop handled what was ready or due
	LagMaxMS        *float64 `json:"lag_max_ms"`
	MaxRSSBytes     int64    `json:"max_rss_bytes"`
}

// Event is one JSON line of `loomlab load --samples`; the last one carries the
// keys of [Result] beside event and at.
type Event struct {
	Event string  `json:"event"` // ready, sample, window or result; of one generator of several armed and primed too
	At    float64 `json:"at"`    // seconds on the host's monotonic clock
	// State of a window event: "open" at the instant the window opens, "closed"
	// at the instant it closes (connections stay open while the drain goes on).
	State  string  `json:"state,omitempty"`
	Sample *Sample `json:"sample,omitempty"`
}

// Sample is one second of load in any phase.
type Sample struct {
	Phase     string   `json:"phase"`   // connect, warmup, lead-in, window, drain
	Seconds   float64  `json:"seconds"` // what it covers: 1, but for the last one of a window and of the drain
	OK        int64    `json:"ok"`      // in this second, as the other counts
	Non2xx    int64    `json:"non_2xx"`
	Errors    int64    `json:"errors"`
	Opened    int64    `json:"opened"`    // connects that succeeded
	InFlight  int64    `json:"in_flight"` // now
	LatencyMS *Latency `json:"latency_ms"`
	// Latencies is the histogram behind latency_ms, as in a result: only of one
	// generator of several, for whoever joins them.
	Latencies string `json:"histogram,omitempty"`

	histogram func() *hdrhistogram.Histogram
}

// Histogram returns the latencies of the sample in µs, or nil. It may only be
// called while the event is being observed.
func (s *Sample) Histogram() *hdrhistogram.Histogram {
	if s.histogram == nil {
		return nil
	}
	return s.histogram()
}
