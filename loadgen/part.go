package loadgen

import (
	"fmt"

	"loomlab/clock"
)

// Several generators share one load: each is a process of its own, on this
// machine or another, which is given the whole load and the part of it that is
// its own. So nothing is divided twice, and the parts add up to what was asked for:
//
//   - Connections, requests (with [Config.Requests]) and the bound of an open loop
//     are divided as 100 over 3 is: 34, 33, 33.
//   - A rate is not cut into rates. There is one schedule, and request number n of
//     it belongs to generator n mod N, as request number n of a generator belongs
//     to one of its loops. The sum is the process that was asked for, to the request,
//     where N schedules of their own would bunch and drift against each other.
//   - First sends are spread over one latency by their rank among all connections.
//
// They go through three gates together, and say when they stand at one:
//
//	event    means                                            goes on with
//	armed    all is connected, nothing sent but a probe a loop   Gates.Go
//	ready    every connection was answered                    Config.Start, if held
//	primed   the lead-in is over                              Gates.Open
//
// A gate opens at an instant that all are told beforehand, on the clock of their
// host, so that they begin together however long the news takes.

// Part is a generator's part of a load that several share. The zero value is the
// whole of it.
type Part struct {
	Index int // from 1 to Of
	Of    int // how many generators there are
}

// shared tells whether there are other generators.
func (p Part) shared() bool { return p.Of > 1 }

// of is how many generators there are, 1 or more.
func (p Part) of() int64 { return int64(max(p.Of, 1)) }

// index counts from 0.
func (p Part) index() int64 { return int64(max(p.Index-1, 0)) }

// share is this part of a total.
func (p Part) share(total int64) int64 { return share(total, p.of(), p.index()) }

func (p Part) String() string { return fmt.Sprintf("%d/%d", p.Index, p.Of) }

// Gates hold a generator of several until all of them can go on. Each delivers
// the instant at which it opens, on this host's clock; one that is past or 0
// means as soon as possible.
type Gates struct {
	Go   <-chan clock.Time // the load begins
	Open <-chan clock.Time // the window opens
}

// share is part i (from 0) of a total that is divided into so many parts: they
// add up, and differ by 1 at most.
func share(total, parts, i int64) int64 {
	part := total / parts
	if i < total%parts {
		part++
	}
	return part
}
