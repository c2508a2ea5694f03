package downstream

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"loomlab/clock"
)

// cause is why a connection ended, in Stats.Connections.Closed.
type cause uint8

const (
	causeNone cause = iota
	causePeer
	causeReset
	causeIdle
	causeMaxRequests
	causeMaxIdle
	causeMaxConns
	causeLifetime
	causeCloseAsked
	causeMalformed
	causeFault
	causes
)

var causeNames = [causes]string{
	causePeer: "peer", causeReset: "reset", causeIdle: "idle", causeMaxRequests: "max_requests", causeMaxIdle: "max_idle",
	causeMaxConns: "max_conns", causeLifetime: "lifetime", causeCloseAsked: "close_asked", causeMalformed: "malformed",
	causeFault: "fault",
}

// account is what one loop has counted. Only its loop touches it; the others get
// copies (see worker.publish).
type account struct {
	accepted, open, peak int64
	closed               [causes]int64
	backoffs             int64

	requests, answered, lost int64
	inFlight                 int64
	inFlightMax              int64   // since the start
	inFlightPeak             int64   // since the last line of the series
	inFlightS                float64 // the gauge's integral over time, up to inFlightAt
	inFlightAt               clock.Time
	rootGaps                 float64 // see Stats.RootGaps
	perConnMax               int64
	upgradeH2C               int64
	malformed                int64
	faults                   []int64 // by index in Config.Faults
	lateness                 *hdrhistogram.Histogram
}

// Lateness is recorded in µs with the geometry of every histogram of the lab.
const (
	latenessMin    = 1
	latenessMax    = 3_600_000_000
	latenessDigits = 3
)

func newAccount(faults int) account {
	return account{
		faults:   make([]int64, faults),
		lateness: hdrhistogram.New(latenessMin, latenessMax, latenessDigits),
	}
}

// clone returns an independent copy.
func (a *account) clone() account {
	b := *a
	b.faults = append([]int64(nil), a.faults...)
	b.lateness = a.lateness.Clone()
	return b
}

// add joins the account of another loop. Peaks are added up, which is exact for
// one loop and an upper bound for several: their peaks need not coincide.
func (a *account) add(b *account) {
	a.accepted += b.accepted
	a.open += b.open
	a.peak += b.peak
	for i := range a.closed {
		a.closed[i] += b.closed[i]
	}
	a.backoffs += b.backoffs
	a.requests += b.requests
	a.answered += b.answered
	a.lost += b.lost
	a.inFlight += b.inFlight
	a.inFlightMax += b.inFlightMax
	a.inFlightPeak += b.inFlightPeak
	a.inFlightS += b.inFlightS
	a.rootGaps += b.rootGaps
	a.perConnMax = max(a.perConnMax, b.perConnMax)
	a.upgradeH2C += b.upgradeH2C
	a.malformed += b.malformed
	for i := range a.faults {
		a.faults[i] += b.faults[i]
	}
	a.lateness.Merge(b.lateness) // same geometry: nothing is dropped
}

// pass adds the time since the gauge was last looked at to its integral. It must
// be called before the gauge changes.
func (a *account) pass(now clock.Time) {
	a.inFlightS += float64(a.inFlight) * now.Sub(a.inFlightAt).Seconds()
	a.inFlightAt = now
}

// began counts a complete request, which came at now, and gap seconds after the
// one before it on whatever loop.
func (a *account) began(now clock.Time, gap float64) {
	a.pass(now)
	a.rootGaps += math.Sqrt(max(0, gap))
	a.requests++
	a.inFlight++
	if a.inFlight > a.inFlightMax {
		a.inFlightMax = a.inFlight
	}
	if a.inFlight > a.inFlightPeak {
		a.inFlightPeak = a.inFlight
	}
}
