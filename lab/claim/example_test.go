package claim_test

import (
	"fmt"

	"loomlab/lab/claim"
	"loomlab/lab/record"
)

// Both rounds of one SUT lie above twice the rounds of the other, so the claim holds
// whichever of them one takes.
func ExampleDecide() {
	throughput := func(sut string, round int, perS float64) record.Cell {
		return record.Cell{SUT: sut, Fork: 1, Round: round, Connections: 1000, Status: "ok", Load: &record.LoadResult{ThroughputPerS: &perS}}
	}
	e := record.Experiment{Forks: 1, Load: record.Load{Connections: []int{1000}, Rounds: 2}, SUTs: []record.SUT{{Name: "platform"}, {Name: "virtual"}},
		Claims: []record.Claim{{Text: "virtual threads double it", Expr: "throughput('virtual', 1000) > 2 * throughput('platform', 1000)"}}}
	saved := record.Saved{Run: record.Run{Experiment: e}, Cells: []record.Cell{
		throughput("platform", 1, 1932), throughput("platform", 2, 1936), throughput("virtual", 1, 6983), throughput("virtual", 2, 6353),
	}}
	for _, c := range claim.Decide(&saved) {
		fmt.Printf("%s: %s\n", c.Outcome, c.Arithmetic)
	}
	// Output:
	// confirmed: 6353 … 6983 > 2 * (1932 … 1936) = 3864 … 3872
}
