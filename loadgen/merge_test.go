package loadgen

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"loomlab/loadgen/evloop"
)

// The parts of any total add up to it and differ by one at most.
func TestPartsAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(total int64, of int) {
		sum, least, most := int64(0), int64(math.MaxInt64), int64(0)
		for i := 1; i <= of; i++ {
			part := Part{Index: i, Of: of}.share(total)
			sum, least, most = sum+part, min(least, part), max(most, part)
		}
		if sum != total || most-least > 1 {
			t.Errorf("%d over %d: sum %d, parts from %d to %d", total, of, sum, least, most)
		}
	}
	for range 2000 {
		check(random.Int64N(1<<40), 1+random.IntN(MaxParts))
	}
	if got := [3]int64{Part{1, 3}.share(100), Part{2, 3}.share(100), Part{3, 3}.share(100)}; got != [3]int64{34, 33, 33} {
		t.Errorf("100 over 3: %v", got)
	}
}

// The generators' schedules are one: every request of it belongs to one loop of
// one generator, whatever their loops.
func TestPartsShareOneSchedule(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		of, n := 1+random.IntN(7), int64(1+random.IntN(500))
		seen := map[int64]bool{}
		for i := 1; i <= of; i++ {
			j := &job{cfg: Config{Loops: 1 + random.IntN(4), Part: Part{i, of}}}
			for loop := range j.cfg.Loops {
				for k := int64(0); j.number(loop, k) < n; k++ {
					if seen[j.number(loop, k)] {
						t.Fatalf("request %d belongs to two loops", j.number(loop, k))
					}
					seen[j.number(loop, k)] = true
				}
			}
		}
		if int64(len(seen)) != n {
			t.Fatalf("%d generators make %d of %d requests", of, len(seen), n)
		}
	}
}

// kindLoop is an event loop that can tell its kind and nothing else.
type kindLoop struct{ evloop.Loop }

func (kindLoop) Kind() string { return "epoll" }

// randomWorker has counted a window.
func randomWorker(random *rand.Rand) *worker {
	up := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
	w := &worker{before: newCounts(2), window: newCounts(2), after: newCounts(2)}
	c := w.window
	for range 1 + random.IntN(3000) {
		target := &c.targets[random.IntN(2)]
		c.ok++
		c.status[200]++
		c.bytes += 10
		target.ok++
		target.latency.record(up(3 * time.Second))
		c.fromSend.record(up(time.Second))
		c.pacing.record(up(time.Millisecond))
		c.lag.record(up(time.Millisecond))
		w.before.ok++
		w.before.sent++
		w.before.targets[0].latency.record(up(time.Second))
		w.connect.record(up(10 * time.Millisecond))
	}
	c.errors[errReset], c.opened, c.slotTime = 3, 5, up(time.Second)
	c.sent = c.ok + 3
	w.schedule.scheduled, w.established, w.answered = c.sent, 5, 5
	w.firstSend, w.firstLatency = 1, time.Millisecond
	w.after.ok, w.inFlightAtEnd, w.carriedIn = 2, 2, 2
	return w
}

// resultOf is the result of a run with such workers, as it comes over a pipe.
func resultOf(t *testing.T, part Part, workers ...*worker) *Result {
	t.Helper()
	targets := []Target{{0.5, "/a"}, {0.5, "/b"}}
	j := &job{cfg: Config{Rate: 1000, Duration: time.Second, Targets: targets, Part: part, Connections: 5 * len(workers)}, targets: targets}
	r := &run{job: j, workers: workers, opened: 1, end: 1 + 1e9, status: make([]status, len(workers))}
	r.times.Store(&times{})
	for range workers {
		r.loops = append(r.loops, kindLoop{})
	}
	body, err := json.Marshal(r.result())
	if err != nil {
		t.Fatal(err)
	}
	var res Result
	if err := json.Unmarshal(body, &res); err != nil {
		t.Fatal(err)
	}
	return &res
}

