package record_test

import (
	"fmt"

	"loomlab/lab/record"
)

// A stored run, and one of its figures over the forks.
func ExampleOpen() {
	saved, err := record.Open("../../testdata/runs/article-forks")
	if err != nil {
		fmt.Println(err)
		return
	}
	throughput, _ := record.MetricNamed("throughput")
	rung := record.Rung{Connections: 1000}
	for _, sut := range saved.Run.Experiment.SUTs {
		s := record.Summarise(saved.At(sut.Name, rung), throughput)
		fmt.Printf("%s at %v: %.0f/s, forks %d, interval %v\n", sut.Name, rung, s.Median, len(s.Values), s.Low != nil)
	}
	// Output:
	// platform at 1000: 1954/s, forks 6, interval true
	// virtual at 1000: 7141/s, forks 6, interval true
	// webflux at 1000: 9459/s, forks 6, interval true
}

// An interval of a median takes six values; with fewer there is none.
func ExampleOver() {
	fmt.Println(record.Over([]float64{10, 12, 11}).Median, record.Over([]float64{10, 12, 11}).Low == nil)
	s := record.Over([]float64{10, 12, 11, 13, 14, 10})
	fmt.Println(s.Median, *s.Low, *s.High)
	// Output:
	// 11 true
	// 11.5 10 14
}
