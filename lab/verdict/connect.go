package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// The rules about connections and failures: what spoils a cell before any
// question of throughput.

// localPorts: whoever connects has run out of ports.
func localPorts(f *figures) *record.Verdict {
	k := f.cell.Load.Connections
	if failed := k.Failed.LocalPorts; failed > 0 {
		text := fmt.Sprintf("%d connects found none free. A closed connection keeps its port for 60 s (for 1 s on loopback, where Linux takes it again), so P ports allow about P ÷ 60 s new connections a second.", failed)
		if k.Established < k.Requested {
			text = fmt.Sprintf("%d of %d connections found none free; the range of net.ipv4.ip_local_port_range is too narrow for more.", k.Requested-k.Established, k.Requested)
		}
		return &record.Verdict{Kind: record.VerdictLocalPorts, Sure: float64(failed) >= 0.01*f.ok*f.seconds,
			Text:     "the load engine's local ports are the limit: " + text,
			Evidence: fmt.Sprintf("%d connects failed with EADDRNOTAVAIL%s", failed, f.timeWait())}
	}
	for text, n := range f.cell.Exceptions {
		if strings.Contains(text, "Cannot assign requested address") || strings.Contains(text, "cannot assign requested address") {
			return &record.Verdict{Kind: record.VerdictLocalPorts,
				Text:     fmt.Sprintf("the SUT's local ports are the limit: %d of its connects to the downstream found none free; does it keep its connections?", n),
				Evidence: text + f.timeWait()}
		}
	}
	return nil
}

func (f *figures) timeWait() string {
	if m := f.cell.Machine; m != nil && m.MaxTimeWait != nil {
		return fmt.Sprintf("; %d sockets in TIME_WAIT", *m.MaxTimeWait)
	}
	return ""
}

// downstreamConnections: connections of the SUT wait until the downstream
// accepts them, and it accepted none.
func downstreamConnections(f *figures) *record.Verdict {
	q, d := f.cell.AcceptQueue, f.about.Account
	if q == nil || q.Downstream == nil || *q.Downstream == 0 || d == nil || f.peak == 0 {
		return nil
	}
	open := float64(d.Connections.Open)
	if d.Connections.Accepted > 0 || f.peak > open || f.flight < 0.5*open {
		return nil
	}
	return &record.Verdict{Kind: record.VerdictDownstream, Sure: f.flight >= 0.9*open,
		Text: fmt.Sprintf("the downstream's connections are the limit: it serves %s and accepts no more, and %d wait in its accept queue. %s/s is %s.",
			phrase.Number(open), *q.Downstream, phrase.Number(f.ok), f.ratio(open, "connections")),
		Evidence: f.gauge() + fmt.Sprintf("; %s connections open, none accepted in the window, %d waiting at its beginning and at its end", phrase.Number(open), *q.Downstream)}
}

// ratio is "96 % of 200 worker threads ÷ 0.1 s = 2000/s".
func (f *figures) ratio(limit float64, what string) string {
	if f.served == 0 {
		return "what they allow"
	}
	return fmt.Sprintf("%s of %s %s ÷ %s s = %s/s", phrase.Percent(f.ok*f.served/limit), phrase.Number(limit), what, phrase.Number(f.served), phrase.Number(limit/f.served))
}

// connectionCap: connected clients wait until the SUT accepts them, for good.
func connectionCap(f *figures) *record.Verdict {
	k := f.cell.Load.Connections
	unanswered := k.Requested - k.Answered
	if unanswered <= 0 || k.Answered == 0 {
		return nil
	}
	q := f.cell.AcceptQueue
	if q == nil || q.SUT == nil || *q.SUT == 0 {
		return nil
	}
	if f.sut.known && !f.sutIdle() {
		return nil // it accepts slowly, for want of CPU
	}
	all := math.Abs(float64(*q.SUT)-float64(unanswered)) <= 0.1*float64(unanswered)
	return &record.Verdict{Kind: record.VerdictConnectionCap, Sure: all && f.sut.known && k.Established == k.Requested,
		Text: fmt.Sprintf("the SUT's connections are the limit: of %d clients %d were served; %d wait in its accept queue, where a client believes to be connected.",
			k.Requested, k.Answered, *q.SUT),
		Evidence: fmt.Sprintf("%d connections asked, %d established, %d answered, %d waiting to be accepted", k.Requested, k.Established, k.Answered, *q.SUT)}
}

// acceptQueue: a full accept queue drops connects, whose clients try again
// after 1 s, 3 s, 7 s.
func acceptQueue(f *figures) *record.Verdict {
	m, l := f.cell.Machine, f.cell.Load
	dropped := int64(0)
	if m != nil && m.ListenOverflows != nil {
		dropped = *m.ListenOverflows
	}
	outside := 0.0 // share of the connections' time in which they had no request
	if reconnects := l.Connections.OpenedInWindow; f.closed() && f.bad < manyBad && reconnects != nil && *reconnects > 0 {
		outside = 1 - f.ok*f.latency/f.n
	}
	missing := l.Connections.Established < l.Connections.Requested && l.Connections.Failed.Timeout > 0
	if !missing && outside < 0.2 || dropped == 0 {
		return nil
	}
	text := fmt.Sprintf("the SUT's accept queue is the limit: it overflowed %d times, and a dropped connect is tried again after 1 s. ", dropped)
	if missing {
		text += fmt.Sprintf("%d of %d connections came about.", l.Connections.Established, l.Connections.Requested)
	} else {
		text += fmt.Sprintf("By Little's law %s/s × %s s = %s connections have a request, so %s of %s wait for a connect (%d in the window).",
			phrase.Number(f.ok), phrase.Number3(f.latency), phrase.Number3(f.ok*f.latency), phrase.Percent(outside), phrase.Number(f.n), *l.Connections.OpenedInWindow)
	}
	v := &record.Verdict{Kind: record.VerdictAcceptQueue, Sure: dropped > 0 && outside >= 0.3, Text: text,
		Evidence: fmt.Sprintf("%d listen overflows, %d connects timed out", dropped, l.Connections.Failed.Timeout)}
	if l.ConnectMS != nil {
		v.Evidence += fmt.Sprintf(", connect p99 %s", phrase.Millis(l.ConnectMS.P99/1e3))
	}
	return v
}

