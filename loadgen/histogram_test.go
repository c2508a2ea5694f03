package loadgen

import (
	"math"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func histogramOf(ds ...time.Duration) *histogram {
	h := &histogram{}
	for _, d := range ds {
		h.record(d)
	}
	return h
}

// near is the histogram's precision: 3 digits, and half a µs.
func near(got, want float64) bool {
	return math.Abs(got-want) <= want/1000+0.0005
}

func TestPercentilesAreNearestRank(t *testing.T) {
	l := histogramOf(42800*time.Microsecond, 42923*time.Microsecond, 425656*time.Microsecond).summary()
	if !near(l.P50, 42.923) || l.Max != 425.656 || l.Min != 42.8 {
		t.Errorf("three values: %+v", l)
	}
	if l = histogramOf(10*time.Millisecond, 20*time.Millisecond, 30*time.Millisecond).summary(); l.P99 != 30 || !near(l.P50, 20) || !near(l.P75, 30) || l.Mean != 20 {
		t.Errorf("10, 20, 30: %+v", l)
	}
	h := &histogram{}
	for i := 1; i <= 8; i++ {
		h.record(time.Duration(i) * time.Millisecond)
	}
	h.record(75 * time.Millisecond)
	h.record(1438 * time.Millisecond)
	if l = h.summary(); !near(l.P90, 75) || l.P99 != 1438 || l.Max != 1438 {
		t.Errorf("ten values: %+v", l)
	}
	if l = histogramOf(7 * time.Millisecond).summary(); l.Min != 7 || l.P50 != 7 || l.P999 != 7 || l.Max != 7 || l.Mean != 7 || l.Stddev != 0 {
		t.Errorf("one value: %+v", l)
	}
	h = &histogram{}
	for i := 1; i <= 100; i++ {
		h.record(time.Duration(i) * time.Millisecond)
	}
	if l = h.summary(); !near(l.P99, 99) || !near(l.P50, 50) || !near(l.P95, 95) || l.Max != 100 {
		t.Errorf("1 to 100: %+v", l)
	}
	if (&histogram{}).summary() != nil {
		t.Error("a summary of nothing")
	}
}

func TestHistogramMerges(t *testing.T) {
	a, b := &histogram{}, &histogram{}
	for range 1000 {
		a.record(10 * time.Millisecond)
	}
	for range 10 {
		b.record(2 * time.Second)
	}
	a.merge(b)
	if p := ms(a.percentile(95)); !near(p, 10) {
		t.Errorf("p95 %v", p)
	}
	if p := ms(a.percentile(99.5)); !near(p, 2000) {
		t.Errorf("p99.5 %v", p)
	}
	if a.n != 1010 || a.min != 10*time.Millisecond || a.max != 2*time.Second {
		t.Errorf("n %d min %v max %v", a.n, a.min, a.max)
	}
	a.clear()
	if a.n != 0 || a.summary() != nil {
		t.Error("not cleared")
	}
	for i, c := range a.counts {
		if c != 0 {
			t.Fatalf("bucket %d still holds %d", i, c)
		}
	}
}

func TestHistogramRange(t *testing.T) {
	h := histogramOf(time.Nanosecond, time.Microsecond, 2*time.Hour)
	var sum int64
	for _, c := range h.counts {
		sum += c
	}
	if h.n != 3 || sum != 3 || h.max != 2*time.Hour || h.min != time.Nanosecond {
		t.Errorf("n %d, in buckets %d, min %v, max %v", h.n, sum, h.min, h.max)
	}
	if l := h.summary(); l.Max != 7200_000 || l.P999 != l.Max {
		t.Errorf("%+v", l)
	}
	if n := h.hdr().TotalCount(); n != 3 {
		t.Errorf("HdrHistogram has %d", n)
	}
}

// Our buckets are HdrHistogram's: what goes out as its format reads back the same.
func TestHistogramEncodes(t *testing.T) {
	h, reference := &histogram{}, hdrhistogram.New(lowestUS, highestUS, digits)
	for us := int64(1); us <= highestUS; us += us/100 + 1 {
		h.record(time.Duration(us) * time.Microsecond)
		if err := reference.RecordValue(us); err != nil {
			t.Fatal(err)
		}
		if v := bucketValue(bucket(us)); v > us || us-v > us/1000 {
			t.Fatalf("bucket of %d begins at %d", us, v)
		}
	}
	text, err := h.encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if !back.Equals(reference) {
		t.Error("not what HdrHistogram records itself")
	}
	if p := float64(reference.ValueAtPercentile(90)) / 1000; !near(ms(h.percentile(90)), p) {
		t.Errorf("p90 %v, HdrHistogram %v", ms(h.percentile(90)), p)
	}
	empty := &histogram{}
	if text, err = empty.encode(); err != nil || text == "" {
		t.Errorf("empty: %q, %v", text, err)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	h := histogramOf(time.Millisecond)
	if n := testing.AllocsPerRun(100, func() { h.record(3 * time.Millisecond) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
