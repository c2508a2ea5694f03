package report

import (
	"math"
	"math/rand/v2"
	"time"

	"loomlab/lab/record"
	"loomlab/loadgen"
	"loomlab/probes"
)

// lot is what the windows of one rung are drawn from.
type lot struct {
	connections int
	verdict     string
	perS        float64 // throughput
	p50         float64 // ms
	cpuUS       float64 // CPU per request
	rssMB       float64
	cv          float64 // of CPU per request; RSS has a third of it
	cpuCV       float64 // of the throughput where it is not capped
}

// theArticle has a rung of each regime.
var theArticle = []lot{
	{connections: 100, verdict: record.VerdictClientLimited, perS: 988, p50: 101.2, cpuUS: 420, rssMB: 370, cv: 0.03},
	{connections: 1000, verdict: record.VerdictWorkerThreads, perS: 1960, p50: 509, cpuUS: 400, rssMB: 430, cv: 0.03},
	{connections: 3000, verdict: record.VerdictCPU, perS: 6400, p50: 450, cpuUS: 215, rssMB: 900, cv: 0.03, cpuCV: 0.03},
}

// draw makes one window of a fork.
func (l lot) draw(random *rand.Rand, sut string, fork int) record.Cell {
	vary := func(v, cv float64) float64 { return v * math.Exp(cv*random.NormFloat64()) }
	perS := vary(l.perS, max(l.cpuCV, 0.001))
	cpu := vary(l.cpuUS, l.cv)
	rss := int64(vary(l.rssMB, l.cv/3) * (1 << 20))
	heap := int64(256 << 20)
	ok := int64(perS * 10)
	p50 := l.p50 + vary(1, 0.2) - 1
	return record.Cell{
		SUT: sut, Fork: fork, Connections: l.connections, Round: 1, Started: noon, Status: "ok", Exceptions: map[string]int64{},
		Load: &loadgen.Result{Mode: "closed", Seconds: 10, ThroughputPerS: &perS, Requests: loadgen.Requests{OK: ok},
			Connections: loadgen.Connections{OpenedInWindow: ptr(ok / 100)},
			LatencyMS:   &record.Latency{Min: p50 * 0.9, Mean: p50, P50: p50, P99: vary(p50*1.1, 0.02), Max: p50 * 2}},
		Probes: map[string]*probes.Window{record.TierSUT: {
			CPUS: ptr(cpu * float64(ok) / 1e6), CPUUSPerRequest: &cpu, RSSBytes: &probes.Extent{End: rss, Max: rss, Mean: rss},
			HeapCommittedBytes: &heap, HeapAfterGCBytes: ptr(int64(vary(30, 0.05) * (1 << 20))),
			GC:      &probes.GCTotal{Count: int64(vary(10, 0.1)), MS: vary(50, 0.2), LongestMS: 7},
			Threads: &probes.LivePeak{Live: 40, Peak: 40}, PlatformThreads: &probes.LivePeak{Live: 31, Peak: 31},
		}},
		Verdict: &record.Verdict{Kind: l.verdict, Sure: true},
	}
}

// drawn is a run of one SUT, drawn from lots.
func drawn(random *rand.Rand, sut string, forks int, lots []lot) *record.Saved {
	saved := &record.Saved{Run: record.Run{
		Schema: record.Schema, ID: "20260102T120000Z-" + sut, Version: "0.1.0", Status: "ok", Started: noon,
		Experiment: record.Experiment{
			Name: "article", Downstream: &record.Downstream{Delay: record.Duration(100 * time.Millisecond)}, Forks: forks,
			Load: record.Load{Path: "/call", Rounds: 1, Duration: record.Duration(10 * time.Second), Timeout: record.Duration(10 * time.Second)},
		},
		Machine: record.Machine{Host: "bench1", OS: "linux", Arch: "amd64", Kernel: "6.8.0", CPU: "AMD EPYC 7B13", Cores: 2, MemoryBytes: 8 << 30},
	}}
	e := &saved.Run.Experiment
	e.SUTs = []record.SUT{{Name: sut, App: "mvc", Path: "/call", JVM: []string{"-Xmx1g", "-XX:+UseG1GC"}, Calls: ptr(1.0), Downstream: e.Downstream}}
	for _, l := range lots {
		e.Load.Connections = append(e.Load.Connections, l.connections)
	}
	for fork := 1; fork <= forks; fork++ {
		saved.Run.Starts = append(saved.Run.Starts, record.Start{SUT: sut, Fork: fork, Kind: "app",
			JVM: &record.StartJVM{Version: "25.0.1", Collector: "G1", CPUs: 2, Flags: []string{"-Xmx1g", "-XX:+UseG1GC"}, Info: map[string]string{"boot": "4.0.8"}}})
		for _, l := range lots {
			saved.Cells = append(saved.Cells, l.draw(random, sut, fork))
		}
	}
	return saved
}

// changed is a copy of lots with a change to each.
func changed(lots []lot, change func(*lot)) []lot {
	list := append([]lot(nil), lots...)
	for i := range list {
		change(&list[i])
	}
	return list
}

func side(saved *record.Saved, name string) Side { return Side{Saved: saved, Name: name} }

func probesGC(pauses int64) probes.GCTotal {
	return probes.GCTotal{Count: pauses, MS: float64(10 * pauses), LongestMS: 10}
}
