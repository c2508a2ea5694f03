package lab

import (
	"fmt"
	"math"
	"time"

	"loomlab/lab/record"
	"loomlab/lab/verdict"
)

// Thresholds of the warm-up (METHOD rule 6). Throughput cannot show warmth: a
// client-limited rung is steady in its first second, while still interpreted.
//
// The load goes on without pauses. They would give C2 the idle time that it
// lacks when the SUT takes every core; but a ladder begins at its lowest rung,
// where the cores are idle half of the time, and there nearly everything is
// compiled. Measured on two cores and JDK 25, virtual threads: at 100 connections
// the compilers took 11.2 s of CPU and fell from a whole core to nothing within
// 25 s; the rung of 1000 took 0.7 s more, done after 10 s of unbroken load. An app
// that met 1000 connections cold was done after 25 s.
const (
	warmRequests   = 20_000 // first rung of a fork: at least so many requests
	laterJIT       = 0.10   // of a core for the JIT compilers on later rungs, which compile again what the higher load reaches
	steadyCompiles = 20.0   // methods compiled a second: what goes on for ever in a big app
	steadyCost     = 0.05   // change of CPU per request from steadySpan seconds to the next
	steadyRate     = 0.10   // likewise of throughput, which GC and the scheduler move by 5 % without any warming
	steadySpan     = 3      // seconds: what moves within them is noise, as of GC, and never ends
	renewedShare   = 0.01   // seconds in which more connections were renewed are ignored (METHOD rule 5)
)

// second is what the detector sees of one second of warm-up.
type second struct {
	Requests float64
	CPUS     float64  // SUT CPU seconds used in it; NaN when unknown
	JITS     *float64 // CPU seconds of the JIT compilers in it; nil without a readable JVM
	Compiles *float64 // methods compiled in it; nil likewise
	Renewed  float64  // share of the connections that were opened again in it
}

// warmth decides when a SUT is warm. It is a pure function of the seconds it was given.
type warmth struct {
	first    bool // the first rung of a fork
	min, max time.Duration
	seen     []second
	requests float64
	// Sums over all seconds; nil as long as none could say.
	jit, compiles *float64
}

// add takes one more second and says whether warming up may end, whether the
// SUT was steady then, and why.
func (w *warmth) add(s second, elapsed time.Duration) (done, steady bool, why string) {
	w.requests += s.Requests
	w.jit, w.compiles = plus(w.jit, s.JITS), plus(w.compiles, s.Compiles)
	if s.Renewed <= renewedShare {
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
	if w.first && w.requests < warmRequests {
		return fmt.Sprintf("%.0f of %d requests", w.requests, warmRequests)
	}
	n := len(w.seen)
	if n < 2*steadySpan {
		return fmt.Sprintf("fewer than %d undisturbed seconds", 2*steadySpan)
	}
	before, last := w.seen[n-2*steadySpan:n-steadySpan], w.seen[n-steadySpan:]
	jitLimit := laterJIT
	if w.first {
		jitLimit = verdict.WarmJIT
	}
	if jit := average(last, func(s second) *float64 { return s.JITS }); jit > jitLimit {
		return fmt.Sprintf("the JIT compilers used %.0f %% of a core", 100*jit)
	}
	if rate := average(last, func(s second) *float64 { return s.Compiles }); rate > steadyCompiles {
		return fmt.Sprintf("%.0f methods a second were compiled", rate)
	}
	if sum(last, requests) == 0 {
		return "no answers"
	}
	if c := change(sum(before, requests), sum(last, requests)); c > steadyRate {
		return fmt.Sprintf("throughput moved by %.0f %%", 100*c)
	}
	then, now := cost(before), cost(last)
	if then == nil || now == nil {
		return ""
	}
	if c := change(*then, *now); c > steadyCost+tickNoise(last) {
		return fmt.Sprintf("CPU per request moved by %.0f %%", 100*c)
	}
	return ""
}

func requests(s second) float64 { return s.Requests }

func sum(seconds []second, f func(second) float64) (sum float64) {
	for _, s := range seconds {
		sum += f(s)
	}
	return sum
}

// change is how far now is from then, as a share of then; 1 from nothing.
func change(then, now float64) float64 {
	if then == 0 {
		return 1
	}
	return math.Abs(now/then - 1)
}

// average of what the seconds have of f; 0 where none has it.
func average(seconds []second, f func(second) *float64) float64 {
	sum, n := 0.0, 0
	for _, s := range seconds {
		if v := f(s); v != nil {
			sum, n = sum+*v, n+1
		}
	}
	return sum / float64(max(1, n))
}

// plus adds v to sum, where there is a v.
func plus(sum, v *float64) *float64 {
	if sum != nil && v != nil {
		both := *sum + *v
		return &both
	}
	if v == nil {
		return sum
	}
	return v
}

// cost is the CPU per request in µs over some of the seconds; nil when unknown.
func cost(seconds []second) *float64 {
	cpu, requests := 0.0, 0.0
	for _, s := range seconds {
		if !math.IsNaN(s.CPUS) {
			cpu, requests = cpu+s.CPUS, requests+s.Requests
		}
	}
	if us := cpu / requests * 1e6; !math.IsNaN(us) && !math.IsInf(us, 0) {
		return &us
	}
	return nil
}

// took says in figures what the warm-up was.
func (w *warmth) took() record.CellWarmup {
	c := record.CellWarmup{JITSeconds: w.jit}
	if w.compiles != nil {
		n := int64(*w.compiles)
		c.JITCompiles = &n
	}
	span := min(steadySpan, len(w.seen))
	c.FirstCPUUS, c.LastCPUUS = cost(w.seen[:span]), cost(w.seen[len(w.seen)-span:])
	return c
}

// tickNoise is the relative error of the seconds' CPU that comes from the kernel
// counting it in ticks of 10 ms.
func tickNoise(seconds []second) float64 {
	cpu := sum(seconds, func(s second) float64 { return s.CPUS })
	if math.IsNaN(cpu) || cpu == 0 {
		return 0
	}
	return 0.02 / cpu
}
