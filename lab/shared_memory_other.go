//go:build !linux

package lab

import "time"

// removeSharedMemory does nothing where the creators of segments cannot be listed.
func removeSharedMemory([]int, time.Time) {}
