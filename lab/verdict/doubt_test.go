package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"loomlab/lab/record"
	"loomlab/probes"
)

// sound is a cell that no rule doubts: 1000 connections, 100 ms, 40 s, two cores.
func sound() record.Cell {
	return record.Cell{
		Connections: 1000, Status: "ok",
		Load: &record.LoadResult{
			Mode: "closed", Seconds: 40, SlotSeconds: new(40_000.0), ThroughputPerS: new(9900.0),
			Connections: record.LoadConnections{Requested: 1000, Established: 1000, Answered: 1000, OpenedInWindow: new(int64(0))},
			Requests:    record.LoadRequests{OK: 396_000},
			LatencyMS:   &record.Latency{Min: 100, Mean: 101, P99: 110, Max: 130},
			Engine:      &record.LoadEngine{LagP99MS: new(0.3), Loops: 1, CPUUserS: 4, CPUSystemS: 8, CPUUSPerRequest: new(30.0)},
		},
		Downstream: &record.DownstreamStats{Answered: 396_000, LatenessMS: &record.Latency{Mean: 0.2, P99: 0.4}},
		Probes: map[string]*probes.Window{
			"sut":        {JITSeconds: new(0.01)},
			"load":       {RunDelayS: new(2.0)},
			"downstream": {RunDelayS: new(2.0), Cores: new(0.2), CPUUSPerRequest: new(20.0), Groups: []probes.ThreadGroup{{Name: "loomlab", MaxCPUS: 8}}},
		},
		Machine: &probes.MachineWindow{Seconds: 40, StrangersS: new(1.0), StealS: new(0.1), ThrottledS: new(0.0)},
		Warmup:  &record.CellWarmup{Seconds: 8, Steady: true, Why: "steady after 20000 requests"},
		Settle:  &record.Settle{Seconds: 1, Quiet: true},
	}
}

// soundly is what surrounds it.
func soundly() Circumstances {
	return Circumstances{Delay: 100 * time.Millisecond, Calls: new(1.0), Cores: 2, Calibration: new(sound())}
}

