package lab_test

import (
	"fmt"

	"loomlab/lab"
	"loomlab/lab/experiment"
)

// An experiment becomes the cells that are to be measured, in their order.
func ExampleNewPlan() {
	experiment, err := experiment.Parse("two.yaml", []byte(`
name: two
downstream: {delay: 50ms}
load: {connections: [10, 20], rounds: 1, duration: 5s}
suts:
  - {name: old, command: [./old, "{{port}}", "{{downstream}}"]}
  - {name: new, command: [./new, "{{port}}", "{{downstream}}"]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := lab.NewPlan(experiment, lab.Options{}, lab.Facts{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, cell := range plan.Cells {
		fmt.Println(cell.SUT, cell.Rung(), "round", cell.Round)
	}
	// Output:
	// old 10 round 1
	// old 20 round 1
	// new 10 round 1
	// new 20 round 1
}

// Every mistake of a file is told at once, with line and column.
func ExampleParse() {
	_, err := experiment.Parse("mine.yaml", []byte("name: mine\nload: {rounds: 1}\nsuts: []\n"))
	fmt.Println(err)
	// Output:
	// mine.yaml: 2 mistakes
	// mine.yaml:2:7: an empty ladder; want the connection counts to climb, such as [100, 1000, 3000]
	// mine.yaml:3:7: no suts; an experiment needs at least one, such as {name: mine, command: [./server, --port, "{{port}}"]}
}
