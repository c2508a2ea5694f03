package verdict

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"loomlab/lab/record"
	"loomlab/probes"
)

// scene is a cell as the lab would have measured it, in the words of the
// arithmetic. The zero scene with a few fields set is a plausible cell.
type scene struct {
	n         int     // connections
	x         float64 // ok per second
	delay     float64 // nominal, s
	served    float64 // s in the downstream; 0: as delay
	peaks     []int64
	mean      float64 // of the gauge; 0: x × served
	evenness  float64 // 0: 0.3
	sut, load cpu
	limits    record.Limits
	change    func(*record.Cell, *Evidence)
}

type cpu struct{ cores, wait, hottest, cpus float64 }

const sceneSeconds = 10

func (s scene) verdict() *record.Verdict {
	if s.served == 0 {
		s.served = s.delay
	}
	latency := float64(s.n) / s.x * 1e3
	load := &record.LoadResult{Mode: "closed", Seconds: sceneSeconds, ThroughputPerS: &s.x,
		Connections: record.LoadConnections{Requested: s.n, Established: s.n, Answered: s.n, OpenedInWindow: new(int64(0))},
		LatencyMS:   &record.Latency{Mean: latency, P50: latency, P75: latency, P90: latency, P99: latency, Max: latency},
		Engine:      &record.LoadEngine{Loops: 1, LagP99MS: new(0.2), CPUUSPerRequest: new(10.0)}}
	load.Requests.OK = int64(s.x * sceneSeconds)
	c := record.Cell{SUT: "s", Connections: s.n, Status: "ok", Load: load, Exceptions: map[string]int64{},
		Machine: &probes.MachineWindow{Seconds: sceneSeconds, StrangersS: new(0.1), ListenOverflows: new(int64(0)), DelayedACKs: new(int64(0))},
		Probes: map[string]*probes.Window{
			record.TierSUT: s.sut.window(), record.TierLoad: s.load.window(), record.TierDownstream: cpu{cores: 0.05}.window(),
		}}
	c.Probes[record.TierSUT].CPUUSPerRequest = new(s.sut.cores / s.x * 1e6)
	about := Evidence{Cores: 4, Limits: s.limits, CPUs: map[string]int{record.TierSUT: 4, record.TierLoad: 4, record.TierDownstream: 4}}
	if s.sut.cpus > 0 {
		about.CPUs[record.TierSUT] = int(s.sut.cpus)
	}
	if s.delay > 0 {
		about.Delay, about.Calls = time.Duration(s.delay*1e9), new(1.0)
		if s.mean == 0 {
			s.mean = s.x * s.served
		}
		if s.evenness == 0 {
			s.evenness = 0.3
		}
		c.InFlight = &record.InFlight{Mean: s.mean, Peaks: s.peaks, ServedMS: new(s.served * 1e3), Evenness: new(s.evenness)}
		c.Downstream = &record.DownstreamStats{Requests: load.Requests.OK, Answered: load.Requests.OK, LatenessMS: &record.Latency{P99: 0.2}}
		about.Account = c.Downstream
		c.AcceptQueue = &record.AcceptQueues{SUT: new(int64(0)), Downstream: new(int64(0))}
	}
	if s.change != nil {
		s.change(&c, &about)
	}
	return Of(c, about)
}

func (c cpu) window() *probes.Window {
	return &probes.Window{Cores: &c.cores, CPUS: new(c.cores * sceneSeconds), RunDelayS: new(c.wait * sceneSeconds),
		Groups:  []probes.ThreadGroup{{Name: "native", Threads: 9, CPUS: c.cores * sceneSeconds, MaxCPUS: c.hottest * sceneSeconds}},
		Threads: &probes.LivePeak{Live: 9, Peak: 9}}
}

func carriers(n int) func(*record.Cell, *Evidence) {
	return func(_ *record.Cell, about *Evidence) { about.Carriers = n }
}

