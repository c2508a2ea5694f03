//go:build !linux

// Command chaos breaks real runs of loomlab at random moments. It needs Linux:
// /proc to see what is left, and its limits of processes.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "chaos needs Linux")
	os.Exit(2)
}
