// Command loomlab measures what a server does between a load engine and a
// downstream with a fixed delay, and says why. See `loomlab --help`.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
