package downstream

import (
	"math/rand/v2"
	"testing"

	"loomlab/clock"
)

// Whatever goes in, it comes out by due time, and in the order of coming in
// where that is equal; nothing comes out early.
func TestScheduleOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var s schedule
	now, left, in := clock.Time(0), 0, 0
	for round := range 2000 {
		for range rnd.IntN(5) {
			fixed := rnd.IntN(4) > 0
			delay := clock.Time(100)
			if !fixed {
				delay = clock.Time(rnd.IntN(300))
			}
			s.add(duty{due: now + delay, pos: int32(in)}, fixed)
			in++
			left++
		}
		if left > 0 && s.next() == clock.Never {
			t.Fatalf("round %d: %d are in, and none is next", round, left)
		}
		var last duty
		for {
			next := s.next()
			d, ok := s.take(now)
			if !ok {
				if next <= now {
					t.Fatalf("round %d: something is due at %d and was not taken at %d", round, next, now)
				}
				break
			}
			left--
			if d.due > now || d.due != next {
				t.Fatalf("round %d: due at %d, next said %d, now is %d", round, d.due, next, now)
			}
			if last.seq > 0 && !before(&last, &d) {
				t.Fatalf("round %d: %+v before %+v", round, last, d)
			}
			last = d
		}
		now += clock.Time(rnd.IntN(60))
	}
	for range left {
		if _, ok := s.take(clock.Never - 1); !ok {
			t.Fatal("something was lost")
		}
	}
	if _, ok := s.take(clock.Never - 1); ok || s.next() != clock.Never {
		t.Error("something was invented")
	}
}
