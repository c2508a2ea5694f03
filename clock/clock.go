// Package clock is the one time base of the lab. Every process of a run on one
// host (orchestrator, load, downstream, probes) stamps what it sees with the
// same monotonic clock, so that a series can be cut to a window that another
// process opened, whatever the wall clock does meanwhile.
//
// The usual steps: [Now] stamps, [Time.Seconds] writes a stamp down, [FromSeconds]
// reads it back. Limits: stamps of different hosts, or from before a reboot, do
// not compare; off Linux the base is the wall clock at a process's start, which
// nobody may set during a run.
package clock

import "time"

// Time is a point on the host's monotonic clock, in nanoseconds. On Linux it is
// CLOCK_MONOTONIC (since boot), the same in every process of the host.
type Time int64

// Never is later than every other Time.
const Never Time = 1<<63 - 1

var (
	origin     = time.Now()
	originMono = monotonic()
)

// Now reads the clock. It costs one vDSO call and allocates nothing.
func Now() Time { return originMono + Time(time.Since(origin)) }

// Add returns t moved by d; Never stays Never.
func (t Time) Add(d time.Duration) Time {
	if t == Never {
		return Never
	}
	return t + Time(d)
}

// Sub returns the duration from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Seconds returns t in seconds, the unit of every "at" in the lab's JSON lines.
func (t Time) Seconds() float64 { return float64(t) / 1e9 }

// FromSeconds is the inverse of [Time.Seconds].
func FromSeconds(s float64) Time { return Time(s * 1e9) }

// Wall returns t as wall-clock time, by the offset that this process saw at its start.
func (t Time) Wall() time.Time { return origin.Add(time.Duration(t - originMono)) }
