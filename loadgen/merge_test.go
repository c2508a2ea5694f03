package loadgen

import (
	"encoding/json"
	"errors"
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

// randomWorker has counted a window, in which everything happened that is counted.
func randomWorker(random *rand.Rand) *worker {
	up := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
	some := func() int64 { return 1 + random.Int64N(9) }
	w := &worker{before: newCounts(2), window: newCounts(2), after: newCounts(2)}
	c := w.window
	for range 1 + random.IntN(500) {
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
	for i := range c.targets { // whose latencies may be none
		target := &c.targets[i]
		target.latency.record(up(3 * time.Second))
		target.ok, c.ok, c.status[200] = target.ok+1, c.ok+1, c.status[200]+1
		target.non2xx, target.errors, target.unheard = some(), some(), some()
		c.non2xx += target.non2xx
		c.status[503] += target.non2xx
	}
	for class := range errClasses {
		c.errors[class], w.before.errors[class], w.after.errors[class] = some(), some(), some()
		w.examples.note(errorNames[class], errors.New("one"))
	}
	for class := range connectClasses {
		w.connectFailed[class] = some()
	}
	c.opened, c.closedByServer, c.retried, c.late = some(), some(), some(), some()
	c.slotTime = time.Duration(some()) * 250 * time.Millisecond // which add up without rounding
	w.after.ok, w.after.non2xx, w.carriedIn = some(), some(), some()
	w.inFlightAtEnd = w.after.ok + w.after.non2xx + w.after.errorTotal() + some() // the rest is abandoned
	c.sent = c.ok + c.non2xx + c.errorTotal() + w.inFlightAtEnd - w.carriedIn
	w.schedule.notStarted, w.established, w.answered = some(), 5, 5
	w.schedule.scheduled = c.sent + w.schedule.notStarted
	w.firstSend, w.firstLatency = 1, time.Millisecond
	return w
}

// resultOf is the result of a run with such workers, as it comes over a pipe. A
// rate of 0 is a closed loop.
func resultOf(t *testing.T, part Part, rate float64, workers ...*worker) *Result {
	t.Helper()
	targets := []Target{{0.5, "/a"}, {0.5, "/b"}}
	j := &job{targets: targets, cfg: Config{URL: "http://server", Rate: rate, Duration: time.Second, Timeout: time.Minute, Targets: targets, Part: part, Connections: 5 * len(workers)}}
	n := time.Duration(len(workers))
	r := &run{job: j, workers: workers, opened: 1 + 5e8, end: 1 + 15e8, status: make([]status, len(workers)),
		atClose: usage{user: n * time.Second, system: n * 250 * time.Millisecond}, atStop: usage{maxRSS: 1000 * int64(n)}}
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
	filled := map[string]bool{}
	for of := 2; of <= 4; of++ {
		for _, rate := range []float64{0, 1000} {
			var workers []*worker
			var parts []*Result
			for i := range of {
				workers = append(workers, randomWorker(random))
				parts = append([]*Result{resultOf(t, Part{i + 1, of}, rate, workers[i])}, parts...) // in any order
			}
			want := resultOf(t, Part{}, rate, workers...)
			got, err := Merge(parts)
			if err != nil {
				t.Fatal(err)
			}
			note(filled, "", reflect.ValueOf(*want))
			note(filled, "Generators", reflect.ValueOf(got.Generators))
			sameResult(t, got, want)
		}
	}
	// A field that is always zero is one that the comparison says nothing about, such
	// as a new one: count it in randomWorker, and add it up.
	const others = " Part Generators StartSpreadMS Warmup.Steady Generators.Place Generators.RunDelayS Generators.StartLateMS Generators.OpenLateMS " // fill these in
	for path, ever := range filled {
		if !ever && !strings.Contains(others, " "+path+" ") {
			t.Errorf("%s is never anything but zero", path)
		}
	}
}

// note keeps for each field, by its path, whether it ever was other than zero.
func note(filled map[string]bool, path string, v reflect.Value) {
	if path != "" {
		filled[path] = filled[path] || !v.IsZero()
	}
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		note(filled, path, v.Elem())
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			note(filled, path, v.Index(i))
		}
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		for i := range v.NumField() {
			note(filled, strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), v.Field(i))
		}
	}
}

func sameResult(t *testing.T, got, want *Result) {
	t.Helper()
	if got.Identity() != 0 || len(got.Generators) < 2 || got.Generators[1].Index != 2 {
		t.Errorf("identity %d, generators %+v", got.Identity(), got.Generators)
	}
	pairs := map[string][2]**Latency{"latency": {&got.LatencyMS, &want.LatencyMS}, "connect": {&got.ConnectMS, &want.ConnectMS}, "warm-up": {&got.Warmup.LatencyMS, &want.Warmup.LatencyMS}}
	if want.Open != nil && got.Open != nil {
		pairs["from send"], pairs["pacing"] = [2]**Latency{&got.Open.LatencyFromSendMS, &want.Open.LatencyFromSendMS}, [2]**Latency{&got.Open.PacingMS, &want.Open.PacingMS}
	}
	for i := range got.Targets {
		pairs[got.Targets[i].Target] = [2]**Latency{&got.Targets[i].LatencyMS, &want.Targets[i].LatencyMS}
	}
	for name, pair := range pairs {
		sameLatency(t, name, *pair[0], *pair[1])
		*pair[0] = *pair[1] // which the comparison below would find off by a rounding
	}
	got.Generators, got.Warnings = nil, want.Warnings
	if !reflect.DeepEqual(got, want) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		t.Errorf("merged %s\n want %s", g, w)
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
	one, two := resultOf(t, Part{1, 2}, 1000, randomWorker(random)), resultOf(t, Part{2, 2}, 1000, randomWorker(random))
	torn := *two
	torn.Histogram = torn.Histogram[:40]
	silent := *two
	silent.Part = &PartResult{Index: 2, Of: 2}
	for want, parts := range map[string][]*Result{
		"not of all":                   {one},
		"generator 1 of 2 where 2":     {one, one},
		"no generator of several":      {one, resultOf(t, Part{}, 1000, randomWorker(random))},
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
		s := &Sample{Phase: phase, Seconds: 1, OK: h.n, Non2xx: 2, Errors: 3, Opened: 4, InFlight: 5, LatencyMS: h.summary()}
		if h.n > 0 {
			s.Latencies, _ = h.encode()
		}
		return s
	}
	a, b := second("warmup", 10*time.Millisecond, 30*time.Millisecond), second("connect", 20*time.Millisecond)
	got := MergeSamples([]*Sample{a, b, second("warmup")})
	want := second("connect", 10*time.Millisecond, 20*time.Millisecond, 30*time.Millisecond)
	sameLatency(t, "latency", got.LatencyMS, want.LatencyMS)
	if got.Phase != "connect" || got.OK != 3 || got.Non2xx != 6 || got.Errors != 9 || got.Opened != 12 || got.InFlight != 15 || got.Seconds != 1 || got.Histogram().TotalCount() != 3 {
		t.Errorf("%+v", got)
	}
	filled := map[string]bool{}
	note(filled, "", reflect.ValueOf(*got))
	for path, is := range filled {
		if is != (path != "Latencies") {
			t.Errorf("%s: filled is %v", path, is)
		}
	}
	b.Latencies = ""
	if got = MergeSamples([]*Sample{a, b}); got.LatencyMS != nil || got.OK != 3 {
		t.Errorf("without one's histogram: %+v", got)
	}
}
