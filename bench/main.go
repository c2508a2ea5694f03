// Command bench measures the instrument itself against its peers, interleaved
// in one run so that whatever the machine does meets all of them. It prints
// Markdown, and says what is missing.
//
//	go run ./bench load         the load engine against wrk and bombardier
//	go run ./bench downstream   the downstream
//	go run ./bench generators   several generators against one: is it the same load?
//	go run ./bench soak         engine and downstream for half an hour: does anything grow or get lost?
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// benches are the subcommands; each file registers its own.
var benches = map[string]func(args []string) error{}

func main() {
	names := strings.Join(slices.Sorted(maps.Keys(benches)), ", ")
	if len(os.Args) < 2 || benches[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "usage: go run ./bench NAME [flags], with NAME one of %s\n", names)
		os.Exit(2)
	}
	if err := benches[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "bench %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
