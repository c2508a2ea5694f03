//go:build !linux

package guard

import (
	"fmt"

	"loomlab/probes"
)

// onCPUs cannot be had here.
func onCPUs(list string, _ func() error) error {
	return fmt.Errorf("cannot run on CPUs %s: %w", list, probes.ErrNeedsLinux)
}
