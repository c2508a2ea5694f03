package record

import (
	"testing"
)

func TestNewPauses(t *testing.T) {
	var list []Pause
	for i := 1; i <= 100; i++ {
		list = append(list, Pause{At: float64(i), MS: float64(i), Kind: map[bool]string{true: "Full", false: "Young"}[i == 100]})
	}
	p := NewPauses("gc.log", [2]float64{0, 101}, list)
	if p.Count != 100 || p.TotalMS != 5050 || *p.P50MS != 50 || *p.P90MS != 90 || *p.P99MS != 99 || *p.MaxMS != 100 || p.Omitted != 0 || len(p.List) != 100 {
		t.Errorf("%+v", p)
	}
	if len(p.Kinds) != 2 || p.Kinds[0].Kind != "Young" || p.Kinds[0].Count != 99 || p.Kinds[1] != (PauseKind{Kind: "Full", Count: 1, TotalMS: 100, MaxMS: 100}) {
		t.Errorf("kinds %+v", p.Kinds)
	}
	var sum int64
	for _, b := range p.Histogram {
		sum += b.Count
	}
	if first, last := p.Histogram[0], p.Histogram[len(p.Histogram)-1]; sum != 100 || first != (PauseBucket{1, 1}) || last != (PauseBucket{100, 50}) {
		t.Errorf("histogram %+v", p.Histogram)
	}

	none := NewPauses("gc.log", [2]float64{}, nil)
	if none.Count != 0 || none.MaxMS != nil || none.List == nil || none.Histogram == nil || none.Kinds == nil {
		t.Errorf("none: %+v", none)
	}

	var many []Pause
	for i := range 2*longestPauses + 1 {
		many = append(many, Pause{At: float64(i), MS: float64(i % (longestPauses + 7))})
	}
	if p := NewPauses("", [2]float64{}, many); len(p.List)+p.Omitted != len(many) || len(p.List) < longestPauses || len(p.List) > longestPauses+2 || *p.MaxMS != float64(longestPauses+6) {
		t.Errorf("of %d keeps %d and omits %d", len(many), len(p.List), p.Omitted)
	}
}

// Pooled rounds keep the sums and the longest of both.
func TestPauseMetrics(t *testing.T) {
	longest, _ := MetricNamed("gc_longest_ms")
	total, _ := MetricNamed("gc_ms")
	count, _ := MetricNamed("gc_count")
	cell := func(round int, ms ...float64) *Cell {
		var list []Pause
		for _, v := range ms {
			list = append(list, Pause{MS: v})
		}
		c := cellOf(t, round)
		c.Pauses = NewPauses("", [2]float64{}, list)
		return c
	}
	pooled := Pool([]*Cell{cell(1, 3, 7), cell(2, 5), cell(3)})
	if *longest.Of(pooled) != 7 || *total.Of(pooled) != 15 || *count.Of(pooled) != 3 {
		t.Errorf("longest %v, total %v, count %v", *longest.Of(pooled), *total.Of(pooled), *count.Of(pooled))
	}
	if quiet := cell(1); *longest.Of(quiet) != 0 || *count.Of(quiet) != 0 {
		t.Errorf("a window without pauses: %v", *longest.Of(quiet))
	}
	if unknown := cellOf(t, 1); longest.Of(unknown) != nil {
		t.Error("pauses out of nothing")
	}
}

// cellOf is a measured cell without counters of a JVM.
func cellOf(t *testing.T, round int) *Cell {
	c := sampleCell(t, "s", 1, round, 1000, 100_000)
	c.Probes = nil
	return &c
}
