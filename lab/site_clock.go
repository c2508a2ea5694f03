package lab

import (
	"sync"
	"time"

	"loomlab/clock"
	"loomlab/lab/record"
)

// clockOffset follows how far another machine's clock is ahead of this one's. As
// in NTP, each question gives a sample: the answer's time minus the middle between
// question and answer, off by at most half the round trip. The sample with the
// shortest round trip of the last minute counts.
type clockOffset struct {
	mu      sync.Mutex
	samples []clockSample // of the last clockMemory, in their order
	taken   int           // in all
}

type clockSample struct {
	at     clock.Time // here
	offset time.Duration
	rtt    time.Duration
}

// clockMemory is how long a sample counts. Quartz clocks drift by up to some 50 µs
// a second, so by 3 ms in a minute.
const clockMemory = time.Minute

// add takes a sample: a question was sent and answered here, and read there.
func (c *clockOffset) add(sent, there, received clock.Time) {
	rtt := received.Sub(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken++
	c.samples = append(c.samples, clockSample{received, there.Sub(sent.Add(rtt / 2)), rtt})
	for received.Sub(c.samples[0].at) > clockMemory {
		c.samples = c.samples[1:]
	}
}

// best is the sample that counts; zero before the first.
func (c *clockOffset) best() clockSample {
	c.mu.Lock()
	defer c.mu.Unlock()
	var best clockSample
	for i, s := range c.samples {
		if i == 0 || s.rtt < best.rtt {
			best = s
		}
	}
	return best
}

// here converts seconds of the other machine's clock to this one's.
func (c *clockOffset) here(at float64) float64 {
	if at == 0 {
		return 0 // not a moment
	}
	return at - c.best().offset.Seconds()
}

// record is the comparison as the record keeps it.
func (c *clockOffset) record() record.ClockComparison {
	best := c.best()
	c.mu.Lock()
	defer c.mu.Unlock()
	return record.ClockComparison{OffsetS: best.offset.Seconds(), ErrorS: (best.rtt / 2).Seconds(), RTTMS: best.rtt.Seconds() * 1e3, Samples: c.taken}
}