func peaks(n ...int64) []int64 { return n }

func TestVerdicts(t *testing.T) {
	workers := record.Limits{Workers: 200}
	tests := []struct {
		name  string
		scene scene
		kind  string
		sure  bool
		says  string // part of the text
	}{
		{"workers as in the article", scene{n: 1000, x: 1920, delay: 0.1, peaks: peaks(200, 200, 200), limits: workers},
			record.VerdictWorkerThreads, true, "s at 1000: 200 worker threads are the limit. 1920/s is 96 % of 200 worker threads ÷ 0.1 s = 2000/s; by Little's law 1000 = 1920/s × 0.521 s, so about 800 requests wait in a queue."},
		{"workers, but below 90 % of them", scene{n: 1000, x: 1700, delay: 0.1, peaks: peaks(200, 200), limits: workers}, record.VerdictWorkerThreads, false, ""},
		{"workers, but the peaks differ", scene{n: 1000, x: 1920, delay: 0.1, peaks: peaks(197, 200), limits: workers}, record.VerdictWorkerThreads, false, ""},
		{"workers, but the engine is late", scene{n: 1000, x: 1920, delay: 0.1, peaks: peaks(200, 200), limits: workers,
			change: func(c *record.Cell, _ *Evidence) { c.Load.Engine.LagP99MS = new(200.0) }}, record.VerdictWorkerThreads, false, ""},
		{"workers held by a sleep", scene{n: 400, x: 3720, limits: record.Limits{Workers: 200, Held: record.Duration(50 * time.Millisecond)}},
			record.VerdictWorkerThreads, false, "3720/s is 93 % of 200 worker threads ÷ 0.05 s = 4000/s; by Little's law 400 = 3720/s × 0.108 s, so about 200 requests wait in a queue."},
		{"a sleep that all connections wait for", scene{n: 100, x: 1950, limits: record.Limits{Workers: 200, Held: record.Duration(50 * time.Millisecond)}},
			record.VerdictClientLimited, true, "1950/s is 98 % of 100 connections ÷ 0.05 s = 2000/s; the SUT adds only 1.28 ms to the delay of 50 ms."},
		{"virtual threads that hold their two carriers", scene{n: 100, x: 19.8, sut: cpu{cores: 0.03}, limits: record.Limits{Held: record.Duration(100 * time.Millisecond)}, change: carriers(2)},
			record.VerdictWorkerThreads, false, "2 carrier threads are the limit: virtual threads wait without letting go of them (pinned, as within synchronized before JDK 24; --jfr shows where). 19.8/s is 99 % of 2 carrier threads ÷ 0.1 s = 20/s"},
		{"the same while they call", scene{n: 100, x: 19.8, delay: 0.1, sut: cpu{cores: 0.03}, peaks: peaks(2, 2), change: carriers(2)}, record.VerdictWorkerThreads, false, "2 carrier threads are the limit"},
		{"virtual threads that wait in numbers", scene{n: 100, x: 500, sut: cpu{cores: 0.3}, limits: record.Limits{Held: record.Duration(100 * time.Millisecond)}, change: carriers(2)},
			record.VerdictUnknown, false, "100 ms waiting, as declared, and 100 ms elsewhere"},
		{"workers reached for moments only", scene{n: 1000, x: 1500, delay: 0.1, peaks: peaks(150, 200), limits: workers}, record.VerdictUnknown, false, "567 ms elsewhere"},
		{"more in flight than the declared workers", scene{n: 1000, x: 3000, delay: 0.1, peaks: peaks(300, 340), limits: workers}, record.VerdictUnknown, false, ""},
		{"as many connections as workers", scene{n: 200, x: 1980, delay: 0.1, peaks: peaks(200, 200), limits: workers}, record.VerdictClientLimited, true, ""},
		{"a client pool of 5", scene{n: 100, x: 98, delay: 0.05, peaks: peaks(5, 5), limits: record.Limits{ClientPool: 5}},
			record.VerdictClientPool, true, "98/s is 98 % of 5 pooled connections to the downstream ÷ 0.05 s = 100/s"},
		{"a database pool", scene{n: 100, x: 195, delay: 0.05, peaks: peaks(10, 10), limits: record.Limits{DBPool: 10}}, record.VerdictDBPool, true, ""},
		{"two equal limits", scene{n: 100, x: 398, delay: 0.05, peaks: peaks(20, 20), limits: record.Limits{Workers: 20, ClientPool: 20}}, record.VerdictWorkerThreads, false, "which of the two binds cannot be told"},
		{"an unknown pool of 37", scene{n: 120, x: 610, delay: 0.06, peaks: peaks(37, 37)}, record.VerdictClientPool, false, "37 requests into the downstream at once"},
		{"the same, seen to be one", scene{n: 120, x: 610, delay: 0.06, peaks: peaks(37, 37),
			change: func(c *record.Cell, _ *Evidence) { c.Downstream.Connections.Open = 37 }}, record.VerdictClientPool, true, ""},
		{"37 threads in all and a few", scene{n: 120, x: 610, delay: 0.06, peaks: peaks(37, 37),
			change: func(c *record.Cell, _ *Evidence) { c.Probes[record.TierSUT].Threads.Peak = 44 }}, record.VerdictWorkerThreads, false, "44 in all"},
		{"37 threads with a name", scene{n: 120, x: 610, delay: 0.06, peaks: peaks(37, 37),
			change: func(c *record.Cell, _ *Evidence) {
				c.Probes[record.TierSUT].Groups = []probes.ThreadGroup{{Name: "http-nio", Threads: 37}, {Name: "GC Thread", Threads: 2}}
				c.Probes[record.TierSUT].Threads.Peak = 80
			}}, record.VerdictWorkerThreads, false, "37 called http-nio"},
		{"one second only is no plateau", scene{n: 120, x: 610, delay: 0.06, peaks: peaks(37)}, record.VerdictUnknown, false, ""},
		{"a gauge that moves is no plateau", scene{n: 120, x: 610, delay: 0.06, peaks: peaks(37, 41)}, record.VerdictUnknown, false, ""},
		{"a flat gauge below its peak is no plateau", scene{n: 120, x: 500, delay: 0.06, peaks: peaks(37, 37)}, record.VerdictUnknown, false, ""},
		{"a lock of 3 ms", scene{n: 120, x: 320, delay: 0.06, peaks: peaks(20, 20), evenness: 0.98}, record.VerdictLock, false, "every 3.12 ms like clockwork"},
		{"not quite like clockwork", scene{n: 120, x: 320, delay: 0.06, peaks: peaks(20, 24), evenness: 0.92}, record.VerdictUnknown, false, ""},
		{"a lock around the call", scene{n: 50, x: 19.8, delay: 0.05, peaks: peaks(1, 1)}, record.VerdictLock, false, "one request at a time"},
		{"one at a time for want of CPU", scene{n: 120, x: 990, delay: 0.02, peaks: peaks(21, 20), evenness: 0.99, sut: cpu{cores: 0.99, cpus: 1}}, record.VerdictCPU, true, "1000 µs: 0.99 ÷ 0.001 s = 990/s"},
		{"healthy", scene{n: 100, x: 985, delay: 0.1, peaks: peaks(100, 100)}, record.VerdictClientLimited, true, "985/s is 98 % of 100 connections ÷ 0.1 s = 1000/s; the SUT adds only 1.52 ms to the delay of 100 ms"},
		{"nearly healthy", scene{n: 100, x: 850, delay: 0.1, peaks: peaks(100, 100)}, record.VerdictClientLimited, false, ""},
		{"nearly healthy with a downstream that waits for a CPU", scene{n: 100, x: 850, delay: 0.1, peaks: peaks(100, 100), change: func(c *record.Cell, _ *Evidence) {
			c.Probes[record.TierDownstream].RunDelayS = new(5.0)
			c.Downstream.LatenessMS = &record.Latency{Mean: 2, P99: 34}
		}}, record.VerdictDownstream, false, "waited 5 s for a CPU in 10 s"},
		{"not healthy", scene{n: 100, x: 780, delay: 0.1, peaks: peaks(90, 97)}, record.VerdictUnknown, false, ""},
		{"healthy with open loop", scene{n: 300, x: 1990, delay: 0.1, peaks: peaks(200, 210), change: func(c *record.Cell, _ *Evidence) {
			c.Connections, c.Rate, c.Load.Mode, c.Load.LatencyMS.Mean = 0, 2000, "open", 101
		}}, record.VerdictClientLimited, true, "s at 2000/s offered: the load is the limit: of 2000/s offered 1990/s were answered"},
		{"the rate is not met", scene{n: 300, x: 1500, delay: 0.1, peaks: peaks(200, 210), change: func(c *record.Cell, _ *Evidence) {
			c.Connections, c.Rate, c.Load.Mode, c.Load.LatencyMS.Mean = 0, 2000, "open", 101
		}}, record.VerdictUnknown, false, ""},
		{"the downstream was told to be slow", scene{n: 100, x: 1150, delay: 0.05, served: 0.085, peaks: peaks(100, 100),
			change: func(_ *record.Cell, e *Evidence) { e.Varied = true }}, record.VerdictDownstream, true, "a call takes 85 ms on average and not 50 ms (as it was told to)"},
		{"the downstream is late by itself", scene{n: 100, x: 1150, delay: 0.05, served: 0.085, peaks: peaks(100, 100)}, record.VerdictDownstream, false, "it is late"},
		{"the downstream is late by a tenth less a bit", scene{n: 100, x: 1780, delay: 0.05, served: 0.0555, peaks: peaks(100, 100)}, record.VerdictClientLimited, true, ""},
		{"the SUT's own CPU", scene{n: 1000, x: 1900, delay: 0.1, peaks: peaks(195, 199), sut: cpu{cores: 1.93, cpus: 2, hottest: 0.97}, limits: workers}, record.VerdictCPU, true, "1.93 of its 2 cores"},
		{"not all of the SUT's CPU", scene{n: 1000, x: 1900, delay: 0.1, peaks: peaks(180, 199), sut: cpu{cores: 1.75, cpus: 2, hottest: 0.8}}, record.VerdictUnknown, false, ""},
		{"the SUT waits for a CPU that nobody has", scene{n: 160, x: 267, delay: 0.036, peaks: peaks(6, 16), sut: cpu{cores: 0.725, wait: 0.92, cpus: 1}}, record.VerdictCPU, false, "uses 0.725 of its 1 core while threads wait 9.2 s for one in 10 s"},
		{"one hot thread", scene{n: 100, x: 500, delay: 0.1, peaks: peaks(60, 55), sut: cpu{cores: 1.1, hottest: 0.97}}, record.VerdictHotThread, true, "runs 97 % of the time"},
		{"one hot thread that waits too", scene{n: 100, x: 500, delay: 0.1, peaks: peaks(60, 55), sut: cpu{cores: 0.75, wait: 0.6, hottest: 0.7}}, record.VerdictHotThread, false, ""},
		{"all of one CPU, which it shares", scene{n: 100, x: 500, delay: 0.1, peaks: peaks(60, 55), sut: cpu{cores: 0.86, wait: 0.15, cpus: 1}}, record.VerdictCPU, false, ""},
		{"not all of one CPU", scene{n: 100, x: 500, delay: 0.1, peaks: peaks(60, 55), sut: cpu{cores: 0.8, wait: 0.1, cpus: 1}}, record.VerdictUnknown, false, ""},
		{"a thread that is warm only", scene{n: 100, x: 500, delay: 0.1, peaks: peaks(60, 55), sut: cpu{cores: 1.1, hottest: 0.8}}, record.VerdictUnknown, false, ""},
		{"two hot threads are no single one", scene{n: 100, x: 500, delay: 0.1, peaks: peaks(60, 55), sut: cpu{cores: 1.9, hottest: 0.95}}, record.VerdictUnknown, false, ""},
		{"the machine's CPUs, the SUT's doing", scene{n: 1000, x: 4000, delay: 0.02, peaks: peaks(90, 99), sut: cpu{cores: 3.1, wait: 6, hottest: 0.8}, load: cpu{cores: 0.75}}, record.VerdictCPU, true, "the SUT uses most, 3.1"},
		{"the machine's CPUs, strangers' doing", scene{n: 1000, x: 4000, delay: 0.02, peaks: peaks(90, 99), sut: cpu{cores: 1, wait: 6, hottest: 0.4}, load: cpu{cores: 0.3},
			change: func(c *record.Cell, _ *Evidence) { c.Machine.StrangersS = new(28.0) }}, record.VerdictCPU, false, "others, who are no tier, use most, 2.8"},
		{"a busy machine that the SUT does not want", scene{n: 1000, x: 4000, delay: 0.02, peaks: peaks(90, 99), sut: cpu{cores: 0.3, wait: 0.2},
			change: func(c *record.Cell, _ *Evidence) { c.Machine.StrangersS = new(36.0) }}, record.VerdictUnknown, false, ""},
		{"the engine's CPU", scene{n: 100, x: 90000, sut: cpu{cores: 0.8}, load: cpu{cores: 0.98}}, record.VerdictLoadEngine, true, "uses 0.98 of the 1 core that"},
		{"the engine's CPU and the SUT's", scene{n: 100, x: 90000, sut: cpu{cores: 0.97, cpus: 1}, load: cpu{cores: 0.98}}, record.VerdictLoadEngine, false, ""},
		{"the engine runs or waits all the time", scene{n: 100, x: 60000, sut: cpu{cores: 0.4, cpus: 1}, load: cpu{cores: 0.65, wait: 0.37}}, record.VerdictLoadEngine, false, "waits for one 37 % of the time"},
		{"the engine has time left", scene{n: 100, x: 60000, sut: cpu{cores: 0.4, cpus: 1}, load: cpu{cores: 0.65, wait: 0.2}}, record.VerdictUnknown, false, ""},
		{"the engine waits for a CPU", scene{n: 100, x: 500, delay: 0.1, peaks: peaks(60, 55), sut: cpu{cores: 0.1}, load: cpu{cores: 0.1, wait: 0.5},
			change: func(c *record.Cell, _ *Evidence) { c.Load.Engine.LagP99MS = new(120.0) }}, record.VerdictLoadEngine, true, "waited 5 s for a CPU in 10 s"},
		{"the engine waits, but it hardly shows", scene{n: 100, x: 500, delay: 0.1, peaks: peaks(60, 55), sut: cpu{cores: 0.1}, load: cpu{cores: 0.1, wait: 0.5},
			change: func(c *record.Cell, _ *Evidence) { c.Load.Engine.LagP99MS = new(4.0) }}, record.VerdictUnknown, false, ""},
		{"garbage collection", scene{n: 100, x: 300, delay: 0.1, peaks: peaks(60, 55), sut: cpu{cores: 3.9},
			change: func(c *record.Cell, _ *Evidence) {
				c.Probes[record.TierSUT].GC = &probes.GCTotal{Count: 70, MS: 6000}
				c.Probes[record.TierSUT].HeapCommittedBytes = new(int64(64 << 20))
			}}, record.VerdictMemory, true, "70 collections stopped the SUT for 6000 ms of 10 s, 60 % of the time. The heap is 64 MB."},
		{"some garbage collection", scene{n: 100, x: 300, delay: 0.1, peaks: peaks(60, 55),
			change: func(c *record.Cell, _ *Evidence) { c.Probes[record.TierSUT].GC = &probes.GCTotal{Count: 7, MS: 900} }}, record.VerdictUnknown, false, ""},
		{"garbage collection, and nobody is served", scene{n: 500, x: 10, delay: 0.05, peaks: peaks(0, 0), sut: cpu{cores: 0.97}, change: func(c *record.Cell, _ *Evidence) {
			c.Probes[record.TierSUT].GC = &probes.GCTotal{Count: 64, MS: 9800}
			c.Load.Connections.Answered, c.AcceptQueue.SUT = 122, new(int64(378))
		}}, record.VerdictMemory, true, "98 % of the time"},
		{"out of memory", scene{n: 100, x: 300, delay: 0.1, peaks: peaks(60, 55), change: func(c *record.Cell, _ *Evidence) {
			c.Exceptions["ServletException <- OutOfMemoryError: Java heap space"] = 4
		}}, record.VerdictMemory, false, ""},
		{"errors", scene{n: 100, x: 800, delay: 0.1, peaks: peaks(90, 95), change: func(c *record.Cell, _ *Evidence) {
			c.Load.Requests.Non2xx = 2000
			c.Load.Status = map[string]int64{"200": 8000, "500": 2000}
			c.Exceptions["IllegalStateException"] = 1999
		}}, record.VerdictErrors, true, "2000 of 10000 outcomes are none that count, 20 %; 2000 × status 500; inside the SUT 1999 times IllegalStateException."},
		{"timeouts are what overload ends in", scene{n: 100, x: 800, delay: 0.1, peaks: peaks(90, 95), change: func(c *record.Cell, _ *Evidence) {
			c.Load.Requests.Errors.Timeout = 2000
		}}, record.VerdictErrors, false, ""},
		{"connections that the SUT does not read", scene{n: 100, x: 500, delay: 0.1, peaks: peaks(60, 50), change: func(c *record.Cell, _ *Evidence) {
			c.Load.Connections.Stuck, c.Load.Requests.Errors.Timeout, c.Load.Requests.InFlight, c.Load.LatencyMS.Mean = new(int64(50)), 10, 90, 100
		}}, record.VerdictErrors, true, "the SUT leaves connections without an answer: 50 times one that had answered gave not a byte for its next request until the time limit. By Little's law 500/s × 0.1 s = 50 connections are being answered, so 50 of 100 wait in vain."},
		{"… few of them", scene{n: 100, x: 980, delay: 0.1, peaks: peaks(98, 98), change: func(c *record.Cell, _ *Evidence) {
			c.Load.Connections.Stuck, c.Load.LatencyMS.Mean = new(int64(2)), 100
		}}, record.VerdictClientLimited, true, ""},
		{"… that are with the downstream", scene{n: 100, x: 500, delay: 0.1, mean: 100, peaks: peaks(100, 100), change: func(c *record.Cell, _ *Evidence) {
			c.Load.Connections.Stuck, c.Load.Requests.Errors.Timeout, c.Load.LatencyMS.Mean = new(int64(50)), 500, 100
		}}, record.VerdictErrors, false, "errors: 500 of 5500 outcomes"},
		{"a full machine whose users are not known", scene{n: 100, x: 68, delay: 0.1, peaks: peaks(50, 40), change: func(c *record.Cell, about *Evidence) {
			c.Machine.StrangersS, c.Machine.BusyS = nil, new(39.0)
			clear(c.Probes)
		}}, record.VerdictCPU, false, "the machine's CPUs are used up: 3.9 of 4 cores are busy; who has them is not known."},
		{"few errors", scene{n: 100, x: 985, delay: 0.1, peaks: peaks(100, 100), change: func(c *record.Cell, _ *Evidence) { c.Load.Requests.Non2xx = 400 }}, record.VerdictClientLimited, true, ""},
		{"the downstream's faults", scene{n: 100, x: 800, delay: 0.1, peaks: peaks(90, 95), change: func(c *record.Cell, _ *Evidence) {
			c.Load.Requests.Non2xx = 2000
			c.Downstream.Faults = map[string]int64{"status=503": 2001}
		}}, record.VerdictDownstream, true, "the downstream fails"},
		{"the downstream's connections", scene{n: 100, x: 480, delay: 0.06, peaks: peaks(30, 30), change: func(c *record.Cell, _ *Evidence) {
			c.AcceptQueue.Downstream, c.Downstream.Connections.Open = new(int64(70)), 30
		}}, record.VerdictDownstream, true, "it serves 30 and accepts no more, and 70 wait in its accept queue"},
		{"a connection cap", scene{n: 120, x: 817, delay: 0.06, peaks: peaks(50, 50), change: func(c *record.Cell, _ *Evidence) {
			c.Load.Connections.Answered, c.AcceptQueue.SUT = 50, new(int64(70))
		}}, record.VerdictConnectionCap, true, "of 120 clients 50 were served; 70 wait"},
		{"a connection cap and a full backlog", scene{n: 120, x: 817, delay: 0.06, peaks: peaks(50, 50), change: func(c *record.Cell, _ *Evidence) {
			c.Load.Connections.Established, c.Load.Connections.Answered, c.AcceptQueue.SUT = 56, 50, new(int64(6))
		}}, record.VerdictConnectionCap, false, ""},
		{"slow to accept for want of CPU", scene{n: 120, x: 817, delay: 0.06, peaks: peaks(40, 55), sut: cpu{cores: 0.97, cpus: 1}, change: func(c *record.Cell, _ *Evidence) {
			c.Load.Connections.Answered, c.AcceptQueue.SUT = 50, new(int64(70))
		}}, record.VerdictCPU, true, ""},
		{"more waiting than clients", scene{n: 120, x: 817, delay: 0.06, peaks: peaks(50, 50), change: func(c *record.Cell, _ *Evidence) {
			c.Load.Connections.Answered, c.AcceptQueue.SUT = 50, new(int64(170))
		}}, record.VerdictConnectionCap, false, ""},
		{"compilers at work", scene{n: 100, x: 500, delay: 0.1, peaks: peaks(60, 55), sut: cpu{cores: 1.95, cpus: 2, hottest: 0.97}, change: func(c *record.Cell, _ *Evidence) {
			c.Probes[record.TierSUT].Groups = []probes.ThreadGroup{{Name: "C2 CompilerThre", CPUS: 14}, {Name: "http-nio", CPUS: 5}}
		}}, record.VerdictCPU, true, " cores. The JIT compilers take 1.4 of it."},
		{"a full accept queue", scene{n: 120, x: 100, delay: 0.06, peaks: peaks(10, 12), change: func(c *record.Cell, _ *Evidence) {
			c.Machine.ListenOverflows, c.Load.Connections.OpenedInWindow = new(int64(300)), new(int64(400))
			c.Load.ConnectMS = &record.Latency{Mean: 700, P99: 1030}
			c.Load.LatencyMS.Mean = 120
		}}, record.VerdictAcceptQueue, true, "it overflowed 300 times"},
		{"a few drops that cost nothing", scene{n: 120, x: 1970, delay: 0.06, peaks: peaks(120, 120), change: func(c *record.Cell, _ *Evidence) {
			c.Machine.ListenOverflows, c.Load.Connections.OpenedInWindow = new(int64(3)), new(int64(4))
		}}, record.VerdictClientLimited, true, ""},
		{"local ports", scene{n: 120, x: 100, delay: 0.06, peaks: peaks(10, 12), change: func(c *record.Cell, _ *Evidence) {
			c.Load.Connections.Failed.LocalPorts = 5000
		}}, record.VerdictLocalPorts, true, "5000 connects found none free"},
		{"the SUT's local ports", scene{n: 120, x: 100, delay: 0.06, peaks: peaks(10, 12), change: func(c *record.Cell, _ *Evidence) {
			c.Exceptions["ResourceAccessException <- BindException: Cannot assign requested address"] = 7
		}}, record.VerdictLocalPorts, false, "the SUT's local ports"},
		{"delayed acknowledgements", scene{n: 100, x: 990, delay: 0.06, peaks: peaks(64, 62), change: func(c *record.Cell, _ *Evidence) {
			c.Machine.DelayedACKs = new(int64(9900))
		}}, record.VerdictDelayedACK, false, "40 ms"},
		{"40 ms without delayed acknowledgements", scene{n: 100, x: 990, delay: 0.06, peaks: peaks(64, 62)}, record.VerdictUnknown, false, ""},
		{"nothing known but the load", scene{n: 100, x: 990, change: func(c *record.Cell, e *Evidence) {
			c.Probes, c.Machine, *e = nil, nil, Evidence{}
		}}, record.VerdictUnknown, false, "nothing that the lab can see is used up"},
	}
	for _, test := range tests {
		v := test.scene.verdict()
		if v == nil || v.Kind != test.kind || v.Sure != test.sure || !strings.Contains(v.Text, test.says) {
			text, _ := json.Marshal(v)
			t.Errorf("%s: want %s (sure: %v) %q, got\n    %s", test.name, test.kind, test.sure, test.says, text)
		}
	}
}

