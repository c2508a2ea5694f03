package plan_test

import (
	"fmt"

	"loomlab/lab/experiment"
	"loomlab/lab/plan"
)

// An experiment becomes the cells that are to be measured, in their order.
func ExampleNew() {
	e, err := experiment.Parse("two.yaml", []byte(`
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
	p, err := plan.New(e, plan.Options{}, plan.Facts{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, cell := range p.Cells {
		fmt.Println(cell.SUT, cell.Rung(), "round", cell.Round)
	}
	// Output:
	// old 10 round 1
	// old 20 round 1
	// new 10 round 1
	// new 20 round 1
}
