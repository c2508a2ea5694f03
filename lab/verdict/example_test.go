package verdict_test

import (
	"fmt"
	"time"

	"loomlab/lab/record"
	"loomlab/lab/verdict"
)

// What 200 threads that wait 100 ms for each request can do at most.
func ExampleCeilings() {
	once := 1.0
	for _, c := range verdict.Ceilings(1000, record.Limits{Workers: 200}, &once, 100*time.Millisecond) {
		fmt.Println(c.Arithmetic)
	}
	// Output:
	// 200 worker threads ÷ 0.1 s = 2000/s
	// 1000 connections ÷ 0.1 s = 10000/s
}