// On a machine whose cores are all busy a SUT is not idle because nobody counted how
// long its threads waited.
func TestVerdictWithoutWaits(t *testing.T) {
	v := scene{n: 1000, x: 26000, delay: 0.010, served: 0.0114, sut: cpu{cores: 3.3}, load: cpu{cores: 0.4}, change: func(c *record.Cell, _ *Evidence) {
		for _, p := range c.Probes {
			p.RunDelayS, p.Groups = nil, nil
		}
	}}.verdict()
	if v == nil || v.Kind != record.VerdictCPU || v.Sure || !strings.Contains(v.Text, "the machine's CPUs are the limit: 3.76 of 4 cores are busy, and the SUT uses most, 3.3.") {
		t.Errorf("%+v", v)
	}
}

func TestNoVerdictWithoutFigures(t *testing.T) {
	for name, c := range map[string]record.Cell{
		"skipped":     {Status: "skipped"},
		"interrupted": {Status: "interrupted", Load: &record.LoadResult{Seconds: 3}},
		"no window":   {Status: "failed", Load: &record.LoadResult{}},
	} {
		if v := Of(c, Evidence{}); v != nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// Whatever is missing, a verdict is not an accident: no rule may rest on a 0
// that stands for "unknown".
func TestVerdictOfPartsOfACell(t *testing.T) {
	base := scene{n: 1000, x: 1920, delay: 0.1, peaks: peaks(200, 200), limits: record.Limits{Workers: 200}}
	for name, change := range map[string]func(*record.Cell, *Evidence){
		"no gauge":    func(c *record.Cell, _ *Evidence) { c.InFlight = nil },
		"no latency":  func(c *record.Cell, _ *Evidence) { c.Load.LatencyMS = nil },
		"no calls":    func(_ *record.Cell, e *Evidence) { e.Calls = nil },
		"no calls, 0": func(_ *record.Cell, e *Evidence) { e.Calls = new(0.0) },
		"no answers":  func(c *record.Cell, _ *Evidence) { c.Load.Requests.OK, c.Load.LatencyMS = 0, nil },
	} {
		base.change = change
		v := base.verdict()
		if v == nil || v.Sure || strings.Contains(v.Text, "NaN") || strings.Contains(v.Text, "Inf") {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
