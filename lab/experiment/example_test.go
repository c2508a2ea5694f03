package experiment_test

import (
	"fmt"

	"loomlab/lab/experiment"
)

// Every mistake of a file is told at once, with line and column.
func ExampleParse() {
	_, err := experiment.Parse("mine.yaml", []byte("name: mine\nload: {rounds: 1}\nsuts: []\n"))
	fmt.Println(err)
	// Output:
	// mine.yaml: 2 mistakes
	// mine.yaml:2:7: an empty ladder; want the connection counts to climb, such as [100, 1000, 3000]
	// mine.yaml:3:7: no suts; an experiment needs at least one, such as {name: mine, command: [./server, --port, "{{port}}"]}
}
