package standin

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Lock is one lock that every request takes, in one of two ways. In the
// event-loop model a Hold blocks the loop, as a lock in a handler does, while
// AroundCall is an asynchronous lock, since a loop cannot wait for an answer.
type Lock struct {
	// AroundCall holds the lock while the request burns its CPU time and waits
	// for the downstream: 1 ÷ (CPU + delay) requests per second.
	AroundCall bool
	// Hold holds the lock, asleep, for so long before the request is served:
	// at most 1 ÷ Hold requests per second.
	Hold time.Duration
}

// ParseLock reads the value of --lock: "call", or how long to hold it.
func ParseLock(s string) (Lock, error) {
	if s == "" {
		return Lock{}, nil
	}
	if s == "call" {
		return Lock{AroundCall: true}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return Lock{}, fmt.Errorf("--lock %q: want call (held around the downstream call) or a duration", s)
	}
	return Lock{Hold: d}, nil
}

// errInjected is the failure that --error-rate makes.
var errInjected = errors.New("injected by --error-rate")

// faults are the bottlenecks of a Config, ready to use from any goroutine.
type faults struct {
	lock      Lock
	mu        sync.Mutex // the lock, in blocking models and for Hold
	async     asyncLock  // the lock around a call in the event-loop model
	burner    burner
	hot       *hotThread // nil: the request's own thread burns
	alloc     int
	errorBar  uint64 // requests whose draw is below it fail
	seed      uint64
	drawn     atomic.Uint64
	readyFrom time.Time
	ended     <-chan struct{} // closed when the stand-in ends: no fault holds it up
}

func newFaults(cfg Config, ended <-chan struct{}) *faults {
	f := &faults{
		ended:     ended,
		lock:      cfg.Lock,
		burner:    newBurner(cfg.CPUPerRequest),
		alloc:     cfg.Alloc,
		seed:      cfg.Seed,
		readyFrom: time.Now().Add(cfg.NotReadyFor),
	}
	switch {
	case cfg.ErrorRate >= 1:
		f.errorBar = math.MaxUint64
	case cfg.ErrorRate > 0:
		f.errorBar = uint64(cfg.ErrorRate * math.MaxUint64)
	}
	if cfg.HotThread {
		f.hot = startHotThread(f.burner, ended)
	}
	return f
}

// over says that the stand-in is ending.
func (f *faults) over() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// fails draws whether the next request fails. The n-th draw depends only on
// the seed and n.
func (f *faults) fails() bool {
	return f.errorBar > 0 && mix(f.seed+f.drawn.Add(1)*0x9e3779b97f4a7c15) <= f.errorBar
}

// mix is the finalizer of SplitMix64: neighbouring inputs, unrelated outputs.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// allocate makes the request's garbage and touches every page of it.
func (f *faults) allocate() []byte {
	if f.alloc == 0 {
		return nil
	}
	b := make([]byte, f.alloc)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return b
}

// hold takes the lock for its Hold.
func (f *faults) hold() {
	if f.lock.Hold == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-time.After(f.lock.Hold):
	case <-f.ended:
	}
}

// burn returns when the request's CPU time is burnt.
func (f *faults) burn() {
	switch {
	case f.over():
	case f.hot != nil:
		f.hot.burnAndWait()
	default:
		f.burner.burn()
	}
}

// asyncLock is a lock whose holders are called rather than woken.
type asyncLock struct {
	mu      sync.Mutex
	held    bool
	waiting []func()
}

// acquire calls then, at once or from a later release, with the lock held.
func (l *asyncLock) acquire(then func()) {
	l.mu.Lock()
	if l.held {
		l.waiting = append(l.waiting, then)
		l.mu.Unlock()
		return
	}
	l.held = true
	l.mu.Unlock()
	then()
}

func (l *asyncLock) release() {
	l.mu.Lock()
	if len(l.waiting) == 0 {
		l.held = false
		l.mu.Unlock()
		return
	}
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.mu.Unlock()
	next()
}
