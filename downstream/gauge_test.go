package downstream

import (
	"math"
	"testing"
	"time"

	"loomlab/clock"
)

func TestGaugeIsSummedOverTime(t *testing.T) {
	a := newAccount(0)
	at := func(ms int) clock.Time { return clock.Time(time.Duration(ms) * time.Millisecond) }
	a.pass(at(1000))
	a.began(at(1000), 0)
	a.began(at(1100), 0.1) // one in flight for 100 ms
	a.pass(at(1300))       // two for 200 ms
	a.inFlight--
	a.pass(at(1400)) // one for 100 ms
	if want := 0.1 + 0.4 + 0.1; math.Abs(a.inFlightS-want) > 1e-9 {
		t.Errorf("%v request seconds, want %v", a.inFlightS, want)
	}
}

func TestEvenness(t *testing.T) {
	gaps := map[string]func(i int) float64{
		"clockwork": func(int) float64 { return 0.003 },
		"bursts": func(i int) float64 { // 34 at once, as a pool of 34 that was filled at once keeps them
			if i%34 == 0 {
				return 0.1
			}
			return 0.00001
		},
		"random": func(i int) float64 { return -math.Log((float64(i%1000)+0.5)/1000) * 0.003 },
	}
	want := map[string]float64{"clockwork": 1, "bursts": 0.04, "random": math.Pi / 4}
	for name, gap := range gaps {
		a, seconds := newAccount(0), 0.0
		for i := range 1000 {
			seconds += gap(i)
			a.began(0, gap(i))
		}
		got := Stats{Requests: a.requests, RootGaps: a.rootGaps}.Evenness(seconds)
		if got == nil || math.Abs(*got-want[name]) > 0.02 {
			t.Errorf("%s: evenness %v, want %.2f", name, got, want[name])
		}
	}
	if e := (Stats{Requests: 19, RootGaps: 1}).Evenness(1); e != nil {
		t.Errorf("evenness of 19 requests is %v", *e)
	}
}
