package guard

import (
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"loomlab/probes"
)

// BecomeSubreaper makes orphaned descendants children of this process instead
// of init's, so that they can be found and reaped.
func BecomeSubreaper() {
	subreaper.Store(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil)
}

// subreaper tells whether orphans come to this process.
var subreaper atomic.Bool

func isSubreaper() bool { return subreaper.Load() }

// signalDescendants signals every process below this one, and returns them.
func signalDescendants(_ int, s syscall.Signal) []int {
	pids := probes.NewFS("/").Descendants(os.Getpid())
	for _, pid := range pids {
		_ = syscall.Kill(pid, s) // it may have ended since it was listed
	}
	return pids
}
