//go:build !unix

package loadgen

import "time"

func reserveDescriptors(*Config, bool) error { return nil }

// usage is not known here.
type usage struct {
	user, system time.Duration
	maxRSS       int64
}

func readUsage() usage { return usage{} }
