package guard

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"loomlab/probes"
)

// onCPUs calls f on a thread that may run on the listed CPUs only, which a
// process that f forks inherits.
func onCPUs(list string, f func() error) error {
	cpus, err := probes.ParseCPUList(list)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	for _, n := range cpus {
		set.Set(n)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("cannot run on CPUs %s: %w", list, err)
	}
	err = f()
	_ = unix.SchedSetaffinity(0, &before) // what was allowed before
	return err
}
