package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loomlab/lab/record"
	"loomlab/loadgen"
	"loomlab/probes"
)

var update = flag.Bool("update", false, "write the golden files, and the saved run they are made from")

const savedRun = "../../testdata/runs/article-small"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func openSaved(t *testing.T) *record.Saved {
	t.Helper()
	saved, err := record.Open(savedRun)
	if err != nil {
		t.Fatal(err)
	}
	if len(saved.Warnings) > 0 {
		t.Fatal(saved.Warnings)
	}
	return saved
}

// TestSavedRun writes the run that the golden files are made from, when asked.
func TestSavedRun(t *testing.T) {
	if !*update {
		openSaved(t)
		return
	}
	saved := articleSmall(t)
	if err := os.MkdirAll(savedRun, 0o755); err != nil {
		t.Fatal(err)
	}
	run, err := json.MarshalIndent(saved.Run, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var cells bytes.Buffer
	for _, c := range saved.Cells {
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		cells.Write(append(line, '\n'))
	}
	for name, body := range map[string][]byte{"run.json": append(run, '\n'), "cells.jsonl": cells.Bytes()} {
		if err := os.WriteFile(filepath.Join(savedRun, name), body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// articleSmall is a run of the article as two cores might measure it: one cell
// failed, one was never reached, some carry doubts.
func articleSmall(t *testing.T) *record.Saved {
	t.Helper()
	saved := &record.Saved{Run: articleRun()}
	for _, f := range articleFigures {
		saved.Cells = append(saved.Cells, f.cell(t))
	}
	return saved
}

func articleRun() record.Run {
	ms := record.Duration(time.Millisecond)
	second := record.Duration(time.Second)
	suts := []record.SUT{
		{Name: "platform", App: "mvc", Limits: record.Limits{Workers: 200}},
		{Name: "virtual", App: "mvc", Args: []string{"--spring.threads.virtual.enabled=true"}},
		{Name: "webflux", App: "webflux"},
	}
	var starts []record.Start
	for i, s := range suts {
		starts = append(starts, record.Start{
			SUT: s.Name, Fork: 1, Kind: "app", ReadyS: ptr([]float64{2.31, 2.284, 1.957}[i]),
			IdleRSSBytes: ptr([]int64{236, 243, 240}[i] << 20),
			FirstRequest: &record.FirstRequest{Status: 200, Body: "ok", MS: []float64{312.4, 318.9, 287.1}[i]},
			JVM:          &record.StartJVM{Version: "25.0.1", Collector: "G1", CPUs: 2},
		})
	}
	return record.Run{
		Schema: record.Schema, ID: "20260102T120000Z-article", Version: "0.1.0", Args: []string{"loomlab", "run"},
		Experiment: record.Experiment{
			Name: "article", Title: "Spring MVC, virtual threads and WebFlux under one load",
			Source:     &record.Source{Title: "Spring · 60", Counting: "with-drain", Window: 10 * second},
			Downstream: &record.Downstream{Delay: 100 * ms},
			Load:       record.Load{Path: "/call", Connections: []int{100, 1000, 3000}, Rounds: 2, Duration: 10 * second, Timeout: 10 * second},
			Forks:      1, SUTs: suts, Published: articlePublished,
		},
		Machine: record.Machine{Host: "bench1", OS: "linux", Arch: "amd64", Kernel: "6.8.0", CPU: "AMD EPYC 7B13", Cores: 2, MemoryBytes: 8 << 30},
		Status:  "failed", Started: noon, Finished: ptr(noon.Add(6 * time.Minute)), Order: [][]string{{"platform", "virtual", "webflux"}}, Starts: starts,
		Claims: []record.ClaimResult{
			{Text: "platform threads are capped near 200 / 100 ms", Expr: "throughput('platform', 1000) <= 2000 * 1.02", Outcome: record.Confirmed,
				Arithmetic: "1957 … 1962 <= 2000 * 1.02 = 2040", Figures: []record.ClaimFigure{
					{Figure: "throughput('platform', 1000)", Metric: record.Throughput, Unit: "req/s", SUT: "platform", Connections: 1000,
						Values: []float64{1962.4, 1957.8}, Low: ptr(1957.8), High: ptr(1962.4), Basis: "2 rounds"}}},
			{Text: "virtual threads reach WebFlux's order", Expr: "throughput('virtual', 3000) >= 0.75 * throughput('webflux', 3000)", Outcome: record.Undecided,
				Arithmetic: "n/a >= 0.75 * n/a", Reason: "throughput('virtual', 3000): 1 of 2 windows measured; throughput('webflux', 3000): failed in round 2: the SUT was killed by signal 9",
				Figures: []record.ClaimFigure{
					{Figure: "throughput('virtual', 3000)", Metric: record.Throughput, Unit: "req/s", SUT: "virtual", Connections: 3000, Missing: "1 of 2 windows measured"},
					{Figure: "throughput('webflux', 3000)", Metric: record.Throughput, Unit: "req/s", SUT: "webflux", Connections: 3000, Missing: "failed in round 2: the SUT was killed by signal 9"}}},
			{Text: "virtual threads need less memory than WebFlux", Expr: "rss_mb('virtual', 1000) < rss_mb('webflux', 1000)", Outcome: record.Refuted,
				Arithmetic: "641 … 655 < 378 … 379", Figures: []record.ClaimFigure{
					{Figure: "rss_mb('virtual', 1000)", Metric: "rss_mb", Unit: "MB", SUT: "virtual", Connections: 1000, Values: []float64{641, 655}, Low: ptr(641.0), High: ptr(655.0), Basis: "2 rounds", Doubts: []string{"engine-late"}},
					{Figure: "rss_mb('webflux', 1000)", Metric: "rss_mb", Unit: "MB", SUT: "webflux", Connections: 1000, Values: []float64{378, 379}, Low: ptr(378.0), High: ptr(379.0), Basis: "2 rounds"}}},
		},
	}
}

var articlePublished = []record.Published{
	{SUT: "platform", Connections: 100, Throughput: []float64{914, 924}, P50MS: []float64{111.1, 110.9}, P99MS: []float64{121.4, 118.1}, Errors: []float64{0, 0}, RSSMB: []float64{369}, ThreadsPeak: []float64{221}, HeapUsedMB: []float64{25}},
	{SUT: "platform", Connections: 1000, Throughput: []float64{1997, 1946}, P50MS: []float64{549.5, 557.6}, P99MS: []float64{586.5, 574.1}, Errors: []float64{0, 0}, RSSMB: []float64{439}, ThreadsPeak: []float64{414}, HeapUsedMB: []float64{36}},
	{SUT: "platform", Connections: 3000, Throughput: []float64{2270, 2312}, P50MS: []float64{1670, 1659.5}, P99MS: []float64{1772.4, 1715.7}, Errors: []float64{0, 0}, RSSMB: []float64{462}, ThreadsPeak: []float64{436}, HeapUsedMB: []float64{36}},
	{SUT: "virtual", Connections: 100, Throughput: []float64{922, 933}, P50MS: []float64{110.8, 109.6}, P99MS: []float64{116.4, 116.9}, Errors: []float64{0, 0}, RSSMB: []float64{370}, ThreadsPeak: []float64{31}, HeapUsedMB: []float64{25}},
	{SUT: "virtual", Connections: 1000, Throughput: []float64{9037, 9229}, P50MS: []float64{112.8, 109.4}, P99MS: []float64{126.9, 123.3}, Errors: []float64{0, 0}, RSSMB: []float64{688}, ThreadsPeak: []float64{31}, HeapUsedMB: []float64{49}},
	{SUT: "virtual", Connections: 3000, Throughput: []float64{14970, 12465}, P50MS: []float64{169, 207.9}, P99MS: []float64{1319.4, 2642.9}, Errors: []float64{2, 0}, RSSMB: []float64{1161}, ThreadsPeak: []float64{31}, HeapUsedMB: []float64{84}},
	{SUT: "webflux", Connections: 100, Throughput: []float64{922, 927}, P50MS: []float64{111.8, 110.7}, P99MS: []float64{121, 123.2}, Errors: []float64{0, 0}, RSSMB: []float64{367}, ThreadsPeak: []float64{18}, HeapUsedMB: []float64{15}},
	{SUT: "webflux", Connections: 1000, Throughput: []float64{9052, 9179}, P50MS: []float64{111.7, 110.7}, P99MS: []float64{125, 126}, Errors: []float64{0, 0}, RSSMB: []float64{375}, ThreadsPeak: []float64{18}, HeapUsedMB: []float64{17}},
	{SUT: "webflux", Connections: 3000, Throughput: []float64{19622, 12919}, P50MS: []float64{118.3, 129.7}, P99MS: []float64{1631.1, 4541.7}, Errors: []float64{114, 0}, RSSMB: []float64{522}, ThreadsPeak: []float64{18}, HeapUsedMB: []float64{24}},
}

// figures are what one window of the saved run saw.
type figures struct {
	sut              string
	connections      int
	round            int
	perS, p50, p99   float64
	errors           int64
	sutUS            float64
	rssMB            int64
	threads          int64
	heapMB, afterGC  int64 // afterGC 0: no collection yet
	verdict, doubt   string
	status, reason   string
	exception        string
	verdictUncertain bool
}

const (
	clientLimited = "client-limited"
	workers       = "worker-threads"
	cpu           = "cpu"
)

var articleFigures = []figures{
	{sut: "platform", connections: 100, round: 1, perS: 984.2, p50: 101.1, p99: 107.9, sutUS: 486, rssMB: 371, threads: 221, heapMB: 256, afterGC: 24, verdict: clientLimited},
	{sut: "platform", connections: 100, round: 2, perS: 986.1, p50: 101.0, p99: 106.2, sutUS: 431, rssMB: 372, threads: 221, heapMB: 256, afterGC: 25, verdict: clientLimited},
	{sut: "platform", connections: 1000, round: 1, perS: 1962.4, p50: 508.6, p99: 531.2, sutUS: 402, rssMB: 428, threads: 414, heapMB: 256, afterGC: 33, verdict: workers},
	{sut: "platform", connections: 1000, round: 2, perS: 1957.8, p50: 509.9, p99: 529.7, sutUS: 397, rssMB: 431, threads: 414, heapMB: 256, afterGC: 34, verdict: workers},
	{sut: "platform", connections: 3000, round: 1, perS: 1949.3, p50: 1532.4, p99: 1588.1, sutUS: 418, rssMB: 455, threads: 436, heapMB: 256, afterGC: 36, verdict: workers, doubt: "renewed"},
	{sut: "platform", connections: 3000, round: 2, perS: 1951.0, p50: 1530.9, p99: 1571.6, sutUS: 415, rssMB: 457, threads: 436, heapMB: 256, afterGC: 36, verdict: workers},
	{sut: "virtual", connections: 100, round: 1, perS: 985.7, p50: 101.0, p99: 105.8, sutUS: 402, rssMB: 369, threads: 31, heapMB: 256, verdict: clientLimited},
	{sut: "virtual", connections: 100, round: 2, perS: 987.9, p50: 100.9, p99: 104.1, sutUS: 371, rssMB: 370, threads: 31, heapMB: 256, verdict: clientLimited},
	{sut: "virtual", connections: 1000, round: 1, perS: 6421.5, p50: 148.3, p99: 236.4, sutUS: 214, rssMB: 641, threads: 31, heapMB: 412, afterGC: 47, verdict: cpu, doubt: "engine"},
	{sut: "virtual", connections: 1000, round: 2, perS: 6588.2, p50: 144.7, p99: 229.0, sutUS: 209, rssMB: 655, threads: 31, heapMB: 412, afterGC: 49, verdict: cpu, doubt: "engine2"},
	{sut: "virtual", connections: 3000, round: 1, perS: 6302.9, p50: 441.5, p99: 1127.3, errors: 3, sutUS: 231, rssMB: 1012, threads: 31, heapMB: 640, afterGC: 88, verdict: cpu, doubt: "p99"},
	{sut: "webflux", connections: 100, round: 1, perS: 985.9, p50: 101.1, p99: 106.0, sutUS: 331, rssMB: 362, threads: 18, heapMB: 256, afterGC: 15, verdict: clientLimited},
	{sut: "webflux", connections: 100, round: 2, perS: 988.0, p50: 100.9, p99: 104.6, sutUS: 298, rssMB: 363, threads: 18, heapMB: 256, afterGC: 16, verdict: clientLimited},
	{sut: "webflux", connections: 1000, round: 1, perS: 8034.6, p50: 119.2, p99: 171.5, sutUS: 158, rssMB: 378, threads: 18, heapMB: 256, afterGC: 17, verdict: cpu},
	{sut: "webflux", connections: 1000, round: 2, perS: 8109.4, p50: 117.9, p99: 168.8, sutUS: 155, rssMB: 379, threads: 18, heapMB: 256, afterGC: 17, verdict: cpu},
	{sut: "webflux", connections: 3000, round: 1, perS: 8257.0, p50: 341.0, p99: 902.2, errors: 41, sutUS: 163, rssMB: 501, threads: 18, heapMB: 300, afterGC: 24, verdict: cpu, verdictUncertain: true, exception: "WebClientRequestException <- SocketException: Connection reset"},
	{sut: "webflux", connections: 3000, round: 2, status: "failed", reason: "the SUT was killed by signal 9 in the middle of the cell, 6.2 s after it began"},
}

func (f figures) cell(t *testing.T) record.Cell {
	t.Helper()
	c := record.Cell{
		SUT: f.sut, Fork: 1, Connections: f.connections, Round: f.round, Started: noon.Add(time.Duration(f.round) * time.Minute),
		Status: orElse(f.status, "ok"), Reason: f.reason, Exceptions: map[string]int64{}, Unavailable: map[string]string{},
	}
	if c.Status != "ok" {
		return c
	}
	ok := int64(f.perS * 10)
	encoded, latency := latencies(t, ok, f.p50, f.p99)
	reconnects := int64(f.perS / 10) // Tomcat closes each connection after 100 requests
	if f.sut == "webflux" {
		reconnects = 0
	}
	c.Load = &loadgen.Result{
		Schema: 1, Target: "http://127.0.0.1:18080/call", Mode: "closed", Started: c.Started, Seconds: 10, RequestedS: ptr(10.0), ThroughputPerS: ptr(float64(ok) / 10),
		Connections: loadgen.Connections{Requested: f.connections, Established: f.connections, Answered: f.connections, Opened: int64(f.connections) + reconnects, OpenedInWindow: &reconnects},
		Requests: loadgen.Requests{CarriedIn: int64(f.connections), Sent: ok + f.errors, OK: ok, Errors: loadgen.Errors{Reset: f.errors}, InFlight: int64(f.connections),
			Drained: loadgen.Drained{OK: int64(f.connections)}},
		LatencyMS: latency, Histogram: encoded, Engine: &loadgen.Engine{Kind: "epoll", Loops: 1, CPUUSPerRequest: ptr(9.8)},
	}
	cpuS := f.sutUS * float64(ok) / 1e6
	sut := &probes.Window{
		CPUS: &cpuS, CPUUSPerRequest: ptr(f.sutUS), RSSBytes: &probes.Extent{Mean: f.rssMB << 20, Max: f.rssMB << 20, End: f.rssMB << 20},
		Threads: &probes.LivePeak{Live: f.threads + 14, Peak: f.threads + 14}, PlatformThreads: &probes.LivePeak{Live: f.threads, Peak: f.threads},
		HeapCommittedBytes: ptr(f.heapMB << 20), GC: &probes.GCTotal{Count: f.afterGC / 8, MS: float64(f.afterGC) * 1.7, LongestMS: float64(min(f.afterGC, 8)) * 1.3}, Unavailable: map[string]string{},
	}
	if f.afterGC > 0 {
		sut.HeapAfterGCBytes = ptr(f.afterGC << 20)
	} else {
		sut.Unavailable["heap_after_gc_bytes"] = "no collection yet"
	}
	c.Probes = map[string]*probes.Window{record.TierSUT: sut, record.TierDownstream: {CPUUSPerRequest: ptr(10.4)}}
	if f.exception != "" {
		c.Exceptions[f.exception] = f.errors - 2
	}
	c.Verdict = f.verdictOf()
	c.Doubts = doubtsOf(f.doubt)
	return c
}

func (f figures) verdictOf() *record.Verdict {
	v := &record.Verdict{Kind: f.verdict, Sure: !f.verdictUncertain}
	switch f.verdict {
	case clientLimited:
		v.Text = f.sut + " at 100: the load is the limit. 100 connections ÷ 0.1 s = 1000/s; the SUT adds about 1 ms to each request."
	case workers:
		v.Text = f.sut + ": 200 worker threads are the limit. " + plain(math.Round(f.perS)) + "/s is 98 % of 200 ÷ 0.1 s; the other connections wait in a queue."
	case cpu:
		v.Text = f.sut + ": the two cores are busy, 70 % of them with the SUT."
	}
	return v
}

func doubtsOf(kind string) []record.Doubt {
	switch kind {
	case "engine":
		return []record.Doubt{{Kind: "engine-late", Evidence: "lag p99 6.1 ms", Threshold: "lag p99 ≤ 5 ms", Remedy: "give the load engine a core of its own, or lower the rung"}}
	case "engine2":
		return []record.Doubt{{Kind: "engine-late", Evidence: "lag p99 5.8 ms", Threshold: "lag p99 ≤ 5 ms", Remedy: "give the load engine a core of its own, or lower the rung"}}
	case "renewed":
		return []record.Doubt{{Kind: "connections-renewed", Evidence: "194 reconnects with 3000 connections", Threshold: "at most 1 % of the connections reconnect in a window", Remedy: "find who closes"}}
	case "p99":
		return []record.Doubt{{Kind: "p99-few-cycles", Evidence: "22 cycles of the mean latency", Threshold: "at least 300", Remedy: "a longer window"}}
	}
	return []record.Doubt{}
}

// latencies makes a histogram of n answers with roughly these percentiles.
func latencies(t *testing.T, n int64, p50, p99 float64) (string, *record.Latency) {
	t.Helper()
	h := hdr.New(1, 3_600_000_000, 3)
	random := rand.New(rand.NewPCG(uint64(n), uint64(p50*1000)))
	for range n / 20 { // twenty answers a draw keep the file small
		ms := p50 + (p99-p50)*(random.ExpFloat64()-math.Ln2)/(math.Log(100)-math.Ln2)
		if err := h.RecordValues(int64(max(ms, 0.9*p50)*1000), 20); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := h.EncodeV2()
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded), record.FromHistogram(h)
}
