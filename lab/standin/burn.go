package standin

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// burner does a fixed amount of work that takes a CPU about a given time. The
// work is fixed, not the time, so that a request costs the same CPU whether or
// not its thread has to wait for a core.
type burner struct{ rounds int64 }

// sink keeps the compiler from dropping the work.
var sink atomic.Uint64

// work is a chain of dependent multiplications: no memory, nothing to overlap.
func work(rounds int64) {
	x := uint64(rounds) | 1
	for range rounds {
		x = x*6364136223846793005 + 1442695040888963407
	}
	sink.Store(x)
}

// roundsPerMS is how much work a core does in a millisecond: the best of
// several short trials, since interruptions only ever make a trial slower.
var roundsPerMS = sync.OnceValue(func() int64 {
	const rounds = 500_000
	best := time.Hour
	for range 25 {
		begin := time.Now()
		work(rounds)
		best = min(best, time.Since(begin))
	}
	return max(1, int64(float64(rounds)*float64(time.Millisecond)/float64(max(best, 1))))
})

func newBurner(d time.Duration) burner {
	if d == 0 {
		return burner{}
	}
	return burner{rounds: int64(float64(roundsPerMS()) * d.Seconds() * 1000)}
}

func (b burner) burn() {
	if b.rounds > 0 {
		work(b.rounds)
	}
}

// hotThread is one operating system thread that does all of the work, in the
// order in which it is asked for.
type hotThread struct {
	jobs chan func()
	stop <-chan struct{}
}

func startHotThread(b burner, stop <-chan struct{}) *hotThread {
	h := &hotThread{jobs: make(chan func(), 1<<16), stop: stop}
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		for {
			select {
			case then := <-h.jobs:
				b.burn()
				then()
			case <-h.stop:
				return
			}
		}
	}()
	return h
}

// burn has the thread do the work of one request and calls then from it.
func (h *hotThread) burn(then func()) {
	select {
	case h.jobs <- then:
	case <-h.stop:
	}
}

// burnAndWait returns when the work of one request is done.
func (h *hotThread) burnAndWait() {
	done := make(chan struct{})
	h.burn(func() { close(done) })
	select {
	case <-done:
	case <-h.stop:
	}
}
