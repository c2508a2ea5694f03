package loadgen

import (
	"loomlab/clock"
	"loomlab/loadgen/evloop"
	"loomlab/loadgen/http1"
)

// slotState is where a slot is between two events.
type slotState uint8

const (
	slotOff      slotState = iota // an open loop has not needed it yet, or the run is over
	slotQueued                    // waits for its turn to connect
	slotDialing                   // connecting
	slotHeld                      // connected; the first sends are spread later
	slotWaiting                   // waits until at: to send first, or to connect again
	slotInFlight                  // a request is under way
	slotIdle                      // connected, nothing to send
)

// slot is one of the connections that were asked for. It lives through
// reconnects; conn is its connection of the moment.
type slot struct {
	conn *evloop.Conn // nil while there is none
	resp http1.Response

	prev, next *slot      // in the list of its state
	at         clock.Time // when slotWaiting ends
	since      clock.Time // when the present state began, for the sum of slot times
	sent       clock.Time
	intended   clock.Time // when the schedule wanted it sent; sent in a closed loop
	bytes      int64      // of the answer so far

	index        int32
	answers      uint32 // on this connection
	connectFails uint16 // in a row
	requestFails uint16 // in a row
	target       uint16
	state        slotState
	cause        errorClass // why a retried request was sent again
	retry        bool       // a request under way has to be sent again
	retried      bool       // that happened: not a second time
	established  bool       // ever connected
	answered     bool       // ever answered
	hopeless     bool       // unanswered after several attempts
	dead         bool       // several connects in a row failed
}

// unheard says that a connection that had answered has not given a byte for the
// request under way.
func (s *slot) unheard() bool { return s.answers > 0 && !s.resp.Started() }

// list is an intrusive queue of slots; a slot is in one list at most.
type list struct {
	head, tail *slot
	n          int
}

func (l *list) push(s *slot) {
	s.prev, s.next = l.tail, nil
	if l.tail != nil {
		l.tail.next = s
	} else {
		l.head = s
	}
	l.tail = s
	l.n++
}

// insert keeps the list ordered by send time; nearly always at its end.
func (l *list) insert(s *slot) {
	after := l.tail
	for after != nil && after.sent > s.sent {
		after = after.prev
	}
	if after == l.tail {
		l.push(s)
		return
	}
	s.prev = after
	if after == nil {
		s.next, l.head = l.head, s
	} else {
		s.next, after.next = after.next, s
	}
	s.next.prev = s
	l.n++
}

func (l *list) remove(s *slot) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		l.head = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		l.tail = s.prev
	}
	s.prev, s.next = nil, nil
	l.n--
}

// timers is a heap of slots by at.
type timers []*slot

func (t *timers) push(s *slot) {
	*t = append(*t, s)
	h := *t
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if h[parent].at <= h[i].at {
			return
		}
		h[parent], h[i] = h[i], h[parent]
		i = parent
	}
}

func (t *timers) pop() *slot {
	h := *t
	s := h[0]
	last := len(h) - 1
	h[0], h[last] = h[last], nil
	h = h[:last]
	*t = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return s
		}
		if child+1 < last && h[child+1].at < h[child].at {
			child++
		}
		if h[i].at <= h[child].at {
			return s
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// next is when the first timer is due.
func (t timers) next() clock.Time {
	if len(t) == 0 {
		return clock.Never
	}
	return t[0].at
}
