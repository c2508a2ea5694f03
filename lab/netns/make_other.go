//go:build !linux

package netns

import (
	"fmt"

	"loomlab/probes"
)

// New cannot be had here.
func New(map[string]string) (*Namespace, error) {
	return nil, fmt.Errorf("a network namespace: %w", probes.ErrNeedsLinux)
}

// Open cannot be had here.
func Open(path string) (*Namespace, error) {
	return nil, fmt.Errorf("network namespace %s: %w", path, probes.ErrNeedsLinux)
}

// Enter calls f where it is: there is no other place here.
func (n *Namespace) Enter(f func() error) error { return f() }
