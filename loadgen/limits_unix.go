//go:build unix

package loadgen

import (
	"fmt"
	"runtime"
	"syscall"
	"time"
)

// spareDescriptors are those beside the connections: standard streams, pollers,
// wake-up pipes, the resolver, an output file.
const spareDescriptors = 32

// raiseDescriptors lifts the soft limit to the hard one and returns how many
// connections fit.
func raiseDescriptors() (fit int, limit syscall.Rlimit, err error) {
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, limit, err
	}
	if limit.Cur < limit.Max {
		raised := limit
		raised.Cur = raised.Max
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) == nil {
			limit = raised
		}
	}
	return int(min(uint64(limit.Cur), 1<<31-1)) - spareDescriptors, limit, nil
}

// reserveDescriptors makes sure that the connections of c fit. An open loop that
// chose its own bound takes what fits.
func reserveDescriptors(c *Config, boundChosen bool) error {
	fit, limit, err := raiseDescriptors()
	if err != nil {
		return nil // then the connects will tell
	}
	if !boundChosen && c.MaxInFlight > fit && c.Connections <= fit {
		c.MaxInFlight = fit
	}
	if need := max(c.Connections, c.MaxInFlight); need > fit {
		return fmt.Errorf("%d connections need %d file descriptors, the limit is %d (hard limit %d): raise it with `ulimit -n %d`, or use fewer connections",
			need, need+spareDescriptors, limit.Cur, limit.Max, need+spareDescriptors)
	}
	return nil
}

// usage is what this process has cost so far.
type usage struct {
	user, system time.Duration
	maxRSS       int64 // bytes
}

func readUsage() (u usage) {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return u
	}
	u.user, u.system = time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())
	u.maxRSS = int64(r.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" { // kilobytes elsewhere
		u.maxRSS <<= 10
	}
	return u
}
