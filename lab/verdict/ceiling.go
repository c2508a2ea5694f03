package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// Kinds of ceiling, as record.Ceiling says them.
const (
	CeilingConnections    = "connections"
	CeilingMaxConnections = "max_connections"
	CeilingWorkers        = "workers"
	CeilingClientPool     = "client_pool"
	CeilingDBPool         = "db_pool"
)

// Ceilings returns the throughput that each known limit allows, the lowest
// first. By Little's law no more than N ÷ W requests a second pass something of
// which there are N, when each request holds one for at least W: the calls of the
// downstream that a request makes, one after the other, times delay (the measured
// one, where there is one), and what it waits by itself (limits.Held).
//
// There is none without a time to divide by: no downstream, a delay of 0, or calls
// that are 0 or not known (nil), and nothing held. An open loop has no connections (0).
func Ceilings(connections int, limits record.Limits, calls *float64, delay time.Duration) []record.Ceiling {
	called, calledText := 0.0, ""
	if calls != nil && *calls > 0 && delay > 0 {
		called, calledText = *calls*delay.Seconds(), phrase.Number(delay.Seconds())+" s"
		if *calls != 1 {
			calledText = "(" + phrase.Number(*calls) + " × " + calledText + ")"
		}
	}
	held, text := called+limits.Held.Seconds(), calledText
	switch {
	case limits.Held > 0 && called > 0:
		text = "(" + phrase.Number(limits.Held.Seconds()) + " s + " + calledText + ")"
	case limits.Held > 0:
		text = phrase.Number(limits.Held.Seconds()) + " s"
	case called == 0:
		return nil
	}
	var ceilings []record.Ceiling
	add := func(kind string, n int, what string, w float64, text string) {
		perS := float64(n) / w
		ceilings = append(ceilings, record.Ceiling{
			Kind:       kind,
			PerS:       perS,
			Arithmetic: fmt.Sprintf("%d %s ÷ %s = %s/s", n, what, text, phrase.Number(perS)),
		})
	}
	if connections > 0 {
		add(CeilingConnections, connections, "connections", held, text)
	}
	if limits.MaxConnections > 0 && limits.MaxConnections < connections {
		add(CeilingMaxConnections, limits.MaxConnections, "connections that the server accepts", held, text)
	}
	if limits.Workers > 0 {
		add(CeilingWorkers, limits.Workers, "worker threads", held, text)
	}
	if limits.ClientPool > 0 && called > 0 {
		add(CeilingClientPool, limits.ClientPool, "pooled connections to the downstream", called, calledText)
	}
	slices.SortStableFunc(ceilings, func(a, b record.Ceiling) int { return cmp.Compare(a.PerS, b.PerS) })
	return ceilings
}

// WithDatabase adds to ceilings that of a pool of database connections,
// each of which a request keeps busy as long as was measured.
func WithDatabase(ceilings []record.Ceiling, pool int, d *record.Database) []record.Ceiling {
	if pool <= 0 || d == nil || d.BusyMS == nil || *d.BusyMS <= 0 {
		return ceilings
	}
	busy := *d.BusyMS / 1e3
	perS := float64(pool) / busy
	ceilings = append(ceilings, record.Ceiling{Kind: CeilingDBPool, PerS: perS,
		Arithmetic: fmt.Sprintf("%d pooled database connections ÷ %s s = %s/s", pool, phrase.Number3(busy), phrase.Number3(perS))})
	slices.SortStableFunc(ceilings, func(a, b record.Ceiling) int { return cmp.Compare(a.PerS, b.PerS) })
	return ceilings
}

// MeanLatencyAtLeast is the least mean latency that closed-loop connections can
// see under the lowest of ceilings: Little's law once more, W = N ÷ X.
func MeanLatencyAtLeast(connections int, ceilings []record.Ceiling) time.Duration {
	if len(ceilings) == 0 {
		return 0
	}
	return time.Duration(float64(connections) / ceilings[0].PerS * 1e9).Round(time.Microsecond)
}
