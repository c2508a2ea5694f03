//go:build !linux

package main

import "errors"

func hogs(int, int) func() (func(), error) {
	return func() (func(), error) { return nil, errors.New("CPU affinity needs Linux") }
}

func netnsLacks() string { return "network namespaces need Linux" }

func netnsPrefix() []string { return nil }
