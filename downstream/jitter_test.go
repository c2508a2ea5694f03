package downstream

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func parseJitter(t *testing.T, text string) Jitter {
	t.Helper()
	j, err := ParseJitter(text)
	if err != nil {
		t.Fatal(err)
	}
	if j.String() != text {
		t.Errorf("%q became %q", text, j)
	}
	return j
}

// sample draws delays around 100 ms and returns them sorted.
func sample(j Jitter) []time.Duration {
	rnd := rand.New(rand.NewPCG(1, 2))
	ds := make([]time.Duration, 100_000)
	for i := range ds {
		ds[i] = j.delay(100*time.Millisecond, rnd)
	}
	slices.Sort(ds)
	return ds
}

func TestJitterShapes(t *testing.T) {
	type quantile struct {
		q    float64
		want time.Duration
	}
	ms := time.Millisecond
	for text, quantiles := range map[string][]quantile{
		"":                             {{0, 100 * ms}, {1, 100 * ms}},
		"uniform:20ms":                 {{0, 80 * ms}, {0.25, 90 * ms}, {0.5, 100 * ms}, {1, 120 * ms}},
		"uniform:300ms":                {{0, 0}, {1, 400 * ms}}, // never negative
		"normal:10ms":                  {{0.1587, 90 * ms}, {0.5, 100 * ms}, {0.8413, 110 * ms}, {0.9772, 120 * ms}},
		"lognormal:p50=80ms,p99=400ms": {{0.5, 80 * ms}, {0.99, 400 * ms}},
		"spike:200ms@0.01":             {{0.5, 100 * ms}, {0.985, 100 * ms}, {0.995, 300 * ms}},
		"uniform:10ms+spike:1s@0.5":    {{0, 90 * ms}, {0.25, 100 * ms}, {0.75, 1100 * ms}, {1, 1110 * ms}},
	} {
		ds := sample(parseJitter(t, text))
		for _, q := range quantiles {
			got := ds[int(q.q*float64(len(ds)-1))]
			if tolerance := q.want/20 + 50*time.Microsecond; (got - q.want).Abs() > tolerance {
				t.Errorf("%s: quantile %g is %v, want %v", text, q.q, got, q.want)
			}
		}
	}
}

func TestStallHoldsAnswersBack(t *testing.T) {
	j := parseJitter(t, "stall:1s/10s")
	for due, want := range map[time.Duration]time.Duration{
		0: 0, 500 * time.Millisecond: 500 * time.Millisecond, 9999 * time.Millisecond: 9999 * time.Millisecond,
		10 * time.Second: 11 * time.Second, 10500 * time.Millisecond: 11 * time.Second, 11 * time.Second: 11 * time.Second,
		20 * time.Second: 21 * time.Second, 25 * time.Second: 25 * time.Second,
	} {
		if got := j.hold(due); got != want {
			t.Errorf("due after %v: answered after %v, want %v", due, got, want)
		}
	}
}

func TestStallOnTheWire(t *testing.T) {
	s := start(t, Config{Jitter: parseJitter(t, "stall:100ms/200ms")})
	c := connect(t, s)
	longest := time.Duration(0)
	for began := time.Now(); time.Since(began) < 450*time.Millisecond; {
		sent := time.Now()
		c.send(get)
		c.wants(200, "ok")
		longest = max(longest, time.Since(sent))
	}
	if longest < 90*time.Millisecond {
		t.Errorf("the longest of all answers took %v", longest)
	}
}

func TestParseJitterMistakes(t *testing.T) {
	for _, text := range []string{"gauss:1ms", "uniform", "uniform:0s", "uniform:-1ms", "uniform:x", "lognormal:p50=100ms", "lognormal:p50=1s,p99=1ms",
		"lognormal:p50=1s,p95=2s", "spike:1ms", "spike:1ms@2", "stall:1s", "stall:2s/1s", "uniform:1ms+", "uniform:2h"} {
		if j, err := ParseJitter(text); err == nil {
			t.Errorf("%q was taken for %+v", text, j)
		}
	}
}

func TestJitterKeepsOrderOnAConnection(t *testing.T) {
	s := start(t, Config{Delay: 5 * time.Millisecond, Jitter: parseJitter(t, "uniform:5ms")})
	c := connect(t, s)
	for range 50 { // GET and HEAD in turn: a swap cannot go unseen
		c.send(get + "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	for range 50 {
		c.wants(200, "ok")
		if r, body, err := c.answer("HEAD"); err != nil || body != "" || r.ContentLength != 2 {
			t.Fatalf("%+v, %q, %v", r, body, err)
		}
	}
}
