package lab

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestWarmth(t *testing.T) {
	share := func(f float64) *float64 { return &f }
	calm := second{Requests: 8000, CPUS: 0.8, JITS: share(0.001)}
	tests := []struct {
		name    string
		first   bool
		seconds []second
		done    int // the second after which it is done, 0: not within seconds
		steady  bool
		why     string
	}{
		{"calm from the start takes two spans", false, repeat(calm, 10), 6, true, "steady after"},
		{"too few requests on the first rung", true, repeat(second{Requests: 1000, CPUS: 0.5}, 12), 12, false, "12000 of 20000 requests"},
		{"enough requests, compiler still at work", true, repeat(second{Requests: 8000, CPUS: 0.8, JITS: share(0.3)}, 12), 12, false, "JIT compilers used 30 % of a core"},
		{"one busy second of the compiler is spread over three", true, append(repeat(calm, 5), second{Requests: 8000, CPUS: 0.8, JITS: share(0.05)}), 6, true, "steady"},
		{"later rungs compile a little again", false, repeat(second{Requests: 8000, CPUS: 0.8, JITS: share(0.08)}, 10), 6, true, "steady"},
		{"but not for good", false, repeat(second{Requests: 8000, CPUS: 0.8, JITS: share(0.3)}, 12), 12, false, "JIT compilers used 30 % of a core"},
		{"many methods", false, repeat(second{Requests: 8000, CPUS: 0.8, Compiles: share(50)}, 12), 12, false, "50 methods a second"},
		{"throughput rises, then stays", false, rates(1000, 2000, 3000, 4000, 4000, 4000, 4000, 4000, 4000), 8, true, "steady"},
		{"noise without a trend is no warm-up", false, rates(4000, 3000, 5000, 3000, 5000, 4000), 6, true, "steady"},
		{"CPU per request still falling", false, []second{{Requests: 1000, CPUS: 2}, {Requests: 1000, CPUS: 1.8}, {Requests: 1000, CPUS: 1.6}, {Requests: 1000, CPUS: 1.4}, {Requests: 1000, CPUS: 1.2}, {Requests: 1000, CPUS: 1}}, 0, false, "CPU per request moved"},
		{"a second of reconnects is ignored", false, []second{calm, calm, calm, {Requests: 100, CPUS: 1, Renewed: .5}, calm, calm, calm}, 7, true, "steady"},
		{"CPU unknown: throughput decides", false, repeat(second{Requests: 10, CPUS: math.NaN()}, 6), 6, true, "steady"},
		{"no answers at all", false, repeat(second{CPUS: 0.1}, 12), 12, false, "no answers"},
	}
	for _, test := range tests {
		w := warmth{first: test.first, min: 4 * time.Second, max: 12 * time.Second}
		at, steady, why := 0, false, ""
		for i, s := range test.seconds {
			var done bool
			if done, steady, why = w.add(s, time.Duration(i+1)*time.Second); done {
				at = i + 1
				break
			}
		}
		if at != test.done || steady != test.steady || !strings.Contains(why, test.why) {
			t.Errorf("%s: done after %d, steady %v, %q; want %d, %v, %q", test.name, at, steady, why, test.done, test.steady, test.why)
		}
	}
}

// rates are seconds of so many requests, each at 100 µs of CPU.
func rates(requests ...float64) []second {
	var all []second
	for _, n := range requests {
		all = append(all, second{Requests: n, CPUS: n * 100e-6})
	}
	return all
}

func repeat(s second, n int) []second {
	all := make([]second, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func TestWarmthTook(t *testing.T) {
	w := warmth{max: time.Minute}
	for i, s := range []second{
		{Requests: 100, CPUS: 1, JITS: new(0.9), Compiles: new(300.0), Renewed: 1}, // counts as work, not as a steady second
		{Requests: 5000, CPUS: math.NaN()},
		{Requests: 1000, CPUS: 1, JITS: new(0.5), Compiles: new(100.0)},
		{Requests: 1000, CPUS: 1, JITS: new(0.3), Compiles: new(50.0)},
		{Requests: 1000, CPUS: 1},
		{Requests: 2000, CPUS: 0.5, JITS: new(0.1), Compiles: new(1.0)},
		{Requests: 2000, CPUS: 0.5},
		{Requests: 2000, CPUS: 0.5},
	} {
		w.add(s, time.Duration(i)*time.Second)
	}
	c := w.took()
	if math.Abs(*c.JITSeconds-1.8) > 1e-9 || *c.JITCompiles != 451 || math.Abs(*c.FirstCPUUS-1000) > 1e-6 || math.Abs(*c.LastCPUUS-250) > 1e-6 {
		t.Errorf("took %v s of JIT, %v methods, %v then %v µs a request", *c.JITSeconds, *c.JITCompiles, *c.FirstCPUUS, *c.LastCPUUS)
	}
	if c := (&warmth{}).took(); c.JITSeconds != nil || c.JITCompiles != nil || c.FirstCPUUS != nil || c.LastCPUUS != nil {
		t.Errorf("without a second: %+v", c)
	}
}
