//go:build !linux

package lab

import (
	"fmt"

	"loomlab/probes"
)

// newNetns cannot be had here.
func newNetns(map[string]string) (*netns, error) {
	return nil, fmt.Errorf("a network namespace: %w", probes.ErrNeedsLinux)
}

// openNetns cannot be had here.
func openNetns(path string) (*netns, error) {
	return nil, fmt.Errorf("network namespace %s: %w", path, probes.ErrNeedsLinux)
}

// enter calls f where it is: there is no other place here.
func (n *netns) enter(f func() error) error { return f() }
