package loadgen

import "fmt"

// Thresholds of the warnings.
const (
	saturatedShare = 0.85 // of the CPUs that the loops can use
	saturatedLagMS = 5
	degradedShare  = 0.01 // of the outcomes that are no ok answers
	failedShare    = 0.5
	sustainedShare = 0.99 // of the schedule that was started
	slotTolerance  = 0.01
	shortest       = 0.3 // s, below which the engine's start weighs too much
)

// warnings are the reasons to doubt res, each with a word to search for first
// and what to do about it.
func (r *run) warnings(res *Result, window *counts) []string {
	var w []string
	warn := func(format string, a ...any) { w = append(w, fmt.Sprintf(format, a...)) }
	r.warnIncomplete(res, warn)
	r.warnConnections(res, warn)
	q := res.Requests
	outcomes := q.OK + q.Non2xx + q.Errors.Total()
	bad := float64(q.Non2xx+q.Errors.Total()) / float64(max(outcomes, 1))
	switch {
	case outcomes > 0 && bad > failedShare:
		warn("failed: %.1f %% of the outcomes are not 2xx", bad*100)
	case bad > degradedShare:
		warn("degraded: %.1f %% of the outcomes are not 2xx", bad*100)
	}
	if n := redirects(window); n > 0 {
		warn("redirects: %d answers were 3xx; they are counted, never followed: use the URL they point to", n)
	}
	if window.unsolicited > 0 {
		warn("unsolicited: %d times a server sent bytes that answer no request; the connection was closed", window.unsolicited)
	}
	if window.retried > 0 {
		warn("retried: %d requests crossed the server's close of an idle connection and were sent again", window.retried)
	}
	if c := &r.job.cfg; r.opened > 0 && c.Requests == 0 && c.Timeout > c.Duration {
		warn("timeout: the limit of %v is longer than the window of %v, so no request can reach it there", c.Timeout, c.Duration)
	}
	if o := res.Open; o != nil && o.Scheduled > 0 && float64(o.Scheduled-o.NotStarted) < sustainedShare*float64(o.Scheduled) {
		warn("rate_not_sustained: %d of %d scheduled requests were not started; offered %.6g/s, ok %.6g/s",
			o.NotStarted, o.Scheduled, o.OfferedPerS, deref(res.ThroughputPerS))
	}
	if n := q.OK; n > 0 && n < 100 {
		warn("few: %d answers; p99 is the maximum", n)
	}
	r.warnEngine(res, warn)
	return w
}

// warnIncomplete tells why there is no whole window.
func (r *run) warnIncomplete(res *Result, warn func(string, ...any)) {
	c := &r.job.cfg
	switch {
	case r.interrupted && r.opened == 0:
		warn("interrupted before the window opened: nothing was measured")
	case r.interrupted:
		warn("interrupted: the window was closed after %.3g s", res.Seconds)
	case res.Connections.Established == 0:
		warn("unreachable: no connection to %s could be established", r.job.addr)
	case r.deserted:
		warn("unreachable: the server took no connection any more; %d of %d requests were sent", res.Requests.Sent, c.Requests)
	}
}

func (r *run) warnConnections(res *Result, warn func(string, ...any)) {
	n := res.Connections
	if n.Established > 0 && n.Established < n.Requested {
		warn("connections: only %d of %d were established", n.Established, n.Requested)
	}
	if r.opened > 0 && n.Established > 0 && n.Answered < n.Established && !r.countsFromStart() {
		warn("connections: %d of %d never got an answer before the window", n.Requested-n.Answered, n.Requested)
	}
	if n.Stuck != nil && *n.Stuck > 0 {
		warn("stuck: %d times a connection that had answered gave not a byte for its next request, long after others had their answers: ask whether the server still reads it (Recv-Q of `ss -tn`)", *n.Stuck)
	}
	if n.Failed.LocalPorts > 0 {
		warn("local_ports: %d connects found no free local port: the limit is the client's (net.ipv4.ip_local_port_range, TIME_WAIT)", n.Failed.LocalPorts)
	}
	if n.Failed.FDLimit > 0 {
		warn("fd_limit: %d connects found no free descriptor: raise it with `ulimit -n`", n.Failed.FDLimit)
	}
	var slow int64
	for _, w := range r.workers {
		slow += w.slowConnects
	}
	if slow > 0 {
		warn("syn_retry: %d connects took 900 ms or more; a full accept queue makes the client's SYN wait 1 s, 3 s, 7 s", slow)
	}
}

// warnEngine tells when the engine itself may have been the limit, or wrong.
func (r *run) warnEngine(res *Result, warn func(string, ...any)) {
	e := res.Engine
	if r.opened == 0 || res.Seconds < shortest {
		return
	}
	if share := (e.CPUUserS + e.CPUSystemS) / (res.Seconds * float64(e.Loops)); share >= saturatedShare {
		warn("engine_saturated: the engine used %.0f %% of its %d loops; add --loops or CPUs, or take load away", share*100, e.Loops)
	}
	if e.LagP99MS != nil && *e.LagP99MS > saturatedLagMS {
		warn("engine_late: p99 of the engine's own lateness is %.1f ms; it shares its CPUs with others or has too few", *e.LagP99MS)
	}
	if res.SlotSeconds != nil {
		want := float64(res.Connections.Requested) * res.Seconds
		if off := *res.SlotSeconds/want - 1; off > slotTolerance || off < -slotTolerance {
			warn("slot_time: %.3f s in all connections, %d × %.3f s expected: the accounting does not close", *res.SlotSeconds, res.Connections.Requested, res.Seconds)
		}
	}
}

func redirects(c *counts) (n int64) {
	for status := 300; status < 400; status++ {
		if status != 304 {
			n += c.status[status]
		}
	}
	return n
}

func deref(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

// Healthy says whether the result answers the question that was asked: something
// succeeded, on all the connections that were asked for. A connection that was
// never answered before the window is none. (With a number of requests the last
// connections may rightly get nothing to do.)
func (r *Result) Healthy() bool {
	c := r.Connections
	return r.Requests.OK > 0 && c.Established >= c.Requested && (r.RequestedS == nil || c.Answered >= c.Requested)
}

// Identity is what the accounting is short of; 0 in a sound result.
func (r *Result) Identity() int64 {
	q := r.Requests
	return q.CarriedIn + q.Sent - q.OK - q.Non2xx - q.Errors.Total() - q.InFlight
}
