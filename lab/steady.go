package lab

import (
	"fmt"
	"math"
	"time"
)

// Thresholds of the warm-up (METHOD rule 6). Throughput cannot show warmth: a
// client-limited rung is steady in its first second, while still interpreted.
const (
	warmRequests = 20_000 // first rung of a fork: at least so many requests …
	warmJIT      = 0.02   // … and less JIT time than this share of a core …
	warmSeconds  = 3      // … for so many seconds
	steadySpread = 0.05   // CPU per request and throughput within ±5 % over steadySpan seconds
	steadySpan   = 3
	renewedShare = 0.01 // seconds in which more connections were renewed are ignored (METHOD rule 5)
)

// second is what the detector sees of one second of warm-up.
type second struct {
	Requests float64
	CPUS     float64  // SUT CPU seconds used in it; NaN when unknown
	JITS     *float64 // JIT seconds spent in it; nil without a readable JVM
	Renewed  float64  // share of the connections that were opened again in it
}

// warmth decides when a SUT is warm. It is a pure function of the seconds it was given.
type warmth struct {
	first    bool // the first rung of a fork
	min, max time.Duration
	seen     []second
	ignored  int
	requests float64
}

// add takes one more second and says whether warming up may end, whether the
// SUT was steady then, and why.
func (w *warmth) add(s second, elapsed time.Duration) (done, steady bool, why string) {
	w.requests += s.Requests
	if s.Renewed > renewedShare {
		w.ignored++
	} else {
		w.seen = append(w.seen, s)
	}
	cold := w.cold()
	switch {
	case elapsed < w.min:
		return false, false, fmt.Sprintf("shorter than the minimum of %v", w.min)
	case cold == "":
		return true, true, fmt.Sprintf("steady after %.0f requests", w.requests)
	case elapsed >= w.max:
		return true, false, fmt.Sprintf("not steady after the maximum of %v: %s", w.max, cold)
	}
	return false, false, cold
}

// cold names what is still changing, or nothing.
func (w *warmth) cold() string {
	if len(w.seen) < steadySpan {
		return fmt.Sprintf("fewer than %d undisturbed seconds", steadySpan)
	}
	last := w.seen[len(w.seen)-steadySpan:]
	if w.first {
		if w.requests < warmRequests {
			return fmt.Sprintf("%.0f of %d requests", w.requests, warmRequests)
		}
		for _, s := range last[len(last)-min(warmSeconds, len(last)):] {
			if s.JITS != nil && *s.JITS > warmJIT {
				return fmt.Sprintf("the JIT compiler used %.0f %% of a core", 100**s.JITS)
			}
		}
	}
	perRequest := func(s second) float64 { return s.CPUS / s.Requests }
	throughput := func(s second) float64 { return s.Requests }
	if r := spread(last, throughput); r > steadySpread {
		return fmt.Sprintf("throughput moved by %.0f %%", 100*r)
	}
	if r := spread(last, perRequest); r > steadySpread+tickNoise(last) {
		return fmt.Sprintf("CPU per request moved by %.0f %%", 100*r)
	}
	return ""
}

// spread is half the range of f over the seconds, relative to its mean; 0 where
// f cannot be had.
func spread(seconds []second, f func(second) float64) float64 {
	low, high, sum := math.Inf(1), math.Inf(-1), 0.0
	for _, s := range seconds {
		v := f(s)
		if math.IsNaN(v) {
			return 0
		}
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	if sum == 0 || math.IsInf(sum, 0) {
		return math.Inf(1)
	}
	return (high - low) / 2 / (sum / float64(len(seconds)))
}

// tickNoise is the relative error of a second's CPU that comes from the kernel
// counting it in ticks of 10 ms.
func tickNoise(seconds []second) float64 {
	cpu := 0.0
	for _, s := range seconds {
		cpu += s.CPUS
	}
	if math.IsNaN(cpu) || cpu == 0 {
		return 0
	}
	return 0.01 / (cpu / float64(len(seconds)))
}
