//go:build !linux

package main

import (
	"errors"
	"time"
)

func realtimeLacks() string { return "real-time priority needs Linux" }

func hogs(int, int, ...time.Duration) func() (func(), error) {
	return func() (func(), error) { return nil, errors.New("CPU affinity needs Linux") }
}
