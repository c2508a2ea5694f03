package clock_test

import (
	"fmt"
	"time"

	"loomlab/clock"
)

// A window opened by one process cuts a series stamped by another.
func Example() {
	open := clock.FromSeconds(100)
	end := open.Add(10 * time.Second)
	for _, at := range []clock.Time{clock.FromSeconds(99.5), clock.FromSeconds(104), clock.FromSeconds(111)} {
		fmt.Println(at.Seconds(), at >= open && at < end)
	}
	// Output:
	// 99.5 false
	// 104 true
	// 111 false
}
