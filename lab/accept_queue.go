package lab

import (
	"net"
	"net/url"
	"strconv"

	"loomlab/lab/record"
)

// acceptQueues counts who waits to be accepted by the SUT and the downstream now.
func (f *fork) acceptQueues() *record.AcceptQueues {
	read := func(tier, base string) *int64 {
		u, err := url.Parse(base)
		if err != nil {
			return nil
		}
		_, text, err := net.SplitHostPort(u.Host)
		if err != nil {
			return nil
		}
		port, err := strconv.Atoi(text)
		if err != nil {
			return nil
		}
		n, err := f.acceptQueue(tier, port)
		if err != nil {
			return nil // a SUT elsewhere, or no Linux
		}
		return &n
	}
	q := &record.AcceptQueues{SUT: read(record.TierSUT, f.url)}
	if f.down != nil {
		q.Downstream = read(record.TierDownstream, f.downURL)
	}
	if q.SUT == nil && q.Downstream == nil {
		return nil
	}
	return q
}

// lasting keeps of two readings what waited at both: a server that is only slow
// to accept has other moments.
func lasting(a, b *record.AcceptQueues) *record.AcceptQueues {
	if a == nil || b == nil {
		return nil
	}
	fewer := func(x, y *int64) *int64 {
		if x == nil || y == nil {
			return nil
		}
		n := min(*x, *y)
		return &n
	}
	return &record.AcceptQueues{SUT: fewer(a.SUT, b.SUT), Downstream: fewer(a.Downstream, b.Downstream)}
}
