package loadgen

import "time"

// counts is what one loop counts in one phase. Loops never share one; they are
// added up after the loops have ended.
type counts struct {
	sent, ok, non2xx int64
	errors           [errClasses]int64
	status           [1000]int64
	bytes            int64
	opened           int64
	closedByServer   int64
	retried          int64
	unsolicited      int64 // bytes that answered nothing
	late             int64
	slotTime         time.Duration
	targets          []targetCounts
	fromSend         histogram // open loop only; targets have the latency from the schedule
	pacing           histogram // open loop only
	lag              histogram
}

// targetCounts is the share of one target.
type targetCounts struct {
	ok, non2xx, errors int64
	unheard            int64 // of the errors: see [slot.unheard]
	latency            histogram
}

func newCounts(targets int) *counts {
	return &counts{targets: make([]targetCounts, targets)}
}

func (c *counts) errorTotal() int64 {
	var n int64
	for _, k := range c.errors {
		n += k
	}
	return n
}

// answers is the sum and number of the ok latencies so far.
func (c *counts) answers() (sum float64, n int64) {
	for i := range c.targets {
		sum += c.targets[i].latency.sum
		n += c.targets[i].latency.n
	}
	return sum, n
}

func (c *counts) merge(other *counts) {
	c.sent += other.sent
	c.ok += other.ok
	c.non2xx += other.non2xx
	for i, n := range other.errors {
		c.errors[i] += n
	}
	for i, n := range other.status {
		c.status[i] += n
	}
	c.bytes += other.bytes
	c.opened += other.opened
	c.closedByServer += other.closedByServer
	c.retried += other.retried
	c.unsolicited += other.unsolicited
	c.late += other.late
	c.slotTime += other.slotTime
	for i := range other.targets {
		t, o := &c.targets[i], &other.targets[i]
		t.ok += o.ok
		t.non2xx += o.non2xx
		t.errors += o.errors
		t.unheard += o.unheard
		t.latency.merge(&o.latency)
	}
	c.fromSend.merge(&other.fromSend)
	c.pacing.merge(&other.pacing)
	c.lag.merge(&other.lag)
}

// latency is the latency of all targets together.
func (c *counts) latency() *histogram {
	if len(c.targets) == 1 {
		return &c.targets[0].latency
	}
	all := &histogram{}
	for i := range c.targets {
		all.merge(&c.targets[i].latency)
	}
	return all
}
