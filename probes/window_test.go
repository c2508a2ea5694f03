package probes

import (
	"strings"
	"testing"
)

func ptr[T any](v T) *T { return &v }

// series is a tier that uses half a core and grows a thread a second, sampled at the given times.
func series(at ...float64) []Sample {
	var samples []Sample
	for i, t := range at {
		samples = append(samples, Sample{
			At: t, CPUS: ptr(3 + t/2), RSSBytes: ptr(int64(1000 + 100*i)), Threads: ptr(int64(10 + i)), FDs: ptr(int64(5)), Processes: 1,
			Unavailable: map[string]string{"jvm": NoJVM},
		})
	}
	return samples
}

func TestWindowIsCutAtItsEdges(t *testing.T) {
	// Warm-up and drain are outside; the samples of the edges come a little late.
	w := NewWindow(series(1, 8, 9, 10.01, 11, 15, 19, 20.02, 21, 30), 10, 20)
	near(t, "cpu_s", *w.CPUS, 5.005, 1e-9)
	near(t, "cores", *w.Cores, 0.5, 1e-9)
	if *w.RSSBytes != (Extent{Mean: 1500, Max: 1700, End: 1700}) || *w.Threads != (LivePeak{17, 17}) || *w.FDsMax != 5 {
		t.Errorf("%s", asJSON(w))
	}
	if w.RunDelayS != nil || w.Unavailable["run_delay_s"] == "" || w.PlatformThreads != nil || w.Unavailable["gc"] != NoJVM ||
		w.Unavailable["jvm"] != NoJVM {
		t.Errorf("%s", asJSON(w))
	}
}

// An ordinary sample of the second may come between the window's end and the detailed
// one that closes it.
func TestDetailedSamplesHaveTheirOwnEdges(t *testing.T) {
	samples := series(9.01, 10.01, 10.02, 11.01, 19.01, 20.01, 20.03, 21.01)
	for i, wait := range map[int]float64{2: 1.5, 6: 4} {
		samples[i].RunDelayS = ptr(wait)
	}
	w := NewWindow(samples, 10, 20)
	if w.RunDelayS == nil {
		t.Fatal(w.Unavailable["run_delay_s"])
	}
	near(t, "run_delay_s", *w.RunDelayS, 2.5, 1e-9)
	near(t, "cpu_s", *w.CPUS, 5, 0.02)
}

func TestWindowWithoutItsSamples(t *testing.T) {
	for name, samples := range map[string][]Sample{
		"none":    nil,
		"outside": series(1, 2, 30),
	} {
		if w := NewWindow(samples, 10, 20); w.CPUS != nil || w.RSSBytes != nil || w.Unavailable["cpu_s"] == "" || w.Unavailable["rss_bytes"] == "" {
			t.Errorf("%s: %s", name, asJSON(w))
		}
	}
	// The tier ended in the middle: its gauges are of the samples there are, its counters of no window.
	half := series(10, 11, 12, 13)
	half = append(half, Sample{At: 20, Unavailable: map[string]string{"cpu_s": reasonEnded, "rss_bytes": reasonEnded}})
	w := NewWindow(half, 10, 20)
	if w.CPUS != nil || w.Unavailable["cpu_s"] != reasonEnded || w.RSSBytes == nil || w.RSSBytes.Mean != 1150 {
		t.Errorf("ended: %s", asJSON(w))
	}
	if w := NewWindow(series(12), 10, 20); w.CPUS != nil || !strings.Contains(w.Unavailable["cpu_s"], "span") {
		t.Errorf("one sample: %s", asJSON(w))
	}
	back := series(10, 20)
	back[1].CPUS = ptr(1.0)
	if w := NewWindow(back, 10, 20); w.CPUS != nil || !strings.Contains(w.Unavailable["cpu_s"], "backwards") {
		t.Errorf("backwards: %s", asJSON(w))
	}
}

// jvmSeries: three samples of a G1 JVM with 2 young pauses, the second seen, and threads that went up and down again.
func jvmSeries() []Sample {
	samples := series(10, 15, 20)
	for i := range samples {
		samples[i].Unavailable = map[string]string{}
		samples[i].JVM = &JVM{
			PID: 7, Collector: "G1", ThreadsLive: ptr([]int64{20, 220, 30}[i]), ThreadsPeak: ptr(int64(220)), ThreadsStarted: ptr(int64(20 + 200*i)),
			HeapCommittedBytes: ptr(int64(256 << 20)), JITSeconds: ptr(1 + float64(i)/4), JITCompiles: ptr(int64(100 * i)),
			SafepointSeconds: ptr(float64(i) / 100), Safepoints: ptr(int64(i)),
			GC: []GC{{Name: "G1 young collection pauses", Count: int64(4 + i), MS: float64(10 + 5*i), LastMS: float64(9 - 3*i)}, {Name: "G1 full collection pauses"}},
		}
		samples[i].JVM.HeapAfterGCBytes = ptr(int64(50<<20 + i))
	}
	return samples
}

