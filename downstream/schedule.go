package downstream

import (
	"loomlab/clock"
	"loomlab/loadgen/evloop"
)

// duty is something to do for a connection at a time: an answer, or a look at
// whether it has been idle for too long.
type duty struct {
	due   clock.Time
	seq   uint64 // order of duties that are due at once
	ref   evloop.Ref
	out   []byte // the answer
	fault *Fault
	kind  dutyKind
	cause cause // why the connection ends with this answer; 0: it does not
	pos   int32 // bytes that have trickled already
}

type dutyKind uint8

const (
	dutyAnswer   dutyKind = iota // to a request that counts
	dutyRefusal                  // to what is not a request: 400, 431
	dutyIdle                     // end the connection if it was idle
	dutyLifetime                 // end the connection if it is too old
)

// schedule orders duties. With one fixed delay they come due in the order they
// were made, and a ring holds them at the cost of a copy; all others are in a
// heap.
type schedule struct {
	seq  uint64
	ring []duty // a power of two long
	head int
	size int
	heap []duty
}

// add takes d in. fixed says that d has the delay that most have; it goes into
// the ring if that keeps the ring ordered.
func (s *schedule) add(d duty, fixed bool) {
	s.seq++
	d.seq = s.seq
	if !fixed || s.size > 0 && d.due < s.ring[(s.head+s.size-1)&(len(s.ring)-1)].due {
		s.push(d)
		return
	}
	if s.size == len(s.ring) {
		s.grow()
	}
	s.ring[(s.head+s.size)&(len(s.ring)-1)] = d
	s.size++
}

// next is when the first duty is due.
func (s *schedule) next() clock.Time {
	next := clock.Never
	if s.size > 0 {
		next = s.ring[s.head].due
	}
	if len(s.heap) > 0 {
		next = min(next, s.heap[0].due)
	}
	return next
}

// take removes the first duty if it is due at now.
func (s *schedule) take(now clock.Time) (duty, bool) {
	ring := s.size > 0 && s.ring[s.head].due <= now
	heap := len(s.heap) > 0 && s.heap[0].due <= now
	switch {
	case !ring && !heap:
		return duty{}, false
	case !ring || heap && before(&s.heap[0], &s.ring[s.head]):
		return s.pop(), true
	}
	d := s.ring[s.head]
	s.ring[s.head] = duty{}
	s.head = (s.head + 1) & (len(s.ring) - 1)
	s.size--
	return d, true
}

func (s *schedule) grow() {
	bigger := make([]duty, max(64, 2*len(s.ring)))
	for i := range s.size {
		bigger[i] = s.ring[(s.head+i)&(len(s.ring)-1)]
	}
	s.ring, s.head = bigger, 0
}

func before(a, b *duty) bool { return a.due < b.due || a.due == b.due && a.seq < b.seq }

// push and pop are container/heap without its allocation per element.
func (s *schedule) push(d duty) {
	s.heap = append(s.heap, d)
	for i := len(s.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !before(&s.heap[i], &s.heap[up]) {
			break
		}
		s.heap[i], s.heap[up] = s.heap[up], s.heap[i]
		i = up
	}
}

func (s *schedule) pop() duty {
	top := s.heap[0]
	last := len(s.heap) - 1
	s.heap[0] = s.heap[last]
	s.heap[last] = duty{}
	s.heap = s.heap[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if before(&s.heap[child], &s.heap[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		s.heap[i], s.heap[least] = s.heap[least], s.heap[i]
		i = least
	}
}
