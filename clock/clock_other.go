//go:build !linux

package clock

import "time"

// Elsewhere the shared base is the wall clock at process start: processes agree
// as long as nobody sets the clock during a run.
func monotonic() Time { return Time(time.Now().UnixNano()) }
