package clock

import "golang.org/x/sys/unix"

func monotonic() Time {
	var ts unix.Timespec
	// CLOCK_MONOTONIC cannot fail on Linux; a zero origin would still be monotonic.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return Time(ts.Nano())
}