func TestDoubts(t *testing.T) {
	type cell = record.Cell
	type about = Circumstances
	tests := []struct {
		name string
		harm func(*cell, *about)
		want string
	}{
		{"sound", func(*cell, *about) {}, ""},
		{"as many answers as the delay allows", func(c *cell, _ *about) { c.Load.Requests.OK, c.Downstream.Answered = 401_000, 401_000 }, ""},
		{"more than the delay allows", func(c *cell, _ *about) { c.Load.Requests.OK, c.Downstream.Answered = 401_001, 401_001 }, "impossible"},
		{"… which does not hold where the delay varies", func(c *cell, a *about) { c.Load.Requests.OK, c.Downstream.Answered, a.Delay = 401_001, 401_001, 0 }, ""},
		{"more than the downstream served", func(c *cell, _ *about) { c.Downstream.Answered = 394_999 }, "impossible"},
		{"… unless 0.1 s of its account is missing", func(c *cell, a *about) { c.Downstream.Answered, a.Unseen = 393_999, 0.1 }, ""},
		{"… or an open loop carried in more than it has connections", func(c *cell, _ *about) {
			c.Load.Mode, c.Downstream.Answered, c.Load.Requests.CarriedIn = "open", 393_000, 3_000
		}, ""},
		{"two calls a request, served by half", func(_ *cell, a *about) { a.Calls = new(2.0) }, "impossible"},
		{"mean above max", func(c *cell, _ *about) { c.Load.LatencyMS.Max = 100.5 }, "impossible"},
		{"slots that were lost", func(c *cell, _ *about) { c.Load.SlotSeconds = new(39_560.0) }, "impossible"},
		{"slots within 1 %", func(c *cell, _ *about) { c.Load.SlotSeconds = new(39_640.0) }, ""},
		{"silent connections", func(c *cell, _ *about) { c.Load.Connections.Answered = 999 }, "fewer-connections"},
		{"no stuck connection", func(c *cell, _ *about) { c.Load.Connections.Stuck = new(int64(0)) }, ""},
		{"stuck connections", func(c *cell, _ *about) { c.Load.Connections.Stuck = new(int64(1)) }, "stuck-connections"},
		{"0.1 % errors", func(c *cell, _ *about) { c.Load.Requests.Non2xx = 396 }, ""},
		{"more errors", func(c *cell, _ *about) { c.Load.Requests.Errors.Reset = 400 }, "errors"},
		{"JVM restarted", func(c *cell, _ *about) {
			c.Probes["sut"] = &probes.Window{Unavailable: map[string]string{"jvm": "the JVM was restarted inside the window"}}
		}, "sut-restarted"},
		{"warm-up gave up", func(_ *cell, a *about) { a.Unsteady = "not steady after the maximum" }, "not-steady"},
		{"compiler at work", func(c *cell, _ *about) { c.Probes["sut"].JITSeconds = new(0.81) }, "jit-busy"},
		{"its threads' CPU time counts, not the clock", func(c *cell, _ *about) {
			c.Probes["sut"] = &probes.Window{JITSeconds: new(3.0), Groups: []probes.ThreadGroup{{Name: "C2 CompilerThre", CPUS: 0.5}, {Name: "C1 Comp", CPUS: 0.2}, {Name: "http-nio", CPUS: 9}}}
		}, ""},
		{"not settled", func(c *cell, _ *about) { c.Settle.Quiet = false }, "not-settled"},
		{"engine at its limit", func(c *cell, _ *about) { c.Load.Engine.CPUSystemS = 30 }, "engine-saturated"},
		{"the same on two loops", func(c *cell, _ *about) { c.Load.Engine.CPUSystemS, c.Load.Engine.Loops = 30, 2 }, ""},
		{"late engine", func(c *cell, _ *about) { c.Load.Engine.LagP99MS = new(5.1) }, "engine-late"},
		{"late for short answers", func(c *cell, a *about) {
			*c.Load.LatencyMS, a.Delay = record.Latency{Min: 2, Mean: 4, P99: 9, Max: 20}, 0
			c.Load.Engine.LagP99MS, c.Load.SlotSeconds, c.Downstream, a.Calibration = new(2.1), nil, nil, nil
		}, "engine-late"},
		{"open loop that starts late", func(c *cell, _ *about) {
			c.Load.Mode, c.Load.Open = "open", &record.LoadOpen{Scheduled: 10_000, Late: 101}
		}, "engine-late"},
		{"late downstream", func(c *cell, _ *about) { c.Downstream.LatenessMS.P99 = 5.1 }, "downstream-late"},
		{"downstream late on average", func(c *cell, _ *about) { c.Downstream.LatenessMS.Mean = 2.1 }, "downstream-late"},
		{"downstream at its limit", func(c *cell, _ *about) { c.Probes["downstream"].Cores = new(0.86) }, "downstream-saturated"},
		{"one thread of it", func(c *cell, a *about) { a.Cores, c.Probes["downstream"].Groups[0].MaxCPUS = 16, 35 }, "downstream-saturated"},
		{"engine waits for a CPU", func(c *cell, _ *about) { c.Probes["load"].RunDelayS = new(801.0) }, "waits-for-cpu"},
		{"instrument twice as dear", func(c *cell, _ *about) { c.Load.Engine.CPUUSPerRequest = new(81.0) }, "calibration-drift"},
		{"… at another rate", func(c *cell, _ *about) { c.Load.Engine.CPUUSPerRequest, c.Load.ThroughputPerS = new(81.0), new(2000.0) }, ""},
		{"a machine slower than in the forks before", func(c *cell, a *about) {
			c.Load.Engine.CPUUSPerRequest = new(13.0)
			a.Instrument = []float64{InstrumentUS(*c) / 1.2, InstrumentUS(*c) / 1.15}
		}, "machine-speed"},
		{"a machine as fast as in the forks before", func(c *cell, a *about) {
			a.Instrument = []float64{InstrumentUS(*c) * 1.05, InstrumentUS(*c) / 1.05, InstrumentUS(*c)}
		}, ""},
		{"a single window before", func(c *cell, a *about) { a.Instrument = []float64{InstrumentUS(*c) / 2} }, ""},
		{"strangers", func(c *cell, _ *about) { c.Machine.StrangersS = new(4.1) }, "machine-busy"},
		{"a full machine, nobody knows whose", func(c *cell, _ *about) { c.Machine.StrangersS, c.Machine.BusyS = nil, new(73.0) }, "machine-busy"},
		{"… not quite full", func(c *cell, _ *about) { c.Machine.StrangersS, c.Machine.BusyS = nil, new(71.0) }, ""},
		{"… that may be the SUT", func(c *cell, a *about) { c.Machine.StrangersS, a.Foreign = new(40.0), true }, ""},
		{"steal", func(c *cell, _ *about) { c.Machine.StealS = new(4.0) }, "machine-busy"},
		{"throttled", func(c *cell, _ *about) { c.Machine.ThrottledS = new(0.5) }, "machine-busy"},
		{"every connection renewed, quickly", func(c *cell, _ *about) { c.Load.Connections.OpenedInWindow = new(int64(4000)) }, ""},
		{"reconnecting takes 4 % of the time", func(c *cell, _ *about) {
			c.Load.Requests.OK, c.Load.Connections.OpenedInWindow = 380_000, new(int64(4000))
		}, "connections-renewed"},
		{"requests sent again", func(c *cell, _ *about) { c.Load.Connections.Retried = 1981 }, "requests-retried"},
		{"heavy tail", func(c *cell, _ *about) { c.Load.LatencyMS.P99 = 100.9 }, "heavy-tail"},
		{"short window", func(c *cell, _ *about) {
			c.Load.Seconds, c.Load.SlotSeconds, c.Load.Requests.OK, c.Downstream.Answered = 30, new(30_000.0), 297_000, 297_000
		}, "thin-p99"},
		{"two generators", func(c *cell, _ *about) { divide(c, 0) }, ""},
		{"one of them at its limit", func(c *cell, _ *about) { divide(c, 0); c.Load.Generators[1].Engine.CPUSystemS = 33 }, "engine-saturated"},
		{"… and late", func(c *cell, _ *about) { divide(c, 0); c.Load.Generators[1].Engine.LagP99MS = new(6.0) }, "engine-late"},
		{"… and waiting for a CPU", func(c *cell, _ *about) { divide(c, 0); c.Load.Generators[1].RunDelayS = new(401.0) }, "waits-for-cpu"},
		{"they do not begin together", func(c *cell, _ *about) { divide(c, 0); c.Load.StartSpreadMS = new(5.1) }, "start-spread"},
		{"clocks known within 5 ms", func(_ *cell, a *about) { a.ClockError = 5 * time.Millisecond }, ""},
		{"not so well", func(_ *cell, a *about) { a.ClockError = 5100 * time.Microsecond }, "clocks-apart"},
		{"within 5 % of their parts", func(c *cell, _ *about) { divide(c, 0.05) }, ""},
		{"not so", func(c *cell, _ *about) { divide(c, 0.054) }, "generators-unequal"},
		{"which may be chance where latencies vary", func(c *cell, _ *about) { divide(c, 0.054); c.Load.LatencyMS.Stddev = 2000 }, ""},
		{"a sum that does not add up", func(c *cell, _ *about) { divide(c, 0); c.Load.Requests.Sent-- }, "impossible"},
		{"nothing measured", func(c *cell, _ *about) { c.Load = nil }, ""},
		{"no probes at all", func(c *cell, _ *about) { c.Probes, c.Machine, c.Downstream, c.Settle = nil, nil, nil, nil }, ""},
	}
	for _, test := range tests {
		c, about := sound(), soundly()
		test.harm(&c, &about)
		var got []string
		for _, d := range Doubts(c, about) {
			got = append(got, d.Kind)
			if d.Evidence == "" || d.Threshold == "" || d.Remedy == "" {
				t.Errorf("%s: doubt %q lacks evidence, threshold or remedy: %+v", test.name, d.Kind, d)
			}
			if _, known := record.MetricNamed(d.Metric); d.Metric != "" && !known {
				t.Errorf("%s: doubt %q is about %q, which is no metric", test.name, d.Kind, d.Metric)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: doubts %v, want %q", test.name, got, test.want)
		}
	}
}

// divide makes the load that of two generators, of which the second got so much
// less than its part.
func divide(c *record.Cell, less float64) {
	c.Load.RequestedS, c.Load.StartSpreadMS = new(40.0), new(0.2)
	half := c.Load.Requests.OK / 2
	missing := int64(less * float64(half))
	for i, ok := range []int64{half + missing, half - missing} {
		engine := *c.Load.Engine
		engine.CPUUserS, engine.CPUSystemS = 2, 4
		c.Load.Generators = append(c.Load.Generators, record.LoadGenerator{
			Index: i + 1, Place: "local", Connections: 500, Seconds: 40, Requests: record.LoadRequests{OK: ok}, Engine: &engine, RunDelayS: new(1.0),
		})
	}
	c.Load.Requests.Sent = c.Load.Requests.OK
}

func TestRunDoubts(t *testing.T) {
	for forks, want := range map[int][]string{1: {"too-few-forks"}, 5: {"too-few-forks"}, 6: nil} {
		var got []string
		for _, d := range RunDoubts(record.Experiment{Forks: forks}) {
			got = append(got, d.Kind)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d forks: doubts %v, want %v", forks, got, want)
		}
	}
}