// manyBad is the share of failures from which on they are what a cell is about.
const manyBad = 0.05

// outOfMemory: the SUT says so itself.
func outOfMemory(f *figures) *record.Verdict {
	for text, n := range f.cell.Exceptions {
		if strings.Contains(text, "OutOfMemoryError") {
			return &record.Verdict{Kind: record.VerdictMemory, Sure: f.bad >= manyBad,
				Text: fmt.Sprintf("memory is the limit: %d OutOfMemoryErrors inside the SUT.", n), Evidence: text}
		}
	}
	return nil
}

// downstreamFaults: the SUT fails because the downstream does.
func downstreamFaults(f *figures) *record.Verdict {
	d := f.cell.Downstream
	if d == nil || f.bad < manyBad {
		return nil
	}
	failed := d.Connections.Closed["max_conns"]
	for _, n := range d.Faults {
		failed += n
	}
	bad := f.cell.Load.Requests.Non2xx + f.cell.Load.Requests.Errors.Total()
	if float64(failed) < 0.5*float64(bad) {
		return nil
	}
	return &record.Verdict{Kind: record.VerdictDownstream, Sure: float64(failed) >= 0.8*float64(bad),
		Text:     fmt.Sprintf("the downstream fails: %d of its answers or connections did not come as they should, and %d requests failed for it.", failed, bad),
		Evidence: fmt.Sprintf("faults of the downstream: %v, %d connections over its limit", d.Faults, d.Connections.Closed["max_conns"])}
}

// stuckConnections: the SUT has lost connections, and a closed loop does without
// them until their requests time out. Whether it has them still, or the downstream
// has, its gauge tells.
func stuckConnections(f *figures) *record.Verdict {
	stuck, r := f.cell.Load.Connections.Stuck, f.cell.Load.Requests
	if stuck == nil || *stuck == 0 || !f.closed() || r.Non2xx+r.Errors.Total() > 2*r.Errors.Timeout {
		return nil
	}
	answering := f.ok * f.latency
	lost := 1 - answering/f.n
	if lost < 2*manyBad || f.flight > f.ok*f.served+0.5*lost*f.n {
		return nil
	}
	return &record.Verdict{Kind: record.VerdictErrors, Sure: f.flight > 0 && lost >= 0.3,
		Text: fmt.Sprintf("the SUT leaves connections without an answer: %d times one that had answered gave not a byte for its next request until the time limit. By Little's law %s/s × %s s = %s connections are being answered, so %s of %s wait in vain.",
			*stuck, phrase.Number(f.ok), phrase.Number3(f.latency), phrase.Number3(answering), phrase.Number3(f.n-answering), phrase.Number(f.n)),
		Evidence: strings.TrimPrefix(fmt.Sprintf("%s; %d timeouts in the window, %d in flight at its end", f.gauge(), r.Errors.Timeout, r.InFlight), "; ")}
}

// manyErrors: so many requests fail that throughput means little.
func manyErrors(f *figures) *record.Verdict {
	if f.bad < manyBad {
		return nil
	}
	r := f.cell.Load.Requests
	bad := r.Non2xx + r.Errors.Total()
	return &record.Verdict{Kind: record.VerdictErrors,
		// Timeouts are what any overload ends in; other failures are causes.
		Sure:     f.bad >= 2*manyBad && float64(r.Errors.Timeout) < 0.1*float64(bad),
		Text:     fmt.Sprintf("errors: %d of %d outcomes are none that count, %s; %s%s.", bad, bad+r.OK, phrase.Percent(f.bad), f.kindsOfErrors(), f.commonest()),
		Evidence: fmt.Sprintf("%d non-2xx, %d timeouts, %d resets, %d early ends, %d others", r.Non2xx, r.Errors.Timeout, r.Errors.Reset, r.Errors.EOF, r.Errors.Protocol+r.Errors.Other)}
}

// kindsOfErrors is "120 × 500, 3 timeouts".
func (f *figures) kindsOfErrors() string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(f.cell.Load.Status)) {
		if !strings.HasPrefix(status, "2") {
			parts = append(parts, fmt.Sprintf("%d × status %s", f.cell.Load.Status[status], status))
		}
	}
	e := f.cell.Load.Requests.Errors
	for _, class := range []struct {
		name string
		n    int64
	}{{"timeouts", e.Timeout}, {"resets", e.Reset}, {"early ends", e.EOF}, {"protocol errors", e.Protocol}, {"others", e.Other}} {
		if class.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", class.n, class.name))
		}
	}
	return strings.Join(parts, ", ")
}

// commonest is the exception that the SUT counted most often.
func (f *figures) commonest() string {
	if len(f.cell.Exceptions) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(f.cell.Exceptions), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.cell.Exceptions[b], f.cell.Exceptions[a]), cmp.Compare(a, b))
	})
	return fmt.Sprintf("; inside the SUT %d times %s", f.cell.Exceptions[names[0]], names[0])
}