func TestWindowOfAJVM(t *testing.T) {
	w := NewWindow(jvmSeries(), 10, 20)
	if *w.PlatformThreads != (LivePeak{Live: 30, Peak: 220}) || *w.HeapCommittedBytes != 256<<20 || *w.HeapAfterGCBytes != 50<<20+2 ||
		*w.GC != (GCTotal{Count: 2, MS: 10, LongestMS: 6}) || *w.JITSeconds != 0.5 || *w.JITCompiles != 200 || *w.SafepointSeconds != 0.02 {
		t.Errorf("%s", asJSON(w))
	}
	for _, field := range []string{"gc", "jvm", "jit_s", "heap_after_gc_bytes"} {
		if reason := w.Unavailable[field]; reason != "" {
			t.Errorf("%s: %s", field, reason)
		}
	}
	// A later, smaller rung of the same JVM does not show the larger one's peak.
	later := jvmSeries()[2:]
	next := *later[0].JVM
	later = append(later, Sample{At: 30, JVM: &next})
	if w := NewWindow(later, 20, 30); w.PlatformThreads.Peak != 30 || w.GC.Count != 0 || w.HeapAfterGCBytes != nil ||
		!strings.Contains(w.Unavailable["heap_after_gc_bytes"], "no collection") {
		t.Errorf("a rung without collections: %s", asJSON(w))
	}
}

func TestWindowOfARestartedJVM(t *testing.T) {
	restarts := map[string]func(*JVM){
		"another process":     func(j *JVM) { j.PID = 8 },
		"counters start over": func(j *JVM) { j.ThreadsStarted = ptr(int64(3)) },
		"fewer collections":   func(j *JVM) { j.GC[0].Count = 0 },
	}
	for name, change := range restarts {
		samples := jvmSeries()
		change(samples[2].JVM)
		w := NewWindow(samples, 10, 20)
		if w.GC != nil || w.JITSeconds != nil || w.HeapCommittedBytes != nil || !strings.Contains(w.Unavailable["gc"], "restarted") {
			t.Errorf("%s: %s", name, asJSON(w))
		}
		if w.CPUS == nil || w.RSSBytes == nil {
			t.Errorf("%s: the tree's own figures are gone: %s", name, asJSON(w))
		}
	}
}

func TestShenandoahHasNoPauses(t *testing.T) {
	samples := jvmSeries()
	for i := range samples {
		j := samples[i].JVM
		j.Collector, j.HeapAfterGCBytes = shenandoah, nil
		j.GC = []GC{{Name: "Shenandoah full", Count: int64(10 * i), MS: 400, Concurrent: true}}
	}
	w := NewWindow(samples, 10, 20)
	if w.GC != nil || w.Unavailable["gc"] == "" || w.HeapAfterGCBytes != nil || !strings.Contains(w.Unavailable["heap_after_gc_bytes"], "Shenandoah") ||
		w.SafepointSeconds == nil {
		t.Errorf("%s", asJSON(w))
	}
}

func TestWindowOfPerfDataOff(t *testing.T) {
	samples := series(10, 20)
	for i := range samples {
		samples[i].Unavailable["jvm"] = "perf data off"
	}
	w := NewWindow(samples, 10, 20)
	for _, field := range []string{"gc", "jit_s", "heap_committed_bytes", "heap_after_gc_bytes", "platform_threads"} {
		if w.Unavailable[field] != "perf data off" {
			t.Errorf("%s: %q", field, w.Unavailable[field])
		}
	}
	if w.GC != nil || w.CPUS == nil {
		t.Errorf("%s", asJSON(w))
	}
}

func TestThreadGroupsOfAWindow(t *testing.T) {
	samples := series(10, 15, 20)
	groups := func(run, delay, busiest float64) []ThreadGroup {
		return []ThreadGroup{{Name: "GC Thread", Threads: 2, CPUS: 1}, {Name: "http-nio", Threads: 200, CPUS: run, RunDelayS: delay, MaxCPUS: busiest}}
	}
	samples[0].Groups, samples[0].RunDelayS = groups(5, 1, 4), ptr(1.0)
	samples[2].Groups, samples[2].RunDelayS = groups(9, 1.5, 0.5), ptr(1.5)
	w := NewWindow(samples, 10, 20)
	if *w.RunDelayS != 0.5 || len(w.Groups) != 2 || w.Groups[0] != (ThreadGroup{Name: "http-nio", Threads: 200, CPUS: 4, MaxCPUS: 0.5, RunDelayS: 0.5}) || w.Groups[1].CPUS != 0 {
		t.Errorf("%s", asJSON(w))
	}
}
