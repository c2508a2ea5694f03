package verdict

import (
	"fmt"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// Doubts that the requests themselves give.

const (
	errorShare   = 0.001 // of the outcomes
	connectShare = 0.02  // of the connections' time
	retriedShare = 0.005 // of the answers: half of what p99 leaves out
	thinCycles   = 300   // windows of fewer mean latencies have a thin p99 (METHOD rule 9)
)

func fewerConnections(c record.Cell, _ Circumstances) *record.Doubt {
	k := c.Load.Connections
	if k.Answered >= k.Requested {
		return nil
	}
	return &record.Doubt{Kind: record.DoubtFewerConnections, Threshold: "every connection has one answer before the window",
		Evidence: fmt.Sprintf("%d asked, %d established, %d answered", k.Requested, k.Established, k.Answered),
		Remedy:   "raise the SUT's connection and backlog limits, or lower the rung"}
}

// stuck connections are missing in a closed loop, so that it makes less load than
// its rung says, until their requests time out.
func stuck(c record.Cell, _ Circumstances) *record.Doubt {
	n := c.Load.Connections.Stuck
	if n == nil || *n == 0 {
		return nil
	}
	return &record.Doubt{Kind: "stuck-connections", Threshold: "a connection that has answered goes on answering",
		Evidence: fmt.Sprintf("%d times one gave not a byte for its next request until the time limit; the mean answer took %.4g ms", *n, meanMS(c)),
		Remedy:   "ask whether the SUT still reads them (Recv-Q of `ss -tn`): Reactor Netty before 1.3.8, which Boot 4.0.9 brings, can stop when paths that answer at once are mixed with others"}
}

func errorsSeen(c record.Cell, _ Circumstances) *record.Doubt {
	r := c.Load.Requests
	bad := failures(c)
	if all := bad + r.OK; all == 0 || float64(bad)/float64(all) <= errorShare {
		return nil
	}
	return &record.Doubt{Kind: "errors", Threshold: "at most 0.1 % of the outcomes",
		Evidence: fmt.Sprintf("%d non-2xx, %d timeouts, %d resets, %d early ends, %d protocol errors beside %d ok",
			r.Non2xx, r.Errors.Timeout, r.Errors.Reset, r.Errors.EOF, r.Errors.Protocol+r.Errors.Other, r.OK),
		Remedy: "look at the in-app exceptions and at the SUT's log; throughput counts ok answers only"}
}

// notSteady holds for every window of a rung whose warm-up gave up.
func notSteady(_ record.Cell, about Circumstances) *record.Doubt {
	if about.Unsteady == "" {
		return nil
	}
	return &record.Doubt{Kind: "not-steady", Threshold: "warm-up ends steady", Evidence: about.Unsteady,
		Remedy: "a longer warm-up: --warmup 60s"}
}

func notQuiet(c record.Cell, _ Circumstances) *record.Doubt {
	if c.Settle == nil || c.Settle.Quiet {
		return nil
	}
	return &record.Doubt{Kind: "not-settled", Threshold: "SUT below 5 % of a core for 1 s, nothing in flight, within 5 s",
		Evidence: fmt.Sprintf("still busy after %.1f s", c.Settle.Seconds), Remedy: "the window may hold work of the one before; look at the SUT's background work"}
}

// renewed asks what reconnecting took away, not how often it happened: Tomcat
// closes every connection after 100 requests, and as long as connecting is
// quick that is a row of the table and no doubt. The connections' time that was
// spent in no request is what connects, their queue and their back-off took.
// Requests that the window cuts at its ends leave an error of up to one mean
// latency, so less than that is not held against it.
func renewed(c record.Cell, _ Circumstances) *record.Doubt {
	k, seconds := c.Load.Connections, c.Load.Seconds
	if k.OpenedInWindow == nil || *k.OpenedInWindow == 0 || c.Load.SlotSeconds == nil || c.Load.LatencyMS == nil ||
		seconds == 0 || *c.Load.SlotSeconds == 0 || float64(failures(c)) > errorShare*float64(c.Load.Requests.OK) {
		return nil
	}
	inRequests := float64(c.Load.Requests.OK) * meanMS(c) / 1e3
	share := 1 - inRequests / *c.Load.SlotSeconds
	if share <= max(connectShare, meanMS(c)/1e3/seconds) {
		return nil
	}
	return &record.Doubt{Kind: "connections-renewed", Threshold: "connecting takes at most 2 % of the connections' time",
		Evidence: fmt.Sprintf("%d reconnects of %d connections left %.1f %% of their time without a request", *k.OpenedInWindow, c.Connections, 100*share),
		Remedy:   "find who closes (Tomcat does every 100 requests) and set its keep-alive limit if it is not the subject"}
}

// retried requests carry a reconnect in their latency, and p99 shows it first.
func retried(c record.Cell, _ Circumstances) *record.Doubt {
	n := c.Load.Connections.Retried
	if float64(n) <= retriedShare*float64(c.Load.Requests.OK) {
		return nil
	}
	return &record.Doubt{Kind: "requests-retried", Metric: record.P99, Threshold: "at most 0.5 % of the requests are sent a second time",
		Evidence: fmt.Sprintf("%d of %d requests met a connection that was just closed", n, c.Load.Requests.OK),
		Remedy:   "their latency holds a reconnect; find who closes without saying so"}
}

// heavyTail is legal, and worth a look at connects and retransmits.
func heavyTail(c record.Cell, _ Circumstances) *record.Doubt {
	l := c.Load.LatencyMS
	if l == nil || l.Mean <= l.P99 {
		return nil
	}
	return &record.Doubt{Kind: "heavy-tail", Metric: record.P99, Threshold: "mean ≤ p99", Evidence: fmt.Sprintf("mean %.1f ms above p99 %.1f ms", l.Mean, l.P99),
		Remedy: "a few answers took very long: look at connects and retransmits"}
}

// thinP99 hits every short window at a long delay; it concerns p99 alone.
func thinP99(c record.Cell, _ Circumstances) *record.Doubt {
	mean := meanMS(c)
	if mean == 0 {
		return nil
	}
	cycles := c.Load.Seconds / (mean / 1e3)
	if cycles >= thinCycles {
		return nil
	}
	return &record.Doubt{Kind: "thin-p99", Metric: record.P99, Threshold: fmt.Sprintf("a window of %d mean latencies", thinCycles),
		Evidence: fmt.Sprintf("%.0f of them", cycles),
		Remedy:   "a longer window: --duration; across SUTs compare p99 at equal rate only"}
}

func tooFewForks(e record.Experiment) *record.Doubt {
	if e.Forks >= record.IntervalForks {
		return nil
	}
	return &record.Doubt{Kind: "too-few-forks", Threshold: fmt.Sprintf("%d forks for an interval of the median at 95 %%", record.IntervalForks),
		Evidence: phrase.Count(e.Forks, "fork"), Remedy: fmt.Sprintf("--forks %d; rounds of one fork are no independent repeats", record.IntervalForks)}
}
