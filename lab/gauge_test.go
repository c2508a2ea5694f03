package lab

import (
	"fmt"
	"testing"

	"loomlab/lab/record"
)

func TestGaugeKeepsTheSecondsOfAWindow(t *testing.T) {
	var g gauge
	for i := range 20 {
		g.add(record.DownstreamStats{At: 100.3 + float64(i), InFlightMax: int64(i)})
	}
	var got []int64
	for _, s := range g.between(110, 113) {
		got = append(got, s.InFlightMax)
	}
	if want := "[10 11 12]"; fmt.Sprint(got) != want { // at 110.3 to 112.3: none begins before 108.5
		t.Errorf("peaks of %v, want %s", got, want)
	}
	g.begin()
	if len(g.between(0, 1000)) > 0 {
		t.Error("lines of the cell before are still there")
	}
}

func TestLastingQueues(t *testing.T) {
	a := &record.AcceptQueues{SUT: new(int64(5)), Downstream: new(int64(0))}
	b := &record.AcceptQueues{SUT: new(int64(3))}
	if q := lasting(a, b); *q.SUT != 3 || q.Downstream != nil {
		t.Errorf("%+v", q)
	}
	if lasting(a, nil) != nil {
		t.Error("a queue was made up")
	}
}
