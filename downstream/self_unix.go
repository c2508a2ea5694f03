//go:build unix

package downstream

import (
	"time"

	"golang.org/x/sys/unix"
)

// self returns what this process has used: CPU seconds in user and kernel mode,
// and its resident memory now.
func self() (user, system float64, rssBytes int64) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err == nil {
		user = time.Duration(r.Utime.Nano()).Seconds()
		system = time.Duration(r.Stime.Nano()).Seconds()
	}
	return user, system, rss()
}
