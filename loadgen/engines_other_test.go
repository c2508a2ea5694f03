//go:build !linux

package loadgen

var engines = []string{"portable"}
