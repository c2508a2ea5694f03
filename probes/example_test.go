package probes_test

import (
	"fmt"
	"os"

	"loomlab/probes"
)

// What this process did between two samples.
func Example() {
	tree, err := probes.NewTree(probes.NewFS(""), os.Getpid())
	if err != nil {
		fmt.Println(err)
		return
	}
	open := tree.Detailed()
	for sum, i := 0, 0; i < 1e7; i++ {
		sum += i
	}
	end := tree.Detailed()
	window := probes.NewWindow([]probes.Sample{open, end}, open.At, end.At)
	fmt.Println("CPU", window.CPUS != nil, "threads", window.Threads != nil && window.Threads.Live > 0)
	fmt.Println("heap after GC", window.HeapAfterGCBytes, window.Unavailable["heap_after_gc_bytes"] != "")
	// Output:
	// CPU true threads true
	// heap after GC <nil> true
}