// What several generators counted gives the figures of one that counted it all.
func TestMergeIsOneResult(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for of := 1; of <= 4; of++ {
		var workers []*worker
		var parts []*Result
		for i := range max(of, 2) {
			workers = append(workers, randomWorker(random))
			parts = append([]*Result{resultOf(t, Part{i + 1, max(of, 2)}, workers[i])}, parts...) // in any order
		}
		want := resultOf(t, Part{}, workers...)
		got, err := Merge(parts)
		if err != nil {
			t.Fatal(err)
		}
		if got.Identity() != 0 || len(got.Generators) != len(parts) || got.Generators[1].Index != 2 {
			t.Errorf("identity %d, generators %+v", got.Identity(), got.Generators)
		}
		for name, pair := range map[string][2]*Latency{
			"latency": {got.LatencyMS, want.LatencyMS}, "connect": {got.ConnectMS, want.ConnectMS}, "warm-up": {got.Warmup.LatencyMS, want.Warmup.LatencyMS},
			"from send": {got.Open.LatencyFromSendMS, want.Open.LatencyFromSendMS}, "pacing": {got.Open.PacingMS, want.Open.PacingMS},
			"target": {got.Targets[1].LatencyMS, want.Targets[1].LatencyMS},
		} {
			sameLatency(t, name, pair[0], pair[1])
		}
		if got.Histogram != want.Histogram || *got.Engine.LagP99MS != *want.Engine.LagP99MS {
			t.Error("the histograms differ")
		}
		got.LatencyMS, got.ConnectMS, got.Warmup.LatencyMS, got.Open.LatencyFromSendMS, got.Open.PacingMS = want.LatencyMS, want.ConnectMS, want.Warmup.LatencyMS, want.Open.LatencyFromSendMS, want.Open.PacingMS
		for i := range got.Targets {
			got.Targets[i].LatencyMS = want.Targets[i].LatencyMS
		}
		got.Generators, got.Warnings, got.Warmup.Seconds = nil, want.Warnings, want.Warmup.Seconds
		if !reflect.DeepEqual(got, want) {
			t.Errorf("merged %+v\n want %+v", got, want)
		}
	}
}

// sameLatency lets the moments differ by rounding alone; ranks and extremes are the same.
func sameLatency(t *testing.T, name string, got, want *Latency) {
	t.Helper()
	if math.Abs(got.Mean/want.Mean-1) > 1e-9 || math.Abs(got.Stddev/want.Stddev-1) > 1e-6 {
		t.Errorf("%s: mean %v ± %v, want %v ± %v", name, got.Mean, got.Stddev, want.Mean, want.Stddev)
	}
	g, w := *got, *want
	g.Mean, g.Stddev, w.Mean, w.Stddev = 0, 0, 0, 0
	if g != w {
		t.Errorf("%s: %+v, want %+v", name, g, w)
	}
}

func TestMergeMistakes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	one, two := resultOf(t, Part{1, 2}, randomWorker(random)), resultOf(t, Part{2, 2}, randomWorker(random))
	torn := *two
	torn.Histogram = torn.Histogram[:40]
	silent := *two
	silent.Part = &PartResult{Index: 2, Of: 2}
	for want, parts := range map[string][]*Result{
		"not of all":                   {one},
		"generator 1 of 2 where 2":     {one, one},
		"no generator of several":      {one, resultOf(t, Part{}, randomWorker(random))},
		"generator 2: histogram laten": {one, &torn},
		"it gave no histogram connect": {one, &silent},
	} {
		if _, err := Merge(parts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// A second of all is that of the generator that is furthest behind.
func TestMergeSamples(t *testing.T) {
	second := func(phase string, latencies ...time.Duration) *Sample {
		var h histogram
		for _, l := range latencies {
			h.record(l)
		}
		s := &Sample{Phase: phase, Seconds: 1, OK: h.n, InFlight: 5, LatencyMS: h.summary()}
		if h.n > 0 {
			s.Latencies, _ = h.encode()
		}
		return s
	}
	a, b := second("warmup", 10*time.Millisecond, 30*time.Millisecond), second("connect", 20*time.Millisecond)
	got := MergeSamples([]*Sample{a, b, second("warmup")})
	want := second("connect", 10*time.Millisecond, 20*time.Millisecond, 30*time.Millisecond)
	sameLatency(t, "latency", got.LatencyMS, want.LatencyMS)
	if got.Phase != "connect" || got.OK != 3 || got.InFlight != 15 || got.Seconds != 1 || got.Latencies != "" || got.Histogram().TotalCount() != 3 {
		t.Errorf("%+v", got)
	}
	b.Latencies = ""
	if got = MergeSamples([]*Sample{a, b}); got.LatencyMS != nil || got.OK != 3 {
		t.Errorf("without one's histogram: %+v", got)
	}
}
