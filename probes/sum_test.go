package probes

import (
	"reflect"
	"testing"
)

// Several processes of a tier are one: counters and gauges add up, and what one
// lacks is not known of all.
func TestSums(t *testing.T) {
	f, n := func(v float64) *float64 { return &v }, func(v int64) *int64 { return &v }
	a := Sample{At: 1, CPUS: f(2), RSSBytes: n(10), Threads: n(3), Processes: 1,
		Groups: []ThreadGroup{{Name: "x", Threads: 1, CPUS: 1, MaxCPUS: 1, RunDelayS: 0.5}}, Unavailable: map[string]string{"fds": "why"}}
	b := Sample{At: 1.5, CPUS: f(3), RSSBytes: n(20), Threads: n(4), FDs: n(9), Processes: 2,
		Groups: []ThreadGroup{{Name: "x", Threads: 2, CPUS: 4, MaxCPUS: 3, RunDelayS: 0.25}, {Name: "y", CPUS: 9}}}
	want := Sample{At: 1.5, CPUS: f(5), RSSBytes: n(30), Threads: n(7), Processes: 3,
		Groups: []ThreadGroup{{Name: "y", CPUS: 9}, {Name: "x", Threads: 3, CPUS: 5, MaxCPUS: 3, RunDelayS: 0.75}}, Unavailable: map[string]string{"fds": "why"}}
	if got := SumSamples([]Sample{a, b}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := SumSamples([]Sample{a}); !reflect.DeepEqual(got, a) {
		t.Errorf("one alone: %+v", got)
	}
	v := Window{CPUS: f(1), Cores: f(0.1), RunDelayS: f(2), FDsMax: n(5), RSSBytes: &Extent{1, 2, 3}, Threads: &LivePeak{4, 5}}
	w := Window{CPUS: f(1), Cores: f(0.2), FDsMax: n(6), RSSBytes: &Extent{10, 20, 30}, Threads: &LivePeak{40, 50}, Unavailable: map[string]string{"run_delay_s": "why"}}
	sum := SumWindows([]Window{v, w})
	if *sum.CPUS != 2 || sum.RunDelayS != nil || sum.Unavailable["run_delay_s"] != "why" || *sum.FDsMax != 11 ||
		*sum.RSSBytes != (Extent{11, 22, 33}) || *sum.Threads != (LivePeak{44, 55}) {
		t.Errorf("%+v", sum)
	}
}
